// SPDX-License-Identifier: MIT
#include "fs/view/base/block_text.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "fs/view/base/array_part.h"
#include "fs/view/base/chunk_text.h"
#include "fs/view/base/slice_text.h"
#include "model/number_text.h"
#include "model/path_name.h"

namespace ndlfs::fs {
namespace {

using model::Quote;
using model::Result;

constexpr std::array<std::string_view, 5> kStatisticWords = {"mean", "min", "max", "sum",
                                                             "count"};

// nullopt if `array` has no such dimension.
std::optional<size_t> FindAxis(const ArrayInput& array, std::string_view text) {
  const size_t rank = array.shape.size();
  for (size_t d = 0; d < rank; ++d) {
    const std::string name = DimensionName(array, d);
    if (!name.empty() && (text == name || text == model::EncodeFileName(name))) return d;
  }
  if (text.starts_with('#')) text.remove_prefix(1);
  const auto number = model::ParseNumber<size_t>(text);
  return number && *number < rank ? number : std::nullopt;
}

}  // namespace

Result<Blocks> ParseBlocks(const ArrayInput& array, std::string_view text) {
  const size_t colon = std::min(text.find(':'), text.size());
  const std::string_view word = text.substr(0, colon);
  const auto found = std::ranges::find(kStatisticWords, word);
  if (found == kStatisticWords.end())
    return model::NotFound("no statistic is called {}", Quote(word));
  NDLFS_TRY(const ChunkWish extents,
            ParseChunks(array, text.substr(std::min(colon + 1, text.size())), word));
  Blocks blocks = {.statistic = static_cast<Statistic>(found - kStatisticWords.begin()),
                   .extents = {}};
  for (const auto& extent : extents) blocks.extents.push_back(extent.value_or(1));
  return blocks;
}

std::string FormatBlocks(const Blocks& blocks) {
  ChunkWish extents;
  for (const uint64_t extent : blocks.extents) {
    extents.push_back(extent == 1 ? std::nullopt : std::optional(extent));
  }
  const auto word = static_cast<size_t>(blocks.statistic);
  return fmt::format("{}:{}", kStatisticWords[word], FormatChunks(extents));
}

Result<std::vector<size_t>> ParseAxes(const ArrayInput& array, std::string_view text) {
  std::vector<size_t> axes;
  for (const std::string_view item : SplitSlice(text)) {
    const auto axis = FindAxis(array, item);
    if (!axis) return model::NotFound("axes: no dimension is called {}", Quote(item));
    if (std::ranges::find(axes, *axis) != axes.end()) {
      return model::NotFound("axes: {} is there twice", Quote(item));
    }
    axes.push_back(*axis);
  }
  if (axes.size() != array.shape.size()) {
    return model::NotFound("axes: {} of {} dimensions", axes.size(), array.shape.size());
  }
  return axes;
}

std::string FormatAxes(const std::vector<size_t>& axes) {
  return fmt::format("#{}", fmt::join(axes, ",#"));
}

}  // namespace ndlfs::fs
