// SPDX-License-Identifier: MIT
#pragma once

#include <string>

namespace ndlfs::backends {

// The system's certificates for TLS, in one PEM file. Each distribution has its own place for
// it, and a libcurl that was built for another one looks elsewhere. `built_in` is where libcurl
// looks; "" if that file can be read, if libcurl looks for no file (null), or if there is none.
// `root` is put before the places, for tests.
std::string FindCertificates(const char* built_in, const std::string& root = "");

}  // namespace ndlfs::backends
