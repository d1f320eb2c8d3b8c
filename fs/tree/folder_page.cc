// SPDX-License-Identifier: MIT
#include "fs/tree/folder_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "fs/tree/source_tree.h"
#include "fs/view/html_text.h"
#include "model/path_name.h"

namespace ndlfs::fs {
namespace {

using backends::FileStatus;
using backends::Follow;
using model::Result;

constexpr size_t kMostEntries = 1000;

// The names in a directory, sorted, and how many there are in all.
struct Names {
  std::vector<std::string> first;
  size_t count = 0;
};

Result<Names> ListNames(const MountContext& context, const std::string& path) {
  NDLFS_TRY(const auto listing, context.source->List(path), path);
  Names names;
  for (;;) {
    NDLFS_TRY(const auto* entry, listing->Next(), path);
    if (entry == nullptr) break;
    ++names.count;
    names.first.emplace_back(entry->name);
    // The first by name, of any number.
    if (names.first.size() < 2 * kMostEntries) continue;
    std::ranges::nth_element(names.first, names.first.begin() + kMostEntries);
    names.first.resize(kMostEntries);
  }
  std::ranges::sort(names.first);
  names.first.resize(std::min(names.first.size(), kMostEntries));
  return names;
}

// What is listed of each kind.
struct Sections {
  std::string stores;
  std::string folders;
  std::string files;
};

std::string Row(const std::string& name, std::string_view url_end, std::string_view text) {
  return fmt::format("<tr><td><a href=\"{}{}\">{}</a></td><td class=\"soft\">{}</td></tr>\n",
                     UrlOfName(name), url_end, HtmlName(name), text);
}

// What has gone meanwhile, or cannot be looked at, is a file.
void AddEntry(MountContext& context, const std::string& path, const std::string& name,
              Sections& sections) {
  const std::string place = JoinSourcePath(path, name);
  const auto found = context.source->Stat(place, Follow::kNo);
  if (!found || !*found) {
    sections.files += Row(name, "", "");
    return;
  }
  const bool is_link = (*found)->is_symlink();
  const auto target = is_link ? context.source->Stat(place, Follow::kYes) : found;
  if (!target || !*target) {
    sections.files += Row(name, "", "link");
    return;
  }
  const FileStatus& status = **target;
  const bool may_be_store = status.is_file() || status.is_directory();
  const auto store = may_be_store ? context.catalog.Find(place, status) : nullptr;
  if (store && *store) {
    sections.stores += Row(name, "/index.html", is_link ? "link" : "");
  } else if (status.is_directory()) {
    sections.folders += Row(name, "/index.html", is_link ? "link" : "");
  } else {
    const std::string size = FormatBytes(static_cast<double>(status.size));
    sections.files += Row(name, "", is_link ? "link" : size);
  }
}

std::string Section(std::string_view title, const std::string& rows) {
  if (rows.empty()) return {};
  return fmt::format("<h2>{}</h2>\n<table><tbody>\n{}</tbody></table>\n", title, rows);
}

}  // namespace

Result<std::string> WriteFolderPage(MountContext& context, const std::string& path) {
  NDLFS_TRY(const Names names, ListNames(context, path));
  Sections sections;
  for (const std::string& name : names.first) AddEntry(context, path, name, sections);
  const std::string& mount_point = context.services.mount_point;
  const std::string title(model::BaseName(path.empty() ? mount_point : "/" + path));
  std::string page = BeginPage(title);
  if (!path.empty()) {
    page += fmt::format("<nav><a href=\"../index.html\">..</a> / {}</nav>\n", HtmlName(title));
  }
  page += fmt::format("<h1>{}</h1>\n", title.empty() ? "/" : HtmlName(title));
  if (names.count > names.first.size()) {
    page += fmt::format("<p class=\"soft\">The first {} of {} entries.</p>\n",
                        names.first.size(), names.count);
  }
  page += Section("Stores", sections.stores) + Section("Folders", sections.folders) +
          Section("Files", sections.files);
  if (names.count == 0) page += "<p class=\"soft\">The folder is empty.</p>\n";
  return page + EndPage();
}

std::string WriteErrorPage(std::string_view name, std::string_view reason) {
  return BeginPage(name) +
         fmt::format(
             "<nav><a href=\"../index.html\">..</a> / {0}</nav>\n"
             "<h1>{0}</h1>\n<p class=\"bad text\">{1}</p>\n",
             HtmlName(name), HtmlText(reason)) +
         EndPage();
}

}  // namespace ndlfs::fs
