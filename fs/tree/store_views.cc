// SPDX-License-Identifier: MIT
#include "fs/tree/store_views.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "backends/base/heap.h"
#include "fs/tree/inode_table.h"
#include "fs/tree/later_elements.h"
#include "model/mutex.h"
#include "model/path_name.h"

namespace ndlfs::fs {
namespace {

using model::Result;
using StorePtr = std::shared_ptr<MountedStore>;

// `later` is set for an array that is noted for its elements.
EntityPart NotHeld(const Entity& entity, std::shared_ptr<const LaterElements> later) {
  return {.path = entity.path,
          .is_group = entity.is_group(),
          .generation = entity.generation,
          .version = entity.version,
          .loaded_from = entity.loaded_from,
          .permissions = entity.permissions,
          .mtime_ns = entity.mtime_ns,
          .held = nullptr,
          .later = std::move(later)};
}

// Holds the entity of a part, so that it keeps its generation. A group is not held, because its
// version serves as well without chunks; the same is true of an array until a chunk is read. If
// two arrays need each other, one holds the other.
EntityPart PartOf(const Entity& owner, const EntityPtr& entity) {
  EntityPart part = NotHeld(*entity, nullptr);
  const bool is_held = !entity->is_group() && (owner.is_group() || entity->path < owner.path);
  if (is_held) part.held = entity;
  return part;
}

// Collects the parts of a view while it is made. Thread-safe.
class Parts {
 public:
  void Add(EntityPtr entity) EXCLUDES(mutex_) {
    const model::MutexLock lock(mutex_);
    if (is_moved_) return;
    std::string path = entity->path;
    entities_.emplace(std::move(path), std::move(entity));
  }
  // Notes `entity`, an array of `store`, for its elements of `size` bytes alone. There may be
  // very many, so it is held only once they are read.
  std::shared_ptr<const ElementSource> AddForElements(const StorePtr& store,
                                                      const EntityPtr& entity, uint64_t size)
      EXCLUDES(mutex_) {
    auto later = std::make_shared<const LaterElements>(store, *entity, size, later_bytes_);
    // Other programs have read it; the ledger can tell whether it has changed.
    if (entity->ledger->has_notes()) later->Hold(entity);
    Later part = {NotHeld(*entity, later), entity->held_bytes};
    const model::MutexLock lock(mutex_);
    if (is_moved_) return later;
    return later_.emplace(entity->path, std::move(part)).first->second.part.later;
  }
  // The result of an earlier look at `path`, so that all of a view is made of one look. nullopt
  // if there was none.
  std::optional<Result<EntityPtr>> Known(const std::string& path) const EXCLUDES(mutex_) {
    const model::MutexLock lock(mutex_);
    if (const auto known = entities_.find(path); known != entities_.end()) return known->second;
    if (absent_.contains(path)) return model::NotFound("{}", path);
    return std::nullopt;
  }
  // Whether `entity` is not what was found there before.
  bool Contradicts(const Entity& entity) const EXCLUDES(mutex_) {
    const model::MutexLock lock(mutex_);
    const auto known = later_.find(entity.path);
    return known != later_.end() && known->second.part.version != entity.version;
  }
  void AddListing(const std::string& path, uint64_t hash) EXCLUDES(mutex_) {
    const model::MutexLock lock(mutex_);
    listings_.emplace(path, hash);
  }
  void AddAbsent(std::string path) EXCLUDES(mutex_) {
    const model::MutexLock lock(mutex_);
    absent_.insert(std::move(path));
  }
  // Notes them in `view`, a file of `owner`. A view made of the same things has the same
  // generation.
  void MoveTo(const Entity& owner, EntityView& view) EXCLUDES(mutex_) {
    const model::MutexLock lock(mutex_);
    view.parts.reserve(entities_.size() + later_.size());
    for (const auto& [path, entity] : entities_) {
      EntityPart part = PartOf(owner, entity);
      if (part.held) view.most_parts_bytes += entity->held_bytes;
      AddTo(view, std::move(part));
    }
    for (auto& [path, later] : later_) {
      view.most_parts_bytes += later.bytes;
      view.later_bytes += later.bytes;
      AddTo(view, std::move(later.part));
    }
    view.held_later_bytes = later_bytes_;
    for (const auto& [path, hash] : listings_)
      view.generation = HashNumber(view.generation, hash);
    for (const std::string& path : absent_) view.generation = HashPath(view.generation, path);
    view.listings = std::move(listings_);
    view.absent = std::move(absent_);
    // The view may hold this, and must not hold entities by it.
    entities_.clear();
    later_.clear();
    is_moved_ = true;
  }

 private:
  struct Later {
    EntityPart part;
    uint64_t bytes;  // of its entity
  };

  static void AddTo(EntityView& view, EntityPart part) {
    view.generation =
        HashNumber(view.generation, part.is_group ? part.version : part.generation);
    view.parts.push_back(std::move(part));
  }

  const std::shared_ptr<std::atomic<uint64_t>> later_bytes_ =
      std::make_shared<std::atomic<uint64_t>>(0);
  mutable model::Mutex mutex_;
  std::map<std::string, EntityPtr> entities_ GUARDED_BY(mutex_);
  std::map<std::string, Later> later_ GUARDED_BY(mutex_);
  bool is_moved_ GUARDED_BY(mutex_) = false;
  std::map<std::string, uint64_t> listings_ GUARDED_BY(mutex_);
  std::set<std::string> absent_ GUARDED_BY(mutex_);
};

// A group as its views see it, with a note of everything that they ask for.
class StoreGroup final : public GroupInput, public std::enable_shared_from_this<StoreGroup> {
 public:
  // The group of `entity`.
  StoreGroup(StorePtr store, const EntityPtr& entity, std::shared_ptr<Parts> parts)
      : store_(std::move(store)),
        path_(entity->path),
        parts_(std::move(parts)),
        node_(entity->node) {}
  // The group at `path`, which is loaded when somebody asks for its node.
  StoreGroup(StorePtr store, std::string path, std::shared_ptr<Parts> parts)
      : store_(std::move(store)), path_(std::move(path)), parts_(std::move(parts)) {}

  const std::string& path() const override { return path_; }
  const backends::Node& node() const override EXCLUDES(mutex_) {
    const model::MutexLock lock(mutex_);
    if (node_ == nullptr) node_ = NodeOfGroup(LoadNode(path_));
    return *node_;
  }
  std::shared_ptr<const StorePlace> Place() const override { return store_->place(); }
  std::shared_ptr<const GroupInput> Outer() const override {
    if (path_ == "/") return nullptr;
    return std::make_shared<const StoreGroup>(store_, std::string(model::ParentPath(path_)),
                                              parts_);
  }

  // Once: a listing may take a look at each child.
  Result<std::vector<std::string>> List() const override EXCLUDES(mutex_) {
    const model::MutexLock lock(mutex_);
    if (!names_) {
      NDLFS_TRY(const auto hierarchy, store_->Hierarchy());
      NDLFS_TRY(names_, hierarchy->List(path_), path_);
      parts_->AddListing(path_, HashNames(*names_));
    }
    return *names_;
  }
  // Notes the names that a listing has just found.
  void SetNames(std::vector<std::string> names) EXCLUDES(mutex_) {
    const model::MutexLock lock(mutex_);
    names_ = std::move(names);
  }

  Result<std::optional<backends::Link>> GetLink(std::string_view name) const override {
    NDLFS_TRY(const auto hierarchy, store_->Hierarchy());
    return hierarchy->GetLink(model::JoinPath(path_, name));
  }

  Result<GroupChild> Load(std::string_view name) const override {
    NDLFS_TRY(const auto entity, LoadEntity(model::JoinPath(path_, name)));
    return ChildOf(entity);
  }
  std::vector<std::shared_ptr<const backends::Node>> LoadTogether(
      std::span<const std::string> names) const override {
    const auto hierarchy = store_->Hierarchy();
    if (!hierarchy) return {};
    std::vector<std::string> paths;
    for (const std::string& name : names) {
      std::string path = model::JoinPath(path_, name);
      if (!parts_->Known(path)) paths.push_back(std::move(path));
    }
    return (*hierarchy)->LoadTogether(paths);
  }
  size_t loads_together() const override {
    const auto hierarchy = store_->Hierarchy();
    return hierarchy ? (*hierarchy)->loads_together() : 1;
  }
  Result<GroupChild> LoadForElements(std::string_view name) const override {
    NDLFS_TRY(const auto entity, FindEntity(model::JoinPath(path_, name)));
    auto child = ChildOf(entity);
    const bool has_elements = child && child->array && child->array->elements;
    if (has_elements && LaterElements::CanBeOf(*entity)) {
      child->array->elements =
          parts_->AddForElements(store_, entity, child->array->elements->size());
    } else {
      parts_->Add(entity);
    }
    return child;
  }

 private:
  Result<GroupChild> ChildOf(const EntityPtr& entity) const {
    if (entity->node == nullptr) return model::BadInput("{}", model::OneLine(entity->problems));
    GroupChild child;
    child.node = entity->node;
    if (entity->is_group()) {
      child.group = std::make_shared<const StoreGroup>(store_, entity, parts_);
    } else if (entity->reader) {
      child.array =
          MakeArrayInput(entity->node, entity->reader, store_->services().scan, entity->path);
      child.array->group = shared_from_this();
    }
    return child;
  }
  Result<EntityPtr> LoadEntity(std::string path) const {
    NDLFS_TRY(auto entity, FindEntity(std::move(path)));
    parts_->Add(entity);
    return entity;
  }
  // Notes only that there is none.
  Result<EntityPtr> FindEntity(std::string path) const {
    if (auto known = parts_->Known(path)) return *std::move(known);
    auto entity = store_->Get(path);
    if (entity && parts_->Contradicts(**entity)) return model::HasChanged(path);
    if (!entity && entity.error().code() == model::ErrorCode::kNotFound) {
      parts_->AddAbsent(std::move(path));
    }
    return entity;
  }
  Result<std::shared_ptr<const backends::Node>> LoadNode(const std::string& path) const {
    NDLFS_TRY(const auto entity, LoadEntity(path));
    if (entity->node == nullptr) return model::BadInput("{}", model::OneLine(entity->problems));
    return entity->node;
  }

  const StorePtr store_;
  const std::string path_;
  const std::shared_ptr<Parts> parts_;
  mutable model::Mutex mutex_;
  mutable std::shared_ptr<const backends::Node> node_ GUARDED_BY(mutex_);
  mutable std::optional<std::vector<std::string>> names_ GUARDED_BY(mutex_);
};

// Stands for a file that could not be made, until something changes.
class RefusedView final : public View {
 public:
  explicit RefusedView(model::Error reason) : reason_(std::move(reason)) {}
  std::optional<uint64_t> size() const override { return 0; }
  std::optional<model::Error> refusal() const override { return reason_; }
  Result<size_t> Read(uint64_t, backends::ByteSpan) const override {
    return model::Propagate(reason_);
  }

 private:
  const model::Error reason_;
};

ArrayInput InputOf(const StorePtr& store, const Entity& entity,
                   const std::shared_ptr<Parts>& parts) {
  ArrayInput input = MakeArrayInput(entity.node, entity.reader, store->services().scan);
  input.place = store->place();
  if (entity.path == "/") return input;
  input.group = std::make_shared<const StoreGroup>(
      store, std::string(model::ParentPath(entity.path)), parts);
  return input;
}

// Left to itself, the allocator keeps what was used to make a view of so many.
constexpr size_t kManyViewParts = 1000;

// Whether a view that is made of more than its entity is still what would be made now.
Result<bool> IsCurrent(const StorePtr& store, const EntityView& view) {
  NDLFS_TRY(const auto hierarchy, store->Hierarchy());
  const Freshness::Time looked_at = store->looked_at();
  const bool is_fresh = store->services().freshness.Holds(view.looked_at);
  // Each of the many files in a tree asks.
  if (is_fresh && DirectoryOf(view.node) && !view.is_outdated) return true;
  for (const EntityPart& part : view.parts) {
    const EntityPtr held = part.later ? part.later->entity() : part.held;
    if (part.later && held == nullptr) {
      if (is_fresh || MountedStore::VersionOf(*hierarchy, part.path) == part.version) continue;
      return false;
    }
    NDLFS_TRY(const auto now, store->Get(part.path));
    const bool is_same = part.is_group
                             ? now->is_group() && now->version == part.version
                             : now->generation == (held ? held->generation : part.generation);
    if (!is_same) return false;
  }
  if (!is_fresh) view.looked_at = looked_at;
  for (const std::string& path : view.absent) {
    const auto now = store->Get(path);
    if (now) return false;
    if (now.error().code() != model::ErrorCode::kNotFound) return model::Propagate(now.error());
  }
  for (const auto& [path, hash] : view.listings) {
    NDLFS_TRY(const auto names, hierarchy->List(path), path);
    if (HashNames(names) != hash) return false;
  }
  return true;
}

// A part that is gone is a change, too.
Result<bool> IsUnchanged(const StorePtr& store, const EntityView& view) {
  auto current = IsCurrent(store, view);
  if (!current && current.error().code() == model::ErrorCode::kNotFound) return false;
  return current;
}

std::string NameOf(const MountedStore& store, const Entity& entity, std::string_view name) {
  return store.Describe() + (entity.path == "/" ? "" : entity.path) + '/' + std::string(name);
}

// Only a program that looks for a file which no listing shows needs to know why there is none.
// A name that means nothing is a mistake of the caller: the log says why, and not the files of
// the entity.
model::Failure Refuse(const MountedStore& store, const Entity& entity, const ViewName& file,
                      const model::Error& reason) {
  if (reason.is_transient()) {
    return model::Propagate(reason, NameOf(store, entity, file.name));
  }
  if (reason.code() == model::ErrorCode::kNotFound) {
    store.services().problems.Report(model::OneLine(NameOf(store, entity, file.name)) + ": " +
                                     reason.message());
    return model::NotFound("{}", file.name);
  }
  if (entity.is_group() || !store.services().listed_views.Shows(file)) {
    entity.NoteFailure(NameOf(store, entity, file.name), reason);
  }
  return model::NotFound("{}", file.name);
}

// The name of an array that is a whole store: that of the file, without its extension.
std::string ArrayName(const MountedStore& store) {
  return std::string(StemOf(store.place()->name));
}

// `input` and `provider` are of the same kind. `to_find` is the same input, but what is read to
// find the file is no part of it: coordinates that a name is looked up in.
template <typename Input>
Result<EntityViewPtr> FindWith(const ViewProvider<Input>& provider, const Input& to_find,
                               const Input& input, const StorePtr& store,
                               const EntityPtr& entity, std::string_view name, Parts& parts) {
  const auto file = provider.Find(to_find, name);
  if (!file) return model::NotFound("{}", name);
  EntityViewPtr kept = entity->views->Find(file->name);
  if (kept) {
    NDLFS_TRY(const bool unchanged, IsUnchanged(store, *kept));
    if (!unchanged) kept = nullptr;
  }
  const auto refusal = kept ? kept->refusal() : file->refusal;
  if (refusal) return Refuse(*store, *entity, *file, *refusal);
  if (kept) {
    store->Touch(entity);
    return kept;
  }
  auto made = std::make_shared<EntityView>();
  made->name = file->name;
  made->looked_at = store->looked_at();
  made->generation = entity->generation;
  auto view = provider.Make(input, file->name);
  if (!view && view.error().is_of_system()) {
    return model::Propagate(std::move(view).error(), NameOf(*store, *entity, file->name));
  }
  if (view) {
    made->node = *std::move(view);
  } else {
    made->node = std::make_shared<const RefusedView>(view.error());
  }
  parts.MoveTo(*entity, *made);
  if (made->parts.size() >= kManyViewParts) backends::GiveBackFreeMemory();
  kept = entity->views->Keep(std::move(made));
  // Last, so that it is not dropped for its own parts.
  store->Touch(entity);
  if (view) return kept;
  entity->NoteFailure(NameOf(*store, *entity, file->name), view.error());
  return model::NotFound("{}", file->name);
}

// Adds `others`, the files of a group that a single array has, too. No listing shows them
// unless an option says so.
void AddByName(std::vector<ViewName> others, std::vector<ViewName>& names) {
  for (ViewName& file : others) {
    file.is_listed = false;
    const bool is_known = std::ranges::any_of(
        names, [&](const ViewName& known) { return known.name == file.name; });
    if (!is_known) names.push_back(std::move(file));
  }
}

// Asks the provider of the entity, and adds what is known about views that were made before.
template <typename Ask>
std::vector<ViewName> NamesBy(const Ask& ask, const StorePtr& store, const EntityPtr& entity,
                              const std::vector<std::string>* children = nullptr) {
  const StoreServices& services = store->services();
  std::vector<ViewName> names;
  const auto parts = std::make_shared<Parts>();
  if (entity->is_group()) {
    const auto group = std::make_shared<StoreGroup>(store, entity, parts);
    if (children != nullptr) group->SetNames(*children);
    names = ask(*services.group_views, *group);
  } else if (entity->reader) {
    const ArrayInput input = InputOf(store, *entity, parts);
    names = ask(*services.array_views, input);
    if (entity->path == "/") {
      const auto group = MakeGroupOfArray(input, ArrayName(*store));
      AddByName(ask(*services.group_views, *group), names);
    }
  }
  for (ViewName& file : names) {
    const auto kept = entity->views->Find(file.name);
    if (kept && !file.refusal) file.refusal = kept->refusal();
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

std::vector<ViewName> ListShownViews(const StorePtr& store, const EntityPtr& entity,
                                     const std::vector<std::string>& children) {
  const auto ask = [&](const auto& provider, const auto& input) {
    return provider.Listed(input, store->services().listed_views);
  };
  std::vector<ViewName> names = NamesBy(ask, store, entity, &children);
  std::erase_if(
      names, [&](const ViewName& file) { return !store->services().listed_views.Shows(file); });
  return names;
}

Result<EntityViewPtr> FindView(const StorePtr& store, const EntityPtr& entity,
                               std::string_view name) {
  const StoreServices& services = store->services();
  const auto parts = std::make_shared<Parts>();
  if (entity->is_group()) {
    const auto group = std::make_shared<const StoreGroup>(store, entity, parts);
    return FindWith<GroupInput>(*services.group_views, *group, *group, store, entity, name,
                                *parts);
  }
  if (!entity->reader) return model::NotFound("{}", name);
  const ArrayInput to_find = InputOf(store, *entity, std::make_shared<Parts>());
  if (entity->path == "/" && !services.array_views->Find(to_find, name)) {
    const auto group = MakeGroupOfArray(InputOf(store, *entity, parts), ArrayName(*store));
    return FindWith<GroupInput>(*services.group_views, *group, *group, store, entity, name,
                                *parts);
  }
  return FindWith(*services.array_views, to_find, InputOf(store, *entity, parts), store, entity,
                  name, *parts);
}

Result<FoundView> FindViewAgain(const StorePtr& store, const std::string& path,
                                const std::string& name, const std::string& below) {
  const auto find = [&]() -> Result<FoundView> {
    NDLFS_TRY(EntityPtr entity, store->Get(path));
    NDLFS_TRY(EntityViewPtr made, FindView(store, entity, name));
    NDLFS_TRY(ViewNode node, FindBelow(made->node, below));
    return FoundView{std::move(entity), std::move(made), std::move(node)};
  };
  auto found = find();
  if (!found && found.error().code() == model::ErrorCode::kNotFound) {
    return model::HasChanged(path);
  }
  return found;
}

bool MayHaveView(const StorePtr& store, const EntityPtr& entity, std::string_view name) {
  const StoreServices& services = store->services();
  const auto parts = std::make_shared<Parts>();
  const auto is_there = [](const std::optional<ViewName>& file) {
    return file && !file->refusal;
  };
  if (entity->node == nullptr) return false;
  if (entity->is_group()) {
    const auto group = std::make_shared<const StoreGroup>(store, entity, parts);
    return is_there(services.group_views->Find(*group, name));
  }
  if (!entity->reader) return false;
  const ArrayInput input = InputOf(store, *entity, parts);
  if (is_there(services.array_views->Find(input, name))) return true;
  if (entity->path != "/") return false;
  const auto group = MakeGroupOfArray(input, ArrayName(*store));
  return is_there(services.group_views->Find(*group, name));
}

std::optional<uint64_t> FindViewSize(const MountedStore& store, const EntityPtr& entity,
                                     std::string_view name) {
  if (!entity->is_array() || !entity->reader) return std::nullopt;
  const ArrayInput input = MakeArrayInput(entity->node, entity->reader, store.services().scan);
  return store.services().array_views->SizeOf(input, name);
}

}  // namespace ndlfs::fs
