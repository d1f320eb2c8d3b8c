// SPDX-License-Identifier: MIT
#include "fs/tree/store/document.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <variant>

#include "backends/base/checked.h"
#include "fs/view/all_views.h"
#include "model/ndl/ndl_writer.h"
#include "model/path_name.h"

namespace ndlfs::fs {
namespace {

using model::Datatype;

// NDL.md: values are written for this many elements.
constexpr uint64_t kMaxValueElements = 1000;
// And no more than this is read for them: a document is for people.
constexpr uint64_t kMaxValueBytes = uint64_t{1} << 20;
constexpr uint64_t kMaxValueChunkBytes = uint64_t{64} << 20;

bool IsReference(const Datatype& type) {
  return type.kind() == Datatype::Kind::kObjectRef || type.kind() == Datatype::Kind::kRegionRef;
}

// Whether the elements, and the chunks to decode for them, are small enough.
model::Result<bool> IsSmall(const cache::ArrayReader& reader) {
  const backends::ArraySpec& spec = reader.spec();
  if (reader.element_count() > kMaxValueElements) return false;
  if (spec.dtype.is_fixed_size()) {
    const auto chunk = backends::CheckedProduct(spec.grid.max_chunk_shape(), spec.dtype.size());
    return reader.byte_size() <= kMaxValueBytes && chunk && *chunk <= kMaxValueChunkBytes;
  }
  uint64_t bytes = 0;
  NDLFS_RETURN_IF_ERROR(
      reader.Visit(0, reader.element_count(), [&](backends::ConstByteSpan element) {
        bytes += element.size();
        return bytes <= kMaxValueBytes;
      }));
  return bytes <= kMaxValueBytes;
}

model::Result<std::optional<model::Value>> SmallValue(const cache::ArrayReader& reader) {
  NDLFS_TRY(const bool small, IsSmall(reader));
  if (!small) return std::nullopt;
  return cache::ReadValue(reader);
}

// Fills in the values that a document shows.
class ValueFiller {
 public:
  ValueFiller(const ReaderOf& reader_of,
              const std::function<void(const model::Error&)>& refused)
      : reader_of_(reader_of), refused_(refused) {}

  void Fill(model::Group& group, std::string_view path) const {
    for (auto& dimcoord : group.dimcoords) {
      Fill(dimcoord, model::JoinPath(path, dimcoord.name));
    }
    for (auto& ndarray : group.ndarrays) Fill(ndarray, model::JoinPath(path, ndarray.name));
    for (auto& child : group.groups) Fill(child, model::JoinPath(path, child.name));
  }
  void Fill(model::DimCoord& dimcoord, std::string_view path) const {
    const auto& size = dimcoord.size();
    if (!size || *size <= kMaxValueElements) Read(dimcoord, path);
  }
  void Fill(model::Ndarray& ndarray, std::string_view path) const {
    if (ndarray.shape.empty() || IsReference(ndarray.type)) Read(ndarray, path);
  }

 private:
  void Read(model::Ndarray& array, std::string_view path) const {
    if (array.value) return;             // the store is a document itself
    if (!array.same_as.empty()) return;  // its first name has it
    const auto reader = reader_of_(path);
    if (!reader) return;
    auto value = SmallValue(*reader);
    if (value) {
      array.value = *std::move(value);
    } else if (refused_) {
      refused_(model::Error(value.error()).In(path));
    }
  }

  const ReaderOf& reader_of_;
  const std::function<void(const model::Error&)>& refused_;
};

// `entity` is the DimCoord or Ndarray of `node`.
template <typename Entity>
Entity Described(Entity entity, const backends::Node& node, std::string_view store_name,
                 std::string_view path, const ValueFiller& filler) {
  entity.layout = node.layout();
  if (entity.name.empty()) entity.name = StemOf(store_name);
  filler.Fill(entity, path);
  return entity;
}

model::Result<std::string> DescribeGroup(const backends::Hierarchy& hierarchy,
                                         std::string_view store_name, std::string_view path,
                                         const ValueFiller& filler,
                                         std::vector<std::string>* errors) {
  NDLFS_TRY(model::Group group, backends::ReadGroup(hierarchy, path, errors));
  filler.Fill(group, path);
  if (path != "/") return model::WriteGroup(group, path);
  return model::WriteFile({std::string(store_name), std::move(group)});
}

}  // namespace

model::Result<std::string> WriteDocument(
    const backends::Hierarchy& hierarchy, std::string_view store_name, std::string_view path,
    const ReaderOf& reader_of, std::vector<std::string>* errors,
    const std::function<void(const model::Error&)>& refused) {
  NDLFS_TRY(const auto node, hierarchy.Load(path));
  const ValueFiller filler(reader_of, refused);
  if (node->is_group()) return DescribeGroup(hierarchy, store_name, path, filler, errors);
  if (errors && node->error) {
    errors->push_back(model::Error(*node->error).In(path).message());
  }
  const std::string_view group = model::ParentPath(path);
  if (const auto* dimcoord = std::get_if<model::DimCoord>(&node->entity)) {
    return model::WriteDimCoord(Described(*dimcoord, *node, store_name, path, filler), group);
  }
  return model::WriteNdarray(Described(node->array(), *node, store_name, path, filler), group);
}

}  // namespace ndlfs::fs
