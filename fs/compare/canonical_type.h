// SPDX-License-Identifier: MIT
//
// The form in which types and elements are compared: the same for every format. ndlfs-digest(5)
// defines it.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "backends/base/bytes.h"
#include "model/datatype.h"
#include "model/error.h"

namespace ndlfs::fs {

// A type, and how elements of it get their canonical form. Immutable.
class CanonicalType {
 public:
  // kLimit for an element of more than a million parts.
  static model::Result<CanonicalType> Make(const model::Datatype& type);

  // The type as compact JSON: "float32" (with the quotes), ["struct",[["a","int8"]]]. Types
  // with the same text have elements that can be compared.
  const std::string& json() const { return json_; }
  // Whether elements, as ArrayReader reads them, are in canonical form already.
  bool is_plain() const { return is_plain_; }

  // Appends the canonical forms of whole elements, one after the other, to `out`. For types of
  // fixed size; `elements` is little-endian.
  void AppendFixed(backends::ConstByteSpan elements, std::string& out) const;
  // The same for one element of variable size, in the form of an element stream. kCorrupt if
  // the stream ends within the element.
  model::Result<void> AppendVariable(backends::ConstByteSpan element, std::string& out) const;

 private:
  // A part of an element that is copied, or the text in it.
  struct Step {
    size_t offset;
    size_t size;
    std::optional<model::Datatype> text;  // nullopt: bytes to copy
  };
  CanonicalType(model::Datatype type, std::string json)
      : type_(std::move(type)), json_(std::move(json)) {}
  static bool IsPlain(const model::Datatype& type, const std::vector<Step>& steps);
  static model::Result<void> AddStep(Step step, std::vector<Step>& steps);
  // Adds the steps for an element of `type` that begins at byte `offset`.
  static model::Result<void> AddSteps(const model::Datatype& type, size_t offset,
                                      std::vector<Step>& steps);

  model::Datatype type_;
  std::string json_;
  bool is_plain_ = false;
  std::vector<Step> steps_;  // for types of fixed size
};

}  // namespace ndlfs::fs
