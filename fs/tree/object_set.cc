// SPDX-License-Identifier: MIT
#include "fs/tree/object_set.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "backends/store/answer_age.h"
#include "fs/tree/path_hash.h"
#include "fs/tree/store/mounted_store.h"
#include "fs/tree/view/later_elements.h"

namespace ndlfs::fs {
namespace {

using model::Result;
using Kind = ObjectSet::Kind;

Result<uint64_t> AskVersion(MountedStore& store, const backends::Hierarchy& hierarchy,
                            const std::string& path, Kind kind) {
  switch (kind) {
    case Kind::kMetadata:
      return hierarchy.Version(path);
    case Kind::kNames:
      return hierarchy.List(path).map(&HashNames);
    case Kind::kData:
    case Kind::kAbsent:
      break;
  }
  return store.Get(path).map([](const EntityPtr& entity) { return entity->generation(); });
}

// 0 where nothing is there that has a version. Where nothing was, an error does not tell that
// this is still so.
Result<uint64_t> VersionNow(MountedStore& store, const backends::Hierarchy& hierarchy,
                            const std::string& path, Kind kind) {
  auto version = AskVersion(store, hierarchy, path, kind);
  if (version) return version;
  const bool is_told = kind == Kind::kAbsent
                           ? version.error().code() == model::ErrorCode::kNotFound
                           : !version.error().is_momentary();
  return is_told ? Result<uint64_t>(0) : std::move(version);
}

// A view holds its parts, so that they keep their generation. A group need not be held: it has
// no chunks, so its version says as much. Neither need an array whose chunks nobody has read.
// If two arrays need each other, one holds the other.
bool IsHeld(const Entity& entity, const Entity* owner) {
  return !entity.is_group() && owner != nullptr &&
         (owner->is_group() || entity.path() < owner->path());
}

}  // namespace

Result<bool> ObjectSet::IsUnchanged(MountedStore& store) const {
  const Freshness& freshness = store.services().freshness;
  const backends::AnswerAge age(freshness.Now());
  NDLFS_TRY(const auto hierarchy, store.Hierarchy());
  if (opening_ != store.Opening(*hierarchy)) return false;
  const bool is_fresh = freshness.MayUse(looked_at_);
  const auto is_same = [&](const std::string& path, Kind kind,
                           uint64_t version) -> Result<bool> {
    if (is_fresh && kind != Kind::kData) return true;
    NDLFS_TRY(const uint64_t now, VersionNow(store, *hierarchy, path, kind));
    return now == version;
  };
  for (const Array& array : arrays_) {
    const EntityPtr held = array.later ? array.later->entity() : array.entity;
    NDLFS_TRY(const bool same,
              held ? is_same(held->path(), Kind::kData, held->generation())
                   : is_same(array.later->path(), Kind::kMetadata, array.later->version()));
    if (!same) return false;
  }
  for (const Part& part : parts_) {
    if (part.ledger) {
      if (is_fresh ? part.ledger->has_changed() : part.ledger->Changed()) return false;
      continue;
    }
    NDLFS_TRY(const bool same, is_same(part.path, part.kind, part.version));
    if (!same) return false;
  }
  if (!is_fresh) looked_at_ = age.since();
  return true;
}

bool ObjectSet::HasOtherMetadata(
    MountedStore& store, const std::weak_ptr<const backends::Hierarchy>& loaded_from) const {
  const auto is_other = [&](const std::string& path, uint64_t version) {
    return store.HasOtherMetadata(loaded_from, path, version);
  };
  return std::ranges::any_of(
             arrays_,
             [&](const Array& array) {
               return array.later ? is_other(array.later->path(), array.later->version())
                                  : is_other(array.entity->path(), array.entity->version());
             }) ||
         std::ranges::any_of(parts_, [&](const Part& part) {
           return part.kind == Kind::kMetadata && is_other(part.path, part.version);
         });
}

uint64_t ObjectSet::Hash(uint64_t seed) const {
  for (const Array& array : arrays_) seed = HashNumber(seed, array.generation);
  for (const Part& part : parts_) {
    // The generation of an array tells its metadata, too.
    seed = part.version == 0 ? HashPath(seed, part.path) : HashNumber(seed, part.version);
  }
  return seed;
}

std::optional<std::string> ObjectSet::VersionsText() const {
  std::string text;
  const auto add = [&](const std::string& path, Kind kind, uint64_t version) {
    (text += path) += '\0';
    text += fmt::format("{}.{:x} ", static_cast<int>(kind), version);
    return version != 0 || kind == Kind::kAbsent;
  };
  for (const Array& array : arrays_) {
    const bool has_version =
        array.later ? add(array.later->path(), Kind::kMetadata, array.later->version())
                    : add(array.entity->path(), Kind::kMetadata, array.entity->version());
    if (!has_version) return std::nullopt;
  }
  for (const Part& part : parts_) {
    // A number of this process; the metadata of the array are a part of their own.
    if (part.kind == Kind::kData) continue;
    if (!add(part.path, part.kind, part.version)) return std::nullopt;
  }
  return text;
}

std::optional<std::vector<std::shared_ptr<const Entity>>> ObjectSet::ArraysNow(
    MountedStore& store) const {
  std::vector<std::shared_ptr<const Entity>> arrays;
  for (const Array& array : arrays_) {
    auto held = array.later ? array.later->entity() : array.entity;
    if (held) arrays.push_back(std::move(held));  // else nobody has read it
  }
  for (const Part& part : parts_) {
    if (part.kind != Kind::kData) continue;
    const auto entity = store.Get(part.path);
    if (!entity || (*entity)->generation() != part.version) return std::nullopt;
    arrays.push_back(*entity);
  }
  return arrays;
}

backends::Permissions ObjectSet::CommonPermissionsWith(
    backends::Permissions permissions) const {
  for (const backends::Permissions& other : permissions_) {
    permissions = CommonPermissions(permissions, other);
  }
  return permissions;
}

uint64_t ObjectSet::list_bytes() const {
  uint64_t bytes = arrays_.size() * sizeof(Array);
  for (const Part& part : parts_) {
    bytes += sizeof(part) + part.path.size() + (part.ledger ? sizeof(cache::ChunkLedger) : 0);
  }
  return bytes;
}

uint64_t ObjectSet::held_bytes() const {
  return own_held_bytes_ + (later_held_bytes_ ? later_held_bytes_->load() : 0);
}

void ObjectNotes::Note(Kind kind, std::string_view path, uint64_t version) {
  const model::MutexLock lock(mutex_);
  if (!is_moved_) parts_.try_emplace({std::string(path), kind}, Noted{version});
}

void ObjectNotes::NoteData(const Entity& entity) {
  const model::MutexLock lock(mutex_);
  if (!is_moved_) AddData(entity);
}

void ObjectNotes::AddData(const Entity& entity) {
  const bool is_settled = !entity.facts().is_transient;
  if (is_settled && entity.ledger() == nullptr) return;  // it has no data
  parts_.try_emplace({entity.path(), Kind::kData},
                     Noted{entity.generation(), is_settled ? entity.ledger() : nullptr});
}

void ObjectNotes::Note(EntityPtr entity) {
  const model::MutexLock lock(mutex_);
  if (is_moved_) return;
  const auto [place, is_new] = entities_.try_emplace(entity->path(), entity);
  if (is_new) NoteFacts(*entity);
}

std::shared_ptr<const LaterElements> ObjectNotes::NoteForElements(
    const std::shared_ptr<MountedStore>& store, const EntityPtr& entity, uint64_t size) {
  auto later = std::make_shared<const LaterElements>(store, *entity, size, later_held_bytes_);
  // What others have read of it tells whether it has changed.
  if (entity->ledger()->has_notes()) later->Hold(entity);
  const model::MutexLock lock(mutex_);
  if (is_moved_) return later;
  const auto [place, is_new] =
      later_.try_emplace(entity->path(), Later{std::move(later), entity->generation()});
  if (is_new) {
    NoteFacts(*entity);
    later_bytes_ += entity->facts().held_bytes;
  }
  return place->second.elements;
}

void ObjectNotes::NoteFacts(const Entity& entity) {
  mtime_ns_ = std::max(mtime_ns_, entity.facts().mtime_ns);
  if (std::ranges::find(permissions_, entity.facts().permissions) == permissions_.end()) {
    permissions_.push_back(entity.facts().permissions);
  }
}

std::optional<Result<ObjectNotes::EntityPtr>> ObjectNotes::Known(
    const std::string& path) const {
  const model::MutexLock lock(mutex_);
  if (const auto known = entities_.find(path); known != entities_.end()) return known->second;
  if (parts_.contains({path, Kind::kAbsent})) return model::NotFound("{}", path);
  return std::nullopt;
}

bool ObjectNotes::Contradicts(const Entity& entity) const {
  const model::MutexLock lock(mutex_);
  const auto known = later_.find(entity.path());
  return known != later_.end() && known->second.elements->version() != entity.version();
}

void ObjectNotes::Forget() {
  const model::MutexLock lock(mutex_);
  parts_.clear();
  entities_.clear();
  later_.clear();
  later_bytes_ = 0;
  permissions_.clear();
  mtime_ns_ = 0;
}

void ObjectNotes::MoveTo(ObjectSet& set, const Entity* owner, Freshness::Time looked_at,
                         uint64_t opening) {
  const model::MutexLock lock(mutex_);
  for (const auto& [path, entity] : entities_) {
    if (IsHeld(*entity, owner)) {
      set.arrays_.push_back({entity, nullptr, entity->generation()});
      set.own_held_bytes_ += entity->facts().held_bytes;
      continue;
    }
    parts_.try_emplace({path, Kind::kMetadata}, Noted{entity->version()});
    if (!entity->is_group()) AddData(*entity);
  }
  for (auto& [path, later] : later_) {
    set.arrays_.push_back({nullptr, std::move(later.elements), later.generation});
  }
  set.parts_.reserve(parts_.size());
  while (!parts_.empty()) {
    auto part = parts_.extract(parts_.begin());
    set.parts_.push_back({std::move(part.key().first), part.key().second, part.mapped().version,
                          std::move(part.mapped().ledger)});
  }
  set.arrays_.shrink_to_fit();
  set.permissions_ = std::move(permissions_);
  set.mtime_ns_ = mtime_ns_;
  set.most_held_bytes_ = set.own_held_bytes_ + later_bytes_;
  set.later_held_bytes_ = later_held_bytes_;
  set.looked_at_ = looked_at;
  set.opening_ = opening;
  entities_.clear();
  later_.clear();
  is_moved_ = true;
}

}  // namespace ndlfs::fs
