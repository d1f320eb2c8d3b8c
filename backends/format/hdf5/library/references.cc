// SPDX-License-Identifier: MIT
#include "backends/format/hdf5/library/references.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "backends/base/checked.h"
#include "backends/base/json.h"
#include "model/utf8.h"

namespace ndlfs::backends::hdf5 {
namespace {

using model::Result;
using Point = std::vector<uint64_t>;

// Regions are written out element by element where they are not one block.
constexpr uint64_t kMaxPoints = 1'000'000;

struct BlockOfPoints {
  Point first;
  Point last;  // inside
};

struct Selected {
  std::vector<BlockOfPoints> blocks;
  std::vector<Point> points;
};

Result<uint64_t> CheckCount(hssize_t count, int rank) {
  if (count < 0) return LibraryError("cannot read the region");
  const auto numbers = CheckedMultiply(static_cast<uint64_t>(count),
                                       2 * static_cast<uint64_t>(std::max(rank, 1)));
  if (!numbers || *numbers > kMaxPoints) {
    return model::Limit("a region of {} parts", static_cast<int64_t>(count));
  }
  return static_cast<uint64_t>(count);
}

Result<Selected> ReadPoints(hid_t space, int rank) {
  NDLFS_TRY(const uint64_t count, CheckCount(H5Sget_select_elem_npoints(space), rank));
  std::vector<hsize_t> numbers(count * static_cast<uint64_t>(rank));
  NDLFS_RETURN_IF_ERROR(CheckStatus(
      H5Sget_select_elem_pointlist(space, 0, count, numbers.data()), "cannot read the region"));
  Selected selected;
  for (auto at = numbers.begin(); at != numbers.end(); at += rank) {
    selected.points.emplace_back(at, at + rank);
  }
  return selected;
}

Result<Selected> ReadBlocks(hid_t space, int rank) {
  NDLFS_TRY(const uint64_t count, CheckCount(H5Sget_select_hyper_nblocks(space), rank));
  std::vector<hsize_t> numbers(2 * count * static_cast<uint64_t>(rank));
  NDLFS_RETURN_IF_ERROR(
      CheckStatus(H5Sget_select_hyper_blocklist(space, 0, count, numbers.data()),
                  "cannot read the region"));
  Selected selected;
  for (auto at = numbers.begin(); at != numbers.end(); at += 2 * rank) {
    selected.blocks.push_back({Point(at, at + rank), Point(at + rank, at + 2 * rank)});
  }
  return selected;
}

Result<Selected> ReadAll(hid_t space, int rank) {
  std::vector<hsize_t> extent(static_cast<size_t>(rank));
  if (H5Sget_simple_extent_dims(space, extent.data(), nullptr) < 0) {
    return LibraryError("cannot read the region");
  }
  Selected selected;
  if (std::count(extent.begin(), extent.end(), 0) != 0) return selected;
  for (hsize_t& last : extent) --last;
  selected.blocks.push_back({Point(extent.size(), 0), Point(extent.begin(), extent.end())});
  return selected;
}

Result<Selected> ReadSelection(hid_t space) {
  const int rank = H5Sget_simple_extent_ndims(space);
  if (rank < 0) return LibraryError("cannot read the region");
  switch (H5Sget_select_type(space)) {
    case H5S_SEL_POINTS:
      if (rank == 0) return Selected();
      return ReadPoints(space, rank);
    case H5S_SEL_HYPERSLABS:
      if (rank == 0) return Selected();
      return ReadBlocks(space, rank);
    case H5S_SEL_ALL:
      return ReadAll(space, rank);
    default:
      return Selected();
  }
}

Result<void> AppendPoints(const BlockOfPoints& block, std::vector<Point>& points) {
  uint64_t count = 1;
  for (size_t d = 0; d < block.first.size(); ++d) {
    if (block.last[d] < block.first[d]) return model::Corrupt("a region without extent");
    const auto all = CheckedMultiply(count, block.last[d] - block.first[d] + 1);
    if (!all || *all + points.size() > kMaxPoints) {
      return model::Limit("a region of more than {} elements", kMaxPoints);
    }
    count = *all;
  }
  Point at = block.first;
  for (uint64_t i = 0; i < count; ++i) {
    points.push_back(at);
    for (size_t d = at.size(); d-- > 0;) {
      if (at[d]++ != block.last[d]) break;
      at[d] = block.first[d];
    }
  }
  return {};
}

}  // namespace

std::string References::ObjectPath(const hobj_ref_t& reference) {
  if (reference == 0 || reference == HADDR_UNDEF) return "";
  auto path = index_.PathOf(file_, reference);
  met_dangling_ |= !path;
  return std::move(path).value_or("");
}

model::Result<std::optional<References::Target>> References::Follow(
    const hdset_reg_ref_t& reference) {
  const Handle dataset(H5Rdereference2(file_, H5P_DEFAULT, H5R_DATASET_REGION, &reference));
  Target target;
  if (dataset) target.space = Handle(H5Rget_region(file_, H5R_DATASET_REGION, &reference));
  H5O_info_t info;
  if (!target.space || H5Oget_info2(dataset.get(), &info, H5O_INFO_BASIC) < 0) {
    // A file that cannot be read says nothing about the reference.
    const std::string reason = TakeInnermostReason();
    if (reason == "driver read request failed") {
      return model::Corrupt("cannot follow a region reference: {}", reason);
    }
    return std::nullopt;
  }
  const auto path = index_.PathOf(file_, info.addr);
  if (!path) return std::nullopt;
  target.path = *path;
  return target;
}

model::Result<std::string> References::RegionText(const hdset_reg_ref_t& reference) {
  // An array, and since HDF5 1.12 a struct around one.
  const auto* bytes = reinterpret_cast<const std::byte*>(&reference);
  if (std::all_of(bytes, bytes + sizeof(reference), [](auto b) { return b == std::byte{}; })) {
    return "";
  }
  NDLFS_TRY(const auto target, Follow(reference));
  if (!target) {
    met_dangling_ = true;
    return "";
  }
  NDLFS_TRY(auto selected, ReadSelection(target->space.get()));
  Json json;
  json["target"] = model::AsUtf8(target->path);
  const bool is_block = selected.points.empty() && selected.blocks.size() == 1;
  met_elements_ |= !is_block;
  if (is_block && !regions_as_elements_) {
    json["start"] = selected.blocks[0].first;
    json["opposite"] = selected.blocks[0].last;
    return json.dump();
  }
  for (const BlockOfPoints& block : selected.blocks) {
    NDLFS_RETURN_IF_ERROR(AppendPoints(block, selected.points));
  }
  json["elements"] = selected.points;
  return json.dump();
}

}  // namespace ndlfs::backends::hdf5
