// SPDX-License-Identifier: MIT
//
// What `ndlfs stats` shows of the numbers in .ndlfs/stats.json.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "fs/serve/request_times.h"
#include "model/error.h"

namespace ndlfs::fs {

// A mount at one moment.
struct MountStats {
  std::map<std::string, double, std::less<>> numbers;
  std::vector<std::pair<std::string, RequestTimes::Snapshot>> requests;
  struct Codec {
    double bytes = 0;  // decoded, and
    double seconds = 0;
  };
  std::map<std::string, Codec> codecs;
  struct SlowRequest {
    std::string kind;
    std::string path;
    double seconds = 0;
    double age = 0;  // seconds since the answer
  };
  std::vector<SlowRequest> slow_requests;  // the slowest first

  // 0 where the mount is of another version, and has no such number.
  double operator[](std::string_view name) const;
};
model::Result<MountStats> ParseMountStats(std::string_view json);

// What does not change.
struct MountFacts {
  std::string source;
  std::string mountpoint;
  std::string version;
};

// A screen of lines without their ends, each no wider than `width` columns: the mount now,
// and rates and times between `before` and `now`. `problem` is the latest of
// errors.log, or empty.
std::vector<std::string> StatsScreen(const MountFacts& facts, const MountStats& before,
                                     const MountStats& now, std::string_view problem,
                                     size_t width);

// The same in one line, under a header; for files and pipes.
std::string StatsHeader();
std::string StatsLine(const MountStats& before, const MountStats& now);

// The time that a part `share` of these requests did not exceed, in seconds, to the
// precision of the classes of RequestTimes; 0 where there were none.
double QuantileOf(const RequestTimes::Snapshot& times, double share);

}  // namespace ndlfs::fs
