// SPDX-License-Identifier: MIT
#include "fs/view/base/slice_text.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "fs/view/base/array_part.h"
#include "fs/view/base/coordinate_search.h"
#include "model/path_name.h"

namespace ndlfs::fs {
namespace {

using model::Quote;
using model::Result;

model::Failure NoDimension(const ArrayInput& array, std::string_view item) {
  std::vector<std::string> names;
  for (size_t d = 0; d < array.shape.size(); ++d) {
    if (const std::string name = DimensionName(array, d); !name.empty()) {
      names.push_back(Quote(name));
    }
  }
  const std::string_view name = item.substr(0, item.find('='));
  if (names.empty()) return model::NotFound("no dimension has a name, as {} is", Quote(name));
  return model::NotFound("no dimension is called {}, but {}", Quote(name),
                         fmt::join(names, ", "));
}

class SliceParser {
 public:
  explicit SliceParser(const ArrayInput& array) : array_(array), found_(array.shape.size()) {}

  Result<Selection> Run(std::string_view text) {
    const std::vector<std::string_view> items = SplitSlice(text);
    for (const std::string_view item : items) {
      if (HasName(item)) NDLFS_RETURN_IF_ERROR(AddNamed(item));
    }
    NDLFS_RETURN_IF_ERROR(AddInOrder(items));
    Selection selection;
    for (size_t d = 0; d < found_.size(); ++d) {
      selection.push_back(found_[d].value_or(WholeRange(array_.shape[d])));
    }
    return selection;
  }

 private:
  static bool HasName(std::string_view item) {
    return item.find('=') != std::string_view::npos;
  }
  // Items without a name are for the other dimensions, in their order.
  Result<void> AddInOrder(const std::vector<std::string_view>& items) {
    std::vector<size_t> free;
    for (size_t d = 0; d < found_.size(); ++d) {
      if (!found_[d]) free.push_back(d);
    }
    const auto is_index = [](std::string_view item) { return item != "..." && !HasName(item); };
    const auto count = static_cast<size_t>(std::ranges::count_if(items, is_index));
    if (count > free.size()) {
      return model::NotFound("{} indices for {} dimensions", count, free.size());
    }
    size_t next = 0;
    bool has_ellipsis = false;
    for (const std::string_view item : items) {
      if (item == "...") {
        if (std::exchange(has_ellipsis, true)) return model::NotFound("more than one \"...\"");
        next += free.size() - count;
      } else if (is_index(item)) {
        const size_t d = free[next++];
        NDLFS_TRY(found_[d], ParseIndexRange(item, array_.shape[d]));
      }
    }
    return {};
  }
  Result<void> AddNamed(std::string_view item) {
    const auto named = FindNamedItem(array_, item);
    if (!named) return NoDimension(array_, item);
    NDLFS_TRY(const IndexRange range, ParseNamedItem(array_, *named),
              model::OneLine(DimensionName(array_, named->dimension)));
    if (found_[named->dimension]) return model::NotFound("{} is there twice", Quote(item));
    found_[named->dimension] = range;
    return {};
  }

  const ArrayInput& array_;
  std::vector<std::optional<IndexRange>> found_;
};

}  // namespace

std::vector<std::string_view> SplitSlice(std::string_view text) {
  std::vector<std::string_view> items;
  for (;;) {
    const size_t comma = std::min(text.find(','), text.size());
    items.push_back(text.substr(0, comma));
    if (comma == text.size()) return items;
    text.remove_prefix(comma + 1);
  }
}

std::optional<NamedItem> FindNamedItem(const ArrayInput& array, std::string_view item) {
  for (size_t d = 0; d < array.shape.size(); ++d) {
    const std::string name = DimensionName(array, d);
    if (name.empty()) continue;
    for (const std::string& begin : {name + '=', model::EncodeFileName(name) + '='}) {
      if (item.starts_with(begin)) return NamedItem{d, item.substr(begin.size())};
    }
  }
  return std::nullopt;
}

Result<IndexRange> ParseNamedItem(const ArrayInput& array, const NamedItem& item) {
  const uint64_t extent = array.shape[item.dimension];
  if (item.text.starts_with('#')) return ParseIndexRange(item.text.substr(1), extent);
  NDLFS_TRY(const auto coordinates, FindCoordinate(array, item.dimension));
  if (!coordinates) return ParseIndexRange(item.text, extent);
  if (extent == 0) return IndexRange();
  return FindByCoordinate(*coordinates, item.text);
}

Result<Selection> ParseSlice(const ArrayInput& array, std::string_view text) {
  return SliceParser(array).Run(text);
}

std::optional<model::Error> RefuseWord(std::string_view item) {
  if (item.starts_with("order=")) {
    return model::NotFound("{}: the only order is order=F; without it elements are in C order",
                           model::OneLine(item))
        .value();
  }
  const size_t end =
      item.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_");
  if (end == 0 || end == std::string_view::npos || item[end] != ':') return std::nullopt;
  return model::NotFound(
             "there is no {}, only mean:, min:, max:, sum:, count:, axes:, chunks: and order=F",
             Quote(item.substr(0, end + 1)))
      .value();
}

}  // namespace ndlfs::fs
