// SPDX-License-Identifier: MIT
#include "fs/tree/document_cache.h"

#include <algorithm>
#include <cerrno>
#include <tuple>

#include "backends/base/heap.h"
#include "backends/store/cancellation.h"
#include "fs/tree/large_document_turn.h"

namespace ndlfs::fs {
namespace {

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

uint64_t VersionOfNames(const backends::Hierarchy& hierarchy, std::string_view path) {
  const auto names = hierarchy.List(path);
  return names ? HashNames(*names) : 0;
}

uint64_t VersionOfData(MountedStore& store, std::string_view path) {
  const auto entity = store.Get(path);
  return entity ? (*entity)->generation : 0;
}

// An opened store that notes down what is asked of it.
class TracedHierarchy final : public backends::Hierarchy {
 public:
  TracedHierarchy(HierarchyPtr hierarchy, Refusals& refusals)
      : hierarchy_(std::move(hierarchy)), refusals_(refusals) {}

  std::string_view format() const override { return hierarchy_->format(); }

  model::Result<std::shared_ptr<const backends::Node>> Load(
      std::string_view path) const override {
    // If something is left out because nobody waits any more, Write() fails.
    if (auto wanted = GoOn(); !wanted) {
      refusals_.Add(wanted.error());
      return model::Propagate(std::move(wanted).error());
    }
    // The version first: a change while the object is loaded shows later.
    Note(Document::Part::Kind::kMetadata, path, hierarchy_->Version(path).value_or(0));
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
    Note(Document::Part::Kind::kNames, path, names ? HashNames(*names) : 0);
    return names;
  }
  std::optional<backends::Link> GetLink(std::string_view path) const override {
    return hierarchy_->GetLink(path);
  }
  model::Result<uint64_t> Version(std::string_view path) const override {
    return hierarchy_->Version(path);
  }

  void Note(Document::Part::Kind kind, std::string_view path, uint64_t version) const {
    parts_.push_back({kind, std::string(path), version});
  }
  // Each part once; of several versions the first.
  std::vector<Document::Part> TakeParts() {
    const auto order = [](const auto& a, const auto& b) {
      return std::tie(a.path, a.kind) < std::tie(b.path, b.kind);
    };
    const auto same = [](const auto& a, const auto& b) {
      return std::tie(a.path, a.kind) == std::tie(b.path, b.kind);
    };
    std::stable_sort(parts_.begin(), parts_.end(), order);
    parts_.erase(std::unique(parts_.begin(), parts_.end(), same), parts_.end());
    parts_.shrink_to_fit();
    return std::move(parts_);
  }
  int64_t mtime_ns() const { return mtime_ns_; }

 private:
  // To be called before each object is loaded: waits for a turn when there are many.
  model::Result<void> GoOn() const {
    if (++loaded_ == LargeDocumentTurn::kObjects) {
      NDLFS_TRY(auto turn, LargeDocumentTurn::Take());
      turn_.emplace(std::move(turn));
    }
    return backends::CancellationScope::Check();
  }

  const HierarchyPtr hierarchy_;
  Refusals& refusals_;
  // Used by the one thread that writes the document.
  mutable uint64_t loaded_ = 0;
  mutable std::optional<LargeDocumentTurn> turn_;
  mutable std::vector<Document::Part> parts_;
  mutable int64_t mtime_ns_ = 0;
};

// Left to itself, the allocator keeps what was used to write a document of so many.
constexpr size_t kManyDocumentParts = 1000;

model::Result<DocumentPtr> Write(const DocumentWriter& writer,
                                 const std::shared_ptr<MountedStore>& store,
                                 const HierarchyPtr& hierarchy, const std::string& path) {
  const uint64_t denials = backends::CallerScope::denials();
  Refusals refusals;
  TracedHierarchy traced(hierarchy, refusals);
  const ReaderOf reader_of =
      [&](std::string_view array) -> std::shared_ptr<const cache::ArrayReader> {
    const auto entity = store->Get(array);
    if (!entity) {
      refusals.Add(entity.error());
      return nullptr;
    }
    traced.Note(Document::Part::Kind::kData, array, (*entity)->generation);
    return (*entity)->reader;
  };
  NDLFS_TRY(auto text, writer(traced, store->place()->name, path, reader_of,
                              [&](const model::Error& error) { refusals.Add(error); }));
  if (refusals.passing()) return model::Propagate(*refusals.passing());
  // On a mount for others a document tells of all that there is, or of nothing: what it leaves
  // out would look as if it were not there.
  if (store->is_shared() && backends::CallerScope::denials() != denials) {
    return model::IoError(EACCES, store->Describe() + path);
  }
  text.shrink_to_fit();
  auto document = std::make_shared<Document>();
  document->complete = !refusals.any();
  document->hash = HashPath(text.size(), text);
  document->text = std::make_shared<const std::string>(std::move(text));
  document->parts = traced.TakeParts();
  document->mtime_ns = traced.mtime_ns();
  return document;
}

bool IsUnchanged(MountedStore& store, const backends::Hierarchy& hierarchy,
                 const Document& document) {
  const auto now = [&](const Document::Part& part) {
    switch (part.kind) {
      case Document::Part::Kind::kMetadata:
        return MountedStore::VersionOf(hierarchy, part.path);
      case Document::Part::Kind::kNames:
        return VersionOfNames(hierarchy, part.path);
      case Document::Part::Kind::kData:
        return VersionOfData(store, part.path);
    }
    return uint64_t{0};
  };
  return document.complete &&
         std::all_of(document.parts.begin(), document.parts.end(),
                     [&](const Document::Part& part) { return now(part) == part.version; });
}

uint64_t WeightOf(const Document& document) {
  // The blocks and entries that lists of documents need for each.
  constexpr uint64_t kBesides = 512;
  uint64_t weight = kBesides + sizeof(Document) + document.text->capacity();
  for (const Document::Part& part : document.parts) weight += sizeof(part) + part.path.size();
  return weight;
}

}  // namespace

size_t DocumentCache::KeyHash::operator()(const Key& key) const {
  return HashPath(reinterpret_cast<uintptr_t>(key.first), key.second);
}

model::Result<DocumentPtr> DocumentCache::Get(const std::shared_ptr<MountedStore>& store,
                                              const std::string& path) {
  NDLFS_TRY(const auto hierarchy, store->Hierarchy());
  const auto now = store->looked_at();
  Seen seen = Find(store, path);
  if (seen.document && !seen.fresh) {
    seen.fresh = IsUnchanged(*store, *hierarchy, *seen.document);
  }
  if (!seen.fresh) {
    NDLFS_TRY(seen.document, Write(writer_, store, hierarchy, path));
    if (seen.document->parts.size() >= kManyDocumentParts) backends::GiveBackFreeMemory();
  }
  Keep(store, path, seen.document, now);
  return seen.document;
}

DocumentCache::Seen DocumentCache::Find(const std::shared_ptr<MountedStore>& store,
                                        const std::string& path) {
  model::MutexLock lock(mutex_);
  const auto* known = known_.Find(Key(store.get(), path));
  if (known == nullptr || known->note.store.expired()) return {};
  DocumentPtr document = known->object.lock();
  const bool fresh = document && freshness_.Holds(known->note.looked_at);
  return {std::move(document), fresh};
}

void DocumentCache::Keep(const std::shared_ptr<MountedStore>& store, const std::string& path,
                         const DocumentPtr& document, Freshness::Time looked_at) {
  {
    model::MutexLock lock(mutex_);
    Key key(store.get(), path);
    const auto* known = known_.Find(key);
    // A fresh document was found so again, but not looked at again.
    const bool is_known = known != nullptr && known->object.lock() == document &&
                          freshness_.Holds(known->note.looked_at);
    if (!is_known) known_.Put(std::move(key), document, {store, looked_at});
  }
  recent_.Touch(document, WeightOf(*document));
}

}  // namespace ndlfs::fs
