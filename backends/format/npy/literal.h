// SPDX-License-Identifier: MIT
//
// Parses Python literals, as far as the headers of NPY files need them.
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
  int64_t integer = 0;         // larger integers are errors
  std::string text;            // UTF-8
  std::vector<Literal> items;  // in a dict: key, value, key, value, ...

  // The value of `key` in a dict; null if it is absent. If a key occurs twice, the last
  // value counts.
  const Literal* Find(std::string_view key) const;
  // A description for messages: `the string "f8"`, `a tuple of 2`, `None`.
  std::string Describe() const;
};

// Parses one literal with white space and comments around it. Accepts the same as
// Python's ast.literal_eval, except bytes, floats, sets, and joined or triple-quoted
// strings. Also accepts the long integers of Python 2 (10L). `text` is UTF-8. Errors
// name the position in bytes.
model::Result<Literal> ParseLiteral(std::string_view text);

}  // namespace ndlfs::backends
