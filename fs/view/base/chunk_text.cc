// SPDX-License-Identifier: MIT
#include "fs/view/base/chunk_text.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "fs/view/base/slice_text.h"

namespace ndlfs::fs {
namespace {

using model::Quote;
using model::Result;

// Reads the extent of chunks along a dimension of `extent` elements.
Result<uint64_t> ParseExtent(std::string_view text, uint64_t extent) {
  const uint64_t whole = std::max<uint64_t>(1, extent);
  if (text == "-1") return whole;
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool is_number = end == text.data() + text.size() && !text.empty();
  // A number that is too large for 64 bits is larger than the array as well.
  if (is_number && error == std::errc::result_out_of_range) return whole;
  if (!is_number || error != std::errc() || number == 0) {
    return model::NotFound("expected a number of elements from 1, or -1 for all, found {}",
                           Quote(text));
  }
  return std::min(number, whole);
}

}  // namespace

Result<ChunkWish> ParseChunks(const ArrayInput& array, std::string_view text,
                              std::string_view word) {
  ChunkWish chunks(array.shape.size());
  const std::vector<std::string_view> items = SplitSlice(text);
  const auto has_name = [](std::string_view item) {
    return item.find('=') != std::string_view::npos;
  };
  const auto named = static_cast<size_t>(std::ranges::count_if(items, has_name));
  if (named != 0 && named != items.size()) {
    return model::NotFound("{}: some extents with names of dimensions, and some without", word);
  }
  if (named == 0 && items.size() > chunks.size()) {
    return model::NotFound("{}: {} extents for {} dimensions", word, items.size(),
                           chunks.size());
  }
  for (size_t i = 0; i < items.size(); ++i) {
    NamedItem item{i, items[i]};
    if (named != 0) {
      const auto found = FindNamedItem(array, items[i]);
      if (!found) {
        return model::NotFound("{}: no dimension is called {}", word,
                               Quote(items[i].substr(0, items[i].find('='))));
      }
      item = *found;
    } else if (items[i].empty()) {
      continue;
    }
    if (chunks[item.dimension])
      return model::NotFound("{}: {} is there twice", word, Quote(items[i]));
    NDLFS_TRY(chunks[item.dimension], ParseExtent(item.text, array.shape[item.dimension]),
              std::string(word));
  }
  return chunks;
}

std::string FormatChunks(const ChunkWish& chunks) {
  std::string text;
  for (size_t d = 0; d < chunks.size(); ++d) {
    if (d != 0) text += ',';
    if (chunks[d]) text += std::to_string(*chunks[d]);
  }
  text.resize(text.find_last_not_of(',') + 1);
  return text;
}

}  // namespace ndlfs::fs
