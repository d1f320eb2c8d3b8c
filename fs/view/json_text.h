// SPDX-License-Identifier: MIT
//
// Elements as JSON.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "backends/base/bytes.h"
#include "fs/view/text_window.h"
#include "model/datatype.h"
#include "model/error.h"

namespace ndlfs::fs {

// Appends the element of a stream (see backends/format/array_source.h) that `stream`
// begins with, and takes it off. Compact JSON on one line:
//   integers, dates     numbers
//   floats              numbers that read back to the same double; NaN,
//                       Infinity and -Infinity as Python spells them
//   bool                true, false
//   enum                the name of the constant; a number that has none
//   text                a string
//   opaque              a string of Base64
//   object reference    the path name; null
//   region reference    as in NDL; null
//   vlen                a list
//   array               the list of all its items, in C order
//   compound            the list of its members' values
// Stops in the middle once `window` is full. kCorrupt where the stream ends
// within the element.
model::Result<void> AppendJson(const model::Datatype& type, backends::ConstByteSpan& stream,
                               TextWindow& window);

// The same of an element of fixed size as it lies in memory: members of structs
// at their offsets, with gaps between them (a stream has none).
model::Result<void> AppendFixedJson(const model::Datatype& type, backends::ConstByteSpan bytes,
                                    TextWindow& window);

// The same for an element of an array that holds JSON (model/json_elements.h):
// its text, which is compact, as it is. Text that is no JSON value, as a filter's
// name alone does not make it one, is written as a string.
model::Result<void> AppendJsonElement(backends::ConstByteSpan& stream, TextWindow& window);

// The number of items that a vlen begins with, taken off.
model::Result<uint32_t> TakeVlenCount(const model::Datatype& vlen,
                                      backends::ConstByteSpan& stream);

// `text` (UTF-8, or else taken as Latin-1) as a JSON string.
std::string JsonString(std::string_view text);

}  // namespace ndlfs::fs
