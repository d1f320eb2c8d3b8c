// SPDX-License-Identifier: MIT
//
// Headers of FITS, by section 4 of the FITS Standard 4.0: cards of 80 characters in blocks of
// 2880.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backends/store/store.h"
#include "model/entities.h"
#include "model/error.h"

namespace ndlfs::backends::foreign {

inline constexpr uint64_t kFitsBlock = 2880;
inline constexpr size_t kFitsCard = 80;

struct FitsCard {
  enum class Kind : uint8_t { kText, kBool, kNumber, kOther };
  std::string keyword;
  Kind kind = Kind::kOther;
  std::string value;  // a text without quotes; others as they stand
};

class FitsHeader {
 public:
  // Reads the header at `offset` of the value "" of `file`, up to its END.
  static model::Result<FitsHeader> Read(const Store& file, uint64_t offset);

  uint64_t bytes() const { return bytes_; }  // whole blocks

  bool Has(std::string_view keyword) const { return Find(keyword) != nullptr; }
  // nullopt if there is no such card, or it has another type.
  std::optional<int64_t> Integer(std::string_view keyword) const;
  std::optional<double> Real(std::string_view keyword) const;
  std::string Text(std::string_view keyword) const;  // or empty
  bool IsTrue(std::string_view keyword) const;
  // The value of a number as it stands; empty if there is none.
  std::string_view Number(std::string_view keyword) const;

  // Keywords of several cards whose values differ. The first one counts.
  const std::vector<std::string>& contradictions() const { return contradictions_; }

  // All cards with values. The cards COMMENT become one text with a line for each card, and so
  // do the cards HISTORY.
  std::vector<model::Attribute> MakeAttributes() const;

 private:
  const FitsCard* Find(std::string_view keyword) const;
  void Add(std::string_view card);
  void AddText(const std::string& keyword, std::string_view text);

  uint64_t bytes_ = 0;
  std::vector<FitsCard> cards_;
  std::vector<std::string> contradictions_;
  std::map<std::string, size_t, std::less<>> by_keyword_;
};

}  // namespace ndlfs::backends::foreign
