// SPDX-License-Identifier: MIT
#include "backends/format/text_rule.h"

#include <algorithm>

#include "backends/base/checked.h"
#include "backends/base/element_stream.h"
#include "model/utf8.h"

namespace ndlfs::backends {
namespace {

using model::Charset;
using model::Datatype;
using Kind = Datatype::Kind;

// Texts of a type, each member of a compound and base counted once. Adds to
// `steps` what it takes.
size_t CountTexts(const Datatype& type, size_t& steps) {
  ++steps;
  switch (type.kind()) {
    case Kind::kString:
      return 1;
    case Kind::kVlen:
    case Kind::kArray:
      return CountTexts(type.base(), steps);
    case Kind::kCompound: {
      size_t count = 0;
      for (const auto& member : type.members()) count += CountTexts(member.type, steps);
      return count;
    }
    default:
      return 0;
  }
}

bool HasTextOfBytes(const Datatype& type) {
  switch (type.kind()) {
    case Kind::kString:
      return type.charset() != Charset::kUtf32;
    case Kind::kVlen:
    case Kind::kArray:
      return HasTextOfBytes(type.base());
    case Kind::kCompound:
      return std::any_of(type.members().begin(), type.members().end(),
                         [](const auto& member) { return HasTextOfBytes(member.type); });
    default:
      return false;
  }
}

}  // namespace

TextRule::TextRule(const Datatype& type, size_t max_steps)
    : type_(type), max_steps_(max_steps), applies_(HasTextOfBytes(type)) {
  is_latin1_.resize(CountTexts(type, steps_));
}

void TextRule::Look(ConstByteSpan elements) {
  if (!applies()) return;
  while (!elements.empty()) {
    const size_t before = elements.size();
    size_t text = 0;
    if (!Walk(type_, elements, text) || elements.size() == before) return;
  }
}

bool TextRule::has_latin1() const {
  return std::find(is_latin1_.begin(), is_latin1_.end(), true) != is_latin1_.end();
}

// Takes one element off `stream`, and as many texts as its type has.
bool TextRule::Walk(const Datatype& type, ConstByteSpan& stream, size_t& text) {
  if (++steps_ > max_steps_) return false;
  switch (type.kind()) {
    case Kind::kString:
      return WalkText(type, stream, text);
    case Kind::kCompound:
      return WalkMembers(type, stream, text);
    case Kind::kArray:
      return WalkItems(type.base(), type.array_length(), stream, text);
    case Kind::kVlen: {
      const auto count = TakeCount(stream);
      return count && WalkItems(type.base(), *count, stream, text);
    }
    case Kind::kObjectRef:
    case Kind::kRegionRef:
      return TakeText(stream).has_value();
    default:
      return TakeBytes(stream, type.size()).has_value();
  }
}

bool TextRule::WalkMembers(const Datatype& type, ConstByteSpan& stream, size_t& text) {
  if (!type.is_fixed_size()) {
    return std::all_of(type.members().begin(), type.members().end(),
                       [&](const auto& member) { return Walk(member.type, stream, text); });
  }
  const auto element = TakeBytes(stream, type.size());
  if (!element) return false;
  return std::all_of(type.members().begin(), type.members().end(), [&](const auto& member) {
    if (member.offset > element->size()) return false;
    ConstByteSpan part = element->subspan(member.offset);
    return Walk(member.type, part, text);
  });
}

bool TextRule::WalkItems(const Datatype& base, uint64_t count, ConstByteSpan& stream,
                         size_t& text) {
  const size_t first = text;
  // Once for each list, also for one without items.
  const size_t texts = CountTexts(base, steps_);
  if (steps_ > max_steps_) return false;
  text = first + texts;
  // Numbers need no look one by one.
  if (texts == 0 && base.is_fixed_size()) {
    const auto bytes = CheckedMultiply(count, base.size());
    return bytes && TakeBytes(stream, *bytes);
  }
  for (uint64_t i = 0; i < count; ++i) {
    size_t each = first;
    if (!Walk(base, stream, each)) return false;
  }
  return true;
}

bool TextRule::WalkText(const Datatype& type, ConstByteSpan& stream, size_t& text) {
  const size_t which = text++;
  if (!type.is_fixed_size()) {
    const auto found = TakeText(stream);
    if (!found) return false;
    if (!model::IsUtf8(*found)) is_latin1_[which] = true;
    return true;
  }
  const auto bytes = TakeBytes(stream, type.size());
  if (!bytes) return false;
  if (type.charset() != Charset::kUtf32 && !model::IsUtf8(AsText(*bytes))) {
    is_latin1_[which] = true;
  }
  return true;
}

Datatype TextRule::Apply(const Datatype& type) const {
  if (!has_latin1()) return type;
  size_t text = 0;
  return Apply(type, text);
}

Datatype TextRule::Apply(const Datatype& type, size_t& text) const {
  switch (type.kind()) {
    case Kind::kString:
      if (!is_latin1_[text++]) return type;
      return type.is_fixed_size() ? Datatype::FixedString(type.size(), Charset::kLatin1,
                                                          type.padding(), type.order())
                                  : Datatype::String(Charset::kLatin1);
    case Kind::kVlen:
      return Datatype::Vlen(Apply(type.base(), text));
    case Kind::kArray:
      return Datatype::Array(Apply(type.base(), text), type.shape());
    case Kind::kCompound: {
      std::vector<Datatype::Member> members = type.members();
      for (auto& member : members) member.type = Apply(member.type, text);
      return type.is_fixed_size() ? Datatype::Compound(std::move(members), type.size())
                                  : Datatype::PackedCompound(std::move(members));
    }
    default:
      return type;
  }
}

}  // namespace ndlfs::backends
