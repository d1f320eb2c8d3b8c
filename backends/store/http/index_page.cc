// SPDX-License-Identifier: MIT
#include "backends/store/http/index_page.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "backends/base/percent_encoding.h"
#include "backends/store/http/http_message.h"
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

bool IsBlankOfHtml(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f';
}

std::string_view Stripped(std::string_view text) {
  while (!text.empty() && IsBlankOfHtml(text.front())) text.remove_prefix(1);
  while (!text.empty() && IsBlankOfHtml(text.back())) text.remove_suffix(1);
  return text;
}

// Undoes &amp; and the like, as far as they are in links.
std::string WithoutEntities(std::string_view text) {
  constexpr std::array<std::pair<std::string_view, char>, 9> kEntities = {{{"&amp;", '&'},
                                                                           {"&lt;", '<'},
                                                                           {"&gt;", '>'},
                                                                           {"&quot;", '"'},
                                                                           {"&apos;", '\''},
                                                                           {"&#39;", '\''},
                                                                           {"&#x27;", '\''},
                                                                           {"&#34;", '"'},
                                                                           {"&#43;", '+'}}};
  std::string plain;
  for (size_t i = 0; i < text.size();) {
    size_t length = 1;
    char c = text[i];
    for (const auto& [entity, meaning] : kEntities) {
      if (c != '&' || !text.substr(i).starts_with(entity)) continue;
      c = meaning;
      length = entity.size();
      break;
    }
    plain += c;
    i += length;
  }
  return plain;
}

// An attribute that begins at `begin` of a tag, with or without quotes (WHATWG HTML, 13.1.2.3).
struct Attribute {
  std::string name;  // in lower case
  std::string_view value;
  size_t end = 0;  // behind it
};

// nullopt at the end of the tag.
std::optional<Attribute> NextAttribute(std::string_view page, size_t at) {
  while (at < page.size() && (IsBlankOfHtml(page[at]) || page[at] == '/')) ++at;
  if (at >= page.size() || page[at] == '>') return std::nullopt;
  const size_t name_end = std::min(page.find_first_of(" \t\n\r\f=>/", at + 1), page.size());
  Attribute attribute{LowerText(page.substr(at, name_end - at)), {}, name_end};
  size_t next = name_end;
  while (next < page.size() && IsBlankOfHtml(page[next])) ++next;
  if (next >= page.size() || page[next] != '=') return attribute;
  ++next;
  while (next < page.size() && IsBlankOfHtml(page[next])) ++next;
  if (next >= page.size()) return std::nullopt;  // the page is cut
  if (page[next] == '"' || page[next] == '\'') {
    const size_t quote = page.find(page[next], next + 1);
    if (quote == page.npos) return std::nullopt;
    attribute.value = page.substr(next + 1, quote - next - 1);
    attribute.end = quote + 1;
    return attribute;
  }
  attribute.end = std::min(page.find_first_of(" \t\n\r\f>", next), page.size());
  attribute.value = page.substr(next, attribute.end - next);
  return attribute;
}

// The tags of a page, one after the other. Comments and scripts are left out.
class TagReader {
 public:
  explicit TagReader(std::string_view page) : page_(page) {}

  // The name of the next tag, in lower case; empty at the end of the page.
  std::string Next() {
    for (;;) {
      at_ = page_.find('<', at_);
      if (at_ == page_.npos) return "";
      if (page_.substr(at_).starts_with("<!--")) {
        at_ = page_.find("-->", at_ + 4);
        if (at_ == page_.npos) return "";
        continue;
      }
      const size_t begin = ++at_;
      at_ = std::min(page_.find_first_of(" \t\n\r\f>/", begin + 1), page_.size());
      std::string name = LowerText(page_.substr(begin, at_ - begin));
      if (name != "script" && name != "style") return name;
      at_ = std::min(page_.find(name == "script" ? "</script" : "</style", at_), page_.size());
    }
  }

  // The value of an attribute of the tag that Next() gave.
  std::optional<std::string_view> Find(std::string_view name) {
    std::optional<std::string_view> value;
    while (const auto attribute = NextAttribute(page_, at_)) {
      if (attribute->name == name && !value) value = attribute->value;
      at_ = attribute->end;
    }
    return value;
  }

  // The text up to the next tag.
  std::string_view Text() {
    const size_t begin = std::min(page_.find('>', at_), page_.size());
    if (begin == page_.size()) return {};
    at_ = std::min(page_.find('<', begin), page_.size());
    return Stripped(page_.substr(begin + 1, at_ - begin - 1));
  }

 private:
  const std::string_view page_;
  size_t at_ = 0;
};

// Where a link of a page leads.
struct Target {
  enum class Kind : uint8_t { kNone, kChild, kAbove, kElsewhere } kind = Kind::kElsewhere;
  std::string name = {};  // of a child
  bool is_directory = false;
};

// The directory that a page shows.
class PageOfDirectory {
 public:
  explicit PageOfDirectory(std::string_view url) {
    const auto parsed = ParseUrl(url);
    if (!parsed) return;
    host_ = parsed->host;
    path_ = PercentDecodeLeniently(parsed->path);
    path_.resize(path_.rfind('/') + 1);
  }

  const std::string& path() const { return path_; }

  Target Resolve(std::string_view link) const {
    const std::string plain = WithoutEntities(Stripped(link));
    std::string_view rest = plain;
    if (rest.empty() || rest.starts_with('#') || rest.starts_with('?')) {
      return {Target::Kind::kNone};  // to sort the list, or to a place in it
    }
    if (rest.find_first_of("?#") != rest.npos) return {};
    if (const auto path = WithoutHost(rest)) {
      rest = *path;
    } else {
      return {};
    }
    if (rest.starts_with('/')) return OfPath(rest);
    while (rest.starts_with("./")) rest.remove_prefix(2);
    if (rest == ".." || rest == "../") return {Target::Kind::kAbove};
    if (rest.empty() || rest == ".") return {Target::Kind::kNone};
    return Child(rest);
  }

 private:
  // The path in a link to this host; the link itself if it has no host. nullopt for others.
  std::optional<std::string_view> WithoutHost(std::string_view link) const {
    const size_t special = link.find_first_of("/:");
    const bool has_scheme = special != link.npos && link[special] == ':';
    if (!has_scheme && !link.starts_with("//")) return link;
    const size_t host = link.find("//");
    if (host == link.npos) return std::nullopt;
    // Behind a proxy, a server may not know its own scheme and port.
    const auto url = ParseUrl(has_scheme ? std::string(link) : "http:" + std::string(link));
    if (!url || host_.empty() || url->host != host_) return std::nullopt;
    const size_t path = link.find('/', host + 2);
    return path == link.npos ? std::string_view("/") : link.substr(path);
  }

  Target OfPath(std::string_view path) const {
    // The part that is the path of this page, however it is encoded.
    size_t end = 0;
    for (auto left = std::count(path_.begin(), path_.end(), '/'); left > 0; --left) {
      end = path.find('/', end);
      if (end == path.npos) return {};
      ++end;
      const bool is_above =
          left == 2 && end == path.size() && path_.starts_with(PercentDecodeLeniently(path));
      if (is_above) return {Target::Kind::kAbove};
    }
    if (path_.empty() || PercentDecodeLeniently(path.substr(0, end)) != path_) return {};
    if (end == path.size()) return {Target::Kind::kNone};  // the page itself
    return Child(path.substr(end));
  }

  static Target Child(std::string_view link) {
    const bool is_directory = link.ends_with('/');
    if (is_directory) link.remove_suffix(1);
    if (link.find('/') != link.npos) return {};
    // Servers that do not encode names write a '%' as it is, as browsers take it.
    std::string name = PercentDecodeLeniently(link);
    if (!IsSoundName(name)) return {};
    return {Target::Kind::kChild, std::move(name), is_directory};
  }

  std::string host_;
  std::string path_;  // decoded, with '/' at its end; empty if it is not known
};

// Servers write such titles and headings over the lists that they make.
bool IsTitleOfList(std::string_view title, const std::string& path) {
  constexpr std::array<std::string_view, 9> kTitles = {
      "index of ",     "directory listing", "directory: ",  "directory of ", "listing of ",
      "list of files", "files within ",     "contents of ", "folder: "};
  const std::string lower = LowerText(title);
  for (const std::string_view known : kTitles) {
    if (lower.starts_with(known)) return true;
  }
  if (path.empty()) return false;
  // IIS has "host - /data/", others the path alone.
  const std::string plain = WithoutEntities(title);
  const bool is_path = plain == path || plain + "/" == path;
  return (path.size() > 1 && is_path) || plain.ends_with(" - " + path);
}

std::optional<Objects> ParseHtmlIndex(std::string_view page, std::string_view url) {
  const PageOfDirectory directory(url);
  TagReader tags(page);
  Objects objects;
  bool is_list = false;
  bool has_above = false;
  size_t others = 0;
  for (std::string tag = tags.Next(); !tag.empty(); tag = tags.Next()) {
    if (tag == "title" || tag == "h1" || tag == "h2") {
      is_list = is_list || IsTitleOfList(tags.Text(), directory.path());
    }
    if (tag != "a") continue;
    const auto link = tags.Find("href");
    if (!link) continue;
    Target target = directory.Resolve(*link);
    has_above = has_above || target.kind == Target::Kind::kAbove;
    others += target.kind == Target::Kind::kElsewhere;
    if (target.kind != Target::Kind::kChild) continue;
    objects.push_back(
        {std::move(target.name), target.is_directory ? FileKind::kDirectory : FileKind::kFile});
  }
  // The page of a program has a link or two to its own home.
  constexpr size_t kLinksToHome = 2;
  if (is_list || (has_above && others <= kLinksToHome)) return objects;
  return std::nullopt;
}

}  // namespace

std::optional<Objects> ParseIndexPage(std::string_view content_type, std::string_view page,
                                      std::string_view url) {
  const std::string type = LowerText(content_type);
  if (type.starts_with("application/json")) return ParseJsonIndex(page);
  const bool is_html =
      type.starts_with("text/html") || type.starts_with("application/xhtml+xml");
  return is_html ? ParseHtmlIndex(page, url) : std::nullopt;
}

}  // namespace ndlfs::backends
