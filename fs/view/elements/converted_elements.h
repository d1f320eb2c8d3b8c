// SPDX-License-Identifier: MIT
//
// Converts each element of a source to one of another type. With conversions for other formats:
// floats that C has no type for to float32, UTF-32 to UTF-8, and times to units that CF has
// words for.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "backends/format/array_source.h"
#include "fs/view/elements/element_source.h"
#include "model/datatype.h"

namespace ndlfs::fs {

// A conversion of the elements of an array.
struct ElementConversion {
  std::shared_ptr<const backends::ElementConverter> converter;  // null: there is none
  model::Datatype type = {};                                    // of the converted elements
  // If not empty: `run` elements are for each of these in turn, not for `converter`.
  std::vector<std::shared_ptr<const backends::ElementConverter>> in_turn = {};
  uint64_t run = 1;
};

// float16, bfloat16 and smaller floats as float32, which holds all their values. No converter
// for other types.
ElementConversion ToFloat32(const model::Datatype& type);

// float32 as `type`, one of those floats, for numbers that the type has.
ElementConversion FromFloat32(const model::Datatype& type);

// Converts text of fixed length in UTF-32, also in arrays and structs, to UTF-8 that zeros fill
// up. It has as many bytes as before, which is the most that it can need. Codes that are no
// characters become U+FFFD. Numbers in structs stay little-endian in any order. No converter
// for types without such text; fails for too many texts in an element. `type` is of fixed size.
model::Result<ElementConversion> ToUtf8(const model::Datatype& type);

// Converts datetime64 and timedelta64 that count weeks, or several units, to a unit of CF (see
// CfTimeUnits()), and dates in months and years to days. No converter for other types. Reading
// an element fails with kCorrupt if it does not fit into 64 bits then.
ElementConversion ToCfTimes(const model::Datatype& type);

// The elements of `source`, converted. Null if `source` is null, or if they would be more bytes
// than a file can have.
std::shared_ptr<const ElementSource> ConvertElements(
    std::shared_ptr<const ElementSource> source, ElementConversion conversion);

}  // namespace ndlfs::fs
