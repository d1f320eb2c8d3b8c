// SPDX-License-Identifier: MIT
//
// The directories of a Zarr hierarchy, made of arrays of any store: version 3 (Zarr core
// specification 3.0, "Stored metadata documents" and "Regular grids"), and version 2.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "fs/view/container/zarr_chunks.h"
#include "fs/view/elements/view_node.h"

namespace ndlfs::fs::zarr {

// The documents, and the chunks: c/0/1, or the file c for rank 0; in v2 0.1, or 0 for rank 0.
// Chunks that are absent (see HasChunk()) are not there.
ViewDirectoryPtr MakeArrayDirectory(StoredArray array);

// The documents, and `children` by their names, which are sorted by bytes and differ from those
// of documents. `consolidated` may be null; otherwise it is the document called
// `consolidated_name`, in place of one of that name.
using Children = std::vector<std::pair<std::string, ViewDirectoryPtr>>;
ViewDirectoryPtr MakeGroupDirectory(std::vector<Document> documents, Children children,
                                    std::string consolidated_name = {},
                                    ViewPtr consolidated = nullptr);

}  // namespace ndlfs::fs::zarr
