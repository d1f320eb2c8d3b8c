// SPDX-License-Identifier: MIT
//
// Percent-encoding of URLs (RFC 3986, section 2.1).
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace ndlfs::backends {

// Encodes all but unreserved characters (RFC 3986) and '/' as %XX, as URLs of files and S3 keys
// need it. `keep_slash` false encodes '/' too, as in the value of a query.
std::string PercentEncode(std::string_view text, bool keep_slash = true);
// The inverse; nullopt if a '%' is not followed by two hexadecimal digits.
std::optional<std::string> PercentDecode(std::string_view text);
// Decodes each %XX; a '%' without two hexadecimal digits behind it stays as it is.
std::string PercentDecodeLeniently(std::string_view text);

}  // namespace ndlfs::backends
