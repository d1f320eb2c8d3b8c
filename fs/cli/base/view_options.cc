// SPDX-License-Identifier: MIT
#include <array>
#include <span>
#include <string_view>

#include "fs/cli/base/option_tables.h"
#include "fs/cli/base/option_values.h"

namespace ndlfs::fs {
namespace {

using model::Result;

Result<void> SetZarrChunks(MountOptions& options, std::string_view value) {
  NDLFS_TRY(options.passes_stored_chunks, ParseZarrChunks(value));
  return {};
}

constexpr std::array kViewOptions = {
    MountOption{"zarr-chunks", "HOW",
                "Chunks in data.zarr: raw, or as stored where Zarr has words for that (raw)",
                SetZarrChunks},
    MountOption{"as", "VIEW", "Show each store as one file: nc, h5, or as Zarr: zarr, zarr2",
                [](MountOptions& options, std::string_view value) -> Result<void> {
                  NDLFS_TRY(options.as, ParseAs(value));
                  return {};
                }},
    MountOption{"views", "LIST", "Files to list: npy,raw,... or all (what fits the data)",
                [](MountOptions& options, std::string_view value) -> Result<void> {
                  NDLFS_TRY(options.views, ParseViews(value));
                  return {};
                }},
    MountOption{"max-scan", "SIZE",
                "Decode up to this much to find the size of a data.jsonl (1GiB)",
                [](MountOptions& options, std::string_view value) -> Result<void> {
                  NDLFS_TRY(options.max_scan, ParseSize(value));
                  return {};
                }},
};

}  // namespace

std::span<const MountOption> ViewOptions() { return kViewOptions; }

}  // namespace ndlfs::fs
