// SPDX-License-Identifier: MIT
//
// Text with expressions in {{ }}, as reference files have it in URLs and in
// what they generate. They mean Jinja by it; this is the part of that which
// makes names and numbers:
//
//   expression  integers, 'text', (expression), names of variables, names of
//               templates, + - * // % ~, '%03d' % i, and filters:
//               value|format(a, b), value|string, value|int
//   name(a=expression, b=expression)  a template that has expressions itself,
//               with values for its names
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>

#include "model/error.h"

namespace ndlfs::backends::kerchunk {

using Templates = std::map<std::string, std::string, std::less<>>;
using TemplateValue = std::variant<int64_t, std::string>;
using Variables = std::map<std::string, TemplateValue, std::less<>>;

// The text with the value of each expression in its place. Where there are
// any, it has 64 KiB at most, before and after, and 256 KiB of texts and templates
// are evaluated for it at most (kLimit). kBadInput for what is no expression,
// kUnsupported for what Jinja may know and this does not; both name the expression.
model::Result<std::string> Render(std::string_view text, const Templates& templates,
                                  const Variables& variables);

// The same where several texts share what may be evaluated: takes from `budget`,
// in bytes, and fails with kLimit when there is too little.
model::Result<std::string> Render(std::string_view text, const Templates& templates,
                                  const Variables& variables, uint64_t& budget);

// Takes `bytes` from `budget`; kLimit when there is too little.
model::Result<void> TakeFromBudget(uint64_t bytes, uint64_t& budget);

}  // namespace ndlfs::backends::kerchunk
