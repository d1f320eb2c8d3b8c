// SPDX-License-Identifier: MIT
#include "model/ndl/ndl_writer.h"

#include <algorithm>
#include <optional>
#include <unordered_set>
#include <vector>

#include "model/json_elements.h"
#include "model/ndl/group_writer.h"
#include "model/ndl/ndl_layout.h"
#include "model/ndl/ndl_rules.h"
#include "model/ndl/ndl_source.h"
#include "model/ndl/yaml_layout.h"
#include "model/ndl/yaml_text.h"
#include "model/path_name.h"
#include "model/utf8.h"

namespace ndlfs::model {
namespace {

YamlItem IntegerItem(WideInt value) { return YamlItem::Verbatim(FormatInteger(value)); }
YamlItem Null() { return YamlItem::Verbatim("null"); }

// A path name as the document shows it. Parts that are not UTF-8 are taken as
// Latin-1, each by itself, as the names of the entities are.
std::string ShownPath(std::string_view path) {
  if (IsUtf8(path)) return std::string(path);
  if (!path.starts_with('/')) return Latin1ToUtf8(path);
  std::string shown;
  for (const std::string_view part : SplitPath(path)) {
    shown = JoinPath(shown, IsUtf8(part) ? std::string(part) : Latin1ToUtf8(part));
  }
  return shown;
}

YamlItem Sizes(const std::vector<uint64_t>& sizes) {
  YamlItem list = YamlItem::Sequence();
  for (const uint64_t size : sizes) list.Add(IntegerItem(size));
  return list;
}

// --- Datatypes

YamlItem DatatypeItem(const Datatype& type);

// Adds x-datetime or x-timedelta, if the type is a time.
void AddTime(YamlItem& map, const Datatype& type) {
  if (!type.time()) return;
  YamlItem unit = YamlItem::Mapping();
  unit.Add("unit", YamlItem::Text(type.time()->unit));
  unit.Add("scale", IntegerItem(type.time()->scale));
  map.Add(type.time()->is_delta ? "x-timedelta" : "x-datetime", std::move(unit));
}

// The base of a vlen or array.
YamlItem BaseItem(const Datatype& type) {
  YamlItem map = YamlItem::Mapping();
  map.Add("base", DatatypeItem(type.base()));
  AddTime(map, type.base());
  return map;
}

YamlItem OpaqueItem(const Datatype& type) {
  YamlItem map = YamlItem::Mapping();
  map.Add("size", IntegerItem(type.size()));
  if (!type.tag().empty()) map.Add("tag", YamlItem::Text(type.tag()));
  return map;
}

YamlItem EnumItem(const Datatype& type) {
  YamlItem members = YamlItem::Mapping();
  for (const Datatype::Constant& constant : type.constants()) {
    members.Add(constant.name, IntegerItem(constant.value));
  }
  YamlItem map = BaseItem(type);
  map.Add("members", std::move(members));
  return map;
}

YamlItem CompoundItem(const Datatype& type) {
  YamlItem list = YamlItem::Sequence();
  for (const Datatype::Member& member : type.members()) {
    YamlItem map = YamlItem::Mapping();
    map.Add(member.name, DatatypeItem(member.type));
    AddTime(map, member.type);
    list.Add(std::move(map));
  }
  return list;
}

YamlItem ParametersItem(const Datatype& type) {
  switch (type.kind()) {
    case Datatype::Kind::kOpaque:
      return OpaqueItem(type);
    case Datatype::Kind::kEnum:
      return EnumItem(type);
    case Datatype::Kind::kCompound:
      return CompoundItem(type);
    case Datatype::Kind::kRegionRef: {
      const bool block = type.selection() == Datatype::Selection::kBlock;
      YamlItem map = YamlItem::Mapping();
      map.Add("selection", YamlItem::Verbatim(block ? "block" : "element"));
      return map;
    }
    case Datatype::Kind::kArray: {
      YamlItem map = BaseItem(type);
      map.Add("shape", Sizes(type.shape()));
      return map;
    }
    default:
      return BaseItem(type);
  }
}

YamlItem DatatypeItem(const Datatype& type) {
  switch (type.kind()) {
    case Datatype::Kind::kString:
    case Datatype::Kind::kInteger:
    case Datatype::Kind::kFloat:
    case Datatype::Kind::kObjectRef:
      return YamlItem::Verbatim(type.keyword());
    default:
      YamlItem map = YamlItem::Mapping();
      map.Add(type.keyword(), ParametersItem(type));
      return map;
  }
}

// --- Values

// The element type below all vlens and arrays of `type`.
const Datatype& ElementType(const Datatype& type) {
  const Datatype* element = &type;
  while (element->kind() == Datatype::Kind::kVlen ||
         element->kind() == Datatype::Kind::kArray) {
    element = &element->base();
  }
  return *element;
}

YamlItem ValueItem(const Value& value, const Datatype& type);

YamlItem MapItem(const Value::Map& map, const Datatype& type) {
  static const Datatype kUnknown;
  YamlItem item = YamlItem::Mapping();
  const auto& members = type.members();
  for (size_t i = 0; i < map.size(); ++i) {
    const bool known = i < members.size() && members[i].name == map[i].first;
    item.Add(map[i].first, ValueItem(map[i].second, known ? members[i].type : kUnknown));
  }
  return item;
}

YamlItem RegionItem(const Region& region) {
  YamlItem item = YamlItem::Mapping();
  item.Add("target", YamlItem::Text(ShownPath(region.target)));
  if (region.selection == Datatype::Selection::kBlock && region.points.size() == 2) {
    item.Add("start", Sizes(region.points[0]));
    item.Add("opposite", Sizes(region.points[1]));
    return item;
  }
  YamlItem elements = YamlItem::Sequence();
  for (const auto& point : region.points) elements.Add(Sizes(point));
  item.Add("elements", std::move(elements));
  return item;
}

// Any value can be written. `type` only determines how floats are rounded and
// members named.
YamlItem ValueItem(const Value& value, const Datatype& type) {
  const Datatype& element = ElementType(type);
  if (value.integer()) return IntegerItem(*value.integer());
  if (value.real()) {
    const bool is_float = element.kind() == Datatype::Kind::kFloat;
    return YamlItem::Verbatim(is_float ? FormatFloat(element, *value.real())
                                       : FormatFloat(*value.real()));
  }
  if (value.text()) {
    const bool is_path = element.kind() == Datatype::Kind::kObjectRef;
    return YamlItem::Text(is_path ? ShownPath(*value.text()) : *value.text());
  }
  if (value.blob()) {
    std::string text;
    AppendBinary(text, *value.blob());
    return YamlItem::Verbatim(std::move(text));
  }
  if (value.list()) {
    YamlItem list = YamlItem::Sequence();
    list.items.reserve(value.list()->size());
    for (const Value& item : *value.list()) list.Add(ValueItem(item, element));
    return list;
  }
  if (value.map()) return MapItem(*value.map(), element);
  if (value.region()) return RegionItem(*value.region());
  return Null();
}

// --- Attributes

// The value as a plain scalar, if that reads back as the type of the attribute.
std::optional<YamlItem> ShortForm(const Attribute& attribute) {
  const Datatype& type = attribute.type;
  const Value& value = attribute.value;
  if (!attribute.shape.empty() || attribute.json || !attribute.storage.empty()) return {};
  if (value.text()) {
    if (type.kind() == Datatype::Kind::kString) return YamlItem::Text(*value.text());
    if (type == Datatype::Bool() && (*value.text() == "TRUE" || *value.text() == "FALSE")) {
      return YamlItem::Verbatim(*value.text() == "TRUE" ? "true" : "false");
    }
  } else if (value.real()) {
    if (type == Datatype::Float64()) return ValueItem(value, type);
  } else if (value.integer() && type == ShortIntegerType(*value.integer())) {
    return IntegerItem(*value.integer());
  }
  return {};
}

// --- Entities

// Finds the shortest references to coordinates in the shapes of a document.
class Scopes {
 public:
  // Says that the document describes the group at `path` and all below it.
  void SetTop(std::string path) { top_ = std::move(path); }
  // Says that it has the dimension coordinate at `path`.
  void Know(std::string path) { known_.insert(std::move(path)); }

  // Begin and end the part of the document that describes a group.
  void Enter(std::string path) { stack_.push_back(std::move(path)); }
  void Leave() { stack_.pop_back(); }

  const std::string& group() const { return stack_.back(); }
  bool IsKnown(const std::string& dimcoord) const { return known_.contains(dimcoord); }
  // Whether `dimcoord` lies outside the part of the store that the document
  // describes. An unknown coordinate inside that part does not exist.
  bool IsElsewhere(const std::string& dimcoord) const {
    return !IsKnown(dimcoord) && (!top_ || !IsBelow(dimcoord, *top_));
  }

  // The name of `dimcoord` if it resolves to it in the current group, otherwise
  // its path name.
  std::string Reference(const std::string& dimcoord) const {
    const std::string_view name = BaseName(dimcoord);
    if (ParentPath(dimcoord) == group()) return std::string(name);
    for (auto path = stack_.rbegin(); path != stack_.rend(); ++path) {
      const std::string nearest = JoinPath(*path, name);
      if (IsKnown(nearest)) return nearest == dimcoord ? std::string(name) : dimcoord;
    }
    return dimcoord;
  }

 private:
  std::optional<std::string> top_;  // the group described; nullopt for a single array
  std::unordered_set<std::string> known_;
  std::vector<std::string> stack_;
};

// Writes entities of the current group of `scopes`.
class EntityWriter {
 public:
  EntityWriter(YamlWriter& yaml, Scopes& scopes) : yaml_(yaml), scopes_(scopes) {}

  void WriteFacts(const Group& group);
  void WriteLinks(const std::vector<NamedLink>& links);
  void WriteNdarray(const Ndarray& ndarray);
  void WriteDimCoord(const DimCoord& dimcoord);

 private:
  void WriteAttributes(const std::vector<Attribute>& attributes);
  void WriteAttribute(const Attribute& attribute);
  void WriteShape(const Ndarray& ndarray);
  void WriteDimensionNames(const Ndarray& ndarray, const std::vector<std::string>& shown);
  void WriteType(const Datatype& type);
  void WriteBody(const Ndarray& array);
  void WriteStorage(const Storage& storage, const Datatype& type);

  YamlWriter& yaml_;
  Scopes& scopes_;
};

// What a group has apart from arrays and links.
void EntityWriter::WriteFacts(const Group& group) {
  if (!group.same_as.empty()) {
    yaml_.Entry("x-same-as", YamlItem::Text(ShownPath(group.same_as)));
  }
  if (group.source) yaml_.Entry("x-source", SourceItem(*group.source));
  WriteAttributes(group.attributes);
  if (!group.dimensions.empty()) {
    YamlItem dimensions = YamlItem::Mapping();
    for (const NamedDimension& dimension : group.dimensions) {
      dimensions.Add(dimension.name, dimension.size ? IntegerItem(*dimension.size) : Null());
    }
    yaml_.Entry("x-dims", dimensions);
  }
}

void EntityWriter::WriteLinks(const std::vector<NamedLink>& links) {
  if (links.empty()) return;
  yaml_.Open("x-links");
  for (const NamedLink& link : links) {
    YamlItem target = YamlItem::Text(ShownPath(link.target));
    if (!link.file.empty()) {
      YamlItem external = YamlItem::Mapping();
      external.Add("file", YamlItem::Text(link.file));
      external.Add("path", std::move(target));
      target = std::move(external);
    }
    yaml_.Entry(link.name, target);
  }
  yaml_.Close();
}

void EntityWriter::WriteNdarray(const Ndarray& ndarray) {
  yaml_.Open(ndarray.name);
  if (!ndarray.source || ndarray.source->has_shape) WriteShape(ndarray);
  WriteBody(ndarray);
  yaml_.Close();
}

void EntityWriter::WriteDimCoord(const DimCoord& dimcoord) {
  yaml_.Open(dimcoord.name);
  if (!dimcoord.source || dimcoord.source->has_shape) {
    yaml_.Entry("size", dimcoord.size() ? IntegerItem(*dimcoord.size()) : Null());
  }
  WriteDimensionNames(dimcoord, {dimcoord.name});
  WriteBody(dimcoord);
  yaml_.Close();
}

void EntityWriter::WriteShape(const Ndarray& ndarray) {
  YamlItem shape = YamlItem::Sequence();
  YamlItem extent = YamlItem::Sequence();
  std::vector<std::string> shown;
  bool all_here = true;
  for (const Dimension& dimension : ndarray.shape) {
    const std::string& dimcoord = dimension.dimcoord;
    const YamlItem size = dimension.size ? IntegerItem(*dimension.size) : Null();
    const bool is_elsewhere = !dimcoord.empty() && scopes_.IsElsewhere(dimcoord);
    const bool is_named = is_elsewhere || scopes_.IsKnown(dimcoord);
    shape.Add(is_named ? YamlItem::Text(ShownPath(scopes_.Reference(dimcoord))) : size);
    extent.Add(size);
    shown.emplace_back(is_named ? BaseName(dimcoord) : "");
    all_here &= !is_elsewhere;
  }
  yaml_.Entry("shape", shape);
  if (!all_here) yaml_.Entry("x-extent", extent);
  WriteDimensionNames(ndarray, shown);
}

// Writes x-dims, unless it would repeat `shown`, the names that the shape shows.
void EntityWriter::WriteDimensionNames(const Ndarray& ndarray,
                                       const std::vector<std::string>& shown) {
  const std::vector<std::string>& names = ndarray.dimension_names;
  if (names.empty() || names == shown) return;
  YamlItem list = YamlItem::Sequence();
  for (const std::string& name : names) {
    list.Add(name.empty() ? Null() : YamlItem::Text(name));
  }
  yaml_.Entry("x-dims", list);
}

void EntityWriter::WriteType(const Datatype& type) {
  yaml_.Entry("type", DatatypeItem(type));
  YamlItem extension = YamlItem::Mapping();
  AddTime(extension, type);
  for (size_t i = 0; i < extension.items.size(); ++i) {
    yaml_.Entry(extension.keys[i], extension.items[i]);
  }
}

void EntityWriter::WriteBody(const Ndarray& array) {
  if (!array.source || array.source->has_type) WriteType(array.type);
  if (array.source) yaml_.Entry("x-source", SourceItem(*array.source));
  if (HoldsJson(array)) yaml_.Entry("x-format", YamlItem::Verbatim("json"));
  if (array.layout) yaml_.Entry("x-layout", LayoutItem(*array.layout));
  if (!array.same_as.empty()) {
    yaml_.Entry("x-same-as", YamlItem::Text(ShownPath(array.same_as)));
  }
  if (array.value) yaml_.Entry("value", ValueItem(*array.value, array.type));
  WriteAttributes(array.attributes);
  WriteStorage(array.storage, array.type);
}

void EntityWriter::WriteAttributes(const std::vector<Attribute>& attributes) {
  if (attributes.empty()) return;
  yaml_.Open("attributes");
  for (const Attribute& attribute : attributes) WriteAttribute(attribute);
  yaml_.Close();
}

void EntityWriter::WriteAttribute(const Attribute& attribute) {
  if (const std::optional<YamlItem> scalar = ShortForm(attribute)) {
    yaml_.Entry(attribute.name, *scalar);
    return;
  }
  yaml_.Open(attribute.name);
  yaml_.Entry("shape", Sizes(attribute.shape));
  WriteType(attribute.type);
  if (attribute.json) yaml_.Entry("x-format", YamlItem::Verbatim("json"));
  const std::string* json = attribute.json ? attribute.value.text() : nullptr;
  yaml_.Entry("value",
              json ? YamlItem::Json(*json) : ValueItem(attribute.value, attribute.type));
  WriteStorage(attribute.storage, attribute.type);
  yaml_.Close();
}

// Parameters have no declared type. A bool, which is a constant of NDL's enum,
// is written as true or false, because people write it so.
YamlItem ParameterItem(const Value& value) {
  static const Datatype kUntyped;
  if (value.text() && (*value.text() == "TRUE" || *value.text() == "FALSE")) {
    return YamlItem::Verbatim(*value.text() == "TRUE" ? "true" : "false");
  }
  if (value.list()) {
    YamlItem list = YamlItem::Sequence();
    for (const Value& item : *value.list()) list.Add(ParameterItem(item));
    return list;
  }
  if (value.map()) {
    YamlItem map = YamlItem::Mapping();
    for (const auto& [name, item] : *value.map()) map.Add(name, ParameterItem(item));
    return map;
  }
  return ValueItem(value, kUntyped);
}

YamlItem FilterItem(const std::vector<Filter>& filters) {
  YamlItem list = YamlItem::Sequence();
  for (const Filter& filter : filters) {
    if (filter.parameters.empty()) {
      list.Add(YamlItem::Text(filter.name));
    } else {
      YamlItem process = YamlItem::Mapping();
      process.Add(filter.name, ParameterItem(filter.parameters));
      list.Add(std::move(process));
    }
  }
  return list;
}

void EntityWriter::WriteStorage(const Storage& storage, const Datatype& type) {
  if (storage.empty()) return;
  yaml_.Open("storage");
  if (storage.shape) yaml_.Entry("shape", Sizes(*storage.shape));
  if (storage.size) yaml_.Entry("size", IntegerItem(*storage.size));
  if (storage.chunk) yaml_.Entry("chunk", Sizes(*storage.chunk));
  if (storage.filter) yaml_.Entry("filter", FilterItem(*storage.filter));
  if (storage.endian) {
    const bool little = *storage.endian == ByteOrder::kLittle;
    yaml_.Entry("endian", YamlItem::Verbatim(little ? "little" : "big"));
  }
  if (storage.charset) yaml_.Entry("charset", YamlItem::Text(*storage.charset));
  if (storage.fillvalue) yaml_.Entry("fillvalue", ValueItem(*storage.fillvalue, type));
  yaml_.Close();
}

void KnowCoordinates(const Group& group, const std::string& path, GroupWriter& writer) {
  for (const DimCoord& dimcoord : group.dimcoords) writer.Know(JoinPath(path, dimcoord.name));
  for (const Group& child : group.groups) {
    KnowCoordinates(child, JoinPath(path, child.name), writer);
  }
}

void WriteGroups(const Group& group, const std::string& path, GroupWriter& writer) {
  writer.Begin(group, path, !group.dimcoords.empty() || !group.ndarrays.empty(),
               group.groups.empty());
  for (const DimCoord& dimcoord : group.dimcoords) writer.Add(dimcoord);
  for (const Ndarray& ndarray : group.ndarrays) writer.Add(ndarray);
  writer.EndArrays(group.links);
  std::vector<const Group*> children;
  for (const Group& child : group.groups) children.push_back(&child);
  std::sort(children.begin(), children.end(),
            [](const Group* a, const Group* b) { return a->name < b->name; });
  for (const Group* child : children) WriteGroups(*child, JoinPath(path, child->name), writer);
  writer.End();
}

}  // namespace

class GroupWriter::Impl {
 public:
  Impl(std::string& out, std::string path) : yaml(out) { scopes.SetTop(std::move(path)); }

  // A group that contains nothing but groups needs no entry.
  void Begin(const Group& group, const std::string& path, bool has_arrays, bool is_leaf) {
    const bool is_empty = !has_arrays && group.attributes.empty() && group.dimensions.empty() &&
                          group.links.empty() && group.same_as.empty() && !group.source;
    scopes.Enter(path);
    is_open_ = !is_empty;
    if (!is_empty) {
      yaml.Open(ShownPath(path));
      entities.WriteFacts(group);
    } else if (is_leaf) {
      yaml.Entry(ShownPath(path), YamlItem::Mapping());
    }
  }
  // Begins `section`, and ends the one before. Empty: only ends that.
  void Turn(std::string_view section) {
    if (section == section_) return;
    if (!section_.empty()) yaml.Close();
    section_ = section;
    if (!section.empty()) yaml.Open(section);
  }
  void EndArrays(const std::vector<NamedLink>& links) {
    Turn({});
    entities.WriteLinks(links);
    if (is_open_) yaml.Close();
  }

  YamlWriter yaml;
  Scopes scopes;
  EntityWriter entities{yaml, scopes};

 private:
  std::string_view section_;
  bool is_open_ = false;
};

GroupWriter::GroupWriter(std::string& out, std::string path)
    : impl_(std::make_unique<Impl>(out, std::move(path))) {}
GroupWriter::~GroupWriter() = default;

void GroupWriter::Know(std::string path) { impl_->scopes.Know(std::move(path)); }
void GroupWriter::Begin(const Group& group, const std::string& path, bool has_arrays,
                        bool is_leaf) {
  impl_->Begin(group, path, has_arrays, is_leaf);
}
void GroupWriter::Add(const DimCoord& dimcoord) {
  impl_->Turn("dimcoords");
  impl_->entities.WriteDimCoord(dimcoord);
}
void GroupWriter::Add(const Ndarray& ndarray) {
  impl_->Turn("ndarrays");
  impl_->entities.WriteNdarray(ndarray);
}
void GroupWriter::EndArrays(const std::vector<NamedLink>& links) { impl_->EndArrays(links); }
void GroupWriter::End() { impl_->scopes.Leave(); }

std::string WriteFile(const File& file) { return WriteGroup(file.root, "/"); }

std::string WriteGroup(const Group& group, std::string_view path) {
  std::string out;
  GroupWriter writer(out, std::string(path));
  KnowCoordinates(group, std::string(path), writer);
  WriteGroups(group, std::string(path), writer);
  return out;
}

std::string WriteNdarray(const Ndarray& ndarray, std::string_view group_path) {
  std::string out;
  YamlWriter yaml(out);
  Scopes scopes;
  scopes.Enter(std::string(group_path));
  yaml.Open(ShownPath(group_path));
  yaml.Open("ndarrays");
  EntityWriter(yaml, scopes).WriteNdarray(ndarray);
  return out;
}

std::string WriteDimCoord(const DimCoord& dimcoord, std::string_view group_path) {
  std::string out;
  YamlWriter yaml(out);
  Scopes scopes;
  scopes.Enter(std::string(group_path));
  yaml.Open(ShownPath(group_path));
  yaml.Open("dimcoords");
  EntityWriter(yaml, scopes).WriteDimCoord(dimcoord);
  return out;
}

std::string WriteFlow(const Value& value, const Datatype& type) {
  return FlowText(ValueItem(value, type));
}

std::string WriteFlow(const Datatype& type) { return FlowText(DatatypeItem(type)); }

std::string WriteFlow(const Layout& layout) { return FlowText(LayoutItem(layout)); }

}  // namespace ndlfs::model
