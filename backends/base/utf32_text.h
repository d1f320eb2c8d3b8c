// SPDX-License-Identifier: MIT
//
// Rewrites UTF-32 text of fixed length as UTF-8 in the same bytes, for formats that have no
// UTF-32. No character takes more bytes in UTF-8.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "backends/base/bytes.h"
#include "model/datatype.h"
#include "model/error.h"

namespace ndlfs::backends {

// UTF-32 text in an element: `count` texts of `width` bytes each, one after the other.
struct Utf32Run {
  size_t offset = 0;
  size_t width = 0;
  size_t count = 1;
};

// All UTF-32 text in an element of `type`, which is of fixed size. kLimit for more than a
// million runs.
model::Result<std::vector<Utf32Run>> FindUtf32(const model::Datatype& type);

// Rewrites the text in `elements`, whole elements of `size` bytes, and fills up with NULs. The
// text is little-endian. Codes that are no characters become U+FFFD.
void RewriteUtf32(const std::vector<Utf32Run>& runs, size_t size, ByteSpan elements);

// `text` in Unicode's normalization form C, in which "é" is one character. A text that is not
// UTF-8 stays as it is.
std::string ComposeCharacters(std::string_view text);

}  // namespace ndlfs::backends
