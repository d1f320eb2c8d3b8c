// SPDX-License-Identifier: MIT
//
// One object of a file, with the attributes that its header and its heap hold (HDF5 File Format
// Specification, IV.A.2.b, m and v).
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backends/format/hdf5/metadata.h"
#include "model/error.h"

namespace ndlfs::backends::hdf5 {

// The extents of a dataspace, and how far they may grow.
struct Extent {
  bool is_null = false;
  std::vector<uint64_t> shape;
  std::vector<uint64_t> max_shape;
};
model::Result<Extent> ParseExtent(const Metadata& file, ConstByteSpan message);

// An attribute as it is stored.
struct RawAttribute {
  std::string name;
  ConstByteSpan type;
  ConstByteSpan space;
  ConstByteSpan data;
  std::optional<model::Error> error = {};  // why there is nothing but the name

  // What the spans lie in, where it is not the header of the object.
  ByteVector message = {};
  ByteVector shared_type = {};
  ByteVector shared_space = {};
};

class DenseAttributes;

class Object {
 public:
  enum class Kind : uint8_t { kGroup, kDataset, kNamedDatatype, kOther };

  // `file` must outlive the object.
  static model::Result<Object> Open(const Metadata& file, uint64_t address);

  const Metadata& file() const { return *file_; }
  const ObjectHeader& header() const { return *header_; }
  uint64_t address() const { return header_->address(); }
  Kind kind() const;

  // Calls `visit` with one attribute after the other: in the order of their creation if the
  // object tracks it, else by name.
  model::Result<void> ForEachAttribute(
      const std::function<void(const RawAttribute&)>& visit) const;
  // Whether they may be many or large. Attributes in the header are at most 64 KiB each.
  bool MayHaveLargeAttributes() const;
  // nullopt if there is no such attribute.
  std::optional<RawAttribute> Attribute(std::string_view name) const;
  // The text of an attribute of one element; nullopt if there is no such attribute.
  std::optional<std::string> Text(std::string_view name) const;
  // The integers of an attribute of up to 64 elements; empty if there is none.
  std::vector<int64_t> Integers(std::string_view name) const;
  // kDataset
  model::Result<Extent> ReadExtent() const;

 private:
  Object(const Metadata& file, std::shared_ptr<const ObjectHeader> header)
      : file_(&file), header_(std::move(header)) {}

  model::Result<const DenseAttributes*> Dense() const;

  const Metadata* file_;
  std::shared_ptr<const ObjectHeader> header_;
  mutable std::shared_ptr<const DenseAttributes> dense_;
};

}  // namespace ndlfs::backends::hdf5
