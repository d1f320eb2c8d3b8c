// SPDX-License-Identifier: MIT
//
// The texts of `ndlfs check`: progress, each store, and a summary.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "fs/cli/store/checker.h"

namespace ndlfs::fs {

enum class CheckFormat { kText, kJson };

// Sums over all stores.
struct CheckSummary {
  uint64_t stores = 0;
  uint64_t arrays = 0;
  uint64_t chunks = 0;
  uint64_t absent = 0;
  uint64_t bytes = 0;
  uint64_t damaged = 0;         // chunks, objects and stores
  uint64_t damaged_stores = 0;  // stores in which there is damage
  uint64_t unreadable = 0;
  uint64_t not_checked = 0;
  uint64_t notes = 0;
  double seconds = 0;
  bool complete = true;
  std::string resume_at;  // the first store that was not finished

  void Add(const StoreReport& report);
};

// Whole lines of text, or parts of one JSON document: the beginning, each
// store, the end.
std::string CheckBegin(CheckFormat format);
std::string CheckStore(CheckFormat format, const StoreReport& report, bool is_first);
std::string CheckEnd(CheckFormat format, const CheckSummary& summary);

// "45%, 2250 chunks, 12 stores, 391 MiB/s, 0:34 left": without line break.
std::string CheckProgress(const Checker::Progress& progress, double seconds);

}  // namespace ndlfs::fs
