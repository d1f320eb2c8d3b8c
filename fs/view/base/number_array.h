// SPDX-License-Identifier: MIT
//
// Arrays in the form that formats for numbers and pictures need: elements of one of a few
// types, and extents.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <type_traits>
#include <vector>

#include "backends/base/bytes.h"
#include "fs/view/base/view_input.h"

namespace ndlfs::fs {

enum class Number : uint8_t {
  kInt8,
  kUInt8,
  kInt16,
  kUInt16,
  kInt32,
  kUInt32,
  kInt64,
  kUInt64,
  kFloat16,
  kFloat32,
  kFloat64,
  kComplex64,   // two float32
  kComplex128,  // two float64
};

// The bytes of one number.
uint64_t SizeOf(Number number);
bool IsUnsigned(Number number);
bool IsSigned(Number number);  // integers
bool IsFloat(Number number);   // real ones
bool IsComplex(Number number);

// Calls `visit` with a number of the type in C++. Float16 and complex numbers have no type in
// C++: then the result is T().
template <typename Visit, typename T = std::invoke_result_t<Visit, int8_t>>
T WithType(Number number, const Visit& visit) {
  switch (number) {
    case Number::kInt8:
      return visit(int8_t{});
    case Number::kUInt8:
      return visit(uint8_t{});
    case Number::kInt16:
      return visit(int16_t{});
    case Number::kUInt16:
      return visit(uint16_t{});
    case Number::kInt32:
      return visit(int32_t{});
    case Number::kUInt32:
      return visit(uint32_t{});
    case Number::kInt64:
      return visit(int64_t{});
    case Number::kUInt64:
      return visit(uint64_t{});
    case Number::kFloat32:
      return visit(float{});
    case Number::kFloat64:
      return visit(double{});
    default:
      return T();
  }
}

// Converts numbers in little-endian bytes, including float16; complex ones to their magnitudes.
std::vector<double> AsDoubles(Number number, backends::ConstByteSpan bytes);

struct NumberArray {
  Number number = Number::kUInt8;
  // In C order: the last changes fastest. An element that is an array adds its extents.
  std::vector<uint64_t> shape;
  uint64_t bytes = 0;
  std::shared_ptr<const ElementSource> elements;  // not null

  size_t rank() const { return shape.size(); }
};

// The number that elements of a type are; nullopt if they are no numbers or arrays of numbers.
std::optional<Number> NumberOfType(const model::Datatype& type);

// nullopt if the elements are not numbers, if there are none, or if they are more bytes than a
// file can have. A bool is the number 0 or 1, an enum its number, a time its count of units.
std::optional<NumberArray> AsNumbers(const ArrayInput& input);

// What the fourth number of a pixel in colour is, by TIFF's ExtraSamples.
enum class Alpha : uint8_t {
  kNone = 0,        // none, or something else
  kMultiplied = 1,  // the colours are multiplied by it
  kPlain = 2,
};

// An array as pictures: the last two dimensions are rows of pixels, all others count pages. If
// a pixel has several numbers, they are the last dimension, and rows the two before it.
struct Raster {
  Number number = Number::kUInt8;
  uint64_t width = 0;
  uint64_t height = 1;
  uint64_t pages = 1;
  uint64_t samples = 1;  // numbers in a pixel, at most kMostSamples
  // Pages are bands of one picture; then a pixel has one number.
  bool has_band_pages = false;
  // The first three samples, or bands, are red, green and blue. Others may mean anything.
  bool is_colour = false;
  Alpha alpha = Alpha::kNone;
  // The dimensions of the array that these are.
  size_t x_axis = 0;
  std::optional<size_t> y_axis;
  std::optional<size_t> sample_axis;

  // Bytes from 0 to 255 that are RGB or RGBA and nothing else.
  bool has_colour_bytes() const {
    const bool is_rgb = samples == 3 || (samples == 4 && alpha != Alpha::kNone);
    return is_colour && number == Number::kUInt8 && is_rgb;
  }

  uint64_t pixel_bytes() const { return samples * SizeOf(number); }
  uint64_t row_bytes() const { return width * pixel_bytes(); }
  uint64_t page_bytes() const { return height * row_bytes(); }
};

// SamplesPerPixel of TIFF has 16 bits.
inline constexpr uint64_t kMostSamples = 65'535;

// nullopt for arrays without dimensions. This is the one rule for all views:
// - A last dimension is the samples of a pixel if its name is that of bands, unless one before
//   it is known to be none of a picture (time, level); or a name that channels and other things
//   have ("channel", "c", "wavelength"), and the two before it are named as rows and columns
//   ("y" and "x", "lat" and "lon", "line" and "sample"); or if INTERLACE_MODE of an HDF5 image
//   is INTERLACE_PIXEL.
// - Pages are bands if the first of three dimensions has the name of bands.
// - Where PhotometricInterpretation of a TIFF file tells what samples or bands are, it is
//   believed. Else bytes without a sign whose last dimension is 3 or 4 long are in colour,
//   unless that dimension has the name of a place. A part of an array has colours only if it
//   has all its samples or bands, or the first three, in their order.
std::optional<Raster> AsRaster(const ArrayInput& input, const NumberArray& numbers);

}  // namespace ndlfs::fs
