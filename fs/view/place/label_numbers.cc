// SPDX-License-Identifier: MIT
#include "fs/view/place/label_numbers.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "fs/view/base/attributes.h"
#include "fs/view/place/ome_image.h"

namespace ndlfs::fs {

bool AreLabels(const ArrayInput& whole) {
  const auto kind = whole.dtype.kind();
  if (kind == model::Datatype::Kind::kEnum) return true;
  if (kind != model::Datatype::Kind::kInteger || whole.dtype.time()) return false;
  const auto& attributes = whole.node->attributes();
  if (FindAttribute(attributes, "flag_values") != nullptr) return true;
  if (TextOf(attributes, "type") == "segmentation") return true;  // of Neuroglancer
  const std::string units = TextOf(attributes, "units");
  if (!units.empty() && units != "1") return false;
  if (whole.group != nullptr && IsOmeLabels(whole.group->node())) return true;
  std::string words = PathOf(whole) + ' ' + TextOf(attributes, "long_name") + ' ' +
                      TextOf(attributes, "standard_name");
  std::ranges::transform(words, words.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c == '_' ? ' ' : c;
  });
  constexpr std::array<std::string_view, 9> kWords = {"label",     "segmentation", "mask",
                                                      "class",     "categor",      "land cover",
                                                      "landcover", "land use",     "cluster"};
  return std::ranges::any_of(
      kWords, [&](std::string_view word) { return words.find(word) != std::string::npos; });
}

}  // namespace ndlfs::fs
