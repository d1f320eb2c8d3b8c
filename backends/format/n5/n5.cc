// SPDX-License-Identifier: MIT
#include "backends/format/n5/n5.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "backends/base/checked.h"
#include "backends/base/json.h"
#include "backends/base/load_number.h"
#include "backends/codec/codec_chain.h"
#include "backends/codec/registry.h"
#include "backends/format/chunk_encoding.h"
#include "backends/format/json_attributes.h"
#include "backends/format/n5/lz4_block_stream.h"
#include "backends/format/node_cache.h"
#include "backends/format/zarr/array_metadata.h"
#include "backends/format/zarr/chunk_grid.h"
#include "backends/format/zarr/zarr_array_source.h"
#include "backends/store/caller.h"
#include "backends/store/file_name.h"
#include "backends/store/keys.h"
#include "backends/store/metadata_turn.h"
#include "model/error.h"
#include "model/path_name.h"

namespace ndlfs::backends {

namespace n5 {
namespace {

// Blocks of N5 (https://github.com/saalfeldlab/n5, "Filesystem
// specification"): a header, and then the elements, big-endian, compressed.
//
//   uint16  mode: 0 default, 1 variable length, 2 object
//   uint16  number of dimensions
//   uint32  extent of each dimension, the fastest first
//   uint32  number of elements (mode 1 only)
//
// At the edges of a dataset, blocks are cropped by some writers, and full
// blocks by others; what the header says counts.

using Shape = std::vector<uint64_t>;
using BytesToBytes = std::shared_ptr<const BytesToBytesCodec>;

enum Mode : uint16_t { kDefault = 0, kVariableLength = 1, kObject = 2 };

struct Header {
  Shape shape;  // the slowest dimension first
  size_t size;  // of the header itself
};

// Takes big-endian integers off the front.
class BigEndianReader {
 public:
  explicit BigEndianReader(ConstByteSpan bytes) : bytes_(bytes) {}
  // nullopt at the end.
  std::optional<uint32_t> Take(size_t width) {
    if (bytes_.size() < width) return std::nullopt;
    const auto value = static_cast<uint32_t>(LoadNumber(bytes_.first(width)));
    bytes_ = bytes_.subspan(width);
    return value;
  }
  size_t left() const { return bytes_.size(); }

 private:
  ConstByteSpan bytes_;
};

model::Failure CutShort(size_t size) {
  return model::Corrupt("a block of {} bytes, cut short in its header", size);
}

model::Result<Header> ParseHeader(ConstByteSpan block, size_t rank) {
  BigEndianReader reader(block);
  const auto mode = reader.Take(2);
  const auto dimensions = reader.Take(2);
  if (!mode || !dimensions) return CutShort(block.size());
  if (*mode != kDefault && *mode != kVariableLength) {
    if (*mode == kObject) return model::Unsupported("a block of mode {}, an object", *mode);
    return model::Corrupt("a block of mode {}", *mode);
  }
  if (*dimensions != rank) {
    return model::Corrupt("a block of {} dimensions in a dataset of {}", *dimensions, rank);
  }
  Header header;
  for (size_t i = 0; i < rank; ++i) {
    const auto extent = reader.Take(4);
    if (!extent) return CutShort(block.size());
    header.shape.insert(header.shape.begin(), *extent);
  }
  if (*mode == kVariableLength) {
    const auto count = reader.Take(4);
    if (!count) return CutShort(block.size());
    if (CheckedProduct(header.shape) != *count) {
      return model::Unsupported("a block of variable length, of {} elements", *count);
    }
  }
  header.size = block.size() - reader.left();
  return header;
}

// The header of a block of mode 0.
std::vector<std::byte> HeaderOf(const Shape& shape) {
  std::vector<std::byte> header;
  const auto add = [&](uint64_t value, size_t width) {
    for (size_t i = width; i-- > 0;) header.push_back(static_cast<std::byte>(value >> (8 * i)));
  };
  add(kDefault, 2);
  add(shape.size(), 2);
  for (size_t d = shape.size(); d-- > 0;) add(shape[d], 4);
  return header;
}

class N5BlockCodec final : public ArrayToBytesCodec {
 public:
  // `elements` decodes what follows the header.
  explicit N5BlockCodec(CodecChain elements) : elements_(std::move(elements)) {}

  std::string_view name() const override { return "n5 block"; }

  std::optional<uint64_t> EncodedSize(const ChunkForm&) const override { return std::nullopt; }
  uint64_t MaxEncodedSize(const ChunkForm& form) const override {
    const uint64_t header = 2 + 2 + 4 * form.shape.size() + 4;
    return std::min(kMaxViewSize, elements_.MaxEncodedSize(form.shape) + header);
  }

  model::Result<void> Decode(ConstByteSpan encoded, const ChunkForm& form,
                             ByteSpan decoded) const override {
    NDLFS_TRY(const Header header, ParseHeader(encoded, form.shape.size()));
    for (size_t dim = 0; dim < form.shape.size(); ++dim) {
      if (header.shape[dim] <= form.shape[dim]) continue;
      return model::Corrupt("a block of extent {}, the blocks of the dataset have {}",
                            header.shape[dim], form.shape[dim]);
    }
    const ConstByteSpan elements = encoded.subspan(header.size);
    Scratch scratch;
    if (header.shape == form.shape) {
      return elements_.Decode(elements, header.shape, decoded, scratch);
    }
    const size_t item = form.dtype.size();
    Bytes block(*CheckedProduct(header.shape, item));  // no more than `decoded`
    NDLFS_RETURN_IF_ERROR(elements_.Decode(elements, header.shape, block.span(), scratch));
    std::fill(decoded.begin(), decoded.end(), std::byte{0});
    CopyIntoCorner(block.span(), header.shape, form.shape, item, decoded);
    return {};
  }

 private:
  // Copies a block to where all indexes are lowest in a larger one.
  static void CopyIntoCorner(ConstByteSpan from, const Shape& from_shape, const Shape& to_shape,
                             size_t item, ByteSpan to) {
    if (from.empty()) return;
    const size_t rank = from_shape.size();
    const size_t run = rank == 0 ? item : from_shape[rank - 1] * item;
    Shape row(rank, 0);
    const std::byte* next = from.data();
    for (;;) {
      size_t position = 0;
      for (size_t dim = 0; dim < rank; ++dim) position = position * to_shape[dim] + row[dim];
      std::memcpy(to.data() + position * item, next, run);
      next += run;
      size_t dim = rank == 0 ? 0 : rank - 1;  // rows run along the last one
      for (; dim > 0; --dim) {
        if (++row[dim - 1] < from_shape[dim - 1]) break;
        row[dim - 1] = 0;
      }
      if (dim == 0) return;
    }
  }

  const CodecChain elements_;
};

// A codec of the registry that undoes a compression of N5.
model::Result<BytesToBytes> MakeRegistered(CodecDialect dialect, std::string_view name,
                                           const Json& configuration, const ChunkForm& form) {
  NDLFS_TRY(AnyCodec codec, MakeCodec({dialect, name, &configuration, &form}));
  auto* made = std::get_if<BytesToBytes>(&codec);
  if (!made) return model::Internal("{} is no bytes to bytes codec", name);
  return std::move(*made);
}

// Null for `raw`.
model::Result<BytesToBytes> MakeDecompressor(const Json& compression, const ChunkForm& form) {
  NDLFS_TRY(const Json* type, RequireMember(compression, "type"));
  const Json none = Json::object();
  constexpr auto kNumcodecs = CodecDialect::kNumcodecs;
  if (*type == "raw") return nullptr;
  if (*type == "gzip") {
    const bool zlib = compression.contains("useZlib") && compression["useZlib"] == true;
    return MakeRegistered(kNumcodecs, zlib ? "zlib" : "gzip", none, form);
  }
  if (*type == "bzip2") return MakeRegistered(kNumcodecs, "bz2", none, form);
  if (*type == "zstd") return MakeRegistered(kNumcodecs, "zstd", none, form);
  if (*type == "blosc") return MakeRegistered(kNumcodecs, "blosc", none, form);
  if (*type == "xz") return MakeRegistered(kNumcodecs, "lzma", none, form);
  if (*type == "lz4") return MakeLz4BlockStream();
  if (!type->is_string()) {
    return model::BadInput("type: expected a string, found {}", DescribeJson(*type));
  }
  return model::Unsupported("unknown compression {}",
                            model::Quote(type->get_ref<const std::string&>()));
}

// Makes the chain for the blocks of an N5 dataset from its `compression`. `block` is the
// form of a full block, with the slowest axis first.
model::Result<CodecChain> MakeBlockChain(const Json& compression, const ChunkForm& block) {
  const Json big = {{"endian", "big"}};
  NDLFS_TRY(AnyCodec bytes, MakeCodec({CodecDialect::kZarr3, "bytes", &big, &block}));
  NDLFS_TRY(BytesToBytes decompressor, MakeDecompressor(compression, block), "compression");
  std::vector<BytesToBytes> decompressors;
  if (decompressor) decompressors.push_back(std::move(decompressor));
  NDLFS_TRY(
      CodecChain elements,
      CodecChain::Make(block, {}, std::get<std::shared_ptr<const ArrayToBytesCodec>>(bytes),
                       std::move(decompressors)));
  return CodecChain::Make(block, {}, std::make_shared<const N5BlockCodec>(std::move(elements)),
                          {});
}

// The encoding of full blocks, which nearly all are, with the header in front; `stored` is
// big-endian. nullopt if only readers of N5 have words for it.
std::optional<ChunkEncoding> DescribeBlocks(const Json& compression,
                                            const model::Datatype& stored, const Shape& block) {
  const auto type = compression.is_object() ? compression.find("type") : compression.end();
  if (type == compression.end()) return std::nullopt;
  const bool is_zlib = compression.value("useZlib", Json()) == true;
  Json codecs = Json::array();
  if (*type == "gzip") {
    codecs.push_back({{"id", is_zlib ? "zlib" : "gzip"}, {"level", 6}});
  } else if (*type == "zstd") {
    codecs.push_back({{"id", "zstd"}, {"level", 3}});
  } else if (*type == "blosc") {
    codecs.push_back({{"id", "blosc"}});
    for (const char* key : {"cname", "clevel", "shuffle", "blocksize"}) {
      if (compression.contains(key)) codecs.back()[key] = compression[key];
    }
  } else {
    return std::nullopt;
  }
  auto encoding = DescribeEncoding(stored, std::move(codecs));
  if (!encoding) return std::nullopt;
  encoding->has_others = true;
  encoding->head = HeaderOf(block);
  return encoding;
}

}  // namespace
}  // namespace n5

namespace {

using model::Datatype;

constexpr std::string_view kAttributesName = "attributes.json";
constexpr uint64_t kMaxMetadataSize = uint64_t{16} << 20;
constexpr const char* kArrayDimensions = "_ARRAY_DIMENSIONS";

// Members of attributes.json that describe a dataset or the container.
constexpr std::array<std::string_view, 6> kReserved = {
    "n5", "dimensions", "blockSize", "dataType", "compression", "compressionType"};

bool IsDataset(const Json& attributes) {
  return attributes.is_object() && attributes.contains("dimensions") &&
         attributes.contains("dataType");
}

std::vector<uint64_t> Reversed(std::vector<uint64_t> axes) {
  std::reverse(axes.begin(), axes.end());
  return axes;
}

model::Result<std::vector<uint64_t>> ParseAxes(const Json& attributes, const char* key) {
  NDLFS_TRY(const Json* member, RequireMember(attributes, key));
  NDLFS_TRY(auto axes, JsonToSizes(*member), key);
  return Reversed(std::move(axes));
}

model::Result<Datatype> ParseType(const Json& attributes) {
  NDLFS_TRY(const Json* name, RequireMember(attributes, "dataType"));
  const auto type = name->is_string() ? Datatype::FromKeyword(name->get<std::string>())
                                      : std::optional<Datatype>();
  const bool known = type && (type->kind() == Datatype::Kind::kInteger ||
                              *type == Datatype::Float32() || *type == Datatype::Float64());
  if (known) return type->WithOrder(model::ByteOrder::kBig);
  return model::Unsupported("dataType: {} is not supported", DescribeJson(*name));
}

// {"type": "gzip", ...}; until version 1, the name alone.
model::Result<Json> ParseCompression(const Json& attributes) {
  const auto object = attributes.find("compression");
  if (object != attributes.end()) return *object;
  NDLFS_TRY(const Json* name, RequireMember(attributes, "compressionType"));
  return Json{{"type", *name}};
}

std::vector<model::Filter> DescribeCompression(const Json& compression) {
  std::vector<model::Filter> filters;
  if (!compression.is_object() || !compression.contains("type")) return filters;
  const Json& type = compression["type"];
  if (!type.is_string() || type == "raw") return filters;
  model::Filter filter{type.get<std::string>(), {}};
  for (const auto& [key, value] : compression.items()) {
    if (key != "type") filter.parameters.emplace_back(key, JsonToValue(value));
  }
  filters.push_back(std::move(filter));
  return filters;
}

model::Result<void> ParseData(const Json& attributes, const std::vector<uint64_t>& shape,
                              uint64_t max_chunk_size, zarr::ArrayMetadata& metadata) {
  NDLFS_TRY(const Datatype stored, ParseType(attributes));
  // An attribute of Paintera: a block has a list of labels for each element.
  const auto multiset = attributes.find("isLabelMultiset");
  if (multiset != attributes.end() && *multiset == true) {
    return model::Unsupported("isLabelMultiset: blocks of variable length");
  }
  metadata.array.type = stored;
  zarr::DescribeType(stored, metadata.array.storage);
  NDLFS_TRY(const Json compression, ParseCompression(attributes));
  metadata.array.storage.filter = DescribeCompression(compression);
  NDLFS_TRY(auto block, ParseAxes(attributes, "blockSize"));
  metadata.array.storage.chunk = block;

  zarr::ArrayLayout layout;
  layout.spec.dtype = stored.WithOrder(model::ByteOrder::kLittle);
  layout.spec.shape = shape;
  layout.keys = zarr::ChunkKeyEncoding::N5();
  NDLFS_TRY(layout.objects, zarr::MakeRegularGrid(shape, std::move(block)), "blockSize");
  layout.spec.grid = layout.objects;
  NDLFS_RETURN_IF_ERROR(zarr::LimitSizes(layout, max_chunk_size));
  NDLFS_TRY(
      layout.spec.codecs,
      n5::MakeBlockChain(compression, {layout.spec.dtype, layout.objects.max_chunk_shape()}));
  layout.encoding = n5::DescribeBlocks(compression, stored, layout.objects.max_chunk_shape());
  metadata.layout = std::make_shared<const zarr::ArrayLayout>(std::move(layout));
  return {};
}

// Without what describes a dataset.
std::vector<model::Attribute> UserAttributes(const Json& attributes, bool names_used,
                                             std::optional<model::Error>& left_out) {
  model::AttributeRoom room;
  std::vector<model::Attribute> made;
  for (const auto& [name, value] : attributes.items()) {
    if (std::find(kReserved.begin(), kReserved.end(), name) != kReserved.end()) continue;
    if (names_used && name == kArrayDimensions) continue;
    if (auto fits = TakeRoom(room, name, value); !fits) {
      if (!left_out) left_out = std::move(fits).error();
      continue;
    }
    made.push_back(MakeAttribute(name, value));
  }
  return made;
}

model::Result<zarr::ArrayMetadata> ParseDataset(const Json& attributes, uint64_t max_chunk_size,
                                                std::optional<model::Error>& left_out) {
  NDLFS_TRY(const auto shape, ParseAxes(attributes, "dimensions"));
  zarr::ArrayMetadata metadata;
  metadata.array.type = Datatype::Opaque(0, CompactJson(attributes["dataType"]));
  metadata.array.shape = zarr::MakeShape(shape);
  bool names_used = false;
  if (const auto names = attributes.find(kArrayDimensions); names != attributes.end()) {
    auto parsed = zarr::ParseDimensionNames(*names, shape.size());
    names_used = parsed.has_value();
    if (parsed) metadata.array.dimension_names = *std::move(parsed);
  }
  metadata.array.attributes = UserAttributes(attributes, names_used, left_out);
  auto data = ParseData(attributes, shape, max_chunk_size, metadata);
  if (!data) metadata.error = std::move(data).error();
  return metadata;
}

model::Failure NoSuchNode(std::string_view path) {
  return model::NotFound("no group or dataset {}", model::Quote(path));
}

class N5Hierarchy final : public Hierarchy {
 public:
  N5Hierarchy(std::shared_ptr<const Store> store, std::string name, const OpenOptions& options)
      : store_(std::move(store)), name_(std::move(name)), options_(options) {}

  std::string_view format() const override { return "N5"; }

  model::Result<std::shared_ptr<const Node>> Load(std::string_view path) const override {
    NDLFS_TRY(auto node, LoadAlone(path));
    const auto* array = std::get_if<model::Ndarray>(&node->entity);
    if (!array || array->dimension_names.empty() || path == "/") return node;
    model::Ndarray linked = *array;
    LinkDimensions(model::ParentPath(path), linked, [&](std::string_view coordinate) {
      auto found = LoadAlone(coordinate);
      return found ? *std::move(found) : nullptr;
    });
    if (linked.shape == array->shape) return node;
    auto copy = std::make_shared<Node>(*node);
    copy->entity = std::move(linked);
    return copy;
  }

  model::Result<std::vector<std::string>> List(std::string_view path) const override {
    NDLFS_RETURN_IF_ERROR(CheckPath(path));
    const auto node = LoadAlone(path);
    if (!node && node.error().code() == model::ErrorCode::kNotFound) return NoSuchNode(path);
    std::vector<std::string> names;
    if (node && !(*node)->is_group()) return names;
    NDLFS_TRY(const auto entries, store_->List(KeyOf(path)));
    for (const StoreEntry& entry : entries) {
      if (entry.is_prefix) names.push_back(entry.name);
    }
    return names;
  }

  model::Result<uint64_t> Version(std::string_view path) const override {
    NDLFS_RETURN_IF_ERROR(CheckPath(path));
    NDLFS_TRY(const auto stamp, store_->Stat(AttributesKey(path)));
    if (!stamp && !IsImplicitGroup(path)) return NoSuchNode(path);
    return HashVersions(std::array{stamp});
  }

 private:
  static std::string KeyOf(std::string_view path) { return std::string(path.substr(1)); }
  static std::string AttributesKey(std::string_view path) {
    return JoinKey(KeyOf(path), kAttributesName);
  }
  static model::Result<void> CheckPath(std::string_view path) {
    if (path == "/") return {};
    if (path.starts_with('/') && CheckKey(path.substr(1))) return {};
    return model::BadInput("{} is no path name of a node", model::Quote(path));
  }

  // "Any directory is a group"; but not those that blocks are in.
  bool IsImplicitGroup(std::string_view path) const {
    if (path == "/") return true;
    const auto entries = store_->List(KeyOf(path));
    if (!entries || entries->empty()) return false;
    for (auto parent = model::ParentPath(path);; parent = model::ParentPath(parent)) {
      const auto attributes = ReadAttributes(parent);
      if (attributes && *attributes && IsDataset(**attributes)) return false;
      if (parent == "/") return true;
    }
  }

  // nullopt where there is no such file.
  model::Result<std::optional<Json>> ReadAttributes(
      std::string_view path, std::optional<model::Error>* left_out = nullptr) const {
    const std::string key = AttributesKey(path);
    NDLFS_TRY(const auto size, store_->Size(key), store_->Describe(key));
    if (!size) return std::nullopt;
    const uint64_t needed = BytesToParseJson(*size);
    NDLFS_TRY(const auto reading, MetadataTurn::Take(MetadataTurn::ForReading(needed)));
    NDLFS_TRY(const auto bytes, store_->Read(key, kMaxMetadataSize), store_->Describe(key));
    NDLFS_TRY(const auto turn, MetadataTurn::Take(needed));
    if (!bytes) return std::nullopt;
    NDLFS_TRY(Json json, ParseAttributeObject(AsText(bytes->span()), left_out),
              store_->Describe(key));
    if (json.is_object()) return json;
    return model::Propagate(
        model::BadInput("expected an object, found {}", DescribeJson(json)).value(),
        store_->Describe(key));
  }

  model::Result<std::shared_ptr<const Node>> LoadAlone(std::string_view path) const {
    NDLFS_RETURN_IF_ERROR(CheckPath(path));
    NDLFS_TRY(const auto stamp, store_->Stat(AttributesKey(path)));
    if (!stamp && !IsImplicitGroup(path)) return NoSuchNode(path);
    const uint64_t version = HashVersions(std::array{stamp});
    if (auto node = nodes_.Find(path, version)) return node;
    const uint64_t denials = CallerScope::denials();
    std::optional<model::Error> left_out;
    NDLFS_TRY(const auto attributes, ReadAttributes(path, &left_out));
    NDLFS_TRY(Node node, Build(path, attributes.value_or(Json::object()), left_out),
              store_->Describe(AttributesKey(path)));
    if (left_out && !node.error) {
      node.error = std::move(*left_out).In(store_->Describe(AttributesKey(path)));
    }
    node.mtime_ns = stamp ? stamp->modified_ns : 0;
    if (stamp) node.files.push_back(AttributesKey(path));
    node.is_partial = CallerScope::denials() != denials;
    return nodes_.Insert(path, version, std::make_shared<const Node>(std::move(node)));
  }

  model::Result<Node> Build(std::string_view path, const Json& attributes,
                            std::optional<model::Error>& left_out) const {
    Node node;
    if (!IsDataset(attributes)) {
      model::Group group;
      group.name = model::BaseName(path);
      group.attributes = UserAttributes(attributes, false, left_out);
      node.entity = std::move(group);
      return node;
    }
    NDLFS_TRY(auto metadata, ParseDataset(attributes, options_.max_chunk_size, left_out));
    metadata.array.name = path == "/" ? name_ : std::string(model::BaseName(path));
    if (metadata.layout) {
      const std::string prefix = path == "/" ? "" : KeyOf(path) + "/";
      node.source = zarr::MakeZarrArraySource(store_, prefix, metadata.layout);
    }
    if (metadata.error) {
      node.error = std::move(*metadata.error).In(store_->Describe(AttributesKey(path)));
    }
    if (IsDimCoordName(metadata.array.name, metadata.array.dimension_names)) {
      node.entity = model::DimCoord{std::move(metadata.array)};
    } else {
      node.entity = std::move(metadata.array);
    }
    return node;
  }

  const std::shared_ptr<const Store> store_;
  const std::string name_;
  const OpenOptions options_;
  mutable NodeCache nodes_;
};

class N5 final : public Format {
 public:
  std::string_view name() const override { return "N5"; }

  DirectoryMarkers directory_markers() const override { return {{&kAttributesName, 1}}; }
  // attributes.json may be anybody's: it has to say that it is one of N5.
  model::Result<bool> ProbeDirectory(const Source& source,
                                     std::string_view path) const override {
    const auto store = source.OpenStore(std::string(path));
    NDLFS_TRY(const auto bytes, store->Read(kAttributesName, kMaxMetadataSize));
    if (!bytes) return false;
    const auto json = ParseAttributeObject(AsText(bytes->span()));
    return json && json->is_object() && (json->contains("n5") || IsDataset(*json));
  }

  model::Result<std::shared_ptr<const Hierarchy>> Open(
      std::shared_ptr<const Source> source, const std::string& path,
      const OpenOptions& options) const override {
    std::string name = StoreNameOf(path.empty() ? source->name() : path, ".n5");
    return OpenN5(source->OpenStore(path), std::move(name), options);
  }
};

}  // namespace

const Format& N5Format() {
  static const N5 format;
  return format;
}

std::shared_ptr<const Hierarchy> OpenN5(std::shared_ptr<const Store> store, std::string name,
                                        const OpenOptions& options) {
  return std::make_shared<const N5Hierarchy>(std::move(store), std::move(name), options);
}

}  // namespace ndlfs::backends
