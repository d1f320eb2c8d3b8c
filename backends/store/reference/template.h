// SPDX-License-Identifier: MIT
//
// Text with expressions in {{ }}, as reference files have it in URLs and in the
// rules of "gen". The expressions are those of Jinja. This is the part of Jinja
// that makes names and numbers:
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

// Replaces each expression in `text` by its value. If there are expressions, the text may have
// at most 64 KiB, before and after, and Render() evaluates at most 256 KiB of texts and
// templates for it; more is kLimit. An invalid expression is kBadInput; one that Jinja may
// know, but ndlfs does not, is kUnsupported. Both errors name the expression.
model::Result<std::string> Render(std::string_view text, const Templates& templates,
                                  const Variables& variables);

// The same with a budget that several texts share: subtracts the bytes that it
// evaluates from `budget`, and fails with kLimit if there are too few.
model::Result<std::string> Render(std::string_view text, const Templates& templates,
                                  const Variables& variables, uint64_t& budget);

// Subtracts `bytes` from `budget`; kLimit if there are too few.
model::Result<void> TakeFromBudget(uint64_t bytes, uint64_t& budget);

}  // namespace ndlfs::backends::kerchunk
