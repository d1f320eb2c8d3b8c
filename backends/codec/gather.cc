// SPDX-License-Identifier: MIT
#include "backends/codec/gather.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "backends/codec/simd.h"

namespace ndlfs::backends {
namespace {

// One dimension of the copy. Strides are in bytes.
struct Axis {
  size_t count;
  size_t from;
  size_t to;
};

// The two fastest dimensions of a transposition: `rows` run along the source,
// `columns` along the destination.
struct Plane {
  Axis rows;     // contiguous, or nearly so, in the source
  Axis columns;  // contiguous in the destination
};

// Copies elements [row, row_end) x [column, column_end) one by one.
template <typename Word>
NDLFS_FORCE_INLINE void CopyWords(const Plane& plane, const std::byte* from, std::byte* to,
                                  size_t row, size_t row_end, size_t column,
                                  size_t column_end) {
  for (size_t r = row; r < row_end; ++r) {
    const std::byte* in = from + r * plane.rows.from;
    std::byte* out = to + r * plane.rows.to;
    for (size_t c = column; c < column_end; ++c) {
      std::memcpy(out + c * sizeof(Word), in + c * plane.columns.from, sizeof(Word));
    }
  }
}

// A square block, whose side is as many elements as fit in a register of 16 bytes.
template <typename Word>
struct Block {
  typedef Word Vector __attribute__((vector_size(16)));
  static constexpr size_t kSide = 16 / sizeof(Word);

  template <size_t... kLane>
  static Vector InterleaveLow(Vector a, Vector b, std::index_sequence<kLane...>) {
    return __builtin_shufflevector(a, b, (kLane / 2 + kLane % 2 * kSide)...);
  }
  template <size_t... kLane>
  static Vector InterleaveHigh(Vector a, Vector b, std::index_sequence<kLane...>) {
    return __builtin_shufflevector(a, b, (kSide / 2 + kLane / 2 + kLane % 2 * kSide)...);
  }

  // Interleaving the first half of the lines with the second, log2(kSide)
  // times, exchanges rows and columns.
  static NDLFS_FORCE_INLINE void Transpose(const Plane& plane, const std::byte* from,
                                           std::byte* to) {
    constexpr auto lanes = std::make_index_sequence<kSide>();
    Vector lines[kSide], next[kSide];
    for (size_t i = 0; i < kSide; ++i) {
      std::memcpy(&lines[i], from + i * plane.columns.from, sizeof(Vector));
    }
    for (size_t half = kSide; half > 1; half /= 2) {
      for (size_t i = 0; i < kSide / 2; ++i) {
        next[2 * i] = InterleaveLow(lines[i], lines[i + kSide / 2], lanes);
        next[2 * i + 1] = InterleaveHigh(lines[i], lines[i + kSide / 2], lanes);
      }
      std::copy(next, next + kSide, lines);
    }
    for (size_t i = 0; i < kSide; ++i) {
      std::memcpy(to + i * plane.rows.to, &lines[i], sizeof(Vector));
    }
  }
};

constexpr size_t kCacheLine = 64;

// Works in tiles whose sides are one cache line, so that each line of source and
// destination is loaded once.
template <typename Word>
void TransposePlane(const Plane& plane, const std::byte* from, std::byte* to) {
  constexpr size_t kSide = Block<Word>::kSide;
  constexpr size_t kTile = kCacheLine / sizeof(Word);
  const bool blocks = plane.rows.from == sizeof(Word);
  const size_t rows = blocks ? plane.rows.count / kSide * kSide : 0;
  const size_t columns = plane.columns.count / kSide * kSide;
  for (size_t tile_row = 0; tile_row < rows; tile_row += kTile) {
    for (size_t tile_column = 0; tile_column < columns; tile_column += kTile) {
      const size_t row_end = std::min(rows, tile_row + kTile);
      const size_t column_end = std::min(columns, tile_column + kTile);
      for (size_t row = tile_row; row < row_end; row += kSide) {
        for (size_t column = tile_column; column < column_end; column += kSide) {
          Block<Word>::Transpose(plane,
                                 from + row * plane.rows.from + column * plane.columns.from,
                                 to + row * plane.rows.to + column * plane.columns.to);
        }
      }
    }
  }
  CopyWords<Word>(plane, from, to, 0, rows, columns, plane.columns.count);
  CopyWords<Word>(plane, from, to, rows, plane.rows.count, 0, plane.columns.count);
}

// Copies elements of any other size. Large ones need no tiles.
void CopyPlane(const Plane& plane, const std::byte* from, std::byte* to, size_t size) {
  const size_t tile = std::max(kCacheLine / size, size_t{1});
  for (size_t row = 0; row < plane.rows.count; row += tile) {
    const size_t row_end = std::min(plane.rows.count, row + tile);
    for (size_t column = 0; column < plane.columns.count; ++column) {
      for (size_t r = row; r < row_end; ++r) {
        std::memcpy(to + r * plane.rows.to + column * plane.columns.to,
                    from + r * plane.rows.from + column * plane.columns.from, size);
      }
    }
  }
}

void CopyPlaneOf(const Plane& plane, const std::byte* from, std::byte* to, size_t size) {
  switch (size) {
    case 1:
      return TransposePlane<uint8_t>(plane, from, to);
    case 2:
      return TransposePlane<uint16_t>(plane, from, to);
    case 4:
      return TransposePlane<uint32_t>(plane, from, to);
    case 8:
      return TransposePlane<uint64_t>(plane, from, to);
    default:
      return CopyPlane(plane, from, to, size);
  }
}

// The dimensions to iterate over, slowest first. Leaves out dimensions with one
// element, and joins dimensions that are contiguous to each other on both sides.
std::vector<Axis> MakeAxes(const std::vector<uint64_t>& strides,
                           const std::vector<uint64_t>& shape, size_t size) {
  std::vector<Axis> axes;
  size_t to = size;
  for (size_t i = shape.size(); i-- > 0;) {
    if (shape[i] == 1) continue;
    const Axis axis{shape[i], strides[i] * size, to};
    to *= shape[i];
    if (!axes.empty() && axis.from == axes.back().from * axes.back().count) {
      axes.back().count *= axis.count;
    } else {
      axes.push_back(axis);
    }
  }
  std::reverse(axes.begin(), axes.end());
  return axes;
}

// Copies the plane at every index of the outer dimensions.
void CopyAll(const std::vector<Axis>& outer, const Plane& plane, const std::byte* from,
             std::byte* to, size_t size) {
  std::vector<size_t> index(outer.size());
  for (;;) {
    CopyPlaneOf(plane, from, to, size);
    size_t i = outer.size();
    for (; i-- > 0;) {
      from += outer[i].from;
      to += outer[i].to;
      if (++index[i] < outer[i].count) break;
      from -= outer[i].from * outer[i].count;
      to -= outer[i].to * outer[i].count;
      index[i] = 0;
    }
    if (i == static_cast<size_t>(-1)) return;
  }
}

}  // namespace

void GatherStrided(const std::byte* from, const std::vector<uint64_t>& strides,
                   const std::vector<uint64_t>& shape, size_t size, std::byte* to) {
  if (size == 0 || std::find(shape.begin(), shape.end(), 0) != shape.end()) return;
  std::vector<Axis> axes = MakeAxes(strides, shape, size);
  if (!axes.empty() && axes.back().from == size) {  // contiguous on both sides
    size *= axes.back().count;
    axes.pop_back();
  }
  Plane plane{{1, size, size}, {1, size, size}};
  if (!axes.empty()) {
    plane.columns = axes.back();
    axes.pop_back();
  }
  if (!axes.empty()) {
    const auto fastest = std::min_element(
        axes.begin(), axes.end(), [](const Axis& a, const Axis& b) { return a.from < b.from; });
    plane.rows = *fastest;
    axes.erase(fastest);
  }
  CopyAll(axes, plane, from, to, size);
}

}  // namespace ndlfs::backends
