// SPDX-License-Identifier: MIT
#include "backends/format/zarr/document_memory.h"

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

#include "backends/base/json.h"
#include "backends/format/zarr/node_files.h"
#include "backends/store/answer_age.h"
#include "backends/store/caller.h"
#include "backends/store/keys.h"
#include "backends/store/partial_listing.h"
#include "backends/store/source_clock.h"

namespace ndlfs::backends::zarr {
namespace {

// Whether the file would get other times if a program wrote it again now. The clock of file
// times ticks in steps of some milliseconds. The clock of a server is unknown.
bool IsSettled(const ValueInfo& stamp, const Store& store) {
  return stamp.placed_ns != 0 &&
         IsOlderThan(stamp.placed_ns, std::chrono::seconds(2), store.ClockNs());
}

constexpr size_t kMaxEntries = 20'000;
// As many times that much is looked at in vain before a listing takes all other
// directories without metadata for no groups.
constexpr int kMaxSearches = 10;

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

GroupSearch::Rest GroupSearch::ForOne() { return {kMaxDirectories, kMaxEntries}; }

GroupSearch::Rest GroupSearch::ForListing() {
  return {kMaxSearches * kMaxDirectories, kMaxSearches * kMaxEntries};
}

// A node that was found below `prefix` has to be still there, for all that can be seen.
std::optional<bool> GroupSearch::Known(const std::string& prefix) const {
  std::string document;
  {
    const model::MutexLock lock(mutex_);
    const Result* known = results_.Find(prefix);
    if (known == nullptr) return std::nullopt;
    document = known->document;
    const auto age = std::chrono::steady_clock::now() - known->found_at;
    if (document.empty() && age >= holds_) return std::nullopt;
    if (document.empty()) {
      AnswerAge::Note(known->found_at);
      return false;
    }
  }
  const auto stamp = store_->Stat(document);
  return stamp && *stamp ? std::optional(true) : std::nullopt;
}

model::Result<bool> GroupSearch::Holds(const std::string& prefix, bool is_v3,
                                       Rest& rest) const {
  if (const auto known = Known(prefix)) return *known;
  const AnswerAge age(std::chrono::steady_clock::now());
  const uint64_t denials = CallerScope::denials();
  const bool is_whole = rest.directories >= kMaxDirectories && rest.entries >= kMaxEntries;
  auto found = FindBelow(prefix, is_v3, rest);
  const model::MutexLock lock(mutex_);
  if (found) {
    results_.Put(prefix, {*std::move(found), age.since()});
    return true;
  }
  results_.Erase(prefix);
  if (rest.error) return model::Propagate(*rest.error);
  // A refused directory may be permitted the next time, and the rest of a search is no whole
  // search.
  if (is_whole && CallerScope::denials() == denials) {
    results_.Put(prefix, {"", age.since()});
  }
  return false;
}

bool GroupSearch::HoldsWithin(const std::string& prefix, bool is_v3, Rest& listing) const {
  const Rest given{std::min(kMaxDirectories, std::max(listing.directories, 0)),
                   std::min(kMaxEntries, listing.entries)};
  Rest rest = given;
  if (Holds(prefix, is_v3, rest).value_or(false)) return true;
  listing.directories -= given.directories - std::max(rest.directories, 0);
  listing.entries -= given.entries - rest.entries;
  return false;
}

// The document of the first node that is found below `prefix`, level by level. A heap of other
// files is no group, and not all of it is searched. Directories that cannot be read are
// skipped, because others at the same level may have nodes.
std::optional<std::string> GroupSearch::FindBelow(const std::string& prefix, bool is_v3,
                                                  Rest& rest) const {
  if (rest.directories <= 0 || rest.entries == 0) return std::nullopt;
  const auto entries = ListSome(*store_, prefix, rest.entries);
  if (!entries) {
    if (!rest.error) rest.error = entries.error();
    return std::nullopt;
  }
  rest.entries -= entries->size();
  std::vector<std::string> children;
  for (const StoreEntry& entry : *entries) {
    const bool may_be_node = entry.is_prefix && !(is_v3 && IsReservedName(entry.name));
    if (!may_be_node || --rest.directories < 0) continue;
    children.push_back(JoinKey(prefix, entry.name));
    auto found = looks_.FindDocument(children.back(), is_v3);
    if (found && *found) return *std::move(found);
    if (!found && !rest.error) rest.error = found.error();
  }
  for (const std::string& child : children) {
    if (--rest.directories < 0 || rest.entries == 0) break;
    if (auto found = FindBelow(child, is_v3, rest)) return found;
  }
  return std::nullopt;
}

}  // namespace ndlfs::backends::zarr
