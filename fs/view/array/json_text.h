// SPDX-License-Identifier: MIT
//
// Elements as JSON.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "backends/base/bytes.h"
#include "fs/view/base/text_window.h"
#include "model/datatype.h"
#include "model/error.h"

namespace ndlfs::fs {

// Removes the first element from `stream`, an element stream (see
// backends/format/array_source.h), and appends it as compact JSON on one line:
//   integers, dates     numbers
//   floats              numbers that read back to the same double; NaN,
//                       Infinity and -Infinity as Python spells them
//   bool                true, false
//   enum                the name of the constant; the number if it has no name
//   text                a string
//   opaque              a string of Base64
//   object reference    the path name; null
//   region reference    as in NDL; null
//   vlen                a list
//   array               the list of all its items, in C order
//   compound            the list of its members' values
// Stops in the middle once `window` is full. kCorrupt if the stream ends within
// the element.
model::Result<void> AppendJson(const model::Datatype& type, backends::ConstByteSpan& stream,
                               TextWindow& window);

// The same for an element of fixed size in its memory layout: members of
// structs are at their offsets, with gaps between them. (An element stream has
// no gaps.)
model::Result<void> AppendFixedJson(const model::Datatype& type, backends::ConstByteSpan bytes,
                                    TextWindow& window);

// The same for an element of an array that holds JSON (model/json_elements.h).
// Appends its text, which is compact, unchanged. The name of a filter does not
// prove that the text is JSON: other text is appended as a string.
model::Result<void> AppendJsonElement(backends::ConstByteSpan& stream, TextWindow& window);

// Removes the number of items from the beginning of a vlen in `stream`, and
// returns it.
model::Result<uint32_t> TakeVlenCount(const model::Datatype& vlen,
                                      backends::ConstByteSpan& stream);

// `text` (UTF-8, or else taken as Latin-1) as a JSON string.
std::string JsonString(std::string_view text);

}  // namespace ndlfs::fs
