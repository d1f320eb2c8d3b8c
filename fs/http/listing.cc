// SPDX-License-Identifier: MIT
#include "fs/http/listing.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <nlohmann/json.hpp>
#include <utility>

#include "backends/store/cancellation.h"
#include "fs/http/found_node.h"
#include "fs/http/search.h"
#include "fs/view/base/html_text.h"
#include "model/cf_time.h"
#include "model/http_date.h"

namespace ndlfs::fs {
namespace {

using model::Result;

// Beyond this number of entries, a listing shows no sizes.
constexpr size_t kMostWithSizes = 2000;
constexpr std::string_view kThumbnail = "thumbnail.png";

int64_t SecondsOf(const Attributes& attributes) {
  constexpr int64_t kSecond = 1'000'000'000;
  return attributes.mtime_ns / kSecond;
}

void SetAttributes(ListingEntry& entry, const Attributes& attributes) {
  entry.is_directory = IsDirectory(attributes);
  entry.mtime_seconds = SecondsOf(attributes);
  if (!entry.is_directory) entry.size = attributes.size;
}

// Makes entries of one directory.
class EntryMaker {
 public:
  EntryMaker(const TreeNodePtr& root, const std::vector<std::string>& path,
             const TreeNodePtr& directory, ListedSizes sizes)
      : root_(root), path_(path), directory_(directory), sizes_(sizes) {}

  // nullopt for an entry that is not shown.
  Result<std::optional<ListingEntry>> Make(const DirectoryEntry& found, bool with_attributes) {
    ListingEntry entry{.name = found.name, .is_directory = S_ISDIR(found.type)};
    const bool is_known = S_ISDIR(found.type) || S_ISREG(found.type);
    if (found.type != 0 && !is_known && !S_ISLNK(found.type)) return std::nullopt;
    const bool asks = sizes_ == ListedSizes::kAll ||
                      (with_attributes && directory_->ListsAttributesOf(found.type));
    if (is_known && !asks) return entry;
    if (S_ISREG(found.type)) {
      if (const auto listed = directory_->FindListed(found.name)) {
        SetAttributes(entry, listed->attributes);
        entry.version = {listed->version.contents, *listed->attributes.size};
        return entry;
      }
    }
    return LookUp(std::move(entry), is_known);
  }

 private:
  Result<std::optional<ListingEntry>> LookUp(ListingEntry entry, bool is_known) {
    const auto node = FindEntry(root_, path_, directory_, entry.name);
    if (!node && node.error().code() == model::ErrorCode::kCancelled) {
      return model::Propagate(node.error());
    }
    if (!node) return is_known ? std::optional(std::move(entry)) : std::nullopt;
    // A file. Clients take 0 where a list that has sizes leaves one out.
    const auto most =
        sizes_ == ListedSizes::kAll ? TreeNode::Cost::kRead : TreeNode::Cost::kNothing;
    if ((*node)->StatCost() > most) return entry;
    const auto attributes = (*node)->StatWhenFound();
    if (!attributes) return is_known ? std::optional(std::move(entry)) : std::nullopt;
    if (!IsDirectory(*attributes) && !S_ISREG(attributes->mode)) return std::nullopt;
    entry = EntryOf(std::move(entry.name), **node, *attributes);
    if (!entry.is_directory) entry.version = (*node)->Version();
    return entry;
  }

  const TreeNodePtr& root_;
  const std::vector<std::string>& path_;
  const TreeNodePtr& directory_;
  const ListedSizes sizes_;
};

// "./" because a name may have a colon in it, and would then begin like a URL.
std::string LinkOf(const ListingEntry& entry) {
  return "./" + UrlOfName(entry.name) + (entry.is_directory ? "/" : "");
}

// Browsers load it when it comes into sight.
std::string PictureOf(const ListingEntry& entry) {
  if (!entry.has_picture) return {};
  return fmt::format(
      "<img src=\"{}{}\" alt=\"\" loading=\"lazy\" width=\"120\" height=\"80\"> ",
      LinkOf(entry), kThumbnail);
}

// "2026-01-31 12:00"
std::string TimeText(const ListingEntry& entry) {
  if (!entry.mtime_seconds) return {};
  std::string text = model::FormatTime(model::Calendar::kProlepticGregorian,
                                       *entry.mtime_seconds * model::kNanosecondsOfSecond, 0);
  std::ranges::replace(text, 'T', ' ');
  return text.substr(0, text.rfind(':'));
}

// The way from the root to this directory, each part with a link.
std::string Breadcrumbs(const std::vector<std::string>& path) {
  if (path.empty()) return "/";
  std::string way = HtmlName(path.back());
  std::string up = "../";
  for (size_t i = path.size() - 1; i-- > 0; up += "../") {
    way.insert(0, fmt::format("<a href=\"{}\">{}</a> / ", up, HtmlName(path[i])));
  }
  return fmt::format("<a href=\"{}\">/</a> {}", up, way);
}

}  // namespace

ListingEntry EntryOf(std::string name, const TreeNode& node, const Attributes& attributes) {
  ListingEntry entry{.name = std::move(name)};
  SetAttributes(entry, attributes);
  if (node.IsVolatile()) entry.size = {};
  return entry;
}

Result<Listing> ListDirectory(const TreeNodePtr& root, const std::vector<std::string>& path,
                              const TreeNodePtr& directory, ListedSizes sizes, size_t most) {
  NDLFS_TRY(const auto reader, directory->OpenDirectory());
  std::vector<DirectoryEntry> found;
  for (;;) {
    NDLFS_TRY(auto entry, reader->Next());
    if (!entry) break;
    if (found.size() == most) return model::Limit("a directory of more than {} entries", most);
    found.push_back(*std::move(entry));
  }
  EntryMaker maker(root, path, directory, sizes);
  Listing listing;
  for (const DirectoryEntry& entry : found) {
    NDLFS_RETURN_IF_ERROR(backends::CancellationScope::Check());
    NDLFS_TRY(auto shown, maker.Make(entry, found.size() <= kMostWithSizes));
    if (shown) listing.push_back(*std::move(shown));
  }
  std::ranges::sort(listing, {}, &ListingEntry::name);
  return listing;
}

Result<void> FindPictures(const TreeNodePtr& root, const std::vector<std::string>& path,
                          const TreeNodePtr& directory, Listing& listing) {
  constexpr size_t kMostPictures = 60;
  constexpr auto kLongestLook = std::chrono::seconds(1);
  const auto begin = std::chrono::steady_clock::now();
  size_t looks = 0;
  for (ListingEntry& entry : listing) {
    NDLFS_RETURN_IF_ERROR(backends::CancellationScope::Check());
    if (!entry.is_directory || entry.name == ".ndlfs") continue;
    if (++looks > kMostPictures || std::chrono::steady_clock::now() - begin > kLongestLook)
      break;
    const auto folder = FindEntry(root, path, directory, entry.name);
    entry.has_picture = folder && (*folder)->Lookup(kThumbnail);
  }
  return {};
}

std::string ListingAsHtml(const Listing& listing, const std::vector<std::string>& path) {
  std::string title = "Index of /";
  for (const std::string& name : path) title += name + '/';
  std::string page = BeginPage(title);
  page += fmt::format("<h1>Index of {}</h1>\n{}<table data-find>\n", Breadcrumbs(path),
                      SearchForm(""));
  if (!path.empty()) page += "<tr><td><a href=\"../\">../</a></td><td></td><td></td></tr>\n";
  for (const ListingEntry& entry : listing) {
    fmt::format_to(
        std::back_inserter(page),
        "<tr><td><a href=\"{}\">{}{}{}</a></td><td>{}</td><td>{}</td></tr>\n", LinkOf(entry),
        PictureOf(entry), HtmlName(entry.name), entry.is_directory ? "/" : "",
        entry.size ? FormatBytes(static_cast<double>(*entry.size)) : "", TimeText(entry));
  }
  return page + "</table>\n" + SearchScript(listing.size()) + EndPage();
}

std::string ListingAsJson(const Listing& listing) {
  nlohmann::ordered_json entries = nlohmann::ordered_json::array();
  for (const ListingEntry& entry : listing) {
    nlohmann::ordered_json object;
    object["name"] = entry.name;
    object["type"] = entry.is_directory ? "directory" : "file";
    if (entry.mtime_seconds) object["mtime"] = model::FormatHttpDate(*entry.mtime_seconds);
    if (entry.size) object["size"] = *entry.size;
    entries.push_back(std::move(object));
  }
  return entries.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + '\n';
}

}  // namespace ndlfs::fs
