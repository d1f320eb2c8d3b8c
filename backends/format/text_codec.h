// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "backends/codec/codec.h"

namespace ndlfs::backends {

// Text in the elements of a file that ends before its bytes do: at the first NUL, or before
// trailing blanks. The bytes behind its end are shown as NULs.
struct TextRun {
  size_t offset = 0;  // in the element
  size_t width = 0;
  size_t count = 1;  // one after the other
  bool is_space_padded = false;
  bool operator==(const TextRun&) const = default;
};

// Clears the bytes behind the end of each text of the run, which begins at `text`.
void TrimText(const TextRun& run, std::byte* text);

// Decodes the text in elements to text that is padded with NULs: clears the bytes behind the
// end of text with other paddings. `runs` lie inside of the elements.
std::shared_ptr<const ArrayToArrayCodec> MakeTextCodec(std::vector<TextRun> runs);

}  // namespace ndlfs::backends
