// SPDX-License-Identifier: MIT
#include "backends/store/http/certificates.h"

#include <unistd.h>

namespace ndlfs::backends {

std::string FindCertificates(const char* built_in, const std::string& root) {
  const auto is_readable = [&](const char* path) {
    return ::access((root + path).c_str(), R_OK) == 0;
  };
  if (built_in == nullptr || is_readable(built_in)) return "";
  for (const char* path : {
           "/etc/ssl/certs/ca-certificates.crt",                 // Debian, Ubuntu, Arch, Gentoo
           "/etc/pki/tls/certs/ca-bundle.crt",                   // RHEL, Fedora
           "/etc/ssl/ca-bundle.pem",                             // SUSE
           "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",  // RHEL, Fedora
           "/etc/ssl/cert.pem",                                  // Alpine
       }) {
    if (is_readable(path)) return root + path;
  }
  return "";
}

}  // namespace ndlfs::backends
