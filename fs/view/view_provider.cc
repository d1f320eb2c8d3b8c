// SPDX-License-Identifier: MIT
#include "fs/view/view_provider.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "model/path_name.h"

namespace ndlfs::fs {

const ArrayViewProvider& ArrayViews() {
  static const KindProvider<ArrayInput> kinds(ArrayViewKinds());
  static const JoinedProvider<ArrayInput> all({&kinds});
  return all;
}

const GroupViewProvider& GroupViews() {
  static const KindProvider<GroupInput> kinds(GroupViewKinds());
  static const JoinedProvider<GroupInput> all({&kinds});
  return all;
}

std::string ResolveAlias(std::string_view stem, std::string_view name) {
  if (stem.empty() || !name.starts_with(stem) || model::IsReservedFileName(name)) return {};
  const std::string_view rest = name.substr(stem.size());
  if (!rest.starts_with('.') && !rest.starts_with('[')) return {};
  return "data" + std::string(rest);
}

model::Result<ListedViews> ListedViews::Parse(std::string_view text) {
  ListedViews views;
  views.text_ = text;
  if (text == "all") {
    views.all_ = true;
    return views;
  }
  const std::vector<std::string_view> known = ShortViewNames();
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find_first_of(",:", begin), text.size());
    const std::string_view name = text.substr(begin, end - begin);
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      return model::BadInput("{} is none of all, {}", model::Quote(name),
                             fmt::join(known, ", "));
    }
    views.names_.emplace_back(name);
    begin = end + 1;
  }
  return views;
}

bool ListedViews::Shows(const ViewName& file) const {
  if (text_.empty()) return file.is_listed;
  return all_ || std::find(names_.begin(), names_.end(), ShortName(file.name)) != names_.end();
}

std::vector<std::string_view> ShortViewNames() {
  std::vector<std::string_view> names;
  for (const auto* kind : ArrayViewKinds()) names.push_back(ShortName(kind->file_name));
  for (const auto* kind : GroupViewKinds()) names.push_back(ShortName(kind->file_name));
  return names;
}

}  // namespace ndlfs::fs
