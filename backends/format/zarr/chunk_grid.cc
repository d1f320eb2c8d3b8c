// SPDX-License-Identifier: MIT
#include "backends/format/zarr/chunk_grid.h"

#include <algorithm>
#include <utility>

#include "backends/format/zarr/extension.h"

namespace ndlfs::backends::zarr {
namespace {

// Edges are listed one by one in memory: 8 MiB for each dimension at most.
constexpr uint64_t kMaxEdges = uint64_t{1} << 20;

model::Failure TooManyEdges() {
  return model::Limit("more than {} chunks along a dimension of a rectilinear grid", kMaxEdges);
}

// An item of a list of edges: an extent, or [extent, repetitions].
model::Result<void> AppendEdges(const Json& item, std::vector<uint64_t>& edges) {
  uint64_t extent = 0;
  uint64_t count = 1;
  if (item.is_array()) {
    if (item.size() != 2) {
      return model::BadInput("expected [extent, repetitions], found {}", DescribeJson(item));
    }
    NDLFS_TRY(extent, JsonToSize(item[0]), "extent");
    NDLFS_TRY(count, JsonToSize(item[1]), "repetitions");
  } else {
    NDLFS_TRY(extent, JsonToSize(item));
  }
  if (count > kMaxEdges || edges.size() + count > kMaxEdges) return TooManyEdges();
  edges.insert(edges.end(), count, extent);
  return {};
}

// The extents of all chunks along a dimension. A bare integer is the extent of
// each of them.
model::Result<std::vector<uint64_t>> ParseEdges(const Json& json, uint64_t array_extent) {
  std::vector<uint64_t> edges;
  if (json.is_array()) {
    for (const Json& item : json) NDLFS_RETURN_IF_ERROR(AppendEdges(item, edges));
    return edges;
  }
  NDLFS_TRY(const uint64_t extent, JsonToSize(json));
  if (extent == 0) return model::BadInput("chunks of extent 0");
  const uint64_t count = array_extent / extent + (array_extent % extent != 0 ? 1 : 0);
  if (count > kMaxEdges) return TooManyEdges();
  edges.assign(count, extent);
  return edges;
}

model::Result<ChunkGrid> ParseRectilinear(const Json& configuration,
                                          const std::vector<uint64_t>& shape) {
  NDLFS_RETURN_IF_ERROR(RefuseUnknownMembers(configuration, {"kind", "chunk_shapes"}));
  NDLFS_TRY(const Json* kind, RequireMember(configuration, "kind"));
  if (*kind != "inline") {
    return model::Unsupported("kind: expected \"inline\", found {}", DescribeJson(*kind));
  }
  NDLFS_TRY(const Json* lists, RequireMember(configuration, "chunk_shapes"));
  if (!lists->is_array() || lists->size() != shape.size()) {
    return model::BadInput("chunk_shapes: expected a list of {}, found {}", shape.size(),
                           DescribeJson(*lists));
  }
  std::vector<std::vector<uint64_t>> edges;
  for (size_t dim = 0; dim < shape.size(); ++dim) {
    NDLFS_TRY(auto extents, ParseEdges((*lists)[dim], shape[dim]),
              fmt::format("chunk_shapes[{}]", dim));
    edges.push_back(std::move(extents));
  }
  return ChunkGrid::Rectilinear(shape, std::move(edges));
}

}  // namespace

model::Result<ChunkGrid> MakeRegularGrid(const std::vector<uint64_t>& shape,
                                         std::vector<uint64_t> chunk_shape) {
  if (chunk_shape.size() == shape.size()) {
    for (size_t dim = 0; dim < shape.size(); ++dim) {
      if (shape[dim] == 0) chunk_shape[dim] = std::max<uint64_t>(chunk_shape[dim], 1);
    }
  }
  return ChunkGrid::Regular(shape, std::move(chunk_shape), ChunkGrid::Edge::kFull);
}

model::Result<ChunkGrid> ParseChunkGrid(const Json& json, const std::vector<uint64_t>& shape) {
  NDLFS_TRY(const Extension extension, ParseRequiredExtension(json));
  const Json& configuration = *extension.configuration;
  if (extension.name == "rectilinear") return ParseRectilinear(configuration, shape);
  if (extension.name != "regular") {
    return model::Unsupported("unknown chunk grid {}", model::Quote(extension.name));
  }
  NDLFS_RETURN_IF_ERROR(RefuseUnknownMembers(configuration, {"chunk_shape"}));
  NDLFS_TRY(const Json* chunk_json, RequireMember(configuration, "chunk_shape"));
  NDLFS_TRY(auto chunk_shape, JsonToSizes(*chunk_json), "chunk_shape");
  return MakeRegularGrid(shape, std::move(chunk_shape));
}

}  // namespace ndlfs::backends::zarr
