// SPDX-License-Identifier: MIT
#include "backends/format/zarr/document_memory.h"

#include <chrono>
#include <utility>

#include "backends/base/json.h"
#include "backends/store/caller.h"
#include "backends/store/source_clock.h"

namespace ndlfs::backends::zarr {
namespace {

// Whether the file would get other times if a program wrote it again now. The clock of file
// times ticks in steps of some milliseconds. The clock of a server is unknown.
bool IsSettled(const ValueInfo& stamp, const Store& store) {
  return stamp.placed_ns != 0 &&
         IsOlderThan(stamp.placed_ns, std::chrono::seconds(2), store.ClockNs());
}

}  // namespace

// Hashes the name of the document and its version: all files of an archive have one version.
uint64_t DocumentMemory::HashOf(const NodeFiles& files) const {
  return Generation::OfTag(files.document).hash(files.stamp->generation.hash(seed_));
}

// On a mount for others, each caller opens the file itself.
std::shared_ptr<const SharedDocument> DocumentMemory::Find(const NodeFiles& files) const {
  if (!files.stamp || files.consolidated || CallerScope::Current() != nullptr) return nullptr;
  const model::MutexLock lock(mutex_);
  const auto known = by_file_.find(HashOf(files));
  return known == by_file_.end() ? nullptr : known->second.lock();
}

model::Result<std::shared_ptr<const SharedDocument>> DocumentMemory::Parse(
    const std::string& text) const {
  {
    const model::MutexLock lock(mutex_);
    if (const auto* known = by_text_.Find(text)) return *known;
  }
  NDLFS_TRY(Json json, ParseJson(text, kMaxDocumentValues));
  auto document = std::make_shared<const SharedDocument>(std::move(json));
  if (text.size() > kLongestText) return document;
  const model::MutexLock lock(mutex_);
  by_text_.Put(text, document, text.size());
  return document;
}

void DocumentMemory::Note(const Store& store, const NodeFiles& files, const std::string& text,
                          const std::shared_ptr<const SharedDocument>& document) const {
  if (text.size() > kLongestText || !files.stamp || files.consolidated ||
      !IsSettled(*files.stamp, store)) {
    return;
  }
  const model::MutexLock lock(mutex_);
  if (by_file_.size() >= kMostFiles) by_file_.clear();
  by_file_[HashOf(files)] = document;
}

}  // namespace ndlfs::backends::zarr
