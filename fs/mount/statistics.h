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

std::string StatisticsAsJson(const std::vector<Statistic>& statistics);
// The text format that Prometheus reads.
std::string StatisticsAsMetrics(const std::vector<Statistic>& statistics);

// The options of the mount, after defaults.
std::string OptionsAsYaml(const MountOptions& options);

}  // namespace ndlfs::fs
