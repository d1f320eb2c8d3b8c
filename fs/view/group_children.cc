// SPDX-License-Identifier: MIT
#include "fs/view/group_children.h"

#include <algorithm>
#include <optional>
#include <thread>
#include <utility>

#include "backends/store/cancellation.h"
#include "backends/store/parallel.h"

namespace ndlfs::fs {

using model::Result;

// So many are in memory at the same time.
constexpr size_t kAtOnce = 256;

Result<void> LoadEach(
    const GroupInput& group, const std::vector<std::string>& names,
    const std::function<Result<void>(const std::string&, Result<GroupChild>)>& take) {
  static const unsigned threads = std::clamp(std::thread::hardware_concurrency(), 1U, 8U);
  for (size_t first = 0; first < names.size(); first += kAtOnce) {
    std::vector<std::optional<Result<GroupChild>>> loaded(
        std::min(kAtOnce, names.size() - first));
    NDLFS_RETURN_IF_ERROR(
        backends::RunInParallel(threads, loaded.size(), [&](size_t i) -> Result<void> {
          NDLFS_RETURN_IF_ERROR(backends::CancellationScope::Check());
          loaded[i] = group.LoadForElements(names[first + i]);
          return {};
        }));
    for (size_t i = 0; i < loaded.size(); ++i) {
      NDLFS_RETURN_IF_ERROR(take(names[first + i], *std::move(loaded[i])));
      loaded[i].reset();
    }
  }
  return {};
}

}  // namespace ndlfs::fs
