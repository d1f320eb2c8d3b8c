// SPDX-License-Identifier: MIT
#include "fs/view/base/raw_header.h"

#include <fmt/format.h>

#include <algorithm>

#include "backends/format/packing.h"
#include "fs/view/base/attributes.h"

namespace ndlfs::fs {

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

std::string MissingText(const ArrayInput& input) {
  const auto missing = backends::MissingValueOf(*input.node);
  if (!missing) return {};
  if (const auto* integer = missing->integer()) return model::FormatInteger(*integer);
  return missing->real() == nullptr ? std::string() : fmt::format("{}", *missing->real());
}

}  // namespace ndlfs::fs
