// SPDX-License-Identifier: MIT
#include "backends/store/http/url.h"

#include <arpa/inet.h>
#include <curl/curl.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <memory>
#include <utility>

#include "backends/base/percent_encoding.h"
#include "backends/store/http/object_schemes.h"
#include "model/spelling.h"

namespace ndlfs::backends {
namespace {

using Handle = std::unique_ptr<CURLU, decltype(&curl_url_cleanup)>;

std::string Part(CURLU* url, CURLUPart part, unsigned flags = 0) {
  char* text = nullptr;
  if (curl_url_get(url, part, &text, flags) != CURLUE_OK) return {};
  const std::unique_ptr<char, decltype(&curl_free)> owner(text, &curl_free);
  return text;
}

std::string UsualPort(std::string_view scheme) {
  if (scheme == "http") return "80";
  return scheme == "https" ? "443" : "";
}

#define NDLFS_SCHEME(scheme, open) std::string_view(scheme),
constexpr std::array kObjectSchemes = {NDLFS_OBJECT_SCHEMES(NDLFS_SCHEME)};
#undef NDLFS_SCHEME
constexpr std::string_view kFileScheme = "file://";

constexpr unsigned kParseFlags = CURLU_NON_SUPPORT_SCHEME | CURLU_URLENCODE;

std::string_view SchemeOf(std::string_view text) {
  return text.substr(0, std::min(text.find("://"), text.size()));
}

// `text` without what no message may show. Does not need a valid URL.
std::string WithoutSecrets(std::string_view text) {
  // The key of an object may have any character, and is no secret.
  if (!IsObjectScheme(SchemeOf(text))) text = text.substr(0, text.find_first_of("?#"));
  const size_t scheme = text.find("://");
  if (scheme == text.npos) return std::string(text);
  const size_t host = scheme + 3;
  const std::string_view authority =
      text.substr(host, std::min(text.find('/', host), text.size()) - host);
  const size_t at = authority.rfind('@');
  // A container is no secret.
  const bool is_container = IsObjectScheme(SchemeOf(text)) && text.starts_with("abfs") &&
                            authority.substr(0, at).find(':') == text.npos;
  if (at == authority.npos || is_container) return std::string(text);
  return fmt::format("{}{}", text.substr(0, host), text.substr(host + at + 1));
}

// Whether libcurl takes the host for the same when it reads the URL again. "%39" is the name
// "9", and "9" the address 0.0.0.9: that would be another host than the one that is checked.
bool HostStays(const Url& url) {
  const Handle again(curl_url(), &curl_url_cleanup);
  return curl_url_set(again.get(), CURLUPART_URL, url.origin().c_str(), kParseFlags) ==
             CURLUE_OK &&
         model::LowerCase(Part(again.get(), CURLUPART_HOST)) == url.host;
}

model::Result<Url> Parts(CURLU* handle, std::string_view text) {
  Url url;
  url.scheme = model::LowerCase(Part(handle, CURLUPART_SCHEME));
  url.user = Part(handle, CURLUPART_USER, CURLU_URLDECODE);
  url.password = Part(handle, CURLUPART_PASSWORD, CURLU_URLDECODE);
  url.host = model::LowerCase(Part(handle, CURLUPART_HOST));
  url.port = Part(handle, CURLUPART_PORT);
  if (url.port.empty()) url.port = UsualPort(url.scheme);
  url.path = Part(handle, CURLUPART_PATH);
  if (url.path.empty()) url.path.assign(1, '/');
  url.query = Part(handle, CURLUPART_QUERY);
  if (url.scheme.empty() || url.host.empty()) {
    return model::BadInput("{} is no URL with a host", model::Quote(WithoutSecrets(text)));
  }
  // libcurl has decoded the host, and decodes it again when it is asked to connect.
  if (url.host.find('%') != url.host.npos || !HostStays(url)) {
    return model::BadInput("{} is no URL: the name of its host is percent-encoded",
                           model::Quote(WithoutSecrets(text)));
  }
  return url;
}

// "s3://BUCKET/KEY", with the key as it is: no character in it is special, as for the tools of
// the providers.
model::Result<Url> ParseObjectUrl(std::string_view text) {
  Url url;
  url.scheme = SchemeOf(text);
  const std::string_view rest = text.substr(url.scheme.size() + 3);
  const size_t slash = std::min(rest.find('/'), rest.size());
  url.host = rest.substr(0, slash);
  std::string_view name = url.host;
  // CONTAINER@ACCOUNT.dfs.core.windows.net
  const size_t at = name.find('@');
  const bool has_account = url.scheme.starts_with("abfs") && at != name.npos && at != 0;
  if (has_account) name.remove_prefix(at + 1);
  if (name.empty() || url.host.find_first_of(":?#%\\ ") != url.host.npos ||
      name.find('@') != name.npos) {
    return model::BadInput("{} is not {}://{}/PREFIX", model::Quote(WithoutSecrets(text)),
                           url.scheme,
                           url.scheme.starts_with("abfs") ? "CONTAINER@ACCOUNT" : "BUCKET");
  }
  url.path = slash == rest.size() ? "/" : PercentEncode(rest.substr(slash));
  return url;
}

// "file:///PATH", of this machine.
model::Result<Url> ParseFileUrl(std::string_view text) {
  Url url;
  url.scheme = "file";
  url.path = text.substr(kFileScheme.size());
  if (!url.path.starts_with('/') || url.path.find('\0') != url.path.npos) {
    return model::BadInput("{} is not file:///PATH", model::Quote(text));
  }
  return url;
}

}  // namespace

std::string Url::origin() const {
  const bool usual = port.empty() || port == UsualPort(scheme);
  return fmt::format("{}://{}{}{}", scheme, host, usual ? "" : ":", usual ? "" : port);
}

std::string Url::ToText() const {
  if (IsObjectScheme(scheme)) return origin() + PercentDecode(path).value_or(path);
  return fmt::format("{}{}{}{}", origin(), path, query.empty() ? "" : "?", query);
}

std::string Url::ForMessages() const {
  if (IsObjectScheme(scheme)) return model::OneLine(ToText());
  return model::OneLine(origin() + path);
}

model::Result<Url> ParseUrl(std::string_view text) {
  if (!LooksLikeUrl(text)) return model::BadInput("{} is no URL", model::Quote(text));
  if (IsObjectScheme(SchemeOf(text))) return ParseObjectUrl(text);
  if (text.starts_with(kFileScheme)) return ParseFileUrl(text);
  const Handle handle(curl_url(), &curl_url_cleanup);
  const CURLUcode code =
      curl_url_set(handle.get(), CURLUPART_URL, std::string(text).c_str(), kParseFlags);
  if (code != CURLUE_OK || text.find('\0') != text.npos) {
    return model::BadInput("{} is no URL: {}", model::Quote(WithoutSecrets(text)),
                           curl_url_strerror(code));
  }
  return Parts(handle.get(), text);
}

model::Result<Url> ResolveUrl(const Url& base, std::string_view reference) {
  const Handle handle(curl_url(), &curl_url_cleanup);
  CURLUcode code =
      curl_url_set(handle.get(), CURLUPART_URL, base.ToText().c_str(), kParseFlags);
  if (code == CURLUE_OK) {
    code =
        curl_url_set(handle.get(), CURLUPART_URL, std::string(reference).c_str(), kParseFlags);
  }
  if (code != CURLUE_OK) {
    return model::BadInput("{} is no URL: {}", model::Quote(WithoutSecrets(reference)),
                           curl_url_strerror(code));
  }
  return Parts(handle.get(), reference);
}

bool IsWithin(const Url& url, const Url& prefix) {
  if (url.scheme != prefix.scheme || url.host != prefix.host || url.port != prefix.port) {
    return false;
  }
  if (!url.path.starts_with(prefix.path)) return false;
  // Servers may take an encoded ".." for one.
  const auto below = PercentDecode(url.path.substr(prefix.path.size()));
  if (!below || fmt::format("/{}/", *below).find("/../") != std::string::npos) return false;
  return prefix.path.ends_with('/') || url.path.size() == prefix.path.size() ||
         url.path[prefix.path.size()] == '/';
}

std::string UrlForMessages(std::string_view text) {
  return LooksLikeUrl(text) ? model::OneLine(WithoutSecrets(text)) : std::string(text);
}

bool IsObjectScheme(std::string_view scheme) {
  return std::ranges::find(kObjectSchemes, scheme) != kObjectSchemes.end();
}

bool LooksLikeUrl(std::string_view text) {
  const size_t end = text.find("://");
  if (end == text.npos || end == 0 || !std::isalpha(static_cast<unsigned char>(text[0]))) {
    return false;
  }
  for (const char c : text.substr(0, end)) {
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '+' && c != '-' && c != '.') {
      return false;
    }
  }
  return true;
}

bool IsLinkLocalHost(std::string_view host) {
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  const std::string text(host);
  in_addr four;
  if (::inet_aton(text.c_str(), &four)) return (ntohl(four.s_addr) >> 16) == 0xa9fe;
  in6_addr six;
  if (::inet_pton(AF_INET6, text.c_str(), &six) != 1) return false;
  if (IN6_IS_ADDR_V4MAPPED(&six)) return six.s6_addr[12] == 169 && six.s6_addr[13] == 254;
  return IN6_IS_ADDR_LINKLOCAL(&six);
}

}  // namespace ndlfs::backends
