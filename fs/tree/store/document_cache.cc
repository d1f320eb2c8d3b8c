// SPDX-License-Identifier: MIT
#include "fs/tree/store/document_cache.h"

#include <algorithm>
#include <cerrno>

#include "backends/base/heap.h"
#include "backends/store/answer_age.h"
#include "backends/store/caller.h"
#include "backends/store/cancellation.h"
#include "fs/tree/path_hash.h"

namespace ndlfs::fs {
namespace {

// To write a document of so many objects takes some KiB of memory for each of them.
constexpr size_t kManyObjects = 1000;

// Collects errors of the system while a document is written.
class Refusals {
 public:
  void Add(const model::Error& error) {
    if (!error.is_transient()) return;
    any_ = true;
    if (!passing_ && error.is_momentary()) passing_ = error;
  }
  bool any() const { return any_; }
  const std::optional<model::Error>& passing() const { return passing_; }

 private:
  bool any_ = false;
  std::optional<model::Error> passing_;
};

// An opened store that notes down what is asked of it.
class TracedHierarchy final : public backends::Hierarchy {
 public:
  TracedHierarchy(HierarchyPtr hierarchy, Refusals& refusals, ObjectNotes& notes)
      : hierarchy_(std::move(hierarchy)), refusals_(refusals), notes_(notes) {}

  std::string_view format() const override { return hierarchy_->format(); }

  model::Result<std::shared_ptr<const backends::Node>> Load(
      std::string_view path) const override {
    // If something is left out because nobody waits any more, Write() fails.
    if (auto wanted = GoOn(); !wanted) {
      refusals_.Add(wanted.error());
      return model::Propagate(std::move(wanted).error());
    }
    // The version first: a change while the object is loaded shows later.
    notes_.Note(ObjectSet::Kind::kMetadata, path, hierarchy_->Version(path).value_or(0));
    auto node = hierarchy_->Load(path);
    if (node) {
      mtime_ns_ = std::max(mtime_ns_, (*node)->mtime_ns);
    } else {
      refusals_.Add(node.error());
    }
    return node;
  }
  model::Result<std::vector<std::string>> List(std::string_view path) const override {
    auto names = hierarchy_->List(path);
    if (!names) refusals_.Add(names.error());
    notes_.Note(ObjectSet::Kind::kNames, path, names ? HashNames(*names) : 0);
    return names;
  }
  std::optional<backends::Link> GetLink(std::string_view path) const override {
    return hierarchy_->GetLink(path);
  }
  model::Result<uint64_t> Version(std::string_view path) const override {
    return hierarchy_->Version(path);
  }

  int64_t mtime_ns() const { return mtime_ns_; }

 private:
  // To be called before each object is loaded: waits for a turn when there are many.
  model::Result<void> GoOn() const {
    static backends::OneAtATime turns;
    if (++loaded_ == kManyObjects) {
      NDLFS_TRY(turn_, turns.Take(backends::CallerScope::CurrentId()));
    }
    return backends::CancellationScope::Check();
  }

  const HierarchyPtr hierarchy_;
  Refusals& refusals_;
  ObjectNotes& notes_;
  // Used by the one thread that writes the document.
  mutable uint64_t loaded_ = 0;
  mutable backends::OneAtATime::Turn turn_;
  mutable int64_t mtime_ns_ = 0;
};

model::Result<DocumentPtr> Write(const DocumentWriter& writer,
                                 const std::shared_ptr<MountedStore>& store,
                                 const HierarchyPtr& hierarchy, const std::string& path,
                                 const backends::AnswerAge& age) {
  const uint64_t denials = backends::CallerScope::denials();
  const uint64_t opening = store->Opening(*hierarchy);
  Refusals refusals;
  ObjectNotes notes;
  TracedHierarchy traced(hierarchy, refusals, notes);
  const ReaderOf reader_of =
      [&](std::string_view array) -> std::shared_ptr<const cache::ArrayReader> {
    const auto entity = store->Get(array);
    if (!entity) {
      refusals.Add(entity.error());
      return nullptr;
    }
    notes.NoteData(**entity);
    return (*entity)->reader();
  };
  auto document = std::make_shared<Document>();
  auto text = std::make_shared<cache::SpilledBytes>(store->services().cache.spill_space());
  NDLFS_RETURN_IF_ERROR(writer(
      traced, store->place()->name, path, reader_of,
      [&](std::string_view part) {
        document->hash = HashPath(document->hash, part);
        return text->Append(part);
      },
      [&](const model::Error& error) { refusals.Add(error); }));
  if (refusals.passing()) return model::Propagate(*refusals.passing());
  // On a mount for others a document tells of all that there is, or of nothing: what it leaves
  // out would look as if it were not there.
  if (store->is_shared() && backends::CallerScope::denials() != denials) {
    return model::IoError(EACCES, store->Describe() + path);
  }
  text->Finish();
  document->complete = !refusals.any();
  document->text = std::move(text);
  notes.MoveTo(document->objects, nullptr, age.since(), opening);
  document->mtime_ns = traced.mtime_ns();
  return document;
}

uint64_t WeightOf(const Document& document) {
  // The blocks and entries that lists of documents need for each.
  constexpr uint64_t kBesides = 512;
  return kBesides + sizeof(Document) + document.text->held_bytes() +
         document.objects.list_bytes();
}

}  // namespace

size_t DocumentCache::KeyHash::operator()(const Key& key) const {
  return HashPath(reinterpret_cast<uintptr_t>(key.first), key.second);
}

model::Result<DocumentPtr> DocumentCache::Get(const std::shared_ptr<MountedStore>& store,
                                              const std::string& path) {
  const backends::AnswerAge age(freshness_.Now());
  NDLFS_TRY(const auto hierarchy, store->Hierarchy());
  DocumentPtr document = Find(*store, path);
  if (document) {
    NDLFS_TRY(const bool is_current, IsCurrent(*store, *document));
    if (!is_current) document = nullptr;
  }
  if (!document) {
    NDLFS_TRY(document, Write(writer_, store, hierarchy, path, age));
    // Left to itself, the allocator keeps what was used.
    if (document->objects.size() >= kManyObjects) backends::GiveBackFreeMemory();
    const model::MutexLock lock(mutex_);
    known_.Put(Key(store.get(), path), document, store);
  }
  recent_.Touch(document, WeightOf(*document));
  return document;
}

// All of a fresh document holds, the data in it, too.
model::Result<bool> DocumentCache::IsCurrent(MountedStore& store,
                                             const Document& document) const {
  if (freshness_.MayUse(document.objects.looked_at())) return true;
  if (!document.complete) return false;
  return document.objects.IsUnchanged(store);
}

DocumentPtr DocumentCache::Find(const MountedStore& store, const std::string& path) const {
  const model::MutexLock lock(mutex_);
  const auto* known = known_.Find(Key(&store, path));
  return known == nullptr || known->note.expired() ? nullptr : known->object.lock();
}

}  // namespace ndlfs::fs
