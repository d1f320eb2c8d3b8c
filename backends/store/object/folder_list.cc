// SPDX-License-Identifier: MIT
#include "backends/store/object/folder_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "backends/base/percent_encoding.h"
#include "backends/store/http/key_answer.h"
#include "backends/store/http/url.h"

namespace ndlfs::backends::object {
namespace {

// The name of a key or a prefix in its folder; empty for a name that no file can have.
std::string NameOf(std::string_view key, std::string_view folder) {
  std::string_view name = key.substr(folder.size());
  if (name.ends_with('/')) name.remove_suffix(1);
  return std::string(IsSoundName(name) ? name : "");
}

struct Item {
  std::string key;
  ListedObject listed;
};

// All that a page has, sorted by key, each key once.
std::vector<Item> Sorted(KeyPage list, std::string_view folder, const ListedInfo& info_of) {
  std::vector<Item> items;
  for (ListedKey& object : list.objects) {
    ListedObject listed = {NameOf(object.key, folder), FileKind::kFile, info_of(object)};
    if (object.key.ends_with('/')) listed.name.clear();
    items.push_back({std::move(object.key), std::move(listed)});
  }
  for (std::string& prefix : list.prefixes) {
    ListedObject listed = {NameOf(prefix, folder), FileKind::kDirectory};
    items.push_back({std::move(prefix), std::move(listed)});
  }
  std::stable_sort(items.begin(), items.end(),
                   [](const Item& a, const Item& b) { return a.key < b.key; });
  items.erase(std::unique(items.begin(), items.end(),
                          [](const Item& a, const Item& b) { return a.key == b.key; }),
              items.end());
  return items;
}

bool Has(const std::vector<std::string>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// Between an object and the prefix of the same name, all keys begin with that name.
bool MayFollow(std::string_view name, std::string_view last_key, std::string_view folder) {
  return last_key.substr(folder.size()).starts_with(name);
}

// The first and the last name of a page, without '/'.
struct NameRange {
  std::string first;
  std::string last;
};
NameRange RangeOf(const std::vector<Item>& items, size_t folder_size) {
  NameRange range;
  for (const Item& item : items) {
    std::string_view name = std::string_view(item.key).substr(folder_size);
    if (name.ends_with('/')) name.remove_suffix(1);
    if (&item == &items.front() || name < range.first) range.first = name;
    if (name > range.last) range.last = name;
  }
  return range;
}

// Where the next page begins if this one, which is not empty, follows `start`; an error if it
// does not. Sets neither token nor open names.
model::Result<PageStart> After(const PageStart& start, const std::vector<Item>& items,
                               size_t folder_size) {
  NameRange names = RangeOf(items, folder_size);
  PageStart next = {.last_key = items.back().key, .last_name = std::move(names.last)};
  if (start.token.empty()) return next;
  next.by_key = start.by_key && items.front().key > start.last_key;
  next.by_name = start.by_name && names.first > start.last_name;
  if (next.by_key || next.by_name) return next;
  return model::BadInput("the list goes back from {} to {}", model::Quote(start.last_key),
                         model::Quote(items.front().key));
}

// Sorted by name; of an object and a prefix with one name, only the prefix.
void SortNames(std::vector<ListedObject>& names) {
  std::stable_sort(names.begin(), names.end(),
                   [](const ListedObject& a, const ListedObject& b) {
                     if (a.name != b.name) return a.name < b.name;
                     return a.kind == FileKind::kDirectory && b.kind != FileKind::kDirectory;
                   });
  names.erase(std::unique(names.begin(), names.end(),
                          [](const ListedObject& a, const ListedObject& b) {
                            return a.name == b.name;
                          }),
              names.end());
}

}  // namespace

model::Result<ListPage> ToNamePage(KeyPage list, std::string_view folder,
                                   const PageStart& start, const ListedInfo& info_of) {
  std::string token = std::move(list.next_token);
  std::vector<Item> items = Sorted(std::move(list), folder, info_of);
  PageStart next = start;
  if (!items.empty()) {
    NDLFS_TRY(next, After(start, items, folder.size()));
  }
  next.token = std::move(token);
  next.open_names.clear();
  // In the order of names, nothing of this name follows.
  const auto may_follow = [&](std::string_view name) {
    return next.by_key && MayFollow(name, next.last_key, folder);
  };
  ListPage page;
  page.is_directory = !items.empty() || !next.token.empty() || !start.token.empty();
  std::vector<std::string> open = start.open_names;
  for (Item& item : items) {
    ListedObject& listed = item.listed;
    if (listed.name.empty() || Has(start.open_names, listed.name)) continue;
    if (listed.kind == FileKind::kFile && may_follow(listed.name)) open.push_back(listed.name);
    page.objects.push_back(std::move(listed));
  }
  SortNames(page.objects);
  if (next.token.empty()) return page;
  for (std::string& name : open) {
    if (may_follow(name)) next.open_names.push_back(std::move(name));
  }
  for (ListedObject& listed : page.objects) {
    const bool is_open = listed.kind == FileKind::kFile && Has(next.open_names, listed.name);
    if (is_open) listed.kind = FileKind::kUnknown;
  }
  page.next = std::move(next);
  return page;
}

std::string ListQuery(std::string_view folder, const PageStart& start, unsigned most_names) {
  std::string query = "encoding-type=url&list-type=2&max-keys=" + std::to_string(most_names) +
                      "&prefix=" + PercentEncode(folder, false) + "&delimiter=%2F";
  if (!start.token.empty()) {
    query += "&continuation-token=" + PercentEncode(start.token, false);
  }
  return query;
}

ValueInfo ObjectInfo(std::string_view etag, uint64_t size, int64_t modified_ns) {
  // Headers tell no fractions of seconds, and lists do.
  const int64_t modified_s = modified_ns / 1'000'000'000;
  // Some lists leave the quotes out.
  std::string tag(etag);
  if (!tag.empty() && tag.find('"') == tag.npos) tag = '"' + tag + '"';
  ValueInfo info;
  info.size = size;
  info.modified_ns = modified_s * 1'000'000'000;
  info.is_settled = IsStrongTag(tag);
  if (!info.is_settled) tag = fmt::format("{} bytes at {}", size, modified_s);
  info.generation = Generation::OfTag(std::move(tag));
  return info;
}

}  // namespace ndlfs::backends::object
