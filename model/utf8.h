// SPDX-License-Identifier: MIT
//
// UTF-8 and Latin-1, as far as names and text values need them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace ndlfs::model {

// Length in bytes of the well-formed UTF-8 sequence at the beginning of `text`
// (RFC 3629: no surrogates, no overlong forms); 0 if there is none.
size_t Utf8SequenceLength(std::string_view text);

bool IsUtf8(std::string_view text);

// Appends `code_point` as UTF-8; false if it is not a Unicode scalar value.
bool AppendUtf8(std::string& out, uint32_t code_point);

// Takes each byte of `text` as a code point, and returns them in UTF-8.
std::string Latin1ToUtf8(std::string_view text);

// A text of unknown encoding: `text` itself if it is UTF-8, or else taken as Latin-1.
std::string AsUtf8(std::string_view text);

// The inverse of Latin1ToUtf8(); false, and `out` unchanged, if a code point is above U+00FF.
bool Utf8ToLatin1(std::string_view text, std::string& out);

}  // namespace ndlfs::model
