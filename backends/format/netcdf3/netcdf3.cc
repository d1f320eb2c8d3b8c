// SPDX-License-Identifier: MIT
#include "backends/format/netcdf3/netcdf3.h"

#include <algorithm>
#include <map>
#include <set>

#include "backends/format/cfa/cfa.h"
#include "backends/format/netcdf3/header.h"
#include "backends/format/netcdf3/variable_source.h"
#include "backends/format/node_cache.h"
#include "backends/store/file_name.h"
#include "model/attributes.h"
#include "model/mutex.h"
#include "model/path_name.h"

namespace ndlfs::backends {
namespace netcdf3 {
namespace {

// Text may have been written with the NUL that ends a C string.
model::Attribute TextAttribute(const Attribute& attribute) {
  std::string_view text = attribute.values;
  text = text.substr(0, text.find_last_not_of('\0') + 1);  // npos + 1 is 0
  return model::MakeTextAttribute(attribute.name, text);
}

model::Result<model::Value> DecodeValue(const Attribute& attribute, uint64_t index) {
  const uint64_t size = SizeOf(attribute.type);
  return model::DecodeElement(ElementType(attribute.type),
                              AsBytes(attribute.values).subspan(index * size, size));
}

// One value is a scalar, any other number a list.
model::Result<model::Attribute> MakeAttribute(const Attribute& attribute) {
  if (attribute.type == Type::kChar) return TextAttribute(attribute);
  model::Attribute made;
  made.name = attribute.name;
  made.type = ElementType(attribute.type);
  if (attribute.count == 1) {
    NDLFS_TRY(made.value, DecodeValue(attribute, 0));
    return made;
  }
  model::Value::List values;
  for (uint64_t i = 0; i < attribute.count; ++i) {
    NDLFS_TRY(auto value, DecodeValue(attribute, i));
    values.push_back(std::move(value));
  }
  made.shape = {attribute.count};
  made.value = std::move(values);
  return made;
}

model::Error MoreThanOne(std::string_view what, std::string_view name) {
  return model::BadInput("more than one {} {}: the first is shown", what, model::Quote(name))
      .value();
}

// Attributes that cannot be shown are left out; `error` says why.
std::vector<model::Attribute> MakeAttributes(const std::vector<Attribute>& attributes,
                                             std::optional<model::Error>& error) {
  std::vector<model::Attribute> made;
  std::set<std::string_view> names;
  model::AttributeRoom room;
  for (const Attribute& attribute : attributes) {
    if (auto fits = TakeRoom(room, attribute); !fits) {
      error = std::move(fits).error();
      continue;
    }
    if (!names.insert(attribute.name).second) {
      error = MoreThanOne("attribute", attribute.name);
      continue;
    }
    auto one = MakeAttribute(attribute);
    if (one) {
      made.push_back(*std::move(one));
    } else {
      error = std::move(one).error();
    }
  }
  return made;
}

// A file as it was at one time.
class Snapshot {
 public:
  static model::Result<std::shared_ptr<const Snapshot>> Read(std::shared_ptr<const Store> store,
                                                             const ValueInfo& stamp) {
    auto snapshot = std::make_shared<Snapshot>();
    NDLFS_TRY(snapshot->header_, ReadHeader(*store, ""), store->Describe(""));
    snapshot->store_ = std::move(store);
    snapshot->stamp_ = stamp;
    const auto& variables = snapshot->header_.variables;
    for (size_t i = 0; i < variables.size(); ++i) {
      if (!snapshot->by_name_.emplace(variables[i].name, i).second) {
        snapshot->duplicate_ = variables[i].name;
      }
    }
    return snapshot;
  }

  const ValueInfo& stamp() const { return stamp_; }
  // Small variables take more memory than they have bytes in the header.
  uint64_t held_bytes() const { return 8 * header_.header_bytes; }
  const Header& header() const { return header_; }

  std::vector<std::string> Names() const {
    std::vector<std::string> names;
    for (const auto& [name, index] : by_name_) names.emplace_back(name);
    return names;
  }

  std::shared_ptr<const Node> LoadRoot() const {
    auto node = std::make_shared<Node>();
    model::Group group;
    group.attributes = MakeAttributes(header_.attributes, node->error);
    group.dimensions = DimensionsWithoutCoordinates();
    if (duplicate_) {
      node->error = MoreThanOne("variable", *duplicate_);
    }
    if (header_.cut_names != 0) {
      node->notes.push_back(fmt::format(
          "{} names hold a NUL and are read as far as that, as netCDF-C does; the first is {}. "
          "The format has names without NULs",
          header_.cut_names, model::Quote(header_.first_cut_name)));
    }
    node->entity = std::move(group);
    node->mtime_ns = stamp_.modified_ns;
    return node;
  }

  model::Result<std::shared_ptr<const Node>> LoadVariable(std::string_view name) const {
    const auto found = by_name_.find(name);
    if (found == by_name_.end()) return model::NotFound("no variable {}", model::Quote(name));
    const Variable& variable = header_.variables[found->second];
    auto node = std::make_shared<Node>();
    node->mtime_ns = stamp_.modified_ns;
    model::Ndarray array = Describe(variable);
    array.attributes = MakeAttributes(variable.attributes, node->error);
    auto source = MakeVariableSource(header_, variable, store_);
    if (source) {
      node->source = *std::move(source);
      DescribeText(node->source->spec().dtype, array);
    } else {
      node->error = std::move(source).error();
    }
    if (IsDimCoord(variable)) {
      model::DimCoord dimcoord{std::move(array)};
      dimcoord.storage.size = CurrentShape(header_, variable).front();
      dimcoord.storage.shape.reset();
      node->entity = std::move(dimcoord);
    } else {
      node->entity = std::move(array);
    }
    return node;
  }

 private:
  bool IsDimCoord(const Variable& variable) const {
    return variable.dimensions.size() == 1 &&
           header_.dimensions[variable.dimensions[0]].name == variable.name;
  }

  // Whether a variable has the coordinates of the dimension. If two dimensions have the same
  // name, only the one that the variable has.
  bool HasCoordinate(uint64_t id) const {
    const auto variable = by_name_.find(header_.dimensions[id].name);
    return variable != by_name_.end() && IsDimCoord(header_.variables[variable->second]) &&
           header_.variables[variable->second].dimensions[0] == id;
  }

  std::vector<model::NamedDimension> DimensionsWithoutCoordinates() const {
    std::vector<model::NamedDimension> dimensions;
    std::set<std::string_view> names;
    for (size_t id = 0; id < header_.dimensions.size(); ++id) {
      const Dimension& dimension = header_.dimensions[id];
      if (HasCoordinate(id) || !names.insert(dimension.name).second) continue;
      const bool is_record = id == header_.record_dimension;
      dimensions.push_back(
          {dimension.name, is_record ? std::nullopt : std::optional(dimension.size)});
    }
    return dimensions;
  }

  model::Ndarray Describe(const Variable& variable) const {
    model::Ndarray array;
    array.name = variable.name;
    array.type = ElementType(variable.type);
    array.shape = ShapeOf(variable);
    for (const uint64_t id : variable.dimensions) {
      array.dimension_names.push_back(header_.dimensions[id].name);
    }
    if (variable.is_record) array.storage.shape = CurrentShape(header_, variable);
    if (array.type.size() > 1) array.storage.endian = model::ByteOrder::kBig;
    if (variable.type == Type::kChar) array.storage.charset = "ascii";
    array.storage.fillvalue = FillValue(variable);
    return array;
  }

  // Describes text by facts about its characters that only the data tell.
  static void DescribeText(const model::Datatype& type, model::Ndarray& array) {
    if (type.kind() != model::Datatype::Kind::kString) return;
    if (type.charset() != model::Charset::kLatin1) return;
    array.type = type;
    array.storage.charset = "iso-8859-1";
  }

  model::Shape ShapeOf(const Variable& variable) const {
    model::Shape shape;
    const bool is_dimcoord = IsDimCoord(variable);
    for (const uint64_t id : variable.dimensions) {
      const Dimension& dimension = header_.dimensions[id];
      model::Dimension made;
      if (id != header_.record_dimension) made.size = dimension.size;
      if (!is_dimcoord && HasCoordinate(id)) {
        made.dimcoord = model::JoinPath("/", dimension.name);
      }
      shape.push_back(std::move(made));
    }
    return shape;
  }

  // NUG, "_FillValue": one value of the variable's own type.
  static std::optional<model::Value> FillValue(const Variable& variable) {
    for (const Attribute& attribute : variable.attributes) {
      if (attribute.name != "_FillValue" || attribute.type != variable.type) continue;
      if (attribute.count != 1) continue;
      if (auto value = DecodeValue(attribute, 0)) return *std::move(value);
    }
    return std::nullopt;
  }

  std::shared_ptr<const Store> store_;
  ValueInfo stamp_;
  Header header_;
  std::map<std::string, size_t, std::less<>> by_name_;
  std::optional<std::string> duplicate_;
};

class NetCdf3Hierarchy final : public Hierarchy {
 public:
  explicit NetCdf3Hierarchy(StoreMaker make_store) : make_store_(std::move(make_store)) {}

  std::string_view format() const override { return "netCDF classic"; }

  model::Result<std::shared_ptr<const Node>> Load(std::string_view path) const override {
    NDLFS_TRY(const auto snapshot, Current());
    const std::optional<ValueInfo> stamp = snapshot->stamp();
    const uint64_t version = HashVersions(std::span(&stamp, 1));
    if (auto node = nodes_.Find(path, version)) return node;
    NDLFS_TRY(auto node, LoadFrom(*snapshot, path));
    return nodes_.Insert(path, version, std::move(node));
  }

  model::Result<std::vector<std::string>> List(std::string_view path) const override {
    NDLFS_TRY(const auto snapshot, Current());
    if (path != "/") return model::NotFound("no group {}", model::Quote(path));
    return snapshot->Names();
  }

  model::Result<uint64_t> Version(std::string_view) const override {
    NDLFS_TRY(const auto stamp, make_store_()->Stat(""));
    return HashVersions(std::span(&stamp, 1));
  }

  uint64_t held_bytes() const override {
    const model::MutexLock lock(mutex_);
    return snapshot_ ? snapshot_->held_bytes() : 0;
  }

  static model::Result<std::shared_ptr<const Node>> LoadFrom(const Snapshot& snapshot,
                                                             std::string_view path) {
    if (path == "/") return snapshot.LoadRoot();
    // There are no groups below the root: what follows the first slash is one
    // name, even if old files have another slash in it.
    return snapshot.LoadVariable(path.substr(path.starts_with('/') ? 1 : 0));
  }

  // The header as it is in the file now.
  model::Result<std::shared_ptr<const Snapshot>> Current() const {
    auto store = make_store_();
    NDLFS_TRY(const auto stamp, store->Stat(""));
    if (!stamp) return model::NotFound("the file is gone");
    const model::MutexLock lock(mutex_);
    if (!snapshot_ || snapshot_->stamp() != *stamp) {
      NDLFS_TRY(snapshot_, Snapshot::Read(std::move(store), *stamp));
    }
    return snapshot_;
  }

 private:
  const StoreMaker make_store_;
  mutable NodeCache nodes_;
  mutable model::Mutex mutex_;
  mutable std::shared_ptr<const Snapshot> snapshot_ GUARDED_BY(mutex_);
};

}  // namespace

model::Result<std::shared_ptr<const Hierarchy>> Open(StoreMaker make_store) {
  auto hierarchy = std::make_shared<NetCdf3Hierarchy>(std::move(make_store));
  NDLFS_RETURN_IF_ERROR(hierarchy->Current());
  return hierarchy;
}

}  // namespace netcdf3

namespace {

// The magic number, with a list of dimensions, or the absence of one, behind
// the number of records.
bool BeginsAsNetCdf3(ConstByteSpan head) {
  constexpr std::string_view kDimensions("\0\0\0\x0a", 4);
  constexpr std::string_view kAbsent("\0\0\0\0", 4);
  const std::string_view text = AsText(head);
  if (!text.starts_with("CDF") || text.size() < 16) return false;
  const char version = text[3];
  if (version != 1 && version != 2 && version != 5) return false;
  const std::string_view tag = text.substr(version == 5 ? 12 : 8, 4);
  return tag == kDimensions || tag == kAbsent;
}

class NetCdf3FormatImpl final : public Format {
 public:
  std::string_view name() const override { return "netCDF classic"; }

  bool ProbeContent(ConstByteSpan head) const override { return BeginsAsNetCdf3(head); }
  bool MatchesFileName(std::string_view name) const override {
    constexpr std::string_view kExtensions[] = {".nc",  ".nc1",    ".nc2", ".nc3", ".nc4",
                                                ".nc5", ".netcdf", ".cdf", ".grd"};
    return std::any_of(
        std::begin(kExtensions), std::end(kExtensions),
        [&](std::string_view extension) { return HasExtension(name, extension); });
  }

  bool ProbeFile(std::string_view, ConstByteSpan head) const override {
    return AsText(head).starts_with("CDF");
  }

  model::Result<std::shared_ptr<const Hierarchy>> Open(
      std::shared_ptr<const Source> source, const std::string& path,
      const OpenOptions& options) const override {
    NDLFS_TRY(auto file, netcdf3::Open([source, path] { return source->OpenFile(path); }));
    return cfa::WithAggregations(std::move(file), std::move(source), path, options);
  }
};

}  // namespace

const Format& NetCdf3Format() {
  static const NetCdf3FormatImpl format;
  return format;
}

}  // namespace ndlfs::backends
