// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <string>

#include "backends/hierarchy.h"
#include "backends/store/store.h"
#include "backends/zarr/metadata_reader.h"
#include "model/error.h"

namespace ndlfs::backends::zarr {

struct NodePlace {
  std::shared_ptr<const Store> store;
  std::string name;        // of the node
  std::string key_prefix;  // of an array's chunks: "temp/"
};

// Makes a node of its metadata. Dimensions are not linked to coordinates yet.
model::Result<Node> BuildNode(NodeFiles::Kind kind, const NodeDocuments& documents,
                              const NodePlace& place, const OpenOptions& options);

}  // namespace ndlfs::backends::zarr
