// SPDX-License-Identifier: MIT
#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "fs/cli/base/option_setters.h"
#include "fs/cli/base/option_tables.h"
#include "fs/cli/base/option_values.h"

namespace ndlfs::fs {
namespace {

using model::Result;

Result<uint64_t> ParseChunkSize(std::string_view value) {
  NDLFS_TRY(const uint64_t size, ParseSize(value));
  if (size == 0) return model::BadInput("must be at least one byte");
  return size;
}

constexpr std::array kSourceOptions = {
    MountOption{"revalidate", "SECONDS",
                "Time to trust a look at the source before looking again (1)",
                Set<&MountOptions::revalidate_seconds, ParseSeconds>},
    MountOption{"immutable", "", "The source does not change while it is mounted",
                Switch<&MountOptions::immutable>},
    MountOption{"detect", "HOW", "Recognize stores by content or only by name (content)",
                Set<&MountOptions::detection, ParseDetection>},
    MountOption{"max-chunk-size", "SIZE",
                "Do not read arrays with larger decoded chunks (1GiB)",
                Set<&MountOptions::max_chunk_size, ParseChunkSize>},
};

}  // namespace

std::span<const MountOption> SourceOptions() { return kSourceOptions; }

}  // namespace ndlfs::fs
