// SPDX-License-Identifier: MIT
//
// The axes of a picture: the places of samples along them, and the labels.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "fs/view/picture/drawing/figure.h"
#include "fs/view/picture/preview_samples.h"
#include "fs/view/place/geometry.h"
#include "model/cf_time.h"
#include "model/error.h"

namespace ndlfs::fs {

// Round times from `low` to `high`, which are `scale`'s numbers: years, months, days, or times
// of a day. If all are of one day, `factor` of the result is the date.
picture::Ticks TimeTicks(const model::TimeScale& scale, double low, double high, int most);

// A moment, without the parts at its end that are zero: "2000-01-01", "2000-01-01 06:00".
std::string TimeLabel(const model::TimeScale& scale, double number);

// A dimension of an array, as far as metadata describe it.
struct PreviewDimension {
  Axis axis;            // for the samples
  IndexRange indices;   // indices of the samples
  uint64_t extent = 0;  // of the whole dimension
  // How many elements of the array each shown element stands for: more than 1 for a smaller
  // level of an image.
  double index_scale = 1;
  std::string long_name;
  std::string element;     // the name of the one element that is shown; may be empty
  bool goes_down = false;  // larger coordinates are farther down
  bool goes_up = false;    // the first element is at the bottom where no coordinate says it
  bool is_rows = false;    // the first element is at the top, whatever its coordinate is
  std::optional<model::TimeScale> time;
};

// The dimensions of `plan.whole`. Loads coordinates, but reads no chunk; see
// DescribeGeometry().
model::Result<std::vector<PreviewDimension>> DescribeDimensions(const SamplePlan& plan);

// Whether the last row is farther north than the first, by latitudes of two dimensions that an
// attribute of the array names. Reads two of them.
model::Result<bool> GoesNorth(const SamplePlan& plan);

// "time = 2000-01-01", "c = DAPI", or "time = #17" and "dimension 0 = #17" without coordinates
// or a name. `d` is the number of the dimension. Decodes a coordinate.
model::Result<std::string> DescribeIndex(const PreviewDimension& dimension, size_t d);

// The places of samples along an axis, from 0 to 1.
struct Placed {
  picture::FigureAxis axis;
  std::vector<double> centres;  // of the samples in their order
  std::vector<float> edges;     // of the cells, ascending; one more than samples
  bool is_reversed = false;     // the first cell is that of the last sample
  double span = 0;              // of the coordinates
  // From one end to the other in metres: of images, whose metadata tell the size of a pixel,
  // and of coordinates in a unit below a metre.
  std::optional<double> length = {};
  bool has_coordinates = false;
  AxisRole role = AxisRole::kOther;
};

enum class PlaceOn : uint8_t {
  kXOfLine,  // the first and the last sample are near the ends
  kXOfMap,   // the first and the last cell reach to the ends
  kYOfMap,
};

// Places samples by their coordinates or, if these are missing, cannot be decoded, or neither
// ascend nor descend, by their indices. Every error is transient.
model::Result<Placed> PlaceSamples(const PreviewDimension& dimension, PlaceOn place);

}  // namespace ndlfs::fs
