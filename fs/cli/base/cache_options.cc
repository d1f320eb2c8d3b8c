// SPDX-License-Identifier: MIT
#include <array>
#include <span>
#include <string>
#include <string_view>

#include "fs/cli/base/option_setters.h"
#include "fs/cli/base/option_tables.h"
#include "fs/cli/base/option_values.h"

namespace ndlfs::fs {
namespace {

using model::Result;

Result<std::string> ParseNameOfDirectory(std::string_view value) {
  if (value.empty()) return model::BadInput("is not the name of a directory");
  return std::string(value);
}

Result<uint64_t> ParseDecodedCacheSize(std::string_view value) {
  NDLFS_TRY(const uint64_t size, ParseSize(value));
  if (size != 0) return size;
  return model::BadInput("with 0 nothing would be kept; leave --decoded-cache out instead");
}

constexpr std::array kCacheOptions = {
    MountOption{"cache-size", "SIZE", "Memory for decoded chunks (512MiB)",
                Set<&MountOptions::cache_size, ParseSize>},
    MountOption{"cache-dir", "DIR",
                "Directory for decoded chunks that do not fit in memory (/var/tmp)",
                Set<&MountOptions::cache_dir, ParseNameOfDirectory>},
    MountOption{"cache-dir-size", "SIZE", "Disk space for these chunks; 0 for none (8GiB)",
                Set<&MountOptions::cache_dir_size, ParseSize>},
    MountOption{
        "decoded-cache", "DIR",
        "Directory to keep files in that were read to their end; made if need be (none)",
        Set<&MountOptions::decoded_cache, ParseDirectory>},
    MountOption{"decoded-cache-size", "SIZE", "Disk space for them (10GiB)",
                Set<&MountOptions::decoded_cache_size, ParseDecodedCacheSize>},
};

}  // namespace

std::span<const MountOption> CacheOptions() { return kCacheOptions; }

}  // namespace ndlfs::fs
