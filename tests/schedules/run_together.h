// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <thread>
#include <utility>
#include <vector>

namespace ndlfs::test {

// Runs each of `steps` on a thread of its own, and waits for their end.
inline void RunTogether(std::vector<std::function<void()>> steps) {
  std::vector<std::thread> threads;
  for (auto& step : steps) threads.emplace_back(std::move(step));
  for (std::thread& thread : threads) thread.join();
}

}  // namespace ndlfs::test
