// SPDX-License-Identifier: MIT
#include "fs/view/elements/element_window.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "tests/support/result.h"

namespace ndlfs::fs {
namespace {

using backends::ByteSpan;
using model::Result;
using test::IsError;
using test::IsOk;
using ::testing::_;

// Byte i of the stream is i, and each making is counted.
struct Counting {
  ElementWindow::Make make = [this](uint64_t begin, ByteSpan out) -> Result<void> {
    ++made;
    for (size_t i = 0; i < out.size(); ++i) out[i] = static_cast<std::byte>(begin + i);
    return {};
  };
  std::atomic<int> made = 0;
};

void ExpectPart(ElementWindow& window, Counting& counting, uint64_t offset, size_t size) {
  std::vector<std::byte> out(size);
  ASSERT_THAT(window.Read(offset, out, counting.make), IsOk());
  for (size_t i = 0; i < size; ++i) {
    ASSERT_EQ(out[i], static_cast<std::byte>(offset + i)) << offset << '+' << i;
  }
}

TEST(ElementWindowTest, ReadsOfOneWindowMakeItOnce) {
  ElementWindow window(250, 100);
  Counting counting;
  for (uint64_t at = 0; at < 100; at += 10) ExpectPart(window, counting, at, 10);
  EXPECT_EQ(counting.made, 1);
  ExpectPart(window, counting, 95, 10);
  EXPECT_EQ(counting.made, 2);
  // Both are kept.
  ExpectPart(window, counting, 0, 200);
  EXPECT_EQ(counting.made, 2);
  EXPECT_EQ(window.held_bytes(), 200);
  // The last one is shorter, and takes the place of the first.
  ExpectPart(window, counting, 200, 50);
  EXPECT_EQ(window.held_bytes(), 150);
  ExpectPart(window, counting, 0, 250);
  EXPECT_GT(counting.made, 3);
}

TEST(ElementWindowTest, WindowsOfOthersLeaveRoomForOne) {
  constexpr uint64_t kWindow = uint64_t{16} << 20;  // three of them are all
  Counting counting;
  ElementWindow first(4 * kWindow, kWindow);
  ElementWindow second(4 * kWindow, kWindow);
  ExpectPart(first, counting, kWindow - 1, 2);
  EXPECT_EQ(first.held_bytes(), 2 * kWindow);
  ExpectPart(second, counting, kWindow - 1, 2);
  EXPECT_EQ(second.held_bytes(), 2 * kWindow);
  EXPECT_EQ(first.held_bytes(), kWindow) << "the one that was used last";
}

TEST(ElementWindowTest, FailuresAreNotKept) {
  ElementWindow window(100, 100);
  Counting counting;
  std::vector<std::byte> out(10);
  const auto fail = [](uint64_t, ByteSpan) -> Result<void> { return model::Corrupt("x"); };
  EXPECT_THAT(window.Read(0, out, fail), IsError(model::ErrorCode::kCorrupt, _));
  ExpectPart(window, counting, 0, 100);
  EXPECT_EQ(counting.made, 1);
}

TEST(ElementWindowTest, ThreadsShareTheWork) {
  ElementWindow window(100, 100);
  Counting counting;
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&, i] { ExpectPart(window, counting, 10 * i, 10); });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(counting.made, 1);
}

}  // namespace
}  // namespace ndlfs::fs
