// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>

#include "model/error.h"

namespace ndlfs::fs {

enum class LogTarget { kStandardError, kSystemLog };

// The fields of every entry of a journal, in addition to its message.
struct LogContext {
  std::string source;
  std::string mountpoint;
};

// From now on the log of this process goes to `file` or, if that is empty, to `target`. If
// there is a journal of systemd, it is the system log, and gets entries with fields; so it does
// if standard error leads to it. The directory of `file` must exist; the file need not. `level`
// is as in MountOptions. Starts no thread; no other one may log meanwhile. Without it warnings
// go to standard error, each a line that begins with "ndlfs: ", as those of a command do.
model::Result<void> StartLog(const std::string& file, LogTarget target,
                             const std::string& level, const LogContext& context = {});

void LogInfo(std::string_view line);
void LogWarning(std::string_view line);

}  // namespace ndlfs::fs
