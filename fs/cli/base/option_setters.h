// SPDX-License-Identifier: MIT
//
// How most options are set: a member of the options, and the parser of its value.
#pragma once

#include <string>
#include <string_view>

#include "fs/serve/mount_options.h"
#include "model/error.h"

namespace ndlfs::fs {

// `kMember` is one of MountOptions, or of the RemoteAccess in it.
template <auto kMember>
auto& MemberOf(MountOptions& options) {
  if constexpr (requires { options.*kMember; }) {
    return options.*kMember;
  } else {
    return options.remote.*kMember;
  }
}

// MountOption::set of an option with a value.
template <auto kMember, auto kParse>
model::Result<void> Set(MountOptions& options, std::string_view value) {
  NDLFS_TRY(MemberOf<kMember>(options), kParse(value));
  return {};
}

// MountOption::set of a switch.
template <auto kMember, bool kValue = true>
model::Result<void> Switch(MountOptions& options, std::string_view /*value*/) {
  MemberOf<kMember>(options) = kValue;
  return {};
}

// A parser for Set(): the text as it is.
inline model::Result<std::string> ParseText(std::string_view text) { return std::string(text); }

}  // namespace ndlfs::fs
