// SPDX-License-Identifier: MIT
#include "backends/format/hdf4/struct_metadata.h"

#include <charconv>
#include <cmath>
#include <cstddef>
#include <optional>
#include <span>
#include <utility>

namespace ndlfs::backends::hdf4 {
namespace {

constexpr size_t kMostGrids = 1000;
constexpr int kMostNested = 64;

std::string_view Trim(std::string_view text) {
  constexpr std::string_view kBlanks(" \t\r\n\0", 5);
  const size_t begin = text.find_first_not_of(kBlanks);
  if (begin == text.npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

std::string_view Unquote(std::string_view text) {
  const bool is_quoted = text.size() >= 2 && text.front() == '"' && text.back() == '"';
  return is_quoted ? text.substr(1, text.size() - 2) : text;
}

std::optional<double> Number(std::string_view text) {
  text = Trim(text);
  if (text.starts_with('+')) text.remove_prefix(1);
  double value = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
  if (read.ec != std::errc() || !std::isfinite(value)) return std::nullopt;
  return value;
}

uint64_t Count(std::string_view text) {
  text = Trim(text);
  uint64_t value = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
  return read.ec == std::errc() ? value : 0;
}

int Whole(std::string_view text, int otherwise) {
  text = Trim(text);
  int value = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
  return read.ec == std::errc() ? value : otherwise;
}

// "(1.0,2.0)" into `numbers`; false if there are fewer, or something else.
bool Numbers(std::string_view text, std::span<double> numbers) {
  if (!text.starts_with('(') || !text.ends_with(')')) return false;
  text = text.substr(1, text.size() - 2);
  for (double& number : numbers) {
    const size_t comma = std::min(text.find(','), text.size());
    const auto read = Number(text.substr(0, comma));
    if (!read) return false;
    number = *read;
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return true;
}

// An entry "key=value". A list in parentheses may go on in the next lines.
struct Entry {
  std::string_view key;
  std::string value;
};

std::optional<Entry> TakeEntry(std::string_view& text) {
  while (!text.empty()) {
    const auto take_line = [&] {
      const size_t end = std::min(text.find('\n'), text.size());
      const std::string_view line = Trim(text.substr(0, end));
      text.remove_prefix(std::min(end + 1, text.size()));
      return line;
    };
    const std::string_view line = take_line();
    const size_t sign = line.find('=');
    if (sign == line.npos) continue;
    Entry entry{Trim(line.substr(0, sign)), std::string(Trim(line.substr(sign + 1)))};
    constexpr size_t kLongest = 65'536;
    while (entry.value.starts_with('(') && entry.value.find(')') == std::string::npos &&
           !text.empty() && entry.value.size() < kLongest) {
      entry.value += take_line();
    }
    return entry;
  }
  return std::nullopt;
}

void Set(const Entry& entry, EosGrid& grid) {
  const std::string_view value = entry.value;
  if (entry.key == "GridName") {
    grid.name = Unquote(value);
  } else if (entry.key == "XDim") {
    grid.columns = Count(value);
  } else if (entry.key == "YDim") {
    grid.rows = Count(value);
  } else if (entry.key == "UpperLeftPointMtrs") {
    grid.has_upper_left = Numbers(value, grid.upper_left);
  } else if (entry.key == "LowerRightMtrs") {
    grid.has_lower_right = Numbers(value, grid.lower_right);
  } else if (entry.key == "Projection") {
    grid.projection = Unquote(value);
  } else if (entry.key == "ProjParams") {
    if (!Numbers(value, grid.parameters)) grid.parameters = {};
  } else if (entry.key == "ZoneCode") {
    grid.zone = Whole(value, 0);
  } else if (entry.key == "SphereCode") {
    grid.sphere = Whole(value, -1);
  } else if (entry.key == "PixelRegistration") {
    grid.registration = Unquote(value);
  } else if (entry.key == "GridOrigin") {
    grid.origin = Unquote(value);
  }
}

}  // namespace

// GROUP=GridStructure has a group for each grid, and that has its entries and further groups.
std::vector<EosGrid> ReadGrids(std::string_view text) {
  constexpr int kGridDepth = 2;
  std::vector<EosGrid> grids;
  EosGrid grid;
  bool is_in_grids = false;
  int depth = 0;
  while (const auto entry = TakeEntry(text)) {
    if (entry->key == "GROUP" || entry->key == "OBJECT") {
      if (++depth > kMostNested) break;
      if (depth == 1) is_in_grids = entry->value == "GridStructure";
      if (depth == kGridDepth) grid = EosGrid();
    } else if (entry->key == "END_GROUP" || entry->key == "END_OBJECT") {
      if (depth == kGridDepth && is_in_grids && !grid.name.empty()) {
        grids.push_back(std::move(grid));
        grid = EosGrid();
      }
      if (--depth < 0 || grids.size() >= kMostGrids) break;
    } else if (is_in_grids && depth == kGridDepth) {
      Set(*entry, grid);
    }
  }
  return grids;
}

}  // namespace ndlfs::backends::hdf4
