// SPDX-License-Identifier: MIT
//
// Images of OME-Zarr (0.4 to 0.6): groups whose arrays are one image in several resolutions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "backends/base/json.h"
#include "fs/view/base/view_input.h"
#include "model/error.h"

namespace ndlfs::fs {

// A member of an object, else a null that lives as long as the process.
const backends::Json& OmeMember(const backends::Json& json, const char* key);
// The text; empty if `json` is no text.
std::string OmeText(const backends::Json& json);

// The value of `name`, which is an attribute of its own, or in `ome` since 0.5. nullopt if the
// group has none; an error if it is no JSON, or too long to be a description of an image.
std::optional<model::Result<backends::Json>> FindOmeAttribute(const backends::Node& group,
                                                              const char* name);

// The first image of `multiscales`, which is an attribute of its own, or in `ome` since 0.5. It
// has a list `datasets`. An image of 0.6 is returned in the form of 0.5: its axes are those of
// the coordinate system of the datasets. Transformations other than scales and translations
// along these axes are left out. nullopt if the group is no image.
std::optional<backends::Json> FindOmeImage(const backends::Node& group);

// The names of the axes of `image`, such as "c" and "y". Empty if there are not `rank` names.
std::vector<std::string> ReadOmeAxisNames(const backends::Json& image, size_t rank);

// The values of a channel that its picture shows as black and in full colour: finite, and
// `start` is below `end`.
struct OmeWindow {
  double start = 0;
  double end = 1;
};

// How to show a channel of an image to people.
struct OmeChannel {
  std::string label;              // UTF-8; empty if it has none
  std::optional<uint32_t> color;  // 0xRRGGBB
  std::optional<OmeWindow> window = {};
  bool is_active = true;
  bool is_inverted = false;
};

// The channels that `omero` describes, which is an attribute of its own, or in `ome` since 0.5.
// They are in the order of the dimension `c`, which has `count` elements. Empty if the group
// describes no channels, or another number of them.
std::vector<OmeChannel> ReadOmeChannels(const backends::Node& group, size_t count);

// The channels of an array, which is a level of an image, or an image of OME-TIFF; or the bands
// of a TIFF file in colour.
struct OmeChannels {
  std::optional<size_t> dimension;   // along which they are; nullopt if there is none
  std::vector<OmeChannel> channels;  // one for each element of it; may be empty
  bool is_grey = false;              // the image is to be shown without colours
  bool has_one_window = false;       // channels without a window have one together
};
OmeChannels FindOmeChannels(const ArrayInput& array);

// Whether the numbers of the arrays of this group are labels of objects, and not intensities.
bool IsOmeLabels(const backends::Node& group);

// The colours of labels that `image-label` lists. A label that it does not list has none.
struct OmeLabelColor {
  uint32_t color = 0;     // 0xRRGGBB
  bool is_clear = false;  // nothing is shown
};
std::map<double, OmeLabelColor> ReadOmeLabelColors(const backends::Node& group);

// The name of an array for people. The name of a level of an image is often a number alone. The
// name of the image or of the group then comes before it: "cells04, level 0", "profiles, 12".
std::string TellingName(const ArrayInput& array);

// One level: the array at the path of a dataset, below the group.
model::Result<ArrayInput> LoadOmeLevel(const GroupInput& group, std::string path);

}  // namespace ndlfs::fs
