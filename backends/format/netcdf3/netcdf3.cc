// SPDX-License-Identifier: MIT
#include "backends/format/netcdf3/netcdf3.h"

#include <algorithm>
#include <map>
#include <memory>
#include <set>

#include "backends/base/checked.h"
#include "backends/codec/registry.h"
#include "backends/format/array_source.h"
#include "backends/format/block_shape.h"
#include "backends/format/cfa/cfa.h"
#include "backends/format/netcdf3/header.h"
#include "backends/format/node_cache.h"
#include "backends/format/text_rule.h"
#include "backends/store/file_name.h"
#include "model/attributes.h"
#include "model/error.h"
#include "model/mutex.h"
#include "model/path_name.h"

namespace ndlfs::backends {

namespace netcdf3 {
namespace {

// Small records are read several at a time.
constexpr uint64_t kRecordBlockBytes = 64 << 10;
constexpr uint64_t kMaxRecordsPerBlock = 256;
// How many bytes of characters to read to find out how they are encoded.
constexpr uint64_t kInspectedBytes = 64 << 10;

class VariableSource final : public ArraySource {
 public:
  VariableSource(ArraySpec spec, model::Datatype stored, const Header& header,
                 const Variable& variable, std::shared_ptr<const Store> store)
      : spec_(std::move(spec)),
        stored_(std::move(stored)),
        begin_(variable.begin),
        stride_(variable.is_record ? header.record_stride : 0),
        is_contiguous_(!variable.is_record || header.record_stride == variable.bytes),
        is_written_(!header.ends_before_data),
        store_(std::move(store)) {}

  const ArraySpec& spec() const override { return spec_; }

  model::Result<ChunkLocation> Locate(std::span<const uint64_t> index,
                                      IndexCache&) const override {
    if (!is_written_) return ChunkLocation::Absent();
    ChunkLocation location;
    location.store = store_;
    if (is_contiguous_) {
      location.pieces = {RangeOfBlock(index)};
    } else {
      location.pieces = PiecesOfRecords(index);
    }
    return location;
  }

  std::optional<ContiguousRange> contiguous() const override {
    if (!is_contiguous_ || !is_written_) return std::nullopt;
    return ContiguousRange{store_, "", begin_, stored_, std::nullopt};
  }

 private:
  ByteRange RangeOfBlock(std::span<const uint64_t> index) const {
    const uint64_t first =
        FirstElement(spec_.shape, spec_.grid.max_chunk_shape(), index) * stored_.size();
    return {begin_ + first, BytesOf(spec_.grid.ChunkShape(index))};
  }

  // A block of whole records has a piece in each; a part of one record is one.
  std::vector<ByteRange> PiecesOfRecords(std::span<const uint64_t> index) const {
    const std::vector<uint64_t> shape = spec_.grid.ChunkShape(index);
    const uint64_t first_record = spec_.grid.Begin(0, index[0]);
    const uint64_t inside =
        FirstElement(std::span(spec_.shape).subspan(1),
                     std::span(spec_.grid.max_chunk_shape()).subspan(1), index.subspan(1)) *
        stored_.size();
    std::vector<ByteRange> pieces;
    for (uint64_t i = 0; i < shape[0]; ++i) {
      pieces.push_back(
          {begin_ + (first_record + i) * stride_ + inside, BytesOf(shape) / shape[0]});
    }
    return pieces;
  }

  uint64_t BytesOf(const std::vector<uint64_t>& shape) const {
    return *CheckedProduct(shape, stored_.size());  // at most the array's bytes
  }

  const ArraySpec spec_;
  const model::Datatype stored_;
  const uint64_t begin_;
  const uint64_t stride_;
  const bool is_contiguous_;
  const bool is_written_;
  const std::shared_ptr<const Store> store_;
};

std::vector<uint64_t> ChooseBlocks(const Header& header, const Variable& variable,
                                   const std::vector<uint64_t>& shape) {
  const uint64_t width = SizeOf(variable.type);
  if (!variable.is_record || header.record_stride == variable.bytes) {
    return ContiguousBlockShape(shape, width, kBlockBytes);
  }
  std::vector<uint64_t> block = {1};
  const auto rest = ContiguousBlockShape(std::span(shape).subspan(1), width, kBlockBytes);
  block.insert(block.end(), rest.begin(), rest.end());
  if (variable.bytes <= kRecordBlockBytes) {
    block[0] = std::clamp<uint64_t>(kRecordBlockBytes / std::max<uint64_t>(variable.bytes, 1),
                                    1, kMaxRecordsPerBlock);
  }
  return block;
}

// The last byte that the variable's data would take.
std::optional<uint64_t> EndOfData(const Header& header, const Variable& variable) {
  if (!variable.is_record) return CheckedAdd(variable.begin, variable.bytes);
  const auto all = CheckedMultiply(header.record_count, header.record_stride);
  return all ? CheckedAdd(variable.begin, *all) : std::nullopt;
}

model::Result<void> CheckPlace(const Header& header, const Variable& variable,
                               const std::vector<uint64_t>& shape) {
  if (CheckedProduct(shape) == uint64_t{0}) return {};
  if (variable.begin < header.header_bytes) {
    return model::Corrupt("the data begin at byte {}, inside the header of {} bytes",
                          variable.begin, header.header_bytes);
  }
  if (variable.begin >= header.file_bytes && !header.ends_before_data) {
    return model::Corrupt("the data begin at byte {}, beyond the end of the file at {}",
                          variable.begin, header.file_bytes);
  }
  return {};
}

// A character is one byte of no charset: Latin-1 if one of the first is not
// ASCII. They lie in one piece, of one record at most.
model::Result<model::Datatype> TypeOfCharacters(const Header& header, const Variable& variable,
                                                const std::vector<uint64_t>& shape,
                                                const Store& store) {
  auto type = ElementType(Type::kChar);
  if (header.ends_before_data || CheckedProduct(shape) == uint64_t{0}) return type;
  const uint64_t first = variable.is_record ? 1 : 0;
  const auto count = CheckedProduct(std::span(shape).subspan(first));
  const ByteRange beginning{variable.begin, std::min(count.value_or(0), kInspectedBytes)};
  NDLFS_TRY(const auto bytes, store.Read("", kInspectedBytes, beginning));
  TextRule rule(type);
  if (bytes) rule.Look(bytes->span());
  return rule.Apply(type);
}

// The present extents of a variable; along the record dimension the number of records.
std::vector<uint64_t> CurrentShape(const Header& header, const Variable& variable) {
  std::vector<uint64_t> shape;
  for (const uint64_t id : variable.dimensions) {
    const bool is_record = id == header.record_dimension;
    shape.push_back(is_record ? header.record_count : header.dimensions[id].size);
  }
  return shape;
}

// The data of `variable` in the value "" of `store`. Fails if the data begin inside the
// header or beyond the end of the file. netCDF-C reads zeros in the latter case, but
// nobody has written them.
model::Result<std::shared_ptr<const ArraySource>> MakeVariableSource(
    const Header& header, const Variable& variable, std::shared_ptr<const Store> store) {
  const auto end = EndOfData(header, variable);
  if (!end || *end > kMaxViewSize) return model::Limit("too many values");
  ArraySpec spec;
  spec.shape = CurrentShape(header, variable);
  NDLFS_RETURN_IF_ERROR(CheckPlace(header, variable, spec.shape));
  model::Datatype stored = ElementType(variable.type);
  if (variable.type == Type::kChar) {
    NDLFS_TRY(stored, TypeOfCharacters(header, variable, spec.shape, *store));
  }
  spec.dtype = stored.WithOrder(model::ByteOrder::kLittle);
  const std::vector<uint64_t> blocks = ChooseBlocks(header, variable, spec.shape);
  NDLFS_TRY(spec.grid, ChunkGrid::Regular(spec.shape, blocks, ChunkGrid::Edge::kCropped));
  NDLFS_TRY(spec.codecs,
            MakeZarr2Chain(nullptr, nullptr, false, stored, spec.grid.max_chunk_shape()));
  return std::make_shared<VariableSource>(std::move(spec), std::move(stored), header, variable,
                                          std::move(store));
}

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
