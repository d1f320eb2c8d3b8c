// SPDX-License-Identifier: MIT
#include "backends/format/hdf5/selection.h"

#include "backends/base/checked.h"

namespace ndlfs::backends::hdf5 {
namespace {

using model::Result;

constexpr uint64_t kMaxSelectedRank = 32;
constexpr uint64_t kMaxParts = 1'000'000;

std::vector<uint64_t> TakePoint(Cursor& in, uint64_t width, size_t rank) {
  std::vector<uint64_t> point(rank);
  for (uint64_t& coordinate : point) coordinate = in.Address(width);
  return point;
}

// How wide the numbers of a selection are, and its rank. Version 1 has 32 bits; version 2 of
// hyperslabs 64; the others say it.
struct Head {
  uint64_t width = 4;
  bool is_regular = false;
};

Result<Head> TakeHead(Cursor& in, Selection& selection) {
  constexpr uint64_t kRegular = 1;
  const bool is_hyper = selection.kind == Selection::Kind::kBlocks;
  const uint64_t version = in.Number(4);
  Head head;
  if (version == 1) {
    in.Skip(8);
  } else if (version <= (is_hyper ? 3 : 2) && version != 0) {
    if (is_hyper) head.is_regular = in.Number(1) & kRegular;
    if (is_hyper && version == 2) {
      in.Skip(4);
      head.width = 8;
    } else {
      head.width = in.Number(1);
    }
  } else {
    return model::Unsupported("a selection of version {}", version);
  }
  selection.rank = in.Number(4);
  if (!in.ok() || selection.rank == 0 || selection.rank > kMaxSelectedRank ||
      (head.width != 2 && head.width != 4 && head.width != 8)) {
    return model::Corrupt("a selection of {} dimensions", selection.rank);
  }
  return head;
}

}  // namespace

Result<Selection> TakeSelection(Cursor& in) {
  Selection selection;
  const uint64_t kind = in.Number(4);
  if (kind > 3) return model::Corrupt("a selection of kind {}", kind);
  selection.kind = static_cast<Selection::Kind>(kind);
  if (selection.kind == Selection::Kind::kNone || selection.kind == Selection::Kind::kAll) {
    in.Skip(12);
    NDLFS_RETURN_IF_ERROR(in.Check("a selection"));
    return selection;
  }
  NDLFS_TRY(const Head head, TakeHead(in, selection));
  if (head.is_regular) {
    for (size_t d = 0; d < selection.rank; ++d) {
      const auto numbers = TakePoint(in, head.width, 4);
      selection.axes.push_back({numbers[0], numbers[1], numbers[2], numbers[3]});
    }
  } else {
    const uint64_t parts = in.Number(head.width);
    if (parts > kMaxParts) return model::Limit("a selection of {} parts", parts);
    for (uint64_t left = parts; left > 0 && in.ok(); --left) {
      auto first = TakePoint(in, head.width, selection.rank);
      if (selection.kind == Selection::Kind::kPoints) {
        selection.points.push_back(std::move(first));
        continue;
      }
      auto last = TakePoint(in, head.width, selection.rank);
      for (size_t d = 0; d < selection.rank; ++d) {
        if (last[d] < first[d]) return model::Corrupt("a region without extent");
      }
      selection.boxes.push_back({std::move(first), std::move(last)});
    }
  }
  NDLFS_RETURN_IF_ERROR(in.Check("a selection"));
  return selection;
}

Result<std::vector<Selection::Box>> BoxesOf(const Selection& selection, uint64_t most) {
  const auto too_many = [] { return model::Limit("a region of too many parts"); };
  if (selection.axes.empty()) {
    if (selection.boxes.size() > most) return too_many();
    return selection.boxes;
  }
  uint64_t count = 1;
  for (const Selection::Axis& axis : selection.axes) {
    const auto end = CheckedMultiply(axis.stride, axis.count);
    if (axis.count == kNowhere || axis.block == kNowhere || !end ||
        !CheckedAdd(*end, CheckedAdd(axis.start, axis.block).value_or(UINT64_MAX))) {
      return model::Corrupt("a region without end");
    }
    count = CheckedMultiply(count, axis.block == 0 ? 0 : axis.count).value_or(UINT64_MAX);
    if (count > most) return too_many();
  }
  std::vector<Selection::Box> boxes;
  for (uint64_t i = 0; i < count; ++i) {
    Selection::Box box;
    uint64_t rest = i;
    box.first.resize(selection.rank);
    box.last.resize(selection.rank);
    for (size_t d = selection.rank; d-- > 0;) {
      const Selection::Axis& axis = selection.axes[d];
      box.first[d] = axis.start + rest % axis.count * axis.stride;
      box.last[d] = box.first[d] + axis.block - 1;
      rest /= axis.count;
    }
    boxes.push_back(std::move(box));
  }
  return boxes;
}

}  // namespace ndlfs::backends::hdf5
