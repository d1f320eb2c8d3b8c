// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "backends/store/block_cache/block_cache.h"
#include "backends/store/source.h"

namespace ndlfs::backends {

struct CachedSourceOptions {
  // The text that the keys of blocks begin with; empty: Source::identity().
  std::string identity = {};
  // How long the version of a value is trusted before the source is asked again; nullopt: for
  // ever, also in later mounts.
  std::optional<std::chrono::nanoseconds> trust_for = std::chrono::seconds(1);
  // The time as seconds since 1970; empty: the clock of the system.
  std::function<int64_t()> now_s = nullptr;
};

// A source that keeps the bytes of its files in a cache on disk. Its stores promise the same as
// the stores of `source`, because each block belongs to a version of its file. Before a block
// is used, the caller of the read or the source tells the present version. Bytes that are not
// kept take one read of the source, a little larger than the requested one. Listings and looks
// go to the source. Not for a source that is shared between users, because everybody could read
// the blocks that one user may read.
std::shared_ptr<const Source> MakeCachedSource(std::shared_ptr<const Source> source,
                                               std::shared_ptr<BlockCache> cache,
                                               CachedSourceOptions options);

}  // namespace ndlfs::backends
