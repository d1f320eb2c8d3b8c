// SPDX-License-Identifier: MIT
//
// Decodes fields of GRIB messages. message.h has the headers.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>

#include "backends/base/bytes.h"
#include "backends/codec/codec.h"
#include "backends/codec/grib/coordinates.h"
#include "backends/codec/grib/message.h"
#include "backends/codec/number_type.h"
#include "model/error.h"

namespace ndlfs::backends {

// In which order the values of a field come.
enum class GribOrder : uint8_t {
  // As the message has them. A field that is stored column after column has the shape (ni, nj).
  kStored,
  // Row after row, each in the direction of i: shape (nj, ni). The first row is the one that is
  // stored first. Differs from kStored only for scan modes with j_consecutive() or
  // alternates(). Reduced and unstructured grids come as stored.
  kRows,
};

struct GribFieldOptions {
  size_t field = 0;  // of the message, in its order
  GribOrder order = GribOrder::kRows;
  // With kRows: reverses the rows if they go north, so that the first is the northernmost.
  bool north_up = false;
  // With kRows: turns the rows of a grid that goes around the earth from 0 to 360 degrees, so
  // that longitudes rise from -180. Other grids stay as they are.
  bool adjust_longitude_range = false;

  // Instead of the values, where their points are, in degrees: as many as there are points; or
  // of grids with axes (HasGribAxes) with `axes`, one for each row or column.
  std::optional<GribCoordinate> coordinate = {};
  bool axes = false;
  // Numbers are converted to this type before they become elements.
  std::optional<NumberType> through = {};
};

// A codec whose encoded chunk is one whole message, and whose elements are numbers, mostly
// float32 or float64. Missing points are NaN. The number of elements must be that of the
// points; the shape may be any. Bytes behind the message are ignored.
std::shared_ptr<const ArrayToBytesCodec> MakeGribFieldCodec(const GribFieldOptions& options);

// Decodes the field into `out`, which has field.points elements, in stored order. `message` is
// the message that `field` was parsed from. Thread-safe. Fails with kCorrupt if the bytes
// contradict the headers, kUnsupported for packings that this build does not read.
model::Result<void> DecodeGribField(ConstByteSpan message, const GribMessage& headers,
                                    const GribField& field, std::span<float> out);
model::Result<void> DecodeGribField(ConstByteSpan message, const GribMessage& headers,
                                    const GribField& field, std::span<double> out);

}  // namespace ndlfs::backends
