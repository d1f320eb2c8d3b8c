// SPDX-License-Identifier: MIT
//
// What a field of a GRIB message is about: section 4 of edition 2 (product definition), and
// section 1 of edition 1.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "backends/codec/grib/message.h"
#include "backends/format/grib/parameters.h"

namespace ndlfs::backends::grib {

struct Product {
  ParameterKey parameter;

  std::string_view level_type;  // see NameLevel(); the text stays
  // The level of the first surface, and of the second if there is one. 0 if the message gives
  // none. LevelAttributes() tells the units.
  double level = 0;
  std::optional<double> second_level;

  int64_t reference = 0;  // seconds since 1970
  // Seconds from the reference time to the valid time, or to the end of the interval.
  int64_t step = 0;
  // Length of the interval in seconds; 0 if there is none.
  int64_t interval = 0;
  std::string_view step_type = "instant";  // "accum", "avg", "max" ...; the text stays

  std::optional<int32_t> member;  // of an ensemble

  // What else tells the field from others of the parameter, as a part of a name: "p90",
  // "stddev"; empty for most.
  std::string variant;
  // The same as numbers, with the names of ecCodes' keys.
  std::vector<std::pair<std::string_view, double>> details;

  // A hash of all other octets: processes, kinds of forecasts, local sections.
  uint64_t rest_hash = 0;
  bool operator==(const Product&) const = default;
};

// The octets in section 4 of edition 2 that tell the time and the member of a field. Each comes
// as the number of the first octet (from 1), with octets that stand for a time without a
// member.
std::vector<std::pair<size_t, std::string_view>> OctetsOfTimes(uint16_t product_template);

// Never fails: templates that are not known have the parameter, and all else in `rest_hash`.
Product DescribeProduct(const GribMessage& message, const GribField& field);

}  // namespace ndlfs::backends::grib
