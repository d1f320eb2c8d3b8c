// SPDX-License-Identifier: MIT
#include "backends/format/hdf5/references.h"

#include <algorithm>
#include <vector>

#include "backends/base/checked.h"
#include "backends/base/json.h"
#include "backends/format/hdf5/object.h"
#include "backends/format/hdf5/selection.h"
#include "model/utf8.h"

namespace ndlfs::backends::hdf5 {
namespace {

using model::Result;
using Point = std::vector<uint64_t>;

// Regions are written out element by element where they are not one block, up to a million
// coordinates.
uint64_t MaxPoints(size_t rank) { return 1'000'000 / std::max<size_t>(rank, 1); }

// All elements of a dataset.
Result<std::vector<Selection::Box>> WholeOf(const Object& dataset) {
  NDLFS_TRY(const Extent extent, dataset.ReadExtent());
  if (std::ranges::count(extent.shape, 0) != 0) return std::vector<Selection::Box>();
  Selection::Box box{Point(extent.shape.size(), 0), extent.shape};
  for (uint64_t& last : box.last) --last;
  return std::vector{std::move(box)};
}

Result<void> AppendPoints(const Selection::Box& block, std::vector<Point>& points) {
  const uint64_t most = MaxPoints(block.first.size());
  uint64_t count = 1;
  for (size_t d = 0; d < block.first.size(); ++d) {
    if (block.last[d] < block.first[d]) return model::Corrupt("a region without extent");
    const auto all = CheckedMultiply(count, block.last[d] - block.first[d] + 1);
    if (!all || *all + points.size() > most) {
      return model::Limit("a region of more than {} elements", most);
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

std::string References::ObjectPath(uint64_t address) {
  if (address == 0 || address == kNowhere) return "";
  auto path = index_.PathOf(file_, address);
  met_dangling_ |= !path;
  return std::move(path).value_or("");
}

Result<std::string> References::RegionText(ConstByteSpan region) {
  Cursor in(region);
  const uint64_t address = in.Address(file_.offset_bytes());
  NDLFS_TRY(Selection selection, TakeSelection(in), "a region reference");
  const auto path = index_.PathOf(file_, address);
  const auto dataset = Object::Open(file_, address);
  // A file that cannot be read says nothing about the reference.
  if (!dataset && dataset.error().code() != model::ErrorCode::kCorrupt) {
    return model::Propagate(dataset.error());
  }
  if (!path || !dataset || dataset->kind() != Object::Kind::kDataset) {
    met_dangling_ = true;
    return "";
  }
  NDLFS_TRY(auto boxes, selection.kind == Selection::Kind::kAll
                            ? WholeOf(*dataset)
                            : BoxesOf(selection, MaxPoints(selection.rank)));
  Json json;
  json["target"] = model::AsUtf8(*path);
  std::vector<Point> points = std::move(selection.points);
  const bool is_block = points.empty() && boxes.size() == 1;
  met_elements_ |= !is_block;
  if (is_block && !regions_as_elements_) {
    json["start"] = boxes[0].first;
    json["opposite"] = boxes[0].last;
    return json.dump();
  }
  for (const Selection::Box& box : boxes) {
    NDLFS_RETURN_IF_ERROR(AppendPoints(box, points));
  }
  json["elements"] = points;
  return json.dump();
}

}  // namespace ndlfs::backends::hdf5
