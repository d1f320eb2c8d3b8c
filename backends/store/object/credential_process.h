// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/error.h"

namespace ndlfs::backends::object {

// The words of a command line, by the rules of a shell for blanks, quotes and backslashes;
// nothing else is special. nullopt if a quote is not closed.
std::optional<std::vector<std::string>> SplitCommand(std::string_view command);

// Runs the command, without a shell, and returns its standard output, at most 64 KiB. Waits for
// it a minute at most. Messages of this function do not quote the output of the command; its
// standard error goes where the standard error of this process goes.
model::Result<std::string> RunCredentialProcess(std::string_view command);

}  // namespace ndlfs::backends::object
