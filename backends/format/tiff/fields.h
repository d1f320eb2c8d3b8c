// SPDX-License-Identifier: MIT
//
// The fields that describe a picture, as attributes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backends/format/tiff/image.h"
#include "backends/format/tiff/tiff_source.h"
#include "model/entities.h"
#include "model/error.h"

namespace ndlfs::backends::tiff {

// Texts, resolutions and colours, by the names that TIFF gives the fields.
model::Result<std::vector<model::Attribute>> AttributesOfFields(TiffReader& reader,
                                                                const Directory& directory,
                                                                const ImageForm& form);

inline constexpr std::string_view kGdalPrefix = "gdal_";

// What GDAL has written in GDAL_METADATA: scale_factor, add_offset and units if all bands share
// them, band_scale and band_offset if they do not, band_names, and the items of the file by
// their names, after kGdalPrefix if attributes of such a name say something about numbers or
// places. A text that is no such XML gives none.
std::vector<model::Attribute> AttributesOfGdal(const std::string& metadata, uint64_t bands);

// The number in GDAL_NODATA, if the type has it.
std::optional<model::Value> NoDataOf(const ImageForm& form, const model::Datatype& type);

// When the picture was taken, in seconds since 1970: the first date in the name of the file
// ("20200103", "2020-01-03T101530"), or else the field DateTime.
std::optional<double> TimeOf(std::string_view file_name, std::string_view date_time);

// What ImageJ says about a picture.
struct ImageJ {
  // The dimensions of the stack, the slowest first, without those of extent 1; empty for one
  // page.
  std::vector<PageDimension> dims;
  std::string unit;  // of the resolution of TIFF, and of the distance along z
  std::string unit_of_y, unit_of_z;
  std::optional<double> distance_of_z;
  std::optional<double> seconds;  // from frame to frame
  std::vector<std::string> notes;
};

// nullopt if the description is not ImageJ's. `pages`: that have directories; if there is one
// alone, the others follow it.
std::optional<ImageJ> ReadImageJ(const std::string& description, uint64_t pages,
                                 const ImageForm& form);

}  // namespace ndlfs::backends::tiff
