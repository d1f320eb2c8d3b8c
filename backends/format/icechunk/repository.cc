// SPDX-License-Identifier: MIT
#include "backends/format/icechunk/repository.h"

#include <flatbuffers/flexbuffers.h>

#include <algorithm>
#include <set>
#include <utility>

#include "backends/base/json.h"
#include "backends/format/icechunk/metadata_file.h"
#include "backends/format/icechunk/repo_generated.h"
#include "backends/format/icechunk/snapshot_generated.h"
#include "backends/store/keys.h"
#include "backends/store/metadata_turn.h"

namespace ndlfs::backends::icechunk {
namespace {

using model::Result;

constexpr std::string_view kRepoKey = "repo";
constexpr std::string_view kRefFile = "/ref.json";
constexpr std::string_view kDeletedFile = "/ref.json.deleted";

// A repo file has about a hundred bytes for each snapshot.
constexpr uint64_t kMaxFile = uint64_t{256} << 20;
constexpr uint64_t kMaxRepo = uint64_t{256} << 20;
constexpr uint64_t kMaxSnapshot = uint64_t{512} << 20;
constexpr uint64_t kMaxManifestFile = uint64_t{512} << 20;
constexpr uint64_t kMaxRefFile = 64 << 10;
// How often the payload is larger than the file, about.
constexpr uint64_t kUsualGrowth = 6;
// In version 1, where each is a file.
constexpr size_t kMostAncestorsV1 = 10'000;
constexpr size_t kMostRefs = 100'000;  // of branches, and of tags

ObjectId IdOf(const fb::ObjectId12& id) {
  ObjectId copy;
  std::copy_n(id.bytes()->data(), copy.size(), copy.begin());
  return copy;
}

// The map at `key`; empty if it is something else.
flexbuffers::Map MapAt(const flexbuffers::Map& map, const char* key) {
  return map[key].AsMap();
}

// An invalid configuration has no containers. Only vcc:// URLs need it.
Containers ReadContainers(const flatbuffers::Vector<uint8_t>* config) {
  Containers containers;
  if (config == nullptr || config->size() < 3) return containers;
  const Bytes aligned = Bytes::Copy(BytesOf(config));
  const auto* data = reinterpret_cast<const uint8_t*>(aligned.data());
  std::vector<uint8_t> tracker;
  if (!flexbuffers::VerifyBuffer(data, aligned.size(), &tracker)) return containers;
  const auto root = flexbuffers::GetRoot(data, aligned.size());
  if (!root.IsMap()) return containers;
  const auto listed = MapAt(root.AsMap(), "virtual_chunk_containers");
  const auto names = listed.Keys();
  const auto values = listed.Values();
  for (size_t i = 0; i < names.size() && i < values.size(); ++i) {
    if (!values[i].IsMap()) continue;
    const auto container = values[i].AsMap();
    const auto name = container["name"];
    const auto prefix = container["url_prefix"];
    containers[name.IsString() ? name.AsString().str() : names[i].AsKey()] =
        prefix.IsString() ? prefix.AsString().str() : "";
  }
  return containers;
}

Result<void> CheckAvailable(const fb::RepoStatus& status) {
  constexpr uint8_t kReadOnly = 1;
  constexpr uint8_t kOffline = 2;
  if (status.availability() <= kReadOnly) return {};
  if (status.availability() != kOffline) {
    return model::Unsupported("the availability {}", status.availability());
  }
  const std::string_view reason = TextOf(status.limited_availability_reason());
  return model::BadInput("the repository is offline{}{}", reason.empty() ? "" : ": ",
                         model::OneLine(reason));
}

std::string_view FolderPrefix(Ref::Kind kind) {
  return kind == Ref::Kind::kTag ? "tag." : "branch.";
}

std::string RefFolder(Ref::Kind kind, std::string_view name) {
  return fmt::format("refs/{}{}", FolderPrefix(kind), name);
}

Result<ObjectId> ParseRefFile(std::string_view text) {
  NDLFS_TRY(const Json json, ParseJson(text));
  if (!json.is_object()) return model::BadInput("expected an object");
  NDLFS_TRY(const Json* id, RequireMember(json, "snapshot"));
  if (!id->is_string()) return model::BadInput("snapshot: expected a string");
  return ParseId(id->get_ref<const std::string&>());
}

model::Failure TooManyRefs() {
  return model::Limit("more than {} branches or tags", kMostRefs);
}

model::Failure NoSuch(const Ref& ref) {
  return model::NotFound("the repository has no {}", ref.ToText());
}

}  // namespace

struct Repository::RepoFile {
  Bytes payload;
  const fb::Repo* root = nullptr;
  Generation version;

  const flatbuffers::Vector<flatbuffers::Offset<fb::SnapshotInfo>>& snapshots() const {
    return *root->snapshots();
  }
  Result<const fb::SnapshotInfo*> At(int64_t index) const {
    if (index >= 0 && index < snapshots().size()) {
      return snapshots()[static_cast<unsigned>(index)];
    }
    return model::Corrupt("repo: there is no snapshot of number {}", index);
  }
};

Result<std::optional<Repository::RepoFile>> Repository::ReadRepoFile() const {
  NDLFS_TRY(const auto file, store_->Get(kRepoKey, kMaxFile), store_->Describe(kRepoKey));
  if (!file) return std::nullopt;
  NDLFS_TRY(const auto turn, MetadataTurn::Take(kUsualGrowth * file->bytes.size()));
  RepoFile repo;
  NDLFS_TRY(repo.payload, ReadPayload(file->bytes.span(), FileKind::kRepo, kMaxRepo),
            store_->Describe(kRepoKey));
  NDLFS_TRY(repo.root, VerifiedRoot<fb::Repo>(repo.payload), store_->Describe(kRepoKey));
  NDLFS_RETURN_IF_ERROR(CheckAvailable(*repo.root->status()), store_->Describe(kRepoKey));
  repo.version = file->info.generation;
  return repo;
}

Result<Pinned> Repository::Resolve(const Ref& ref) const {
  NDLFS_TRY(const auto repo, ReadRepoFile());
  return repo ? ResolveIn(*repo, ref) : ResolveV1(ref);
}

Result<Pinned> Repository::ResolveIn(const RepoFile& repo, const Ref& ref) {
  NDLFS_TRY(const size_t index, IndexOf(repo, ref));
  NDLFS_TRY(const auto* snapshot, repo.At(static_cast<int64_t>(index)));
  return Pinned{IdOf(*snapshot->id()), ReadContainers(repo.root->config()),
                std::string(kRepoKey), repo.version};
}

Result<size_t> Repository::IndexOf(const RepoFile& repo, const Ref& ref) {
  const fb::Repo& root = *repo.root;
  if (ref.kind == Ref::Kind::kSnapshot) {
    NDLFS_TRY(const ObjectId id, ParseId(ref.name));
    for (unsigned i = 0; i < repo.snapshots().size(); ++i) {
      if (IdOf(*repo.snapshots()[i]->id()) == id) return i;
    }
    return model::NotFound("the repository has no {}; it may have expired", ref.ToText());
  }
  if (ref.kind == Ref::Kind::kAt) {
    NDLFS_TRY(const size_t head, IndexOf(repo, ref.history()));
    std::optional<ObjectId> found;
    NDLFS_RETURN_IF_ERROR(WalkIn(repo, head, [&](const SnapshotInfo& info) {
      if (std::cmp_less_equal(info.written_us, ref.at_us)) found = info.id;
      return !found;
    }));
    if (!found) {
      return model::NotFound("the {} has no {}", ref.history().ToText(), ref.ToText());
    }
    return IndexOf(repo, Ref{Ref::Kind::kSnapshot, IdText(*found)});
  }
  const auto& refs = ref.kind == Ref::Kind::kTag ? *root.tags() : *root.branches();
  for (const auto* entry : refs) {
    if (TextOf(entry->name()) == ref.name) return entry->snapshot_index();
  }
  if (ref.kind == Ref::Kind::kTag && IsDeletedIn(repo, ref.name)) {
    return model::NotFound("the {} was deleted", ref.ToText());
  }
  return NoSuch(ref);
}

bool Repository::IsDeletedIn(const RepoFile& repo, std::string_view tag) {
  const auto& deleted = *repo.root->deleted_tags();
  return std::any_of(deleted.begin(), deleted.end(),
                     [&](const auto* name) { return TextOf(name) == tag; });
}

Result<bool> Repository::WasDeleted(const std::string& tag) const {
  NDLFS_TRY(const auto repo, ReadRepoFile());
  if (repo) return IsDeletedIn(*repo, tag);
  const std::string key = RefFolder(Ref::Kind::kTag, tag) + std::string(kDeletedFile);
  if (tag.find('/') != std::string::npos || !CheckKey(key)) return false;
  NDLFS_TRY(const auto deleted, store_->Stat(key));
  return deleted.has_value();
}

Result<void> Repository::WalkIn(const RepoFile& repo, size_t index, const Visit& visit) {
  int64_t at = static_cast<int64_t>(index);
  for (size_t steps = 0; at != -1; ++steps) {
    if (steps == repo.snapshots().size()) {
      return model::Corrupt("repo: a snapshot is its own ancestor");
    }
    NDLFS_TRY(const auto* snapshot, repo.At(at));
    if (!visit({IdOf(*snapshot->id()), snapshot->flushed_at(),
                std::string(TextOf(snapshot->message()))})) {
      return {};
    }
    at = snapshot->parent_offset();
  }
  return {};
}

Result<Pinned> Repository::ReadRefV1(const Ref& ref) const {
  const std::string folder = RefFolder(ref.kind, ref.name);
  const std::string key = folder + std::string(kRefFile);
  if (ref.name.find('/') != std::string::npos || !CheckKey(key)) return NoSuch(ref);
  if (ref.kind == Ref::Kind::kTag) {
    NDLFS_TRY(const auto deleted, store_->Stat(folder + std::string(kDeletedFile)));
    if (deleted) return model::NotFound("the {} was deleted", ref.ToText());
  }
  NDLFS_TRY(const auto file, store_->Get(key, kMaxRefFile), store_->Describe(key));
  if (!file) return NoSuch(ref);
  NDLFS_TRY(const ObjectId id, ParseRefFile(AsText(file->bytes.span())), store_->Describe(key));
  return Pinned{id, {}, key, file->info.generation};
}

Result<Pinned> Repository::ResolveV1(const Ref& ref) const {
  switch (ref.kind) {
    case Ref::Kind::kBranch:
    case Ref::Kind::kTag:
      return ReadRefV1(ref);
    case Ref::Kind::kSnapshot: {
      NDLFS_TRY(const ObjectId id, ParseId(ref.name));
      return Pinned{id, {}, "", {}};
    }
    case Ref::Kind::kAt:
      break;
  }
  NDLFS_TRY(Pinned pinned, ResolveV1(ref.history()));
  std::optional<ObjectId> found;
  NDLFS_RETURN_IF_ERROR(WalkV1(pinned.snapshot, [&](const SnapshotInfo& info) {
    if (std::cmp_less_equal(info.written_us, ref.at_us)) found = info.id;
    return !found;
  }));
  if (!found) return model::NotFound("the {} has no {}", ref.history().ToText(), ref.ToText());
  pinned.snapshot = *found;
  return pinned;
}

Result<Bytes> Repository::ReadFixed(const std::string& key, uint64_t limit,
                                    std::string_view what) const {
  ReadOptions options;
  options.never_changes = true;
  NDLFS_TRY(auto file, store_->Get(key, limit, options), store_->Describe(key));
  if (file) return std::move(file->bytes);
  return model::Corrupt("{}: the {} is not there; it may have expired", store_->Describe(key),
                        what);
}

Result<Bytes> Repository::ReadSnapshot(const ObjectId& id) const {
  const std::string key = SnapshotKey(id);
  NDLFS_TRY(const Bytes file, ReadFixed(key, kMaxFile, "snapshot"));
  NDLFS_TRY(const auto turn, MetadataTurn::Take(kUsualGrowth * file.size()));
  NDLFS_TRY(Bytes payload, ReadPayload(file.span(), FileKind::kSnapshot, kMaxSnapshot),
            store_->Describe(key));
  return payload;
}

Result<Bytes> Repository::ReadManifest(const ObjectId& id, uint64_t limit) const {
  const std::string key = ManifestKey(id);
  NDLFS_TRY(const Bytes file, ReadFixed(key, kMaxManifestFile, "manifest"));
  NDLFS_TRY(const auto turn, MetadataTurn::Take(kUsualGrowth * file.size()));
  NDLFS_TRY(Bytes payload, ReadPayload(file.span(), FileKind::kManifest, limit),
            store_->Describe(key));
  return payload;
}

Result<std::vector<NamedRef>> Repository::ListRefsV1(Ref::Kind kind) const {
  std::vector<NamedRef> refs;
  NDLFS_TRY(const auto entries, store_->List("refs"));
  for (const StoreEntry& entry : entries) {
    const std::string_view prefix = FolderPrefix(kind);
    if (!entry.is_prefix || !entry.name.starts_with(prefix)) continue;
    const auto pinned = ReadRefV1({kind, entry.name.substr(prefix.size())});
    if (!pinned && pinned.error().code() == model::ErrorCode::kNotFound) continue;
    if (!pinned) return model::Propagate(pinned.error());
    refs.push_back({entry.name.substr(prefix.size()), pinned->snapshot});
    if (refs.size() > kMostRefs) return TooManyRefs();
  }
  std::ranges::sort(refs, {}, &NamedRef::name);
  return refs;
}

Result<RefNames> Repository::ListRefs() const {
  RefNames names;
  NDLFS_TRY(const auto repo, ReadRepoFile());
  if (!repo) {
    NDLFS_TRY(names.branches, ListRefsV1(Ref::Kind::kBranch));
    NDLFS_TRY(names.tags, ListRefsV1(Ref::Kind::kTag));
    return names;
  }
  const auto add = [&](const auto& refs, std::vector<NamedRef>& out) -> Result<void> {
    if (refs.size() > kMostRefs) return TooManyRefs();
    for (const auto* ref : refs) {
      NDLFS_TRY(const auto* snapshot, repo->At(ref->snapshot_index()));
      out.push_back({std::string(TextOf(ref->name())), IdOf(*snapshot->id())});
    }
    std::ranges::sort(out, {}, &NamedRef::name);
    return {};
  };
  NDLFS_RETURN_IF_ERROR(add(*repo->root->branches(), names.branches));
  NDLFS_RETURN_IF_ERROR(add(*repo->root->tags(), names.tags));
  return names;
}

Result<void> Repository::ForEachAncestor(const Ref& ref, const Visit& visit) const {
  NDLFS_TRY(const auto repo, ReadRepoFile());
  if (repo) {
    NDLFS_TRY(const size_t index, IndexOf(*repo, ref));
    return WalkIn(*repo, index, visit);
  }
  NDLFS_TRY(const Pinned pinned, ResolveV1(ref));
  return WalkV1(pinned.snapshot, visit);
}

Result<void> Repository::ForEachSnapshot(const Ref& ref, const Visit& visit) const {
  NDLFS_TRY(const auto repo, ReadRepoFile());
  if (repo) {
    NDLFS_TRY(const size_t index, IndexOf(*repo, ref));
    NDLFS_RETURN_IF_ERROR(WalkIn(*repo, index, visit));
    for (const auto* refs : {repo->root->branches(), repo->root->tags()}) {
      for (const auto* named : *refs) {
        (void)WalkIn(*repo, named->snapshot_index(), visit);
      }
    }
    return {};
  }
  NDLFS_RETURN_IF_ERROR(ForEachAncestor(ref, visit));
  for (const auto kind : {Ref::Kind::kBranch, Ref::Kind::kTag}) {
    NDLFS_TRY(const auto refs, ListRefsV1(kind));
    for (const NamedRef& named : refs) {
      const auto walked = WalkV1(named.snapshot, visit);
      if (!walked && walked.error().is_transient()) return walked;
    }
  }
  return {};
}

// An ancestor that has expired ends the history.
Result<void> Repository::WalkV1(const ObjectId& first, const Visit& visit) const {
  std::set<ObjectId> seen;
  std::optional<ObjectId> next = first;
  while (next) {
    if (!seen.insert(*next).second) {
      return model::Corrupt("the snapshot {} is its own ancestor", IdText(*next));
    }
    if (seen.size() > kMostAncestorsV1) {
      return model::Limit("a history of more than {} snapshots", kMostAncestorsV1);
    }
    auto payload = ReadSnapshot(*next);
    const bool is_gone = !payload && payload.error().code() == model::ErrorCode::kCorrupt;
    if (is_gone && seen.size() > 1) return {};
    NDLFS_TRY(const Bytes bytes, std::move(payload));
    NDLFS_TRY(const auto* root, VerifiedRoot<fb::Snapshot>(bytes), SnapshotKey(*next));
    if (!visit({*next, root->flushed_at(), std::string(TextOf(root->message()))})) return {};
    next = root->parent_id() ? std::optional(IdOf(*root->parent_id())) : std::nullopt;
  }
  return {};
}

}  // namespace ndlfs::backends::icechunk
