// SPDX-License-Identifier: MIT
//
// The documents of Zarr hierarchies: zarr.json of version 3; .zarray, .zgroup, .zattrs and
// .zmetadata of version 2.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "fs/view/base/view_input.h"
#include "fs/view/container/zarr_chunks.h"
#include "fs/view/container/zarr_types.h"
#include "model/entities.h"
#include "model/error.h"

namespace ndlfs::fs::zarr {

// `input`, which has elements, as an array of a hierarchy. Its chunks are those of the source
// if these are all equal. Other arrays, and parts of arrays, have chunks of a similar size.
// Errors of its chunks begin with `name`, unless that is empty. Reads nothing. kUnsupported for
// types that Zarr has no word for; kLimit if a chunk would be larger than a file can be.
//
// In v2, xarray takes the fill value of an array with named dimensions for missing. So there
// the fill value of such an array is the one of missing elements, or null. A chunk that is
// absent in the source is absent here only if its elements are the fill value of the document.
model::Result<StoredArray> DescribeArray(const ArrayInput& input, Version version,
                                         std::string name = {});

// The documents of a group with the attributes of `node`. `left_out` says what is not in the
// group, and why, a line each; it becomes the attribute `ndlfs_left_out`.
std::vector<Document> DescribeGroup(const backends::Node& node,
                                    const std::vector<std::string>& left_out, Version version);

// The documents of one node below a group.
struct NodeDocuments {
  std::string path;  // "inner/x"
  std::vector<Document> documents;
  bool is_group = false;
};
// The document of a group that has the metadata of all below it, as zarr-python consolidates
// them: zarr.json in place of the one in `own`, or .zmetadata in addition. `nodes` are in the
// order of a walk in depth. Shares the texts.
model::Result<ViewPtr> Consolidate(const std::vector<Document>& own,
                                   const std::vector<NodeDocuments>& nodes, Version version);
// The name of that document.
std::string_view ConsolidatedName(Version version);

}  // namespace ndlfs::fs::zarr
