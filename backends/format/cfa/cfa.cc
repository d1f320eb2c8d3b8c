// SPDX-License-Identifier: MIT
#include "backends/format/cfa/cfa.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "backends/format/cfa/aggregation.h"
#include "backends/format/cfa/fragments.h"
#include "backends/format/forwarding_hierarchy.h"
#include "backends/format/ndl/part_set.h"
#include "backends/format/ndl/part_stores.h"
#include "backends/format/node_cache.h"
#include "backends/store/answer_age.h"
#include "backends/store/read_set.h"
#include "model/attributes.h"
#include "model/mutex.h"
#include "model/path_name.h"

namespace ndlfs::backends::cfa {
namespace {

using model::Result;
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
