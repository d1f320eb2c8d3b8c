// SPDX-License-Identifier: MIT
#include <array>
#include <span>
#include <string_view>

#include "fs/cli/base/option_tables.h"
#include "fs/cli/base/option_values.h"

namespace ndlfs::fs {
namespace {

using model::Result;

Result<void> SetRevalidate(MountOptions& options, std::string_view value) {
  NDLFS_TRY(options.revalidate_seconds, ParseSeconds(value));
  return {};
}

Result<void> SetMaxChunkSize(MountOptions& options, std::string_view value) {
  NDLFS_TRY(options.max_chunk_size, ParseSize(value));
  if (options.max_chunk_size == 0) return model::BadInput("must be at least one byte");
  return {};
}

constexpr std::array kSourceOptions = {
    MountOption{"revalidate", "SECONDS",
                "Time to trust a look at the source before looking again (1)", SetRevalidate},
    MountOption{"immutable", "", "The source does not change while it is mounted",
                [](MountOptions& options, std::string_view) -> Result<void> {
                  options.immutable = true;
                  return {};
                }},
    MountOption{"detect", "HOW", "Recognize stores by content or only by name (content)",
                [](MountOptions& options, std::string_view value) -> Result<void> {
                  NDLFS_TRY(options.detection, ParseDetection(value));
                  return {};
                }},
    MountOption{"max-chunk-size", "SIZE",
                "Do not read arrays with larger decoded chunks (1GiB)", SetMaxChunkSize},
};

}  // namespace

std::span<const MountOption> SourceOptions() { return kSourceOptions; }

}  // namespace ndlfs::fs
