// SPDX-License-Identifier: MIT
#include "fs/tree/store_views.h"

#include <algorithm>
#include <cerrno>
#include <map>
#include <string>
#include <utility>

#include "fs/tree/inode_table.h"
#include "model/mutex.h"
#include "model/path_name.h"

namespace ndlfs::fs {
namespace {

using model::Result;
using StorePtr = std::shared_ptr<MountedStore>;

uint64_t HashNames(const std::vector<std::string>& names) {
  uint64_t hash = names.size();
  for (const std::string& name : names) hash = HashPath(hash, name);
  return hash;
}

uint64_t Mix(uint64_t hash, uint64_t number) {
  return HashPath(hash, {reinterpret_cast<const char*>(&number), sizeof(number)});
}

// What a view of a group was made of. Thread-safe.
class Parts {
 public:
  void Add(EntityPtr entity) EXCLUDES(mutex_) {
    const model::MutexLock lock(mutex_);
    std::string path = entity->path;
    entities_.emplace(std::move(path), std::move(entity));
  }
  void AddListing(const std::string& path, uint64_t hash) EXCLUDES(mutex_) {
    const model::MutexLock lock(mutex_);
    listings_.emplace(path, hash);
  }
  // A view made of the same things has the same generation.
  void MoveTo(EntityView& view) EXCLUDES(mutex_) {
    const model::MutexLock lock(mutex_);
    for (auto& [path, entity] : entities_) {
      view.generation = Mix(view.generation, entity->generation);
      view.parts_bytes += entity->held_bytes;
      view.parts.push_back(std::move(entity));
    }
    for (const auto& [path, hash] : listings_) view.generation = Mix(view.generation, hash);
    view.listings = std::move(listings_);
  }

 private:
  model::Mutex mutex_;
  std::map<std::string, EntityPtr> entities_ GUARDED_BY(mutex_);
  std::map<std::string, uint64_t> listings_ GUARDED_BY(mutex_);
};

// A group as its views see it, with a note of everything that they ask for.
class StoreGroup final : public GroupInput {
 public:
  StoreGroup(StorePtr store, EntityPtr entity, std::shared_ptr<Parts> parts)
      : store_(std::move(store)), entity_(std::move(entity)), parts_(std::move(parts)) {}

  const std::string& path() const override { return entity_->path; }
  const backends::Node& node() const override { return *entity_->node; }

  Result<std::vector<std::string>> List() const override {
    NDLFS_TRY(const auto hierarchy, store_->Hierarchy());
    NDLFS_TRY(auto names, hierarchy->List(path()), path());
    parts_->AddListing(path(), HashNames(names));
    return names;
  }

  Result<std::optional<backends::Link>> GetLink(std::string_view name) const override {
    NDLFS_TRY(const auto hierarchy, store_->Hierarchy());
    return hierarchy->GetLink(model::JoinPath(path(), name));
  }

  Result<GroupChild> Load(std::string_view name) const override {
    NDLFS_TRY(auto entity, store_->Get(model::JoinPath(path(), name)));
    parts_->Add(entity);
    if (entity->node == nullptr) return model::BadInput("{}", model::OneLine(entity->problems));
    GroupChild child;
    child.node = entity->node;
    if (entity->is_group()) {
      child.group = std::make_shared<const StoreGroup>(store_, std::move(entity), parts_);
    } else if (entity->reader) {
      child.array =
          MakeArrayInput(entity->node, entity->reader, store_->services().scan, entity->path);
    }
    return child;
  }

 private:
  const StorePtr store_;
  const EntityPtr entity_;
  const std::shared_ptr<Parts> parts_;
};

ArrayInput InputOf(const MountedStore& store, const Entity& entity) {
  return MakeArrayInput(entity.node, entity.reader, store.services().scan);
}

// Whether a view of a group is still what would be made now.
Result<bool> IsCurrent(const StorePtr& store, const EntityView& view) {
  for (const EntityPtr& part : view.parts) {
    NDLFS_TRY(const auto now, store->Get(part->path));
    if (now->generation != part->generation) return false;
  }
  if (view.listings.empty()) return true;
  NDLFS_TRY(const auto hierarchy, store->Hierarchy());
  for (const auto& [path, hash] : view.listings) {
    NDLFS_TRY(const auto names, hierarchy->List(path), path);
    if (HashNames(names) != hash) return false;
  }
  return true;
}

// What has gone is a change, too.
Result<bool> IsUnchanged(const StorePtr& store, const EntityView& view) {
  auto current = IsCurrent(store, view);
  if (!current && current.error().code() == model::ErrorCode::kNotFound) return false;
  return current;
}

std::string NameOf(const MountedStore& store, const Entity& entity, std::string_view name) {
  return store.Describe() + (entity.path == "/" ? "" : entity.path) + '/' + std::string(name);
}

// Of a file that no listing shows, only those need to know who look for it.
model::Failure Refuse(const MountedStore& store, const Entity& entity, const ViewName& file,
                      const model::Error& reason) {
  if (entity.is_group() || !store.services().listed_views.Shows(file)) {
    entity.NoteFailure(NameOf(store, entity, file.name), reason);
  }
  return model::NotFound("{}", file.name);
}

// `input` and `provider` are of the same kind; `parts` is null for arrays.
template <typename Input>
Result<EntityViewPtr> FindWith(const ViewProvider<Input>& provider, const Input& input,
                               const StorePtr& store, const EntityPtr& entity,
                               std::string_view name, Parts* parts) {
  const auto file = provider.Find(input, name);
  if (!file) return model::NotFound("{}", name);
  EntityViewPtr kept = entity->views->Find(file->name);
  if (kept && parts != nullptr) {
    NDLFS_TRY(const bool unchanged, IsUnchanged(store, *kept));
    if (!unchanged) kept = nullptr;
  }
  const auto refusal = kept ? kept->view->refusal() : file->refusal;
  if (refusal) return Refuse(*store, *entity, *file, *refusal);
  if (kept) {
    store->Touch(entity);
    return kept;
  }
  auto made = std::make_shared<EntityView>();
  made->name = file->name;
  made->generation = entity->generation;
  auto view = provider.Make(input, file->name);
  if (!view && view.error().code() == model::ErrorCode::kIo) {
    return model::Propagate(std::move(view).error(), NameOf(*store, *entity, file->name));
  }
  if (!view) {
    entity->NoteFailure(NameOf(*store, *entity, file->name), view.error());
    return model::NotFound("{}", file->name);
  }
  made->view = *std::move(view);
  if (parts != nullptr) parts->MoveTo(*made);
  kept = entity->views->Keep(std::move(made));
  // Last, so that it is not dropped for its own parts.
  store->Touch(entity);
  return kept;
}

// What `ask` learns from the provider of the entity, with what is known of views made already.
template <typename Ask>
std::vector<ViewName> NamesBy(const Ask& ask, const StorePtr& store, const EntityPtr& entity) {
  const StoreServices& services = store->services();
  std::vector<ViewName> names;
  if (entity->is_group()) {
    const StoreGroup group(store, entity, std::make_shared<Parts>());
    names = ask(*services.group_views, group);
  } else if (entity->reader) {
    names = ask(*services.array_views, InputOf(*store, *entity));
  }
  for (ViewName& file : names) {
    const auto kept = entity->views->Find(file.name);
    if (kept && !file.refusal) file.refusal = kept->view->refusal();
  }
  return names;
}

}  // namespace

std::vector<ViewName> ListViews(const StorePtr& store, const EntityPtr& entity) {
  const auto ask = [](const auto& provider, const auto& input) {
    return provider.Names(input);
  };
  return NamesBy(ask, store, entity);
}

std::vector<ViewName> ListShownViews(const StorePtr& store, const EntityPtr& entity) {
  const auto ask = [&](const auto& provider, const auto& input) {
    return provider.Listed(input, store->services().listed_views);
  };
  return NamesBy(ask, store, entity);
}

Result<EntityViewPtr> FindView(const StorePtr& store, const EntityPtr& entity,
                               std::string_view name) {
  const StoreServices& services = store->services();
  if (entity->is_group()) {
    const auto parts = std::make_shared<Parts>();
    const StoreGroup group(store, entity, parts);
    return FindWith<GroupInput>(*services.group_views, group, store, entity, name, parts.get());
  }
  if (!entity->reader) return model::NotFound("{}", name);
  return FindWith(*services.array_views, InputOf(*store, *entity), store, entity, name,
                  nullptr);
}

}  // namespace ndlfs::fs
