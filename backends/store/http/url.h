// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "model/error.h"

namespace ndlfs::backends {

// A URL in parts. The host is in lower case and without an IPv6 zone; the path has no "." and
// ".." parts, and is percent-encoded as it was written.
//
// The URL of an object, such as s3://BUCKET/KEY, has the key as it is: '%', '#' and '?' are
// characters like others. `path` has that key percent-encoded, and the texts below show it as
// it is. The same holds for all schemes of object_schemes.h. The host of these is what stands
// before the key, also the text CONTAINER@ACCOUNT of abfs://CONTAINER@ACCOUNT/KEY.
struct Url {
  std::string scheme;    // "https"
  std::string user;      // decoded; empty if there is none
  std::string password;  // decoded
  std::string host;      // "example.org", "[::1]"
  std::string port;      // the number; that of the scheme if none was written
  std::string path;      // begins with '/'
  std::string query;     // without '?'

  // "https://example.org:8443": where requests go. The port is left out if it is the usual one.
  std::string origin() const;
  // The URL without user, password and fragment.
  std::string ToText() const;
  // The same without the query, which may have a signature: for messages.
  std::string ForMessages() const;
};

// kBadInput if `text` is no absolute URL with a host, or file:///PATH. Accepts any scheme. The
// message has no user, password or query.
model::Result<Url> ParseUrl(std::string_view text);

// The URL that `reference`, such as a Location header, means in an answer from `base`.
model::Result<Url> ResolveUrl(const Url& base, std::string_view reference);

// Whether `url` has the scheme, host and port of `prefix`, and its path is below that of
// `prefix`.
bool IsWithin(const Url& url, const Url& prefix);

// `text` is a URL: without user, password, query and fragment. Anything else: unchanged.
std::string UrlForMessages(std::string_view text);

// Whether URLs of the scheme have keys as they are.
bool IsObjectScheme(std::string_view scheme);

// Whether `text` begins with "SCHEME://".
bool LooksLikeUrl(std::string_view text);

// Whether the host of a URL is written as a link-local address (169.254.0.0/16, fe80::/10).
bool IsLinkLocalHost(std::string_view host);

}  // namespace ndlfs::backends
