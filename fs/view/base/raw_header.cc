// SPDX-License-Identifier: MIT
#include "fs/view/base/raw_header.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "backends/format/packing.h"
#include "fs/view/base/attributes.h"
#include "fs/view/base/unpacked.h"

namespace ndlfs::fs {

const NumberWords& WordsFor(Number number) {
  static constexpr std::array<NumberWords, 13> kWords = {{
#include "fs/view/base/number_words.inc"
  }};
  return kWords[static_cast<size_t>(number)];
}

std::string RawFileName(const ArrayInput& input) { return input.stem + ".raw"; }

bool IsListedHeader(const ArrayInput& input) { return input.shape.size() > 1; }

std::string PlainName(const std::string& name) {
  constexpr size_t kMost = 200;
  std::string plain = name.substr(0, kMost);
  std::ranges::replace_if(
      plain,
      [](char c) {
        return !((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                 c == '_' || c == '-' || c == '.');
      },
      '_');
  return plain;
}

std::string NameInHeader(const ArrayInput& input) {
  const std::string name = PlainName(input.node->array().name);
  return name.empty() ? "data" : name;
}

std::vector<std::string> ClassNames(const ArrayInput& input) {
  constexpr model::WideInt kMost = 256;
  std::vector<std::string> classes;
  for (const auto& [number, name] : FlagNames(input.node->attributes())) {
    if (number < 0 || number >= kMost) return {};
    classes.resize(static_cast<size_t>(number) + 1);
    classes.back() = PlainName(name);
  }
  return classes;
}

std::string MissingText(const ArrayInput& input) {
  const auto missing = backends::MissingValueOf(*input.node);
  if (!missing) return {};
  if (const auto* integer = missing->integer()) return model::FormatInteger(*integer);
  return missing->real() == nullptr ? std::string() : fmt::format("{}", *missing->real());
}

}  // namespace ndlfs::fs
