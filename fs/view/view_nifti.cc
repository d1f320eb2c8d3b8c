// SPDX-License-Identifier: MIT
//
// NIfTI-1 and NIfTI-2 in one file: a header, and the elements, the first dimension fastest.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "fs/view/attributes.h"
#include "fs/view/geometry.h"
#include "fs/view/segmented_view.h"
#include "fs/view/view_kinds.h"

namespace ndlfs::fs {
namespace {

using model::Result;

constexpr size_t kMostNiftiAxes = 7;

// 0 where NIfTI has no such numbers. Those of NIfTI-1, which has no others than NIfTI-2.
int16_t CodeOf(Number number) {
  switch (number) {
    case Number::kUInt8:
      return 2;
    case Number::kInt16:
      return 4;
    case Number::kInt32:
      return 8;
    case Number::kFloat32:
      return 16;
    case Number::kComplex64:
      return 32;
    case Number::kFloat64:
      return 64;
    case Number::kInt8:
      return 256;
    case Number::kUInt16:
      return 512;
    case Number::kUInt32:
      return 768;
    case Number::kInt64:
      return 1024;
    case Number::kUInt64:
      return 1280;
    case Number::kComplex128:
      return 1792;
    default:
      return 0;
  }
}

struct Nifti {
  NumberArray numbers;
  int16_t code = 0;
  int16_t bits = 0;
  size_t rank = 0;  // without that of colours
  bool is_second = false;
  std::string unit;
};

std::optional<Nifti> FittingNifti(const ArrayInput& input) {
  const auto numbers = AsNumbers(input);
  if (!numbers || numbers->rank() == 0) return std::nullopt;
  Nifti nifti;
  nifti.numbers = *numbers;
  nifti.code = CodeOf(numbers->number);
  nifti.bits = static_cast<int16_t>(8 * SizeOf(numbers->number));
  nifti.rank = numbers->rank();
  const auto raster = AsRaster(input, *numbers);
  if (raster && raster->samples > 1) {
    constexpr int16_t kRgb = 128;
    constexpr int16_t kRgba = 2304;
    nifti.code = raster->samples == 3 ? kRgb : kRgba;
    nifti.bits = static_cast<int16_t>(8 * raster->samples);
    --nifti.rank;
  }
  if (nifti.code == 0 || nifti.rank > kMostNiftiAxes) return std::nullopt;
  constexpr uint64_t kMostLength = std::numeric_limits<int16_t>::max();
  nifti.is_second =
      std::ranges::any_of(numbers->shape, [](uint64_t n) { return n > kMostLength; });
  nifti.unit = PrintableAscii(TextOf(input.node->attributes(), "units"));
  return nifti;
}

// Numbers at places in a header.
class Header {
 public:
  explicit Header(size_t size) : bytes_(size, '\0') {}
  template <typename T>
  void Put(size_t at, T value) {
    std::memcpy(bytes_.data() + at, &value, sizeof value);
  }
  void Put(size_t at, const std::string& text, size_t most) {
    std::memcpy(bytes_.data() + at, text.data(), std::min(text.size(), most));
  }
  std::string Finish() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

constexpr size_t kFirstSize = 348;
constexpr size_t kSecondSize = 540;
// Behind the header are four bytes that say that no extension follows.
constexpr size_t kExtension = 4;

// xyzt_units: of the first three axes and of the fourth; 0 where there is no word for them.
int UnitsOfSpace(std::string_view units) {
  if (units == "m" || units == "metre" || units == "meter") return 1;
  if (units == "mm" || units == "millimeter" || units == "millimetre") return 2;
  if (units == "um" || units == "micrometer" || units == "micrometre" || units == "micron")
    return 3;
  return 0;
}
int UnitsOfTime(std::string_view units) {
  if (units == "s" || units == "second" || units == "seconds") return 8;
  if (units == "ms" || units == "millisecond") return 16;
  if (units == "us" || units == "microsecond") return 24;
  return 0;
}

int UnitsOf(const Nifti& nifti, const Geometry& geometry) {
  int space = 0;
  for (size_t n = 0; n < std::min<size_t>(3, nifti.rank); ++n) {
    const int unit = UnitsOfSpace(geometry.axes[nifti.rank - 1 - n].units);
    if (n > 0 && unit != space) return 0;
    space = unit;
  }
  return space + (nifti.rank > 3 ? UnitsOfTime(geometry.axes[nifti.rank - 4].units) : 0);
}

// dim[0] is the rank, and those beyond it are 1, as readers multiply all.
template <typename T>
void PutLengths(const Nifti& nifti, size_t at, Header& header) {
  header.Put(at, static_cast<T>(nifti.rank));
  for (size_t n = 1; n <= kMostNiftiAxes; ++n) {
    const uint64_t length = n <= nifti.rank ? nifti.numbers.shape[nifti.rank - n] : 1;
    header.Put(at + n * sizeof(T), static_cast<T>(length));
  }
}

// pixdim[0] is 1: no axis is mirrored.
template <typename T>
void PutSpacing(const Nifti& nifti, const Geometry& geometry, const AllSteps& steps, size_t at,
                Header& header) {
  header.Put(at, T{1});
  for (size_t n = 1; n <= kMostNiftiAxes; ++n) {
    const size_t d = nifti.rank - n;
    const double spacing = n <= nifti.rank ? SpacingOf(geometry.axes[d], steps[d]) : 1;
    header.Put(at + n * sizeof(T), static_cast<T>(spacing));
  }
}

// Places of the fields by nifti1.h.
std::string RenderFirst(const Nifti& nifti, const Geometry& geometry, const AllSteps& steps) {
  Header header(kFirstSize + kExtension);
  header.Put(0, static_cast<int32_t>(kFirstSize));
  header.Put(38, 'r');  // of Analyze: all images have the same size
  PutLengths<int16_t>(nifti, 40, header);
  header.Put(70, nifti.code);
  header.Put(72, nifti.bits);
  PutSpacing<float>(nifti, geometry, steps, 76, header);
  header.Put(108, static_cast<float>(kFirstSize + kExtension));  // where the elements are
  header.Put(112, 1.0F);                                         // scl_slope: not scaled
  header.Put(123, static_cast<char>(UnitsOf(nifti, geometry)));
  header.Put(148, nifti.unit, 79);  // descrip
  header.Put(344, std::string("n+1", 4), 4);
  return header.Finish();
}

// Places of the fields by nifti2.h.
std::string RenderSecond(const Nifti& nifti, const Geometry& geometry, const AllSteps& steps) {
  Header header(kSecondSize + kExtension);
  header.Put(0, static_cast<int32_t>(kSecondSize));
  header.Put(4, std::string("n+2\0\r\n\032\n", 8), 8);
  header.Put(12, nifti.code);
  header.Put(14, nifti.bits);
  PutLengths<int64_t>(nifti, 16, header);
  PutSpacing<double>(nifti, geometry, steps, 104, header);
  header.Put(168, static_cast<int64_t>(kSecondSize + kExtension));
  header.Put(176, 1.0);
  header.Put(240, nifti.unit, 79);
  header.Put(500, static_cast<int32_t>(UnitsOf(nifti, geometry)));
  return header.Finish();
}

Result<ViewPtr> MakeNifti(const ArrayInput& input) {
  const auto nifti = FittingNifti(input);
  if (!nifti) return model::Unsupported("no NIfTI of {}", input.dtype.keyword());
  NDLFS_TRY(Geometry geometry, DescribeGeometry(input, nifti->numbers));
  const size_t size = (nifti->is_second ? kSecondSize : kFirstSize) + kExtension;
  const auto header = [nifti = *nifti,
                       geometry = std::move(geometry)]() -> Result<std::string> {
    NDLFS_TRY(const AllSteps steps, ReadAllSteps(geometry));
    return nifti.is_second ? RenderSecond(nifti, geometry, steps)
                           : RenderFirst(nifti, geometry, steps);
  };
  return MakeSegmentedView({MakeDeferredBytes(size, header), AllOf(nifti->numbers.elements)});
}

}  // namespace

const ArrayViewKind kNiftiView = {
    .file_name = "data.nii",
    .applies_to = [](const ArrayInput& input) { return FittingNifti(input).has_value(); },
    .is_listed = [](const ArrayInput&) { return false; },
    .make = &MakeNifti,
};

}  // namespace ndlfs::fs
