// SPDX-License-Identifier: MIT
//
// VisIt's "brick of values" for data.raw.
#include <fmt/format.h>

#include <limits>
#include <string>
#include <string_view>
#include <utility>

#include "fs/view/array/views.h"
#include "fs/view/base/raw_header.h"
#include "fs/view/elements/segmented_view.h"
#include "fs/view/place/geometry.h"

namespace ndlfs::fs {
namespace {

using model::Result;

constexpr size_t kMostBovAxes = 3;

struct Bov {
  NumberArray numbers;
  Geometry geometry;
  std::string raw_name;
  std::string name;
};

std::optional<Bov> FittingBov(const ArrayInput& input) {
  const auto numbers = AsNumbers(input);
  if (!numbers || WordsFor(numbers->number).bov.empty()) return std::nullopt;
  if (numbers->rank() == 0 || numbers->rank() > kMostBovAxes) return std::nullopt;
  for (const uint64_t length : numbers->shape) {
    if (length > std::numeric_limits<int32_t>::max()) return std::nullopt;
  }
  return Bov{*numbers, {}, RawFileName(input), NameInHeader(input)};
}

// A cell for each element, its coordinate in the middle. Boxes do not go backwards: where
// coordinates descend, the box has the size of all, and begins at 0.
std::string Render(const Bov& bov, const AllSteps& steps, const NumberText& text) {
  std::string lengths;
  std::string origin;
  std::string size;
  const size_t rank = bov.numbers.rank();
  const bool has_place = std::ranges::all_of(
      steps, [](const auto& along) { return !along || !(along->step < 0); });
  for (size_t n = 0; n < kMostBovAxes; ++n) {  // fastest first
    if (n >= rank) {
      lengths += " 1";
      origin += " 0";
      size += " 1";
      continue;
    }
    const size_t d = rank - 1 - n;
    const double count = static_cast<double>(bov.numbers.shape[d]);
    const double step = SpacingOf(bov.geometry.axes[d], steps[d]);
    const bool ascends = has_place && steps[d] && steps[d]->step > 0;
    lengths += fmt::format(" {}", bov.numbers.shape[d]);
    origin += ' ' + text(ascends ? steps[d]->first - step / 2 : 0);
    size += ' ' + text(step * count);
  }
  std::string out = fmt::format("TIME: 0\nDATA_FILE: {}\nDATA_SIZE:{}\nDATA_FORMAT: {}\n",
                                bov.raw_name, lengths, WordsFor(bov.numbers.number).bov);
  out += fmt::format("VARIABLE: {}\nDATA_ENDIAN: LITTLE\nCENTERING: zonal\n", bov.name);
  return out + fmt::format("BRICK_ORIGIN:{}\nBRICK_SIZE:{}\n", origin, size);
}

Result<ViewNode> MakeBov(const ArrayInput& input) {
  auto bov = FittingBov(input);
  if (!bov) return model::Unsupported("no BOV header for {}", input.dtype.keyword());
  NDLFS_TRY(bov->geometry, DescribeGeometry(input, bov->numbers));
  const AllSteps longest = LongestSteps(bov->geometry);
  const auto read = [geometry = bov->geometry] { return ReadAllSteps(geometry); };
  const auto render = [bov = *bov](const AllSteps& steps, const NumberText& text) {
    return Render(bov, steps, text);
  };
  return MakeSegmentedView({MakeTextHeader<AllSteps>(longest, read, render)});
}

}  // namespace

const ArrayViewKind kBovView = {
    .file_name = "data.bov",
    .description = "BOV header, for {}",
    .is_text = true,
    .applies_to = [](const ArrayInput& input) { return FittingBov(input).has_value(); },
    .is_listed = &IsListedHeader,
    .make = &MakeBov,
};

}  // namespace ndlfs::fs
