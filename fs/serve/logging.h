// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>

#include "model/error.h"

namespace ndlfs::fs {

enum class LogTarget { kStandardError, kSystemLog };

// What every entry of a journal says in addition to its message.
struct LogContext {
  std::string source;
  std::string mountpoint;
};

// Sends the log of this process to `file`, or to `target` where that is empty.
// The journal of systemd gets entries with fields: if there is one it is the
// system log, and also where standard error leads to it.
// The directory of `file` must be there; the file need not.
// `level` is as in MountOptions. Starts no thread.
model::Result<void> StartLog(const std::string& file, LogTarget target,
                             const std::string& level, const LogContext& context = {});

void LogInfo(std::string_view line);
void LogWarning(std::string_view line);

}  // namespace ndlfs::fs
