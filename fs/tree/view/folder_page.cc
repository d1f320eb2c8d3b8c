// SPDX-License-Identifier: MIT
#include "fs/tree/view/folder_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "fs/tree/source_tree.h"
#include "fs/view/base/html_text.h"
#include "fs/view/page/type_words.h"
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
    if (context.IsHidden(entry->name)) continue;
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

// The entries of the page, by kind.
struct Sections {
  std::string stores;
  std::string folders;
  std::string files;
  size_t store_count = 0;
  size_t folder_count = 0;
  size_t file_count = 0;
};

// Adds up the sizes of files in directories, of a limited number of files in all.
class TreeSizes {
 public:
  explicit TreeSizes(const MountContext& context) : context_(context) {}

  // "1.2 GiB in 340 files", "more than 3 MiB"; empty where it is not known.
  std::string TextOf(const std::string& path) {
    if (context_.local == nullptr || left_ == 0) return {};
    bytes_ = 0;
    files_ = 0;
    Add(path, 0);
    const std::string size = FormatBytes(static_cast<double>(bytes_));
    if (left_ == 0) return "more than " + size;
    return fmt::format("{} in {} {}", size, FormatCount(files_),
                       files_ == 1 ? "file" : "files");
  }

 private:
  void Add(const std::string& path, int depth) {
    constexpr int kMostDepth = 32;
    const auto listing = context_.source->List(path);
    while (listing && left_ > 0 && depth < kMostDepth) {
      const auto entry = (*listing)->Next();
      if (!entry || *entry == nullptr) return;
      --left_;
      const std::string place = JoinSourcePath(path, std::string((*entry)->name));
      const auto status = context_.source->Stat(place, Follow::kNo);
      if (!status || !*status) continue;
      if ((*status)->is_directory()) {
        Add(place, depth + 1);
      } else if ((*status)->is_file()) {
        bytes_ += (*status)->size;
        ++files_;
      }
    }
  }

  const MountContext& context_;
  size_t left_ = 4000;  // looks at files, for the whole page
  uint64_t bytes_ = 0;
  uint64_t files_ = 0;
};

std::string Row(const std::string& name, std::string_view url_end, std::string_view text) {
  return fmt::format("<tr><th scope=\"row\"><a href=\"{}{}\">{}</a></th><td>{}</td></tr>\n",
                     UrlOfName(name), url_end, HtmlName(name), text);
}

// An entry that is gone by now, or cannot be looked at, counts as a file.
void AddEntry(MountContext& context, const std::string& path, const std::string& name,
              TreeSizes& sizes, Sections& sections) {
  const std::string place = JoinSourcePath(path, name);
  const auto found = context.source->Stat(place, Follow::kNo);
  const bool is_link = found && *found && (*found)->is_symlink();
  const auto target = is_link ? context.source->Stat(place, Follow::kYes) : found;
  if (!target || !*target) {
    ++sections.file_count;
    sections.files += Row(name, "", is_link ? "link" : "");
    return;
  }
  const FileStatus& status = **target;
  const bool may_be_store = status.is_file() || status.is_directory();
  const auto store = may_be_store ? context.catalog.Find(place, status) : nullptr;
  const std::string size = is_link ? "link" : FormatBytes(static_cast<double>(status.size));
  if (store && *store) {
    ++sections.store_count;
    const bool is_tree = status.is_directory() && !is_link;
    sections.stores += Row(name, "/index.html", is_tree ? sizes.TextOf(place) : size);
  } else if (status.is_directory()) {
    ++sections.folder_count;
    sections.folders += Row(name, "/index.html", is_link ? "link" : "");
  } else {
    ++sections.file_count;
    sections.files += Row(name, "", size);
  }
}

std::string Section(std::string_view title, const std::string& rows) {
  if (rows.empty()) return {};
  return fmt::format(
      "<h2>{}</h2>\n<table class=\"facts wide-names\"><tbody data-find>\n{}</tbody></table>\n",
      title, rows);
}

std::string CountsText(const Sections& sections) {
  std::string text;
  const auto add = [&](size_t count, std::string_view one, std::string_view many) {
    if (count == 0) return;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", FormatCount(count),
                        count == 1 ? one : many);
  };
  add(sections.store_count, "store of arrays", "stores of arrays");
  add(sections.folder_count, "folder", "folders");
  add(sections.file_count, "file", "files");
  return text;
}

// The name of the whole source for people: that of its directory, or the last part of its URL.
std::string NameOfSource(const MountContext& context) {
  std::string name(model::BaseName("/" + context.source->name()));
  return name.empty() ? "Data" : name;
}

}  // namespace

Result<std::string> WriteFolderPage(MountContext& context, const std::string& path) {
  NDLFS_TRY(const Names names, ListNames(context, path));
  Sections sections;
  TreeSizes sizes(context);
  for (const std::string& name : names.first) AddEntry(context, path, name, sizes, sections);
  const std::string title =
      path.empty() ? NameOfSource(context) : std::string(model::BaseName("/" + path));
  std::string page = BeginPage(title);
  if (!path.empty()) {
    page += fmt::format("<nav><a href=\"../index.html\">..</a> / {}</nav>\n", HtmlName(title));
  }
  page += fmt::format("<h1>{}</h1>\n", HtmlName(title));
  if (names.count > names.first.size()) {
    page += fmt::format("<p class=\"soft\">The first {} of {} entries.</p>\n",
                        FormatCount(names.first.size()), FormatCount(names.count));
  } else if (names.count > 0) {
    page += fmt::format("<p class=\"soft\">{}</p>\n", CountsText(sections));
  }
  page += Section("Stores", sections.stores) + Section("Folders", sections.folders) +
          Section("Files", sections.files);
  if (names.count == 0) page += "<p class=\"soft\">The folder is empty.</p>\n";
  return page + SearchScript(names.first.size()) + EndPage();
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
