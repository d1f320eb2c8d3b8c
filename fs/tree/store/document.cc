// SPDX-License-Identifier: MIT
#include "fs/tree/store/document.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <variant>

#include "backends/base/checked.h"
#include "backends/format/outline.h"
#include "fs/view/all_views.h"
#include "model/ndl/group_writer.h"
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

using backends::Outline;

// Writes the document of a group, object by object.
class GroupDocument {
 public:
  GroupDocument(const backends::Hierarchy& hierarchy, const ValueFiller& filler,
                const TextSink& sink, std::string_view path)
      : hierarchy_(hierarchy),
        filler_(filler),
        sink_(sink),
        writer_(text_, std::string(path)) {}

  void KnowCoordinates(const Outline& group, const std::string& path) {
    for (const Outline& child : group.children) {
      std::string child_path = model::JoinPath(path, child.name);
      if (child.kind == Outline::Kind::kGroup) KnowCoordinates(child, child_path);
      if (child.kind == Outline::Kind::kDimCoord) writer_.Know(std::move(child_path));
    }
  }

  model::Result<void> Write(const Outline& outline, const std::string& path) {
    NDLFS_TRY(const auto group, LoadGroup(hierarchy_, outline, path));
    writer_.Begin(group, path,
                  outline.Has(Outline::Kind::kDimCoord) || outline.Has(Outline::Kind::kNdarray),
                  !outline.Has(Outline::Kind::kGroup));
    for (const auto kind : {Outline::Kind::kDimCoord, Outline::Kind::kNdarray}) {
      NDLFS_RETURN_IF_ERROR(VisitChildren(outline, kind, path, &GroupDocument::WriteArray));
    }
    writer_.EndArrays(group.links);
    NDLFS_RETURN_IF_ERROR(
        VisitChildren(outline, Outline::Kind::kGroup, path, &GroupDocument::Write));
    writer_.End();
    return {};
  }
  model::Result<void> End() { return sink_(text_); }

 private:
  using Visit = model::Result<void> (GroupDocument::*)(const Outline&, const std::string&);
  model::Result<void> VisitChildren(const Outline& group, Outline::Kind kind,
                                    const std::string& path, Visit visit) {
    for (const Outline& child : group.children) {
      if (child.kind != kind) continue;
      NDLFS_RETURN_IF_ERROR((this->*visit)(child, model::JoinPath(path, child.name)));
      constexpr size_t kPart = size_t{64} << 10;
      if (text_.size() < kPart) continue;
      NDLFS_RETURN_IF_ERROR(sink_(text_));
      text_.clear();
    }
    return {};
  }

  model::Result<void> WriteArray(const Outline& outline, const std::string& path) {
    auto array = LoadArray(hierarchy_, outline, path);
    if (!array && array.error().is_momentary()) return model::Propagate(array.error());
    if (!array) return {};  // it has gone since the outline was read
    if (outline.kind == Outline::Kind::kDimCoord) {
      filler_.Fill(*array, path);
      writer_.Add(*array);
    } else {
      filler_.Fill(static_cast<model::Ndarray&>(*array), path);
      writer_.Add(static_cast<const model::Ndarray&>(*array));
    }
    return {};
  }

  const backends::Hierarchy& hierarchy_;
  const ValueFiller& filler_;
  const TextSink& sink_;
  std::string text_;
  model::GroupWriter writer_;
};

}  // namespace

model::Result<void> WriteDocument(const backends::Hierarchy& hierarchy,
                                  std::string_view store_name, std::string_view path,
                                  const ReaderOf& reader_of, const TextSink& sink,
                                  std::vector<std::string>* errors,
                                  const std::function<void(const model::Error&)>& refused) {
  NDLFS_TRY(const auto node, hierarchy.Load(path));
  const ValueFiller filler(reader_of, refused);
  if (node->is_group()) {
    NDLFS_TRY(const auto outline, backends::ReadOutline(hierarchy, path, errors));
    GroupDocument document(hierarchy, filler, sink, path);
    document.KnowCoordinates(outline, std::string(path));
    NDLFS_RETURN_IF_ERROR(document.Write(outline, std::string(path)));
    return document.End();
  }
  if (errors && node->error) {
    errors->push_back(model::Error(*node->error).In(path).message());
  }
  const std::string_view group = model::ParentPath(path);
  if (const auto* dimcoord = std::get_if<model::DimCoord>(&node->entity)) {
    return sink(
        model::WriteDimCoord(Described(*dimcoord, *node, store_name, path, filler), group));
  }
  return sink(
      model::WriteNdarray(Described(node->array(), *node, store_name, path, filler), group));
}

}  // namespace ndlfs::fs
