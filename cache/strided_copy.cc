// SPDX-License-Identifier: MIT
#include "cache/strided_copy.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace ndlfs::cache {
namespace {

// Drops axes of one piece, and joins what is contiguous at both sides.
void Coalesce(std::vector<CopyAxis>& axes, size_t& run) {
  std::erase_if(axes, [](const CopyAxis& axis) { return axis.count == 1; });
  while (!axes.empty() && axes.back().from_stride == run && axes.back().to_stride == run) {
    run *= axes.back().count;
    axes.pop_back();
  }
  for (size_t i = axes.size(); i-- > 1;) {
    CopyAxis& outer = axes[i - 1];
    const CopyAxis& inner = axes[i];
    if (outer.from_stride == inner.count * inner.from_stride &&
        outer.to_stride == inner.count * inner.to_stride) {
      outer = {outer.count * inner.count, inner.from_stride, inner.to_stride};
      axes.erase(axes.begin() + static_cast<ptrdiff_t>(i));
    }
  }
}

// A run whose length the compiler knows is a load and a store.
template <size_t kRun>
void CopyRow(const std::byte* from, std::byte* to, const CopyAxis& axis) {
  for (size_t i = 0; i < axis.count; ++i) {
    std::memcpy(to + i * axis.to_stride, from + i * axis.from_stride, kRun);
  }
}

void CopyRow(const std::byte* from, std::byte* to, const CopyAxis& axis, size_t run) {
  switch (run) {
    case 1:
      return CopyRow<1>(from, to, axis);
    case 2:
      return CopyRow<2>(from, to, axis);
    case 4:
      return CopyRow<4>(from, to, axis);
    case 8:
      return CopyRow<8>(from, to, axis);
    case 16:
      return CopyRow<16>(from, to, axis);
    default:
      for (size_t i = 0; i < axis.count; ++i) {
        std::memcpy(to + i * axis.to_stride, from + i * axis.from_stride, run);
      }
  }
}

// Calls `row(from_offset, to_offset, innermost_axis)` for all rows of the box.
template <typename Row>
void ForEachRow(std::span<const CopyAxis> axes, const Row& row) {
  constexpr CopyAxis kSingle{1, 0, 0};
  if (axes.empty()) return row(0, 0, kSingle);
  const std::span<const CopyAxis> outer = axes.first(axes.size() - 1);
  std::vector<size_t> index(outer.size(), 0);
  size_t from = 0;
  size_t to = 0;
  for (;;) {
    row(from, to, axes.back());
    size_t axis = outer.size();
    for (;;) {
      if (axis == 0) return;
      --axis;
      from += outer[axis].from_stride;
      to += outer[axis].to_stride;
      if (++index[axis] < outer[axis].count) break;
      from -= outer[axis].count * outer[axis].from_stride;
      to -= outer[axis].count * outer[axis].to_stride;
      index[axis] = 0;
    }
  }
}

// How many bytes to read in one piece and then copy from: they stay in the cache of the
// processor meanwhile. Twice as much took a fifth longer, and `preadv` of rows of 1 KiB to
// their places took two fifths longer.
constexpr size_t kCopiedBytes = 64 << 10;

// Runs of this size are read to where they belong.
constexpr size_t kDirectBytes = 16 << 10;

// One read of everything is cheaper than two reads, up to this size, or up to this many times
// the wanted bytes.
constexpr uint64_t kSmallBytes = 4 << 10;
constexpr uint64_t kMostWaste = 4;

std::span<std::byte> PieceBuffer() {
  thread_local std::vector<std::byte> buffer(kCopiedBytes);
  return buffer;
}

// Bytes from the first to the last one of a box at the side it comes from.
uint64_t SourceExtent(std::span<const CopyAxis> axes, size_t run) {
  uint64_t extent = run;
  for (const CopyAxis& axis : axes) extent += (axis.count - 1) * axis.from_stride;
  return extent;
}

// Reads boxes that are small, or of large runs, and cuts others in two along
// the slowest axis.
class StridedReader {
 public:
  StridedReader(const ReadAtOffset& read, size_t run) : read_(read), run_(run) {}

  bool Read(uint64_t from, std::byte* to, std::span<const CopyAxis> axes) const {
    if (axes.empty()) return read_(from, {to, run_});
    const uint64_t extent = SourceExtent(axes, run_);
    if (IsOnePiece(axes, extent)) return ReadPiece(from, to, axes, extent);
    const CopyAxis& outer = axes.front();
    if (outer.count == 1) return Read(from, to, axes.subspan(1));
    std::vector<CopyAxis> half(axes.begin(), axes.end());
    half[0].count = outer.count / 2;
    if (!Read(from, to, half)) return false;
    from += half[0].count * outer.from_stride;
    to += half[0].count * outer.to_stride;
    half[0].count = outer.count - half[0].count;
    return Read(from, to, half);
  }

 private:
  bool IsOnePiece(std::span<const CopyAxis> axes, uint64_t extent) const {
    if (run_ >= kDirectBytes || extent > kCopiedBytes) return false;
    uint64_t wanted = run_;
    for (const CopyAxis& axis : axes) wanted *= axis.count;
    return extent <= std::max(kSmallBytes, kMostWaste * wanted);
  }

  bool ReadPiece(uint64_t from, std::byte* to, std::span<const CopyAxis> axes,
                 uint64_t extent) const {
    const std::span<std::byte> piece = PieceBuffer().first(extent);
    if (!read_(from, piece)) return false;
    CopyStrided(piece.data(), to, {axes.begin(), axes.end()}, run_);
    return true;
  }

  const ReadAtOffset& read_;
  const size_t run_;
};

bool IsEmpty(std::span<const CopyAxis> axes) {
  return std::any_of(axes.begin(), axes.end(), [](const CopyAxis& a) { return a.count == 0; });
}

// `out` as a periodic sequence of `element`, from its byte `phase`.
void FillRun(std::span<const std::byte> element, size_t phase, std::byte* out, size_t run) {
  const size_t first = std::min(run, element.size());
  for (size_t i = 0; i < first; ++i) out[i] = element[(phase + i) % element.size()];
  for (size_t done = first; done < run;) {  // doubling keeps the period
    const size_t piece = std::min(done, run - done);
    std::memcpy(out + done, out, piece);
    done += piece;
  }
}

}  // namespace

void CopyStrided(const std::byte* from, std::byte* to, std::vector<CopyAxis> axes, size_t run) {
  if (run == 0 || IsEmpty(axes)) return;
  Coalesce(axes, run);
  ForEachRow(axes, [&](size_t from_offset, size_t to_offset, const CopyAxis& axis) {
    CopyRow(from + from_offset, to + to_offset, axis, run);
  });
}

void CopyBox(const std::byte* from, std::span<const uint64_t> extents, std::byte* to,
             std::span<const uint64_t> shape, std::span<const uint64_t> low, size_t item) {
  std::vector<CopyAxis> axes(extents.size());
  size_t from_stride = item;
  size_t to_stride = item;
  for (size_t d = extents.size(); d-- > 0;) {
    axes[d] = {extents[d], from_stride, to_stride};
    to += low[d] * to_stride;
    from_stride *= extents[d];
    to_stride *= shape[d];
  }
  CopyStrided(from, to, std::move(axes), item);
}

bool ReadStrided(const ReadAtOffset& read, uint64_t from, std::byte* to,
                 std::vector<CopyAxis> axes, size_t run) {
  if (run == 0 || IsEmpty(axes)) return true;
  Coalesce(axes, run);
  return StridedReader(read, run).Read(from, to, axes);
}

void FillStrided(std::span<const std::byte> element, size_t phase, std::byte* to,
                 std::span<const CopyAxis> axes, size_t run) {
  if (run == 0 || IsEmpty(axes)) return;
  std::vector<CopyAxis> joined(axes.begin(), axes.end());
  if (phase == 0 && (element.empty() || run % element.size() == 0)) {
    // Whole elements: what is contiguous can be filled in one go.
    for (CopyAxis& axis : joined) axis.from_stride = axis.to_stride;
    Coalesce(joined, run);
  }
  // Most fill values are one byte repeated: 0, -1, 0x7f...
  const bool uniform = std::all_of(element.begin(), element.end(),
                                   [&](std::byte b) { return b == element.front(); });
  const int byte = element.empty() ? 0 : std::to_integer<int>(element.front());
  ForEachRow(joined, [&](size_t, size_t to_offset, const CopyAxis& axis) {
    for (size_t i = 0; i < axis.count; ++i) {
      std::byte* const out = to + to_offset + i * axis.to_stride;
      if (uniform) {
        std::memset(out, byte, run);
      } else {
        FillRun(element, phase, out, run);
      }
    }
  });
}

}  // namespace ndlfs::cache
