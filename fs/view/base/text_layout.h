// SPDX-License-Identifier: MIT
//
// Elements as lines of text of equal length.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "backends/base/bytes.h"
#include "model/datatype.h"

namespace ndlfs::fs {

// The columns of a line for an element of one type. Only the type decides how
// wide they are. Numbers are right-aligned, including those of enums and bool;
// texts are left-aligned. There is one blank between columns. Each member of a
// struct, and each item of an array in a struct, has a column of its own.
// Immutable.
class TextLayout {
 public:
  // nullopt for types that cannot have such lines: opaque, references, elements of variable
  // size, floats that do not fit a double (float128), structs without members and arrays
  // without items. Also for lines over 64 KiB and elements over 1 MiB.
  static std::optional<TextLayout> Make(const model::Datatype& type);

  // Bytes of a line, with its newline.
  size_t line_size() const { return line_size_; }

  // Writes the line of one (little-endian) element; `line` has line_size().
  void Format(backends::ConstByteSpan element, char* line) const;

 private:
  struct Column {
    enum class Kind { kInteger, kFloat32, kFloat64, kOtherFloat, kText };
    Kind kind;
    size_t width;   // in the line
    size_t offset;  // in the element
    model::Datatype type;
  };

  bool Add(const model::Datatype& type, size_t offset);
  static std::optional<Column> MakeColumn(const model::Datatype& type);
  static void FormatCell(const Column& column, backends::ConstByteSpan bytes, char* cell);

  std::vector<Column> columns_;
  size_t line_size_ = 0;
};

}  // namespace ndlfs::fs
