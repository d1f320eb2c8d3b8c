// SPDX-License-Identifier: MIT
#include "backends/store/http/certificates.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "tests/support/python.h"

namespace ndlfs::backends {
namespace {

namespace fs = std::filesystem;

TEST(CertificatesTest, AreFoundWhereRhelAndSuseHaveThem) {
  constexpr const char* kDebian = "/etc/ssl/certs/ca-certificates.crt";
  for (const std::string path :
       {"/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem",
        "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem", "/etc/ssl/cert.pem"}) {
    const test::TemporaryDirectory directory;
    const std::string root = directory.path();
    EXPECT_EQ(FindCertificates(kDebian, root), "");
    fs::create_directories(fs::path(root + path).parent_path());
    test::WriteFile(root + path, "certificates");
    EXPECT_EQ(FindCertificates(kDebian, root), root + path);
    EXPECT_EQ(FindCertificates(path.c_str(), root), "") << "libcurl finds it itself";
    EXPECT_EQ(FindCertificates(nullptr, root), "") << "libcurl looks for no file";
  }
}

}  // namespace
}  // namespace ndlfs::backends
