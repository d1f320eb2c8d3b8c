// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "fs/serve/request_times.h"

namespace ndlfs::fs {

// The counters that `.ndlfs` shows. Times are from the arrival of a request to its answer.
struct OperationCounts {
  RequestTimes lookup;
  RequestTimes getattr;
  RequestTimes open;
  RequestTimes read;
  RequestTimes readdir;
  RequestTimes other;
  std::atomic<uint64_t> failed{0};  // failures, except ordinary ones such as ENOENT
  std::atomic<uint64_t> bytes_read{0};
  std::atomic<uint64_t> passed_through{0};  // opens of files that the kernel reads itself

  struct Kind {
    const char* name;
    RequestTimes OperationCounts::*times;
  };
  static const std::array<Kind, 6> kKinds;
};

}  // namespace ndlfs::fs
