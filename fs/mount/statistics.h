// SPDX-License-Identifier: MIT
//
// The texts of the files in `.ndlfs/`.
#pragma once

#include <chrono>
#include <map>
#include <string>

#include "fs/mount/mount.h"
#include "fs/mount/open_source.h"
#include "fs/mount/operations.h"
#include "fs/tree/mount_context.h"

namespace ndlfs::fs {

// One statistic, with its name, its description and its value: one line of
// stats.json, three lines of `metrics`.
struct Statistic {
  const char* name;
  const char* help;
  bool is_counter;  // only grows, until the next mount
  double value;
};

// All statistics with their present values.
std::vector<Statistic> CollectStatistics(const MountContext& context,
                                         const Filesystem& filesystem,
                                         std::chrono::steady_clock::time_point mounted);

// Appends those of the block cache.
void AddBlockStatistics(const backends::BlockCache& cache, std::vector<Statistic>& statistics);

// A kind of requests, and how long those that were answered took.
struct RequestStatistic {
  const char* kind;
  RequestTimes::Snapshot times;
};
std::vector<RequestStatistic> CollectRequests(const Filesystem& filesystem);

// An object with a number for each statistic, and in "requests" an object for each kind:
// "count", "seconds", and "classes", the number of requests in each class of
// RequestTimes. If the source is behind servers, "servers" has an object for each of them.
std::string StatisticsAsJson(const std::vector<Statistic>& statistics,
                             const std::vector<RequestStatistic>& requests = {},
                             const std::map<std::string, EndpointStatistics>& servers = {});
// The text format that Prometheus reads; the times are a histogram.
std::string StatisticsAsMetrics(const std::vector<Statistic>& statistics,
                                const std::vector<RequestStatistic>& requests = {},
                                const std::map<std::string, EndpointStatistics>& servers = {});

// The options of the mount, with the defaults filled in.
std::string OptionsAsYaml(const MountOptions& options);

}  // namespace ndlfs::fs
