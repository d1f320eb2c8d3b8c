// SPDX-License-Identifier: MIT
#include "fs/view/base/python_repr.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "model/utf8.h"

namespace ndlfs::fs {
namespace {

struct CodePoints {
  uint32_t first, last;
};

// Characters for which str.isprintable() is false: the assigned code points of the categories
// Cc, Cf, Co, Zl, Zp and Zs, without the blank. Ascending.
constexpr CodePoints kNotPrintable[] = {
    {0x0, 0x1F},        {0x7F, 0xA0},       {0xAD, 0xAD},       {0x600, 0x605},
    {0x61C, 0x61C},     {0x6DD, 0x6DD},     {0x70F, 0x70F},     {0x890, 0x891},
    {0x8E2, 0x8E2},     {0x1680, 0x1680},   {0x180E, 0x180E},   {0x2000, 0x200F},
    {0x2028, 0x202F},   {0x205F, 0x2064},   {0x2066, 0x206F},   {0x3000, 0x3000},
    {0xD800, 0xF8FF},   {0xFEFF, 0xFEFF},   {0xFFF9, 0xFFFB},   {0x110BD, 0x110BD},
    {0x110CD, 0x110CD}, {0x13430, 0x13438}, {0x1BCA0, 0x1BCA3}, {0x1D173, 0x1D17A},
    {0xE0001, 0xE0001}, {0xE0020, 0xE007F}, {0xF0000, 0xFFFFD}, {0x100000, 0x10FFFD}};

bool IsPrintable(uint32_t code_point) {
  const auto* range =
      std::lower_bound(std::begin(kNotPrintable), std::end(kNotPrintable), code_point,
                       [](const CodePoints& r, uint32_t c) { return r.last < c; });
  return range == std::end(kNotPrintable) || code_point < range->first;
}

uint32_t CodePointOf(std::string_view sequence) {
  const auto first = static_cast<unsigned char>(sequence.front());
  if (sequence.size() == 1) return first;
  uint32_t code_point = first & (0x7Fu >> sequence.size());
  for (const char c : sequence.substr(1)) {
    code_point = code_point << 6 | (static_cast<unsigned char>(c) & 0x3F);
  }
  return code_point;
}

void AppendEscape(std::string& out, uint32_t code_point) {
  auto end = std::back_inserter(out);
  if (code_point == '\n') {
    out += "\\n";
  } else if (code_point == '\r') {
    out += "\\r";
  } else if (code_point == '\t') {
    out += "\\t";
  } else if (code_point < 0x100) {
    fmt::format_to(end, "\\x{:02x}", code_point);
  } else if (code_point < 0x10000) {
    fmt::format_to(end, "\\u{:04x}", code_point);
  } else {
    fmt::format_to(end, "\\U{:08x}", code_point);
  }
}

}  // namespace

std::string PythonRepr(std::string_view text) {
  const bool has_single = text.find('\'') != std::string_view::npos;
  const bool has_double = text.find('"') != std::string_view::npos;
  const char quote = has_single && !has_double ? '"' : '\'';
  std::string out(1, quote);
  while (!text.empty()) {
    const size_t length = std::max<size_t>(model::Utf8SequenceLength(text), 1);
    const std::string_view sequence = text.substr(0, length);
    const uint32_t code_point = CodePointOf(sequence);
    if (!IsPrintable(code_point)) {
      AppendEscape(out, code_point);
    } else {
      if (sequence.front() == quote || sequence.front() == '\\') out += '\\';
      out += sequence;
    }
    text.remove_prefix(length);
  }
  return out + quote;
}

std::string PythonTuple(std::span<const uint64_t> numbers) {
  std::string out = "(";
  for (size_t i = 0; i < numbers.size(); ++i) {
    if (i > 0) out += ", ";
    fmt::format_to(std::back_inserter(out), "{}", numbers[i]);
  }
  return out + (numbers.size() == 1 ? ",)" : ")");
}

}  // namespace ndlfs::fs
