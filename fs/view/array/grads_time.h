// SPDX-License-Identifier: MIT
//
// Times as GrADS counts them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ndlfs::fs {

// "06:00Z01jan2000 6hr": the first of `times` and the step between them, in minutes, hours,
// days, months or years, at most 99 of them. Times are equally many months from each other if
// they are at the same time of their months or in the middle, up to a day, or on the last days.
// `units` are those of CF: "hours since 2000-01-01"; months and years count those of the
// calendar. nullopt if GrADS cannot say it: the step differs, goes backwards or is no whole
// number of minutes; a year is not in 1 to 9999; a time of the standard calendar is before
// 1582-10-15; or days of another calendar have no such dates. See also GradsCalendarOf().
std::optional<std::string> GradsTime(const std::vector<double>& times, std::string_view units,
                                     std::string_view calendar);

// Lines that a descriptor needs in addition if times have a calendar other than Gregorian.
struct GradsCalendar {
  std::string option = {};   // for the line OPTIONS
  std::string comment = {};  // a line: GrADS has no such calendar
};
GradsCalendar GradsCalendarOf(std::string_view calendar);

}  // namespace ndlfs::fs
