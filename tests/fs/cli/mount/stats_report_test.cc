// SPDX-License-Identifier: MIT
#include "fs/cli/mount/stats_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "fs/fuse/operations.h"
#include "tests/support/result.h"

namespace ndlfs::fs {
namespace {

using ::testing::Contains;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

MountStats Parse(const std::string& json) {
  auto stats = ParseMountStats(json);
  EXPECT_TRUE(stats) << stats.error().message();
  return stats.value_or(MountStats());
}

TEST(MountStatsTest, AreReadFromJson) {
  const MountStats stats = Parse(
      R"({"reads_total": 7, "requests": {"read": {"count": 3, "seconds": 0.5, "classes": [1, 2]}}})");
  EXPECT_EQ(stats["reads_total"], 7);
  EXPECT_EQ(stats["of_another_version"], 0);
  ASSERT_THAT(stats.requests, SizeIs(1));
  EXPECT_EQ(stats.requests[0].first, "read");
  EXPECT_EQ(stats.requests[0].second.total(), 3u);
}

TEST(MountStatsTest, OddNumbersAreLeftOut) {
  const MountStats stats = Parse(
      R"({"a": "x", "requests": {"read": 1, "open": {"seconds": "x", "classes": []},
          "lookup": {"seconds": 1, "classes": [-1, "x", 2, 0,0,0,0,0,0,0,0,0,0,0,0,0,0,0]}}})");
  ASSERT_THAT(stats.requests, SizeIs(1));
  EXPECT_EQ(stats.requests[0].second.total(), 2u);
  EXPECT_FALSE(ParseMountStats("[]"));
  EXPECT_FALSE(ParseMountStats("{"));
}

TEST(QuantileTest, IsTheLimitOfTheClass) {
  RequestTimes::Snapshot times;
  EXPECT_EQ(QuantileOf(times, 0.5), 0);
  times.counts[0] = 98;  // up to 10 us
  times.counts[1] = 1;   // up to 40 us
  times.counts[2] = 1;   // up to 160 us
  EXPECT_DOUBLE_EQ(QuantileOf(times, 0.5), 10e-6);
  EXPECT_DOUBLE_EQ(QuantileOf(times, 0.99), 40e-6);
  EXPECT_DOUBLE_EQ(QuantileOf(times, 1), 160e-6);
}

TEST(StatsScreenTest, ShowsRatesBetweenTwoMoments) {
  const MountStats before =
      Parse(R"({"uptime_seconds": 10, "read_bytes_total": 0, "cpu_seconds_total": 1})");
  const MountStats now = Parse(
      R"({"uptime_seconds": 12, "read_bytes_total": 4194304, "cpu_seconds_total": 2,
          "cache_hits_total": 3, "cache_misses_total": 1})");
  const auto lines =
      StatsScreen({"/data", "/mnt", "1.2.3"}, before, now, "a.zarr: corrupt", 100);
  EXPECT_THAT(lines, Contains(HasSubstr("/data on /mnt")));
  EXPECT_THAT(lines, Contains(HasSubstr("2.0 MiB/s")));
  EXPECT_THAT(lines, Contains(HasSubstr("50 %")));
  EXPECT_THAT(lines, Contains(HasSubstr("75 % found in the cache")));
  EXPECT_THAT(lines, Contains(HasSubstr("latest: a.zarr: corrupt")));
}

TEST(StatsScreenTest, ShowsCodecsAndTheSlowestRequests) {
  const MountStats before = Parse(R"({"codecs": {"zstd": {"bytes": 1048576, "seconds": 1},
                                                 "lz4": {"bytes": 1024, "seconds": 1}}})");
  const MountStats now = Parse(R"({"codecs": {"zstd": {"bytes": 9437184, "seconds": 3},
                           "lz4": {"bytes": 1024, "seconds": 1}, "odd": 1, "none": {}},
                "slow_requests": [1, {"kind": "read", "path": "/a\nb", "seconds": 2.5, "age": 65},
                                  {"kind": "open", "seconds": "x"}]})");
  const auto lines = StatsScreen({"", "", ""}, before, now, "", 100);
  EXPECT_THAT(lines, Contains(HasSubstr("lz4 1.0 KiB/s, zstd 4.0 MiB/s  (on one core)")));
  EXPECT_THAT(lines, Contains("  read         2.5 s        1 min   /a\\x0ab"));
  EXPECT_THAT(lines, Contains("  open             -          0 s   "));
  EXPECT_THAT(StatsScreen({"", "", ""}, now, before, "", 100),
              Not(Contains(HasSubstr("slow"))));
}

TEST(StatsScreenTest, TellsAllButSlowRequestsIn80ColumnsAnd24Lines) {
  std::string numbers = R"({"requests": {)";
  for (const auto& [kind, times] : OperationCounts::kKinds) {
    numbers += fmt::format("{}\"{}\": {{\"seconds\": 9, \"classes\": [123456789]}}",
                           numbers.ends_with('{') ? "" : ", ", kind);
  }
  numbers += R"(}, "slow_requests": [{"kind": "read", "path": "/a", "seconds": 2, "age": 6}])";
  for (const char* name :
       {"resident_bytes", "cache_used_bytes", "cache_budget_bytes", "document_bytes",
        "spill_used_bytes", "read_bytes_total", "cache_loaded_bytes_total"}) {
    numbers += fmt::format(", \"{}\": 1072693248", name);  // 1023 MiB
  }
  for (const char* name : {"cache_blocks", "open_files", "open_stores", "stores", "entities",
                           "inodes", "cache_hits_total", "prefetched_chunks_total"}) {
    numbers += fmt::format(", \"{}\": 12345", name);
  }
  const MountStats now = Parse(numbers + R"(, "uptime_seconds": 1})");
  const auto lines = StatsScreen({"/data", "/mnt", "1.2.3"}, MountStats(), now, "x", 1000);
  EXPECT_THAT(lines, Each(SizeIs(::testing::Le(80u))));
  const auto latest = std::find(lines.begin(), lines.end(), "  latest: x");
  EXPECT_LT(latest - lines.begin(), 23);
}

TEST(StatsScreenTest, FitsTheTerminal) {
  const MountStats none;
  const std::string name(300, 'x');
  EXPECT_THAT(StatsScreen({name, name, "1"}, none, none, name, 40),
              Each(SizeIs(::testing::Le(40u))));
  // No part of a character is left at the end.
  const auto lines = StatsScreen({"", "", ""}, none, none, "\xc3\xa4\xc3\xa4\xc3\xa4", 13);
  EXPECT_EQ(lines.back(), "  latest: \xc3\xa4");
}

}  // namespace
}  // namespace ndlfs::fs
