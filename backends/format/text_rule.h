// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <vector>

#include "backends/base/bytes.h"
#include "model/datatype.h"

namespace ndlfs::backends {

// Decides how to read the texts of an array or attribute that are said to be ASCII or UTF-8: by
// one rule for all elements. If one of the elements looked at is not UTF-8, all are Latin-1,
// each byte a letter. Each text in a type has a rule of its own, because the members of a
// compound may come from different writers.
class TextRule {
 public:
  // Look() ends after so many steps in all, because a hostile type may make very many of a few
  // bytes.
  static constexpr size_t kMaxSteps = 20'000'000;

  explicit TextRule(const model::Datatype& type, size_t max_steps = kMaxSteps);

  // Whether the type has any text to look at. UTF-32 needs no rule.
  bool applies() const { return applies_; }
  // Looks at elements that lie one after the other: of fixed size, type.size() bytes each;
  // others as in an element stream, without its table. Ends early if the bytes make no sense.
  void Look(ConstByteSpan elements);

  bool has_latin1() const;
  // Returns `type`, which has the texts of the type given to the constructor, with Latin-1 for
  // the texts that are.
  model::Datatype Apply(const model::Datatype& type) const;

 private:
  bool Walk(const model::Datatype& type, ConstByteSpan& stream, size_t& text);
  bool WalkMembers(const model::Datatype& type, ConstByteSpan& stream, size_t& text);
  bool WalkItems(const model::Datatype& base, uint64_t count, ConstByteSpan& stream,
                 size_t& text);
  bool WalkText(const model::Datatype& type, ConstByteSpan& stream, size_t& text);
  model::Datatype Apply(const model::Datatype& type, size_t& text) const;

  const model::Datatype type_;
  const size_t max_steps_;
  std::vector<bool> is_latin1_;  // for each text, in the order of the type
  size_t steps_ = 0;
  const bool applies_;
};

}  // namespace ndlfs::backends
