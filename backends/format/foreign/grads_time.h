// SPDX-License-Identifier: MIT
//
// Times as descriptors of GrADS express them, and the names of files that depend on times.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/error.h"

namespace ndlfs::backends::foreign {

struct GradsDate {
  int64_t year = 1;
  int64_t month = 1;  // 1 to 12
  int64_t day = 1;
  int64_t minute = 0;  // of the day
};

// TDEF n LINEAR start increment.
class GradsTimes {
 public:
  // `has_leap_years` is false with the option 365_day_calendar.
  static model::Result<GradsTimes> Parse(std::string_view start, std::string_view increment,
                                         uint64_t count, bool has_leap_years);

  uint64_t count() const { return count_; }
  GradsDate DateAt(uint64_t index) const;

  // CF's words for the coordinates: "hours since 2000-01-01 00:00:00", and the calendar.
  std::string units() const;
  std::string calendar() const;
  // The step, if the coordinates are equally far from each other. Months and years are not.
  std::optional<double> step() const;
  double CoordinateAt(uint64_t index) const;

  // `name` with its substitutions, which begin with %, replaced by the date and the number of
  // the time at `index`. kUnsupported for an unknown substitution.
  model::Result<std::string> FillIn(std::string_view name, uint64_t index) const;

 private:
  enum class Unit : uint8_t { kMinute, kHour, kDay, kMonth, kYear };

  int64_t DaysOf(const GradsDate& date) const;
  GradsDate DateOfMinutes(int64_t minutes) const;
  std::optional<std::string> Replacement(std::string_view code, uint64_t index) const;

  GradsDate start_;
  Unit unit_ = Unit::kDay;
  int64_t amount_ = 1;
  uint64_t count_ = 1;
  bool has_leap_years_ = true;
};

}  // namespace ndlfs::backends::foreign
