// SPDX-License-Identifier: MIT
//
// The options of a mount, in a table for each layer.
#pragma once

#include <span>

#include "fs/cli/base/options.h"

namespace ndlfs::fs {

// Caches: memory and disk for decoded data.
std::span<const MountOption> CacheOptions();
// Options that only a mount has: owners, permissions and numbers of files, and its place.
std::span<const MountOption> OnlyMountOptions();
// The source: how ndlfs looks at it, and what it takes for a store.
std::span<const MountOption> SourceOptions();
// Views: which there are, and in which of them stores are shown.
std::span<const MountOption> ViewOptions();
// Sources that are URLs.
std::span<const MountOption> RemoteOptions();
// The process: its threads and its log.
std::span<const MountOption> ProcessOptions();

}  // namespace ndlfs::fs
