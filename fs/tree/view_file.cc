// SPDX-License-Identifier: MIT
#include "fs/tree/view_file.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

#include "fs/tree/store_attributes.h"

namespace ndlfs::fs {
namespace {

using StorePtr = std::shared_ptr<MountedStore>;

// How messages call an entity, and a file of it: "era5.zarr/t2m".
std::string NameOfEntity(const MountedStore& store, std::string_view path) {
  return path == "/" ? store.Describe() : store.Describe() + std::string(path);
}
std::string NameOfFile(const MountedStore& store, std::string_view path,
                       std::string_view file_name) {
  return NameOfEntity(store, path) + '/' + std::string(file_name);
}

// Whether another version of the store may have taken the place of the one that the view was
// made of.
bool IsOutdated(MountedStore& store, const Entity& entity, const EntityView& view) {
  const bool is_other =
      store.HasOtherMetadata(entity.loaded_from, entity.path, entity.version) &&
      !store.StillHas(entity);
  return is_other || view.objects.HasOtherMetadata(store, entity.loaded_from);
}

// What has to be the same of two views, or of what they are made of, so that nothing is known
// to differ. Their generation, where that alone can tell: there are chunks of which it is known
// that they have changed, or the size is not known.
uint64_t FactsOf(const Entity& entity, const Attributes& attributes,
                 std::optional<uint64_t> size, const EntityView* made) {
  const uint64_t generation = made ? made->generation : entity.generation;
  if (entity.version == 0 || entity.is_group() || entity.data_mtime_ns != 0 || !size) {
    return generation;
  }
  uint64_t facts = entity.version;
  for (const auto fact : {*size, uint64_t{attributes.mode}, uint64_t{attributes.uid},
                          uint64_t{attributes.gid}, static_cast<uint64_t>(attributes.mtime_ns),
                          static_cast<uint64_t>(attributes.ctime_ns)}) {
    facts = HashNumber(facts, fact);
  }
  return made ? made->objects.Hash(facts) : facts;
}

class ViewHandle final : public FileHandle {
 public:
  ViewHandle(StorePtr store, EntityPtr entity, EntityViewPtr made,
             cache::Prefetcher& prefetcher)
      : store_(std::move(store)),
        name_(entity->is_group() ? NameOfFile(*store_, entity->path, made->name)
                                 : NameOfEntity(*store_, entity->path)),
        entity_(std::move(entity)),
        made_(std::move(made)),
        view_(made_->view->ForReader(prefetcher)) {
    if (view_ == nullptr) view_ = made_->view;
  }

  model::Result<size_t> Read(uint64_t offset, backends::ByteSpan out) const override {
    auto count = view_->Read(offset, out);
    if (count) return count;
    // Chunks of a store that has taken the place of this one need not fit.
    if (count.error().code() == model::ErrorCode::kCorrupt &&
        IsOutdated(*store_, *entity_, *made_)) {
      return model::HasChanged(name_);
    }
    entity_->NoteFailure(name_, count.error());
    return model::Propagate(std::move(count).error(), name_);
  }

  // The index of a store lives as long as its arrays, so it counts, too. If the store is no
  // longer open, nobody knows how large the index is.
  KeptObjects kept() const override {
    KeptObjects objects = {
        {made_.get(), made_->view->most_held_bytes() + made_->objects.most_held_bytes()},
        {entity_.get(), entity_->held_bytes}};
    const HierarchyPtr hierarchy = entity_->loaded_from.lock();
    if (hierarchy) objects.push_back({hierarchy.get(), hierarchy->held_bytes()});
    return objects;
  }

 private:
  const StorePtr store_;
  const std::string name_;
  const EntityPtr entity_;  // keeps it known, and its chunks cached
  const EntityViewPtr made_;
  ViewPtr view_;
};

// One version of a view: stands for its generation.
class ViewFile final : public TreeNode {
 public:
  ViewFile(MountContext& context, StorePtr store, EntityPtr entity, EntityViewPtr made)
      : context_(context),
        store_(std::move(store)),
        path_(entity->path),
        name_(made->name),
        attributes_(FileAttributes(*store_, *entity, *made)),
        facts_(FactsOf(*entity, attributes_, made->view->size(), made.get())),
        size_(made->view->size()),
        generation_(made->generation) {
    if (!size_) unsized_ = {std::move(entity), std::move(made)};
  }

  Relation Compare(const Object& fresh) const override {
    const auto* other = dynamic_cast<const ViewFile*>(&fresh);
    const bool same = other != nullptr && other->name_ == name_ && IsListedAs(other->version());
    return same ? Relation::kSame : Relation::kDifferent;
  }

  bool IsListedAs(const InodeTable::ListedVersion& version) const override EXCLUDES(mutex_) {
    const model::MutexLock lock(mutex_);
    return version.contents == generation_ || (!served_ && version.facts == facts_);
  }
  uint64_t ListedFacts() const override { return facts_; }

  model::Result<Attributes> Stat() const override {
    Attributes attributes = attributes_;
    NDLFS_TRY(attributes.size, Size());
    return attributes;
  }
  Cost StatCost() const override {
    constexpr uint64_t kAsARead = uint64_t{4} << 20;
    EntityViewPtr made;
    {
      const model::MutexLock lock(mutex_);
      if (size_) return Cost::kNothing;
      made = unsized_.made;
    }
    return made->view->scan_bytes() <= kAsARead ? Cost::kRead : Cost::kScan;
  }

  model::Result<OpenedFile> Open() override {
    NDLFS_TRY(const StorePtr store, context_.catalog.OfCaller(store_));
    auto entity = store->Get(path_);
    if (!entity && entity.error().code() == model::ErrorCode::kNotFound) {
      return model::HasChanged(path_);
    }
    if (!entity) return model::Propagate(std::move(entity).error());
    auto made = FindView(store, *entity, name_);
    if (!made && made.error().code() == model::ErrorCode::kNotFound) {
      return model::HasChanged(path_);
    }
    if (!made) return model::Propagate(std::move(made).error());
    if (!IsThisVersion(**entity, **made)) return model::HasChanged(path_);
    // Takes a scan only if the view whose size was found is no longer kept.
    const model::Result<uint64_t> size = (*made)->view->FindSize();
    if (!size) return SizeFailure(**entity, **made, size.error());
    NDLFS_TRY(const uint64_t known, Size());
    if (*size != known) return model::HasChanged(path_);
    return OpenedFile{
        std::make_shared<const ViewHandle>(store, *entity, *made, context_.prefetcher)};
  }

 private:
  // What Size() takes until it is known.
  struct Unsized {
    EntityPtr entity;
    EntityViewPtr made;
  };

  model::Result<uint64_t> Size() const EXCLUDES(mutex_) {
    Unsized unsized;
    {
      const model::MutexLock lock(mutex_);
      if (size_) return *size_;
      unsized = unsized_;
    }
    const auto& ledger = unsized.entity->ledger;
    const uint64_t unnoted = ledger ? ledger->unnoted_reads() : 0;
    const model::Result<uint64_t> size = unsized.made->view->FindSize();
    if (!size) return SizeFailure(*unsized.entity, *unsized.made, size.error());
    // The array was decoded just now, however many files that took. The kernel looks the file
    // up once more before it opens it.
    if (ledger && ledger->unnoted_reads() != unnoted) {
      constexpr std::chrono::nanoseconds kLeast = std::chrono::seconds(2);
      ledger->Vouch(std::max(context_.services.freshness.interval(), kLeast));
    }
    const model::MutexLock lock(mutex_);
    size_ = *size;
    unsized_ = {};
    return *size;
  }
  model::Failure SizeFailure(const Entity& entity, const EntityView& made,
                             const model::Error& error) const {
    const std::string name = NameOfFile(*store_, path_, name_);
    if (error.code() == model::ErrorCode::kCorrupt && IsOutdated(*store_, entity, made)) {
      return model::HasChanged(name);
    }
    entity.NoteFailure(name, error);
    if (made.view->refusal()) return model::NotFound("{}", name);
    return model::Propagate(error, name);
  }

  InodeTable::ListedVersion version() const EXCLUDES(mutex_) {
    const model::MutexLock lock(mutex_);
    return {.contents = generation_, .facts = facts_};
  }
  // The entity may have been dropped from memory since the lookup, and read again. That one
  // will do as long as the kernel has no page of the file. It will not if its permissions are
  // others: the kernel has let the reader in by the old ones.
  bool IsThisVersion(const Entity& entity, const EntityView& made) {
    const Attributes now = FileAttributes(*store_, entity, made);
    if (now.mode != attributes_.mode || now.uid != attributes_.uid ||
        now.gid != attributes_.gid) {
      return false;
    }
    const uint64_t facts = FactsOf(entity, now, made.view->size(), &made);
    model::MutexLock lock(mutex_);
    if (made.generation != generation_) {
      // Where only decoding tells, it is asked for at a new lookup.
      if (served_ || facts != facts_) return false;
      generation_ = made.generation;
    }
    served_ = true;
    return true;
  }

  MountContext& context_;
  const StorePtr store_;
  const std::string path_;
  const std::string name_;       // the true one
  const Attributes attributes_;  // without the size
  const uint64_t facts_;
  mutable model::Mutex mutex_;
  mutable std::optional<uint64_t> size_ GUARDED_BY(mutex_);
  mutable Unsized unsized_ GUARDED_BY(mutex_);
  uint64_t generation_ GUARDED_BY(mutex_);
  bool served_ GUARDED_BY(mutex_) = false;
};

}  // namespace

ListedFile DescribeViewFile(const Entity& entity, const Attributes& attributes,
                            std::optional<uint64_t> size, const EntityView* made) {
  ListedFile file{attributes,
                  {.contents = made ? made->generation : entity.generation,
                   .facts = FactsOf(entity, attributes, size, made)}};
  file.attributes.size = size.value_or(0);
  return file;
}

TreeNodePtr MakeViewFile(MountContext& context, StorePtr store, EntityPtr entity,
                         EntityViewPtr made) {
  return std::make_shared<ViewFile>(context, std::move(store), std::move(entity),
                                    std::move(made));
}

}  // namespace ndlfs::fs
