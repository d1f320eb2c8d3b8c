// SPDX-License-Identifier: MIT
#include "fs/tree/store/store_views.h"

#include <algorithm>
#include <cerrno>
#include <string>
#include <utility>

#include "backends/base/heap.h"
#include "backends/store/answer_age.h"
#include "fs/tree/path_hash.h"
#include "fs/tree/view/later_elements.h"
#include "model/mutex.h"
#include "model/path_name.h"

namespace ndlfs::fs {
namespace {

using model::Result;
using StorePtr = std::shared_ptr<MountedStore>;

// A group as its views see it, with a note of everything that they ask for.
class StoreGroup final : public GroupInput, public std::enable_shared_from_this<StoreGroup> {
 public:
  // The group of `entity`.
  StoreGroup(StorePtr store, const EntityPtr& entity, std::shared_ptr<ObjectNotes> notes)
      : store_(std::move(store)),
        path_(entity->path()),
        notes_(std::move(notes)),
        node_(entity->node()) {}
  // The group at `path`, which is loaded when somebody asks for its node.
  StoreGroup(StorePtr store, std::string path, std::shared_ptr<ObjectNotes> notes)
      : store_(std::move(store)), path_(std::move(path)), notes_(std::move(notes)) {}

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
                                              notes_);
  }

  // Once: a listing may take a look at each child.
  Result<std::vector<std::string>> List() const override EXCLUDES(mutex_) {
    const model::MutexLock lock(mutex_);
    if (!names_) {
      NDLFS_TRY(const auto hierarchy, store_->Hierarchy());
      NDLFS_TRY(names_, hierarchy->List(path_), path_);
      notes_->Note(ObjectSet::Kind::kNames, path_, HashNames(*names_));
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
      if (!notes_->Known(path)) paths.push_back(std::move(path));
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
          notes_->NoteForElements(store_, entity, child->array->elements->size());
    } else {
      notes_->Note(entity);
    }
    return child;
  }

 private:
  Result<GroupChild> ChildOf(const EntityPtr& entity) const {
    if (entity->node() == nullptr) return model::BadInput("{}", entity->ProblemLine());
    GroupChild child;
    child.node = entity->node();
    if (entity->is_group()) {
      child.group = std::make_shared<const StoreGroup>(store_, entity, notes_);
    } else if (entity->reader()) {
      child.array = MakeArrayInput(entity->node(), entity->reader(), store_->services().scan,
                                   entity->path());
      child.array->group = shared_from_this();
      child.array->passes_stored_chunks = store_->services().passes_stored_chunks;
    }
    return child;
  }
  Result<EntityPtr> LoadEntity(std::string path) const {
    NDLFS_TRY(auto entity, FindEntity(std::move(path)));
    notes_->Note(entity);
    return entity;
  }
  // Notes only that there is none.
  Result<EntityPtr> FindEntity(std::string path) const {
    if (auto known = notes_->Known(path)) return *std::move(known);
    // A link is another folder's object. That it is none itself is no problem to be logged.
    NDLFS_TRY(const auto hierarchy, store_->Hierarchy());
    if (hierarchy->GetLink(path)) return model::BadInput("{} is a link", model::Quote(path));
    auto entity = store_->Get(path);
    if (entity && notes_->Contradicts(**entity)) return model::HasChanged(path);
    if (!entity && entity.error().code() == model::ErrorCode::kNotFound) {
      notes_->Note(ObjectSet::Kind::kAbsent, path, 0);
    }
    return entity;
  }
  Result<std::shared_ptr<const backends::Node>> LoadNode(const std::string& path) const {
    NDLFS_TRY(const auto entity, LoadEntity(path));
    if (entity->node() == nullptr) return model::BadInput("{}", entity->ProblemLine());
    return entity->node();
  }

  const StorePtr store_;
  const std::string path_;
  const std::shared_ptr<ObjectNotes> notes_;
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
                   const std::shared_ptr<ObjectNotes>& notes) {
  ArrayInput input = MakeArrayInput(entity.node(), entity.reader(), store->services().scan);
  input.place = store->place();
  input.passes_stored_chunks = store->services().passes_stored_chunks;
  if (entity.path() == "/") return input;
  input.group = std::make_shared<const StoreGroup>(
      store, std::string(model::ParentPath(entity.path())), notes);
  return input;
}

// Left to itself, the allocator keeps what was used to make a view of so many.
constexpr size_t kManyViewParts = 1000;

// Whether a view that was made before is still what would be made now. Each of the many files
// in a tree asks.
Result<bool> IsUnchanged(const StorePtr& store, const EntityView& view) {
  const bool is_tree = DirectoryOf(view.node) && !view.is_outdated;
  if (is_tree && store->services().freshness.MayUse(view.objects.looked_at())) return true;
  return view.objects.IsUnchanged(*store);
}

std::string NameOf(const MountedStore& store, const Entity& entity, std::string_view name) {
  return store.Describe() + (entity.path() == "/" ? "" : entity.path()) + '/' +
         std::string(name);
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
  } else if (entity.is_group() || !store.services().listed_views.Shows(file)) {
    entity.NoteFailure(NameOf(store, entity, file.name), reason);
  }
  return model::NotFound("{}: {}", file.name, reason.message());
}

// The name of an array that is a whole store: that of the file, without its extension.
std::string ArrayName(const MountedStore& store) {
  return std::string(StemOf(store.place()->name));
}

bool IsThere(const std::optional<Resolution>& file) { return file && !file->refusal; }

// A file, with the input that makes it.
struct Resolved {
  std::shared_ptr<const GroupInput> group;
  std::shared_ptr<const ArrayInput> array;
  std::optional<Resolution> file;
};

Resolved Resolve(const StorePtr& store, const EntityPtr& entity, std::string_view name,
                 const std::shared_ptr<ObjectNotes>& notes) {
  const StoreServices& services = store->services();
  Resolved found;
  if (entity->is_group()) {
    found.group = std::make_shared<const StoreGroup>(store, entity, notes);
    found.file = services.group_views->Resolve(*found.group, name);
    return found;
  }
  if (!entity->reader()) return found;
  found.array = std::make_shared<const ArrayInput>(InputOf(store, *entity, notes));
  found.file = services.array_views->Resolve(*found.array, name);
  // What was read to find the file is no part of it: coordinates that a name is looked up in.
  // The true name has indices, for which nothing is read.
  if (IsThere(found.file) && found.file->name != name) {
    const std::string true_name = found.file->name;
    notes->Forget();
    found.file = services.array_views->Resolve(*found.array, true_name);
  }
  // A store that is one array has the files of a group as well. Brackets mean a slice to an
  // array, and may be a constraint of DAP to a group.
  if (entity->path() != "/" || IsThere(found.file)) return found;
  found.group = MakeGroupOfArray(*found.array, ArrayName(*store));
  auto of_group = services.group_views->Resolve(*found.group, name);
  if (!found.file || IsThere(of_group)) found.file = std::move(of_group);
  return found;
}

// A view that was made before, if it is still what would be made now.
Result<EntityViewPtr> FindKept(const StorePtr& store, const EntityPtr& entity,
                               std::string_view name) {
  EntityViewPtr kept = entity->views().Find(name);
  if (!kept) return kept;
  NDLFS_TRY(const bool unchanged, IsUnchanged(store, *kept));
  return unchanged ? kept : nullptr;
}

Result<EntityViewPtr> MakeResolved(const Resolution& file, const StorePtr& store,
                                   const EntityPtr& entity, ObjectNotes& notes,
                                   const backends::AnswerAge& age) {
  auto made = std::make_shared<EntityView>();
  made->name = file.name;
  auto view = file.make();
  if (!view && view.error().is_of_system()) {
    return model::Propagate(std::move(view).error(), NameOf(*store, *entity, file.name));
  }
  if (view) {
    made->node = *std::move(view);
  } else {
    made->node = std::make_shared<const RefusedView>(view.error());
  }
  notes.MoveTo(made->objects, entity.get(), age.since(), entity->facts().opening);
  made->generation = made->objects.Hash(entity->generation());
  if (made->objects.size() >= kManyViewParts) backends::GiveBackFreeMemory();
  EntityViewPtr kept = entity->views().Keep(std::move(made));
  // Last, so that it is not dropped for its own parts.
  store->Touch(entity);
  if (view) return kept;
  // Whoever has made up the part of a view that a name with brackets means.
  const bool is_of_caller = file.name.find('[') != std::string::npos;
  if (is_of_caller && view.error().code() == model::ErrorCode::kNotFound) {
    return Refuse(*store, *entity, file, view.error());
  }
  entity->NoteFailure(NameOf(*store, *entity, file.name), view.error());
  return model::NotFound("{}: {}", file.name, view.error().message());
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
  const auto notes = std::make_shared<ObjectNotes>();
  if (entity->is_group()) {
    const auto group = std::make_shared<StoreGroup>(store, entity, notes);
    if (children != nullptr) group->SetNames(*children);
    names = ask(*services.group_views, *group);
  } else if (entity->reader()) {
    const ArrayInput input = InputOf(store, *entity, notes);
    names = ask(*services.array_views, input);
    if (entity->path() == "/") {
      const auto group = MakeGroupOfArray(input, ArrayName(*store));
      AddByName(ask(*services.group_views, *group), names);
    }
  }
  for (ViewName& file : names) {
    const auto kept = entity->views().Find(file.name);
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
  const backends::AnswerAge age(store->services().freshness.Now());
  // A true name means what it has meant.
  NDLFS_TRY(EntityViewPtr kept, FindKept(store, entity, name));
  if (!kept || kept->refusal()) {
    const auto notes = std::make_shared<ObjectNotes>();
    const Resolved resolved = Resolve(store, entity, name, notes);
    if (!resolved.file) return model::NotFound("{}", name);
    const Resolution& file = *resolved.file;
    NDLFS_TRY(kept, FindKept(store, entity, file.name));
    const auto refusal = kept ? kept->refusal() : file.refusal;
    if (refusal) return Refuse(*store, *entity, file, *refusal);
    if (!kept) return MakeResolved(file, store, entity, *notes, age);
  }
  store->Touch(entity);
  return kept;
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
  if (entity->node() == nullptr) return false;
  return IsThere(Resolve(store, entity, name, std::make_shared<ObjectNotes>()).file);
}

std::optional<uint64_t> FindViewSize(const MountedStore& store, const EntityPtr& entity,
                                     std::string_view name) {
  if (!entity->is_array() || !entity->reader()) return std::nullopt;
  const ArrayInput input =
      MakeArrayInput(entity->node(), entity->reader(), store.services().scan);
  const auto file = store.services().array_views->Resolve(input, name);
  return file ? file->size : std::nullopt;
}

}  // namespace ndlfs::fs
