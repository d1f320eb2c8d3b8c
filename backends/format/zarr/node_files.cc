// SPDX-License-Identifier: MIT
#include "backends/format/zarr/node_files.h"

#include <algorithm>
#include <array>

namespace ndlfs::backends::zarr {

int64_t NodeFiles::mtime_ns() const {
  return std::max(stamp ? stamp->modified_ns : 0,
                  attributes_stamp ? attributes_stamp->modified_ns : 0);
}

std::span<const DocumentName> DocumentsOf(bool is_v3) {
  static constexpr std::array kV2 = {DocumentName{".zarray", NodeFiles::Kind::kV2Array},
                                     DocumentName{".zgroup", NodeFiles::Kind::kV2Group}};
  static constexpr std::array kV3 = {DocumentName{kV3Name, NodeFiles::Kind::kV3}};
  return is_v3 ? std::span<const DocumentName>(kV3) : kV2;
}

std::span<const std::string_view> FilesOfNode(bool is_v3) {
  static constexpr std::array<std::string_view, 3> kV2 = {".zarray", ".zgroup",
                                                          kAttributesName};
  static constexpr std::array<std::string_view, 1> kV3 = {kV3Name};
  return is_v3 ? std::span<const std::string_view>(kV3) : kV2;
}

std::span<const std::string_view> NamesOfDocuments(bool is_v3) {
  return FilesOfNode(is_v3).first(DocumentsOf(is_v3).size());
}

bool IsReservedName(std::string_view name) {
  return name.find_first_not_of('.') == name.npos || name.starts_with("__") || name == kV3Name;
}

}  // namespace ndlfs::backends::zarr
