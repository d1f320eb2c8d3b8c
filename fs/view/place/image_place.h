// SPDX-License-Identifier: MIT
//
// The place of an image in a space of three axes, and the size of its pixels. They come from
// the headers and metadata of NIfTI, NIfTI-Zarr, OME-Zarr, NRRD and MetaImage. All files with a
// place ask here.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backends/base/json.h"
#include "backends/format/foreign/nifti_place.h"
#include "fs/view/base/view_input.h"
#include "fs/view/elements/element_source.h"
#include "model/error.h"

namespace ndlfs::fs {

using backends::foreign::NiftiPlace;
using backends::foreign::Placement;

// One axis of an image of OME-Zarr: the coordinate of index i is offset + i * scale.
struct OmeAxis {
  std::string name;  // empty if the image has no name for it
  std::string type;  // "space", "time", "channel"; may be empty
  std::string unit;
  double scale = 1;
  double offset = 0;
  bool is_known = false;  // the image has a scale, and the axis is of space or time
};

// The axes of a dataset of an image (FindOmeImage()), which has `rank` dimensions.
std::vector<OmeAxis> OmeAxesOf(const backends::Json& image, const backends::Json& dataset,
                               size_t rank);

// The axes of `array`, which is whole and a level of an image: one for each of its dimensions.
// Empty if it is no level. Reads nothing but attributes of groups.
std::vector<OmeAxis> FindOmeAxes(const ArrayInput& array);

// An axis of the image in a header, or of a whole array, in terms of the shown elements.
struct ImageAxis {
  // The dimension of the shown elements; nullopt if they have only one index of the axis.
  std::optional<size_t> dimension;
  // The index along it, that of the middle of a block, is first + step * index.
  double first = 0;
  double step = 1;
};

// How a dimension of the whole array lies in `array`, which may be a part of it. Every file
// whose words say where elements lie asks here.
ImageAxis AxisInPart(const ArrayInput& array, size_t dimension);

// A header that places an image.
struct ImageSpace {
  // The header; or its bytes, as elements of an array or as an attribute.
  std::optional<NiftiPlace> header;
  std::shared_ptr<const ElementSource> stored;
  std::string kept;
  std::array<ImageAxis, 3> axes;  // axes of the header's image, the fastest first
  bool is_whole = false;          // the shown elements are the whole image of the header

  // nullopt if the bytes are no header.
  model::Result<std::optional<NiftiPlace>> Read() const;
  // The bytes of the header and of what follows it: at most kMostBytes, or none.
  static constexpr uint64_t kMostBytes = uint64_t{16} << 20;  // there may be extensions
  uint64_t size() const { return stored ? stored->size() : kept.size(); }
  model::Result<std::string> ReadBytes(uint64_t most = kMostBytes) const;
};

// Maps indexes of the shown elements to a place. Columns belong to ImageSpace::axes.
Placement PlacementIn(const ImageSpace& space, const NiftiPlace& header);

// Leaves out of the attributes of a group what they say about the place of images of which
// parts are shown: multiscales, and, unless the parts have all of space, headers of other
// formats.
void DropImagePlace(bool has_all_space, std::vector<model::Attribute>& attributes);

// nullopt if no header places `array`, or the whole of a part. `colours` is 1 if its last
// dimension are the parts of a pixel. Loads metadata, but reads no chunk. Every error is
// transient.
model::Result<std::optional<ImageSpace>> FindImageSpace(const ArrayInput& array,
                                                        size_t colours);

}  // namespace ndlfs::fs
