// SPDX-License-Identifier: MIT
#include "backends/format/ncml/ncml_values.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "backends/format/foreign/header_text.h"

namespace ndlfs::backends::ncml {
namespace {

using model::Datatype;
using model::Result;
using model::Value;

struct TypeName {
  std::string_view ncml;
  std::string_view ndl;
  std::string_view unsigned_ndl;
};
constexpr std::array<TypeName, 10> kTypes = {{{"byte", "int8", "uint8"},
                                              {"short", "int16", "uint16"},
                                              {"int", "int32", "uint32"},
                                              {"long", "int64", "uint64"},
                                              {"ubyte", "uint8", "uint8"},
                                              {"ushort", "uint16", "uint16"},
                                              {"uint", "uint32", "uint32"},
                                              {"ulong", "uint64", "uint64"},
                                              {"float", "float32", "float32"},
                                              {"double", "float64", "float64"}}};

Result<Value> ParseNumber(const Datatype& type, std::string_view word) {
  const auto wrong = [&] {
    return model::BadInput("{} is no {}", model::Quote(word), type.keyword());
  };
  Value value;
  if (type.kind() == Datatype::Kind::kFloat) {
    const auto number = foreign::ParseReal(word);
    if (!number) return wrong();
    value = type.size() == sizeof(float) ? static_cast<double>(static_cast<float>(*number))
                                         : *number;
  } else {
    const auto number = foreign::ParseInteger(word);
    const auto count = number ? std::nullopt : foreign::ParseCount(word);
    if (!number && !count) return wrong();
    value = number ? Value(*number) : Value(*count);
  }
  std::array<std::byte, sizeof(uint64_t)> element;  // refuses what the type does not hold
  if (!model::EncodeElement(type, value, std::span(element).first(type.size()))) return wrong();
  return value;
}

bool IsBlank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

Value::List SplitTexts(std::string_view text, std::string_view separator) {
  Value::List texts;
  for (;;) {
    const size_t end = separator.empty() ? text.npos : text.find(separator);
    texts.emplace_back(text.substr(0, end));
    if (end == text.npos) return texts;
    text.remove_prefix(end + separator.size());
  }
}

}  // namespace

Result<Datatype> ParseType(std::string_view keyword, bool is_unsigned) {
  if (keyword.empty() || keyword == "String" || keyword == "string" || keyword == "char") {
    return Datatype::String();
  }
  const auto found = std::ranges::find(kTypes, keyword, &TypeName::ncml);
  if (found == kTypes.end()) {
    return model::Unsupported("the type {} is not supported", model::Quote(keyword));
  }
  return *Datatype::FromKeyword(is_unsigned ? found->unsigned_ndl : found->ndl);
}

Result<Value::List> ParseValues(const Datatype& type, std::string_view text,
                                std::optional<std::string_view> separator) {
  if (type.kind() == Datatype::Kind::kString) return SplitTexts(text, separator.value_or(""));
  Value::List values;
  const bool has_separator =
      separator && separator->find_first_not_of(" \t\r\n") != separator->npos;
  if (has_separator) {
    for (const Value& part : SplitTexts(text, *separator)) {
      std::string_view word = *part.text();
      while (!word.empty() && IsBlank(word.front())) word.remove_prefix(1);
      while (!word.empty() && IsBlank(word.back())) word.remove_suffix(1);
      if (word.empty() && text.size() == part.text()->size()) return values;
      NDLFS_TRY(values.emplace_back(), ParseNumber(type, word));
    }
    return values;
  }
  while (!text.empty()) {
    const auto* begin = std::ranges::find_if_not(text, IsBlank);
    const auto* end = std::find_if(begin, text.end(), IsBlank);
    if (begin != end) {
      NDLFS_TRY(values.emplace_back(), ParseNumber(type, {begin, end}));
    }
    text.remove_prefix(static_cast<size_t>(end - text.begin()));
  }
  return values;
}

Result<Value::List> RegularValues(const Datatype& type, std::string_view start,
                                  std::string_view increment, uint64_t count) {
  NDLFS_TRY(const Value first, ParseNumber(type, start));
  NDLFS_TRY(const Value step, ParseNumber(type, increment));
  Value::List values;
  for (uint64_t i = 0; i < count; ++i) {
    if (const auto* real = first.real()) {
      const double number = *real + static_cast<double>(i) * *step.real();
      const bool is_single = type.size() == sizeof(float);
      values.emplace_back(is_single ? static_cast<double>(static_cast<float>(number)) : number);
      continue;
    }
    Value value(*first.integer() + static_cast<model::WideInt>(i) * *step.integer());
    std::array<std::byte, sizeof(uint64_t)> element;
    NDLFS_RETURN_IF_ERROR(
        model::EncodeElement(type, value, std::span(element).first(type.size())), "values");
    values.push_back(std::move(value));
  }
  return values;
}

}  // namespace ndlfs::backends::ncml
