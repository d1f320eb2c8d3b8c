// SPDX-License-Identifier: MIT
#include "fs/tree/view/view_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <xxhash.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "backends/base/unique_fd.h"
#include "backends/format/array_source.h"
#include "backends/store/caller.h"
#include "backends/store/source_clock.h"
#include "fs/tree/mount_context.h"
#include "fs/tree/path_hash.h"
#include "fs/tree/store/mounted_store.h"
#include "fs/tree/store/store_attributes.h"
#include "fs/tree/view/decoded_cache.h"
#include "fs/tree/xattr.h"
#include "fs/view/array/views.h"
#include "fs/view/elements/view.h"

namespace ndlfs::fs {
namespace {

using backends::UniqueFd;

constexpr std::string_view kNpyFormat = "NPY";

// Where the elements of the NPY file lie that `store` is; nullopt if it is none, or if they
// have to be converted.
std::optional<backends::ContiguousRange> ElementsOfNpy(const MountedStore& store,
                                                       const Entity& entity) {
  if (store.is_directory() || !entity.is_array() || entity.node()->source == nullptr ||
      store.format() != kNpyFormat) {
    return std::nullopt;
  }
  auto elements = entity.node()->source->contiguous();
  const bool is_as_stored = elements && elements->key.empty() && !elements->exact_size &&
                            elements->stored == entity.node()->source->spec().dtype;
  return is_as_stored ? std::move(elements) : std::nullopt;
}

// The file of the source that has the bytes of `view`, which is data.npy of an array: all of
// them, and no others. Only an NPY file in which the header is what ndlfs would write is such a
// file, in the version that `entity` was loaded from. Opens it as the current caller; none if
// there is no such file, or it cannot be opened.
UniqueFd OpenOriginal(const MountContext& context, const MountedStore& store,
                      const Entity& entity, const View& view, uint64_t size) {
  if (context.local == nullptr) return {};
  const auto elements = ElementsOfNpy(store, entity);
  if (!elements || elements->offset > size) return {};
  struct ::stat status;
  auto file = context.local->OpenFound(store.path(), O_NOFOLLOW, &status);
  // Elements of other arrays may follow.
  if (!file || !S_ISREG(status.st_mode) || static_cast<uint64_t>(status.st_size) != size) {
    return {};
  }
  // The store is of the version that was loaded, so that this one is, too.
  const auto header = elements->store->Get(
      "", elements->offset,
      {.range = {0, elements->offset}, .if_match = backends::GenerationOf(status)});
  if (!header || !*header) return {};
  const auto stored = (*header)->bytes.span();
  backends::Bytes shown(elements->offset);
  const auto count = view.Read(0, shown.span());
  const bool is_same =
      count && *count == shown.size() && std::ranges::equal(stored, shown.span());
  return is_same ? *std::move(file) : UniqueFd();
}

// A page names its own place in the mount.
constexpr std::string_view kDependsOnMount = "index.html";

// Another version of the program may make other bytes of the same arrays.
const std::string& ThisProgram() {
  static const std::string program = [] {
    struct ::stat status = {};
    (void)::stat("/proc/self/exe", &status);
    return fmt::format("{}.{}.{}", status.st_size, status.st_mtim.tv_sec,
                       status.st_mtim.tv_nsec);
  }();
  return program;
}

std::string TextOf(const backends::CallerPtr& caller) {
  if (caller == nullptr) return {};
  std::string text = fmt::format("{}:{}", caller->uid, caller->gid);
  for (const gid_t group : caller->groups) text += fmt::format(",{}", group);
  return text;
}

// A text that is the same for the same view in all mounts of this program: which file of which
// store it is, and the versions of everything that it was made of, but for chunks, which are
// read later. `below` is the path in the view, if that is a directory. On a mount for others it
// also tells the caller. nullopt if no such text is known, or if the bytes of the view depend
// on the mount.
std::optional<std::string> IdentityOf(MountedStore& store, const Entity& entity,
                                      const EntityView& made, const std::string& below) {
  const auto objects = made.objects.VersionsText();
  if (entity.version() == 0 || !objects || made.name == kDependsOnMount) return std::nullopt;
  std::string text;
  const auto add = [&](std::string_view part) { (text += part) += '\0'; };
  add(ThisProgram());
  add(TextOf(backends::CallerScope::Current()));
  add(store.services().source->identity());
  add(store.path());
  add(store.services().open_options.ref);
  add(store.version().ref);
  add(store.version().folder);
  add(entity.path());
  add(made.name);
  add(store.services().passes_stored_chunks ? "stored" : "");
  add(below);
  // Not the versions of chunks: a later mount does not know them before it has read them.
  add(fmt::format("{}", entity.version()));
  text += *objects;
  const XXH128_hash_t hash = XXH3_128bits(text.data(), text.size());
  return fmt::format("{:016x}{:016x} {}", hash.high64, hash.low64, made.name);
}

// The ledger that notices a change of what the view was made of: that of its array, or of one
// array of its group. Null if there is none.
std::shared_ptr<cache::ChunkLedger> LedgerOf(MountedStore& store, const Entity& entity,
                                             const EntityView& made) {
  if (entity.ledger() != nullptr) return entity.ledger();
  const auto arrays = made.objects.ArraysNow(store);
  if (!arrays) return nullptr;
  for (const EntityPtr& array : *arrays) {
    if (array->ledger() != nullptr) return array->ledger();
  }
  return nullptr;
}

// What DecodedCache asks when the view `made` of `entity` has been read to its end.
DecodedCache::FindReads FindReadsOf(std::shared_ptr<MountedStore> store, EntityPtr entity,
                                    EntityViewPtr made) {
  return [store = std::move(store), entity = std::move(entity),
          made = std::move(made)]() -> std::optional<DecodedCache::AllReads> {
    auto arrays = made->objects.ArraysNow(*store);
    if (!arrays || made->is_outdated) return std::nullopt;
    arrays->push_back(entity);
    DecodedCache::AllReads all{
        .began_ns = backends::MachineClockNs(),
        .metadata_ns = std::max(entity->facts().mtime_ns, made->objects.mtime_ns())};
    for (const EntityPtr& array : *arrays) {
      if (array->ledger() == nullptr) continue;
      const auto noted = array->ledger()->AllReads();
      if (!noted) return std::nullopt;
      all.reads.insert(all.reads.end(), noted->begin(), noted->end());
      all.began_ns = std::min(all.began_ns, array->ledger()->began_ns());
    }
    const bool is_other = (store->HasOtherMetadata(entity->facts().loaded_from, entity->path(),
                                                   entity->version()) &&
                           !store->StillHas(*entity)) ||
                          made->objects.HasOtherMetadata(*store, entity->facts().loaded_from);
    if (is_other) return std::nullopt;
    return all;
  };
}

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
      store.HasOtherMetadata(entity.facts().loaded_from, entity.path(), entity.version()) &&
      !store.StillHas(entity);
  return is_other || view.objects.HasOtherMetadata(store, entity.facts().loaded_from);
}

// A number that two views share if nothing is known to differ between them, or between their
// parts. If only the generation can tell, it is their generation: chunks are known to have
// changed, or the size is not known.
uint64_t FactsOf(const Entity& entity, const Attributes& attributes, FileSize size,
                 const EntityView* made) {
  const uint64_t generation = made ? made->generation : entity.generation();
  if (entity.version() == 0 || entity.is_group() || entity.facts().data_mtime_ns != 0 ||
      !size) {
    return generation;
  }
  uint64_t facts = entity.version();
  for (const auto fact : {*size, uint64_t{attributes.mode}, uint64_t{attributes.uid},
                          uint64_t{attributes.gid}, static_cast<uint64_t>(attributes.mtime_ns),
                          static_cast<uint64_t>(attributes.ctime_ns)}) {
    facts = HashNumber(facts, fact);
  }
  return made ? made->objects.Hash(facts) : facts;
}

class ViewHandle final : public FileHandle {
 public:
  // Where else the bytes of a view are, or shall be.
  struct Copies {
    backends::UniqueFd original;                     // a file of the source
    std::shared_ptr<const FileHandle> kept;          // in the directory of kept views
    std::shared_ptr<DecodedCache::Writer> keeps_in;  // null: the view is not kept
  };

  // `whole` is `found.made`, or a file in it.
  ViewHandle(StorePtr store, FoundView found, const ViewPtr& whole,
             cache::Prefetcher& prefetcher, Copies copies)
      : store_(std::move(store)),
        name_(found.entity->is_group()
                  ? NameOfFile(*store_, found.entity->path(), found.made->name)
                  : NameOfEntity(*store_, found.entity->path())),
        entity_(std::move(found.entity)),
        made_(std::move(found.made)),
        view_(whole->ForReader(prefetcher)),
        copies_(std::move(copies)) {
    if (view_ == nullptr) view_ = whole;
  }

  model::Result<size_t> Read(uint64_t offset, backends::ByteSpan out) const override {
    // A kept file saves time. If it cannot be read, nothing else is lost.
    if (copies_.kept) {
      auto count = copies_.kept->Read(offset, out);
      if (count) return count;
    }
    auto count = view_->Read(offset, out);
    if (count) return count;
    if (count.error().code() == model::ErrorCode::kStale) made_->is_outdated = true;
    // Chunks of a store that has taken the place of this one need not fit.
    if (count.error().code() == model::ErrorCode::kCorrupt &&
        IsOutdated(*store_, *entity_, *made_)) {
      made_->is_outdated = true;
      return model::HasChanged(name_);
    }
    entity_->NoteFailure(name_, count.error());
    return model::Propagate(std::move(count).error(), name_);
  }

  void Delivered(uint64_t offset, backends::ConstByteSpan bytes) const override {
    if (copies_.keeps_in) copies_.keeps_in->Add(offset, bytes);
  }

  // An original is for the kernel alone. What Read() finds has to be of one version, because
  // others who open the file get it from the kernel's pages.
  int descriptor() const override {
    return copies_.kept ? copies_.kept->descriptor() : copies_.original.get();
  }

  // The index of a store lives as long as its arrays, so it counts, too. If the store is no
  // longer open, nobody knows how large the index is.
  KeptObjects kept() const override {
    KeptObjects objects = {
        {made_.get(), MostHeldBytes(made_->node) + made_->objects.most_held_bytes()},
        {entity_.get(), entity_->facts().held_bytes}};
    const HierarchyPtr hierarchy = entity_->facts().loaded_from.lock();
    if (hierarchy) objects.push_back({hierarchy.get(), hierarchy->held_bytes()});
    return objects;
  }

 private:
  const StorePtr store_;
  const std::string name_;
  const EntityPtr entity_;  // keeps it known, and its chunks cached
  const EntityViewPtr made_;
  ViewPtr view_;
  const Copies copies_;
};

// One version of a view, or of a file in it: stands for its generation.
class ViewFile final : public TreeNode {
 public:
  ViewFile(MountContext& context, StorePtr store, EntityPtr entity, EntityViewPtr made,
           ViewPtr view, std::string below)
      : context_(context),
        store_(std::move(store)),
        path_(entity->path()),
        name_(made->name),
        below_(std::move(below)),
        attributes_(FileAttributes(*store_, *entity, *made)),
        facts_(FactsOf(*entity, attributes_, view->size(), made.get())),
        size_(view->size()),
        generation_(made->generation) {
    if (!size_) unsized_ = {std::move(entity), std::move(made), std::move(view)};
  }

  Relation Compare(const TreeNode& fresh) const override {
    const auto* other = dynamic_cast<const ViewFile*>(&fresh);
    const bool same = other != nullptr && other->name_ == name_ && other->below_ == below_ &&
                      IsListedAs(other->version());
    return same ? Relation::kSame : Relation::kDifferent;
  }

  bool IsListedAs(const ListedVersion& version) const override EXCLUDES(mutex_) {
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
    ViewPtr view;
    {
      const model::MutexLock lock(mutex_);
      if (size_) return Cost::kNothing;
      view = unsized_.view;
    }
    return view->scan_bytes() <= kAsARead ? Cost::kRead : Cost::kScan;
  }

  model::Result<OpenedFile> Open() override {
    NDLFS_TRY(const StorePtr store, context_.catalog.OfCaller(store_));
    NDLFS_TRY(FoundView found, FindViewAgain(store, path_, name_, below_));
    const ViewPtr view = FileOf(found.node);
    if (view == nullptr || !IsThisVersion(*found.entity, *found.made, *view)) {
      return model::HasChanged(path_);
    }
    // Takes a scan only if the view whose size was found is no longer kept.
    const model::Result<uint64_t> size = view->FindSize();
    if (!size) return SizeFailure(*found.entity, *found.made, *view, size.error());
    NDLFS_TRY(const uint64_t known, Size());
    if (*size != known) return model::HasChanged(path_);
    const auto looked_at = std::min(store->LookedAt(path_), found.made->objects.looked_at());
    return OpenedFile{.handle = OpenKept(store, std::move(found), view, known),
                      .looked_at = looked_at};
  }
  model::Result<std::optional<std::string>> GetExtendedAttribute(
      std::string_view name) const override {
    const bool asks_whether_kept = name == kKeptName && context_.decoded;
    if (name != kCostName && !asks_whether_kept) return std::nullopt;
    NDLFS_TRY(const StorePtr store, context_.catalog.OfCaller(store_));
    NDLFS_TRY(const FoundView found, FindViewAgain(store, path_, name_, below_));
    const ViewPtr view = FileOf(found.node);
    if (view == nullptr) return std::nullopt;
    if (asks_whether_kept) return KeptState(*store, found, *view);
    NDLFS_TRY(const auto cost, view->FindCost(), NameOfFile(*store_, path_, name_));
    return cost ? std::optional(DescribeCost(*cost)) : std::nullopt;
  }
  std::optional<FileVersion> Version() const override EXCLUDES(mutex_) {
    const model::MutexLock lock(mutex_);
    if (!size_) return std::nullopt;
    return FileVersion{generation_, *size_};
  }

 private:
  // The bytes of the view in a file of the source or a kept one, if there are any, else what
  // makes them, and keeps them.
  std::shared_ptr<const FileHandle> OpenKept(const StorePtr& store, FoundView found,
                                             const ViewPtr& view, uint64_t size) {
    ViewHandle::Copies copies;
    if (found.made->name == kNpyView.file_name && below_.empty()) {
      copies.original = OpenOriginal(context_, *store, *found.entity, *view, size);
    }
    const auto key = context_.decoded && !copies.original
                         ? IdentityOf(*store, *found.entity, *found.made, below_)
                         : std::nullopt;
    if (key) {
      const auto ledger = LedgerOf(*store, *found.entity, *found.made);
      if (ledger) {
        copies.kept = context_.decoded->Find(*key, found.made->generation, size, *ledger);
      }
      if (!copies.kept) {
        copies.keeps_in = context_.decoded->Write(*key, found.made->generation, size,
                                                  FindReadsOf(store, found.entity, found.made));
      }
    }
    return std::make_shared<const ViewHandle>(store, std::move(found), view,
                                              context_.prefetcher, std::move(copies));
  }

  // The value of kKeptName.
  model::Result<std::optional<std::string>> KeptState(MountedStore& store,
                                                      const FoundView& found,
                                                      const View& view) const {
    NDLFS_TRY(const uint64_t size, Size());
    const bool is_npy = found.made->name == kNpyView.file_name && below_.empty();
    if (is_npy && OpenOriginal(context_, store, *found.entity, view, size)) {
      return std::string(kKeptNever);
    }
    const auto key = IdentityOf(store, *found.entity, *found.made, below_);
    const auto ledger = key ? LedgerOf(store, *found.entity, *found.made) : nullptr;
    if (!ledger) return std::string(kKeptNever);
    return std::string(context_.decoded->StateOf(*key, found.made->generation, size, *ledger));
  }

  // The state of Size() until the size is known.
  struct Unsized {
    EntityPtr entity;
    EntityViewPtr made;
    ViewPtr view;
  };

  model::Result<uint64_t> Size() const EXCLUDES(mutex_) {
    Unsized unsized;
    {
      const model::MutexLock lock(mutex_);
      if (size_) return *size_;
      unsized = unsized_;
    }
    const auto& ledger = unsized.entity->ledger();
    const uint64_t unnoted = ledger ? ledger->unnoted_reads() : 0;
    const model::Result<uint64_t> size = unsized.view->FindSize();
    if (!size) {
      return SizeFailure(*unsized.entity, *unsized.made, *unsized.view, size.error());
    }
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
  model::Failure SizeFailure(const Entity& entity, const EntityView& made, const View& view,
                             const model::Error& error) const {
    const std::string name = NameOfFile(*store_, path_, name_);
    if (error.code() == model::ErrorCode::kCorrupt && IsOutdated(*store_, entity, made)) {
      return model::HasChanged(name);
    }
    entity.NoteFailure(name, error);
    if (view.refusal()) return model::NotFound("{}", name);
    return model::Propagate(error, name);
  }

  ListedVersion version() const EXCLUDES(mutex_) {
    const model::MutexLock lock(mutex_);
    return {.contents = generation_, .facts = facts_};
  }
  // The entity may have been dropped from memory since the lookup, and loaded again. This
  // function accepts the new entity while the kernel has no page of the file. It does not
  // accept other permissions, because the kernel has opened the file by the old ones.
  bool IsThisVersion(const Entity& entity, const EntityView& made, const View& view) {
    const Attributes now = FileAttributes(*store_, entity, made);
    if (now.mode != attributes_.mode || now.uid != attributes_.uid ||
        now.gid != attributes_.gid) {
      return false;
    }
    const uint64_t facts = FactsOf(entity, now, view.size(), &made);
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
  const std::string name_;       // of the view: the true one
  const std::string below_;      // the path in a view that is a directory
  const Attributes attributes_;  // without the size
  const uint64_t facts_;
  mutable model::Mutex mutex_;
  mutable FileSize size_ GUARDED_BY(mutex_);
  mutable Unsized unsized_ GUARDED_BY(mutex_);
  uint64_t generation_ GUARDED_BY(mutex_);
  bool served_ GUARDED_BY(mutex_) = false;
};

}  // namespace

ListedFile DescribeViewFile(const Entity& entity, const Attributes& attributes, uint64_t size,
                            const EntityView* made) {
  ListedFile file{attributes,
                  {.contents = made ? made->generation : entity.generation(),
                   .facts = FactsOf(entity, attributes, size, made)}};
  file.attributes.size = size;
  return file;
}

TreeNodePtr MakeViewFile(MountContext& context, StorePtr store, EntityPtr entity,
                         EntityViewPtr made, ViewPtr view, std::string below) {
  return std::make_shared<ViewFile>(context, std::move(store), std::move(entity),
                                    std::move(made), std::move(view), std::move(below));
}

}  // namespace ndlfs::fs
