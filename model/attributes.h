// SPDX-License-Identifier: MIT
//
// Attributes by their names, and their values in the simplest form.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/entities.h"

namespace ndlfs::model {

// The memory that the attributes of one object may take. Every reader that makes attributes of
// bytes of a file asks here first, for each of them, and leaves out those that are refused: a
// few bytes of a file may take many times as many in memory. Files of other software need far
// less than this.
class AttributeRoom {
 public:
  // Numbers of a list take the most memory: this is room for about 65,000 of them, for texts of
  // 4 MiB together, or for about 4,000 attributes.
  static constexpr uint64_t kMostBytes = uint64_t{4} << 20;
  // A list with more values than this does not fit, whatever they are.
  static constexpr uint64_t kMostValues = kMostBytes / sizeof(Value);

  // Takes room for the attribute `name` with `values` values, and `text_bytes` bytes of text in
  // them. kLimit if it does not fit; what fits is still accepted then.
  Result<void> Take(std::string_view name, uint64_t values, uint64_t text_bytes);

 private:
  uint64_t left_ = kMostBytes;
};

// An attribute of text whose encoding is not known: UTF-8, or else Latin-1.
Attribute MakeTextAttribute(std::string name, std::string_view text);

// Null where there is none of that name.
const Attribute* FindAttribute(const std::vector<Attribute>& attributes, std::string_view name);
// The number that a value is; nullopt for others.
std::optional<double> AsDouble(const Value& value);
// The only item of a list, or the value itself; null for longer lists.
const Value* OnlyItem(const Value& value);
// The text of an attribute, a list of one text too; empty where there is none.
std::string TextOf(const std::vector<Attribute>& attributes, std::string_view name);
// The numbers of an attribute: one, or a list. Empty where there are none.
std::vector<double> NumbersOf(const std::vector<Attribute>& attributes, std::string_view name);
// The number of an attribute that is one number, or a list of one.
std::optional<double> NumberOf(const std::vector<Attribute>& attributes, std::string_view name);

}  // namespace ndlfs::model
