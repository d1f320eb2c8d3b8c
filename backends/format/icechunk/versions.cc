// SPDX-License-Identifier: MIT
#include "backends/format/icechunk/versions.h"

#include <fmt/format.h>

#include <iterator>
#include <set>
#include <string>
#include <utility>

namespace ndlfs::backends::icechunk {
namespace {

constexpr size_t kMostLines = 100'000;
constexpr size_t kMostNames = 10'000;

// In version 1, Resolve() takes any id.
model::Result<void> CheckExists(const Repository& repository, const Ref& ref) {
  NDLFS_TRY(const Pinned pinned, repository.Resolve(ref));
  if (ref.kind != Ref::Kind::kSnapshot) return {};
  NDLFS_TRY(const auto file,
            repository.store()->Stat(Repository::SnapshotKey(pinned.snapshot)));
  if (file) return {};
  return model::NotFound("the {} is not there; it may have expired", ref.ToText());
}

}  // namespace

model::Result<std::string> WriteLog(const Repository& repository, const Ref& ref) {
  std::string text;
  const auto out = std::back_inserter(text);
  NDLFS_TRY(const RefNames names, repository.ListRefs());
  for (const NamedRef& branch : names.branches) {
    fmt::format_to(out, "branch {} -> {}\n", model::OneLine(branch.name),
                   IdText(branch.snapshot));
  }
  for (const NamedRef& tag : names.tags) {
    fmt::format_to(out, "tag {} -> {}\n", model::OneLine(tag.name), IdText(tag.snapshot));
  }
  text += '\n';
  size_t lines = 0;
  NDLFS_RETURN_IF_ERROR(repository.ForEachAncestor(ref, [&](const SnapshotInfo& info) {
    if (++lines > kMostLines) return false;
    fmt::format_to(out, "{} {} {}\n", IdText(info.id), TimeText(info.written_us),
                   model::OneLine(info.message));
    return true;
  }));
  if (lines > kMostLines) fmt::format_to(out, "... and older ones\n");
  return text;
}

model::Result<VersionNames> ListVersions(const Repository& repository, const Ref& ref) {
  VersionNames names;
  NDLFS_TRY(const RefNames refs, repository.ListRefs());
  for (const NamedRef& branch : refs.branches) names.branches.push_back(branch.name);
  for (const NamedRef& tag : refs.tags) names.tags.push_back(tag.name);
  std::set<ObjectId> seen;
  NDLFS_RETURN_IF_ERROR(repository.ForEachSnapshot(ref, [&](const SnapshotInfo& info) {
    if (names.snapshots.size() == kMostNames || !seen.insert(info.id).second) return false;
    names.snapshots.push_back(IdText(info.id));
    return true;
  }));
  return names;
}

model::Result<void> CheckVersion(const Repository& repository, const std::string& text) {
  const auto ref = ParseRef(text);
  if (!ref) return model::NotFound("{}", ref.error().message());
  const auto found = CheckExists(repository, *ref);
  if (found || found.error().code() != model::ErrorCode::kNotFound) return found;
  bool was_there = ref->kind == Ref::Kind::kSnapshot;
  if (ref->kind == Ref::Kind::kTag) {
    NDLFS_TRY(was_there, repository.WasDeleted(ref->name));
  }
  return was_there ? model::BadInput("{}", found.error().message()) : found;
}

model::Result<std::string> RefAt(const Ref& open, std::string_view time) {
  auto ref = ParseRef("at=" + std::string(time));
  if (!ref || time.find(',') != std::string_view::npos) {
    return model::NotFound("{} is no time", model::Quote(time));
  }
  const Ref history = open.kind == Ref::Kind::kAt ? open.history() : open;
  ref->history_kind = history.kind;
  ref->history_name = history.name;
  return ref->ToOption();
}

}  // namespace ndlfs::backends::icechunk
