// SPDX-License-Identifier: MIT
#include "backends/format/icechunk/versions.h"

#include <fmt/format.h>

#include <iterator>

namespace ndlfs::backends::icechunk {
namespace {

constexpr size_t kMostLines = 100'000;

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
  NDLFS_RETURN_IF_ERROR(repository.ForEachAncestor(ref, [&](const SnapshotInfo& info) {
    names.snapshots.push_back(IdText(info.id));
    return names.snapshots.size() < kMostLines;
  }));
  return names;
}

}  // namespace ndlfs::backends::icechunk
