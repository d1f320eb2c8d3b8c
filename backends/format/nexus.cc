// SPDX-License-Identifier: MIT
#include "backends/format/nexus.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "backends/format/forwarding_hierarchy.h"
#include "backends/format/metadata_files.h"
#include "backends/format/versioned.h"
#include "model/attributes.h"
#include "model/mutex.h"
#include "model/path_name.h"

namespace ndlfs::backends {
namespace {

using model::Attribute;
using model::Result;
using NodePtr = std::shared_ptr<const Node>;

// A group with more children is not searched for plots or signals to its end.
constexpr size_t kMostNexusChildren = 64;
// Groups that are searched for plots.
constexpr size_t kMostNexusGroups = 64;
constexpr int kMostNexusLinks = 8;
constexpr size_t kMostNexusTops = 1024;

// The texts of an attribute: one, or a list. Spaces around them do not count.
std::vector<std::string> TextsOf(const Attribute* attribute) {
  std::vector<std::string> texts;
  if (attribute == nullptr) return texts;
  const auto add = [&](const model::Value& value) {
    const std::string* text = value.text();
    if (text == nullptr) return;
    const size_t begin = text->find_first_not_of(' ');
    const size_t end = text->find_last_not_of(std::string_view(" \0", 2));
    texts.push_back(begin == text->npos ? "" : text->substr(begin, end + 1 - begin));
  };
  if (const auto* list = attribute->value.list()) {
    for (const model::Value& item : *list) add(item);
  } else {
    add(attribute->value);
  }
  return texts;
}

// "[y:x]", "y,x": names in one text, as writers have put them.
std::vector<std::string> SplitAxes(std::string_view text) {
  std::vector<std::string> names;
  if (text.starts_with('[') && text.ends_with(']')) text = text.substr(1, text.size() - 2);
  while (!text.empty()) {
    const size_t end = std::min(text.find_first_of(":,"), text.size());
    std::string_view name = text.substr(0, end);
    while (name.starts_with(' ')) name.remove_prefix(1);
    while (name.ends_with(' ')) name.remove_suffix(1);
    names.emplace_back(name);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return names;
}

std::vector<std::string> AxesOf(const std::vector<Attribute>& attributes) {
  auto names = TextsOf(model::FindAttribute(attributes, "axes"));
  if (names.size() == 1) names = SplitAxes(names[0]);
  for (std::string& name : names) {
    if (name == ".") name.clear();
  }
  return names;
}

// A number that writers have put as one or as a text.
std::optional<double> NumberIn(const std::vector<Attribute>& attributes,
                               std::string_view name) {
  if (const auto number = model::NumberOf(attributes, name)) return number;
  const std::string text = model::TextOf(attributes, name);
  const bool is_digit = text.size() == 1 && text[0] >= '0' && text[0] <= '9';
  return is_digit ? std::optional<double>(text[0] - '0') : std::nullopt;
}

// The dimensions of the signal that NAME_indices says; nullopt if it is not there, or says
// what cannot be.
std::optional<std::vector<size_t>> IndicesOf(const Node& group, const std::string& name,
                                             size_t rank) {
  const auto& attributes = group.attributes();
  if (model::FindAttribute(attributes, name + "_indices") == nullptr) return std::nullopt;
  std::vector<size_t> indices;
  for (const double index : model::NumbersOf(attributes, name + "_indices")) {
    if (!(index >= 0 && index < static_cast<double>(rank))) return std::nullopt;
    indices.push_back(static_cast<size_t>(index));
  }
  if (indices.empty()) return std::nullopt;
  return indices;
}

size_t RankOf(const NodePtr& node) { return node->array().shape.size(); }
bool IsArray(const NodePtr& node) { return node != nullptr && !node->is_group(); }

std::vector<std::string> SomeNames(const NexusChildren& children) {
  auto names = children.list();
  if (!names) return {};
  if (names->size() > kMostNexusChildren) names->resize(kMostNexusChildren);
  return *std::move(names);
}

// The dimension of the signal that `axis` names, the one at `at` of `axes`; nullopt if nothing
// says which. Where NAME_indices lists several, it must list that place, too. `is_contrary`:
// the attributes contradict each other.
std::optional<size_t> PlaceOf(const Node& group, const std::string& axis,
                              std::optional<size_t> at, size_t rank, bool& is_contrary) {
  const auto& attributes = group.attributes();
  if (model::FindAttribute(attributes, axis + "_indices") == nullptr) return at;
  const auto indices = IndicesOf(group, axis, rank);
  if (indices && indices->size() == 1) return indices->front();
  const bool is_listed = indices && at && std::ranges::find(*indices, *at) != indices->end();
  is_contrary = is_contrary || !indices || (at && !is_listed);
  return is_listed ? at : std::nullopt;
}

// The names of a signal's dimensions: at the places that NAME_indices says, else one for each.
// None if that contradicts itself.
std::vector<std::string> PlaceAxes(const Node& group, const std::vector<std::string>& axes,
                                   size_t rank) {
  std::vector<std::string> placed(rank);
  bool is_contrary = false;
  for (size_t i = 0; i < axes.size(); ++i) {
    if (axes[i].empty()) continue;
    const auto at = axes.size() == rank ? std::optional(i) : std::nullopt;
    const auto place = PlaceOf(group, axes[i], at, rank, is_contrary);
    if (!place) continue;
    is_contrary = is_contrary || !placed[*place].empty();
    placed[*place] = axes[i];
  }
  if (is_contrary) placed.assign(rank, "");
  return placed;
}

void AddCompanions(const Node& group, const NexusChildren& children, NexusPlot& plot) {
  auto names = TextsOf(model::FindAttribute(group.attributes(), "auxiliary_signals"));
  names.push_back(plot.signal + "_errors");
  names.emplace_back("errors");
  for (std::string& name : names) {
    if (name.empty() || name == plot.signal) continue;
    const NodePtr node = children.load(name);
    if (IsArray(node) && RankOf(node) == plot.axes.size()) {
      plot.companions.push_back(std::move(name));
    }
  }
}

// Arrays along the dimensions of the signal: the axes themselves, and others whose NAME_indices
// say so.
void AddAlong(const Node& group, NexusPlot& plot) {
  constexpr std::string_view kEnd = "_indices";
  const size_t rank = plot.axes.size();
  for (size_t i = 0; i < rank; ++i) {
    if (plot.axes[i].empty()) continue;
    const auto indices = IndicesOf(group, plot.axes[i], rank);
    plot.along.push_back({plot.axes[i], indices.value_or(std::vector<size_t>{i})});
  }
  for (const Attribute& attribute : group.attributes()) {
    if (!attribute.name.ends_with(kEnd)) continue;
    const std::string name = attribute.name.substr(0, attribute.name.size() - kEnd.size());
    if (std::ranges::find(plot.axes, name) != plot.axes.end()) continue;
    if (auto indices = IndicesOf(group, name, rank)) {
      plot.along.push_back({name, *std::move(indices)});
    }
  }
}

// The arrays of a group of the oldest kind say which dimension, counted from 1, they are an
// axis of. One of those of a dimension may be marked as the one to use.
std::vector<std::string> OldestAxes(const NexusChildren& children,
                                    const std::vector<std::string>& names, size_t rank) {
  std::vector<std::string> axes(rank);
  for (const std::string& name : names) {
    const NodePtr node = children.load(name);
    if (!IsArray(node)) continue;
    const auto axis = NumberIn(node->attributes(), "axis");
    if (!axis || !(*axis >= 1 && *axis <= static_cast<double>(rank))) continue;
    std::string& place = axes[static_cast<size_t>(*axis) - 1];
    if (place.empty() || NumberIn(node->attributes(), "primary") == 1) place = name;
  }
  return axes;
}

// A plot whose arrays say themselves what they are.
std::optional<NexusPlot> PlotByArrays(const NexusChildren& children) {
  const auto names = SomeNames(children);
  for (const std::string& name : names) {
    const NodePtr node = children.load(name);
    if (!IsArray(node) || NumberIn(node->attributes(), "signal") != 1) continue;
    NexusPlot plot;
    plot.signal = name;
    plot.axes = AxesOf(node->attributes());
    if (plot.axes.empty()) plot.axes = OldestAxes(children, names, RankOf(node));
    if (plot.axes.size() != RankOf(node)) plot.axes.assign(RankOf(node), "");
    return plot;
  }
  return std::nullopt;
}

}  // namespace

std::string NexusClassOf(const Node& group) {
  const auto texts = TextsOf(model::FindAttribute(group.attributes(), "NX_class"));
  return texts.size() == 1 ? texts[0] : "";
}

std::optional<NexusPlot> FindNexusPlot(const Node& group, const NexusChildren& children) {
  const auto signals = TextsOf(model::FindAttribute(group.attributes(), "signal"));
  std::optional<NexusPlot> plot;
  if (signals.size() == 1 && !signals[0].empty()) {
    const NodePtr node = children.load(signals[0]);
    if (!IsArray(node)) return std::nullopt;
    auto axes = AxesOf(group.attributes());
    if (axes.empty()) axes = AxesOf(node->attributes());
    plot.emplace();
    plot->signal = signals[0];
    plot->axes = PlaceAxes(group, axes, RankOf(node));
  } else if (NexusClassOf(group) == "NXdata") {
    plot = PlotByArrays(children);
  }
  if (!plot) return std::nullopt;
  // A signal of several dimensions has no coordinates of one of them.
  if (plot->axes.size() > 1) std::ranges::replace(plot->axes, plot->signal, std::string());
  AddCompanions(group, children, *plot);
  AddAlong(group, *plot);
  return plot;
}

std::string NexusDefaultOf(const Node& group, const NexusChildren& children) {
  const std::string kind = NexusClassOf(group);
  if (kind == "NXdata") return {};
  const auto named = TextsOf(model::FindAttribute(group.attributes(), "default"));
  if (named.size() == 1 && !named[0].empty()) return named[0];
  const bool is_root =
      kind == "NXroot" || model::FindAttribute(group.attributes(), "NeXus_version") != nullptr;
  if (!is_root && kind != "NXentry" && kind != "NXsubentry") return {};
  for (std::string& name : SomeNames(children)) {
    const NodePtr node = children.load(name);
    if (node == nullptr || !node->is_group()) continue;
    const std::string below = NexusClassOf(*node);
    if (below == "NXentry" || below == "NXdata") return std::move(name);
  }
  return {};
}

namespace {

// What plots say of an array.
struct NexusDimensions {
  std::vector<std::string> names;
  // Paths of arrays of coordinates; "" where there is none.
  std::vector<std::string> coordinates;
};

// The plots of a store, and what they say of arrays.
struct NexusIndex {
  std::map<std::string, NexusDimensions, std::less<>> arrays;
  // Groups that were looked into, with their versions.
  std::vector<std::pair<std::string, uint64_t>> groups;
  bool is_of_one_file = true;  // they all have the same version
};

// Finds the plots of the entries of a store.
class NexusSearch {
 public:
  explicit NexusSearch(const Hierarchy& hierarchy) : hierarchy_(hierarchy) {}

  NexusIndex Run() && {
    VisitPlots();
    CheckLinkedAxes();
    return std::move(index_);
  }

  // Where links lead to; empty if that is outside of the store, or in a loop.
  static std::string Resolve(const Hierarchy& hierarchy, std::string path) {
    for (int i = 0; i < kMostNexusLinks; ++i) {
      const auto link = hierarchy.GetLink(path);
      if (!link) return path;
      if (link->kind == Link::Kind::kExternal) return {};
      path = link->target.starts_with('/')
                 ? link->target
                 : model::JoinPath(model::ParentPath(path), link->target);
    }
    return {};
  }

 private:
  void VisitPlots() {
    const auto root = Visit("/");
    if (root == nullptr) return;
    for (const std::string& entry : Groups("/")) {
      const NodePtr node = Visit(entry);
      if (node == nullptr) continue;
      if (NexusClassOf(*node) == "NXdata") {
        AddPlot(entry, *node);
        continue;
      }
      for (const std::string& data : Groups(entry)) {
        const NodePtr inner = Visit(data);
        if (inner != nullptr) AddPlot(data, *inner);
      }
    }
  }

  // An axis that a plot has by a link of another name is a coordinate where it lies, unless a
  // plot says something else about it.
  void CheckLinkedAxes() {
    for (const std::string& axis : linked_axes_) {
      index_.arrays.emplace(
          axis, NexusDimensions{{std::string(model::BaseName(axis))}, {std::string()}});
    }
    for (auto& [path, dimensions] : index_.arrays) {
      for (size_t d = 0; d < dimensions.names.size(); ++d) {
        std::string& axis = dimensions.coordinates[d];
        if (!axis.empty() && model::BaseName(axis) != dimensions.names[d] && !IsAxis(axis)) {
          axis.clear();
        }
      }
    }
  }
  bool IsAxis(const std::string& path) const {
    const NodePtr node = Load(path);
    if (node == nullptr) return false;
    if (std::holds_alternative<model::DimCoord>(node->entity)) return true;
    const auto found = index_.arrays.find(path);
    return IsArray(node) && node->array().dimension_names.empty() &&
           found != index_.arrays.end() &&
           IsDimCoordName(node->array().name, found->second.names);
  }

  NodePtr Load(const std::string& path) const {
    const std::string at = Resolve(hierarchy_, path);
    auto node = at.empty() ? nullptr : hierarchy_.Load(at).value_or(nullptr);
    return node != nullptr && node->error && !node->is_group() && !node->source ? nullptr
                                                                                : node;
  }

  // A group, whose version counts from now on.
  NodePtr Visit(const std::string& path) {
    if (index_.groups.size() >= kMostNexusGroups) return nullptr;
    const uint64_t version = hierarchy_.Version(path).value_or(0);
    NodePtr node = Load(path);
    if (node == nullptr || !node->is_group()) return nullptr;
    index_.groups.emplace_back(path, version);
    index_.is_of_one_file =
        index_.is_of_one_file && version == index_.groups.front().second && version != 0;
    return node;
  }

  // The paths of the entries and plots in a group.
  std::vector<std::string> Groups(const std::string& path) const {
    std::vector<std::string> found;
    for (const std::string& name : SomeNames(ChildrenOf(path))) {
      std::string child = model::JoinPath(path, name);
      if (hierarchy_.GetLink(child)) continue;
      const NodePtr node = Load(child);
      if (node == nullptr || !node->is_group()) continue;
      const std::string kind = NexusClassOf(*node);
      if (kind == "NXentry" || kind == "NXsubentry" || kind == "NXdata") {
        found.push_back(std::move(child));
      }
    }
    return found;
  }

  NexusChildren ChildrenOf(const std::string& path) const {
    return {[this, path] { return hierarchy_.List(path); },
            [this, path](std::string_view name) {
              return name.find('/') == name.npos ? Load(model::JoinPath(path, name)) : nullptr;
            }};
  }

  void AddPlot(const std::string& path, const Node& group) {
    const auto plot = FindNexusPlot(group, ChildrenOf(path));
    if (!plot) return;
    NexusDimensions whole;
    whole.names = plot->axes;
    for (const std::string& axis : plot->axes) {
      whole.coordinates.push_back(
          axis.empty() ? "" : Resolve(hierarchy_, model::JoinPath(path, axis)));
    }
    Add(model::JoinPath(path, plot->signal), whole);
    for (const std::string& name : plot->companions) Add(model::JoinPath(path, name), whole);
    for (const NexusPlot::Along& along : plot->along) {
      if (along.dimensions.size() == 1 && IsLinked(path, along.name) &&
          plot->axes[along.dimensions[0]] == along.name) {
        AddLinkedAxis(whole.coordinates[along.dimensions[0]]);
        continue;
      }
      NexusDimensions part;
      for (const size_t d : along.dimensions) {
        part.names.push_back(whole.names[d]);
        part.coordinates.push_back(whole.coordinates[d]);
      }
      Add(model::JoinPath(path, along.name), part, &plot->signal, path, along.dimensions);
    }
  }

  // The first plot of an array counts. `signal`: the array is one along its dimensions, and
  // fits only if it is as long; edges of bins are one longer.
  void Add(const std::string& path, const NexusDimensions& dimensions,
           const std::string* signal = nullptr, const std::string& group = {},
           const std::vector<size_t>& along = {}) {
    const bool says_any =
        std::ranges::any_of(dimensions.names, [](const auto& name) { return !name.empty(); });
    const std::string at = Resolve(hierarchy_, path);
    if (!says_any || at.empty()) return;
    const NodePtr node = Load(at);
    if (!IsArray(node) || RankOf(node) != dimensions.names.size()) return;
    if (signal != nullptr) {
      const NodePtr whole = Load(model::JoinPath(group, *signal));
      for (size_t i = 0; IsArray(whole) && i < along.size(); ++i) {
        if (node->array().shape[i].size != whole->array().shape[along[i]].size) return;
      }
    }
    index_.arrays.emplace(at, dimensions);
  }

  // Whether a child of a plot is a link to an array of another name.
  bool IsLinked(const std::string& plot, const std::string& name) const {
    const std::string at = Resolve(hierarchy_, model::JoinPath(plot, name));
    return !at.empty() && model::BaseName(at) != name;
  }
  void AddLinkedAxis(const std::string& path) {
    const NodePtr node = Load(path);
    if (IsArray(node) && RankOf(node) == 1) linked_axes_.push_back(path);
  }

  const Hierarchy& hierarchy_;
  NexusIndex index_;
  std::vector<std::string> linked_axes_;  // paths where they lie
};

class NexusHierarchy : public ForwardingHierarchy {
 public:
  using ForwardingHierarchy::ForwardingHierarchy;

  Result<NodePtr> Load(std::string_view path) const override {
    NDLFS_TRY(auto node, inner().Load(path));
    const bool is_top = node->is_group() && path != "/" && path.find('/', 1) == path.npos;
    if (is_top) NoteTop(std::string(path), *node);
    const auto* array = std::get_if<model::Ndarray>(&node->entity);
    if (array == nullptr || !array->dimension_names.empty() || array->shape.empty() ||
        !MayBeInPlot(path)) {
      return node;
    }
    const auto index = Index();
    const auto found = index->arrays.find(path);
    if (found == index->arrays.end()) return node;
    return WithDimensions(path, node, found->second);
  }
  // The dimensions of an array depend on groups, too.
  Result<uint64_t> Version(std::string_view path) const override {
    NDLFS_TRY(uint64_t version, inner().Version(path));
    if (!MayBeInPlot(path)) return version;
    const auto index = Index();
    if (index->is_of_one_file) return version;
    for (const auto& [group, found] : index->groups) {
      NDLFS_TRY(const uint64_t now, inner().Version(group));
      version = (version ^ now) * 0x9E3779B97F4A7C15;
    }
    return version;
  }

 private:
  // Whether the group at the top that the object is in is one of NeXus. The answer is that of
  // the first time that the group was loaded. Most callers have loaded it on their way here.
  bool MayBeInPlot(std::string_view path) const {
    const size_t end = path.find('/', 1);
    if (end == path.npos) return false;
    const std::string top(path.substr(0, end));
    {
      const model::MutexLock lock(mutex_);
      const auto found = tops_.find(top);
      if (found != tops_.end()) return found->second;
    }
    const auto group = inner().Load(top);
    if (!group) return false;
    return NoteTop(top, **group);
  }
  // Returns whether the group is one of NeXus.
  bool NoteTop(const std::string& path, const Node& top) const {
    const bool is_nexus = top.is_group() && NexusClassOf(top).starts_with("NX");
    const model::MutexLock lock(mutex_);
    if (tops_.size() < kMostNexusTops) tops_.insert_or_assign(path, is_nexus);
    return is_nexus;
  }

  std::shared_ptr<const NexusIndex> Index() const {
    std::shared_ptr<const NexusIndex> index;
    {
      const model::MutexLock lock(mutex_);
      index = index_;
    }
    if (index != nullptr && IsCurrent(*index)) return index;
    index = std::make_shared<const NexusIndex>(NexusSearch(inner()).Run());
    const model::MutexLock lock(mutex_);
    index_ = index;
    return index;
  }

  bool IsCurrent(const NexusIndex& index) const {
    for (const auto& [group, version] : index.groups) {
      if (inner().Version(group).value_or(0) != version) return false;
      if (index.is_of_one_file) break;
    }
    return !index.groups.empty();
  }

  // The same node for the same one, as long as somebody holds it.
  NodePtr WithDimensions(std::string_view path, const NodePtr& node,
                         const NexusDimensions& dimensions) const {
    const std::string key(path);
    {
      const model::MutexLock lock(mutex_);
      const auto found = made_.find(key);
      if (found != made_.end() && found->second.from.lock() == node) {
        if (auto made = found->second.made.lock()) return made;
      }
    }
    NodePtr made = Describe(path, *node, dimensions);
    const model::MutexLock lock(mutex_);
    std::erase_if(made_, [](const auto& kept) { return kept.second.made.expired(); });
    made_[key] = {node, made};
    return made;
  }

  NodePtr Describe(std::string_view path, const Node& node,
                   const NexusDimensions& dimensions) const {
    auto made = std::make_shared<Node>(node);
    model::Ndarray array = node.array();
    array.dimension_names = dimensions.names;
    if (IsDimCoordName(array.name, array.dimension_names)) {
      made->entity = model::DimCoord{std::move(array)};
      return made;
    }
    for (size_t d = 0; d < array.shape.size(); ++d) {
      const std::string& coordinate = dimensions.coordinates[d];
      if (coordinate.empty() || coordinate == path) continue;
      const auto axis = inner().Load(coordinate);
      const bool fits = axis && IsArray(*axis) && RankOf(*axis) == 1 &&
                        (*axis)->array().shape[0].size == array.shape[d].size;
      if (fits) array.shape[d].dimcoord = coordinate;
    }
    made->entity = std::move(array);
    return made;
  }

  struct Made {
    std::weak_ptr<const Node> from, made;
  };
  mutable model::Mutex mutex_;
  mutable std::shared_ptr<const NexusIndex> index_ GUARDED_BY(mutex_);
  mutable std::map<std::string, Made> made_ GUARDED_BY(mutex_);
  // Groups at the top, and whether they are of NeXus.
  mutable std::map<std::string, bool> tops_ GUARDED_BY(mutex_);
};

// The same of a hierarchy that finds its files without reading them.
class NexusOfFiles final : public NexusHierarchy, public FindsMetadataFiles {
 public:
  NexusOfFiles(std::shared_ptr<const Hierarchy> hierarchy, const FindsMetadataFiles& finds)
      : NexusHierarchy(std::move(hierarchy)), finds_(finds) {}
  Result<MetadataFiles> FindFiles(std::string_view path) const override {
    return finds_.FindFiles(path);
  }

 private:
  const FindsMetadataFiles& finds_;  // the hierarchy itself
};

}  // namespace

std::shared_ptr<const Hierarchy> WithNexus(std::shared_ptr<const Hierarchy> hierarchy) {
  // Another object has no capabilities but those that it passes on.
  if (dynamic_cast<const Versioned*>(hierarchy.get()) != nullptr) return hierarchy;
  if (const auto* finds = dynamic_cast<const FindsMetadataFiles*>(hierarchy.get())) {
    return std::make_shared<const NexusOfFiles>(std::move(hierarchy), *finds);
  }
  return std::make_shared<const NexusHierarchy>(std::move(hierarchy));
}

}  // namespace ndlfs::backends
