// SPDX-License-Identifier: MIT
#include "backends/format/ndl/sourced_objects.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <set>
#include <string_view>
#include <utility>

#include "backends/format/ndl/array_of.h"
#include "backends/format/packing.h"
#include "backends/format/read_elements.h"
#include "backends/store/cancellation.h"
#include "model/attributes.h"
#include "model/hash.h"
#include "model/path_name.h"

namespace ndlfs::backends::ndl {
namespace {

using model::Result;
using model::ValueSource;
using Kind = ValueSource::Kind;

// Path name `below` of the group at `base`.
std::string Beneath(std::string_view base, std::string_view below) {
  if (below == "/") return std::string(base);
  return base == "/" ? std::string(below) : std::string(base) + std::string(below);
}

// Gives an array of the document the type and the shape of its data, as far as it has none.
void TakeShape(const ValueSource& spec, const ArraySpec& data,
               const std::vector<std::string>& dimensions, model::Ndarray& array) {
  if (!spec.has_type) array.type = data.dtype;
  const bool is_dimcoord = array.shape.size() == 1 && array.shape[0].dimcoord.empty() &&
                           !array.dimension_names.empty() &&
                           array.dimension_names[0] == array.name;
  if (!spec.has_shape) {
    array.shape.clear();
    for (const uint64_t extent : data.shape) array.shape.push_back({extent, {}});
    const bool any = std::ranges::any_of(dimensions, [](const auto& d) { return !d.empty(); });
    if (!is_dimcoord) array.dimension_names = any ? dimensions : std::vector<std::string>();
    array.storage.shape.reset();
    array.storage.size.reset();
  }
}

void NoteStored(const std::vector<uint64_t>& shape, Node& node) {
  if (auto* dimcoord = std::get_if<model::DimCoord>(&node.entity)) {
    if (!dimcoord->size()) dimcoord->storage.size = shape.at(0);
    return;
  }
  model::Ndarray& array = ArrayOf(node);
  const bool is_unlimited = std::ranges::any_of(
      array.shape, [](const model::Dimension& dimension) { return !dimension.size; });
  if (is_unlimited) array.storage.shape = shape;
}

Result<void> CheckShape(const model::Ndarray& array, const ArraySpec& data) {
  if (array.shape.size() != data.shape.size()) {
    return model::BadInput("the document has a rank of {}, the data have {}",
                           array.shape.size(), data.shape.size());
  }
  for (size_t d = 0; d < data.shape.size(); ++d) {
    const auto& size = array.shape[d].size;
    if (!size || *size == data.shape[d]) continue;
    return model::BadInput("the document has {} along dimension {}, the data have {}", *size, d,
                           data.shape[d]);
  }
  return {};
}

// References of an object of another store, whose group `base` is the group at `group_path`
// here.
void Rebase(std::string_view base, std::string_view group_path, Node& node) {
  if (node.is_group()) return;
  for (model::Dimension& dimension : ArrayOf(node).shape) {
    if (dimension.dimcoord.empty()) continue;
    if (!model::IsBelow(dimension.dimcoord, base)) {
      dimension.dimcoord.clear();
    } else {
      const std::string below = dimension.dimcoord.substr(base == "/" ? 0 : base.size());
      dimension.dimcoord = Beneath(group_path, below);
    }
  }
}

// The path of the scalar coordinate `along` of the array `object`, which `node` is: the array
// itself, or one that its attribute `coordinates` names, in its group or around it. CF
// (section 5.7) has it stand for a dimension of one element. nullopt if there is none.
std::optional<std::string> FindScalarCoordinate(const PartStores& stores,
                                                const std::string& store_path,
                                                std::string_view object, const Node& node,
                                                std::string_view along) {
  const auto is_scalar = [](const Node& array) {
    return !array.is_group() && array.source && array.source->spec().shape.empty();
  };
  if (model::BaseName(object) == along && is_scalar(node)) return std::string(object);
  const std::string names = " " + model::TextOf(node.attributes(), "coordinates") + " ";
  if (along.empty() || names.find(fmt::format(" {} ", along)) == names.npos) {
    return std::nullopt;
  }
  for (std::string_view group = model::ParentPath(object);; group = model::ParentPath(group)) {
    std::string path = model::JoinPath(group, along);
    const auto found = stores.Load(store_path, path);
    if (found && is_scalar(**found)) return path;
    if (found || group == "/") return std::nullopt;
  }
}

// A joined scalar coordinate is the coordinate along the new dimension.
void BecomeDimCoord(Node& node) {
  model::DimCoord coordinate;
  static_cast<model::Ndarray&>(coordinate) = ArrayOf(node);
  node.entity = std::move(coordinate);
}

// The description of the first part holds for the join, except for its extent.
void DescribeJoin(const Join& join, Node& node) {
  model::Ndarray& array = ArrayOf(node);
  const std::vector<uint64_t>& shape = join.source->spec().shape;
  const auto along = static_cast<ptrdiff_t>(join.along);
  if (array.shape.size() + 1 == shape.size()) {
    array.shape.insert(array.shape.begin() + along, model::Dimension{shape[join.along], {}});
    array.dimension_names = join.dimensions;
  } else if (array.shape[join.along].size) {
    array.shape[join.along].size = shape[join.along];
  }
  array.value.reset();
  array.storage.chunk.reset();
  array.storage.filter.reset();
  if (array.storage.shape) array.storage.shape = shape;
  if (array.storage.size) array.storage.size = shape[join.along];
  NoteStored(shape, node);
}

// Attributes of `from`, an array in another store, that the document does not have; among them
// `_FillValue` where the store says it by its fill value alone.
void AddAttributesOf(const Node& from, model::Ndarray& array) {
  AddAttributes(from.attributes(), array.attributes);
  const auto fill = from.fill_is_missing ? FillValueOf(from) : std::nullopt;
  if (!fill || model::FindAttribute(array.attributes, "_FillValue") != nullptr) return;
  model::Attribute& attribute = array.attributes.emplace_back();
  attribute.name = "_FillValue";
  attribute.type = from.array().type.WithOrder(model::ByteOrder::kLittle);
  attribute.value = *fill;
}

bool IsAbsent(const model::Error& error) { return error.code() == model::ErrorCode::kNotFound; }

}  // namespace

void AddAttributes(const std::vector<model::Attribute>& of_data,
                   std::vector<model::Attribute>& attributes) {
  for (const model::Attribute& attribute : of_data) {
    if (std::ranges::find(attributes, attribute.name, &model::Attribute::name) ==
        attributes.end()) {
      attributes.push_back(attribute);
    }
  }
}

Result<void> Describe(const model::Ndarray& described, Node& node) {
  if (node.is_group()) return model::BadInput("a group, expected an array");
  model::Ndarray& array = ArrayOf(node);
  const auto in_one_order = [](const model::Datatype& type) {
    return type.WithOrder(model::ByteOrder::kLittle);
  };
  if (described.type.size() != 0 &&
      !in_one_order(described.type).SameLayout(in_one_order(array.type))) {
    return model::BadInput("the document has the type {}, the data have {}",
                           described.type.keyword(), array.type.keyword());
  }
  if (!described.shape.empty() && node.source) {
    NDLFS_RETURN_IF_ERROR(CheckShape(described, node.source->spec()));
  }
  std::vector<model::Attribute> attributes = described.attributes;
  AddAttributes(array.attributes, attributes);
  array.attributes = std::move(attributes);
  return {};
}

// How many stores a document with these sources refers to, as far as it says so.
static uint64_t CountStores(const std::vector<model::ValueSourcePtr>& sources) {
  uint64_t numbered = 0;
  std::set<std::string_view> names;
  for (const model::ValueSourcePtr& source : sources) {
    const model::FileSet& files = source->files;
    names.insert(source->stores.begin(), source->stores.end());
    if (source->kind == Kind::kStore) names.insert(source->name);
    if (source->kind != Kind::kJoin || source->flat) continue;
    if (files.form == model::FileSet::Form::kList) {
      names.insert(files.names.begin(), files.names.end());
    } else if (files.form == model::FileSet::Form::kNumbers && files.step != 0) {
      const double parts = (static_cast<double>(files.to) - static_cast<double>(files.from)) /
                           static_cast<double>(files.step);
      numbered += static_cast<uint64_t>(std::clamp(parts, 0.0, 1e6)) + 1;
    }
  }
  return numbered + names.size();
}

std::shared_ptr<const SourcedObjects> SourcedObjects::Make(
    std::shared_ptr<const PartStores> stores, const std::vector<model::ValueSourcePtr>& sources,
    const SourcedObjects* before) {
  stores->NoteParts(CountStores(sources));
  std::shared_ptr<SourcedObjects> objects(new SourcedObjects(std::move(stores)));
  for (const model::ValueSourcePtr& source : sources) objects->Add(*source, before);
  return objects;
}

void SourcedObjects::AddFile(std::string_view name) {
  const auto path = stores_->Resolve(name);
  if (!path) return;
  const auto status = stores_->source()->Stat(*path, Follow::kYes);
  const bool is_there = status && *status;
  fingerprint_ = model::CombineHash(fingerprint_, is_there ? 1 : 0);
  if (!is_there) return;
  if ((*status)->is_file()) {
    fingerprint_ = model::CombineHash(fingerprint_, (*status)->version.hash());
    return;
  }
  const auto store = stores_->Open(*path);
  if (!store) return;
  const auto version = (*store)->Version("/");
  fingerprint_ = model::CombineHash(fingerprint_, version ? *version : 0);
}

const SourcedObjects::Parts* SourcedObjects::FindParts(const ValueSource& source) const {
  const auto found = std::ranges::find_if(parts_, [&](const Parts& parts) {
    return parts.files == source.files && parts.fills_missing == source.fills_missing;
  });
  return found == parts_.end() ? nullptr : &*found;
}

void SourcedObjects::Add(const ValueSource& source, const SourcedObjects* before) {
  if (stores_->options().shared) return;
  if (source.kind == Kind::kFile || source.kind == Kind::kStore) return AddFile(source.name);
  for (const std::string& store : source.stores) AddFile(store);
  if (source.kind != Kind::kJoin) return;
  if (FindParts(source) != nullptr) return;
  // All parts of a list without gaps were there. One that is gone meanwhile is an error when it
  // is read.
  const Parts* known = before != nullptr ? before->FindParts(source) : nullptr;
  const bool holds = known != nullptr && known->set && !source.fills_missing &&
                     source.files.form != model::FileSet::Form::kGlob;
  parts_.push_back(
      {source.files, source.fills_missing,
       holds ? known->set : PartSet::Make(stores_, source.files, source.fills_missing)});
  const auto& set = parts_.back().set;
  fingerprint_ =
      model::CombineHash(fingerprint_, set ? (*set)->Fingerprint()
                                           : std::hash<std::string>()(set.error().message()));
}

Result<std::shared_ptr<const PartSet>> SourcedObjects::PartsOf(
    const ValueSource& source) const {
  if (const Parts* parts = FindParts(source)) return parts->set;
  return model::Unsupported(
      "the data are in other files; a mount for several users does not show them");
}

// --- Arrays of the document

std::shared_ptr<Node> SourcedObjects::LoadArray(std::string_view path,
                                                const Node& described) const {
  auto node = std::make_shared<Node>(described);
  if (auto loaded = LoadData(path, *node); !loaded) {
    node->source = nullptr;
    node->error = std::move(loaded).error().In("x-source");
  }
  ArrayOf(*node).source = {};
  return node;
}

Result<void> SourcedObjects::LoadData(std::string_view path, Node& node) const {
  const model::ValueSourcePtr source = ArrayOf(node).source;
  if (stores_->options().shared) {
    return model::Unsupported(
        "the data are in other files; a mount for several users does not show them");
  }
  switch (source->kind) {
    case Kind::kFile:
      return LoadFlat(*source, node);
    case Kind::kStore:
      return LoadOther(*source, path, node);
    default:
      return LoadJoin(*source, path, node);
  }
}

Result<void> SourcedObjects::LoadFlat(const ValueSource& source, Node& node) const {
  NDLFS_TRY(const std::string path, stores_->Resolve(source.name));
  model::Ndarray& array = ArrayOf(node);
  FlatLayout layout = LayoutOf(*stores_, path, *source.flat, array);
  const bool is_open = std::ranges::any_of(
      array.shape, [](const model::Dimension& dimension) { return !dimension.size; });
  if (is_open) {
    const size_t slowest = source.flat->fortran_order ? array.shape.size() - 1 : 0;
    for (size_t d = 0; d < array.shape.size(); ++d) {
      if (array.shape[d].size || d == slowest) continue;
      return model::BadInput("only the size of dimension {} may be null", slowest);
    }
    NDLFS_TRY(layout.shape[slowest], FindFlatExtent(layout), stores_->Describe(path));
  }
  NDLFS_TRY(node.source, MakeFlatSource(std::move(layout), stores_->options().max_chunk_size),
            stores_->Describe(path));
  NoteStored(node.source->spec().shape, node);
  return {};
}

Result<void> SourcedObjects::LoadOther(const ValueSource& source, std::string_view path,
                                       Node& node) const {
  NDLFS_TRY(const std::string store, stores_->Resolve(source.name));
  const std::string object = source.path.empty() ? std::string(path) : source.path;
  NDLFS_TRY(const auto other, stores_->LoadArray(store, object));
  model::Ndarray& array = ArrayOf(node);
  const PartDescription part = DescribePart(*stores_, store, object, *other);
  const ArraySpec& spec = other->source->spec();
  if (source.has_type && !(array.type == spec.dtype)) {
    return model::BadInput("the document has the type {}, {} has {}", array.type.keyword(),
                           part.label, spec.dtype.keyword());
  }
  TakeShape(source, spec, part.dimensions, array);
  NDLFS_RETURN_IF_ERROR(CheckShape(array, spec));
  AddAttributesOf(*other, array);
  node.source = other->source;
  node.error = other->error;
  NoteStored(spec.shape, node);
  return {};
}

Result<void> SourcedObjects::LoadJoin(const ValueSource& source, std::string_view path,
                                      Node& node) const {
  NDLFS_TRY(auto parts, PartsOf(source));
  model::Ndarray& array = ArrayOf(node);
  if (source.flat) {
    NDLFS_TRY(const Join join, JoinFiles(std::move(parts), source, array));
    node.source = join.source;
    NoteStored(join.source->spec().shape, node);
    return {};
  }
  const std::string object = source.path.empty() ? std::string(path) : source.path;
  NDLFS_TRY(const Join join, JoinStores(std::move(parts), object, source, &array));
  TakeShape(source, join.source->spec(), join.dimensions, array);
  AddAttributesOf(*join.first, array);
  if (join.unpacking) DescribeUnpacked(*join.unpacking, array);
  node.source = join.source;
  NoteStored(join.source->spec().shape, node);
  return {};
}

// --- Groups

Result<std::vector<SourcedObjects::Origin>> SourcedObjects::OriginsOf(
    const ValueSource& source) const {
  if (stores_->options().shared) {
    return model::Unsupported(
        "the objects are in other files; a mount for several users does not show them");
  }
  const std::string base = source.path.empty() ? "/" : source.path;
  std::vector<Origin> origins;
  if (source.kind == Kind::kStore) {
    NDLFS_TRY(std::string path, stores_->Resolve(source.name));
    origins.push_back({std::move(path), base});
  } else if (source.kind == Kind::kUnion) {
    // A store that is named again has nothing that it has not had the first time. To look into
    // it each time would take all the time there is where unions name unions.
    std::set<std::string, std::less<>> known;
    for (const std::string& name : source.stores) {
      NDLFS_TRY(std::string path, stores_->Resolve(name));
      if (known.insert(path).second) origins.push_back({std::move(path), "/"});
    }
  } else {
    NDLFS_TRY(const auto parts, PartsOf(source));
    NDLFS_TRY(const size_t first, parts->First());
    origins.push_back({parts->path(first), base});
  }
  return origins;
}

Result<std::shared_ptr<Node>> SourcedObjects::LoadBelow(const ValueSource& source,
                                                        std::string_view group_path,
                                                        std::string_view below) const {
  NDLFS_TRY(const auto origins, OriginsOf(source));
  NDLFS_TRY(auto node, LoadOfUnion(origins, below));
  const Origin& origin = origins.front();
  if (source.kind == Kind::kJoin && !node->is_group() && !node->error) {
    if (auto joined = JoinNode(source, origin, below, *node); !joined) {
      node->source = nullptr;
      node->error = std::move(joined).error().In("x-source");
    }
  }
  Rebase(origin.base, group_path, *node);
  return node;
}

// An object that several stores have must be the same in all of them.
Result<std::shared_ptr<Node>> SourcedObjects::LoadOfUnion(const std::vector<Origin>& origins,
                                                          std::string_view below) const {
  std::shared_ptr<Node> found;
  PartDescription first;
  for (const Origin& origin : origins) {
    const std::string object = Beneath(origin.base, below);
    auto node = stores_->Load(origin.path, object);
    if (!node && IsAbsent(node.error()) && origins.size() > 1) continue;
    if (!node) return model::Propagate(std::move(node).error());
    const bool is_array = !(*node)->is_group();
    PartDescription part;
    if (is_array) part = DescribePart(*stores_, origin.path, object, **node);
    if (!found) {
      found = std::make_shared<Node>(**node);
      first = std::move(part);
      continue;
    }
    if (!is_array && found->is_group()) {
      if (!found->error) found->error = (*node)->error;
      continue;
    }
    std::optional<std::string> difference = "one is a group, the other an array";
    if (is_array && !found->is_group()) difference = FindDifference(first, part, {});
    if (!difference && found->source && (*node)->source) {
      difference =
          FindElementDifference(first.label, *found->source, part.label, *(*node)->source, 0);
    }
    if (difference) {
      found->source = nullptr;
      found->error = model::Corrupt("two stores of the union differ: {}", *difference).value();
      return found;
    }
  }
  if (!found) return model::NotFound("no {}", model::Quote(below));
  return found;
}

// Arrays with the dimension are joined, the others have to be the same in all parts.
Result<void> SourcedObjects::JoinNode(const ValueSource& source, const Origin& origin,
                                      std::string_view below, Node& node) const {
  if (!node.source) return {};
  NDLFS_TRY(const auto parts, PartsOf(source));
  const std::string object = Beneath(origin.base, below);
  const PartDescription first = DescribePart(*stores_, origin.path, object, node);
  const auto* along = std::get_if<std::string>(&source.along);
  const bool has_dimension =
      along != nullptr && std::ranges::find(first.dimensions, *along) != first.dimensions.end();
  std::optional<std::string> scalar;
  if (along != nullptr && !has_dimension) {
    scalar = FindScalarCoordinate(*stores_, origin.path, object, node, *along);
  }
  if (has_dimension || scalar) {
    ValueSource spec = source;
    spec.has_type = spec.has_shape = false;
    NDLFS_TRY(const Join join, JoinStores(parts, object, spec, nullptr));
    node.source = join.source;
    DescribeJoin(join, node);
    if (join.unpacking) DescribeUnpacked(*join.unpacking, ArrayOf(node));
    if (!scalar) return {};
    if (*scalar == object) {
      BecomeDimCoord(node);
    } else {
      ArrayOf(node).shape[join.along].dimcoord = *scalar;
    }
    return {};
  }
  return parts->CheckSame(object, first, *node.source, source.tolerance,
                          source.sizes.empty() || parts->size() <= 100);
}

Result<std::vector<std::string>> SourcedObjects::ListBelow(const ValueSource& source,
                                                           std::string_view below) const {
  NDLFS_TRY(const auto origins, OriginsOf(source));
  std::vector<std::string> names;
  bool found = false;
  for (const Origin& origin : origins) {
    NDLFS_RETURN_IF_ERROR(CancellationScope::Check());
    NDLFS_TRY(const auto store, stores_->Open(origin.path));
    auto listed = store->List(Beneath(origin.base, below));
    if (!listed && IsAbsent(listed.error()) && origins.size() > 1) continue;
    if (!listed)
      return model::Propagate(std::move(listed).error(), stores_->Describe(origin.path));
    found = true;
    names.insert(names.end(), listed->begin(), listed->end());
  }
  if (!found) return model::NotFound("no {}", model::Quote(below));
  std::ranges::sort(names);
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

}  // namespace ndlfs::backends::ndl
