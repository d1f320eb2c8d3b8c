// SPDX-License-Identifier: MIT
//
// The order of the points of a grid.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "backends/codec/grib/message.h"

namespace ndlfs::backends {

// Whether rows come in the stored order, each in the direction of i.
inline bool IsGribInRows(const GribGrid& grid) {
  return !grid.j_consecutive() && !grid.alternates();
}

// Turns every other line (row, or column of a grid that is stored column after column). Its own
// inverse.
template <typename T>
void TurnGribLines(const GribGrid& grid, std::span<T> values) {
  const uint64_t lines = grid.j_consecutive() ? grid.ni : grid.nj;
  const uint64_t length = grid.j_consecutive() ? grid.nj : grid.ni;
  uint64_t at = 0;
  for (uint64_t line = 0; line < lines; ++line) {
    const uint64_t size = grid.is_reduced() ? grid.row_points[line] : length;
    if (line % 2 == 1) {
      std::reverse(values.begin() + static_cast<ptrdiff_t>(at),
                   values.begin() + static_cast<ptrdiff_t>(at + size));
    }
    at += size;
  }
}

// Transposes a matrix of `rows` x `columns`.
template <typename T>
void TransposeGrib(uint64_t rows, uint64_t columns, std::span<T> values) {
  const std::vector<T> from(values.begin(), values.end());
  for (uint64_t row = 0; row < rows; ++row) {
    for (uint64_t column = 0; column < columns; ++column) {
      values[column * rows + row] = from[row * columns + column];
    }
  }
}

// From the stored order to rows, and back. For grids with ni * nj points, or reduced ones that
// are not stored column after column.
template <typename T>
void OrderGribRows(const GribGrid& grid, std::span<T> values) {
  if (grid.alternates()) TurnGribLines(grid, values);
  if (grid.j_consecutive()) TransposeGrib(grid.ni, grid.nj, values);
}
template <typename T>
void OrderGribAsStored(const GribGrid& grid, std::span<T> values) {
  if (grid.j_consecutive()) TransposeGrib(grid.nj, grid.ni, values);
  if (grid.alternates()) TurnGribLines(grid, values);
}

// Reverses the rows.
template <typename T>
void FlipGribRows(uint64_t columns, std::span<T> values) {
  const uint64_t rows = columns == 0 ? 0 : values.size() / columns;
  for (uint64_t row = 0; row < rows / 2; ++row) {
    const auto begin = values.begin() + static_cast<ptrdiff_t>(row * columns);
    const auto other = values.begin() + static_cast<ptrdiff_t>((rows - 1 - row) * columns);
    std::swap_ranges(begin, begin + static_cast<ptrdiff_t>(columns), other);
  }
}

// Makes column `first` the first one.
template <typename T>
void RollGribRows(uint64_t columns, uint64_t first, std::span<T> values) {
  if (first == 0 || columns == 0) return;
  for (uint64_t at = 0; at + columns <= values.size(); at += columns) {
    const auto begin = values.begin() + static_cast<ptrdiff_t>(at);
    std::rotate(begin, begin + static_cast<ptrdiff_t>(first),
                begin + static_cast<ptrdiff_t>(columns));
  }
}

}  // namespace ndlfs::backends
