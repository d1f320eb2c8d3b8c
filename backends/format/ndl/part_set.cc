// SPDX-License-Identifier: MIT
#include "backends/format/ndl/part_set.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "backends/store/parallel.h"
#include "model/bounded_map.h"
#include "model/hash.h"
#include "model/ndl/ndl_writer.h"
#include "model/path_name.h"

namespace ndlfs::backends::ndl {
namespace {

using model::Result;

constexpr unsigned kThreads = 8;
// If a join has more parts, ndlfs looks for changes of a sample only. Readers look again at the
// parts that they have read.
constexpr size_t kMostStats = 1000;
constexpr size_t kSample = 100;
constexpr size_t kSampleOfServer = 8;

uint64_t Mix(uint64_t hash, uint64_t word) { return model::CombineHash(hash, word); }
uint64_t Mix(uint64_t hash, std::string_view text) {
  return Mix(hash, std::hash<std::string_view>()(text));
}

// The files and directories of a source, by their paths, for looks alone.
class PathsOfSource final : public Store {
 public:
  explicit PathsOfSource(std::shared_ptr<const Source> source) : source_(std::move(source)) {}

  StoreTraits traits() const override {
    const bool is_remote = source_->looks_are_requests();
    return {.is_remote = is_remote, .looks_are_requests = is_remote};
  }
  // A directory has the time of its last change as its version.
  Result<std::optional<ValueInfo>> Stat(std::string_view path) const override {
    const auto status = source_->Stat(path, Follow::kYes).value_or(std::nullopt);
    if (!status) return std::nullopt;
    const auto changed = Generation::OfNumbers({static_cast<uint64_t>(status->mtime_ns)});
    return ValueInfo{.generation = status->is_file() ? status->version : changed,
                     .size = status->size,
                     .modified_ns = status->mtime_ns};
  }
  Result<std::vector<StoreEntry>> List(std::string_view) const override {
    return std::vector<StoreEntry>();
  }
  std::string Describe(std::string_view path) const override { return source_->Describe(path); }

 private:
  Result<std::optional<ReadResult>> DoRead(std::string_view path, const ReadOptions&,
                                           const Reserve&) const override {
    return model::Unsupported("{} is not read here", path);
  }
  const std::shared_ptr<const Source> source_;
};

// Sizes that were found in versions of files.
class KnownSizes {
 public:
  static KnownSizes& Get() {
    static KnownSizes known;
    return known;
  }
  std::optional<uint64_t> Find(uint64_t key) {
    const model::MutexLock lock(mutex_);
    const uint64_t* found = sizes_.Find(key);
    return found ? std::optional(*found) : std::nullopt;
  }
  void Keep(uint64_t key, uint64_t size) {
    const model::MutexLock lock(mutex_);
    sizes_.Put(key, size);
  }

 private:
  static constexpr uint64_t kMost = 200'000;
  model::Mutex mutex_;
  model::BoundedMap<uint64_t, uint64_t> sizes_ GUARDED_BY(mutex_){kMost};
};

// A hash of all that parts are compared with.
uint64_t SignatureOf(std::string_view name, const PartDescription& first,
                     const PartRules& rules) {
  uint64_t hash = Mix(0, name);
  hash = Mix(hash, first.label);
  hash = Mix(hash, model::WriteFlow(first.type));
  hash = Mix(hash, first.type.size());
  for (size_t d = 0; d < first.shape.size(); ++d) {
    hash = Mix(Mix(hash, d == rules.along ? 0 : first.shape[d]), first.dimensions[d]);
  }
  for (const model::Attribute& attribute : first.attributes) {
    hash = Mix(Mix(hash, attribute.name), model::WriteFlow(attribute.value, attribute.type));
  }
  if (first.fill) hash = Mix(hash, model::WriteFlow(*first.fill, first.type));
  hash = Mix(hash, rules.along.value_or(UINT64_MAX));
  hash = Mix(hash, rules.unpack ? 1 : 0);
  return Mix(hash, std::hash<double>()(rules.tolerance));
}

}  // namespace

PartSet::PartSet(std::shared_ptr<const PartStores> stores, std::vector<std::string> paths)
    : stores_(std::move(stores)), paths_(std::move(paths)), is_present_(paths_.size(), true) {}

Result<std::shared_ptr<const PartSet>> PartSet::Make(std::shared_ptr<const PartStores> stores,
                                                     const model::FileSet& files,
                                                     bool fills_missing) {
  NDLFS_TRY(auto paths, stores->Expand(files));
  std::shared_ptr<PartSet> set(new PartSet(std::move(stores), std::move(paths)));
  if (files.form != model::FileSet::Form::kGlob) {
    NDLFS_RETURN_IF_ERROR(set->FindPresent(fills_missing));
  }
  return set;
}

Result<void> PartSet::FindPresent(bool fills_missing) {
  const Source& source = *stores_->source();
  if (source.looks_are_requests() && !fills_missing) return {};
  for (size_t i = 0; i < paths_.size(); ++i) {
    NDLFS_TRY(const auto status, source.Stat(paths_[i], Follow::kYes),
              stores_->Describe(paths_[i]));
    is_present_[i] = status.has_value();
    if (!status && !fills_missing) {
      return model::NotFound("part {} of {} is missing: {}", i + 1, paths_.size(),
                             stores_->Describe(paths_[i]));
    }
  }
  return {};
}

Result<size_t> PartSet::First() const {
  const auto found = std::ranges::find(is_present_, true);
  if (found == is_present_.end())
    return model::NotFound("none of the {} parts is there", size());
  return static_cast<size_t>(found - is_present_.begin());
}

ReadSet LookAtParts(const std::shared_ptr<const Source>& source,
                    std::span<const std::string> paths) {
  const size_t most = source->looks_are_requests() ? kSampleOfServer
                      : paths.size() > kMostStats  ? kSample
                                                   : kMostStats;
  const size_t step = std::max<size_t>(1, (paths.size() + most - 1) / most);
  const auto files = std::make_shared<const PathsOfSource>(source);
  ReadSet reads;
  for (size_t i = 0; i < paths.size(); i += step) {
    reads.Add(files, paths[i], VersionOf(*files->Stat(paths[i])));
  }
  return reads;
}

uint64_t PartSet::Fingerprint() const {
  uint64_t hash = 0;
  for (const std::string& path : paths_) hash = Mix(hash, path);
  return Mix(hash, LookAtParts(stores_->source(), paths_).Fingerprint());
}

Result<std::shared_ptr<const Node>> PartSet::LoadLike(size_t i, std::string_view name,
                                                      const PartDescription& first,
                                                      const PartRules& rules) const {
  NDLFS_TRY(auto node, stores_->LoadArray(paths_[i], name));
  const PartDescription other = DescribePart(*stores_, paths_[i], name, *node);
  if (const auto difference = FindDifference(first, other, rules)) {
    return model::Corrupt("the parts cannot be joined: {}", *difference);
  }
  NDLFS_RETURN_IF_ERROR(CompareCoordinates(i, name, first, rules));
  return node;
}

Result<std::shared_ptr<const std::optional<PartCoordinate>>> PartSet::FirstCoordinate(
    std::string_view name, const std::string& dimension, uint64_t size) const {
  const CoordinateKey key(model::ParentPath(name), dimension);
  {
    const model::MutexLock lock(mutex_);
    const auto found = first_coordinates_.find(key);
    if (found != first_coordinates_.end()) return found->second;
  }
  NDLFS_TRY(const size_t first, First());
  NDLFS_TRY(auto read, ReadCoordinate(*stores_, paths_[first], name, dimension, size));
  auto coordinate = std::make_shared<const std::optional<PartCoordinate>>(std::move(read));
  const model::MutexLock lock(mutex_);
  return first_coordinates_.emplace(key, std::move(coordinate)).first->second;
}

Result<void> PartSet::CompareCoordinates(size_t i, std::string_view name,
                                         const PartDescription& first,
                                         const PartRules& rules) const {
  NDLFS_TRY(const size_t first_part, First());
  if (i == first_part) return {};
  for (size_t d = 0; d < first.shape.size(); ++d) {
    const std::string& dimension = first.dimensions[d];
    if (d == rules.along || dimension.empty() || dimension == model::BaseName(name)) continue;
    const CoordinateKey key(model::ParentPath(name), dimension);
    {
      const model::MutexLock lock(mutex_);
      const auto found = compared_.find(key);
      if (found != compared_.end() && found->second[i]) continue;
    }
    NDLFS_TRY(const auto expected, FirstCoordinate(name, dimension, first.shape[d]));
    NDLFS_TRY(const auto other,
              ReadCoordinate(*stores_, paths_[i], name, dimension, first.shape[d]));
    const auto difference =
        FindDifference(dimension, stores_->Describe(paths_[first_part]), *expected,
                       stores_->Describe(paths_[i]), other, rules.tolerance);
    if (difference) {
      return model::Corrupt("the parts cannot be joined: {} (tolerance: {})", *difference,
                            rules.tolerance);
    }
    const model::MutexLock lock(mutex_);
    compared_.try_emplace(key, paths_.size(), false).first->second[i] = true;
  }
  return {};
}

// The size of part `i` along the dimension. A size that is known for a file holds for one
// version of the file; folders have no version, so their sizes are not kept.
Result<uint64_t> PartSet::FindSize(size_t i, std::string_view name,
                                   const PartDescription& first, const PartRules& rules,
                                   std::optional<uint64_t> signature) const {
  if (!is_present_[i]) {
    return model::NotFound(
        "{} is missing, and nobody knows its size: give the sizes of the parts",
        stores_->Describe(paths_[i]));
  }
  std::optional<uint64_t> key;
  const auto status = stores_->source()->Stat(paths_[i], Follow::kYes);
  if (signature && status && *status && (*status)->is_file()) {
    key = Mix(Mix(*signature, (*status)->version.hash()), paths_[i]);
    key = Mix(*key, stores_->source()->name());
    if (const auto known = KnownSizes::Get().Find(*key)) return *known;
  }
  NDLFS_TRY(const auto node, LoadLike(i, name, first, rules));
  const uint64_t size = node->source->spec().shape[*rules.along];
  if (key) KnownSizes::Get().Keep(*key, size);
  return size;
}

Result<void> PartSet::CheckSame(std::string_view name, const PartDescription& first,
                                const ArraySource& source, double tolerance, bool opens) const {
  if (!opens) return {};
  NDLFS_TRY(const size_t first_part, First());
  return RunInParallel(kThreads, paths_.size(), [&](size_t i) -> Result<void> {
    if (i == first_part || !is_present_[i]) return {};
    NDLFS_TRY(const auto node, LoadLike(i, name, first, {std::nullopt, false, tolerance}));
    if (const auto difference =
            FindElementDifference(first.label, source, stores_->Describe(paths_[i], name),
                                  *node->source, tolerance)) {
      return model::Corrupt("the parts cannot be joined: {}", *difference);
    }
    return {};
  });
}

Result<std::vector<uint64_t>> PartSet::FindSizes(std::string_view name,
                                                 const PartDescription& first,
                                                 const PartRules& rules) const {
  std::vector<uint64_t> sizes(paths_.size());
  NDLFS_TRY(const size_t first_part, First());
  std::optional<uint64_t> signature;
  const auto status = stores_->source()->Stat(paths_[first_part], Follow::kYes);
  if (status && *status && (*status)->is_file()) {
    signature = Mix(SignatureOf(name, first, rules), (*status)->version.hash());
  }
  NDLFS_RETURN_IF_ERROR(RunInParallel(kThreads, paths_.size(), [&](size_t i) -> Result<void> {
    NDLFS_TRY(sizes[i], FindSize(i, name, first, rules, signature));
    return {};
  }));
  return sizes;
}

}  // namespace ndlfs::backends::ndl
