// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "backends/format/hierarchy.h"
#include "backends/format/ndl/array_values.h"
#include "backends/store/store.h"
#include "model/entities.h"
#include "model/error.h"

namespace ndlfs::backends::ndl {

// What a document may have to be shown as a store. Documents that are only
// checked may have more: a mount keeps what it shows in memory.
inline constexpr uint64_t kMaxBytes = uint64_t{16} << 20;
inline constexpr size_t kMaxValues = size_t{1} << 20;

// A document as it was at one time, taken apart into objects. Immutable.
class Document {
 public:
  // The document in `file`, whose key is "". The error names line and column
  // of the first mistake, and says how many more there are.
  static model::Result<std::shared_ptr<const Document>> Read(const Store& file,
                                                             std::string_view file_name);

  const ValueInfo& stamp() const { return stamp_; }
  // About how many bytes of memory it takes.
  uint64_t memory() const { return memory_ + data_bytes_; }

  struct Object {
    // Of arrays without a source.
    Node node;
    std::optional<ArrayValues> values;
    std::map<std::string, Object, std::less<>> children;
  };
  // kNotFound where there is no such object.
  model::Result<const Object*> Find(std::string_view path) const;

 private:
  // Bytes of all elements: text is at least as long, but where opaque elements
  // are given in short.
  static constexpr uint64_t kMaxDataBytes = uint64_t{64} << 20;

  void AddGroup(model::Group group, Object& object);
  // `array` is a DimCoord or an Ndarray.
  template <typename Array>
  void AddArray(Array array, Object& object);

  ValueInfo stamp_;
  uint64_t memory_ = 0;
  uint64_t data_bytes_ = 0;
  Object root_;
};

// Whether `text` is a sound document in which an array has a value. Looks no
// further than it must.
bool IsDocumentWithValues(std::string_view text);

}  // namespace ndlfs::backends::ndl
