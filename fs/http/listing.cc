// SPDX-License-Identifier: MIT
#include "fs/http/listing.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <nlohmann/json.hpp>
#include <utility>

#include "backends/store/cancellation.h"
#include "fs/http/content_type.h"
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
// Bytes of a listing that is sorted: 5000 names of 40 bytes.
constexpr size_t kMostSorted = 400'000;
constexpr std::string_view kThumbnail = "thumbnail.png";

void SetAttributes(ListingEntry& entry, const Attributes& attributes) {
  entry.is_directory = IsDirectory(attributes);
  entry.mtime_seconds = SecondsOf(attributes);
  if (!entry.is_directory) entry.size = attributes.size;
}

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

// The way from the root to this directory; each part that is not far away has a link.
std::string Breadcrumbs(const std::vector<std::string>& path) {
  constexpr size_t kMostLinked = 100;
  if (path.empty()) return "/";
  std::string way = HtmlName(path.back());
  std::string up = "../";
  for (size_t i = path.size() - 1; i-- > 0; up += "../") {
    if (path.size() - i > kMostLinked) continue;
    way.insert(0, fmt::format("<a href=\"{}\">{}</a> / ", up, HtmlName(path[i])));
  }
  return fmt::format("<a href=\"{}\">/</a> {}", up, way);
}

// All properties, whatever the request asks for: they are few.
void WriteResponse(std::string& out, const std::string& href, std::string_view name,
                   const ListingEntry& entry) {
  out += "<D:response><D:href>" + href + "</D:href><D:propstat><D:prop>";
  out += "<D:displayname>" + HtmlText(name) + "</D:displayname>";
  if (entry.is_directory) {
    out += "<D:resourcetype><D:collection/></D:resourcetype>";
  } else {
    out += "<D:resourcetype/>";
    out += "<D:getcontenttype>" + ContentTypeOf(name) + "</D:getcontenttype>";
  }
  if (entry.size) {
    fmt::format_to(std::back_inserter(out), "<D:getcontentlength>{}</D:getcontentlength>",
                   *entry.size);
  }
  if (entry.mtime_seconds) {
    out += "<D:getlastmodified>" + model::FormatHttpDate(*entry.mtime_seconds) +
           "</D:getlastmodified>";
  }
  if (entry.version) out += "<D:getetag>" + HtmlText(EtagOf(*entry.version)) + "</D:getetag>";
  out += "</D:prop><D:status>HTTP/1.1 200 OK</D:status></D:propstat></D:response>\n";
}

}  // namespace

ListingEntry EntryOf(std::string name, const TreeNode& node, const Attributes& attributes) {
  ListingEntry entry{.name = std::move(name)};
  SetAttributes(entry, attributes);
  if (node.IsVolatile()) entry.size = {};
  return entry;
}

Result<std::optional<ListingEntry>> EntryMaker::Make(const DirectoryEntry& found,
                                                     bool with_attributes) const {
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

Result<std::optional<ListingEntry>> EntryMaker::LookUp(ListingEntry entry,
                                                       bool is_known) const {
  const auto node = FindEntry(root_, path_, directory_, entry.name);
  if (!node && node.error().code() == model::ErrorCode::kCancelled) {
    return model::Propagate(node.error());
  }
  if (!node) return is_known ? std::optional(std::move(entry)) : std::nullopt;
  entry.is_link = node->is_by_link;
  // A file. Clients take 0 where a list that has sizes leaves one out.
  const auto most =
      sizes_ == ListedSizes::kAll ? TreeNode::Cost::kRead : TreeNode::Cost::kNothing;
  if (node->node->StatCost() > most) return entry;
  const auto attributes = node->node->StatWhenFound();
  if (!attributes) return is_known ? std::optional(std::move(entry)) : std::nullopt;
  if (!IsDirectory(*attributes) && !S_ISREG(attributes->mode)) return std::nullopt;
  entry = EntryOf(std::move(entry.name), *node->node, *attributes);
  entry.is_link = node->is_by_link;
  if (!entry.is_directory) entry.version = node->node->Version();
  const bool leads_round = entry.is_link && entry.is_directory && sizes_ == ListedSizes::kAll;
  return leads_round ? std::nullopt : std::optional(std::move(entry));
}

bool EntryMaker::HasPicture(const ListingEntry& entry) const {
  const auto folder = FindEntry(root_, path_, directory_, entry.name);
  return folder && folder->node->Lookup(kThumbnail);
}

Result<EntryReaderPtr> EntryReader::Open(const TreeNodePtr& root, std::vector<std::string> path,
                                         const TreeNodePtr& directory, const Options& options) {
  NDLFS_TRY(auto reader, directory->OpenDirectory());
  EntryReaderPtr entries(new EntryReader(
      EntryMaker(root, std::move(path), directory, options.sizes), std::move(reader), options));
  NDLFS_RETURN_IF_ERROR(entries->ReadFirst());
  return entries;
}

Result<void> EntryReader::ReadFirst() {
  for (size_t bytes = 0; bytes < kMostSorted;) {
    NDLFS_TRY(auto entry, reader_->Next());
    if (!entry) {
      std::ranges::sort(first_, std::ranges::greater(), &DirectoryEntry::name);
      with_attributes_ = first_.size() <= kMostWithSizes;
      return {};
    }
    bytes += sizeof(*entry) + entry->name.size();
    first_.push_back(*std::move(entry));
  }
  std::ranges::reverse(first_);
  is_long_ = true;
  with_attributes_ = false;
  return {};
}

Result<std::optional<ListingEntry>> EntryReader::Next() {
  for (;;) {
    NDLFS_RETURN_IF_ERROR(backends::CancellationScope::Check());
    std::optional<DirectoryEntry> found;
    if (!first_.empty()) {
      found = std::move(first_.back());
      first_.pop_back();
    } else if (is_long_) {
      NDLFS_TRY(found, reader_->Next());
    }
    if (!found) return std::nullopt;
    NDLFS_TRY(auto entry, maker_.Make(*found, with_attributes_));
    if (!entry) continue;
    if (options_.leaves_out_linked_folders && entry->is_link && entry->is_directory) continue;
    if (entry->is_directory && LooksForPicture()) {
      entry->has_picture = entry->name != ".ndlfs" && maker_.HasPicture(*entry);
    }
    return entry;
  }
}

bool EntryReader::LooksForPicture() {
  constexpr size_t kMostPictures = 60;
  constexpr auto kLongestLook = std::chrono::seconds(1);
  return options_.finds_pictures && ++picture_looks_ <= kMostPictures &&
         std::chrono::steady_clock::now() - begin_ <= kLongestLook;
}

KeptObjects EntryReader::kept() const {
  KeptObjects objects = reader_->kept();
  objects.push_back({this, HeldBytes(first_)});
  return objects;
}

NextPiece ListingAsHtml(EntryReaderPtr entries, const std::vector<std::string>& path) {
  std::string title = "Index of /";
  for (const std::string& name : path) title += name + '/';
  std::string page = BeginPage(title);
  page += fmt::format("<h1>Index of {}</h1>\n{}<table data-find>\n", Breadcrumbs(path),
                      SearchForm(""));
  if (!path.empty()) page += "<tr><td><a href=\"../\">../</a></td><td></td><td></td></tr>\n";
  const auto add = [](const ListingEntry& entry, std::string& out) {
    fmt::format_to(
        std::back_inserter(out),
        "<tr><td><a href=\"{}\">{}{}{}</a></td><td>{}</td><td>{}</td></tr>\n", LinkOf(entry),
        PictureOf(entry), HtmlName(entry.name), entry.is_directory ? "/" : "",
        entry.size ? FormatBytes(static_cast<double>(*entry.size)) : "", TimeText(entry));
  };
  return TextOfItems(std::move(page), OneByOne(std::move(entries)), add, [](size_t count) {
    return "</table>\n" + SearchScript(count) + EndPage();
  });
}

NextPiece ListingAsJson(EntryReaderPtr entries) {
  const auto add = [before = "\n"](const ListingEntry& entry, std::string& out) mutable {
    nlohmann::ordered_json object;
    object["name"] = entry.name;
    object["type"] = entry.is_directory ? "directory" : "file";
    if (entry.mtime_seconds) object["mtime"] = model::FormatHttpDate(*entry.mtime_seconds);
    if (entry.size) object["size"] = *entry.size;
    out += std::exchange(before, ",\n") +
           object.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  };
  return TextOfItems("[", OneByOne(std::move(entries)), add,
                     [](size_t count) { return count == 0 ? "]\n" : "\n]\n"; });
}

NextPiece ListingAsMultistatus(std::string_view base, const std::vector<std::string>& path,
                               const ListingEntry& self, EntryReaderPtr entries) {
  std::string href(base);
  for (const std::string& name : path) href += '/' + UrlOfName(name);
  if (self.is_directory || href.empty()) href += '/';
  std::string out =
      "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<D:multistatus xmlns:D=\"DAV:\">\n";
  WriteResponse(out, href, path.empty() ? std::string_view("/") : path.back(), self);
  const auto add = [href](const ListingEntry& entry, std::string& text) {
    WriteResponse(text, href + UrlOfName(entry.name) + (entry.is_directory ? "/" : ""),
                  entry.name, entry);
  };
  return TextOfItems(std::move(out), OneByOne(std::move(entries)), add,
                     [](size_t) { return "</D:multistatus>\n"; });
}

}  // namespace ndlfs::fs
