// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>

#include "model/error.h"

namespace ndlfs::fs {

enum class LogTarget { kStandardError, kSystemLog };

// Sends the log of this process to `file`, or to `target` where that is empty.
// The directory of `file` must be there; the file need not.
// `level` is as in MountOptions. Starts no thread.
model::Result<void> StartLog(const std::string& file, LogTarget target,
                             const std::string& level);

void LogInfo(std::string_view line);
void LogWarning(std::string_view line);

}  // namespace ndlfs::fs
