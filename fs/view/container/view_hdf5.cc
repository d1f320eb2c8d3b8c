// SPDX-License-Identifier: MIT
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "fs/view/container/hdf5_group.h"
#include "fs/view/container/views.h"
#include "fs/view/elements/segmented_view.h"

namespace ndlfs::fs {
namespace {

using backends::hdf5::WrittenFile;
using model::Result;

// A part of the file that is no zeros.
struct FilePart {
  uint64_t size = 0;
  Segment segment;
};
using Parts = std::multimap<uint64_t, FilePart>;  // by offset

Result<Parts> PartsOf(const hdf5::Content& content, WrittenFile& written) {
  Parts parts;
  for (WrittenFile::Block& block : written.blocks) {
    const auto* begin = reinterpret_cast<const char*>(block.bytes.data());
    std::string text(begin, block.bytes.size());
    block.bytes = {};
    const uint64_t size = text.size();
    parts.emplace(block.offset, FilePart{size, Literal(std::move(text))});
  }
  for (size_t i = 0; i < content.elements.size(); ++i) {
    if (written.offsets[i] == WrittenFile::kNowhere) continue;
    const auto& elements = content.elements[i];
    if (elements == nullptr) return model::Internal("room for elements that there are none of");
    parts.emplace(written.offsets[i], FilePart{elements->size(), AllOf(elements)});
  }
  return parts;
}

Result<ViewNode> MakeHdf5File(const GroupInput& group) {
  NDLFS_TRY(const hdf5::Content content, hdf5::MakeContent(group));
  NDLFS_TRY(WrittenFile written, backends::hdf5::WriteNewFile(*content.file), "HDF5");
  NDLFS_TRY(Parts parts, PartsOf(content, written));
  std::vector<Segment> segments;
  uint64_t end = 0;
  for (auto& [offset, part] : parts) {
    // The elements have to be as many as there is room for.
    if (offset < end) return model::Internal("elements that overlap in an HDF5 file");
    segments.push_back(Zeros{offset - end});
    segments.push_back(std::move(part.segment));
    end = offset + part.size;
  }
  if (end > written.size) return model::Internal("elements beyond the end of an HDF5 file");
  segments.push_back(Zeros{written.size - end});
  return MakeSegmentedView(std::move(segments));
}

bool IsAlways(const GroupInput&) { return true; }

// Otherwise listing a folder with sizes would read the metadata of the whole store.
bool IsHdf5Listed(const GroupInput&) { return false; }

}  // namespace

const GroupViewKind kHdf5View = {
    .file_name = "data.h5",
    .description = "HDF5 and netCDF-4: the arrays of this group and below",
    .applies_to = &IsAlways,
    .is_listed = &IsHdf5Listed,
    .holds_subgroups = true,
    .make = &MakeHdf5File,
};

const GroupViewKind kNetcdf4View = {
    .file_name = "data.nc4",
    .description = "the same as data.h5",
    .applies_to = &IsAlways,
    .is_listed = &IsHdf5Listed,
    .holds_subgroups = true,
    .make = &MakeHdf5File,
};

}  // namespace ndlfs::fs
