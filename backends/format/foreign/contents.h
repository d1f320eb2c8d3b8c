// SPDX-License-Identifier: MIT
//
// The contents of a store that a header describes: a group with arrays, and the coordinates
// along their dimensions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "backends/format/hierarchy.h"
#include "backends/store/read_set.h"
#include "backends/store/store.h"
#include "model/entities.h"
#include "model/error.h"

namespace ndlfs::backends::foreign {

// Make attributes of texts and numbers. A text that is not UTF-8 is taken as Latin-1.
model::Attribute TextAttribute(std::string name, std::string_view text);
model::Attribute RealAttribute(std::string name, double number);
model::Attribute RealsAttribute(std::string name, const std::vector<double>& numbers);
model::Attribute IntegerAttribute(std::string name, int64_t number);

// Adds the attribute of a field of a header. kLimit for more fields than any program writes:
// they would take hundreds of times the memory of the text.
model::Result<void> AddFieldAttribute(std::string_view name, std::string_view value,
                                      std::vector<model::Attribute>& attributes);

// The coordinates along a dimension, which are float64.
struct Coordinates {
  double first = 0;  // first, first + step, first + 2 step ...
  double step = 1;
  // Or a list, with one for each index. Copies of the object share it.
  std::shared_ptr<const std::vector<double>> values = nullptr;
  std::vector<model::Attribute> attributes = {};
  bool operator==(const Coordinates& other) const;
};

struct Axis {
  std::string name;  // may be empty
  uint64_t size = 0;
  std::optional<Coordinates> coordinates = std::nullopt;
  bool operator==(const Axis&) const = default;
};

// An array as a header describes it.
struct DescribedArray {
  std::string name = {};
  std::vector<Axis> axes = {};  // the slowest first
  model::Datatype stored = {};  // with the byte order of the file
  // The type of the decoded elements, if it differs from `stored`.
  std::optional<model::Datatype> dtype = std::nullopt;
  // Decodes elements of `stored` to those of `dtype`; null if only their byte order differs.
  std::shared_ptr<const ArrayToBytesCodec> codec = nullptr;
  std::vector<model::Attribute> attributes = {};
  // The element that stands for missing ones. Becomes _FillValue if the type has it.
  std::optional<model::Value> fill = std::nullopt;
  // Node::notes.
  std::vector<std::string> notes = {};

  std::vector<uint64_t> shape() const;
  const model::Datatype& type() const { return dtype ? *dtype : stored; }
};

// The fill value as an element of array.type(); empty if there is none.
std::vector<std::byte> EncodedFill(const DescribedArray& array);

// The objects of a store. All arrays are in its root group.
class Contents {
 public:
  // The objects of the store whose header is in `header`.
  explicit Contents(std::shared_ptr<const Store> header);

  // Adds an attribute of the group. If two have the same name, the first stays. Attributes
  // beyond some thousand are left out.
  void AddAttribute(model::Attribute attribute);
  void AddAttributes(const std::vector<model::Attribute>& attributes);
  // Adds the array, and those coordinates along its dimensions that are not there yet.
  // Coordinates are left out if something else has their name. The name of the array becomes
  // one that is valid and not in use. If `source` is an error, the array shows it; but a
  // transient error makes this call fail.
  model::Result<void> AddArray(const DescribedArray& array,
                               model::Result<std::shared_ptr<const ArraySource>> source);
  // Makes the version of the hierarchy depend on the value at `key` as well.
  void Watch(const std::shared_ptr<const Store>& store, std::string_view key) {
    reads_.Add(store, key, ReadSet::Unknown());
  }
  void AddNote(std::string note) { root_->notes.push_back(std::move(note)); }

  // Asks for the time of the header. It is read by now; so if the store is remote, this takes
  // no request of its own.
  model::Result<std::shared_ptr<const Hierarchy>> MakeHierarchy(std::string_view format) &&;

 private:
  std::string FreeName(std::string_view name);
  // Returns whether there are such coordinates now.
  bool AddCoordinates(const std::string& name, const Axis& axis);

  class StoreOfHeader;

  const std::shared_ptr<const Store> header_;
  std::shared_ptr<Node> root_;
  std::map<std::string, std::shared_ptr<Node>, std::less<>> children_;
  ReadSet reads_;                                  // the header first
  std::set<std::string, std::less<>> attributes_;  // names
  std::map<std::string, Axis> axes_;               // axes whose coordinates were added, by name
  std::map<std::string, int> suffixes_;            // for names that were not free
};

}  // namespace ndlfs::backends::foreign
