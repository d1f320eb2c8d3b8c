// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "model/error.h"

namespace ndlfs::fs {

// `text` on one line, for a person: cut to 60 bytes, and without a part of a character.
inline std::string ShortText(std::string text) {
  constexpr size_t kMost = 60;
  text = model::OneLine(text);
  if (text.size() <= kMost) return text;
  size_t end = kMost;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return text.substr(0, end) + "...";
}

}  // namespace ndlfs::fs
