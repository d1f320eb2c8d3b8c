// SPDX-License-Identifier: MIT
#include "backends/store/s3/folder_list.h"

#include <algorithm>
#include <utility>

#include "backends/store/http/url.h"

namespace ndlfs::backends::s3 {
namespace {

// A thousand keys of 1 KiB, each byte as "%XX", with what else is told of an object.
constexpr uint64_t kLargestPage = 8 << 20;

BucketRequest ListRequest(std::string_view prefix, std::string_view more, unsigned most_names) {
  BucketRequest request;
  request.query = "encoding-type=url&list-type=2&max-keys=" + std::to_string(most_names) +
                  "&prefix=" + PercentEncode(prefix, false) + std::string(more);
  request.http.limit = kLargestPage;
  return request;
}

// What a key or a prefix is called in its folder; empty for a name that no file can have.
std::string NameOf(std::string_view key, std::string_view folder) {
  std::string_view name = key.substr(folder.size());
  if (name.ends_with('/')) name.remove_suffix(1);
  const bool is_name = !name.empty() && name != "." && name != ".." &&
                       name.find('/') == name.npos && name.find('\0') == name.npos;
  return std::string(is_name ? name : "");
}

struct Item {
  std::string key;
  ListedName listed;
};

// All that a page has, sorted by key, each key once.
std::vector<Item> Sorted(ListPage list, std::string_view folder) {
  std::vector<Item> items;
  for (ListedObject& object : list.objects) {
    ListedName listed = {NameOf(object.key, folder), FileKind::kFile, object.size,
                         std::move(object.etag), object.modified_ns};
    if (object.key.ends_with('/')) listed.name.clear();
    items.push_back({std::move(object.key), std::move(listed)});
  }
  for (std::string& prefix : list.prefixes) {
    ListedName listed;
    listed.name = NameOf(prefix, folder);
    listed.kind = FileKind::kDirectory;
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

// Sorted by name; of an object and a prefix with one name, only the prefix.
void SortNames(std::vector<ListedName>& names) {
  std::stable_sort(names.begin(), names.end(), [](const ListedName& a, const ListedName& b) {
    if (a.name != b.name) return a.name < b.name;
    return a.kind == FileKind::kDirectory && b.kind != FileKind::kDirectory;
  });
  names.erase(
      std::unique(names.begin(), names.end(),
                  [](const ListedName& a, const ListedName& b) { return a.name == b.name; }),
      names.end());
}

}  // namespace

model::Result<NamePage> ToNamePage(ListPage list, std::string_view folder,
                                   const PageStart& start) {
  std::string token = std::move(list.next_token);
  std::vector<Item> items = Sorted(std::move(list), folder);
  if (!items.empty() && !start.token.empty() && items.front().key <= start.last_key) {
    return model::BadInput("the list goes back from {} to {}", model::Quote(start.last_key),
                           model::Quote(items.front().key));
  }
  PageStart next = {std::move(token), items.empty() ? start.last_key : items.back().key, {}};
  NamePage page;
  std::vector<std::string> open = start.open_names;
  for (Item& item : items) {
    ListedName& listed = item.listed;
    if (listed.name.empty() || Has(start.open_names, listed.name)) continue;
    if (listed.kind == FileKind::kFile && MayFollow(listed.name, next.last_key, folder)) {
      open.push_back(listed.name);
    }
    page.names.push_back(std::move(listed));
  }
  SortNames(page.names);
  if (next.token.empty()) return page;
  for (std::string& name : open) {
    if (MayFollow(name, next.last_key, folder)) next.open_names.push_back(std::move(name));
  }
  for (ListedName& listed : page.names) {
    const bool is_open = listed.kind == FileKind::kFile && Has(next.open_names, listed.name);
    if (is_open) listed.kind = FileKind::kUnknown;
  }
  page.next = std::move(next);
  return page;
}

model::Result<NamePage> ReadNamePage(const Bucket& bucket, const std::string& folder,
                                     const PageStart& start, unsigned most_names) {
  std::string more = "&delimiter=%2F";
  if (!start.token.empty()) more += "&continuation-token=" + PercentEncode(start.token, false);
  NDLFS_TRY(const HttpResponse response, bucket.Send(ListRequest(folder, more, most_names)));
  if (response.status != 200) return bucket.ToError(response);
  NDLFS_TRY(ListPage list, ParseListPage(response.body, folder),
            "list of " + model::Quote(folder));
  if (!list.next_token.empty() && list.next_token == start.token) {
    return model::BadInput("list of {}: it begins again", model::Quote(folder));
  }
  return ToNamePage(std::move(list), folder, start);
}

BucketRequest ProbePrefix(const std::string& prefix) { return ListRequest(prefix, "", 1); }

}  // namespace ndlfs::backends::s3
