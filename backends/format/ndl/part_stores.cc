// SPDX-License-Identifier: MIT
#include "backends/format/ndl/part_stores.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "backends/store/cancellation.h"
#include "backends/store/keys.h"
#include "model/file_set.h"

namespace ndlfs::backends::ndl {
namespace {

using model::Result;

constexpr size_t kMostReferrers = 8;
constexpr size_t kMostOpen = 32;
// A glob looks at so many names at most.
constexpr size_t kMostLooked = 1'000'000;
// Stands for any number of folders, one in the other, or none.
constexpr std::string_view kAnyFolders = "**";
constexpr int kDeepest = 64;

// Finds the files that a pattern fits, folder by folder.
class Glob {
 public:
  Glob(const Source& source, std::string_view pattern) : source_(source), pattern_(pattern) {}

  Result<std::vector<std::string>> Run(const std::string& base, std::string_view rest) {
    NDLFS_RETURN_IF_ERROR(Search(base, rest));
    if (found_.empty()) return model::NotFound("no file fits {}", model::Quote(pattern_));
    std::ranges::sort(found_);
    return std::move(found_);
  }

 private:
  Result<void> Search(const std::string& folder, std::string_view rest) {
    const size_t slash = std::min(rest.find('/'), rest.size());
    const std::string_view part = rest.substr(0, slash);
    rest.remove_prefix(std::min(slash + 1, rest.size()));
    if (part.empty()) return rest.empty() ? Result<void>() : Search(folder, rest);
    if (part == kAnyFolders) return SearchAll(folder, rest, 0);
    if (!model::HasWildcard(part)) return Enter(JoinKey(folder, part), rest);
    NDLFS_TRY(const auto names, NamesOf(folder, part));
    for (const std::string& name : names) {
      NDLFS_RETURN_IF_ERROR(Enter(JoinKey(folder, name), rest));
    }
    return {};
  }

  // In the folder and in all below it. Links to folders are not followed.
  Result<void> SearchAll(const std::string& folder, std::string_view rest, int depth) {
    if (depth == kDeepest) return model::Limit("more than {} folders below each other", depth);
    NDLFS_RETURN_IF_ERROR(Search(folder, rest));
    NDLFS_TRY(const auto folders, NamesOf(folder, "*", true));
    for (const std::string& name : folders) {
      NDLFS_RETURN_IF_ERROR(SearchAll(JoinKey(folder, name), rest, depth + 1));
    }
    return {};
  }

  Result<void> Enter(std::string path, std::string_view rest) {
    if (!rest.empty()) return Search(path, rest);
    if (found_.size() == model::kMaxParts) {
      return model::Limit("more than {} files fit {}", model::kMaxParts,
                          model::Quote(pattern_));
    }
    found_.push_back(std::move(path));
    return {};
  }

  Result<std::vector<std::string>> NamesOf(const std::string& folder, std::string_view part,
                                           bool only_folders = false) {
    std::vector<std::string> names;
    auto listing = source_.List(folder);
    if (!listing) {
      if (listing.error().is_no_such_file()) return names;
      return model::Propagate(std::move(listing).error(), source_.Describe(folder));
    }
    for (;;) {
      NDLFS_TRY(const auto* entry, (*listing)->Next(), source_.Describe(folder));
      if (entry == nullptr) break;
      if (++looked_ > kMostLooked) {
        return model::Limit("more than {} names to compare with {}", kMostLooked,
                            model::Quote(pattern_));
      }
      if (!model::MatchesGlob(part, entry->name)) continue;
      if (!only_folders || IsFolder(**listing, *entry)) names.emplace_back(entry->name);
    }
    std::ranges::sort(names);
    return names;
  }

  static bool IsFolder(DirectoryListing& listing, const DirectoryListing::Entry& entry) {
    if (entry.kind != FileKind::kUnknown) return entry.kind == FileKind::kDirectory;
    const auto status = listing.StatEntry();
    return status && *status && (*status)->is_directory();
  }

  const Source& source_;
  const std::string_view pattern_;
  size_t looked_ = 0;
  std::vector<std::string> found_;
};

}  // namespace

Result<std::string> FileOfLocation(std::string_view location) {
  constexpr std::string_view kScheme = "file:";
  const bool is_file = location.starts_with(kScheme);
  if (location.find("://") != location.npos && !is_file) {
    return model::Unsupported("{}: only file names and file: URIs are supported",
                              model::Quote(location));
  }
  if (is_file) location.remove_prefix(kScheme.size());
  if (location.empty()) return model::BadInput("the location is empty");
  return std::string(location);
}

Result<void> RequireData(const Node& node, std::string_view label) {
  if (node.is_group()) return model::BadInput("{} is a group, expected an array", label);
  if (node.source) return {};
  if (node.error) return model::Propagate(*node.error, std::string(label));
  return model::Unsupported("{} has no data", label);
}

PartStores::PartStores(std::shared_ptr<const Source> source, std::string document_path,
                       OpenOptions options)
    : source_(std::move(source)),
      document_path_(std::move(document_path)),
      options_(std::move(options)) {
  options_.referrers.push_back(document_path_);
}

Result<std::shared_ptr<const PartStores>> PartStores::Make(std::shared_ptr<const Source> source,
                                                           std::string document_path,
                                                           OpenOptions options) {
  if (std::ranges::find(options.referrers, document_path) != options.referrers.end()) {
    return model::BadInput("documents refer to each other in a circle: {} -> {}",
                           fmt::join(options.referrers, " -> "), document_path);
  }
  if (options.referrers.size() >= kMostReferrers) {
    return model::Limit("more than {} documents refer to each other", kMostReferrers);
  }
  if (options.documents == 0) {
    return model::Limit("documents refer to more than {} others: {} -> {}",
                        OpenOptions().documents, fmt::join(options.referrers, " -> "),
                        document_path);
  }
  return std::shared_ptr<const PartStores>(
      new PartStores(std::move(source), std::move(document_path), std::move(options)));
}

Result<std::string> PartStores::Resolve(std::string_view name) const {
  auto path = source_->Resolve(document_path_, name);
  if (!path) return model::Unsupported("{} leads out of the source", model::Quote(name));
  return *std::move(path);
}

Result<std::vector<std::string>> PartStores::Expand(const model::FileSet& files) const {
  if (files.form != model::FileSet::Form::kGlob) {
    NDLFS_TRY(const auto names, model::ExpandFileSet(files));
    std::vector<std::string> paths;
    for (const std::string& name : names) {
      NDLFS_TRY(paths.emplace_back(), Resolve(name));
    }
    return paths;
  }
  // The path before the first wildcard is a folder.
  const std::string_view pattern = files.names.at(0);
  const size_t wildcard = std::min(pattern.find_first_of("*?["), pattern.size());
  const size_t slash = pattern.rfind('/', wildcard);
  const std::string_view folder = slash == pattern.npos ? "" : pattern.substr(0, slash);
  const std::string_view rest = slash == pattern.npos ? pattern : pattern.substr(slash + 1);
  if (rest.find("../") != rest.npos || rest.ends_with("..")) {
    return model::BadInput("\"..\" behind a wildcard in {}", model::Quote(pattern));
  }
  NDLFS_TRY(const std::string base, Resolve(folder));
  return Glob(*source_, pattern).Run(base, rest);
}

void PartStores::Close(const std::string& path) const {
  HierarchyPtr closed;  // outlives the lock
  const model::MutexLock lock(mutex_);
  const auto found =
      std::ranges::find(open_, path, &std::pair<std::string, HierarchyPtr>::first);
  if (found == open_.end()) return;
  closed = std::move(found->second);
  open_.erase(found);
}

Result<std::shared_ptr<const Hierarchy>> PartStores::Open(const std::string& path) const {
  {
    const model::MutexLock lock(mutex_);
    const auto found =
        std::ranges::find(open_, path, &std::pair<std::string, HierarchyPtr>::first);
    if (found != open_.end()) {
      open_.splice(open_.begin(), open_, found);
      return found->second;
    }
  }
  if (!options_.open_store) return model::Internal("nothing opens other stores");
  NDLFS_RETURN_IF_ERROR(CancellationScope::Check());
  OpenOptions options = options_;
  options.documents /= parts_;
  NDLFS_TRY(HierarchyPtr opened, options_.open_store(source_, path, options));
  HierarchyPtr closed;
  const model::MutexLock lock(mutex_);
  open_.emplace_front(path, opened);
  if (open_.size() > kMostOpen) {
    closed = std::move(open_.back().second);
    open_.pop_back();
  }
  return opened;
}

// A store that is open may have been replaced.
Result<std::shared_ptr<const Node>> PartStores::Load(const std::string& path,
                                                     std::string_view name) const {
  NDLFS_RETURN_IF_ERROR(CancellationScope::Check());
  for (int attempt = 0;; ++attempt) {
    NDLFS_TRY(const HierarchyPtr store, Open(path));
    auto node = store->Load(name);
    if (node) return node;
    if (node.error().code() == model::ErrorCode::kStale && attempt == 0) {
      Close(path);
      continue;
    }
    return model::Propagate(std::move(node).error(), Describe(path));
  }
}

Result<std::shared_ptr<const Node>> PartStores::LoadArray(const std::string& path,
                                                          std::string_view name) const {
  NDLFS_TRY(auto node, Load(path, name));
  NDLFS_RETURN_IF_ERROR(RequireData(*node, Describe(path, name)));
  return node;
}

std::string PartStores::Describe(std::string_view path, std::string_view name) const {
  return fmt::format("{}: {}", Describe(path), name);
}

}  // namespace ndlfs::backends::ndl
