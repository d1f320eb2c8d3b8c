// SPDX-License-Identifier: MIT
//
// The texts of the files in `.ndlfs/`.
#pragma once

#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "backends/codec/decode_times.h"
#include "fs/serve/mount_options.h"
#include "fs/serve/open_limits.h"
#include "fs/serve/open_source.h"
#include "fs/serve/operation_counts.h"
#include "fs/serve/request_queue.h"
#include "fs/serve/slow_requests.h"
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

// The present counts of a front end.
struct FrontEndCounts {
  const OperationCounts& operations;
  RequestQueue::Stats queue;
  OpenLimits::Stats open;
  size_t inodes = 0;
  size_t open_files = 0;
};

// All statistics with their present values.
std::vector<Statistic> CollectStatistics(const MountContext& context,
                                         const FrontEndCounts& front_end,
                                         std::chrono::steady_clock::time_point mounted);

// Appends the statistics of the block cache.
void AddBlockStatistics(const backends::BlockCache& cache, std::vector<Statistic>& statistics);

// A kind of requests, and how long the answered ones took.
struct RequestStatistic {
  const char* kind;
  RequestTimes::Snapshot times;
};
std::vector<RequestStatistic> CollectRequests(const OperationCounts& counts);

// Statistics with one entry for each kind of request, codec, server and the like.
struct DetailedStatistics {
  std::vector<RequestStatistic> requests;
  backends::DecodeTimes::Totals codecs;
  std::map<std::string, EndpointStatistics> servers;  // empty if the source is local
};

// An object with a number for each statistic, and these objects:
//
// "requests"  for each kind "count", "seconds", and "classes", the number of requests in each
//             class of RequestTimes
// "codecs"    for each codec "chunks", "bytes" (decoded) and "seconds"
// "servers"   if the source is behind servers
// "slow_requests"  a list of the slowest recent requests, the slowest first, each with "kind",
//             "path", "seconds", and "age", the seconds since the answer
std::string StatisticsAsJson(const std::vector<Statistic>& statistics,
                             const DetailedStatistics& details = {},
                             const std::vector<SlowRequest>& slow_requests = {},
                             SlowRequests::Clock::time_point now = {});
// The text format that Prometheus reads; the times of requests are a histogram. Slow requests
// are left out: each path would be a time series of its own.
std::string StatisticsAsMetrics(const std::vector<Statistic>& statistics,
                                const DetailedStatistics& details = {});
// `metrics` with the labels "source" and, for a mount, "mountpoint", which tell the programs of
// one machine apart.
std::string WithLabels(std::string_view metrics, const MountOptions& options);

// The options of the mount, with the defaults filled in.
std::string OptionsAsYaml(const MountOptions& options);

}  // namespace ndlfs::fs
