// SPDX-License-Identifier: MIT
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "backends/format/hierarchy.h"
#include "cache/load_counts.h"
#include "fs/tree/tree_node.h"
#include "fs/view/all_views.h"

namespace ndlfs::fs {

// The extended attributes of an object's folder:
//   user.ndl.path   /forecast/wind
//   user.ndl.kind   group, ndarray or dimcoord
//   user.ndl.type   the datatype, in NDL
//   user.ndl.shape  [4, 181, 360]
//   user.ndl.layout {size: 8, members: ...} as `x-layout`, where that is written
//   user.ndl.chunk  [1, 181, 360], where it is known
//   user.ndl.store  era5.zarr, in the source
//   user.ndl.views  [data.npy, data.raw, data.txt, data.jsonl]: the files that
//                   `views` has, listed or not, without those that were refused
//   user.attr.NAME  each attribute: text as it is, everything else in NDL
// Attributes beyond the limits of Linux are left out: values over 64 KiB, names
// over 255 bytes, and the names that would make the list longer than 64 KiB.
// Of a name `only` that is not empty, finds this attribute alone, and computes no other.
//
// In addition, an array that has data has
//   user.ndl.stats  {decoded: 12, parts: 0, bytes: 50331648, seconds: 0.09, ...},
//                   see DescribeLoads()
// which is not listed: programs that copy attributes would find it changed each time.
ExtendedAttributes DescribeEntity(std::string_view store, std::string_view path,
                                  const backends::Node& node,
                                  std::span<const ViewName> views = {},
                                  std::string_view only = {});

// The names of objects' attributes begin so.
inline constexpr std::string_view kOwnPrefix = "user.ndl.";
inline constexpr std::string_view kAttributePrefix = "user.attr.";
inline constexpr std::string_view kViewsName = "user.ndl.views";

// Which version of a store with versions a folder shows, as `--ref` says it; not listed.
inline constexpr std::string_view kRefAttributeName = "user.ndl.ref";
inline constexpr std::string_view kLoadStatsName = "user.ndl.stats";
// The digest of the elements of an array (ndlfs-digest(5)); not listed, because it decodes all
// of them.
inline constexpr std::string_view kDigestName = "user.ndl.digest";
// What reading a view as a whole takes; not listed, because it looks at each chunk.
inline constexpr std::string_view kCostName = "user.ndl.cost";
// Whether --decoded-cache has a view; not listed, because it looks at the source.
inline constexpr std::string_view kKeptName = "user.ndl.kept";
// Its values: the view is kept; its last bytes are being brought to the disk; it is not kept;
// keeping it is not worth while, or not possible: a small file, one that the source has.
inline constexpr std::string_view kKeptYes = "yes";
inline constexpr std::string_view kKeptSoon = "soon";
inline constexpr std::string_view kKeptNot = "no";
inline constexpr std::string_view kKeptNever = "never";
// The cost in YAML: {chunks: 48, kept: 3, fetched-bytes: 1234, decoded-bytes: 5678}.
std::string DescribeCost(const ReadCost& cost);
// The cost of reading an array since ndlfs has it in memory, in YAML.
std::string DescribeLoads(const cache::LoadCounts& counts);

}  // namespace ndlfs::fs
