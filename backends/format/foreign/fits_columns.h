// SPDX-License-Identifier: MIT
//
// The columns of tables of FITS: binary tables by section 7.3 of the standard, ASCII tables by
// section 7.2.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "backends/base/bytes.h"
#include "backends/format/foreign/fits_header.h"
#include "model/datatype.h"
#include "model/error.h"

namespace ndlfs::backends::foreign {

// The value of a field is zero + scale * stored. A stored `null` is no value.
struct FitsScale {
  double scale = 1;
  double zero = 0;
  std::optional<int64_t> null = std::nullopt;
};

struct FitsColumn {
  int64_t number = 0;    // from 1 on
  std::string name;      // TTYPE; may be empty
  std::string form;      // TFORM
  size_t offset = 0;     // in a row
  size_t width = 0;      // bytes in a row
  char letter = ' ';     // of the form of an item
  size_t item_size = 0;  // letter of the form, for an item
  uint64_t count = 1;    // items in a row
  // bytes of an item; 1 for bits and for text
  // heap. This is the number of bytes of each of these two numbers; 0 for other columns.
  size_t descriptor = 0;
  // Whether the integers have the other sign than their type, and are stored with the highest
  // bit flipped.
  bool moves_zero = false;
  // If set, numbers are float64, and NaN if there is no value.
  std::optional<FitsScale> scale = std::nullopt;
  // Fields of ASCII tables are texts.
  bool is_text = false;
  int decimals = 0;  // digits behind a decimal point that is left out
  std::optional<std::string> undefined = std::nullopt;  // the text that is no value

  model::Datatype stored = {};  // as the row has it, if it lies in the row
  model::Datatype type = {};    // as decoded, little-endian
  // Remarks for users of the column, one line each.
  std::vector<std::string> notes = {};

  // Whether decoding changes elements in more than their byte order and a highest bit.
  bool is_converted() const { return is_text || scale || descriptor != 0; }
};

struct FitsTableForm {
  size_t width = 0;  // bytes of a row
  uint64_t rows = 0;
  std::vector<FitsColumn> columns;  // those that take bytes in a row
};

// The table that `header` describes; `is_ascii` tells the kind of table. A table may have no
// column and no byte in a row. kBadInput if the columns do not fit in a row.
model::Result<FitsTableForm> ReadTableForm(const FitsHeader& header, bool is_ascii);

// Decodes `count` items of `column` into `out`, which has room for as many elements.
// kCorrupt for a text that is no number.
model::Result<void> DecodeItems(const FitsColumn& column, const std::byte* items,
                                uint64_t count, std::byte* out);

// The bytes that an item takes when it is decoded.
size_t DecodedItemSize(const FitsColumn& column);

}  // namespace ndlfs::backends::foreign
