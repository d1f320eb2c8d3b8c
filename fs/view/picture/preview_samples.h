// SPDX-License-Identifier: MIT
//
// Chooses the elements that a picture of an array shows: all of a small array, and so few of a
// large one that only some hundred chunks are decoded.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cache/prefetcher.h"
#include "fs/view/base/number_array.h"
#include "fs/view/base/view_input.h"
#include "fs/view/elements/selection.h"
#include "fs/view/picture/preview_mix.h"
#include "model/error.h"

namespace ndlfs::fs {

// The most elements along an axis, the most chunks, and the most bytes that these decode to,
// unless one chunk alone has more. The limit of bytes depends on the kind of codec: decoding so
// many takes about a second at most.
struct SampleLimits {
  uint64_t columns = 1200;
  uint64_t rows = 800;
  uint64_t points = 65'536;  // of a line
  uint64_t chunks = 600;
  uint64_t bytes = uint64_t{640} << 20;
  uint64_t deflated_bytes = uint64_t{256} << 20;  // of gzip and zlib
  uint64_t slowest_bytes = uint64_t{32} << 20;    // of bz2 and lzma
};

struct SamplePlan {
  ArrayInput whole;     // has a reader
  Selection selection;  // the shown elements of `whole`. No dimension is dropped.
  // The dimensions that are shown: none for one element, `x` alone for a line.
  std::optional<size_t> x;
  std::optional<size_t> y;
  // The extents and dimensions of the array that the picture shows, if `whole` is a smaller
  // version of it; else those of `whole`.
  std::vector<uint64_t> full_shape;
  std::vector<std::string> full_names = {};
  uint64_t channels = 1;       // 3 or 4, the last dimension, if elements are pixels in colour
  Alpha alpha = Alpha::kNone;  // what the fourth of them is
  // Elements are left out along an axis, not because the picture has no room for them, but
  // because there are too many chunks.
  bool is_coarse = false;
  bool is_window = false;  // elements at the ends of an axis are left out
  // The channels of an image that are shown, each as `selection` with another index of
  // mix.dimension, which is neither `x` nor `y`.
  ChannelMix mix = {};

  uint64_t columns() const { return x ? selection[*x].count : 1; }
  uint64_t rows() const { return y ? selection[*y].count : 1; }
};

// Chooses the elements to show. Takes the middle of dimensions that are not shown; dimensions
// of one element are never shown. Reads nothing. `whole` has numbers, and at least one.
SamplePlan PlanSamples(const ArrayInput& whole, const SampleLimits& limits = {});

// The values of a part of an array by the conventions of CF, and floats of any size as numbers.
ArrayInput AsValues(ArrayInput input);

// Row after row, as many in each as the plan has columns times channels.
struct Samples {
  std::vector<double> numbers;  // NaN is missing
  // Labels that no double is have another number of the same colour: some of them.
  std::map<double, std::string> large_labels = {};
  // If the plan mixes channels: the numbers of each of them. Then `numbers` is empty.
  std::vector<std::vector<double>> layers = {};
  std::vector<bool> is_broken;  // for each pixel: it could not be read. Empty if all could.
  uint64_t broken_chunks = 0;
  uint64_t chunks = 0;
  std::string first_problem;  // error of the first chunk that could not be read
};

enum class PictureEffort : uint8_t {
  kPreview,
  kThumbnail,  // a quarter of the elements along an axis, and fewer chunks
  kField,      // the same with much fewer: one of many in a plate
};

// The same for an array that has smaller versions: shows the smallest one that a picture needs.
// Loads metadata of levels; see FindSmallerLevel().
model::Result<SamplePlan> PlanPicture(const ArrayInput& input,
                                      PictureEffort effort = PictureEffort::kPreview);

// Reads the elements of `plan`, each chunk once, and decodes ahead with `prefetcher`, if there
// is one. Notes corrupt chunks. Fails with a transient error, and if no chunk can be read.
model::Result<Samples> ReadSamples(const SamplePlan& plan, cache::Prefetcher* prefetcher);

}  // namespace ndlfs::fs
