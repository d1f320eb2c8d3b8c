// SPDX-License-Identifier: MIT
//
// The groups (Vgroup) and tables (Vdata) of a file, by which HDF4 describes everything else,
// and the attributes in tables.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "backends/base/bytes.h"
#include "backends/format/hdf4/description.h"
#include "backends/format/hdf4/elements.h"
#include "model/error.h"

namespace ndlfs::backends::hdf4 {

struct Vgroup {
  std::string name;
  std::string class_name;
  std::vector<ElementId> members;
  std::vector<uint16_t> attributes;  // references of tables
};

struct Vdata {
  uint16_t reference = 0;
  std::string name;
  std::string class_name;
  bool is_by_field = false;  // all values of a field lie together
  uint64_t records = 0;
  uint64_t record_bytes = 0;
  struct Field {
    std::string name;
    int32_t type = 0;
    uint64_t bytes = 0;
    uint64_t order = 0;  // numbers in it
  };
  std::vector<Field> fields;
};

// All of this fails only if nothing more can be read of the file; objects that make no sense
// are left out.
class Vset {
 public:
  static model::Result<Vset> Load(const Elements& elements);

  const Elements& elements() const { return elements_; }
  const std::map<uint16_t, Vgroup>& groups() const { return groups_; }
  // nullptr if there is none.
  const Vgroup* Find(ElementId id) const;
  // The first group of the class.
  const Vgroup* FindClass(std::string_view class_name) const;

  // Counts a look at all members: one group may be named by thousands of others.
  model::Result<void> ChargeVisit(const Vgroup& group) const {
    return elements_.Charge(group.members.size() * 16);
  }

  model::Result<std::optional<Vdata>> Describe(uint16_t reference) const;
  // Records one after the other, as they lie in the file; nullopt if some are missing.
  model::Result<std::optional<Bytes>> Records(const Vdata& table, uint64_t most_bytes) const;
  // What an element has, if it has at least `least` bytes and is no longer than texts are.
  model::Result<std::optional<Bytes>> Content(ElementId id, uint64_t least = 0) const;
  // The tags and references that an element lists.
  model::Result<std::vector<ElementId>> Members(ElementId id) const;
  // The number type that an element of the tag kNumberTypeTag tells; nullopt if it belongs to
  // another machine.
  model::Result<std::optional<int32_t>> NumberType(ElementId id) const;

  // What a table is the attribute of. They differ in where its name and its count are.
  enum class Owner : uint8_t { kSet, kImage, kGroup };
  model::Result<std::optional<AttributeInfo>> Attribute(uint16_t reference, Owner owner) const;
  // Those of all tables among `members`.
  model::Result<std::vector<AttributeInfo>> Attributes(const std::vector<ElementId>& members,
                                                       Owner owner) const;

 private:
  explicit Vset(const Elements& elements) : elements_(elements) {}

  const Elements& elements_;
  std::map<uint16_t, Vgroup> groups_;  // by reference
};

// Numbers with the type `number_type` that lie in `bytes`; nullopt if these are too few.
std::optional<AttributeInfo> MakeNumbers(std::string name, int32_t number_type, uint64_t count,
                                         ConstByteSpan bytes);
AttributeInfo MakeText(std::string name, std::string_view text);

}  // namespace ndlfs::backends::hdf4
