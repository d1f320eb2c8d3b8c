// SPDX-License-Identifier: MIT
#include "fs/http/search.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <iterator>
#include <nlohmann/json.hpp>

#include "backends/store/cancellation.h"
#include "fs/view/base/html_text.h"

namespace ndlfs::fs {
namespace {

using model::Result;
using Clock = std::chrono::steady_clock;

constexpr size_t kMostHits = 500;
constexpr size_t kMostSearched = 20'000;  // folders
constexpr size_t kMostEntriesSeen = 500'000;
constexpr uint64_t kMostBytes = uint64_t{1} << 20;  // of hits
constexpr size_t kMostOfValue = 1000;
constexpr auto kLongest = std::chrono::seconds(5);
constexpr size_t kMostWords = 16;
constexpr std::string_view kAttributePrefix = "user.attr.";

std::string SmallLetters(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

std::vector<std::string> WordsOf(std::string_view question) {
  std::vector<std::string> words;
  const std::string text = SmallLetters(question);
  for (size_t begin = 0; begin < text.size() && words.size() < kMostWords;) {
    const size_t end = std::min(text.find_first_of(" +\t", begin), text.size());
    if (end > begin) words.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return words;
}

// Ends at a whole character.
std::string Beginning(const std::string& value) {
  if (value.size() <= kMostOfValue) return value;
  size_t end = kMostOfValue;
  while (end > 0 && (value[end] & 0xC0) == 0x80) --end;
  return value.substr(0, end) + "...";
}

class Searcher {
 public:
  explicit Searcher(std::vector<std::string> words) : words_(std::move(words)) {}

  Result<SearchResult> Run(const TreeNodePtr& directory) {
    folders_.push_back({{}, directory});
    while (!folders_.empty() && !words_.empty()) {
      if (IsEnough()) {
        result_.is_complete = false;
        break;
      }
      const Folder folder = std::move(folders_.front());
      folders_.pop_front();
      NDLFS_RETURN_IF_ERROR(Look(folder));
    }
    return std::move(result_);
  }

 private:
  struct Folder {
    std::vector<std::string> path;
    TreeNodePtr node;
  };

  bool IsEnough() const {
    return result_.hits.size() >= kMostHits || result_.bytes >= kMostBytes ||
           found_folders_ >= kMostSearched || entries_ >= kMostEntriesSeen ||
           Clock::now() - begin_ > kLongest;
  }

  // Folders that cannot be read have no entries.
  Result<void> Look(const Folder& folder) {
    const auto reader = folder.node->OpenDirectory();
    while (reader && !IsEnough()) {
      NDLFS_RETURN_IF_ERROR(backends::CancellationScope::Check());
      const auto entry = (*reader)->Next();
      if (!entry || !*entry) break;
      ++entries_;
      if (folder.path.empty() && (*entry)->name == ".ndlfs") continue;
      std::vector<std::string> path = folder.path;
      path.push_back((*entry)->name);
      if (S_ISDIR((*entry)->type) || IsFolder(folder, **entry)) {
        AddFolder(folder, std::move(path));
      } else if (Matches(path.back(), {})) {
        AddHit({std::move(path), false, {}});
      }
    }
    return backends::CancellationScope::Check();
  }

  // For what only a look can tell: a file that may be a store.
  static bool IsFolder(const Folder& outer, const DirectoryEntry& entry) {
    if (entry.type != 0) return false;
    const auto node = outer.node->Lookup(entry.name);
    if (!node || (*node)->StatCost() != TreeNode::Cost::kNothing) return false;
    const auto attributes = (*node)->StatWhenFound();
    return attributes && IsDirectory(*attributes);
  }

  void AddFolder(const Folder& outer, std::vector<std::string> path) {
    const auto node = outer.node->Lookup(path.back());
    if (!node) return;
    const auto all = (*node)->GetExtendedAttributes();
    const ExtendedAttributes attributes = all ? *all : ExtendedAttributes();
    if (Matches(path.back(), attributes)) {
      AddHit({path, true, FirstMatch(attributes)});
    }
    ++found_folders_;
    folders_.push_back({std::move(path), *node});
  }
  void AddHit(SearchHit hit) {
    result_.bytes += sizeof(hit) + hit.attribute.first.size() + hit.attribute.second.size();
    for (const std::string& name : hit.path) result_.bytes += sizeof(name) + name.size();
    result_.hits.push_back(std::move(hit));
  }

  // Whether each word is in the name or in one of the attributes.
  bool Matches(const std::string& name, const ExtendedAttributes& attributes) const {
    std::string text = SmallLetters(name);
    for (const auto& [key, value] : attributes) {
      if (key.starts_with(kAttributePrefix)) {
        text += '\n' + SmallLetters(key.substr(kAttributePrefix.size())) + '\n' +
                SmallLetters(value);
      }
    }
    return std::ranges::all_of(
        words_, [&](const std::string& word) { return text.find(word) != std::string::npos; });
  }

  std::pair<std::string, std::string> FirstMatch(const ExtendedAttributes& attributes) const {
    for (const auto& [key, value] : attributes) {
      if (!key.starts_with(kAttributePrefix)) continue;
      const std::string name = key.substr(kAttributePrefix.size());
      const std::string text = SmallLetters(name) + '\n' + SmallLetters(value);
      for (const std::string& word : words_) {
        if (text.find(word) != std::string::npos) return {name, Beginning(value)};
      }
    }
    return {};
  }

  const std::vector<std::string> words_;
  const Clock::time_point begin_ = Clock::now();
  std::deque<Folder> folders_;
  size_t entries_ = 0;
  size_t found_folders_ = 0;
  SearchResult result_;
};

void AddAsHtml(const SearchHit& hit, std::string& out) {
  std::string link = ".";
  std::string shown;
  for (const std::string& name : hit.path) {
    link += '/' + UrlOfName(name);
    shown += (shown.empty() ? "" : " / ") + HtmlName(name);
  }
  std::string attribute;
  if (!hit.attribute.first.empty()) {
    attribute = HtmlName(hit.attribute.first) + ": " + HtmlName(hit.attribute.second);
  }
  fmt::format_to(std::back_inserter(out),
                 "<tr><td><a href=\"{0}{1}\">{2}{1}</a></td><td class=\"soft\">{3}</td></tr>\n",
                 link, hit.is_directory ? "/" : "", shown, attribute);
}

}  // namespace

Result<SearchResult> Search(const TreeNodePtr& directory, std::string_view question) {
  return Searcher(WordsOf(question)).Run(directory);
}

std::string SearchForm(std::string_view question) {
  return fmt::format(
      "<form><input type=\"search\" name=\"q\" value=\"{}\" aria-label=\"Names and "
      "attributes\" "
      "placeholder=\"Names and attributes below\"> <button>Search</button></form>\n",
      HtmlName(question));
}

NextPiece SearchAsHtml(SearchResult result, std::string_view question) {
  std::string page = BeginPage(fmt::format("{} - search", question));
  page += fmt::format("<nav><a href=\"./\">Back to the folder</a></nav>\n<h1>{}</h1>\n{}",
                      HtmlName(question), SearchForm(question));
  page += fmt::format("<p class=\"soft\">{} found{}</p>\n<table>\n", result.hits.size(),
                      result.is_complete ? "" : "; there may be more");
  return TextOfItems(std::move(page), OneByOne(std::move(result.hits)), &AddAsHtml,
                     [](size_t) { return "</table>\n" + EndPage(); });
}

NextPiece SearchAsJson(SearchResult result) {
  const auto add = [before = "\n"](const SearchHit& hit, std::string& out) mutable {
    nlohmann::ordered_json object;
    object["path"] = fmt::format("{}", fmt::join(hit.path, "/"));
    object["type"] = hit.is_directory ? "directory" : "file";
    if (!hit.attribute.first.empty()) {
      object["attribute"] = hit.attribute.first;
      object["value"] = hit.attribute.second;
    }
    out += std::exchange(before, ",\n") +
           object.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  };
  std::string begin = fmt::format("{{\"complete\": {},\n\"hits\": [", result.is_complete);
  return TextOfItems(std::move(begin), OneByOne(std::move(result.hits)), add,
                     [](size_t) { return "]}\n"; });
}

}  // namespace ndlfs::fs
