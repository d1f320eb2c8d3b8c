// SPDX-License-Identifier: MIT
#include "model/ndl/ndl_reader.h"

#include <algorithm>
#include <string>
#include <utility>

#include "model/error.h"
#include "model/ndl/ndl_context.h"
#include "model/ndl/ndl_document.h"
#include "model/ndl/ndl_layout.h"
#include "model/ndl/ndl_source.h"
#include "model/ndl/ndl_type_reader.h"
#include "model/ndl/ndl_value_reader.h"
#include "model/ndl/yaml_text.h"
#include "model/ndl/yaml_tree.h"
#include "model/path_name.h"

namespace ndlfs::model {
namespace {

using Place = NdlContext::Place;

// References are kept as full path names, which may be much longer than the
// names in the document. All of them together may take so many times the bytes
// of the longest document.
constexpr size_t kMaxReferenceLengths = 4;

// Bytes of the model for each YAML value: as much as types with many members
// need.
constexpr size_t kMemoryPerValue = 100;

enum class Owner { kNdarray, kDimCoord, kAttribute };

// Reads entities, and reports their errors to the context. One error makes the
// document fail, so that the entity returned then does not matter.
class EntityReader {
 public:
  EntityReader(NdlContext& context, const NdlDocument& document, const NdlLimits& limits)
      : context_(context),
        document_(document),
        max_reference_bytes_(kMaxReferenceLengths * limits.bytes),
        max_entities_(limits.entities) {}

  Group ReadGroup(const NdlGroup& source, std::string_view name);
  // Sum of the lengths of the path names in references.
  size_t reference_bytes() const { return reference_bytes_; }

 private:
  void ReadContents(const NdlGroup& source, Group& group);
  std::vector<NamedDimension> ReadNamedDimensions(const YamlNode* node);
  std::vector<NamedLink> ReadLinks(const YamlNode* node);
  std::optional<NamedLink> ReadLink(std::string_view name, const YamlNode& node);
  // The path name at `key`; empty if the key is absent.
  std::string ReadPath(const NdlFields& fields, std::string_view key);
  // Counts an entity. False if there are too many, which it reports.
  bool CountEntity(const YamlNode& key);
  // Calls read(name, node) for each array of the group under `key`.
  template <typename Read>
  void ForEachArray(const NdlGroup& source, const NdlFields& fields, std::string_view key,
                    const Read& read);
  void CheckName(const NdlGroup& source, const YamlNode& key);

  std::vector<Attribute> ReadAttributes(const YamlNode* node);
  Attribute ReadAttribute(std::string_view name, const YamlNode& node);
  void ReadFullAttribute(const YamlNode& node, Attribute& attribute);

  DimCoord ReadDimCoord(std::string_view name, const YamlNode& node);
  Ndarray ReadNdarray(const NdlGroup& group, std::string_view name, const YamlNode& node);
  // Reads type, value, attributes and storage of an array. `has_shape` says
  // whether its shape could be read.
  void ReadArraySource(const NdlFields& fields, std::string_view shape_key, Ndarray& array);
  void ReadBody(const NdlFields& fields, Owner owner, bool has_shape, Ndarray& array);
  void ReadValue(const YamlNode& node, Ndarray& array);

  bool ReadShape(const NdlGroup& group, const NdlFields& fields, Ndarray& array);
  std::optional<Dimension> ReadDimension(const NdlGroup& group, const YamlNode& node,
                                         bool has_extent);
  std::optional<Dimension> ReadReference(const NdlGroup& group, const YamlNode& node,
                                         bool has_extent);
  void ReportNoDimCoord(const NdlGroup& group, const YamlNode& node);
  void ReadExtent(const YamlNode& node, const std::vector<bool>& is_outside, Shape& shape);
  void ReadDimensionNames(const YamlNode* node, const std::vector<std::string>& shown,
                          Ndarray& array);

  Storage ReadStorage(const YamlNode& node, Owner owner, const Datatype* type,
                      const Shape* shape);
  void ReadStoredShape(const NdlFields& fields, const Shape* shape, Storage& storage);
  void ReadStoredSize(const NdlFields& fields, const Shape* shape, Storage& storage);
  void ReadChunk(const NdlFields& fields, const Shape* shape, Storage& storage);
  void ReadFilters(const NdlFields& fields, Storage& storage);
  std::optional<Filter> ReadFilter(const YamlNode& node);

  NdlContext& context_;
  const NdlDocument& document_;
  const size_t max_reference_bytes_;
  const size_t max_entities_;
  size_t reference_bytes_ = 0;
  size_t entities_ = 0;
};

// --- Groups

Group EntityReader::ReadGroup(const NdlGroup& source, std::string_view name) {
  Group group;
  group.name = name;
  if (source.node && !context_.gave_up()) ReadContents(source, group);
  for (const auto& [child_name, child] : source.groups) {
    group.groups.push_back(ReadGroup(*child, child_name));
  }
  return group;
}

void EntityReader::ReadContents(const NdlGroup& source, Group& group) {
  context_.set_entity(source.path, {});
  const NdlFields fields(context_, *source.node, {"attributes", "dimcoords", "ndarrays"});
  group.attributes = ReadAttributes(fields.Find("attributes"));
  group.dimensions = ReadNamedDimensions(fields.Find("x-dims"));
  ForEachArray(source, fields, "dimcoords", [&](std::string_view name, const YamlNode& node) {
    group.dimcoords.push_back(ReadDimCoord(name, node));
  });
  ForEachArray(source, fields, "ndarrays", [&](std::string_view name, const YamlNode& node) {
    group.ndarrays.push_back(ReadNdarray(source, name, node));
  });
  context_.set_entity(source.path, {});
  group.links = ReadLinks(fields.Find("x-links"));
  group.same_as = ReadPath(fields, "x-same-as");
  if (const YamlNode* node = fields.Find("x-source")) {
    if (auto value = ReadSource(context_, *node, SourceOwner::kGroup)) group.source = *value;
  }
}

// Reads the names and sizes of the dimensions without coordinates.
std::vector<NamedDimension> EntityReader::ReadNamedDimensions(const YamlNode* node) {
  std::vector<NamedDimension> dimensions;
  if (!node) return dimensions;
  const Place place(context_, "x-dims");
  ForEachName(context_, *node,
              [&](std::string_view name, const YamlNode&, const YamlNode& value) {
                NamedDimension dimension{std::string(name), std::nullopt};
                const Place inner(context_, name);
                if (!value.is_null()) dimension.size = ReadSize(context_, value, 0);
                dimensions.push_back(std::move(dimension));
              });
  return dimensions;
}

std::vector<NamedLink> EntityReader::ReadLinks(const YamlNode* node) {
  std::vector<NamedLink> links;
  if (!node) return links;
  const Place place(context_, "x-links");
  ForEachName(context_, *node,
              [&](std::string_view name, const YamlNode&, const YamlNode& value) {
                const Place inner(context_, name);
                if (auto link = ReadLink(name, value)) links.push_back(*std::move(link));
              });
  return links;
}

// Reads a link: a path name, or a mapping of a file and a path name in it.
std::optional<NamedLink> EntityReader::ReadLink(std::string_view name, const YamlNode& node) {
  NamedLink link;
  link.name = name;
  const YamlNode* path = &node;
  if (node.is_mapping()) {
    const NdlFields fields(context_, node, {"file", "path"});
    const YamlNode* file = fields.Require("file");
    path = fields.Require("path");
    const auto text = file ? ReadText(context_, *file) : std::nullopt;
    if (!text || !path) return std::nullopt;
    link.file = *text;
  }
  const auto target = ReadText(context_, *path);
  if (!target) return std::nullopt;
  link.target = *target;
  return link;
}

std::string EntityReader::ReadPath(const NdlFields& fields, std::string_view key) {
  const YamlNode* node = fields.Find(key);
  if (!node) return {};
  const Place place(context_, key);
  auto path = ReadText(context_, *node);
  if (!path) return {};
  if (!path->starts_with('/')) {
    context_.Error(*node, "expected a path name that begins with \"/\", found {}",
                   DescribeNode(*node));
  }
  return *std::move(path);
}

template <typename Read>
void EntityReader::ForEachArray(const NdlGroup& source, const NdlFields& fields,
                                std::string_view key, const Read& read) {
  const YamlNode* node = fields.Find(key);
  if (!node) return;
  context_.set_entity(source.path, {});
  if (const Place place(context_, key); !CheckMapping(context_, *node)) return;
  for (size_t i = 0; i < node->size() && !context_.gave_up(); ++i) {
    if (!node->key(i).is_scalar()) continue;
    const std::string_view name = node->key(i).text();
    if (!CountEntity(node->key(i))) return;
    context_.set_entity(source.path, name);
    CheckName(source, node->key(i));
    read(name, node->value(i));
  }
}

bool EntityReader::CountEntity(const YamlNode& key) {
  if (entities_ == max_entities_) {
    context_.Error(key, "more than {} attributes, dimension coordinates and ndarrays",
                   max_entities_);
  }
  return entities_++ < max_entities_;
}

// Reports an array, at `key`, whose name is not valid or is already taken in
// its group.
void EntityReader::CheckName(const NdlGroup& source, const YamlNode& key) {
  const std::string_view name = key.text();
  if (name.empty() || name.find('/') != std::string_view::npos) {
    context_.Error(key,
                   "{} is not a name, expected one without \"/\"; groups have entries of "
                   "their own",
                   Quote(name));
  }
  const auto ndarray = source.ndarrays.find(name);
  if (ndarray != source.ndarrays.end() && source.dimcoords.contains(name) &&
      ndarray->second == &key) {
    context_.Error(key, "the name {} is already taken by a dimension coordinate", Quote(name));
  }
  const auto group = source.groups.find(name);
  if (group != source.groups.end()) {
    const YamlNode* group_key = group->second->key;
    context_.Error(key, "the name {} is already taken by a group{}", Quote(name),
                   group_key ? fmt::format(" (line {})", group_key->line()) : "");
  }
}

// --- Attributes

std::vector<Attribute> EntityReader::ReadAttributes(const YamlNode* node) {
  std::vector<Attribute> attributes;
  if (!node) return attributes;
  if (const Place place(context_, "attributes"); !CheckMapping(context_, *node)) {
    return attributes;
  }
  for (size_t i = 0; i < node->size() && !context_.gave_up(); ++i) {
    if (!node->key(i).is_scalar()) continue;
    if (!CountEntity(node->key(i))) return attributes;
    const Place place(context_, "attribute", node->key(i).text());
    attributes.push_back(ReadAttribute(node->key(i).text(), node->value(i)));
  }
  return attributes;
}

Attribute EntityReader::ReadAttribute(std::string_view name, const YamlNode& node) {
  Attribute attribute;
  attribute.name = name;
  if (node.is_mapping()) {
    ReadFullAttribute(node, attribute);
  } else if (auto best = ReadShortForm(context_, node)) {
    attribute.type = std::move(best->first);
    attribute.value = std::move(best->second);
  }
  return attribute;
}

void EntityReader::ReadFullAttribute(const YamlNode& node, Attribute& attribute) {
  const NdlFields fields(context_, node, {"shape", "type", "value", "storage"});
  const YamlNode* shape_node = fields.Require("shape");
  const auto type = ReadTypeField(context_, fields);
  const YamlNode* value_node = fields.Require("value");
  std::optional<std::vector<uint64_t>> shape;
  if (shape_node) {
    const Place place(context_, "shape");
    shape = ReadSizes(context_, *shape_node, 0);
  }
  if (type && shape && value_node) {
    const Place place(context_, "value");
    std::vector<std::optional<uint64_t>> extents(shape->begin(), shape->end());
    auto value = ReadNested(context_, *value_node, extents, *type);
    if (value) attribute.value = *std::move(value);
  }
  if (const YamlNode* storage = fields.Find("storage")) {
    attribute.storage =
        ReadStorage(*storage, Owner::kAttribute, type ? &*type : nullptr, nullptr);
  }
  const YamlNode* format = fields.Find("x-format");
  attribute.json = format && format->is_scalar() && format->text() == "json";
  if (type) attribute.type = *type;
  if (shape) attribute.shape = *std::move(shape);
}

// --- Arrays

DimCoord EntityReader::ReadDimCoord(std::string_view name, const YamlNode& node) {
  DimCoord dimcoord;
  dimcoord.name = name;
  dimcoord.shape.resize(1);
  const NdlFields fields(context_, node, {"size", "type", "value", "attributes", "storage"});
  ReadArraySource(fields, "size", dimcoord);
  const bool needs_size = !dimcoord.source || dimcoord.source->has_shape;
  const YamlNode* size = needs_size ? fields.Require("size") : nullptr;
  bool has_shape = size != nullptr;
  if (size && !size->is_null()) {
    const Place place(context_, "size");
    if (size->is_plain() && ParseYamlInteger(size->text())) {
      dimcoord.shape[0].size = ReadSize(context_, *size, 0);
    } else {
      context_.Error(*size, "expected an integer, or null for unlimited, found {}",
                     DescribeNode(*size));
    }
    has_shape = dimcoord.shape[0].size.has_value();
  }
  ReadDimensionNames(fields.Find("x-dims"), {std::string(name)}, dimcoord);
  ReadBody(fields, Owner::kDimCoord, has_shape, dimcoord);
  return dimcoord;
}

Ndarray EntityReader::ReadNdarray(const NdlGroup& group, std::string_view name,
                                  const YamlNode& node) {
  Ndarray ndarray;
  ndarray.name = name;
  const NdlFields fields(context_, node, {"shape", "type", "value", "attributes", "storage"});
  ReadArraySource(fields, "shape", ndarray);
  const bool needs_shape = !ndarray.source || ndarray.source->has_shape;
  const bool has_shape = needs_shape && ReadShape(group, fields, ndarray);
  if (has_shape) {
    std::vector<std::string> shown;
    for (const Dimension& dimension : ndarray.shape) {
      shown.emplace_back(BaseName(dimension.dimcoord));
    }
    ReadDimensionNames(fields.Find("x-dims"), shown, ndarray);
  }
  ReadBody(fields, Owner::kNdarray, has_shape, ndarray);
  return ndarray;
}

// Reads x-source. `shape_key` and `type` need not be in the document if the source has them.
void EntityReader::ReadArraySource(const NdlFields& fields, std::string_view shape_key,
                                   Ndarray& array) {
  const YamlNode* node = fields.Find("x-source");
  if (!node) return;
  if (const YamlNode* value = fields.Find("value")) {
    context_.Error(*value, "an array has a value or an x-source, not both");
  }
  auto source = ReadSource(context_, *node, SourceOwner::kArray);
  // One that cannot be read may have any shape.
  if (!source) source.emplace().kind = ValueSource::Kind::kStore;
  const bool describes_itself = source->kind != ValueSource::Kind::kFile && !source->flat;
  source->has_type = !describes_itself || fields.Find("type") != nullptr;
  source->has_shape = !describes_itself || fields.Find(shape_key) != nullptr;
  array.source = *std::move(source);
}

void EntityReader::ReadBody(const NdlFields& fields, Owner owner, bool has_shape,
                            Ndarray& array) {
  const bool needs_type = !array.source || array.source->has_type;
  const auto type = needs_type ? ReadTypeField(context_, fields) : std::nullopt;
  if (type) array.type = *type;
  if (const YamlNode* storage = fields.Find("storage")) {
    array.storage = ReadStorage(*storage, owner, type ? &*type : nullptr,
                                has_shape ? &array.shape : nullptr);
  }
  if (const YamlNode* value = fields.Find("value"); value && type && has_shape) {
    ReadValue(*value, array);
  }
  array.attributes = ReadAttributes(fields.Find("attributes"));
  if (const YamlNode* layout = fields.Find("x-layout"); layout && type) {
    array.layout = ReadLayout(context_, *layout, *type);
  }
  array.same_as = ReadPath(fields, "x-same-as");
}

// The number of items of the lists along dimension `dim`, taken from the first
// list of each level.
uint64_t CountItems(const YamlNode& node, size_t dim) {
  const YamlNode* list = &node;
  for (; dim > 0 && list->is_sequence() && !list->items().empty(); --dim) {
    list = list->items().front();
  }
  return dim == 0 && list->is_sequence() ? list->items().size() : 0;
}

// `value` has as many values as are stored. People also write the values of the
// whole shape. An array that shares an unlimited dimension with a longer one may
// have more than are stored, too: fill values up to that length.
void EntityReader::ReadValue(const YamlNode& node, Ndarray& array) {
  const Place place(context_, "value");
  std::vector<std::optional<uint64_t>> extents;
  for (size_t i = 0; i < array.shape.size(); ++i) {
    const Storage& storage = array.storage;
    const bool has_shape = storage.shape && storage.shape->size() == array.shape.size();
    const std::optional<uint64_t> stored = has_shape ? (*storage.shape)[i] : storage.size;
    const std::optional<uint64_t>& size = array.shape[i].size;
    const uint64_t count = CountItems(node, i);
    if (stored && !size) {
      extents.push_back(std::max(*stored, count));
    } else {
      extents.push_back(stored && count == *stored ? stored : size);
    }
  }
  array.value = ReadNested(context_, node, extents, array.type);
}

// --- Shapes

bool EntityReader::ReadShape(const NdlGroup& group, const NdlFields& fields, Ndarray& array) {
  const YamlNode* node = fields.Require("shape");
  const YamlNode* extent = fields.Find("x-extent");
  if (!node) return false;
  const Place place(context_, "shape");
  if (!node->is_sequence()) {
    context_.Error(*node,
                   "expected a list of integers, null and names of dimension coordinates, "
                   "such as [10, lat], found {}",
                   DescribeNode(*node));
    return false;
  }
  std::vector<bool> is_outside;  // whether only x-extent has the size
  for (const YamlNode* item : node->items()) {
    if (context_.gave_up()) return false;
    auto dimension = ReadDimension(group, *item, extent != nullptr);
    if (!dimension) continue;
    is_outside.push_back(!dimension->dimcoord.empty() &&
                         !document_.FindPath(dimension->dimcoord));
    array.shape.push_back(*std::move(dimension));
  }
  if (array.shape.size() != node->items().size()) return false;
  if (extent) ReadExtent(*extent, is_outside, array.shape);
  uint64_t elements = 1;
  for (const Dimension& dimension : array.shape) {
    if (__builtin_mul_overflow(elements, std::max<uint64_t>(dimension.size.value_or(1), 1),
                               &elements) ||
        elements > INT64_MAX) {
      context_.Error(*node, "2^63 elements or more");
      return false;
    }
  }
  return true;
}

std::optional<Dimension> EntityReader::ReadDimension(const NdlGroup& group,
                                                     const YamlNode& node, bool has_extent) {
  if (node.is_null()) return Dimension{};
  if (node.is_plain() && LooksLikeYamlNumber(node.text())) {
    const auto size = ReadSize(context_, node, 0);
    if (!size) return std::nullopt;
    return Dimension{size, {}};
  }
  if (node.is_plain() || node.is_quoted()) return ReadReference(group, node, has_extent);
  context_.Error(node,
                 "expected an integer, null or the name of a dimension coordinate, found {}",
                 DescribeNode(node));
  return std::nullopt;
}

std::optional<Dimension> EntityReader::ReadReference(const NdlGroup& group,
                                                     const YamlNode& node, bool has_extent) {
  const std::string_view name = node.text();
  const bool is_path = name.starts_with('/');
  const NdlDimCoord* found = is_path ? document_.FindPath(name) : group.FindNearest(name);
  Dimension dimension;
  if (found) {
    dimension = {found->size, found->path()};
  } else if (std::string path = is_path ? std::string(name) : JoinPath(group.path, name);
             has_extent && !name.empty() && document_.IsElsewhere(path)) {
    dimension = {std::nullopt, std::move(path)};
  } else {
    ReportNoDimCoord(group, node);
    return std::nullopt;
  }
  reference_bytes_ += dimension.dimcoord.size();
  if (reference_bytes_ > max_reference_bytes_) {
    context_.Error(node, "path names of references that add up to more than {} bytes",
                   max_reference_bytes_);
    return std::nullopt;
  }
  return dimension;
}

void EntityReader::ReportNoDimCoord(const NdlGroup& group, const YamlNode& node) {
  constexpr size_t kMostNames = 1000;
  const std::string_view name = node.text();
  const bool is_path = name.starts_with('/');
  const std::string_view kind =
      document_.KindAt(is_path ? std::string(name) : JoinPath(group.path, name));
  if (is_path || !kind.empty()) {
    context_.Error(node, "{} is {}dimension coordinate", Quote(name),
                   kind.empty() ? "not a " : fmt::format("{}, expected a ", kind));
    return;
  }
  std::vector<std::string_view> names;
  for (const NdlGroup* around = &group; around; around = around->parent) {
    for (const auto& [known, unused] : around->dimcoords) {
      if (names.size() < kMostNames) names.push_back(known);
    }
  }
  std::sort(names.begin(), names.end());
  context_.Error(node, "no dimension coordinate {} in this group or a group around it{}",
                 Quote(name), Suggestion(name, names));
}

// Reads x-extent, the sizes of the dimensions. They are new only for
// coordinates outside the document; the others have to agree with the shape.
void EntityReader::ReadExtent(const YamlNode& node, const std::vector<bool>& is_outside,
                              Shape& shape) {
  const Place place(context_, "x-extent");
  if (!node.is_sequence() || node.items().size() != shape.size()) {
    context_.Error(node, "expected a list of {} integers or null, one for each dimension",
                   shape.size());
    return;
  }
  for (size_t i = 0; i < shape.size(); ++i) {
    const YamlNode& item = *node.items()[i];
    std::optional<uint64_t> size;
    if (!item.is_null()) {
      size = ReadSize(context_, item, 0);
      if (!size) return;
    }
    if (is_outside[i]) {
      shape[i].size = size;
    } else if (shape[i].size != size) {
      context_.Error(item, "{} along dimension {}, expected {} as in the shape", item.text(),
                     i + 1, shape[i].size ? std::to_string(*shape[i].size) : "null");
    }
  }
}

// Takes the names from x-dims, or else from the shape.
void EntityReader::ReadDimensionNames(const YamlNode* node,
                                      const std::vector<std::string>& shown, Ndarray& array) {
  const auto is_named = [](const std::string& name) { return !name.empty(); };
  if (!node) {
    if (std::any_of(shown.begin(), shown.end(), is_named)) array.dimension_names = shown;
    return;
  }
  const Place place(context_, "x-dims");
  if (!node->is_sequence() || node->items().size() != shown.size()) {
    context_.Error(*node, "expected a list of {} names or null, one for each dimension",
                   shown.size());
    return;
  }
  for (const YamlNode* item : node->items()) {
    const auto name = item->is_null() ? std::string() : ReadText(context_, *item);
    array.dimension_names.push_back(name.value_or(""));
  }
  // The shape shows no names, and x-dims has none.
  if (array.dimension_names == shown && std::none_of(shown.begin(), shown.end(), is_named)) {
    array.dimension_names.clear();
  }
}

// --- Storage directives

Storage EntityReader::ReadStorage(const YamlNode& node, Owner owner, const Datatype* type,
                                  const Shape* shape) {
  const Place place(context_, "storage");
  const NdlFields fields =
      owner == Owner::kAttribute ? NdlFields(context_, node, {"endian", "charset"})
      : owner == Owner::kDimCoord
          ? NdlFields(context_, node,
                      {"size", "chunk", "filter", "endian", "charset", "fillvalue"})
          : NdlFields(context_, node,
                      {"shape", "chunk", "filter", "endian", "charset", "fillvalue"});
  Storage storage;
  if (owner == Owner::kNdarray) ReadStoredShape(fields, shape, storage);
  if (owner == Owner::kDimCoord) ReadStoredSize(fields, shape, storage);
  if (owner != Owner::kAttribute) {
    ReadChunk(fields, shape, storage);
    ReadFilters(fields, storage);
    if (const YamlNode* fill = fields.Find("fillvalue"); fill && type) {
      const Place fill_place(context_, "fillvalue");
      storage.fillvalue = ReadElement(context_, *fill, *type);
    }
  }
  if (const YamlNode* endian = fields.Find("endian")) {
    const Place endian_place(context_, "endian");
    if (const auto word = ReadWord(context_, *endian, {"little", "big"})) {
      storage.endian = *word == "little" ? ByteOrder::kLittle : ByteOrder::kBig;
    }
  }
  if (const YamlNode* charset = fields.Find("charset")) {
    const Place charset_place(context_, "charset");
    storage.charset = ReadText(context_, *charset);
  }
  return storage;
}

void EntityReader::ReadStoredShape(const NdlFields& fields, const Shape* shape,
                                   Storage& storage) {
  const YamlNode* node = fields.Find("shape");
  if (!node) return;
  const Place place(context_, "shape");
  storage.shape = ReadSizes(context_, *node, 0);
  if (!storage.shape || !shape) return;
  if (storage.shape->size() != shape->size()) {
    context_.Error(*node, "a rank of {}, expected {} as in the shape of the ndarray",
                   storage.shape->size(), shape->size());
    storage.shape.reset();
    return;
  }
  for (size_t i = 0; i < shape->size(); ++i) {
    const auto& size = (*shape)[i].size;
    if (!size || (*storage.shape)[i] <= *size) continue;
    context_.Error(*node->items()[i], "{} stored along dimension {}, expected at most {}",
                   (*storage.shape)[i], i + 1, *size);
  }
}

void EntityReader::ReadStoredSize(const NdlFields& fields, const Shape* shape,
                                  Storage& storage) {
  const YamlNode* node = fields.Find("size");
  if (!node) return;
  const Place place(context_, "size");
  storage.size = ReadSize(context_, *node, 0);
  if (!storage.size || !shape || !shape->front().size) return;
  if (*storage.size > *shape->front().size) {
    context_.Error(*node, "{} stored, expected at most {}", *storage.size,
                   *shape->front().size);
  }
}

// A chunk may be larger than the array: many formats store small arrays so.
void EntityReader::ReadChunk(const NdlFields& fields, const Shape* shape, Storage& storage) {
  const YamlNode* node = fields.Find("chunk");
  if (!node) return;
  const Place place(context_, "chunk");
  storage.chunk = ReadSizes(context_, *node, 1);
  if (!storage.chunk) return;
  if (shape && storage.chunk->size() != shape->size()) {
    context_.Error(*node, "a rank of {}, expected {} as in the shape of the array",
                   storage.chunk->size(), shape->size());
  }
  uint64_t elements = 1;
  for (const uint64_t extent : *storage.chunk) {
    if (__builtin_mul_overflow(elements, extent, &elements) || elements > INT64_MAX) {
      context_.Error(*node, "2^63 elements or more");
      return;
    }
  }
}

void EntityReader::ReadFilters(const NdlFields& fields, Storage& storage) {
  const YamlNode* node = fields.Find("filter");
  if (!node) return;
  const Place place(context_, "filter");
  if (!node->is_sequence()) {
    context_.Error(*node, "expected a list of processes, found {}", DescribeNode(*node));
    return;
  }
  storage.filter.emplace();
  for (size_t i = 0; i < node->items().size() && !context_.gave_up(); ++i) {
    const Place index(context_, i);
    if (auto filter = ReadFilter(*node->items()[i])) {
      storage.filter->push_back(*std::move(filter));
    }
  }
}

std::optional<Filter> EntityReader::ReadFilter(const YamlNode& node) {
  if (node.is_plain() || node.is_quoted()) return Filter{std::string(node.text()), {}};
  if (!node.is_mapping() || node.size() != 1 || !node.key(0).is_scalar()) {
    context_.Error(node,
                   "expected the name of a process, or a mapping of it to its parameters, "
                   "found {}",
                   DescribeNode(node));
    return std::nullopt;
  }
  const std::string_view name = node.key(0).text();
  const Place place(context_, name);
  if (!CheckMapping(context_, node.value(0))) return std::nullopt;
  auto parameters = ReadUntyped(context_, node.value(0));
  if (!parameters) return std::nullopt;
  return Filter{std::string(name), *parameters->map()};
}

// "/data/example.yaml" -> "example".
std::string StoreName(std::string_view file_name) {
  std::string_view name = BaseName(file_name);
  for (const std::string_view extension : {".yaml", ".yml"}) {
    if (name.ends_with(extension)) {
      name.remove_suffix(extension.size());
      break;
    }
  }
  if (name.ends_with(".ndl")) name.remove_suffix(4);
  return std::string(name);
}

ParsedDocument Refuse(Diagnostic diagnostic) {
  ParsedDocument parsed;
  parsed.errors.push_back(std::move(diagnostic));
  return parsed;
}

}  // namespace

ParsedDocument ReadNdl(std::string_view text, std::string_view file_name,
                       const NdlLimits& limits) {
  YamlLimits yaml_limits;
  yaml_limits.bytes = limits.bytes;
  yaml_limits.nodes = limits.values;
  yaml_limits.lookahead = limits.lookahead;
  const auto tree = ParseYaml(text, yaml_limits);
  if (!tree) return Refuse(tree.error());
  if (!tree->root()) {
    return Refuse({1,
                   1,
                   {},
                   "the document is empty, expected groups, or attributes, dimcoords "
                   "or ndarrays"});
  }
  NdlContext context;
  const NdlDocument document(context, *tree->root());
  EntityReader reader(context, document, limits);
  Group root = reader.ReadGroup(document.root(), "");
  ParsedDocument parsed;
  parsed.memory =
      kMemoryPerValue * tree->size() + tree->text_bytes() + reader.reference_bytes();
  parsed.errors = context.TakeErrors();
  if (parsed.errors.empty()) parsed.file = File{StoreName(file_name), std::move(root)};
  return parsed;
}

bool LooksLikeNdl(std::string_view text) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  while (!text.empty()) {
    const size_t newline = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, newline);
    text.remove_prefix(std::min(newline + 1, text.size()));
    while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.remove_suffix(1);
    if (line.empty() || line.front() == '#' || line.front() == '%' || line == "---") continue;
    if (line.front() == '{') line.remove_prefix(1);
    if (line.starts_with('"') || line.starts_with('\'')) line.remove_prefix(1);
    for (const std::string_view key : {"attributes", "dimcoords", "ndarrays"}) {
      if (line.starts_with(key) && line.substr(key.size()).find_first_of(":\"'") == 0) {
        return true;
      }
    }
    return line.starts_with('/') && line.find(':') != std::string_view::npos;
  }
  return true;
}

}  // namespace ndlfs::model
