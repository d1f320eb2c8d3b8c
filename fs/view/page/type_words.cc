// SPDX-License-Identifier: MIT
#include "fs/view/page/type_words.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string_view>
#include <vector>

namespace ndlfs::fs {
namespace {

using model::Datatype;

constexpr size_t kMostParts = 6;
constexpr int kMostNested = 3;

std::string Words(const Datatype& type, int depth);

std::string Joined(const std::vector<std::string>& parts, size_t count) {
  return fmt::format("{}{}", fmt::join(parts, ", "), count > parts.size() ? ", \u2026" : "");
}

std::string TimeWords(const model::TimeUnit& unit) {
  const std::string_view what = unit.is_delta ? "time span" : "date and time";
  if (unit.unit == "generic") return std::string(what);
  return fmt::format("{} in steps of {} {}", what, unit.scale, unit.unit);
}

std::string EnumWords(const Datatype& type) {
  if (type.is_bool()) return "true or false";
  std::vector<std::string> names;
  for (const auto& constant : type.constants()) {
    if (names.size() == kMostParts) break;
    names.push_back(constant.name);
  }
  return fmt::format("{} with names: {}", type.base().keyword(),
                     Joined(names, type.constants().size()));
}

std::string RecordWords(const Datatype& type, int depth) {
  if (type.is_complex()) return type.size() == 8 ? "complex64" : "complex128";
  std::vector<std::string> members;
  for (const auto& member : type.members()) {
    if (members.size() == kMostParts) break;
    members.push_back(fmt::format("{} ({})", member.name, Words(member.type, depth + 1)));
  }
  return "records: " + Joined(members, type.members().size());
}

std::string Words(const Datatype& type, int depth) {
  if (depth > kMostNested) return "\u2026";
  switch (type.kind()) {
    case Datatype::Kind::kString:
      return type.is_fixed_size() ? fmt::format("text of {} bytes", type.size()) : "text";
    case Datatype::Kind::kInteger:
      return type.time() ? TimeWords(*type.time()) : type.keyword();
    case Datatype::Kind::kOpaque:
      return fmt::format("{} bytes", type.size());
    case Datatype::Kind::kEnum:
      return EnumWords(type);
    case Datatype::Kind::kObjectRef:
      return "references to objects";
    case Datatype::Kind::kRegionRef:
      return "references to parts of arrays";
    case Datatype::Kind::kCompound:
      return RecordWords(type, depth);
    case Datatype::Kind::kVlen:
      return "lists of " + Words(type.base(), depth + 1);
    case Datatype::Kind::kArray:
      return fmt::format("blocks of {} {}", fmt::join(type.shape(), " \u00D7 "),
                         Words(type.base(), depth + 1));
    case Datatype::Kind::kFloat:
      break;
  }
  return type.keyword();
}

}  // namespace

std::string TypeWords(const Datatype& type) { return Words(type, 0); }

std::string FormatCount(uint64_t count) {
  std::string text = fmt::format("{}", count);
  for (size_t i = text.size(); i > 3; i -= 3) text.insert(i - 3, 1, ',');
  return text;
}

}  // namespace ndlfs::fs
