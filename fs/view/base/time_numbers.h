// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>

#include "backends/format/packing.h"
#include "fs/view/base/number_array.h"
#include "model/cf_time.h"

namespace ndlfs::fs {

// Converts numbers that count times as `scale` says to datetime64 that counts `unit`
// nanoseconds, on days of the proleptic Gregorian calendar. Before 1582-10-15 the standard
// calendar has other dates for these moments: its 1582-10-04, the day before, is 1582-10-14
// here. NaT if a number is missing, or datetime64 lacks the time. Null for numbers that have no
// type in C++.
//
// `scale` has the standard or the proleptic Gregorian calendar. `unit` is a microsecond; or a
// nanosecond, which needs integers without a packing.
std::shared_ptr<const backends::ElementConverter> MakeTimeNumbers(
    Number number, const model::TimeScale& scale, const backends::Packing& packing,
    int64_t unit);

}  // namespace ndlfs::fs
