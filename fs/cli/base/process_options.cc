// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <string_view>

#include "fs/cli/base/nearest.h"
#include "fs/cli/base/option_setters.h"
#include "fs/cli/base/option_tables.h"
#include "fs/cli/base/option_values.h"
#include "model/number_text.h"

namespace ndlfs::fs {
namespace {

using model::Quote;
using model::Result;

Result<unsigned> ParseFetches(std::string_view value) {
  const auto fetches = model::ParseNumber<unsigned>(value);
  if (!fetches || *fetches == 0 || *fetches > kMaxThreads) {
    return model::BadInput("{} is not a number from 1 to {}", Quote(value), kMaxThreads);
  }
  return *fetches;
}

Result<std::string> ParseLogFile(std::string_view value) {
  if (value.empty()) return model::BadInput("is not the name of a file");
  return std::string(value);
}

Result<std::string> ParseLogLevel(std::string_view value) {
  const auto levels = OptionChoices("log-level");
  if (std::ranges::find(levels, value) == levels.end()) {
    return model::BadInput("{} is not one of {}{}", Quote(value), fmt::join(levels, ", "),
                           DidYouMean(value, levels));
  }
  return std::string(value);
}

constexpr std::array kProcessOptions = {
    MountOption{"threads", "N", "Reads that are served at once (one per core)",
                Set<&MountOptions::threads, ParseThreads>},
    MountOption{"fetches", "N", "Chunks that a slow source is asked for at once (64)",
                Set<&MountOptions::fetches, ParseFetches>},
    MountOption{"log-file", "FILE", "File to append messages to (the system log)",
                Set<&MountOptions::log_file, ParseLogFile>},
    MountOption{"log-level", "LEVEL", "trace, debug, info, warn, error, critical or off (info)",
                Set<&MountOptions::log_level, ParseLogLevel>},
};

}  // namespace

std::span<const MountOption> ProcessOptions() { return kProcessOptions; }

}  // namespace ndlfs::fs
