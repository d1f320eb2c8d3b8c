// SPDX-License-Identifier: MIT
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

// The arrays of the group that can be shown. A failure of the system fails all of it:
// the array would be missing without a reason.
Result<std::vector<GroupArray>> LoadArrays(const GroupInput& group) {
  std::vector<GroupArray> arrays;
  NDLFS_TRY(const auto names, group.List());
  for (const std::string& name : names) {
    NDLFS_TRY(const auto link, group.GetLink(name), name);
    if (link) continue;
    auto child = group.Load(name);
    if (!child && child.error().code() == model::ErrorCode::kIo) {
      return model::Propagate(std::move(child).error(), name);
    }
    if (!child || child->node->is_group()) continue;
    arrays.push_back(
        {model::JoinPath(group.path(), name), std::move(child->node), std::move(child->array)});
  }
  return arrays;
}

Result<ViewPtr> MakeFile(const GroupInput& group) {
  NDLFS_TRY(const std::vector<GroupArray> arrays, LoadArrays(group));
  classic::Content content = MakeContent(group.node().attributes(), arrays);
  backends::netcdf3::Header& header = content.header;
  NDLFS_TRY(std::string text, backends::netcdf3::LayOut(header));
  std::vector<Segment> segments = {Literal(std::move(text))};
  uint64_t end = header.header_bytes;
  for (size_t i = 0; i < content.arrays.size(); ++i) {
    const backends::netcdf3::Variable& variable = header.variables[i];
    if (variable.is_record) continue;  // there are no records
    segments.push_back(Zeros{variable.begin - end});
    segments.push_back(
        AllOf(arrays[content.arrays[i]].input->elements, model::ByteOrder::kBig));
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
