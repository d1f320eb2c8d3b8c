// SPDX-License-Identifier: MIT
#include "fs/view/all_views.h"

#include <algorithm>
#include <array>

#include "fs/view/array/views.h"
#include "fs/view/container/views.h"
#include "fs/view/dap/dap4_provider.h"
#include "fs/view/dap/dap_provider.h"
#include "fs/view/image/views.h"
#include "fs/view/page/views.h"
#include "fs/view/part_provider.h"
#ifdef NDLFS_WITH_PNG
#include "fs/view/picture/views.h"
#endif

namespace ndlfs::fs {

std::span<const ArrayViewKind* const> ArrayViewKinds() {
  static constexpr std::array kKinds = {
      &kNpyView,       &kRawView,        &kTextView,      &kJsonlView, &kEnviView,
      &kShortEnviView, &kNrrdView,       &kMetaImageView, &kVrtView,   &kXdmfView,
      &kBovView,       &kGradsView,      &kTiffView,      &kFitsView,  &kNiftiView,
      &kMrcView,       &kFortranView,    &kValuesCsvView, &kTableView, &kDataCsvView,
      &kZarrArrayView, &kZarr2ArrayView, &kPyramidView,
#ifdef NDLFS_WITH_PNG
      &kPreviewView,   &kThumbnailView,
#endif
      &kPageView,
  };
  return kKinds;
}

std::span<const GroupViewKind* const> GroupViewKinds() {
  static constexpr std::array kKinds = {
      &kNetcdfView,         &kHdf5View,           &kNetcdf4View,      &kZarrGroupView,
      &kZarr2GroupView,     &kValuesZarrView,     &kValuesZarr2View,  &kOmeTiffView,
      &kGroupValuesCsvView, &kGroupTableView,     &kGroupDataCsvView,
#ifdef NDLFS_WITH_PNG
      &kGroupPreviewView,   &kGroupThumbnailView,
#endif
      &kGroupPageView,
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
  static const DapProvider dap;
  static const Dap4Provider dap4;
  static const JoinedProvider<GroupInput> all({&kinds, &parts, &dap, &dap4});
  return all;
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
