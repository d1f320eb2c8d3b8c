// SPDX-License-Identifier: MIT
#include "backends/format/zarr/folder_looks.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "backends/format/zarr/node_files.h"
#include "backends/store/answer_age.h"
#include "backends/store/caller.h"
#include "backends/store/keys.h"
#include "backends/store/request_scope.h"

namespace ndlfs::backends::zarr {

namespace {

struct LookOfRequest {
  LookOfRequest(FolderLookPtr found, AnswerAge::Time when)
      : look(std::move(found)), since(when) {}
  FolderLookPtr look;
  AnswerAge::Time since;
};

}  // namespace

void FolderLook::Add(const Store& store, std::string_view prefix,
                     std::span<const std::string_view> names) {
  std::vector<std::string> keys;
  for (const std::string_view name : names) keys.push_back(JoinKey(prefix, name));
  const std::vector<std::string_view> views(keys.begin(), keys.end());
  auto found = store.StatMany(views);
  names_.insert(names_.end(), names.begin(), names.end());
  found_.insert(found_.end(), std::make_move_iterator(found.begin()),
                std::make_move_iterator(found.end()));
}

model::Result<std::optional<ValueInfo>> FolderLook::Find(std::string_view name) const {
  const auto at = std::find(names_.begin(), names_.end(), name) - names_.begin();
  const auto i = static_cast<size_t>(at);
  if (i >= found_.size()) return std::nullopt;
  // Remembered or not, the caller was refused it.
  if (!found_[i] && found_[i].error().code() == model::ErrorCode::kDenied) {
    CallerScope::CountDenial();
  }
  return found_[i];
}

bool FolderLook::has_errors() const {
  return std::ranges::any_of(found_, [](const auto& found) { return !found; });
}

bool FolderLook::has_files() const {
  return std::ranges::any_of(found_, [](const auto& found) { return found && *found; });
}

FolderLookPtr FolderLooks::LookInto(const std::string& prefix, bool is_v3) const {
  RequestScope* const scope = RequestScope::Current();
  if (scope == nullptr) return LookAtFiles(prefix, is_v3);
  const bool is_root = prefix == root_;
  const std::string memory_key = (is_root ? "" : is_v3 ? "3" : "2") + prefix;
  if (const auto known = scope->Find<LookOfRequest>(owner_, memory_key)) {
    known_.trust().NoteUse(known->since);
    return known->look;
  }
  if (const auto known = known_.Find(memory_key)) return known->what;
  const AnswerAge age(std::chrono::steady_clock::now());
  auto look = LookAtFiles(prefix, is_v3);
  const auto since = age.since();
  if (!look->has_errors() && (is_root || look->has_files())) {
    known_.Put(memory_key, look, since);
  }
  scope->Keep(owner_, memory_key, std::make_shared<const LookOfRequest>(look, since));
  return look;
}

// At the root all names may exist: together they tell the kind of the hierarchy.
FolderLookPtr FolderLooks::LookAtFiles(const std::string& prefix, bool is_v3) const {
  static constexpr std::array<std::string_view, 6> kAtRoot = {
      kV3Name, ".zarray", ".zgroup", kAttributesName, kConsolidatedName, kNczarrName};
  static constexpr std::array<std::string_view, 2> kV2Array = {".zarray", kAttributesName};
  static constexpr std::array<std::string_view, 1> kV2Group = {".zgroup"};
  const bool is_remote = store_->looks_are_requests();
  if (prefix == root_) {
    auto copies = is_remote ? LookForCopies(prefix) : nullptr;
    return copies ? copies : std::make_shared<const FolderLook>(*store_, prefix, kAtRoot);
  }
  if (is_v3 || is_remote) {
    return std::make_shared<const FolderLook>(*store_, prefix, FilesOfNode(is_v3));
  }
  // Most nodes are arrays: the document of a group would not count there.
  auto look = std::make_shared<FolderLook>(*store_, prefix, kV2Array);
  const auto array = look->Find(kV2Array.front());
  if (array && !*array) look->Add(*store_, prefix, kV2Group);
  return look;
}

// Where each look is a request: what spares all others, if it is there.
FolderLookPtr FolderLooks::LookForCopies(const std::string& prefix) const {
  static constexpr std::array<std::string_view, 2> kNames = {kV3Name, kConsolidatedName};
  auto look = std::make_shared<const FolderLook>(*store_, prefix, kNames);
  return look->has_files() ? look : nullptr;
}

model::Result<std::optional<std::string>> FolderLooks::FindDocument(const std::string& prefix,
                                                                    bool is_v3) const {
  const auto look = LookInto(prefix, is_v3);
  for (const DocumentName& document : DocumentsOf(is_v3)) {
    NDLFS_TRY(const auto stamp, look->Find(document.name));
    if (stamp) return JoinKey(prefix, document.name);
  }
  return std::nullopt;
}

model::Result<std::optional<std::string>> FolderLooks::FindDocumentAlone(
    const std::string& prefix, bool is_v3) const {
  for (const DocumentName& document : DocumentsOf(is_v3)) {
    std::string key = JoinKey(prefix, document.name);
    NDLFS_TRY(const auto stamp, store_->Stat(key));
    if (stamp) return key;
  }
  return std::nullopt;
}

}  // namespace ndlfs::backends::zarr
