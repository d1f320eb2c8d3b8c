// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/error.h"

namespace ndlfs::backends::object {

// The words of a command line, by the rules of a shell for blanks, quotes and backslashes;
// nothing else is special. nullopt if a quote is not closed.
std::optional<std::vector<std::string>> SplitCommand(std::string_view command);

struct ProcessOptions {
  std::string name = "credential_process";  // that begins messages
  std::chrono::milliseconds patience{60'000};
  std::vector<std::string> variables = {};  // "NAME=VALUE", in addition to the environment
};

// Runs the command, without a shell, and returns its standard output, at most 64 KiB. Waits for
// it `patience` at most. Messages of this function do not quote the output of the command; its
// standard error goes where the standard error of this process goes.
model::Result<std::string> RunCredentialProcess(std::string_view command,
                                                const ProcessOptions& options = {});

}  // namespace ndlfs::backends::object
