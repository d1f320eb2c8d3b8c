// SPDX-License-Identifier: MIT
#include "backends/format/grib/grib.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "backends/base/checked.h"
#include "backends/base/load_number.h"
#include "backends/codec/grib/field_codec.h"
#include "backends/format/array_source.h"
#include "backends/format/grib/header_check.h"
#include "backends/format/grib/header_memory.h"
#include "backends/format/grib/message_index.h"
#include "backends/format/grib/plan.h"
#include "backends/format/grib/sidecar.h"
#include "backends/format/grib/sidecar_index.h"
#include "backends/format/grib/split_fields.h"
#include "backends/format/hierarchy.h"
#include "backends/format/node_cache.h"
#include "backends/format/stored_chunks.h"
#include "backends/store/file_name.h"
#include "backends/store/store.h"
#include "model/attributes.h"
#include "model/error.h"
#include "model/path_name.h"

namespace ndlfs::backends {

namespace grib {
namespace {

using model::Result;

std::shared_ptr<const ArrayToBytesCodec> CodecOf(uint32_t field) {
  GribFieldOptions options;
  options.field = field;
  return MakeGribFieldCodec(options);
}

class FieldSource final : public ArraySource, public StoredChunks {
 public:
  FieldSource(std::shared_ptr<const Store> store, ArraySpec spec,
              std::vector<PlannedField> fields, const std::function<void()>& on_lie)
      : store_(std::move(store)),
        spec_(std::move(spec)),
        fields_(std::move(fields)),
        check_(store_, fields_, on_lie) {}

  const ArraySpec& spec() const override { return spec_; }

  Result<ChunkLocation> Locate(std::span<const uint64_t> index, IndexCache&) const override {
    // Along the dimensions of the grid there is one chunk.
    uint64_t cell = 0;
    for (size_t d = 0; d < index.size(); ++d) cell = cell * spec_.grid.counts()[d] + index[d];
    const auto found = std::ranges::lower_bound(fields_, cell, {}, &PlannedField::cell);
    if (found == fields_.end() || found->cell != cell) return ChunkLocation::Absent();
    NDLFS_RETURN_IF_ERROR(check_.Check(static_cast<size_t>(found - fields_.begin())));
    if (found->field != fields_.front().field) return Generated(*found, index);
    ChunkLocation location;
    location.store = store_;
    location.pieces = {{found->offset, found->size}};
    return location;
  }

  Result<std::optional<std::vector<uint64_t>>> ListChunks(size_t most) const override {
    if (fields_.size() > most) return std::nullopt;
    std::vector<uint64_t> cells;
    for (const PlannedField& field : fields_) cells.push_back(field.cell);
    return cells;
  }

 private:
  // A field that has another place in its message than those of the other chunks.
  Result<ChunkLocation> Generated(const PlannedField& field,
                                  std::span<const uint64_t> index) const {
    ChunkLocation location;
    location.generate = [store = store_, field, shape = spec_.grid.ChunkShape(index),
                         dtype = spec_.dtype](uint64_t limit) -> Result<Bytes> {
      NDLFS_TRY(const auto message, store->Read("", field.size, {field.offset, field.size}));
      if (!message) return model::HasChanged("the file");
      const auto size = CheckedProduct(shape, dtype.size());
      if (!size || *size > limit) return model::Limit("a chunk of too many bytes");
      Bytes chunk(*size);
      NDLFS_RETURN_IF_ERROR(
          CodecOf(field.field)->Decode(message->span(), {dtype, shape}, chunk.span()));
      return chunk;
    };
    return location;
  }

  const std::shared_ptr<const Store> store_;
  const ArraySpec spec_;
  const std::vector<PlannedField> fields_;
  const HeaderCheck check_;
};

template <typename T>
std::vector<std::byte> NanElement() {
  const T nan = std::numeric_limits<T>::quiet_NaN();
  std::vector<std::byte> bytes(sizeof(T));
  std::memcpy(bytes.data(), &nan, sizeof(T));
  return bytes;
}

// The elements of `array`, a chunk for each message of the file that is the only value of
// `store`. Fails (kLimit) if a chunk is larger than `max_chunk_size`. `on_lie` is that of Plan.
Result<std::shared_ptr<const ArraySource>> MakeFieldSource(
    std::shared_ptr<const Store> store, const PlannedArray& array, uint64_t max_chunk_size,
    const std::function<void()>& on_lie) {
  const ArrayKind& kind = *array.kind;
  ArraySpec spec;
  spec.dtype = kind.is_wide ? model::Datatype::Float64() : model::Datatype::Float32();
  spec.fill = kind.is_wide ? NanElement<double>() : NanElement<float>();
  std::vector<uint64_t> chunk(kind.dims.size(), 1);
  for (size_t d = 0; d < kind.dims.size(); ++d) {
    spec.shape.push_back(kind.dims[d].size);
    if (d + kind.grid_dims >= kind.dims.size()) {
      chunk[d] = std::max<uint64_t>(kind.dims[d].size, 1);
    }
  }
  const auto all = CheckedProduct(spec.shape, spec.dtype.size());
  if (!all || *all > kMaxViewSize) return model::Limit("an array of too many elements");
  const auto size = CheckedProduct(chunk, spec.dtype.size());
  if (!size || *size > max_chunk_size) {
    return model::Limit("chunks of {} bytes; up to {} are read", size.value_or(UINT64_MAX),
                        max_chunk_size);
  }
  NDLFS_TRY(spec.grid, ChunkGrid::Regular(spec.shape, chunk, ChunkGrid::Edge::kFull));
  NDLFS_TRY(spec.codecs, CodecChain::Make({spec.dtype, chunk, spec.fill}, {},
                                          CodecOf(array.fields.front().field), {}));
  return std::make_shared<FieldSource>(std::move(store), std::move(spec), array.fields, on_lie);
}

class Attributes {
 public:
  void Text(const char* name, std::string_view text) {
    if (!text.empty()) made_.push_back(model::MakeTextAttribute(name, text));
  }
  void Integer(const char* name, int64_t value) {
    const size_t bytes = value >= INT32_MIN && value <= INT32_MAX ? 4 : 8;
    made_.push_back({name, model::Datatype::Integer(bytes, true), {}, value, {}});
  }
  void Real(std::string name, double value) {
    made_.push_back({std::move(name), model::Datatype::Float64(), {}, value, {}});
  }
  void Add(const std::vector<model::Attribute>& more) {
    made_.insert(made_.end(), more.begin(), more.end());
  }
  std::vector<model::Attribute> Take() && { return std::move(made_); }

 private:
  std::vector<model::Attribute> made_;
};

// What a coordinate is called in the group and along which dimensions.
void SetShape(const PlannedGroup& group, std::string_view group_path,
              const std::vector<GridDimension>& dims, model::Ndarray& array) {
  for (const GridDimension& dim : dims) {
    model::Dimension made{dim.size, {}};
    const auto* coordinate = group.FindCoordinate(dim.name);
    const bool is_along = coordinate != nullptr && coordinate->dims.size() == 1 &&
                          coordinate->dims[0].name == dim.name && array.name != dim.name;
    if (is_along) made.dimcoord = model::JoinPath(group_path, dim.name);
    array.shape.push_back(std::move(made));
    array.dimension_names.push_back(dim.name);
  }
}

// The keys of ecCodes that tell a parameter that has no name here.
void AddNumbers(const ParameterKey& key, Attributes& attributes) {
  if (key.edition == 1) {
    attributes.Integer("GRIB_table2Version", key.discipline);
    attributes.Integer("GRIB_indicatorOfParameter", key.number);
    return;
  }
  attributes.Integer("GRIB_discipline", key.discipline);
  attributes.Integer("GRIB_parameterCategory", key.category);
  attributes.Integer("GRIB_parameterNumber", key.number);
}

std::vector<model::Attribute> AttributesOf(const GridAxes& grid, const ArrayKind& array) {
  constexpr double kMissing = 3.4028234663852886e38;
  const Parameter& parameter = array.parameter;
  const Product& product = array.product;
  Attributes attributes;
  if (parameter.id != 0) attributes.Integer("GRIB_paramId", parameter.id);
  AddNumbers(product.parameter, attributes);
  uint64_t points = 1;
  for (const GridDimension& dim : grid.dims) points *= dim.size;
  attributes.Integer("GRIB_numberOfPoints", static_cast<int64_t>(points));
  attributes.Text("GRIB_typeOfLevel", product.level_type);
  attributes.Text("GRIB_stepType", product.step_type);
  attributes.Text("GRIB_gridType", grid.type);
  attributes.Add(grid.attributes);
  for (const auto& [key, value] : product.details) {
    attributes.Real("GRIB_" + std::string(key), value);
  }
  attributes.Real("GRIB_missingValue", kMissing);
  attributes.Text("GRIB_shortName", parameter.short_name);
  attributes.Text("GRIB_name", parameter.name);
  attributes.Text("GRIB_cfName", parameter.cf_name);
  attributes.Text("GRIB_cfVarName", parameter.variable);
  attributes.Text("GRIB_units", parameter.units);
  attributes.Text("long_name", parameter.name);
  attributes.Text("units", parameter.units);
  attributes.Text("standard_name", parameter.cf_name);
  attributes.Text("coordinates", array.coordinates);
  attributes.Text("grid_mapping", array.mapping);
  return std::move(attributes).Take();
}

// The node of `array`, called `name`, in the group at `group_path`. `group` has the coordinates
// along its dimensions.
std::shared_ptr<Node> MakeArrayNode(const Plan& plan, const PlannedGroup& group,
                                    std::string_view group_path, std::string_view name,
                                    const PlannedArray& planned,
                                    const std::shared_ptr<const Store>& store,
                                    const OpenOptions& options) {
  const ArrayKind& kind = *planned.kind;
  const auto type = kind.is_wide ? model::Datatype::Float64() : model::Datatype::Float32();
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  auto node = std::make_shared<Node>();
  if (planned.turn != 0) {
    node->notes.push_back(NoteOfTurn(planned.fields.size(), planned.turn));
  }
  node->notes.insert(node->notes.end(), kind.notes.begin(), kind.notes.end());
  model::Ndarray array;
  array.name = name;
  array.type = type;
  SetShape(group, group_path, kind.dims, array);
  array.attributes = AttributesOf(plan.grids[kind.grid], kind);
  array.attributes.push_back({"_FillValue", type, {}, kNan, {}});
  array.storage.fillvalue = kNan;
  array.storage.endian = model::ByteOrder::kBig;
  auto source = MakeFieldSource(store, planned, options.max_chunk_size, plan.on_lie);
  if (!source) {
    node->error = std::move(source).error();
  } else {
    array.storage.chunk = (*source)->spec().grid.max_chunk_shape();
    node->source = *std::move(source);
  }
  if (!kind.is_known) {
    node->source = nullptr;
    node->error = model::Unsupported("the packing of its messages is not supported").value();
  }
  node->entity = std::move(array);
  return node;
}

std::shared_ptr<Node> MakeCoordinateNode(const PlannedGroup& group, std::string_view group_path,
                                         std::string_view name,
                                         const PlannedCoordinate& coordinate) {
  auto node = std::make_shared<Node>();
  const bool is_dimcoord = coordinate.dims.size() == 1 && coordinate.dims[0].name == name;
  model::DimCoord array;
  array.name = name;
  array.type = model::Datatype::Float64();
  SetShape(group, group_path, coordinate.dims, array);
  array.attributes = coordinate.attributes;
  std::vector<uint64_t> shape;
  for (const GridDimension& dim : coordinate.dims) shape.push_back(dim.size);
  auto source = std::visit(
      [&](const auto& values) { return MakeComputedSource(std::move(shape), values); },
      coordinate.values);
  if (source) {
    node->source = *std::move(source);
  } else {
    node->error = std::move(source).error();
  }
  if (is_dimcoord) {
    node->entity = std::move(array);
  } else {
    node->entity = static_cast<const model::Ndarray&>(array);
  }
  return node;
}

}  // namespace
}  // namespace grib

namespace {

using model::Result;

constexpr std::array<std::string_view, 7> kGribExtensions = {
    ".grib", ".grib1", ".grib2", ".grb", ".grb1", ".grb2", ".gb2"};

// The samples of all mounts and commands of the process; their names have those of the sources.
grib::HeaderMemory& SharedHeaderMemory() {
  static grib::HeaderMemory memory;
  return memory;
}

class GribHierarchy final : public Hierarchy {
 public:
  GribHierarchy(std::shared_ptr<const Store> store, grib::Plan plan,
                std::vector<std::string> problems, int64_t mtime_ns, const OpenOptions& options,
                const std::string& file)
      : store_(std::move(store)),
        plan_(WatchLies(std::move(plan), file)),
        problems_(std::move(problems)),
        mtime_ns_(mtime_ns),
        options_(options) {}

  std::string_view format() const override { return "GRIB"; }

  Result<std::shared_ptr<const Node>> Load(std::string_view path) const override {
    // What was read belongs to one version of the file; a new version is opened anew.
    if (auto node = nodes_.Find(path, 0)) return node;
    auto node = Make(path);
    if (!node) return model::NotFound("there is no {}", model::Quote(path));
    node->mtime_ns = mtime_ns_;
    return nodes_.Insert(path, 0, std::move(node));
  }

  Result<std::vector<std::string>> List(std::string_view path) const override {
    const auto parts = model::SplitPath(path);
    std::vector<std::string> names;
    const auto list = [&](const auto& children) {
      for (const auto& [name, child] : children) names.push_back(name);
    };
    if (parts.empty()) {
      list(plan_.levels);
    } else if (parts.size() == 1 && FindLevel(parts[0]) != nullptr) {
      list(*FindLevel(parts[0]));
    } else if (parts.size() == 2 && FindGroup(parts[0], parts[1]) != nullptr) {
      list(FindGroup(parts[0], parts[1])->arrays);
    } else if (parts.size() != 3 || FindArray(parts) == nullptr) {
      return model::NotFound("there is no {}", model::Quote(path));
    }
    return names;
  }

  Result<uint64_t> Version(std::string_view) const override {
    NDLFS_TRY(const auto stamp, store_->Stat(""), store_->Describe(""));
    // When a sidecar lies, the store is to be opened anew, without it.
    return HashVersions(std::array{stamp}) ^ (*has_lie_ ? 1 : 0);
  }

  uint64_t held_bytes() const override { return plan_.held_bytes; }

 private:
  using Steps = std::map<std::string, grib::PlannedGroup, std::less<>>;
  using Parts = std::vector<std::string_view>;

  template <typename Map>
  static const typename Map::mapped_type* Find(const Map& map, std::string_view name) {
    const auto found = map.find(name);
    return found == map.end() ? nullptr : &found->second;
  }
  const Steps* FindLevel(std::string_view level) const { return Find(plan_.levels, level); }
  const grib::PlannedGroup* FindGroup(std::string_view level, std::string_view step) const {
    const Steps* steps = FindLevel(level);
    return steps != nullptr ? Find(*steps, step) : nullptr;
  }
  const grib::PlannedGroup::Planned* FindArray(const Parts& parts) const {
    const auto* group = FindGroup(parts[0], parts[1]);
    return group != nullptr ? Find(group->arrays, parts[2]) : nullptr;
  }

  // Null if there is nothing.
  std::shared_ptr<Node> Make(std::string_view path) const {
    const auto parts = model::SplitPath(path);
    if (parts.size() == 3) return MakeArray(path, parts);
    const bool is_there = parts.empty() ||
                          (parts.size() == 1 && FindLevel(parts[0]) != nullptr) ||
                          (parts.size() == 2 && FindGroup(parts[0], parts[1]) != nullptr);
    if (!is_there) return nullptr;
    auto node = std::make_shared<Node>();
    model::Group group;
    group.name = model::BaseName(path);
    if (parts.empty()) {
      group.attributes = plan_.attributes;
      node->error = Problems();
    }
    node->entity = std::move(group);
    return node;
  }

  std::shared_ptr<Node> MakeArray(std::string_view path, const Parts& parts) const {
    const auto* found = FindArray(parts);
    if (found == nullptr) return nullptr;
    const auto& group = *FindGroup(parts[0], parts[1]);
    const std::string_view group_path = model::ParentPath(path);
    if (const auto* coordinate = group.FindCoordinate(parts[2])) {
      return grib::MakeCoordinateNode(group, group_path, parts[2], *coordinate);
    }
    return grib::MakeArrayNode(plan_, group, group_path, parts[2],
                               std::get<grib::PlannedArray>(*found), store_, options_);
  }

  std::optional<model::Error> Problems() const {
    if (problems_.empty()) return std::nullopt;
    std::string text = problems_.front();
    if (problems_.size() > 1) {
      text +=
          fmt::format(" (and {} more, the last: {})", problems_.size() - 1, problems_.back());
    }
    return model::Corrupt("{}", text).value();
  }

  grib::Plan WatchLies(grib::Plan plan, const std::string& file) const {
    plan.on_lie = [has_lie = has_lie_, file] {
      SharedHeaderMemory().Distrust(file);
      *has_lie = true;
    };
    return plan;
  }

  const std::shared_ptr<std::atomic<bool>> has_lie_ =
      std::make_shared<std::atomic<bool>>(false);
  const std::shared_ptr<const Store> store_;
  const grib::Plan plan_;
  const std::vector<std::string> problems_;
  const int64_t mtime_ns_;
  const OpenOptions options_;
  mutable NodeCache nodes_;
};

// Whether a message begins at the beginning of `text`: section 0, and the beginning of
// section 1.
bool BeginsAsMessage(ConstByteSpan bytes) {
  const auto number = [&](size_t at, size_t count) {
    return LoadNumber(bytes.subspan(at, count));
  };
  constexpr uint64_t kLeastMessage = 32, kMostHeader = 4096;
  if (bytes.size() < 28) return false;
  const uint64_t edition = number(7, 1);
  if (edition == 1) {
    const uint64_t header = number(8, 3);
    return number(4, 3) >= kLeastMessage && header >= 28 && header <= kMostHeader;
  }
  constexpr uint64_t kMostMessage = uint64_t{1} << 48;
  const uint64_t length = number(8, 8), header = number(16, 4);
  return edition == 2 && length >= kLeastMessage && length <= kMostMessage && header >= 21 &&
         header <= kMostHeader && number(20, 1) == 1;
}

// The contents of the sidecar of a file; empty if there is none.
struct SidecarFile {
  grib::Sidecar sidecar;
  int64_t modified_ns = 0;  // 0: unknown
};
SidecarFile ReadSidecarBeside(const Source& source, const std::string& path) {
  constexpr uint64_t kMostBytes = uint64_t{64} << 20;
  std::vector<std::string> names = {path + ".idx"};
  const size_t dot = path.rfind('.');
  if (dot != path.npos && dot > path.rfind('/') + 1) {
    names.push_back(path.substr(0, dot) + ".index");
  }
  for (const std::string& name : names) {
    const auto value = source.OpenFile(name)->Get("", kMostBytes);
    if (!value || !*value) continue;
    auto sidecar = grib::ReadSidecar(AsText((*value)->bytes.span()));
    if (!sidecar.offsets.empty()) return {std::move(sidecar), (*value)->info.modified_ns};
  }
  return {};
}

class Grib final : public Format {
 public:
  std::string_view name() const override { return "GRIB"; }

  bool ProbeContent(ConstByteSpan head) const override {
    constexpr size_t kMostJunk = 1024;
    const std::string_view text = AsText(head);
    for (size_t at = text.find("GRIB"); at < kMostJunk; at = text.find("GRIB", at + 1)) {
      if (BeginsAsMessage(head.subspan(at))) return true;
    }
    return false;
  }
  bool MatchesFileName(std::string_view name) const override {
    return std::ranges::any_of(kGribExtensions, [&](std::string_view extension) {
      return HasExtension(name, extension);
    });
  }
  // The name leaves no doubt.
  bool ProbeFile(std::string_view, ConstByteSpan) const override { return true; }

  Result<std::shared_ptr<const Hierarchy>> Open(std::shared_ptr<const Source> source,
                                                const std::string& path,
                                                const OpenOptions& options) const override {
    auto store = source->OpenFile(path);
    NDLFS_TRY(const auto value, store->Get("", 0, {.range = {0, 0}}), store->Describe(""));
    if (!value) return model::NotFound("{}: the file is gone", store->Describe(""));
    const ValueInfo& info = value->info;
    const std::string file = source->identity() + "/" + path;
    NDLFS_TRY(auto index, Index(*source, path, *store, info, file), store->Describe(""));
    auto problems = std::move(index.problems);
    auto hierarchy =
        std::make_shared<GribHierarchy>(store, grib::MakePlan(std::move(index)),
                                        std::move(problems), info.modified_ns, options, file);
    return hierarchy;
  }

 private:
  static Result<grib::MessageIndex> Index(const Source& source, const std::string& path,
                                          const Store& store, const ValueInfo& info,
                                          const std::string& file) {
    // Reading headers costs little where it is no request.
    if (!source.looks_are_requests()) return grib::IndexMessages(store, {});
    const SidecarFile beside = ReadSidecarBeside(source, path);
    const bool is_stale = beside.modified_ns != 0 && beside.modified_ns < info.modified_ns;
    // Users may not learn from files that others of them read.
    if (!is_stale && !source.is_shared() && SharedHeaderMemory().Trusts(file)) {
      const std::string folder = file.substr(0, file.rfind('/'));
      NDLFS_TRY(auto index, grib::IndexBySidecar(store, info.size, beside.sidecar, folder,
                                                 SharedHeaderMemory()));
      if (index) return *std::move(index);
    }
    return grib::IndexMessages(store, {beside.sidecar.offsets});
  }
};

}  // namespace

const Format& GribFormat() {
  static const Grib format;
  return format;
}

}  // namespace ndlfs::backends
