// SPDX-License-Identifier: MIT
#include "fs/view/base/view_kind.h"

#include "backends/base/checked.h"

namespace ndlfs::fs {

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
