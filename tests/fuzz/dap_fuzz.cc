// SPDX-License-Identifier: MIT
//
// A constraint of DAP 2 or DAP 4 of any bytes: what is accepted keeps its promises, and means
// the same when it is written again.
#include <fmt/format.h>

#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "backends/base/percent_encoding.h"
#include "fs/view/dap/parse/constraint.h"

namespace ndlfs {
namespace {

std::string Write(const std::vector<fs::DapProjection>& projections) {
  std::string text;
  for (const fs::DapProjection& projection : projections) {
    if (!text.empty()) text += ',';
    text += backends::PercentEncode(projection.path, false);
    for (const fs::DapRange& range : projection.ranges) {
      text += fmt::format("[{}:{}:{}]", range.first, range.stride, range.last);
    }
  }
  return text;
}

std::string Write(const std::vector<fs::Dap4Projection>& projections) {
  std::string text;
  for (const fs::Dap4Projection& projection : projections) {
    if (!text.empty()) text += ';';
    for (const std::string& name : projection.path) {
      text += '/';
      for (const char c : name) {
        text += '\\';
        text += c;
      }
    }
    for (const fs::DapRange& range : projection.ranges) {
      text += fmt::format("[{}:{}:{}]", range.first, range.stride, range.last);
    }
  }
  return text;
}

void RunDap4(std::string_view text) {
  const auto projections = fs::ParseDap4Constraint(text);
  if (!projections) return;
  for (const fs::Dap4Projection& projection : *projections) {
    if (projection.path.empty() || projection.ranges.size() > fs::kMostDapRanges) std::abort();
    for (const std::string& name : projection.path) {
      if (name.empty()) std::abort();
    }
    for (const fs::DapRange& range : projection.ranges) {
      if (range.stride == 0 || range.last < range.first) std::abort();
    }
  }
  const auto again = fs::ParseDap4Constraint(Write(*projections));
  if (!again || *again != *projections) std::abort();
}

void Run(std::string_view text) {
  RunDap4(text);
  const auto projections = fs::ParseConstraint(text);
  if (!projections) return;
  if (projections->size() > fs::kMostProjections) std::abort();
  for (const fs::DapProjection& projection : *projections) {
    if (projection.path.empty() || projection.ranges.size() > fs::kMostDapRanges) std::abort();
    for (const fs::DapRange& range : projection.ranges) {
      if (range.stride == 0 || range.last < range.first) std::abort();
    }
  }
  const auto again = fs::ParseConstraint(Write(*projections));
  if (!again || *again != *projections) std::abort();
}

}  // namespace
}  // namespace ndlfs

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  ndlfs::Run({reinterpret_cast<const char*>(data), size});
  return 0;
}
