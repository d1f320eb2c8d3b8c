// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "fs/view/picture/drawing/figure.h"
#include "fs/view/picture/preview_axis.h"
#include "fs/view/picture/preview_samples.h"
#include "model/error.h"

namespace ndlfs::fs {

// The range of values that the colours cover.
struct ColourRange {
  double low = 0;
  double high = 1;
  bool is_logarithmic = false;
  bool goes_below = false;  // there are values below `low`
  bool goes_above = false;
  picture::ColourMap colours = picture::ColourMap::kSequential;
};

// The range of all values that are finite, or of the middle 96 % if the others would leave few
// colours for these. Logarithmic if positive values go over more than four powers of ten,
// diverging if they are about as far below zero as above. An empty range at 0 if none is
// finite.
ColourRange ChooseRange(const std::vector<double>& values);

// The figure of an array: a line for one dimension, a map for more. Decodes coordinates.
model::Result<picture::Figure> MakeFigure(const SamplePlan& plan,
                                          const std::vector<PreviewDimension>& dimensions,
                                          const Samples& samples);

}  // namespace ndlfs::fs
