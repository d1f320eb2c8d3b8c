// SPDX-License-Identifier: MIT
#include "backends/format/precomputed/precomputed.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "backends/base/checked.h"
#include "backends/base/json.h"
#include "backends/codec/picture/picture.h"
#include "backends/codec/registry.h"
#include "backends/format/array_source.h"
#include "backends/format/computed_source.h"
#include "backends/format/precomputed/info.h"
#include "backends/format/precomputed/segmentation_codec.h"
#include "backends/format/precomputed/shard.h"
#include "backends/store/keys.h"
#include "backends/store/store.h"
#include "model/attributes.h"
#include "model/error.h"
#include "model/path_name.h"

namespace ndlfs::backends {

namespace precomputed {
namespace {

using model::Result;

constexpr uint64_t kMostIndexBytes = uint64_t{64} << 20;

// "gzip": a member of gzip, as the specification says, or a stream of zlib, as
// neuroglancer-scripts writes it.
class GzipOrZlib final : public BytesToBytesCodec {
 public:
  GzipOrZlib(std::shared_ptr<const BytesToBytesCodec> gzip,
             std::shared_ptr<const BytesToBytesCodec> zlib)
      : gzip_(std::move(gzip)), zlib_(std::move(zlib)) {}

  std::string_view name() const override { return "gzip"; }
  SizeBound EncodedSize(uint64_t decoded_size) const override {
    return gzip_->EncodedSize(decoded_size);
  }
  Result<size_t> Decode(ConstByteSpan encoded, ByteSpan decoded) const override {
    // The method of deflate in the low bits of the first byte; gzip has 0x1F.
    const bool is_zlib = !encoded.empty() && (encoded[0] & std::byte{0x0F}) == std::byte{8};
    return (is_zlib ? zlib_ : gzip_)->Decode(encoded, decoded);
  }

 private:
  const std::shared_ptr<const BytesToBytesCodec> gzip_, zlib_;
};

Result<std::shared_ptr<const BytesToBytesCodec>> Gzip() {
  NDLFS_TRY(auto gzip, MakeBytesCodec("gzip"));
  NDLFS_TRY(auto zlib, MakeBytesCodec("zlib"));
  return std::make_shared<const GzipOrZlib>(std::move(gzip), std::move(zlib));
}

// Which chunk of a scale is meant.
Triple AtOf(std::span<const uint64_t> index) {
  const size_t rank = index.size();
  return {index[rank - 1], index[rank - 2], index[rank - 3]};
}

// Chunks that are files of their own.
class FileSource final : public ArraySource {
 public:
  FileSource(std::shared_ptr<const Store> store, const Scale& scale, ArraySpec spec)
      : store_(std::move(store)), scale_(scale), spec_(std::move(spec)) {}

  const ArraySpec& spec() const override { return spec_; }

  Result<ChunkLocation> Locate(std::span<const uint64_t> index, IndexCache&) const override {
    const Triple at = AtOf(index);
    std::string name;
    for (size_t d = 0; d < 3; ++d) {
      const auto begin = static_cast<int64_t>(at[d] * scale_.chunk[d]);
      const auto end = static_cast<int64_t>(
          std::min(at[d] * scale_.chunk[d] + scale_.chunk[d], scale_.size[d]));
      name += fmt::format("{}{}-{}", d == 0 ? "" : "_", scale_.offset[d] + begin,
                          scale_.offset[d] + end);
    }
    ChunkLocation location;
    location.store = store_;
    location.pieces = {ByteRange{}};
    location.key = JoinKey(scale_.key, name);
    // All files of a volume are written in one way, mostly.
    const std::string compressed = location.key + ".gz";
    const bool first = has_gzip_.load(std::memory_order_relaxed);
    for (const bool is_gzip : {first, !first}) {
      const std::string& key = is_gzip ? compressed : location.key;
      NDLFS_TRY(const auto info, store_->Stat(key), store_->Describe(key));
      if (!info) continue;
      has_gzip_.store(is_gzip, std::memory_order_relaxed);
      if (is_gzip) location.key = compressed;
      location.skip_codecs = is_gzip ? 0 : 1;
      return location;
    }
    location.skip_codecs = 1;
    return location;
  }

 private:
  const std::shared_ptr<const Store> store_;
  const Scale scale_;
  const ArraySpec spec_;
  mutable std::atomic<bool> has_gzip_ = false;
};

// Chunks in shards. The index of a minishard is kept with the version of the shard that it was
// read from.
class ShardSource final : public ArraySource {
 public:
  ShardSource(std::shared_ptr<const Store> store, const Scale& scale, ArraySpec spec,
              const Triple& counts, std::shared_ptr<const BytesToBytesCodec> gzip)
      : store_(std::move(store)),
        scale_(scale),
        sharding_(*scale.sharding),
        spec_(std::move(spec)),
        counts_(counts),
        gzip_(std::move(gzip)) {}

  const ArraySpec& spec() const override { return spec_; }

  Result<ChunkLocation> Locate(std::span<const uint64_t> index,
                               IndexCache& indexes) const override {
    const auto code = MortonCode(AtOf(index), counts_);
    if (!code) return model::Limit("more than 2^64 chunks");
    const ShardPlace place = PlaceOf(sharding_, *code);
    const std::string key = JoinKey(scale_.key, NameOfShard(sharding_, place.shard));
    const uint64_t slot = place.shard << sharding_.minishard_bits | place.minishard;
    NDLFS_TRY(
        const auto entry,
        indexes.GetOrLoad(id(), slot, [&] { return LoadIndex(key, place.minishard, indexes); }),
        store_->Describe(key));
    ChunkLocation location;
    location.store = store_;
    location.key = key;
    if (entry->empty()) {
      location.pieces.clear();
      return location;
    }
    const KeptIndex kept = Split(entry->span());
    location.if_match = kept.version;
    NDLFS_TRY(const auto range, FindChunk(sharding_, kept.list, *code), store_->Describe(key));
    if (range && range->length != 0) {
      NDLFS_RETURN_IF_ERROR(CheckApart(*code, *range, kept.place), store_->Describe(key));
      location.pieces = {*range};
    }
    return location;
  }

 private:
  // The index of a minishard, its version as text, its place in the shard, and the length of
  // the version; empty if there is no shard.
  Result<Bytes> LoadIndex(const std::string& key, uint64_t minishard,
                          IndexCache& indexes) const {
    NDLFS_TRY(const auto entry, store_->Get(key, 16, {.range = EntryOf(minishard)}));
    NDLFS_RETURN_IF_ERROR(
        indexes.DidRead(store_, key, entry ? std::optional(entry->info) : std::nullopt));
    if (!entry) return Bytes();
    NDLFS_TRY(const auto range, IndexRange(sharding_, entry->bytes.span()));
    Bytes list;
    if (range) {
      NDLFS_TRY(list, ReadList(key, *range, entry->info.generation));
    }
    const std::string version = entry->info.generation.ToText();
    const auto length = static_cast<uint32_t>(version.size());
    const ByteRange place = range.value_or(ByteRange{0, 0});
    Bytes made(list.size() + length + sizeof(place) + sizeof(length));
    std::byte* at = made.data();
    const auto add = [&](const void* bytes, size_t size) {
      if (size != 0) std::memcpy(at, bytes, size);
      at += size;
    };
    add(list.data(), list.size());
    add(version.data(), length);
    add(&place, sizeof(place));
    add(&length, sizeof(length));
    return made;
  }

  Result<Bytes> ReadList(const std::string& key, const ByteRange& range,
                         const Generation& generation) const {
    NDLFS_TRY(auto value,
              store_->Get(key, kMostIndexBytes, {.range = range, .if_match = generation}));
    if (!value) return model::HasChanged("the shard");
    if (value->bytes.size() != range.length) {
      return model::Corrupt("the index of a minishard, {} bytes at {}, is not in the file",
                            range.length, range.offset);
    }
    if (!sharding_.has_gzip_index) return std::move(value->bytes);
    // Nothing inflates to more than this. Memory that is not written to costs nothing.
    constexpr uint64_t kMostRatio = 1032;
    Bytes list(std::min(kMostIndexBytes, range.length * kMostRatio));
    NDLFS_TRY(const size_t count, gzip_->Decode(value->bytes.span(), list.span()),
              "index of a minishard");
    return Bytes::Copy(list.span().first(count));
  }

  struct KeptIndex {
    ConstByteSpan list;
    std::optional<Generation> version;
    ByteRange place;  // in the shard
  };
  static KeptIndex Split(ConstByteSpan entry) {
    KeptIndex kept;
    uint32_t length = 0;
    const auto take = [&](void* into, size_t size) {
      entry = entry.first(entry.size() - size);
      std::memcpy(into, entry.data() + entry.size(), size);
    };
    take(&length, sizeof(length));
    take(&kept.place, sizeof(kept.place));
    kept.version = Generation::FromText(AsText(entry.last(length)));
    kept.list = entry.first(entry.size() - length);
    return kept;
  }

  const std::shared_ptr<const Store> store_;
  const Scale scale_;
  const Sharding sharding_;
  const ArraySpec spec_;
  const Triple counts_;
  const std::shared_ptr<const BytesToBytesCodec> gzip_;
};

// The extents (channel, z, y, x), without the channel if there is one.
std::vector<uint64_t> ShapeOf(const Info& info, const Scale& scale) {
  std::vector<uint64_t> shape = {scale.size[2], scale.size[1], scale.size[0]};
  if (info.channels > 1) shape.insert(shape.begin(), info.channels);
  return shape;
}

// The array of a scale. Files may be compressed with gzip, and then end in .gz, as programs
// write them that have no server to say so.
Result<std::shared_ptr<const ArraySource>> MakeChunkSource(std::shared_ptr<const Store> store,
                                                           const Info& info, const Scale& scale,
                                                           uint64_t max_chunk_size) {
  ArraySpec spec;
  spec.dtype = info.type;
  spec.shape = ShapeOf(info, scale);
  spec.max_chunk_bytes = max_chunk_size;
  std::vector<uint64_t> chunk = {scale.chunk[2], scale.chunk[1], scale.chunk[0]};
  if (info.channels > 1) chunk.insert(chunk.begin(), info.channels);
  const auto all = CheckedProduct(spec.shape, spec.dtype.size());
  if (!all || *all > kMaxViewSize) return model::Limit("an array of too many elements");
  NDLFS_TRY(spec.grid, ChunkGrid::Regular(spec.shape, chunk, ChunkGrid::Edge::kCropped));
  chunk = spec.grid.max_chunk_shape();
  const auto size = CheckedProduct(chunk, spec.dtype.size());
  if (!size || *size > max_chunk_size) {
    return model::Limit("chunks of {} bytes; up to {} are read", size.value_or(UINT64_MAX),
                        max_chunk_size);
  }
  std::shared_ptr<const ArrayToBytesCodec> elements;
  if (scale.encoding == "raw") {
    NDLFS_TRY(elements, MakeStoredBytes(spec.dtype));
  } else if (scale.encoding == "compressed_segmentation") {
    if (info.type != model::Datatype::Integer(4, false) &&
        info.type != model::Datatype::Integer(8, false)) {
      return model::BadInput("compressed_segmentation of {}", info.type.keyword());
    }
    elements = MakeSegmentationCodec(scale.block);
  } else if (scale.encoding == "jpeg") {
    if (info.type != model::Datatype::Integer(1, false) ||
        (info.channels != 1 && info.channels != 3)) {
      return model::BadInput("jpeg of {} channels of {}", info.channels, info.type.keyword());
    }
    NDLFS_TRY(elements, MakePictureCodec({.kind = PictureKind::kJpeg},
                                         info.channels == 3 ? PictureLayout::kChannelsOfVolume
                                                            : PictureLayout::kVolume,
                                         0));
  } else {
    return model::Unsupported("encoding {} is not supported", model::Quote(scale.encoding));
  }
  NDLFS_TRY(auto gzip, Gzip());
  std::vector<std::shared_ptr<const BytesToBytesCodec>> compressors;
  if (!scale.sharding || scale.sharding->has_gzip_data) compressors.push_back(gzip);
  NDLFS_TRY(spec.codecs, CodecChain::Make({spec.dtype, chunk}, {}, std::move(elements),
                                          std::move(compressors)));
  if (!scale.sharding) {
    return std::make_shared<FileSource>(std::move(store), scale, std::move(spec));
  }
  const auto& counts = spec.grid.counts();
  const size_t rank = counts.size();
  const Triple along = {counts[rank - 1], counts[rank - 2], counts[rank - 3]};
  return std::make_shared<ShardSource>(std::move(store), scale, std::move(spec), along,
                                       std::move(gzip));
}

}  // namespace
}  // namespace precomputed

namespace {

using model::Result;

constexpr std::string_view kInfoName = "info";
constexpr uint64_t kMostBytes = uint64_t{4} << 20;

using Nodes = std::map<std::string, std::shared_ptr<Node>, std::less<>>;

// The key of a scale may be a path; its array is in the root group.
std::string NameOfScale(const precomputed::Scale& scale, const Nodes& nodes) {
  std::string name = scale.key;
  std::ranges::replace(name, '/', '_');
  while (nodes.contains(model::JoinPath("/", name))) name += "_";
  return name;
}

model::Attribute RealsOf(std::string name, const std::array<double, 3>& numbers) {
  return {std::move(name),
          model::Datatype::Float64(),
          {3},
          model::Value::List(numbers.begin(), numbers.end()),
          {}};
}

// Coordinates of the middles of voxels.
void AddCoordinates(const std::string& name, uint64_t size, double first, double step,
                    Nodes& nodes) {
  auto node = std::make_shared<Node>();
  model::DimCoord coordinates;
  coordinates.name = name;
  coordinates.type = model::Datatype::Float64();
  coordinates.shape = {{size, {}}};
  coordinates.dimension_names = {name};
  coordinates.attributes = {model::MakeTextAttribute("units", "nm")};
  node->entity = std::move(coordinates);
  auto source = MakeComputedSource(
      {size}, [first, step](uint64_t i) { return first + static_cast<double>(i) * step; });
  if (source) {
    node->source = *std::move(source);
  } else {
    node->error = std::move(source).error();
  }
  nodes.emplace(model::JoinPath("/", name), std::move(node));
}

void AddDimensions(const precomputed::Info& info, const precomputed::Scale& scale,
                   size_t number, model::Ndarray& array, Nodes& nodes) {
  if (info.channels > 1) {
    array.shape.push_back({info.channels, {}});
    array.dimension_names.emplace_back("channel");
  }
  for (size_t d = 3; d-- > 0;) {
    // Each scale has coordinates of its own.
    std::string name(1, "xyz"[d]);
    if (number > 0) name += fmt::format("_{}", number + 1);
    model::Dimension dim{scale.size[d], {}};
    const double step = scale.resolution[d];
    const bool is_free = name != array.name && !nodes.contains(model::JoinPath("/", name));
    if (std::isfinite(step) && step > 0 && is_free) {
      dim.dimcoord = model::JoinPath("/", name);
      const double first = (static_cast<double>(scale.offset[d]) + 0.5) * step;
      AddCoordinates(name, scale.size[d], first, step, nodes);
    }
    array.shape.push_back(std::move(dim));
    array.dimension_names.push_back(name);
  }
}

// Returns the name of the array.
std::string AddScale(const std::shared_ptr<const Store>& store, const precomputed::Info& info,
                     size_t number, const OpenOptions& options, Nodes& nodes) {
  const precomputed::Scale& scale = info.scales[number];
  auto node = std::make_shared<Node>();
  model::Ndarray array;
  array.name = NameOfScale(scale, nodes);
  array.type = info.type;
  AddDimensions(info, scale, number, array, nodes);
  array.attributes = {model::MakeTextAttribute("encoding", scale.encoding),
                      RealsOf("resolution", scale.resolution)};
  if (!info.kind.empty()) {
    array.attributes.push_back(model::MakeTextAttribute("type", info.kind));
  }
  array.storage.endian = model::ByteOrder::kLittle;
  auto source = precomputed::MakeChunkSource(store, info, scale, options.max_chunk_size);
  if (source) {
    array.storage.chunk = (*source)->spec().grid.max_chunk_shape();
    node->source = *std::move(source);
  } else {
    node->error = std::move(source).error();
  }
  const std::string path = model::JoinPath("/", array.name);
  std::string name = array.name;
  node->entity = std::move(array);
  nodes.emplace(path, std::move(node));
  return name;
}

// Whether no extent of `scale` is larger than that of `other`.
bool IsNoLarger(const precomputed::Scale& scale, const precomputed::Scale& other) {
  for (size_t d = 0; d < scale.size.size(); ++d) {
    if (scale.size[d] > other.size[d]) return false;
  }
  return true;
}

// A layout of GeoZarr's multiscales tells which arrays are smaller versions of which; `names`
// are those of the scales. A scale that is longer somewhere than the one before begins a chain
// of its own: its voxels have other proportions.
model::Group RootOf(const precomputed::Info& info, const std::vector<std::string>& names) {
  model::Group root;
  if (names.size() < 2) return root;
  std::vector<size_t> order(names.size());
  std::iota(order.begin(), order.end(), 0);
  const auto voxels = [&](size_t i) {
    double count = 1;
    for (const uint64_t extent : info.scales[i].size) count *= static_cast<double>(extent);
    return count;
  };
  std::ranges::stable_sort(order, std::ranges::greater(), voxels);
  Json layout = Json::array();
  std::vector<size_t> ends;  // of the chains
  for (const size_t scale : order) {
    Json level = {{"asset", names[scale]}};
    const auto before = std::ranges::find_if(
        ends, [&](size_t end) { return IsNoLarger(info.scales[scale], info.scales[end]); });
    if (before == ends.end()) {
      ends.push_back(scale);
    } else {
      level["derived_from"] = names[std::exchange(*before, scale)];
    }
    layout.push_back(std::move(level));
  }
  root.attributes.push_back(
      model::MakeTextAttribute("multiscales", Json{{"layout", layout}}.dump()));
  return root;
}

// All nodes are made of one document; if it changes, the volume is opened again.
class PrecomputedHierarchy final : public Hierarchy {
 public:
  PrecomputedHierarchy(std::shared_ptr<const Store> store, Nodes nodes)
      : store_(std::move(store)), nodes_(std::move(nodes)) {}

  std::string_view format() const override { return "Precomputed"; }

  Result<std::shared_ptr<const Node>> Load(std::string_view path) const override {
    const auto found = nodes_.find(path);
    if (found == nodes_.end()) return model::NotFound("there is no {}", model::Quote(path));
    return found->second;
  }
  Result<std::vector<std::string>> List(std::string_view path) const override {
    if (path != "/") return model::NotFound("there is no group {}", model::Quote(path));
    std::vector<std::string> names;
    for (const auto& [child, node] : nodes_) {
      if (child != "/") names.emplace_back(model::BaseName(child));
    }
    return names;
  }
  Result<uint64_t> Version(std::string_view) const override {
    NDLFS_TRY(const auto stamp, store_->Stat(kInfoName), store_->Describe(kInfoName));
    return HashVersions(std::array{stamp});
  }

 private:
  const std::shared_ptr<const Store> store_;
  const Nodes nodes_;
};

class Precomputed final : public Format {
 public:
  std::string_view name() const override { return "Precomputed"; }

  DirectoryMarkers directory_markers() const override { return {{&kInfoName, 1}}; }
  // A file of this name may be anybody's.
  Result<bool> ProbeDirectory(const Source& source, std::string_view path) const override {
    const auto store = source.OpenStore(std::string(path));
    const auto bytes = store->Read(kInfoName, kMostBytes);
    if (!bytes && bytes.error().is_transient()) return model::Propagate(bytes.error());
    return bytes && *bytes && precomputed::IsVolume(AsText((*bytes)->span()));
  }

  Result<std::shared_ptr<const Hierarchy>> Open(std::shared_ptr<const Source> source,
                                                const std::string& path,
                                                const OpenOptions& options) const override {
    const auto store = source->OpenStore(path);
    const std::string where = store->Describe(kInfoName);
    NDLFS_TRY(const auto value, store->Get(kInfoName, kMostBytes), where);
    if (!value) return model::NotFound("{}: there is no such file", where);
    NDLFS_TRY(const auto info, precomputed::ReadInfo(AsText(value->bytes.span())), where);
    Nodes nodes;
    auto root = std::make_shared<Node>();
    nodes.emplace("/", root);  // no scale has its name
    std::vector<std::string> names;
    for (size_t i = 0; i < info.scales.size(); ++i) {
      names.push_back(AddScale(store, info, i, options, nodes));
    }
    root->entity = RootOf(info, names);
    for (const auto& [name, node] : nodes) {
      node->mtime_ns = value->info.modified_ns;
      node->files = {std::string(kInfoName)};
    }
    return std::make_shared<PrecomputedHierarchy>(store, std::move(nodes));
  }
};

}  // namespace

const Format& PrecomputedFormat() {
  static const Precomputed format;
  return format;
}

}  // namespace ndlfs::backends
