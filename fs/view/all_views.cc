// SPDX-License-Identifier: MIT
#include "fs/view/all_views.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "fs/view/array/views.h"
#include "fs/view/container/views.h"
#include "fs/view/group_part_provider.h"
#include "fs/view/image/views.h"
#include "fs/view/page/views.h"
#include "fs/view/part_provider.h"
#ifdef NDLFS_WITH_PNG
#include "fs/view/picture/views.h"
#endif
#include "model/path_name.h"

namespace ndlfs::fs {

std::span<const ArrayViewKind* const> ArrayViewKinds() {
  static constexpr std::array kKinds = {
      &kNpyView,       &kRawView,       &kTextView,      &kJsonlView,   &kEnviView,
      &kShortEnviView, &kNrrdView,      &kMetaImageView, &kVrtView,     &kXdmfView,
      &kBovView,       &kGradsView,     &kTiffView,      &kFitsView,    &kNiftiView,
      &kFortranView,   &kValuesCsvView, &kTableView,     &kDataCsvView,
#ifdef NDLFS_WITH_PNG
      &kPreviewView,   &kThumbnailView,
#endif
      &kPageView,
  };
  return kKinds;
}

std::span<const GroupViewKind* const> GroupViewKinds() {
  static constexpr std::array kKinds = {
      &kNetcdfView,
#ifdef NDLFS_WITH_HDF5
      &kHdf5View,
#endif
      &kOmeTiffView,      &kGroupValuesCsvView, &kGroupTableView,
      &kGroupDataCsvView, &kGroupPageView,
  };
  return kKinds;
}

const ArrayViewProvider& ArrayViews() {
  static const KindProvider<ArrayInput> kinds(ArrayViewKinds());
  static const PartProvider parts(kinds);
  static const JoinedProvider<ArrayInput> all({&kinds, &parts});
  return all;
}

const GroupViewProvider& GroupViews() {
  static const KindProvider<GroupInput> kinds(GroupViewKinds());
  static const GroupPartProvider parts(kinds);
  static const JoinedProvider<GroupInput> all({&kinds, &parts});
  return all;
}

std::string ResolveAlias(std::string_view stem, std::string_view name) {
  if (stem.empty() || !name.starts_with(stem) || model::IsReservedFileName(name)) return {};
  const std::string_view rest = name.substr(stem.size());
  if (!rest.starts_with('.') && !rest.starts_with('[')) return {};
  return "data" + std::string(rest);
}

std::string_view StemOf(std::string_view file_name) {
  const size_t dot = file_name.rfind('.');
  return dot == 0 ? file_name : file_name.substr(0, dot);
}

std::string WithExtension(std::string_view name, std::string_view extension) {
  const std::string_view first = extension.substr(0, extension.find('.'));
  const bool has_several = first.size() < extension.size();
  const std::string ending = '.' + std::string(first);
  if (has_several && name.size() > ending.size() && name.ends_with(ending)) {
    name.remove_suffix(ending.size());
  }
  return fmt::format("{}.{}", name, extension);
}

std::vector<std::string_view> ShortViewNames() {
  std::vector<std::string_view> names;
  for (const auto* kind : ArrayViewKinds()) names.push_back(ShortName(kind->file_name));
  for (const auto* kind : GroupViewKinds()) {
    const std::string_view name = ShortName(kind->file_name);
    if (std::ranges::find(names, name) == names.end()) names.push_back(name);
  }
  return names;
}

}  // namespace ndlfs::fs
