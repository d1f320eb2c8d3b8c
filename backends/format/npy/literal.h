// SPDX-License-Identifier: MIT
//
// Python literals, as far as the headers of NPY files need them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/error.h"

namespace ndlfs::backends {

struct Literal {
  enum class Kind { kNone, kBool, kInteger, kString, kTuple, kList, kDict };
  Kind kind = Kind::kNone;
  bool boolean = false;
  int64_t integer = 0;         // integers beyond 64 bits are refused
  std::string text;            // UTF-8
  std::vector<Literal> items;  // of a dict: key, value, key, value, ...

  // The value of `key` in a dict, or null. Of equal keys the last counts.
  const Literal* Find(std::string_view key) const;
  // For messages: `the string "f8"`, `a tuple of 2`, `None`.
  std::string Describe() const;
};

// Parses one literal with blanks, newlines and comments around it: what
// ast.literal_eval takes, without bytes, floats, sets, and joined or
// triple-quoted strings; and the suffix of Python 2's long integers (10L).
// `text` is UTF-8. Errors name the byte where it goes wrong.
model::Result<Literal> ParseLiteral(std::string_view text);

}  // namespace ndlfs::backends
