// SPDX-License-Identifier: MIT
#include "backends/format/foreign/fits_header.h"

#include <algorithm>
#include <utility>

#include "backends/format/foreign/contents.h"
#include "backends/format/foreign/header_text.h"

namespace ndlfs::backends::foreign {
namespace {

using model::Result;

constexpr uint64_t kMaxHeader = 600 * kFitsBlock;  // 21,600 cards
constexpr size_t kMostKept = 1000;                 // keywords that contradict each other

// The text behind a quote, in which two quotes are one. `end` is behind the last quote.
std::string Unquote(std::string_view text, size_t& end) {
  std::string value;
  for (end = 1; end < text.size(); ++end) {
    if (text[end] == '\'') {
      if (text.substr(end + 1, 1) != "'") break;
      ++end;
    }
    value += text[end];
  }
  ++end;
  value.erase(value.find_last_not_of(' ') + 1);  // npos + 1 is 0
  return value;
}

FitsCard ParseValue(std::string_view keyword, std::string_view text) {
  FitsCard card;
  card.keyword = keyword;
  text = Trim(text);
  if (text.starts_with('\'')) {
    size_t end = 0;
    card.kind = FitsCard::Kind::kText;
    card.value = Unquote(text, end);
    return card;
  }
  card.value = Trim(text.substr(0, text.find('/')));
  if (card.value == "T" || card.value == "F") {
    card.kind = FitsCard::Kind::kBool;
  } else if (ParseReal(card.value)) {
    card.kind = FitsCard::Kind::kNumber;
  }
  return card;
}

// Reads from `offset` on until there is an END; the result ends before it.
Result<std::string> ReadCards(const Store& file, uint64_t offset) {
  std::string cards;
  uint64_t step = 4 * kFitsBlock;
  while (cards.size() < kMaxHeader) {
    NDLFS_TRY(const auto bytes, file.Read("", step, {offset + cards.size(), step}));
    const std::string_view text = bytes ? AsText(bytes->span()) : std::string_view();
    size_t at = cards.size() / kFitsCard * kFitsCard;
    cards += text;
    for (; at + kFitsCard <= cards.size(); at += kFitsCard) {
      const std::string_view card = std::string_view(cards).substr(at, kFitsCard);
      if (!card.starts_with("END") || !Trim(card.substr(3)).empty()) continue;
      cards.resize(at);
      return cards;
    }
    if (text.size() < step) return model::Corrupt("the header has no END before the file ends");
    step *= 2;
  }
  return model::Limit("a header of more than {} bytes", kMaxHeader);
}

}  // namespace

Result<FitsHeader> FitsHeader::Read(const Store& file, uint64_t offset) {
  NDLFS_TRY(const std::string cards, ReadCards(file, offset));
  FitsHeader header;
  header.bytes_ = (cards.size() + kFitsCard + kFitsBlock - 1) / kFitsBlock * kFitsBlock;
  for (size_t at = 0; at < cards.size(); at += kFitsCard) {
    header.Add(std::string_view(cards).substr(at, kFitsCard));
  }
  return header;
}

void FitsHeader::Add(std::string_view text) {
  const std::string keyword(Trim(text.substr(0, 8)));
  if (keyword == "CONTINUE" && !cards_.empty() && cards_.back().value.ends_with('&')) {
    const FitsCard more = ParseValue(keyword, text.substr(8));
    cards_.back().value.pop_back();
    cards_.back().value += more.value;
    return;
  }
  if (keyword == "COMMENT" || keyword == "HISTORY") return AddText(keyword, text.substr(8));
  const size_t equals = text.find('=');
  const bool is_long = keyword == "HIERARCH" && equals != std::string_view::npos;
  if (!is_long && text.substr(8, 2) != "= ") return;
  const std::string name = is_long ? std::string(Trim(text.substr(9, equals - 9))) : keyword;
  if (name.empty()) return;
  FitsCard card = ParseValue(name, text.substr(is_long ? equals + 1 : 10));
  const auto [known, is_new] = by_keyword_.emplace(name, cards_.size());
  if (is_new) {
    cards_.push_back(std::move(card));
  } else if (cards_[known->second].value != card.value && contradictions_.size() < kMostKept) {
    contradictions_.push_back(name);
  }
}

void FitsHeader::AddText(const std::string& keyword, std::string_view text) {
  const auto [known, is_new] = by_keyword_.emplace(keyword, cards_.size());
  if (is_new) cards_.push_back({keyword, FitsCard::Kind::kText, ""});
  std::string& value = cards_[known->second].value;
  if (!is_new) value += '\n';
  value += text.substr(0, text.find_last_not_of(' ') + 1);
}

const FitsCard* FitsHeader::Find(std::string_view keyword) const {
  const auto found = by_keyword_.find(keyword);
  return found == by_keyword_.end() ? nullptr : &cards_[found->second];
}

std::string_view FitsHeader::Number(std::string_view keyword) const {
  const FitsCard* card = Find(keyword);
  const bool is_number = card != nullptr && card->kind == FitsCard::Kind::kNumber;
  return is_number ? std::string_view(card->value) : std::string_view();
}

std::optional<int64_t> FitsHeader::Integer(std::string_view keyword) const {
  return ParseInteger(Number(keyword));
}

std::optional<double> FitsHeader::Real(std::string_view keyword) const {
  return ParseReal(Number(keyword));
}

std::string FitsHeader::Text(std::string_view keyword) const {
  const FitsCard* card = Find(keyword);
  return card != nullptr && card->kind == FitsCard::Kind::kText ? card->value : std::string();
}

bool FitsHeader::IsTrue(std::string_view keyword) const {
  const FitsCard* card = Find(keyword);
  return card != nullptr && card->kind == FitsCard::Kind::kBool && card->value == "T";
}

std::vector<model::Attribute> FitsHeader::MakeAttributes() const {
  std::vector<model::Attribute> attributes;
  for (const FitsCard& card : cards_) {
    const auto integer = ParseInteger(card.value);
    if (card.kind == FitsCard::Kind::kBool) {
      attributes.push_back({card.keyword,
                            model::Datatype::Bool(),
                            {},
                            model::Value(card.value == "T" ? "TRUE" : "FALSE"),
                            {}});
    } else if (card.kind == FitsCard::Kind::kNumber && integer) {
      attributes.push_back(IntegerAttribute(card.keyword, *integer));
    } else if (card.kind == FitsCard::Kind::kNumber) {
      attributes.push_back(RealAttribute(card.keyword, *ParseReal(card.value)));
    } else {
      attributes.push_back(TextAttribute(card.keyword, card.value));
    }
  }
  return attributes;
}

}  // namespace ndlfs::backends::foreign
