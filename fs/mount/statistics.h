// SPDX-License-Identifier: MIT
//
// The texts of `.ndlfs/`.
#pragma once

#include <chrono>
#include <string>

#include "fs/mount/mount.h"
#include "fs/mount/operations.h"
#include "fs/tree/mount_context.h"

namespace ndlfs::fs {

// A name, what it counts, and the number: one line of stats.json, three of
// `metrics`.
struct Statistic {
  const char* name;
  const char* help;
  bool is_counter;  // only grows, until the next mount
  double value;
};

// What there is to tell at this moment.
std::vector<Statistic> CollectStatistics(const MountContext& context,
                                         const Filesystem& filesystem,
                                         std::chrono::steady_clock::time_point mounted);

// A kind of requests, and how long those that were answered took.
struct RequestStatistic {
  const char* kind;
  RequestTimes::Snapshot times;
};
std::vector<RequestStatistic> CollectRequests(const Filesystem& filesystem);

// An object with a number for each statistic, and in "requests" an object for each kind:
// "count", "seconds", and "classes", the number of requests in each class of
// RequestTimes.
std::string StatisticsAsJson(const std::vector<Statistic>& statistics,
                             const std::vector<RequestStatistic>& requests = {});
// The text format that Prometheus reads; the times are a histogram.
std::string StatisticsAsMetrics(const std::vector<Statistic>& statistics,
                                const std::vector<RequestStatistic>& requests = {});

// The options of the mount, after defaults.
std::string OptionsAsYaml(const MountOptions& options);

}  // namespace ndlfs::fs
