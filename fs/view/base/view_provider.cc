// SPDX-License-Identifier: MIT
#include "fs/view/base/view_provider.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

namespace ndlfs::fs {

ListedViews ListedViews::All() {
  ListedViews views;
  views.choice_ = Choice::kAll;
  return views;
}

ListedViews::ListedViews(std::vector<std::string> short_names)
    : choice_(Choice::kNamed), short_names_(std::move(short_names)) {}

bool ListedViews::Shows(const ViewName& file) const {
  if (choice_ == Choice::kDefault) return file.is_listed;
  if (choice_ == Choice::kAll) return !file.is_directory;
  return std::find(short_names_.begin(), short_names_.end(), ShortName(file.name)) !=
         short_names_.end();
}

std::string ListedViews::Text() const {
  if (choice_ == Choice::kAll) return "all";
  return fmt::format("{}", fmt::join(short_names_, ","));
}

}  // namespace ndlfs::fs
