// SPDX-License-Identifier: MIT
#include "backends/format/ndl/document.h"

#include <algorithm>
#include <cctype>
#include <utility>
#include <vector>

#include "backends/base/checked.h"
#include "backends/store/metadata_turn.h"
#include "model/ndl/ndl_reader.h"
#include "model/path_name.h"

namespace ndlfs::backends::ndl {
namespace {

using model::Result;

// Values of so many elements are shown as they stand in the document.
constexpr uint64_t kMaxShownElements = 1000;

constexpr model::NdlLimits kLimits = {kMaxBytes, kMaxValues, kMaxArrays, kMaxInFlow};

// While a document is read it takes many times its size, with a limit that follows from those
// on what is in it.
constexpr uint64_t kBytesOfDocument = 80;
constexpr uint64_t kMostBytesOfDocument = uint64_t{80} << 20;
Result<MetadataTurn> TakeTurn(uint64_t size) {
  return MetadataTurn::Take(size + std::min(kBytesOfDocument * size, kMostBytesOfDocument));
}

Result<Value> ReadText(const Store& file) {
  Bytes text;
  const auto reserve = [&](uint64_t size) -> Result<ByteSpan> {
    if (size > kMaxBytes) return model::Limit("a document of more than {} bytes", kMaxBytes);
    text = Bytes(size);
    return text.span();
  };
  NDLFS_TRY(const auto read, file.Read("", {}, reserve), file.Describe(""));
  if (!read) return model::NotFound("{}: the file is gone", file.Describe(""));
  return Value{std::move(text), read->info};
}

// The first mistake, as `ndlfs validate` says it.
model::Failure Refuse(const Store& file, const std::vector<model::Diagnostic>& errors) {
  const std::string first = model::FormatDiagnostic(file.Describe(""), errors.front());
  if (errors.front().is_unsupported) return model::Unsupported("{}", first);
  if (errors.size() == 1) return model::BadInput("{}", first);
  return model::BadInput("{} (and {} more: see ndlfs validate)", first, errors.size() - 1);
}

void NoteStored(model::Ndarray& array, const std::vector<uint64_t>& extent) {
  const bool is_unlimited = std::any_of(array.shape.begin(), array.shape.end(),
                                        [](const auto& d) { return !d.size.has_value(); });
  if (is_unlimited && !array.storage.shape) array.storage.shape = extent;
}
void NoteStored(model::DimCoord& dimcoord, const std::vector<uint64_t>& extent) {
  if (!dimcoord.size() && !dimcoord.storage.size) dimcoord.storage.size = extent.front();
}

// Whether the group or one below says where its arrays are, or has an array that `counts`.
bool HasArray(const model::Group& group, bool (*counts)(const model::Ndarray&)) {
  const auto has_array = [&](const model::Group& below) { return HasArray(below, counts); };
  return group.source || std::ranges::any_of(group.dimcoords, counts) ||
         std::ranges::any_of(group.ndarrays, counts) ||
         std::ranges::any_of(group.groups, has_array);
}

bool HasSource(const model::Ndarray& array) { return static_cast<bool>(array.source); }
bool HasData(const model::Ndarray& array) { return array.value.has_value() || array.source; }

bool MentionsSource(std::string_view text) { return text.find("x-source") != text.npos; }

// Whether there is a word "value" or "x-source" in a text.
bool MentionsValue(std::string_view text) {
  if (MentionsSource(text)) return true;
  constexpr std::string_view kWord = "value";
  for (size_t at = text.find(kWord); at != std::string_view::npos;
       at = text.find(kWord, at + 1)) {
    if (at == 0 || !std::isalnum(static_cast<unsigned char>(text[at - 1]))) return true;
  }
  return false;
}

}  // namespace

// No array comes from a union, let alone from one of no stores.
model::ValueSource FormOfData() {
  model::ValueSource source;
  source.kind = model::ValueSource::Kind::kUnion;
  source.has_type = source.has_shape = false;
  return source;
}

bool TakesFormOfData(const model::Ndarray& array) {
  return array.source && array.source->kind == model::ValueSource::Kind::kUnion;
}

Result<std::shared_ptr<const Document>> Document::Read(const Store& file,
                                                       std::string_view file_name,
                                                       TextReader read) {
  NDLFS_TRY(const auto size, file.Size(""));
  NDLFS_TRY(const auto turn, TakeTurn(std::min(size.value_or(0), kMaxBytes)));
  NDLFS_TRY(const Value text, ReadText(file));
  auto parsed = read(AsText(text.bytes.span()), file_name, kLimits);
  if (!parsed.file) return Refuse(file, parsed.errors);
  auto document = std::make_shared<Document>();
  document->stamp_ = text.info;
  document->memory_ = parsed.memory;
  document->left_out_.insert(parsed.left_out.begin(), parsed.left_out.end());
  document->AddGroup(std::move(parsed.file->root), document->root_, "/");
  return document;
}

void Document::AddGroup(model::Group group, Object& object, std::string_view path) {
  for (model::DimCoord& dimcoord : group.dimcoords) {
    Object& child = object.children[dimcoord.name];
    AddArray(std::move(dimcoord), child, model::JoinPath(path, dimcoord.name));
  }
  for (model::Ndarray& ndarray : group.ndarrays) {
    Object& child = object.children[ndarray.name];
    AddArray(std::move(ndarray), child, model::JoinPath(path, ndarray.name));
  }
  for (model::Group& child : group.groups) {
    Object& child_object = object.children[child.name];
    AddGroup(std::move(child), child_object, model::JoinPath(path, child.name));
  }
  group.dimcoords.clear();
  group.ndarrays.clear();
  group.groups.clear();
  if (group.source) sources_.push_back(group.source);
  object.node.entity = std::move(group);
  object.node.mtime_ns = stamp_.modified_ns;
}

template <typename Array>
void Document::AddArray(Array array, Object& object, std::string_view path) {
  object.node.mtime_ns = stamp_.modified_ns;
  if (TakesFormOfData(array)) {
    object.node.entity = std::move(array);
    return;
  }
  if (array.source) sources_.push_back(array.source);
  if (array.value) {
    // All arrays along an unlimited dimension are as long as its coordinate.
    const model::Shape shape = array.shape;
    for (model::Dimension& dimension : array.shape) {
      const auto count = unlimited_.find(dimension.dimcoord);
      if (!dimension.size && count != unlimited_.end()) dimension.size = count->second;
    }
    auto values = ArrayValues::Make(array, kMaxDataBytes - data_bytes_);
    array.shape = shape;
    if (values) {
      data_bytes_ += values->bytes();
      object.values = *std::move(values);
    } else {
      object.node.error = std::move(values).error();
    }
    const std::vector<uint64_t> extent = ExtentOfValue(array);
    if (std::is_same_v<Array, model::DimCoord>) unlimited_.emplace(path, extent.front());
    NoteStored(array, extent);
    if (CheckedProduct(extent).value_or(UINT64_MAX) > kMaxShownElements) array.value.reset();
  }
  object.node.entity = std::move(array);
}

bool Document::LeavesOut(std::string_view path, std::string_view attribute) const {
  if (left_out_.empty()) return false;
  return left_out_.contains(std::string(path) + '@' + std::string(attribute));
}

Result<const Document::Object*> Document::Find(std::string_view path) const {
  const Object* object = &root_;
  for (const std::string_view name : model::SplitPath(path)) {
    const auto child = object->children.find(name);
    if (child == object->children.end()) return model::NotFound("no {}", model::Quote(path));
    object = &child->second;
  }
  return object;
}

namespace {

Result<bool> IsDocumentWith(std::string_view text, bool (*counts)(const model::Ndarray&)) {
  NDLFS_TRY(const auto turn, TakeTurn(text.size()));
  const auto parsed = model::ReadNdl(text, "", kLimits);
  return parsed.file && HasArray(parsed.file->root, counts);
}

}  // namespace

Result<bool> IsDocumentWithSources(std::string_view text) {
  return MentionsSource(text) ? IsDocumentWith(text, &HasSource) : false;
}

Result<bool> IsDocumentWithValues(std::string_view text) {
  return MentionsValue(text) ? IsDocumentWith(text, &HasData) : false;
}

}  // namespace ndlfs::backends::ndl
