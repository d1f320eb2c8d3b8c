// SPDX-License-Identifier: MIT
#include "backends/format/precomputed/precomputed.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "backends/base/json.h"
#include "backends/format/computed_source.h"
#include "backends/format/precomputed/chunk_source.h"
#include "backends/format/precomputed/info.h"
#include "model/attributes.h"
#include "model/path_name.h"

namespace ndlfs::backends {
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
