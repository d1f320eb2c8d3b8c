// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "backends/format/hierarchy.h"
#include "backends/format/zarr/metadata_reader.h"
#include "backends/format/zarr/nczarr_keys.h"
#include "backends/store/store.h"
#include "model/error.h"

namespace ndlfs::backends::zarr {

struct NodePlace {
  std::shared_ptr<const Store> store;
  std::string path;        // path name of the node
  std::string name;        // the last part of it, or that of a store that is one array
  std::string key_prefix;  // for the chunks of an array: "temp/"
  // The dimensions that the group at a path declares (NCZarr); never null.
  std::function<std::shared_ptr<const nczarr::Dimensions>(std::string_view)> dimensions_of;
};

// Makes a node from its metadata. Does not link dimensions to coordinates. But NCZarr tells the
// path name of the coordinate that a dimension would have; `dimcoord` is set to that, whether
// the coordinate exists or not.
model::Result<Node> BuildNode(NodeFiles::Kind kind, const NodeDocuments& documents,
                              const NodePlace& place, const OpenOptions& options);

}  // namespace ndlfs::backends::zarr
