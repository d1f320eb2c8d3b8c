// SPDX-License-Identifier: MIT
//
// The dates of HTTP (RFC 9110, section 5.6.7), in seconds since 1970.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ndlfs::model {

// "Thu, 01 Jan 1970 00:00:00 GMT", whatever the language of the user is. A time that the
// system's calendar does not have is the year 1970.
std::string FormatHttpDate(int64_t seconds);

// A date in one of the three forms of the RFC; "UTC", "+0000" or nothing may stand for "GMT".
// Blanks around it do not count. nullopt for all else.
std::optional<int64_t> ParseHttpDate(std::string_view text);

}  // namespace ndlfs::model
