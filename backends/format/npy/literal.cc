// SPDX-License-Identifier: MIT
#include "backends/format/npy/literal.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "model/utf8.h"

namespace ndlfs::backends {
namespace {

constexpr int kMaxDepth = 100;

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

bool IsWordCharacter(char c) {
  return IsDigit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
         (c & 0x80) != 0;
}

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  model::Result<Literal> ParseAll() {
    NDLFS_TRY(Literal literal, ParseValue(0));
    SkipBlanks();
    if (!AtEnd()) return Unexpected("the end");
    return literal;
  }

 private:
  using Kind = Literal::Kind;

  bool AtEnd() const { return position_ == text_.size(); }
  char Peek() const { return AtEnd() ? '\0' : text_[position_]; }

  void SkipBlanks() {
    while (!AtEnd()) {
      const char c = text_[position_];
      if (c == '#') {
        position_ = std::min(text_.find('\n', position_), text_.size());
      } else if (c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f') {
        ++position_;
      } else {
        return;
      }
    }
  }

  // Skips blanks, then takes `wanted` if that is next.
  bool Take(char wanted) {
    SkipBlanks();
    if (AtEnd() || text_[position_] != wanted) return false;
    ++position_;
    return true;
  }

  model::Failure Unexpected(std::string_view wanted) const {
    if (AtEnd()) {
      return model::BadInput("byte {}: expected {}, found the end", text_.size(), wanted);
    }
    const size_t length =
        std::max<size_t>(1, model::Utf8SequenceLength(text_.substr(position_)));
    return model::BadInput("byte {}: expected {}, found {}", position_, wanted,
                           model::Quote(text_.substr(position_, length)));
  }

  model::Result<Literal> ParseValue(int depth) {
    if (depth > kMaxDepth) return model::Limit("byte {}: nested too deep", position_);
    SkipBlanks();
    const char c = Peek();
    if (c == '(') return ParseTuple(depth);
    if (c == '[') return ParseItems(Kind::kList, ']', depth);
    if (c == '{') return ParseDict(depth);
    if (c == '\'' || c == '"') return ParseString();
    if (IsDigit(c) || c == '-' || c == '+') return ParseInteger();
    return ParseWord();
  }

  model::Result<Literal> ParseItems(Kind kind, char close, int depth) {
    ++position_;
    Literal sequence;
    sequence.kind = kind;
    trailing_comma_ = true;
    while (!Take(close)) {
      if (!trailing_comma_) return Unexpected(close == ')' ? "',' or ')'" : "',' or ']'");
      NDLFS_TRY(Literal item, ParseValue(depth + 1));
      sequence.items.push_back(std::move(item));
      trailing_comma_ = Take(',');
    }
    return sequence;
  }

  model::Result<Literal> ParseTuple(int depth) {
    NDLFS_TRY(Literal tuple, ParseItems(Kind::kTuple, ')', depth));
    // (x,) is a tuple, (x) is x in parentheses.
    if (tuple.items.size() != 1 || trailing_comma_) return tuple;
    Literal only = std::move(tuple.items.front());
    return only;
  }

  model::Result<Literal> ParseDict(int depth) {
    ++position_;
    Literal dict;
    dict.kind = Kind::kDict;
    bool comma = true;
    while (!Take('}')) {
      if (!comma) return Unexpected("',' or '}'");
      NDLFS_TRY(Literal key, ParseValue(depth + 1));
      if (!Take(':')) return Unexpected("':'");
      NDLFS_TRY(Literal value, ParseValue(depth + 1));
      dict.items.push_back(std::move(key));
      dict.items.push_back(std::move(value));
      comma = Take(',');
    }
    return dict;
  }

  model::Result<Literal> ParseInteger() {
    const size_t begin = position_;
    if (Peek() == '-' || Peek() == '+') ++position_;
    const size_t digits = position_;
    while (IsDigit(Peek())) ++position_;
    const std::string_view number = text_.substr(digits, position_ - digits);
    if (Peek() == 'L') ++position_;
    const bool leading_zero = number.size() > 1 && number.front() == '0';
    if (number.empty() || leading_zero || IsWordCharacter(Peek()) || Peek() == '.') {
      position_ = begin;
      return Unexpected("an integer");
    }
    Literal literal;
    literal.kind = Kind::kInteger;
    const auto [end, error] =
        std::from_chars(number.data(), number.data() + number.size(), literal.integer);
    if (error != std::errc()) {
      return model::Limit("byte {}: the integer {} is beyond 64 bits", begin,
                          model::Quote(number));
    }
    if (text_[begin] == '-') literal.integer = -literal.integer;
    return literal;
  }

  model::Result<Literal> ParseWord() {
    const size_t begin = position_;
    while (IsWordCharacter(Peek())) ++position_;
    const std::string_view word = text_.substr(begin, position_ - begin);
    Literal literal;
    if (word == "None") return literal;
    if (word == "True" || word == "False") {
      literal.kind = Kind::kBool;
      literal.boolean = word == "True";
      return literal;
    }
    if ((word == "u" || word == "U") && (Peek() == '\'' || Peek() == '"')) {
      return ParseString();
    }
    position_ = begin;
    return Unexpected("a literal");
  }

  model::Result<Literal> ParseString() {
    const char quote = text_[position_++];
    Literal literal;
    literal.kind = Kind::kString;
    for (;;) {
      if (AtEnd() || Peek() == '\n') return Unexpected("the end of a string");
      const char c = text_[position_++];
      if (c == quote) return literal;
      if (c != '\\') {
        literal.text += c;
      } else if (!TakeEscape(literal.text)) {
        return Unexpected("an escape sequence");
      }
    }
  }

  // After a backslash. False, without moving on, if there is no such escape.
  bool TakeEscape(std::string& out) {
    constexpr std::string_view kLetters = "\\'\"abfnrtv";
    constexpr std::string_view kMeanings = "\\'\"\a\b\f\n\r\t\v";
    if (AtEnd()) return false;
    const char c = Peek();
    if (const size_t at = kLetters.find(c); at != std::string_view::npos) {
      out += kMeanings[at];
      ++position_;
      return true;
    }
    if (c == '\n') {  // the line goes on
      ++position_;
      return true;
    }
    if (c == 'x') return TakeCodePoint(out, 1, 2, 16);
    if (c == 'u') return TakeCodePoint(out, 1, 4, 16);
    if (c == 'U') return TakeCodePoint(out, 1, 8, 16);
    return TakeOctal(out);
  }

  bool TakeOctal(std::string& out) {
    size_t digits = 0;
    for (const char c : text_.substr(position_, 3)) {
      if (c < '0' || c > '7') break;
      ++digits;
    }
    return digits > 0 && TakeCodePoint(out, 0, digits, 8);
  }

  // The `digits` digits after `skip` characters.
  bool TakeCodePoint(std::string& out, size_t skip, size_t digits, int base) {
    const std::string_view number = text_.substr(position_ + skip, digits);
    const char* const end = number.data() + number.size();
    uint32_t code_point = 0;
    const auto parsed = std::from_chars(number.data(), end, code_point, base);
    if (number.size() != digits || parsed.ec != std::errc() || parsed.ptr != end ||
        !model::AppendUtf8(out, code_point)) {
      return false;
    }
    position_ += skip + digits;
    return true;
  }

  const std::string_view text_;
  size_t position_ = 0;
  bool trailing_comma_ = false;  // of the sequence that ended last
};

}  // namespace

const Literal* Literal::Find(std::string_view key) const {
  const Literal* found = nullptr;
  for (size_t i = 0; i + 1 < items.size(); i += 2) {
    if (items[i].kind == Kind::kString && items[i].text == key) found = &items[i + 1];
  }
  return found;
}

std::string Literal::Describe() const {
  switch (kind) {
    case Kind::kNone:
      return "None";
    case Kind::kBool:
      return boolean ? "True" : "False";
    case Kind::kInteger:
      return fmt::format("the integer {}", integer);
    case Kind::kString:
      return "the string " + model::Quote(text);
    case Kind::kTuple:
      return fmt::format("a tuple of {}", items.size());
    case Kind::kList:
      return fmt::format("a list of {}", items.size());
    case Kind::kDict:
      break;
  }
  return "a dict";
}

model::Result<Literal> ParseLiteral(std::string_view text) { return Parser(text).ParseAll(); }

}  // namespace ndlfs::backends
