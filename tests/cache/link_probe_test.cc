// SPDX-License-Identifier: MIT
#include "cache/link_probe.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <vector>

namespace ndlfs::cache {
namespace {

using std::chrono::milliseconds;

// A link whose fetches begin to bring bytes after a delay, in a time of its own.
class LinkProbeTest : public testing::Test {
 protected:
  static constexpr milliseconds kStep{10};
  static constexpr milliseconds kDelay{50};

  // How many fetches have begun `after` the first ones. `rate` tells how many bytes a step
  // brings from so many fetches.
  size_t FetchesAfter(milliseconds after, const std::function<double(size_t)>& rate) {
    LinkProbe::Clock::time_point now{std::chrono::hours(1)};
    const auto end = now + after;
    std::vector<LinkProbe::Clock::time_point> begun(LinkProbe::kAtFirst, now);
    double received = 1e9;  // by earlier fetches
    probe_.Begin(static_cast<uint64_t>(received), now);
    for (; now < end; now += kStep) {
      received += rate(static_cast<size_t>(std::count_if(
          begun.begin(), begun.end(), [&](auto time) { return now - time >= kDelay; })));
      begun.resize(begun.size() + probe_.More(static_cast<uint64_t>(received), now), now);
    }
    return begun.size();
  }

  LinkProbe probe_;
};

TEST_F(LinkProbeTest, FetchesThatShareNothingBecomeManySoon) {
  EXPECT_GE(FetchesAfter(milliseconds(3000), [](size_t count) { return 6000.0 * count; }), 64u);
}

// As a server sends that has a rate for each connection: all in bursts at the same time.
TEST_F(LinkProbeTest, BurstsDoNotHideThatMoreFetchesHelp) {
  int step = 0;
  EXPECT_GE(FetchesAfter(milliseconds(4000),
                         [&](size_t count) { return ++step % 5 == 0 ? 3e4 * count : 0; }),
            64u);
}

TEST_F(LinkProbeTest, FetchesThatShareALinkStayFew) {
  EXPECT_LE(FetchesAfter(milliseconds(20000), [](size_t count) { return count ? 4e4 : 0; }),
            16u);
  EXPECT_TRUE(probe_.is_done());
}

TEST_F(LinkProbeTest, ALinkThatIsFullWithSomeFetchesGetsHardlyMore) {
  const size_t fetches = FetchesAfter(milliseconds(20000), [](size_t count) {
    return 6000.0 * static_cast<double>(std::min<size_t>(count, 24));
  });
  EXPECT_GE(fetches, 24u);
  EXPECT_LE(fetches, 36u);
}

TEST_F(LinkProbeTest, WithoutBytesNothingBegins) {
  EXPECT_EQ(FetchesAfter(milliseconds(20000), [](size_t) { return 0; }), LinkProbe::kAtFirst);
  EXPECT_FALSE(probe_.is_done());
  EXPECT_EQ(FetchesAfter(milliseconds(40000), [](size_t) { return 0; }), LinkProbe::kAtFirst);
  EXPECT_TRUE(probe_.is_done()) << "nobody is asked for ever";
}

TEST_F(LinkProbeTest, ALinkThatStopsGetsNoMore) {
  int steps = 0;
  EXPECT_EQ(FetchesAfter(milliseconds(20000),
                         [&](size_t count) { return ++steps < 10 ? 6000.0 * count : 0; }),
            LinkProbe::kAtFirst);
  EXPECT_TRUE(probe_.is_done());
}

TEST_F(LinkProbeTest, AnUnluckyIntervalDoesNotEndIt) {
  int step = 0;
  const auto stumbles = [&](size_t count) {
    const bool stands_still = ++step > 40 && step < 75;
    return stands_still ? 0 : 6000.0 * static_cast<double>(count);
  };
  EXPECT_GE(FetchesAfter(milliseconds(4000), stumbles), 64u);
}

}  // namespace
}  // namespace ndlfs::cache
