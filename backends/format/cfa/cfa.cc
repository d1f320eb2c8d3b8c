// SPDX-License-Identifier: MIT
#include "backends/format/cfa/cfa.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "backends/format/block_shape.h"
#include "backends/format/cfa/aggregation.h"
#include "backends/format/forwarding_hierarchy.h"
#include "backends/format/hierarchy.h"
#include "backends/format/ndl/join_source.h"
#include "backends/format/ndl/part_description.h"
#include "backends/format/ndl/part_set.h"
#include "backends/format/ndl/part_stores.h"
#include "backends/format/ndl/unpacking.h"
#include "backends/format/node_cache.h"
#include "backends/store/answer_age.h"
#include "backends/store/read_set.h"
#include "model/attributes.h"
#include "model/error.h"
#include "model/mutex.h"
#include "model/path_name.h"

namespace ndlfs::backends::cfa {
namespace {

using model::Result;
using ndl::PartDescription;

using SourcePtr = std::shared_ptr<const ArraySource>;
using Place = std::vector<size_t>;  // of a fragment: a number along each dimension

// Puts the element `fill` in the place of each NaN that another converter makes.
template <typename T>
class NanFiller final : public ElementConverter {
 public:
  NanFiller(std::shared_ptr<const ElementConverter> inner, T fill)
      : ElementConverter(inner->from_size(), sizeof(T)),
        inner_(std::move(inner)),
        fill_(fill) {}

  Result<void> Convert(ConstByteSpan from, ByteSpan to) const override {
    NDLFS_RETURN_IF_ERROR(inner_->Convert(from, to));
    for (size_t at = 0; at < to.size(); at += sizeof(T)) {
      T value;
      std::memcpy(&value, to.data() + at, sizeof(T));
      if (std::isnan(value)) std::memcpy(to.data() + at, &fill_, sizeof(T));
    }
    return {};
  }

 private:
  const std::shared_ptr<const ElementConverter> inner_;
  const T fill_;
};

// The same converter, if the variable has no _FillValue, or none of this size.
template <typename T>
std::shared_ptr<const ElementConverter> WithFill(std::shared_ptr<const ElementConverter> inner,
                                                 const Node& variable) {
  const std::vector<std::byte> element = ndl::FillOfMissing(variable);
  const bool has_fill = model::FindAttribute(variable.attributes(), "_FillValue") != nullptr;
  if (!inner || !has_fill || element.size() != sizeof(T)) return inner;
  T fill;
  std::memcpy(&fill, element.data(), sizeof(T));
  return std::make_shared<NanFiller<T>>(std::move(inner), fill);
}

// A join has one dimension. So the array is a join along its first dimension, whose parts are
// joins along the next one, and so on.
class Fragments : public std::enable_shared_from_this<Fragments> {
 public:
  Fragments(std::shared_ptr<const Hierarchy> file, std::shared_ptr<const ndl::PartSet> files,
            std::shared_ptr<const Node> variable, Aggregation aggregation)
      : file_(std::move(file)),
        files_(std::move(files)),
        variable_(std::move(variable)),
        aggregation_(std::move(aggregation)) {}

  Result<SourcePtr> Join(const std::string& label) {
    expected_ = ndl::DescribePart(files_->stores(), "", "", *variable_);
    expected_.label = label;
    const ArraySpec& spec = variable_->source->spec();
    if (!spec.shape.empty()) {
      return model::BadInput("expected a scalar, because the variable has aggregated data");
    }
    for (const auto& sizes : aggregation_.sizes) {
      NDLFS_TRY(bounds_.emplace_back(), ndl::JoinBounds(sizes));
    }
    const auto first = std::ranges::find_if(aggregation_.fragments,
                                            [](const auto& f) { return !f.address.empty(); });
    if (first == aggregation_.fragments.end()) {
      if (rank() == 0) {
        return model::Unsupported("a scalar without a fragment is not supported");
      }
      chunk_ = ContiguousBlockShape(Extents({}), spec.dtype.size(), kBlockBytes);
    } else {
      NDLFS_TRY(const JoinedPart part,
                Open(PlaceOf(static_cast<size_t>(first - aggregation_.fragments.begin()))));
      if (rank() == 0 && !part.converter) return part.source;
      if (rank() == 0) {
        return model::Unsupported("{}: packed scalars are not supported", part.name);
      }
      chunk_ = part.source->spec().grid.max_chunk_shape();
      is_plain_ = part.source->contiguous().has_value() && !part.converter;
    }
    return Along({}, 0);
  }

 private:
  size_t rank() const { return aggregation_.dimensions.size(); }
  size_t CountOf(size_t d) const { return aggregation_.sizes[d].size(); }

  Place PlaceOf(size_t number) const {
    Place place(rank());
    for (size_t d = rank(); d-- > 0; number /= CountOf(d)) place[d] = number % CountOf(d);
    return place;
  }

  // The shape of the fragments that begin their places with `place`.
  std::vector<uint64_t> Extents(const Place& place) const {
    std::vector<uint64_t> shape;
    for (size_t d = 0; d < rank(); ++d) {
      shape.push_back(d < place.size() ? aggregation_.sizes[d][place[d]] : bounds_[d].back());
    }
    return shape;
  }

  ArraySpec SpecOf(std::vector<uint64_t> shape) const {
    const ArraySpec& scalar = variable_->source->spec();
    ArraySpec spec;
    spec.dtype = scalar.dtype;
    spec.shape = std::move(shape);
    spec.fill = ndl::FillOfMissing(*variable_);
    spec.max_chunk_bytes = scalar.max_chunk_bytes;
    return spec;
  }

  // The fragments whose places begin with `place`, joined along dimension `dim`. There is one
  // fragment along the dimensions between.
  Result<SourcePtr> Along(Place place, size_t dim) const {
    place.resize(dim, 0);
    return ndl::MakeJoinSource(SpecOf(Extents(place)), dim, bounds_[dim], chunk_, is_plain_,
                               [self = shared_from_this(), place](size_t i) {
                                 Place next = place;
                                 next.push_back(i);
                                 return self->Part(next);
                               });
  }

  Result<JoinedPart> Part(Place place) const {
    size_t dim = place.size();
    while (dim < rank() && CountOf(dim) == 1) ++dim;
    place.resize(dim, 0);
    if (dim == rank()) return Open(place);
    JoinedPart part;
    NDLFS_TRY(part.source, Along(place, dim));
    part.name = expected_.label;
    return part;
  }

  Result<JoinedPart> Open(const Place& place) const {
    size_t number = 0;
    for (size_t d = 0; d < rank(); ++d) number = number * CountOf(d) + place[d];
    const Fragment& fragment = aggregation_.fragments[number];
    JoinedPart part;
    if (fragment.address.empty()) return part;
    NDLFS_TRY(const auto node, Load(fragment, part.name));
    part.source = node->source;
    NDLFS_TRY(part.converter, Compare(*node, part.name), part.name);
    return Complete(std::move(part), Extents(place));
  }

  Result<std::shared_ptr<const Node>> Load(const Fragment& fragment, std::string& label) const {
    const std::string name = model::JoinPath("/", fragment.address);
    if (fragment.file.empty()) {
      label = name;
      NDLFS_TRY(auto node, file_->Load(name), name);
      NDLFS_RETURN_IF_ERROR(ndl::RequireData(*node, name));
      return node;
    }
    NDLFS_TRY(const std::string path, files_->stores().Resolve(fragment.file));
    label = files_->stores().Describe(path, name);
    return files_->stores().LoadArray(path, name);
  }

  // The converter from elements of a fragment to elements of the variable; null if they are the
  // same. Fails if they differ in more than their packing or the units of times. A fragment
  // without units has those of the variable; the names of its dimensions do not matter.
  Result<std::shared_ptr<const ElementConverter>> Compare(const Node& node,
                                                          const std::string& label) const {
    PartDescription part = ndl::DescribePart(files_->stores(), "", "", node);
    part.label = label;
    PartDescription expected = expected_;
    expected.shape = part.shape;
    expected.dimensions = part.dimensions;
    const auto* units = model::FindAttribute(expected.attributes, "units");
    if (units && !model::FindAttribute(part.attributes, "units")) {
      part.attributes.push_back(*units);
      if (const auto* calendar = model::FindAttribute(expected.attributes, "calendar")) {
        part.attributes.push_back(*calendar);
      }
    }
    auto difference = ndl::FindDifference(expected, part, {});
    if (!difference) return nullptr;
    const bool unpacks =
        variable_->source->spec().dtype.kind() == model::Datatype::Kind::kFloat &&
        !model::FindAttribute(expected.attributes, "scale_factor") &&
        !model::FindAttribute(expected.attributes, "add_offset");
    ndl::PartRules rules;
    rules.unpack = unpacks;
    if (unpacks) difference = ndl::FindDifference(expected, part, rules);
    if (difference) return model::Corrupt("the fragments cannot be joined: {}", *difference);
    NDLFS_TRY(const auto unpacking, UnpackingOf());
    NDLFS_TRY(auto converter, ndl::ConverterOf(unpacking, node));
    const bool is_single = unpacking.type.size() == sizeof(float);
    return is_single ? WithFill<float>(std::move(converter), *variable_)
                     : WithFill<double>(std::move(converter), *variable_);
  }

  Result<ndl::Unpacking> UnpackingOf() const {
    model::Ndarray described = variable_->array();
    model::ValueSource typed;
    typed.has_type = true;
    described.source = std::move(typed);
    return ndl::ChooseUnpacking(*variable_, &described);
  }

  // Adds the dimensions of size 1 that a fragment lacks, and checks its shape.
  Result<JoinedPart> Complete(JoinedPart part, const std::vector<uint64_t>& shape) const {
    std::vector<uint64_t> has = part.source->spec().shape;
    std::vector<uint64_t> chunk = part.source->spec().grid.max_chunk_shape();
    for (size_t d = 0; d < shape.size(); ++d) {
      if (d < has.size() && has[d] == shape[d]) continue;
      if (shape[d] != 1 || has.size() >= shape.size()) break;
      const auto at = static_cast<ptrdiff_t>(d);
      has.insert(has.begin() + at, 1);
      chunk.insert(chunk.begin() + at, 1);
      ArraySpec spec = SpecOf(has);
      const bool is_plain = part.source->contiguous().has_value() && !part.converter;
      JoinedPart larger;
      larger.name = part.name;
      NDLFS_TRY(larger.source, ndl::MakeJoinSource(std::move(spec), d, {0, 1}, chunk, is_plain,
                                                   [part](size_t) { return part; }));
      part = std::move(larger);
    }
    if (has == shape) return part;
    return model::Corrupt("{} has the shape [{}], expected [{}]", part.name,
                          fmt::join(has, ", "), fmt::join(shape, ", "));
  }

  const std::shared_ptr<const Hierarchy> file_;
  const std::shared_ptr<const ndl::PartSet> files_;
  const std::shared_ptr<const Node> variable_;
  const Aggregation aggregation_;
  PartDescription expected_;
  std::vector<std::vector<uint64_t>> bounds_;
  std::vector<uint64_t> chunk_;
  bool is_plain_ = false;
};

// The data of the aggregation variable `variable` of `file`: its fragments, joined along each
// dimension. `files` has the files of the fragments, `label` is the variable in messages.
// Compares a fragment with the variable when it is opened; the first one is opened now.
Result<SourcePtr> JoinFragments(std::shared_ptr<const Hierarchy> file,
                                std::shared_ptr<const ndl::PartSet> files,
                                const std::string& label, std::shared_ptr<const Node> variable,
                                Aggregation aggregation) {
  return std::make_shared<Fragments>(std::move(file), std::move(files), std::move(variable),
                                     std::move(aggregation))
      ->Join(label);
}

using NodePtr = std::shared_ptr<const Node>;
using Clock = std::chrono::steady_clock;
using PartsPtr = std::shared_ptr<const ndl::PartSet>;

class AggregatingHierarchy final : public ForwardingHierarchy {
 public:
  AggregatingHierarchy(std::shared_ptr<const Hierarchy> file,
                       std::shared_ptr<const Source> source, std::string path,
                       OpenOptions options)
      : ForwardingHierarchy(std::move(file)),
        source_(std::move(source)),
        path_(std::move(path)),
        options_(std::move(options)) {}

  Result<NodePtr> Load(std::string_view path) const override {
    NDLFS_TRY(NodePtr node, inner().Load(path));
    if (!IsVariable(*node)) return node;
    return LoadAggregation(path, std::move(node));
  }

  // A change of a file of fragments is a change of the array.
  Result<uint64_t> Version(std::string_view path) const override {
    NDLFS_TRY(const uint64_t version, inner().Version(path));
    std::shared_ptr<const ReadSet> reads;
    {
      const model::MutexLock lock(mutex_);
      const auto found = watched_.find(path);
      if (found == watched_.end() || found->second.version != version) return version;
      if (Clock::now() - found->second.looked_at < Holds()) {
        AnswerAge::Note(found->second.looked_at);
        return version + found->second.change;
      }
      reads = found->second.reads;
    }
    const AnswerAge age(Clock::now());
    NDLFS_TRY(const uint64_t look, FingerprintNow(*reads));
    const model::MutexLock lock(mutex_);
    return version + NoteLook(look, age.since(), watched_[std::string(path)]);
  }

 private:
  // The files of an aggregation. Nothing of them is known before it is loaded; so the look at
  // that time counts as no change.
  struct Watched {
    uint64_t version = 0;  // of the file with the aggregation
    std::shared_ptr<const ReadSet> reads;
    uint64_t change = 0;
    Clock::time_point looked_at;
  };

  static bool IsVariable(const Node& node) {
    return !node.is_group() && node.source && IsAggregation(node.attributes());
  }

  // How long a look is trusted.
  std::chrono::nanoseconds Holds() const {
    constexpr std::chrono::nanoseconds kLongest = std::chrono::hours(24);
    return std::min(options_.search_holds, kLongest);
  }

  // The change since the first look.
  uint64_t NoteLook(uint64_t look, Clock::time_point when, Watched& watched) const
      REQUIRES(mutex_) {
    watched.looked_at = when;
    return watched.change = look ^ watched.reads->Fingerprint();
  }

  Result<NodePtr> LoadAggregation(std::string_view path, NodePtr variable) const {
    NDLFS_TRY(const uint64_t version, Version(path));
    if (auto node = nodes_.Find(path, version)) return node;
    auto node = std::make_shared<Node>(*variable);
    node->source = nullptr;
    auto joined = Join(path, variable, *node);
    if (!joined) node->error = std::move(joined).error();
    NDLFS_TRY(const uint64_t loaded, Version(path));
    return nodes_.Insert(path, loaded, std::move(node));
  }

  Result<void> Join(std::string_view path, const NodePtr& variable, Node& node) const {
    if (options_.shared) {
      return model::Unsupported(
          "the data are in other files; a mount for several users does not show them");
    }
    NDLFS_TRY(auto aggregation, ReadAggregation(inner(), path, variable->attributes()));
    NDLFS_TRY(const model::FileSet files, FilesOf(aggregation));
    NDLFS_TRY(const auto parts, Watch(path, files));
    const auto dimensions = aggregation.dimensions;
    NDLFS_TRY(node.source,
              JoinFragments(shared_inner(), parts, parts->stores().Describe(path_, path),
                            variable, std::move(aggregation)));
    Describe(path, dimensions, node);
    return {};
  }

  // Each once.
  static Result<model::FileSet> FilesOf(Aggregation& aggregation) {
    std::set<std::string> names;
    for (Fragment& fragment : aggregation.fragments) {
      if (fragment.file.empty()) continue;
      NDLFS_TRY(fragment.file, ndl::FileOfLocation(fragment.file));
      names.insert(fragment.file);
    }
    model::FileSet files;
    files.form = model::FileSet::Form::kList;
    files.names.assign(names.begin(), names.end());
    return files;
  }

  Result<PartsPtr> Watch(std::string_view path, const model::FileSet& files) const {
    const AnswerAge age(Clock::now());
    NDLFS_TRY(const uint64_t version, inner().Version(path));
    NDLFS_TRY(auto stores, ndl::PartStores::Make(source_, path_, options_));
    NDLFS_TRY(const auto paths, stores->Expand(files));
    const auto reads = std::make_shared<const ReadSet>(ndl::LookAtParts(source_, paths));
    {
      const model::MutexLock lock(mutex_);
      Watched& watched = watched_[std::string(path)];
      if (watched.reads == nullptr || watched.version != version) watched.reads = reads;
      watched.version = version;
      NoteLook(reads->Fingerprint(), age.since(), watched);
    }
    return ndl::PartSet::Make(std::move(stores), files, false);
  }

  void Describe(std::string_view path, const std::vector<std::string>& dimensions,
                Node& node) const {
    model::Ndarray array = node.array();
    RemoveAggregation(array.attributes);
    array.shape.clear();
    for (const uint64_t extent : node.source->spec().shape) array.shape.push_back({extent, {}});
    array.dimension_names = dimensions;
    array.value.reset();
    array.storage.chunk.reset();
    array.storage.filter.reset();
    array.storage.shape.reset();
    if (IsDimCoordName(array.name, dimensions)) {
      node.entity = model::DimCoord{std::move(array)};
      return;
    }
    LinkDimensions(model::ParentPath(path), array,
                   [this](std::string_view other) { return LoadCoordinate(other); });
    node.entity = std::move(array);
  }

  // The object at `path`, if it may be a dimension coordinate; others are not linked in turn.
  NodePtr LoadCoordinate(std::string_view path) const {
    auto node = inner().Load(path).value_or(nullptr);
    if (!node || !IsVariable(*node)) return node;
    const bool is_coordinate =
        model::TextOf(node->attributes(), "aggregated_dimensions") == model::BaseName(path) ||
        model::TextOf(node->attributes(), "cfa_dimensions") == model::BaseName(path);
    return is_coordinate ? LoadAggregation(path, node).value_or(nullptr) : nullptr;
  }

  const std::shared_ptr<const Source> source_;
  const std::string path_;
  const OpenOptions options_;
  mutable NodeCache nodes_;
  mutable model::Mutex mutex_;
  mutable std::map<std::string, Watched, std::less<>> watched_ GUARDED_BY(mutex_);
};

}  // namespace

std::shared_ptr<const Hierarchy> WithAggregations(std::shared_ptr<const Hierarchy> file,
                                                  std::shared_ptr<const Source> source,
                                                  std::string path, OpenOptions options) {
  return std::make_shared<AggregatingHierarchy>(std::move(file), std::move(source),
                                                std::move(path), std::move(options));
}

}  // namespace ndlfs::backends::cfa
