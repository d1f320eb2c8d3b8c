// SPDX-License-Identifier: MIT
#include "fs/fuse/passthrough.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <utility>

#include "backends/base/unique_fd.h"

namespace ndlfs::fs {
namespace {

TEST(PassthroughTest, AllGoesTheOrdinaryWayWithoutADevice) {
  Passthrough passthrough;
  const backends::UniqueFd file(::open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
  EXPECT_EQ(passthrough.Enter(2, file.get()).backing_id(), 0);
}

TEST(PassthroughTest, AKernelThatRefusesIsNoError) {
  Passthrough passthrough;
  const backends::UniqueFd device(::open("/dev/null", O_RDWR | O_CLOEXEC));
  const backends::UniqueFd file(::open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
  passthrough.Begin(device.get());
  const auto first = passthrough.Enter(2, file.get());
  EXPECT_EQ(first.backing_id(), 0);
  auto second = passthrough.Enter(2, -1);
  const auto moved = std::move(second);
  EXPECT_EQ(moved.backing_id(), 0);
}

}  // namespace
}  // namespace ndlfs::fs
