// SPDX-License-Identifier: MIT
#include "backends/format/icechunk/icechunk.h"

#include <fmt/format.h>

#include <array>
#include <functional>
#include <iterator>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "backends/base/new_id.h"
#include "backends/format/icechunk/icechunk_store.h"
#include "backends/format/icechunk/metadata_file.h"
#include "backends/format/icechunk/ref.h"
#include "backends/format/icechunk/repository.h"
#include "backends/format/node_files.h"
#include "backends/format/versioned.h"
#include "backends/format/zarr/zarr_format.h"
#include "backends/store/file_name.h"
#include "backends/store/source.h"
#include "model/error.h"
#include "model/mutex.h"

namespace ndlfs::backends {

namespace icechunk {
namespace {

constexpr size_t kMostLines = 100'000;
constexpr size_t kMostNames = 10'000;

// In version 1, Resolve() takes any id.
model::Result<void> CheckExists(const Repository& repository, const Ref& ref) {
  NDLFS_TRY(const Pinned pinned, repository.Resolve(ref));
  if (ref.kind != Ref::Kind::kSnapshot) return {};
  NDLFS_TRY(const auto file,
            repository.store()->Stat(Repository::SnapshotKey(pinned.snapshot)));
  if (file) return {};
  return model::NotFound("the {} is not there; it may have expired", ref.ToText());
}

// The history of a repository as text: the branches and tags with the snapshots that they lead
// to, then the snapshots of `ref` ("" is the branch main), the newest first, one a line: id,
// time and message. The history ends after a number of lines.
//
//   branch main -> 4QF8JA0YPDN51MHSSYVG
//   tag v1 -> GC4YVH5SKBPEZCENYQE0
//
//   4QF8JA0YPDN51MHSSYVG 2025-02-19T21:11:56.017780Z set virtual chunk
model::Result<std::string> WriteLog(const Repository& repository, const Ref& ref) {
  std::string text;
  const auto out = std::back_inserter(text);
  NDLFS_TRY(const RefNames names, repository.ListRefs());
  for (const NamedRef& branch : names.branches) {
    fmt::format_to(out, "branch {} -> {}\n", model::OneLine(branch.name),
                   IdText(branch.snapshot));
  }
  for (const NamedRef& tag : names.tags) {
    fmt::format_to(out, "tag {} -> {}\n", model::OneLine(tag.name), IdText(tag.snapshot));
  }
  text += '\n';
  size_t lines = 0;
  NDLFS_RETURN_IF_ERROR(repository.ForEachAncestor(ref, [&](const SnapshotInfo& info) {
    if (++lines > kMostLines) return false;
    fmt::format_to(out, "{} {} {}\n", IdText(info.id), TimeText(info.written_us),
                   model::OneLine(info.message));
    return true;
  }));
  if (lines > kMostLines) fmt::format_to(out, "... and older ones\n");
  return text;
}

// The same as names, with ten thousand snapshots at most. A history that cannot be read to its
// end counts as far as it goes.
model::Result<VersionNames> ListVersions(const Repository& repository, const Ref& ref) {
  VersionNames names;
  NDLFS_TRY(const RefNames refs, repository.ListRefs());
  for (const NamedRef& branch : refs.branches) names.branches.push_back(branch.name);
  for (const NamedRef& tag : refs.tags) names.tags.push_back(tag.name);
  std::set<ObjectId> seen;
  NDLFS_RETURN_IF_ERROR(repository.ForEachSnapshot(ref, [&](const SnapshotInfo& info) {
    if (names.snapshots.size() == kMostNames || !seen.insert(info.id).second) return false;
    names.snapshots.push_back(IdText(info.id));
    return true;
  }));
  return names;
}

// As Versioned::Check() and Versioned::RefAt() for a repository that is open at `open`.
model::Result<void> CheckVersion(const Repository& repository, const std::string& text) {
  const auto ref = ParseRef(text);
  if (!ref) return model::NotFound("{}", ref.error().message());
  const auto found = CheckExists(repository, *ref);
  if (found || found.error().code() != model::ErrorCode::kNotFound) return found;
  bool was_there = ref->kind == Ref::Kind::kSnapshot;
  if (ref->kind == Ref::Kind::kTag) {
    NDLFS_TRY(was_there, repository.WasDeleted(ref->name));
  }
  return was_there ? model::BadInput("{}", found.error().message()) : found;
}

model::Result<std::string> RefAt(const Ref& open, std::string_view time) {
  auto ref = ParseRef("at=" + std::string(time));
  if (!ref || time.find(',') != std::string_view::npos) {
    return model::NotFound("{} is no time", model::Quote(time));
  }
  const Ref history = open.kind == Ref::Kind::kAt ? open.history() : open;
  ref->history_kind = history.kind;
  ref->history_name = history.name;
  return ref->ToOption();
}

}  // namespace
}  // namespace icechunk

namespace {

using icechunk::IcechunkStore;
using icechunk::Pinned;
using icechunk::Ref;
using icechunk::Repository;
using icechunk::Snapshot;
using model::Result;

constexpr std::string_view kRepoFile = "repo";
constexpr std::string_view kMainRef = "refs/branch.main/ref.json";
constexpr std::array<std::string_view, 2> kMarkers = {kRepoFile, kMainRef};

// The Zarr hierarchy of one snapshot.
class IcechunkHierarchy final : public Hierarchy, public Versioned {
 public:
  IcechunkHierarchy(std::shared_ptr<const Repository> repository, Ref ref, const Pinned& pinned,
                    std::shared_ptr<const IcechunkStore> store,
                    std::shared_ptr<const Hierarchy> zarr)
      : repository_(std::move(repository)),
        ref_(std::move(ref)),
        entry_(pinned.entry),
        store_(std::move(store)),
        zarr_(std::move(zarr)),
        version_(std::hash<std::string>()(icechunk::IdText(pinned.snapshot))),
        seen_(pinned.version) {}

  std::string_view format() const override { return "Icechunk"; }

  Result<std::shared_ptr<const Node>> Load(std::string_view path) const override {
    std::vector<std::string> files;
    if (!entry_.empty()) files.push_back(entry_);
    return nodes_.Load(*zarr_, path, std::move(files));
  }

  Result<std::vector<std::string>> List(std::string_view path) const override {
    return zarr_->List(path);
  }

  // That of a node does not change as long as the store is open.
  Result<uint64_t> Version(std::string_view path) const override {
    if (path != "/") return zarr_->Version(path);
    NDLFS_TRY(const bool is_present, IsPresent());
    return is_present ? version_ : NewId();
  }

  uint64_t held_bytes() const override { return zarr_->held_bytes(); }

  Result<std::string> Log() const override { return icechunk::WriteLog(*repository_, ref_); }
  Result<VersionNames> Names() const override {
    return icechunk::ListVersions(*repository_, ref_);
  }
  Result<void> Check(const std::string& ref) const override {
    return icechunk::CheckVersion(*repository_, ref);
  }
  Result<std::string> RefAt(std::string_view time) const override {
    return icechunk::RefAt(ref_, time);
  }

 private:
  // Whether the ref still leads to this snapshot. Reads only what has changed.
  Result<bool> IsPresent() const EXCLUDES(mutex_) {
    if (entry_.empty() || ref_.is_fixed()) return true;
    NDLFS_TRY(const auto info, repository_->store()->Stat(entry_));
    if (!info) return false;
    {
      const model::MutexLock lock(mutex_);
      if (info->generation == seen_) return true;
    }
    NDLFS_TRY(const Pinned pinned, repository_->Resolve(ref_));
    if (pinned.snapshot != store_->snapshot().id()) return false;
    const model::MutexLock lock(mutex_);
    seen_ = pinned.version;
    return true;
  }

  const std::shared_ptr<const Repository> repository_;
  const Ref ref_;
  const std::string entry_;  // the file that may lead to another snapshot; empty: none
  const std::shared_ptr<const IcechunkStore> store_;
  const std::shared_ptr<const Hierarchy> zarr_;
  const uint64_t version_;
  const NodesWithFiles nodes_;
  mutable model::Mutex mutex_;
  mutable Generation seen_ GUARDED_BY(mutex_);  // of `entry_`, which led to this snapshot
};

// Where each read is a request, reads a file that is not large as a whole: opening the store
// needs it next, and the source remembers it.
Result<bool> RepoFileHasMagic(const Store& store, bool reads_are_requests) {
  constexpr uint64_t kNotLarge = uint64_t{1} << 20;
  ByteRange range = {0, icechunk::kHeaderSize};
  if (reads_are_requests) {
    NDLFS_TRY(const auto size, store.Size(kRepoFile));
    if (size && *size <= kNotLarge) range = {};
  }
  NDLFS_TRY(const auto head, store.Get(kRepoFile, kNotLarge, {.range = range}));
  return head && icechunk::HasMagic(head->bytes.span());
}

class Icechunk final : public Format {
 public:
  std::string_view name() const override { return "Icechunk"; }
  bool has_versions() const override { return true; }
  DirectoryMarkers directory_markers() const override { return {kMarkers, false}; }

  Result<bool> ProbeDirectory(const Source& source, std::string_view path) const override {
    const auto store = source.OpenStore(std::string(path));
    NDLFS_TRY(const bool has_magic, RepoFileHasMagic(*store, source.looks_are_requests()));
    if (has_magic) return true;
    constexpr uint64_t kLongestRef = 1024;
    const auto ref = store->Get(kMainRef, kLongestRef);
    if (!ref && !ref.error().is_transient()) return false;
    if (!ref) return model::Propagate(ref.error());
    return *ref && AsText((*ref)->bytes.span()).find("\"snapshot\"") != std::string_view::npos;
  }

  Result<std::shared_ptr<const Hierarchy>> Open(std::shared_ptr<const Source> source,
                                                const std::string& path,
                                                const OpenOptions& options) const override {
    NDLFS_TRY(Ref ref, icechunk::ParseRef(options.ref), "--ref");
    auto repository = std::make_shared<const Repository>(*source, path);
    NDLFS_TRY(const Pinned pinned, repository->Resolve(ref));
    NDLFS_TRY(Bytes payload, repository->ReadSnapshot(pinned.snapshot));
    NDLFS_TRY(auto snapshot, Snapshot::Make(std::move(payload), pinned.snapshot),
              repository->store()->Describe(Repository::SnapshotKey(pinned.snapshot)));
    const std::string name =
        StoreNameOf(path.empty() ? std::string_view(source->name()) : path, ".icechunk");
    auto store = std::make_shared<const IcechunkStore>(std::move(source), path, repository,
                                                       pinned, std::move(snapshot));
    OpenOptions of_zarr = options;
    of_zarr.ref.clear();
    NDLFS_TRY(auto zarr, OpenZarr(store, "", name, of_zarr));
    return std::make_shared<const IcechunkHierarchy>(std::move(repository), std::move(ref),
                                                     pinned, std::move(store), std::move(zarr));
  }
};

}  // namespace

const Format& IcechunkFormat() {
  static const Icechunk format;
  return format;
}

}  // namespace ndlfs::backends
