// SPDX-License-Identifier: MIT
#include "backends/base/json_scan.h"

#include <algorithm>
#include <utility>

#include "backends/base/json.h"

namespace ndlfs::backends {
namespace {

class Scanner {
 public:
  Scanner(std::string_view text, size_t most) : text_(text), most_(most) {}

  model::Result<std::vector<JsonMember>> Run() {
    std::vector<JsonMember> members;
    if (!Take('{')) return Unexpected("an object");
    if (!Take('}')) {
      do {
        NDLFS_TRY(std::string key, TakeKey());
        if (!Take(':')) return Unexpected("':'");
        SkipBlanks();
        const size_t begin = at_;
        NDLFS_RETURN_IF_ERROR(SkipValue());
        if (members.size() == most_) {
          return model::Limit("more than {} members of a JSON object", most_);
        }
        members.push_back({std::move(key), begin, at_});
      } while (Take(','));
      if (!Take('}')) return Unexpected("',' or '}'");
    }
    SkipBlanks();
    if (at_ != text_.size()) return Unexpected("the end");
    return members;
  }

 private:
  model::Failure Unexpected(std::string_view expected) const {
    return model::BadInput("not JSON: expected {} at byte {}", expected, at_);
  }

  void SkipBlanks() { at_ = std::min(text_.find_first_not_of(" \t\r\n", at_), text_.size()); }

  bool Take(char c) {
    SkipBlanks();
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  // Moves from an opening quote to the byte after the closing one.
  bool SkipString() {
    for (++at_; at_ < text_.size(); ++at_) {
      if (text_[at_] == '"') {
        ++at_;
        return true;
      }
      if (text_[at_] == '\\') ++at_;
    }
    at_ = text_.size();
    return false;
  }

  // Whether a character stands for itself, as in most keys.
  static bool IsPlain(char c) { return c >= ' ' && c <= '~' && c != '\\'; }

  model::Result<std::string> TakeKey() {
    SkipBlanks();
    if (at_ == text_.size() || text_[at_] != '"') return Unexpected("a key");
    const size_t begin = at_;
    if (!SkipString()) return Unexpected("'\"'");
    const std::string_view inside = text_.substr(begin + 1, at_ - begin - 2);
    if (std::ranges::all_of(inside, IsPlain)) return std::string(inside);
    NDLFS_TRY(const Json key, ParseJson(text_.substr(begin, at_ - begin)));
    return key.get<std::string>();
  }

  model::Result<void> SkipValue() {
    size_t depth = 0;
    do {
      if (at_ == text_.size()) return Unexpected("a value");
      const char c = text_[at_];
      if (c == '"') {
        if (!SkipString()) return Unexpected("'\"'");
        continue;
      }
      if (c == '{' || c == '[') ++depth;
      if (c == '}' || c == ']') {
        if (depth == 0) return Unexpected("a value");
        --depth;
      }
      ++at_;
      if (depth == 0 && c != '}' && c != ']') SkipWord();
    } while (depth != 0);
    return {};
  }

  // Skips a number, or true, false, null.
  void SkipWord() { at_ = std::min(text_.find_first_of(" \t\r\n,{}[]\":", at_), text_.size()); }

  const std::string_view text_;
  const size_t most_;
  size_t at_ = 0;
};

}  // namespace

model::Result<std::vector<JsonMember>> ScanJsonObject(std::string_view text, size_t most) {
  return Scanner(text, most).Run();
}

}  // namespace ndlfs::backends
