// SPDX-License-Identifier: MIT
//
// Reads the texts of headers: lines, words and numbers.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backends/store/store.h"
#include "model/error.h"

namespace ndlfs::backends::foreign {

// The most bytes of a header of text.
inline constexpr uint64_t kMaxHeaderBytes = uint64_t{1} << 20;

// The first bytes of the value "" of `file`, at most `limit`.
model::Result<std::string> ReadBeginning(const Store& file, uint64_t limit);
// The same, but stops about where `is_enough` is true.
model::Result<std::string> ReadBeginning(
    const Store& file, uint64_t limit,
    const std::function<bool(std::string_view text)>& is_enough);
// All of the value "" of `file`. kLimit if there are more than kMaxHeaderBytes.
model::Result<std::string> ReadHeaderText(const Store& file);

// Takes one line off `text`, without "\n" or "\r\n" at its end; nullopt at the end of the text.
std::optional<std::string_view> TakeLine(std::string_view& text);
// Takes one word off `text`, up to a blank or a tab; empty at its end.
std::string_view TakeWord(std::string_view& text);
std::vector<std::string_view> SplitWords(std::string_view text);

std::string_view Trim(std::string_view text);
std::string Lowercase(std::string_view text);
bool EqualsIgnoringCase(std::string_view a, std::string_view b);
bool StartsIgnoringCase(std::string_view text, std::string_view beginning);

// A number that is all of `text`; nullopt for anything else. A real number may have an exponent
// with a D, as Fortran writes it, and be "nan" or "inf".
std::optional<uint64_t> ParseCount(std::string_view text);
std::optional<int64_t> ParseInteger(std::string_view text);
std::optional<double> ParseReal(std::string_view text);

// All words as numbers; nullopt if one of them is no number.
std::optional<std::vector<uint64_t>> ParseCounts(std::string_view text);
std::optional<std::vector<double>> ParseReals(std::string_view text);

// The fields of a header: texts by their names. Names are the same if they differ only in the
// case of letters and in blanks.
class HeaderFields {
 public:
  // Returns false if there is a field of this name already; that one stays.
  bool Add(std::string_view name, std::string_view value);
  bool Has(std::string_view name) const { return fields_.contains(KeyOf(name)); }
  // Empty if there is none.
  std::string_view operator[](std::string_view name) const;

  // The key of a name. Names that are the same have equal keys.
  static std::string KeyOf(std::string_view name);

 private:
  std::map<std::string, std::string, std::less<>> fields_;
};

// Expands a pattern of printf with one number ("slice%03d.raw") to names of files, with the
// numbers from `first` to `last`, `step` apart. Refuses more than `limit` names, and a pattern
// without a number or with other conversions.
model::Result<std::vector<std::string>> ExpandPattern(std::string_view pattern, int64_t first,
                                                      int64_t last, int64_t step,
                                                      uint64_t limit);

}  // namespace ndlfs::backends::foreign
