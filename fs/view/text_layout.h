// SPDX-License-Identifier: MIT
//
// Elements as lines of text, all equally long.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "backends/base/bytes.h"
#include "model/datatype.h"

namespace ndlfs::fs {

// The columns of the lines of one type, which decides alone how wide they are.
// Numbers are right-aligned, also those that stand for names (enums, bool), and
// texts left-aligned, with one blank between columns. Members of structs, and
// items of arrays in them, are columns of their own. Immutable.
class TextLayout {
 public:
  // nullopt for types that have no such text: opaque, references, elements of
  // variable size, floats without a double (float128), structs and arrays of
  // nothing; and for lines over 64 KiB and elements over 1 MiB.
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
