// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "backends/format/hierarchy.h"
#include "backends/format/ndl/array_values.h"
#include "backends/store/store.h"
#include "model/entities.h"
#include "model/error.h"
#include "model/ndl/ndl_reader.h"

namespace ndlfs::backends::ndl {

// Limits for documents that are shown as stores. They are lower than those for documents
// that are only validated, because a mount keeps them in memory.
inline constexpr uint64_t kMaxBytes = uint64_t{16} << 20;
inline constexpr size_t kMaxValues = 700'000;
// Limits the indicators of a collection in flow style, and so the numbers of a list.
inline constexpr size_t kMaxInFlow = 400'000;
inline constexpr size_t kMaxArrays = 25'000;  // and attributes

// Reads the text of a document, as model::ReadNdl does.
using TextReader = model::ParsedDocument (*)(std::string_view text, std::string_view file_name,
                                             const model::NdlLimits& limits);

// The source of an array whose values are in the document, one after the other. The array has
// the type and shape that it has in the source of a group around it.
model::ValueSource FormOfData();
bool TakesFormOfData(const model::Ndarray& array);

// One version of a document, as objects. Immutable.
class Document {
 public:
  // The document in `file`, whose key is "". The error names line and column
  // of the first mistake, and says how many more there are.
  static model::Result<std::shared_ptr<const Document>> Read(const Store& file,
                                                             std::string_view file_name,
                                                             TextReader read);

  const ValueInfo& stamp() const { return stamp_; }
  // An estimate of its memory in bytes.
  uint64_t memory() const { return memory_ + data_bytes_; }

  struct Object {
    // The nodes of arrays have no source here.
    Node node;
    std::optional<ArrayValues> values;
    std::map<std::string, Object, std::less<>> children;
  };
  // Whether the document leaves out the object at `path`, which its sources have.
  bool LeavesOut(std::string_view path) const { return left_out_.contains(path); }
  // Whether it leaves out that attribute of the object at `path`.
  bool LeavesOut(std::string_view path, std::string_view attribute) const;
  // The sources of data and objects that are not in the document.
  const std::vector<model::ValueSourcePtr>& sources() const { return sources_; }

  // Fails with kNotFound if there is no object at `path`.
  model::Result<const Object*> Find(std::string_view path) const;

 private:
  // The limit for the bytes of all elements. Only opaque elements can take more memory than
  // their text.
  static constexpr uint64_t kMaxDataBytes = uint64_t{64} << 20;

  void AddGroup(model::Group group, Object& object, std::string_view path);
  // `array` is a DimCoord or an Ndarray.
  template <typename Array>
  void AddArray(Array array, Object& object, std::string_view path);

  ValueInfo stamp_;
  uint64_t memory_ = 0;
  uint64_t data_bytes_ = 0;
  std::vector<model::ValueSourcePtr> sources_;
  std::set<std::string, std::less<>> left_out_;
  std::map<std::string, uint64_t, std::less<>> unlimited_;  // lengths of coordinates, by path
  Object root_;
};

// Whether `text` is a valid document in which an array has a value, or a source of values.
// Reads no more of it than necessary.
model::Result<bool> IsDocumentWithValues(std::string_view text);

// Whether it is a document with an `x-source`.
model::Result<bool> IsDocumentWithSources(std::string_view text);

}  // namespace ndlfs::backends::ndl
