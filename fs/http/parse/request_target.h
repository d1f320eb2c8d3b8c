// SPDX-License-Identifier: MIT
//
// The target of a request: the path and the query in the first line of a request (RFC 9112,
// section 3.2).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/error.h"

namespace ndlfs::fs {

struct RequestTarget {
  // The host with its port, if the target is a whole URL.
  std::optional<std::string> host = {};
  // The parts of the path, decoded once. None is empty, "." or "..", or has a NUL or a slash.
  std::vector<std::string> names = {};
  bool ends_in_slash = false;  // the path means a directory
  std::string query = {};      // as it was sent, without the '?'

  // The decoded value of `key` in a query of the form a=b&c=d; nullopt if there is none.
  std::optional<std::string> Parameter(std::string_view key) const;
  // The query without the parameter `key`.
  std::string QueryWithout(std::string_view key) const;
};

// `base` is the path that all URLs begin with: "" or "/data", without a slash at its end.
// kNotFound if the target does not begin with it, otherwise kBadInput.
model::Result<RequestTarget> ParseRequestTarget(std::string_view target,
                                                std::string_view base = "");

}  // namespace ndlfs::fs
