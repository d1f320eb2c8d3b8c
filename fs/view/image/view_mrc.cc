// SPDX-License-Identifier: MIT
//
// MRC2014 in one file: a header of 1024 bytes, and the elements, whose last dimension is
// fastest in the file, too.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fs/view/base/attributes.h"
#include "fs/view/base/raw_header.h"
#include "fs/view/elements/segmented_view.h"
#include "fs/view/image/views.h"
#include "fs/view/place/geometry.h"
#include "fs/view/place/physical_unit.h"
#include "model/base64.h"

namespace ndlfs::fs {
namespace {

using model::Result;

constexpr size_t kMrcHeaderBytes = 1024;
constexpr size_t kFewestMrcAxes = 2, kMostMrcAxes = 4;
// Words of 4 bytes, by the numbers that the specification gives them.
constexpr size_t kMrcSize = 1, kMrcMode = 4, kMrcIntervals = 8, kMrcCell = 11, kMrcAngles = 14,
                 kMrcAxes = 17, kMrcDensity = 20, kMrcSpaceGroup = 23, kMrcExtended = 24,
                 kMrcVersion = 28, kMrcOrigin = 50, kMrcMap = 53, kMrcMachine = 54,
                 kMrcRms = 55, kMrcLabels = 56;

class MrcHeader {
 public:
  explicit MrcHeader(std::string bytes = std::string(kMrcHeaderBytes, '\0'))
      : bytes_(std::move(bytes)) {}

  template <typename T>
  void Put(size_t word, T value) {
    static_assert(sizeof(T) == 4);
    std::memcpy(bytes_.data() + (word - 1) * 4, &value, sizeof value);
  }
  // The first of ten labels.
  void PutLabel(const std::string& text) {
    constexpr size_t kLabel = 80;
    std::memcpy(bytes_.data() + kMrcLabels * 4, text.data(), std::min(text.size(), kLabel));
  }
  int32_t Integer(size_t word) const {
    int32_t value = 0;
    std::memcpy(&value, bytes_.data() + (word - 1) * 4, sizeof value);
    return value;
  }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

struct Mrc {
  NumberArray numbers;
  int32_t mode = 0;
  std::array<uint64_t, 3> sizes{};  // columns, rows and sections
};

std::optional<Mrc> FittingMrc(const ArrayInput& input) {
  const auto numbers = AsNumbers(input);
  const int mode = numbers ? WordsFor(numbers->number).mrc : -1;
  if (mode < 0 || numbers->rank() < kFewestMrcAxes || numbers->rank() > kMostMrcAxes) {
    return std::nullopt;
  }
  // MRC has one number in a pixel.
  if (AsRaster(input, *numbers)->sample_axis) return std::nullopt;
  const auto& shape = numbers->shape;
  const size_t rank = shape.size();
  uint64_t sections = 1;
  // No overflow: the product of all is the size of the array.
  for (size_t d = 0; d + 2 < rank; ++d) sections *= shape[d];
  Mrc mrc{*numbers, mode, {shape[rank - 1], shape[rank - 2], sections}};
  constexpr uint64_t kMost = std::numeric_limits<int32_t>::max();
  if (std::ranges::any_of(mrc.sizes, [](uint64_t n) { return n > kMost; })) return std::nullopt;
  return mrc;
}

// The header of the file that `input` is the array of, for elements that follow it at once.
std::optional<std::string> HeaderOfSource(const ArrayInput& input, const Mrc& mrc) {
  if (input.part || !input.group) return std::nullopt;
  const auto stored =
      model::DecodeBase64(model::TextOf(input.group->node().attributes(), "HEADER"));
  if (!stored || stored->size() != kMrcHeaderBytes) return std::nullopt;
  MrcHeader header(std::string(reinterpret_cast<const char*>(stored->data()), stored->size()));
  for (const size_t n : {0, 1, 2}) {
    if (header.Integer(kMrcSize + n) != static_cast<int32_t>(mrc.sizes[n])) return std::nullopt;
  }
  if (header.Integer(kMrcMode) != mrc.mode) return std::nullopt;
  header.Put(kMrcExtended, int32_t{0});
  return header.bytes();
}

// Whether sections are images of their own, and no volume.
bool IsStack(const Geometry& geometry) {
  constexpr std::string_view kNames[] = {"image", "page", "time", "t", "c", "channel"};
  return geometry.axes.size() == 3 &&
         std::ranges::find(kNames, geometry.axes[0].name) != std::end(kNames);
}

// A new header: sizes, and cells as far as coordinates in units of length tell them. The range
// of the densities is left unknown, as the specification describes it.
std::string RenderMrc(const Mrc& mrc, const Geometry& geometry, const AllSteps& steps) {
  MrcHeader header;
  const auto& shape = mrc.numbers.shape;
  const size_t rank = shape.size();
  const bool is_stack = IsStack(geometry);
  for (size_t n = 0; n < 3; ++n) {
    header.Put(kMrcSize + n, static_cast<int32_t>(mrc.sizes[n]));
    const bool is_volume_axis = n < 2 || (rank > 2 && !is_stack);
    // Sections of one volume; in a stack, of one image.
    const uint64_t intervals = n < 2 ? mrc.sizes[n] : is_volume_axis ? shape[rank - 3] : 1;
    header.Put(kMrcIntervals + n, static_cast<int32_t>(intervals));
    header.Put(kMrcAngles + n, 90.0F);
    header.Put(kMrcAxes + n, static_cast<int32_t>(n + 1));
    if (!is_volume_axis) continue;
    const size_t d = rank - 1 - n;
    const auto unit = LengthUnitOf(geometry.axes[d].units);
    if (!unit || !steps[d] || std::isnan(steps[d]->step)) continue;
    const double angstroms = unit->size / 1e-10;
    const double spacing = SpacingOf(geometry.axes[d], steps[d]) * angstroms;
    header.Put(kMrcCell + n, static_cast<float>(spacing * static_cast<double>(intervals)));
    header.Put(kMrcOrigin + n, static_cast<float>(OriginOf(steps[d]) * angstroms));
  }
  constexpr int32_t kImages = 0, kVolume = 1, kVolumes = 401;
  header.Put(kMrcMode, mrc.mode);
  header.Put(kMrcSpaceGroup, rank == 4 ? kVolumes : rank == 3 && !is_stack ? kVolume : kImages);
  header.Put(kMrcDensity + 1, -1.0F);
  header.Put(kMrcDensity + 2, -2.0F);
  header.Put(kMrcRms, -1.0F);
  if (!geometry.title.empty()) {
    header.Put(kMrcLabels, int32_t{1});
    header.PutLabel(PrintableAscii(geometry.title));
  }
  header.Put(kMrcVersion, int32_t{20140});
  constexpr std::array<char, 4> kMap = {'M', 'A', 'P', ' '}, kLittle = {0x44, 0x44, 0, 0};
  header.Put(kMrcMap, kMap);
  header.Put(kMrcMachine, kLittle);
  return header.bytes();
}

Result<ViewNode> MakeMrc(const ArrayInput& input) {
  const auto mrc = FittingMrc(input);
  if (!mrc) return model::Unsupported("no MRC of {}", input.dtype.keyword());
  if (auto source = HeaderOfSource(input, *mrc)) {
    return MakeSegmentedView({Literal(*std::move(source)), AllOf(mrc->numbers.elements)});
  }
  NDLFS_TRY(Geometry geometry, DescribeGeometry(input, mrc->numbers));
  const auto header = [mrc = *mrc, geometry = std::move(geometry)]() -> Result<std::string> {
    NDLFS_TRY(const AllSteps steps, ReadAllSteps(geometry));
    return RenderMrc(mrc, geometry, steps);
  };
  return MakeSegmentedView(
      {MakeDeferredBytes(kMrcHeaderBytes, header), AllOf(mrc->numbers.elements)});
}

}  // namespace

const ArrayViewKind kMrcView = {
    .file_name = "data.mrc",
    .description = "MRC",
    .applies_to = [](const ArrayInput& input) { return FittingMrc(input).has_value(); },
    .is_listed = [](const ArrayInput&) { return false; },
    .make = &MakeMrc,
};

}  // namespace ndlfs::fs
