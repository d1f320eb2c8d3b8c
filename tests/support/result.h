// SPDX-License-Identifier: MIT
//
// Matchers for model::Result: what went well, and how it went wrong.
#pragma once

#include <gmock/gmock.h>

#include <ostream>

#include "model/error.h"

namespace ndlfs::test {

MATCHER(IsOk, "is no error") {
  if (arg.has_value()) return true;
  *result_listener << "which is the error " << arg.error().message();
  return false;
}

MATCHER_P(IsOkAnd, value,
          "is no error, and its value " +
              testing::DescribeMatcher<typename std::remove_cvref_t<arg_type>::value_type>(
                  value, negation)) {
  if (!arg.has_value()) {
    *result_listener << "which is the error " << arg.error().message();
    return false;
  }
  return testing::ExplainMatchResult(value, *arg, result_listener);
}

MATCHER_P2(IsError, code, message,
           "is an error whose message " +
               testing::DescribeMatcher<std::string>(message, negation)) {
  if (arg.has_value()) {
    *result_listener << "which is no error";
    return false;
  }
  *result_listener << "which is error " << static_cast<int>(arg.error().code()) << ", "
                   << arg.error().message();
  return arg.error().code() == code &&
         testing::ExplainMatchResult(message, arg.error().message(), result_listener);
}

MATCHER_P(IsErrno, sys_errno, "is an error of the system") {
  if (arg.has_value()) {
    *result_listener << "which is no error";
    return false;
  }
  *result_listener << "which is " << arg.error().message();
  return arg.error().is_of_system() && arg.error().sys_errno() == sys_errno;
}

MATCHER(IsStale, "is an error of what has changed") {
  if (arg.has_value()) {
    *result_listener << "which is no error";
    return false;
  }
  *result_listener << "which is " << arg.error().message();
  return arg.error().code() == model::ErrorCode::kStale;
}

}  // namespace ndlfs::test
