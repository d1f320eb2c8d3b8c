// SPDX-License-Identifier: MIT
#include "fs/view/view_kinds.h"

#include <array>

#include "backends/base/checked.h"

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

std::optional<model::Error> RefuseWithoutElements(const ArrayInput& input) {
  if (input.elements) return std::nullopt;
  return model::Limit("more than {} bytes of elements", backends::kMaxViewSize).value();
}

std::string_view ShortName(std::string_view file_name) {
  constexpr std::string_view kStem = "data.";
  if (file_name == "index.html") return "html";
  if (file_name == "preview.png") return "preview";
  if (file_name == "thumbnail.png") return "thumbnail";
  return file_name.starts_with(kStem) ? file_name.substr(kStem.size()) : file_name;
}

}  // namespace ndlfs::fs
