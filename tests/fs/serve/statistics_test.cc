// SPDX-License-Identifier: MIT
#include "fs/serve/statistics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backends/base/json.h"
#include "tests/support/python.h"

namespace ndlfs::fs {
namespace {

using ::testing::HasSubstr;

const std::vector<Statistic> kSome = {
    {"opens_total", "Files opened.", true, 12345678901.0},
    {"uptime_seconds", "Time.", false, 0.25},
};

TEST(StatisticsTest, AreJsonWithWholeNumbersAsSuch) {
  const auto json = backends::ParseJson(StatisticsAsJson(kSome));
  ASSERT_TRUE(json) << json.error().message();
  EXPECT_EQ(json->at("opens_total").dump(), "12345678901");
  EXPECT_EQ(json->at("uptime_seconds").dump(), "0.25");
}

TEST(StatisticsTest, AreMetricsWithHelpAndType) {
  EXPECT_EQ(StatisticsAsMetrics(kSome),
            "# HELP ndlfs_opens_total Files opened.\n"
            "# TYPE ndlfs_opens_total counter\n"
            "ndlfs_opens_total 12345678901\n"
            "# HELP ndlfs_uptime_seconds Time.\n"
            "# TYPE ndlfs_uptime_seconds gauge\n"
            "ndlfs_uptime_seconds 0.25\n");
}

TEST(StatisticsTest, OfTwoMountsDifferInTheirLabels) {
  MountOptions options;
  options.source = "/a \"b\"\n";
  EXPECT_EQ(WithLabels("# HELP x Y.\nx 1\ny{kind=\"read\"} 2\n", options),
            "# HELP x Y.\nx{source=\"/a \\\"b\\\"\\\\x0a\"} 1\n"
            "y{source=\"/a \\\"b\\\"\\\\x0a\",kind=\"read\"} 2\n");
  options.source = "/a";
  options.mountpoint = "/mnt";
  EXPECT_EQ(WithLabels("x 1\n", options), "x{source=\"/a\",mountpoint=\"/mnt\"} 1\n");
}

DetailedStatistics Details() {
  DetailedStatistics details;
  details.requests = {{"read", {}}};
  details.codecs["zstd"] = {2, 4096, std::chrono::milliseconds(250)};
  return details;
}

TEST(StatisticsTest, HaveCodecsAndSlowRequests) {
  using std::chrono::seconds;
  const SlowRequests::Clock::time_point now{seconds(100)};
  const SlowRequest slow = {"read", "/a\"\xff.zarr", std::chrono::milliseconds(1500),
                            now - seconds(3), nullptr};
  const auto json = backends::ParseJson(StatisticsAsJson(kSome, Details(), {slow, slow}, now));
  ASSERT_TRUE(json) << json.error().message();
  EXPECT_EQ(json->at("codecs").dump(), R"({"zstd":{"chunks":2,"bytes":4096,"seconds":0.25}})");
  ASSERT_EQ(json->at("slow_requests").size(), 2u);
  EXPECT_EQ(
      json->at("slow_requests")[0].dump(),
      "{\"kind\":\"read\",\"path\":\"/a\\\"\xef\xbf\xbd.zarr\",\"seconds\":1.5,\"age\":3.0}");
}

TEST(StatisticsTest, OfCodecsAreMetricsWithALabel) {
  const std::string text = StatisticsAsMetrics(kSome, Details());
  EXPECT_THAT(text, HasSubstr("# TYPE ndlfs_codec_seconds_total counter\n"
                              "ndlfs_codec_seconds_total{codec=\"zstd\"} 0.25\n"));
  EXPECT_THAT(text, HasSubstr("ndlfs_codec_chunks_total{codec=\"zstd\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("ndlfs_codec_bytes_total{codec=\"zstd\"} 4096\n"));
}

TEST(OptionsAsYamlTest, AreReadBackByAnotherReader) {
  MountOptions options;
  options.source = "/data/\"odd\"\n: name";
  options.mountpoint = "/mnt/caf\xc3\xa9 \xff";
  options.uid = 1000;
  options.umask = 027;
  options.revalidate_seconds = 0.5;
  const ndlfs::test::TemporaryDirectory directory;
  ndlfs::test::WriteFile(directory / "config.yaml", OptionsAsYaml(options));
  const std::string printed = ndlfs::test::RunPython(
      "import yaml\n"
      "c = yaml.safe_load(open('" +
      directory / "config.yaml" +
      "'))\n"
      "print([c[k] for k in ('source', 'cache-size', 'uid', 'gid', 'umask', 'revalidate',"
      " 'immutable', 'log-file')])\n"
      "print(ascii(c['mountpoint']))\n");
  EXPECT_EQ(printed,
            "['/data/\"odd\"\\n: name', 536870912, 1000, None, '0027', 0.5, False, '']\n"
            "'/mnt/caf\\xe9 \\ufffd'\n");
}

}  // namespace
}  // namespace ndlfs::fs
