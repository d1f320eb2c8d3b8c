// SPDX-License-Identifier: MIT
#include "backends/store/http/index_page.h"

#include <array>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "backends/store/http/url.h"

namespace ndlfs::backends {
namespace {

using Objects = std::vector<ListedObject>;

// [{"name": "a", "type": "file", "mtime": "...", "size": 1}, ...], without a tree of all of it.
class NginxEntries final : public nlohmann::json_sax<nlohmann::json> {
 public:
  Objects& objects() { return objects_; }

  bool null() override { return depth_ == 2; }
  bool boolean(bool) override { return depth_ == 2; }
  bool number_integer(number_integer_t) override { return depth_ == 2; }
  bool number_unsigned(number_unsigned_t) override { return depth_ == 2; }
  bool number_float(number_float_t, const string_t&) override { return depth_ == 2; }
  bool binary(binary_t&) override { return false; }
  bool string(string_t& text) override {
    if (depth_ != 2) return false;
    if (key_ == "name") entry_.name = std::move(text);
    if (key_ == "type") type_ = std::move(text);
    return true;
  }
  bool start_array(std::size_t) override { return ++depth_ == 1; }
  bool end_array() override { return --depth_ == 0; }
  bool start_object(std::size_t) override {
    entry_ = {};
    type_.clear();
    return ++depth_ == 2;
  }
  bool end_object() override {
    if (type_.empty()) return false;
    if (type_ == "directory") entry_.kind = FileKind::kDirectory;
    if (entry_.is_directory() || type_ == "file") objects_.push_back(std::move(entry_));
    return --depth_ == 1;
  }
  bool key(string_t& text) override {
    key_ = std::move(text);
    return true;
  }
  bool parse_error(std::size_t, const std::string&,
                   const nlohmann::detail::exception&) override {
    return false;
  }

 private:
  int depth_ = 0;
  std::string key_;
  std::string type_;
  ListedObject entry_;
  Objects objects_;
};

std::optional<Objects> ParseJsonIndex(std::string_view page) {
  NginxEntries entries;
  if (!nlohmann::json::sax_parse(page, &entries)) return std::nullopt;
  return std::move(entries.objects());
}

// Servers write these at the head of such pages, and nobody else does.
bool IsIndexOfDirectory(std::string_view page) {
  constexpr std::array<std::string_view, 5> kTitles = {
      "<title>Index of ", "<h1>Index of ", "<title>Directory listing for ",
      "<h1>Directory listing for ", "<title>Directory Listing"};
  const std::string_view head = page.substr(0, 4096);
  for (const std::string_view title : kTitles) {
    if (head.find(title) != head.npos) return true;
  }
  return false;
}

// Undoes &amp; and the like, as far as they are in links.
std::string WithoutEntities(std::string_view text) {
  constexpr std::array<std::pair<std::string_view, char>, 6> kEntities = {{{"&amp;", '&'},
                                                                           {"&lt;", '<'},
                                                                           {"&gt;", '>'},
                                                                           {"&quot;", '"'},
                                                                           {"&#39;", '\''},
                                                                           {"&#x27;", '\''}}};
  std::string plain;
  for (size_t i = 0; i < text.size();) {
    size_t length = 1;
    char c = text[i];
    for (const auto& [entity, meaning] : kEntities) {
      if (!text.substr(i).starts_with(entity)) continue;
      c = meaning;
      length = entity.size();
      break;
    }
    plain += c;
    i += length;
  }
  return plain;
}

// What a link leads to, if that is right in the directory of the page.
std::optional<ListedObject> ObjectOfLink(std::string_view link) {
  if (link.starts_with("./")) link.remove_prefix(2);
  if (link.empty() || link.find_first_of("?#") != link.npos) return std::nullopt;
  const bool is_directory = link.ends_with('/');
  if (is_directory) link.remove_suffix(1);
  // "%3A" is a colon in a name; a colon is that of a scheme.
  if (link.find_first_of("/:") != link.npos) return std::nullopt;
  auto name = PercentDecode(WithoutEntities(link));
  if (!name || !IsSoundName(*name)) return std::nullopt;
  return ListedObject{*std::move(name), is_directory ? FileKind::kDirectory : FileKind::kFile};
}

std::optional<Objects> ParseHtmlIndex(std::string_view page) {
  if (!IsIndexOfDirectory(page)) return std::nullopt;
  constexpr std::string_view kLink = "<a href=\"";
  Objects objects;
  for (size_t at = page.find(kLink); at != page.npos; at = page.find(kLink, at)) {
    at += kLink.size();
    const size_t end = page.find('"', at);
    if (end == page.npos) break;
    if (auto object = ObjectOfLink(page.substr(at, end - at))) {
      objects.push_back(*std::move(object));
    }
    at = end;
  }
  return objects;
}

}  // namespace

std::optional<Objects> ParseIndexPage(std::string_view content_type, std::string_view page) {
  if (content_type.starts_with("application/json")) return ParseJsonIndex(page);
  if (content_type.starts_with("text/html")) return ParseHtmlIndex(page);
  return std::nullopt;
}

}  // namespace ndlfs::backends
