// SPDX-License-Identifier: MIT
//
// What ndlfs knows of the user: variables, files of other tools, the clock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "model/error.h"

namespace ndlfs::backends::object {

// Gets the value of an environment variable; empty if it is not set.
using GetVariable = std::function<std::string(const char* name)>;
// Seconds since 1970.
using GetTime = std::function<int64_t()>;

// The environment of this process.
std::string GetEnvironmentVariable(const char* name);
// The clock of this machine.
int64_t SystemTime();

std::string HomeDirectory(const GetVariable& variable);

// The text of a file of at most `most` bytes; nullopt if there is no such file. Messages do not
// quote it.
model::Result<std::optional<std::string>> ReadSmallFile(const std::string& path,
                                                        size_t most = 1 << 20);
// Whether `text` can be a token: it is not empty, and has no blanks and no control characters.
bool IsToken(std::string_view text);
// The text of a file with a token, without blanks at its end. A missing or empty file, or one
// with a line break in the token, is an error.
model::Result<std::string> ReadTokenFile(const std::string& path);

std::string FirstNotEmpty(std::initializer_list<std::string> candidates);

}  // namespace ndlfs::backends::object
