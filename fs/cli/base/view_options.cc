// SPDX-License-Identifier: MIT
#include <array>
#include <span>
#include <string_view>

#include "fs/cli/base/option_setters.h"
#include "fs/cli/base/option_tables.h"
#include "fs/cli/base/option_values.h"

namespace ndlfs::fs {
namespace {

constexpr std::array kViewOptions = {
    MountOption{"zarr-chunks", "HOW",
                "Chunks in data.zarr: raw, or as stored where Zarr has words for that (raw)",
                Set<&MountOptions::passes_stored_chunks, ParseZarrChunks>},
    MountOption{"as", "VIEW", "Show each store as one file: nc, h5, or as Zarr: zarr, zarr2",
                Set<&MountOptions::as, ParseAs>},
    MountOption{"views", "LIST", "Files to list: npy,raw,... or all (what fits the data)",
                Set<&MountOptions::views, ParseViews>},
    MountOption{"max-scan", "SIZE",
                "Decode up to this much to find the size of a data.jsonl (1GiB)",
                Set<&MountOptions::max_scan, ParseSize>},
};

}  // namespace

std::span<const MountOption> ViewOptions() { return kViewOptions; }

}  // namespace ndlfs::fs
