// SPDX-License-Identifier: MIT
#include <algorithm>
#include <iterator>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "backends/format/netcdf3/layout.h"
#include "fs/view/classic_group.h"
#include "fs/view/segmented_view.h"
#include "fs/view/view_kinds.h"
#include "model/path_name.h"

namespace ndlfs::fs {
namespace {

using classic::GroupArray;
using model::Result;

// How many children are looked at to find an array among them. A group whose arrays
// all come later has the file, too.
constexpr size_t kLooks = 32;

bool MayHaveArrays(const GroupInput& group) {
  const auto names = group.List();
  if (!names) return false;
  for (size_t i = 0; i < names->size() && i < kLooks; ++i) {
    const auto child = group.Load((*names)[i]);
    if (child && child->node && !child->node->is_group()) return true;
  }
  return names->size() > kLooks;
}

bool IsSystemFailure(const model::Error& error) {
  return error.code() == model::ErrorCode::kIo;
}

// The arrays of the group that can be shown. A failure of the system fails all of it:
// the array would be missing without a reason.
Result<std::vector<GroupArray>> LoadArrays(const GroupInput& group) {
  std::vector<GroupArray> arrays;
  NDLFS_TRY(const auto names, group.List());
  for (const std::string& name : names) {
    NDLFS_TRY(const auto link, group.GetLink(name), name);
    if (link) continue;
    auto child = group.Load(name);
    if (!child && IsSystemFailure(child.error())) {
      return model::Propagate(std::move(child).error(), name);
    }
    if (!child || child->node->is_group()) continue;
    arrays.push_back(
        {model::JoinPath(group.path(), name), std::move(child->node), std::move(child->array)});
  }
  return arrays;
}

// The coordinates, from groups around this one, of the dimensions of `arrays`. Without those
// that cannot be loaded the values of the arrays are still right.
Result<std::vector<GroupArray>> LoadOuterCoordinates(std::span<const GroupArray> arrays) {
  std::set<std::string> known;
  for (const GroupArray& array : arrays) known.insert(array.path);
  std::vector<GroupArray> outer;
  for (const GroupArray& array : arrays) {
    if (!array.input) continue;
    const model::Shape& shape = array.node->array().shape;
    for (size_t d = 0; d < shape.size(); ++d) {
      if (shape[d].dimcoord.empty() || !known.insert(shape[d].dimcoord).second) continue;
      auto found = FindCoordinate(*array.input, d);
      if (!found && IsSystemFailure(found.error())) return model::Propagate(found.error());
      if (!found || !*found) continue;
      const auto node = (*found)->node;
      outer.push_back({shape[d].dimcoord, node, **std::move(found), /*is_outer=*/true});
    }
  }
  return outer;
}

Result<ViewPtr> MakeFile(const GroupInput& group) {
  NDLFS_TRY(std::vector<GroupArray> arrays, LoadArrays(group));
  NDLFS_TRY(auto outer, LoadOuterCoordinates(arrays));
  std::ranges::move(outer, std::back_inserter(arrays));
  classic::Content content = MakeContent(group.node().attributes(), arrays);
  backends::netcdf3::Header& header = content.header;
  NDLFS_TRY(std::string text, backends::netcdf3::LayOut(header));
  std::vector<Segment> segments = {Literal(std::move(text))};
  uint64_t end = header.header_bytes;
  for (size_t i = 0; i < content.arrays.size(); ++i) {
    const backends::netcdf3::Variable& variable = header.variables[i];
    if (variable.is_record) continue;  // there are no records
    if (content.elements[i]->size() != variable.bytes) {
      return model::Internal("{}: {} bytes of elements, {} of values", variable.name,
                             content.elements[i]->size(), variable.bytes);
    }
    segments.push_back(Zeros{variable.begin - end});
    segments.push_back(AllOf(content.elements[i], model::ByteOrder::kBig));
    end = variable.begin + variable.bytes;
  }
  segments.push_back(Zeros{header.file_bytes - end});
  return MakeSegmentedView(std::move(segments));
}

}  // namespace

const GroupViewKind kNetcdfView = {
    .file_name = "data.nc",
    .applies_to = &MayHaveArrays,
    .is_listed = [](const GroupInput&) { return false; },
    .make = &MakeFile,
};

}  // namespace ndlfs::fs
