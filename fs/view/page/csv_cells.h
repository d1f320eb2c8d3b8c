// SPDX-License-Identifier: MIT
//
// Elements as cells of comma-separated values.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "backends/base/bytes.h"
#include "fs/view/base/view_input.h"
#include "fs/view/elements/element_source.h"
#include "model/datatype.h"
#include "model/error.h"

namespace ndlfs::fs {

enum class CsvForm : uint8_t {
  kStored,  // numbers as they are in the store
  kValues,  // unpacked, times as ISO text, flags and enums by name, nothing where one is
            // missing
};

// Writes elements of one type. Immutable.
class CsvCell {
 public:
  virtual ~CsvCell() = default;
  // Appends the text of one element (of fixed size: little-endian; else as in an element
  // stream). It is neither padded nor quoted.
  virtual model::Result<void> Append(backends::ConstByteSpan element,
                                     std::string& out) const = 0;
};
using CsvCellPtr = std::shared_ptr<const CsvCell>;

// For an element, or a member of one. Null for types without such text: opaque, references,
// structs (whose members are cells), and vlens.
CsvCellPtr MakeCsvCell(const model::Datatype& type, CsvForm form);

// The elements of an array as a column, and the cell that writes them.
struct CsvColumn {
  std::shared_ptr<const ElementSource> elements;  // null for text of variable length
  model::Datatype type;
  CsvCellPtr cell;
};
// nullopt for types without such text.
std::optional<CsvColumn> MakeCsvColumn(const ArrayInput& array, CsvForm form);

}  // namespace ndlfs::fs
