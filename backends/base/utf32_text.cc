// SPDX-License-Identifier: MIT
#include "backends/base/utf32_text.h"

#include <utf8proc.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>

#include "model/utf8.h"

namespace ndlfs::backends {
namespace {

using model::Datatype;
using model::Result;

constexpr size_t kMaxRuns = 1'000'000;
constexpr size_t kCharacterBytes = 4;

Result<void> Append(const Datatype& type, size_t offset, std::vector<Utf32Run>& runs) {
  switch (type.kind()) {
    case Datatype::Kind::kString:
      if (type.charset() == model::Charset::kUtf32) runs.push_back({offset, type.size(), 1});
      break;
    case Datatype::Kind::kCompound:
      for (const Datatype::Member& member : type.members()) {
        NDLFS_RETURN_IF_ERROR(Append(member.type, offset + member.offset, runs));
      }
      break;
    case Datatype::Kind::kArray: {
      const Datatype& base = type.base();
      if (base.kind() == Datatype::Kind::kString) {
        if (base.charset() == model::Charset::kUtf32) {
          runs.push_back({offset, base.size(), type.array_length()});
        }
        break;
      }
      std::vector<Utf32Run> of_one;
      NDLFS_RETURN_IF_ERROR(Append(base, 0, of_one));
      for (uint64_t i = 0; i < type.array_length() && !of_one.empty(); ++i) {
        for (Utf32Run run : of_one) {
          run.offset += offset + i * base.size();
          runs.push_back(run);
        }
        if (runs.size() > kMaxRuns) break;
      }
      break;
    }
    default:
      break;
  }
  if (runs.size() > kMaxRuns) return model::Limit("more than {} texts in an element", kMaxRuns);
  return {};
}

void RewriteText(ByteSpan text, std::string& scratch) {
  scratch.clear();
  for (size_t i = 0; i + kCharacterBytes <= text.size(); i += kCharacterBytes) {
    uint32_t character;
    std::memcpy(&character, text.data() + i, sizeof(character));
    constexpr uint32_t kReplacement = 0xFFFD;
    if (!model::AppendUtf8(scratch, character)) model::AppendUtf8(scratch, kReplacement);
  }
  scratch.resize(text.size(), '\0');
  std::memcpy(text.data(), scratch.data(), text.size());
}

}  // namespace

Result<std::vector<Utf32Run>> FindUtf32(const Datatype& type) {
  std::vector<Utf32Run> runs;
  NDLFS_RETURN_IF_ERROR(Append(type, 0, runs));
  return runs;
}

void RewriteUtf32(const std::vector<Utf32Run>& runs, size_t size, ByteSpan elements) {
  if (runs.empty() || size == 0) return;
  std::string scratch;
  for (; elements.size() >= size; elements = elements.subspan(size)) {
    for (const Utf32Run& run : runs) {
      for (size_t i = 0; i < run.count; ++i) {
        RewriteText(elements.subspan(run.offset + i * run.width, run.width), scratch);
      }
    }
  }
}

std::string ComposeCharacters(std::string_view text) {
  const bool is_ascii =
      std::ranges::all_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x80; });
  if (is_ascii) return std::string(text);
  utf8proc_uint8_t* composed = nullptr;
  const auto options = static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE);
  const auto size =
      utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                   static_cast<utf8proc_ssize_t>(text.size()), &composed, options);
  const std::unique_ptr<utf8proc_uint8_t, decltype(&std::free)> owner(composed, &std::free);
  if (size < 0) return std::string(text);
  return {reinterpret_cast<const char*>(composed), static_cast<size_t>(size)};
}

}  // namespace ndlfs::backends
