// SPDX-License-Identifier: MIT
#include <array>
#include <filesystem>
#include <span>
#include <string_view>

#include "fs/cli/base/option_tables.h"
#include "fs/cli/base/option_values.h"

namespace ndlfs::fs {
namespace {

using model::Result;

Result<void> SetCacheDir(MountOptions& options, std::string_view value) {
  if (value.empty()) return model::BadInput("is not the name of a directory");
  options.cache_dir = value;
  return {};
}

// Absolute: the background process works in "/".
Result<void> SetDecodedCache(MountOptions& options, std::string_view value) {
  if (value.empty()) return model::BadInput("is not the name of a directory");
  options.decoded_cache = std::filesystem::absolute(value).lexically_normal();
  return {};
}

Result<void> SetDecodedCacheSize(MountOptions& options, std::string_view value) {
  NDLFS_TRY(options.decoded_cache_size, ParseSize(value));
  if (options.decoded_cache_size != 0) return {};
  return model::BadInput("with 0 nothing would be kept; leave --decoded-cache out instead");
}

constexpr std::array kCacheOptions = {
    MountOption{"cache-size", "SIZE", "Memory for decoded chunks (512MiB)",
                [](MountOptions& options, std::string_view value) -> Result<void> {
                  NDLFS_TRY(options.cache_size, ParseSize(value));
                  return {};
                }},
    MountOption{"cache-dir", "DIR",
                "Directory for decoded chunks that do not fit in memory (/var/tmp)",
                SetCacheDir},
    MountOption{"cache-dir-size", "SIZE", "Disk space for these chunks; 0 for none (8GiB)",
                [](MountOptions& options, std::string_view value) -> Result<void> {
                  NDLFS_TRY(options.cache_dir_size, ParseSize(value));
                  return {};
                }},
    MountOption{
        "decoded-cache", "DIR",
        "Directory to keep files in that were read to their end; made if need be (none)",
        SetDecodedCache},
    MountOption{"decoded-cache-size", "SIZE", "Disk space for them (10GiB)",
                SetDecodedCacheSize},
};

}  // namespace

std::span<const MountOption> CacheOptions() { return kCacheOptions; }

}  // namespace ndlfs::fs
