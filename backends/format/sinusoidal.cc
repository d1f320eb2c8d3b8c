// SPDX-License-Identifier: MIT
#include "backends/format/sinusoidal.h"

#include <fmt/format.h>

#include "model/attributes.h"

namespace ndlfs::backends {

std::optional<model::Attribute> TextOfSinusoidal(const std::vector<model::Attribute>& mapping) {
  const auto number = [&](const char* name) { return model::NumberOf(mapping, name); };
  if (model::TextOf(mapping, "grid_mapping_name") != "sinusoidal") return std::nullopt;
  const auto major = number("semi_major_axis"), minor = number("semi_minor_axis");
  auto flattening = number("inverse_flattening");
  if (!major || (!minor && !flattening)) return std::nullopt;
  // A sphere has 0.
  if (!flattening) flattening = *minor == *major ? 0 : *major / (*major - *minor);
  return model::MakeTextAttribute(
      "spatial_ref",
      fmt::format("PROJCS[\"Sinusoidal\",GEOGCS[\"unknown\",DATUM[\"unknown\",SPHEROID["
                  "\"unknown\",{},{}]],"
                  "PRIMEM[\"Greenwich\",0],UNIT[\"degree\",0.0174532925199433]],"
                  "PROJECTION[\"Sinusoidal\"],PARAMETER[\"longitude_of_center\",{}],"
                  "PARAMETER[\"false_easting\",{}],PARAMETER[\"false_northing\",{}],"
                  "UNIT[\"metre\",1],AXIS[\"Easting\",EAST],AXIS[\"Northing\",NORTH]]",
                  *major, *flattening, number("longitude_of_projection_origin").value_or(0),
                  number("false_easting").value_or(0), number("false_northing").value_or(0)));
}

}  // namespace ndlfs::backends
