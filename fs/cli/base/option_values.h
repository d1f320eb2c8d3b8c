// SPDX-License-Identifier: MIT
//
// The values of options, as people write them. Errors are kBadInput, and do not name the
// option.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "backends/detection.h"
#include "fs/view/base/view_provider.h"
#include "model/error.h"

namespace ndlfs::fs {

// The most threads that an option may ask for.
inline constexpr unsigned kMaxThreads = 1024;

// The values of an option of any command, if there are few: those of --log-level and the like.
// `name` has no leading hyphens: "log-level".
std::vector<std::string_view> OptionChoices(std::string_view name);

// A number of threads; 0 is one for each core.
model::Result<unsigned> ParseThreads(std::string_view text);

// "content" or "name".
model::Result<backends::Detection> ParseDetection(std::string_view text);

// "all", or short names of views such as "npy,raw" or "npy:raw".
model::Result<ListedViews> ParseViews(std::string_view text);

// The short name of a view of groups, such as "nc".
model::Result<std::string> ParseAs(std::string_view text);

// A number of bytes, with KiB, MiB, GiB or TiB behind it or nothing.
model::Result<uint64_t> ParseSize(std::string_view text);

// "raw" or "stored": whether data.zarr passes on chunks as they are stored.
model::Result<bool> ParseZarrChunks(std::string_view text);

// The name of a directory, which need not exist. Absolute, because the background process works
// in "/".
model::Result<std::string> ParseDirectory(std::string_view text);

// A number of seconds, such as 1 or 0.5.
model::Result<double> ParseSeconds(std::string_view text);

}  // namespace ndlfs::fs
