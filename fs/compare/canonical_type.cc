// SPDX-License-Identifier: MIT
#include "fs/compare/canonical_type.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "backends/base/element_stream.h"
#include "backends/base/json.h"

namespace ndlfs::fs {
namespace {

using backends::ConstByteSpan;
using backends::Json;
using model::Datatype;
using model::Result;
using Kind = Datatype::Kind;

constexpr size_t kMostSteps = 1'000'000;
// The bytes of x87 numbers; the rest of float96 and float128 is padding.
constexpr size_t kExtendedBytes = 10;

Json TypeAsJson(const Datatype& type);

std::string TimeName(const model::TimeUnit& time) {
  const std::string_view name = time.is_delta ? "timedelta64" : "datetime64";
  if (time.unit == "generic") return std::string(name);
  const std::string scale = time.scale == 1 ? "" : fmt::format("{}", time.scale);
  return fmt::format("{}[{}{}]", name, scale, time.unit);
}

Json EnumAsJson(const Datatype& type) {
  if (type.is_bool()) return "bool";
  std::vector<const Datatype::Constant*> constants;
  for (const auto& constant : type.constants()) constants.push_back(&constant);
  std::sort(constants.begin(), constants.end(), [](const auto* a, const auto* b) {
    return a->value != b->value ? a->value < b->value : a->name < b->name;
  });
  Json list = Json::array();
  for (const auto* constant : constants) {
    const Json value = constant->value < 0 ? Json(static_cast<int64_t>(constant->value))
                                           : Json(static_cast<uint64_t>(constant->value));
    list.push_back(Json::array({constant->name, value}));
  }
  return Json::array({"enum", TypeAsJson(type.base()), std::move(list)});
}

Json StructAsJson(const Datatype& type) {
  if (type.is_complex()) return type.size() == 8 ? "complex64" : "complex128";
  Json members = Json::array();
  for (const auto& member : type.members()) {
    members.push_back(Json::array({member.name, TypeAsJson(member.type)}));
  }
  return Json::array({"struct", std::move(members)});
}

// Types nest no deeper than Datatype::kMaxDepth.
Json TypeAsJson(const Datatype& type) {
  switch (type.kind()) {
    case Kind::kString:
      return "string";
    case Kind::kInteger:
      return type.time() ? Json(TimeName(*type.time())) : Json(type.keyword());
    case Kind::kFloat:
      return type.keyword();
    case Kind::kOpaque:
      return Json::array({"opaque", type.size()});
    case Kind::kEnum:
      return EnumAsJson(type);
    case Kind::kObjectRef:
      return "object-ref";
    case Kind::kRegionRef:
      return "region-ref";
    case Kind::kCompound:
      return StructAsJson(type);
    case Kind::kVlen:
      return Json::array({"vlen", TypeAsJson(type.base())});
    case Kind::kArray:
      return Json::array({"array", TypeAsJson(type.base()), type.shape()});
  }
  return nullptr;
}

bool IsExtended(const Datatype& type) {
  return type.keyword() == "float96" || type.keyword() == "float128";
}

void AppendCount(uint64_t count, std::string& out) {
  for (int shift = 0; shift < 32; shift += 8) out += static_cast<char>(count >> shift);
}

// UTF-8 as RFC 2279 has it, which has a form for codes that Unicode does not have; and one byte
// more for the codes from 2^31 on. So different codes have different forms.
void AppendCode(uint32_t code, std::string& out) {
  if (code < 0x80) {
    out += static_cast<char>(code);
    return;
  }
  int more = 1;  // bytes after the first one, with 6 bits each
  while (more < 6 && uint64_t{code} >> (5 * more + 6) != 0) ++more;
  out += static_cast<char>((0xFFu << (7 - more) & 0xFF) | uint64_t{code} >> (6 * more));
  for (int i = more - 1; i >= 0; --i)
    out += static_cast<char>(0x80 | ((code >> (6 * i)) & 0x3F));
}

uint32_t CodeAt(ConstByteSpan bytes, size_t at) {
  uint32_t code = 0;
  for (size_t i = 4; i-- > 0;) code = code << 8 | std::to_integer<uint32_t>(bytes[at + i]);
  return code;
}

// `bytes` without the NULs or spaces that fill up a text of fixed length.
ConstByteSpan WithoutPadding(const Datatype& type, ConstByteSpan bytes) {
  if (!type.is_fixed_size()) return bytes;
  const std::byte filler{
      static_cast<unsigned char>(type.padding() == model::TextPadding::kSpace ? ' ' : 0)};
  if (type.charset() != model::Charset::kUtf32) {
    while (!bytes.empty() && bytes.back() == filler) bytes = bytes.first(bytes.size() - 1);
    return bytes;
  }
  bytes = bytes.first(bytes.size() / 4 * 4);
  while (!bytes.empty() && CodeAt(bytes, bytes.size() - 4) == static_cast<uint32_t>(filler)) {
    bytes = bytes.first(bytes.size() - 4);
  }
  return bytes;
}

void AppendText(const Datatype& type, ConstByteSpan bytes, std::string& out) {
  bytes = WithoutPadding(type, bytes);
  const size_t begin = out.size();
  AppendCount(0, out);
  if (type.charset() == model::Charset::kUtf32) {
    for (size_t at = 0; at < bytes.size(); at += 4) AppendCode(CodeAt(bytes, at), out);
  } else if (type.charset() == model::Charset::kLatin1) {
    for (const std::byte byte : bytes) AppendCode(std::to_integer<uint32_t>(byte), out);
  } else {
    out += backends::AsText(bytes);
  }
  std::string count;
  AppendCount(out.size() - begin - 4, count);
  out.replace(begin, 4, count);
}

Result<void> AppendStream(const Datatype& type, ConstByteSpan& stream, std::string& out);

Result<void> AppendItems(const Datatype& type, uint64_t count, ConstByteSpan& stream,
                         std::string& out) {
  for (; count > 0; --count) NDLFS_RETURN_IF_ERROR(AppendStream(type, stream, out));
  return {};
}

Result<void> AppendFixedPart(const Datatype& type, ConstByteSpan& stream, std::string& out) {
  NDLFS_TRY(const ConstByteSpan bytes, backends::TakeBytes(stream, type.size()));
  if (type.kind() == Kind::kString) {
    AppendText(type, bytes, out);
  } else {
    out += backends::AsText(IsExtended(type) ? bytes.first(kExtendedBytes) : bytes);
  }
  return {};
}

// Takes one element from an element stream.
Result<void> AppendStream(const Datatype& type, ConstByteSpan& stream, std::string& out) {
  switch (type.kind()) {
    case Kind::kString:
      if (type.is_fixed_size()) return AppendFixedPart(type, stream, out);
      [[fallthrough]];
    case Kind::kObjectRef:
    case Kind::kRegionRef: {
      NDLFS_TRY(const std::string_view text, backends::TakeText(stream));
      if (type.kind() == Kind::kString) {
        AppendText(type, backends::AsBytes(text), out);
      } else {
        AppendCount(text.size(), out);
        out += text;
      }
      return {};
    }
    case Kind::kVlen: {
      NDLFS_TRY(const uint32_t count, backends::TakeCount(stream));
      AppendCount(count, out);
      return AppendItems(type.base(), count, stream, out);
    }
    case Kind::kArray:
      return AppendItems(type.base(), type.array_length(), stream, out);
    case Kind::kCompound:
      for (const auto& member : type.members()) {
        NDLFS_RETURN_IF_ERROR(AppendStream(member.type, stream, out));
      }
      return {};
    case Kind::kInteger:
    case Kind::kFloat:
    case Kind::kOpaque:
    case Kind::kEnum:
      break;
  }
  return AppendFixedPart(type, stream, out);
}

}  // namespace

Result<CanonicalType> CanonicalType::Make(const Datatype& type) {
  CanonicalType made(type, backends::CompactJson(TypeAsJson(type)));
  if (!type.is_fixed_size()) return made;
  NDLFS_RETURN_IF_ERROR(AddSteps(type, 0, made.steps_));
  made.is_plain_ = IsPlain(type, made.steps_);
  return made;
}

bool CanonicalType::IsPlain(const Datatype& type, const std::vector<Step>& steps) {
  return steps.size() == 1 && !steps[0].text && steps[0].offset == 0 &&
         steps[0].size == type.size();
}

Result<void> CanonicalType::AddStep(Step step, std::vector<Step>& steps) {
  if (step.size == 0 && !step.text) return {};
  if (!steps.empty() && !step.text && !steps.back().text &&
      steps.back().offset + steps.back().size == step.offset) {
    steps.back().size += step.size;
    return {};
  }
  if (steps.size() == kMostSteps) {
    return model::Limit("an element has more than {} parts", kMostSteps);
  }
  steps.push_back(std::move(step));
  return {};
}

Result<void> CanonicalType::AddSteps(const Datatype& type, size_t offset,
                                     std::vector<Step>& steps) {
  switch (type.kind()) {
    case Kind::kCompound:
      for (const auto& member : type.members()) {
        NDLFS_RETURN_IF_ERROR(AddSteps(member.type, offset + member.offset, steps));
      }
      return {};
    case Kind::kArray: {
      std::vector<Step> item;
      NDLFS_RETURN_IF_ERROR(AddSteps(type.base(), 0, item));
      if (IsPlain(type.base(), item)) return AddStep({offset, type.size(), {}}, steps);
      if (item.empty()) return {};
      for (uint64_t i = 0; i < type.array_length(); ++i) {
        for (Step step : item) {
          step.offset += offset + i * type.base().size();
          NDLFS_RETURN_IF_ERROR(AddStep(std::move(step), steps));
        }
      }
      return {};
    }
    case Kind::kString:
      return AddStep({offset, type.size(), type}, steps);
    default:
      return AddStep({offset, IsExtended(type) ? kExtendedBytes : type.size(), {}}, steps);
  }
}

void CanonicalType::AppendFixed(ConstByteSpan elements, std::string& out) const {
  const size_t size = type_.size();
  for (; !elements.empty(); elements = elements.subspan(size)) {
    for (const Step& step : steps_) {
      const ConstByteSpan part = elements.subspan(step.offset, step.size);
      if (step.text) {
        AppendText(*step.text, part, out);
      } else {
        out += backends::AsText(part);
      }
    }
  }
}

Result<void> CanonicalType::AppendVariable(ConstByteSpan element, std::string& out) const {
  return AppendStream(type_, element, out);
}

}  // namespace ndlfs::fs
