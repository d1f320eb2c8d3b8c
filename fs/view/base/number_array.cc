// SPDX-License-Identifier: MIT
#include "fs/view/base/number_array.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <string>
#include <string_view>

#include "backends/base/checked.h"
#include "backends/format/packing.h"
#include "fs/view/base/array_part.h"
#include "fs/view/base/attributes.h"
#include "fs/view/base/dimension_names.h"
#include "model/float_format.h"

namespace ndlfs::fs {
namespace {

using model::Datatype;
using Kind = Datatype::Kind;

std::optional<Number> NumberOfInteger(const Datatype& type) {
  switch (type.size()) {
    case 1:
      return type.is_signed() ? Number::kInt8 : Number::kUInt8;
    case 2:
      return type.is_signed() ? Number::kInt16 : Number::kUInt16;
    case 4:
      return type.is_signed() ? Number::kInt32 : Number::kUInt32;
    case 8:
      return type.is_signed() ? Number::kInt64 : Number::kUInt64;
    default:
      return std::nullopt;
  }
}

// `keyword` and not the size says what the bits of a float mean.
std::optional<Number> NumberOfFloat(const Datatype& type) {
  const std::string keyword = type.keyword();
  if (keyword == "float16") return Number::kFloat16;
  if (keyword == "float32") return Number::kFloat32;
  if (keyword == "float64") return Number::kFloat64;
  return std::nullopt;
}

std::optional<Number> NumberOf(const Datatype& type) {
  if (type.is_bool()) return Number::kUInt8;
  if (type.is_complex()) return type.size() == 8 ? Number::kComplex64 : Number::kComplex128;
  switch (type.kind()) {
    case Kind::kInteger:
      return NumberOfInteger(type);
    case Kind::kFloat:
      return NumberOfFloat(type);
    case Kind::kEnum:
      return NumberOf(type.base());
    default:
      return std::nullopt;
  }
}

// Whether the last dimension is the samples of a pixel, by names or by what formats say.
bool HasSamples(const ArrayInput& input, const NumberArray& numbers) {
  const size_t rank = numbers.rank();
  if (rank < 3 || rank != input.shape.size() || numbers.shape.back() > kMostSamples) {
    return false;
  }
  if (rank == 3 && TextOf(input.node->attributes(), "INTERLACE_MODE") == "INTERLACE_PIXEL") {
    return true;
  }
  const std::vector<DimensionKind> kinds = KindsOf(input);
  const DimensionKind x = kinds[rank - 2], y = kinds[rank - 3];
  if (IsNameOfBands(DimensionName(input, rank - 1))) {
    return !IsNoRowOrColumn(x) && !IsNoRowOrColumn(y);
  }
  // Channels of a picture have such names, but also electrodes.
  return kinds.back() == DimensionKind::kBands && x == DimensionKind::kColumns &&
         y == DimensionKind::kRows;
}

bool IsLongAsColours(uint64_t extent) { return extent == 3 || extent == 4; }

bool HasColourBytes(const ArrayInput& input, const NumberArray& numbers) {
  if (numbers.number != Number::kUInt8 || numbers.rank() < 3) return false;
  if (!IsLongAsColours(numbers.shape.back())) return false;
  if (input.dtype.kind() != Kind::kInteger && input.dtype.kind() != Kind::kArray) return false;
  if (input.shape.size() != numbers.rank()) return true;  // a pixel is one element
  const DimensionKind last = KindsOf(input).back();
  return last != DimensionKind::kRows && last != DimensionKind::kColumns;
}

// Whether the last dimension of a part may be colours by its length alone: a slice can give
// any dimension that length.
bool IsOfColours(const ArrayInput& input, const NumberArray& numbers) {
  const size_t last = numbers.rank() - 1;
  if (!input.part || last >= input.shape.size()) return true;
  const ArrayPart& part = *input.part;
  const auto dimension = DimensionOfWhole(part, last);
  if (!dimension || !IsLongAsColours(part.whole.shape[*dimension])) return false;
  return !part.axes.empty() || *dimension + 1 == part.whole.shape.size();
}

// Whether dimension `d` of a part has all samples (or bands) of the array, or the first three,
// in their order. Others are no colours, or are so in another order.
bool KeepsColours(const ArrayInput& input, size_t d) {
  if (!input.part || d >= input.shape.size()) return true;
  const ArrayPart& part = *input.part;
  const auto dimension = DimensionOfWhole(part, d);
  if (!dimension || (part.blocks && part.blocks->extents[d] != 1)) return false;
  const IndexRange& range = part.selection[*dimension];
  const bool is_enough = range.count == 3 || range.count == part.whole.shape[*dimension];
  return range.begin == 0 && range.step == 1 && is_enough;
}

// Whether the `bands` samples or pages of a picture, along dimension `d`, begin with red, green
// and blue, by what a TIFF file says.
bool AreColours(const ArrayInput& input, const NumberArray& numbers, size_t d, uint64_t bands) {
  return TextOf(input.node->attributes(), "PhotometricInterpretation") == "RGB" && bands >= 3 &&
         !IsComplex(numbers.number) && KeepsColours(input, d);
}

bool HasBandPages(const ArrayInput& input, const NumberArray& numbers) {
  if (numbers.rank() != 3 || input.shape.size() != 3) return false;
  const std::vector<DimensionKind> kinds = KindsOf(input);
  return IsNameOfBands(DimensionName(input, 0)) && !IsNoRowOrColumn(kinds[1]) &&
         !IsNoRowOrColumn(kinds[2]);
}

// Without a word about it, a fourth sample of colours is alpha.
Alpha AlphaOf(const ArrayInput& input) {
  const auto& attributes = input.node->attributes();
  if (model::FindAttribute(attributes, "ExtraSamples") == nullptr) return Alpha::kPlain;
  const std::vector<double> extra = model::NumbersOf(attributes, "ExtraSamples");
  if (extra.empty()) return Alpha::kNone;
  return extra.front() == 1   ? Alpha::kMultiplied
         : extra.front() == 2 ? Alpha::kPlain
                              : Alpha::kNone;
}

template <typename T>
std::vector<double> Widened(backends::ConstByteSpan bytes) {
  std::vector<double> out(bytes.size() / sizeof(T));
  for (size_t i = 0; i < out.size(); ++i) {
    T number;
    std::memcpy(&number, bytes.data() + i * sizeof number, sizeof number);
    out[i] = static_cast<double>(number);
  }
  return out;
}

std::vector<double> WidenedHalves(backends::ConstByteSpan bytes) {
  std::vector<double> out = Widened<uint16_t>(bytes);
  const model::FloatFormat& format = *model::FindFloatFormat("float16");
  for (double& number : out) number = format.Decode(static_cast<uint16_t>(number));
  return out;
}

template <typename T>
std::vector<double> Magnitudes(backends::ConstByteSpan bytes) {
  const std::vector<double> parts = Widened<T>(bytes);
  std::vector<double> out(parts.size() / 2);
  for (size_t i = 0; i < out.size(); ++i) out[i] = std::hypot(parts[2 * i], parts[2 * i + 1]);
  return out;
}

}  // namespace

uint64_t SizeOf(Number number) {
  static constexpr std::array<uint8_t, 13> kSizes = {1, 1, 2, 2, 4, 4, 8, 8, 2, 4, 8, 8, 16};
  return kSizes[static_cast<size_t>(number)];
}

bool IsUnsigned(Number number) {
  return number == Number::kUInt8 || number == Number::kUInt16 || number == Number::kUInt32 ||
         number == Number::kUInt64;
}
bool IsSigned(Number number) {
  return number == Number::kInt8 || number == Number::kInt16 || number == Number::kInt32 ||
         number == Number::kInt64;
}
bool IsFloat(Number number) {
  return number == Number::kFloat16 || number == Number::kFloat32 || number == Number::kFloat64;
}
bool IsComplex(Number number) {
  return number == Number::kComplex64 || number == Number::kComplex128;
}

std::optional<Number> NumberOfType(const model::Datatype& type) { return NumberOf(type); }

std::vector<double> AsDoubles(Number number, backends::ConstByteSpan bytes) {
  switch (number) {
    case Number::kFloat16:
      return WidenedHalves(bytes);
    case Number::kComplex64:
      return Magnitudes<float>(bytes);
    case Number::kComplex128:
      return Magnitudes<double>(bytes);
    default:
      return WithType(number, [&](auto t) { return Widened<decltype(t)>(bytes); });
  }
}

std::optional<NumberArray> AsNumbers(const ArrayInput& input) {
  if (!input.elements) return std::nullopt;
  NumberArray array;
  array.shape = input.shape;
  const Datatype read = backends::TypeAsRead(*input.node, input.dtype);
  const Datatype* type = &read;
  for (; type->kind() == Kind::kArray; type = &type->base()) {
    array.shape.insert(array.shape.end(), type->shape().begin(), type->shape().end());
  }
  const auto number = NumberOf(*type);
  if (!number) return std::nullopt;
  const auto bytes = backends::CheckedProduct(array.shape, SizeOf(*number));
  if (!bytes || *bytes == 0 || *bytes != input.elements->size()) return std::nullopt;
  array.number = *number;
  array.bytes = *bytes;
  array.elements = input.elements;
  return array;
}

std::optional<Raster> AsRaster(const ArrayInput& input, const NumberArray& numbers) {
  size_t rank = numbers.rank();
  if (rank == 0) return std::nullopt;
  Raster raster;
  raster.number = numbers.number;
  const bool has_bands = HasSamples(input, numbers);
  const bool has_bytes = HasColourBytes(input, numbers) && IsOfColours(input, numbers);
  if (has_bands || has_bytes) {
    const bool is_told = !TextOf(input.node->attributes(), "PhotometricInterpretation").empty();
    raster.sample_axis = --rank;
    raster.samples = numbers.shape[rank];
    raster.is_colour = has_bands && is_told ? AreColours(input, numbers, rank, raster.samples)
                                            : has_bytes && KeepsColours(input, rank);
  }
  raster.x_axis = --rank;
  raster.width = numbers.shape[rank];
  if (rank > 0) {
    raster.y_axis = --rank;
    raster.height = numbers.shape[rank];
  }
  // No overflow: the product of all is the size of the array.
  for (size_t d = 0; d < rank; ++d) raster.pages *= numbers.shape[d];
  raster.has_band_pages = !raster.sample_axis && HasBandPages(input, numbers);
  if (raster.has_band_pages) raster.is_colour = AreColours(input, numbers, 0, raster.pages);
  const uint64_t bands = raster.has_band_pages ? raster.pages : raster.samples;
  if (raster.is_colour && bands > 3) raster.alpha = AlphaOf(input);
  return raster;
}

}  // namespace ndlfs::fs
