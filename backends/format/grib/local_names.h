// SPDX-License-Identifier: MIT
//
// Names of parameters that the tables here lack, by libeccodes. See eccodes.h.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backends/codec/grib/message.h"
#include "backends/format/grib/parameters.h"

namespace ndlfs::backends::grib {

// Whether libeccodes may know better what the parameter is called.
bool AsksForName(const ParameterKey& key);

// A message of one point that says about its parameter what `field` does, which is all that
// names depend on: its sections 1, 2 and 4, with other times and another member. Fields that
// differ in these only have the same question.
std::string MakeNameQuestion(const GribMessage& message, const GribField& field);

struct LocalNames {
  // One for each question; nullopt if libeccodes does not know the parameter either.
  std::vector<std::optional<Parameter>> parameters;
  // Why it could not be asked, for users. Empty if it was, or is not installed.
  std::string problem;
};

// Asks for several names at once, in processes that end with their answer. Answers are kept for
// the caller of this thread (CallerScope) alone, because a file may make libeccodes lie. What
// could not be asked is not asked again either. Thread-safe.
LocalNames AskForNames(const std::vector<std::string_view>& questions);

// Between the two processes. A question is messages one after the other; an answer is one of
// these, and for each message kNameTexts texts, each with a NUL at its end.
enum class NamesAnswer : char { kNames = 'n', kNoLibrary = 'a', kNoSandbox = 's' };
inline constexpr size_t kNameTexts = 6;  // paramId, shortName, cfVarName, name, units, cfName
inline constexpr size_t kMostNames = 4096;
inline constexpr size_t kMostQuestionBytes = size_t{16} << 20;

}  // namespace ndlfs::backends::grib
