// SPDX-License-Identifier: MIT
#include "backends/store/http/allowed_urls.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "backends/store/url_opener.h"
#include "tests/support/fake_file_server.h"
#include "tests/support/result.h"

namespace ndlfs::backends {
namespace {

using model::ErrorCode;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

class AllowedUrlsTest : public ::testing::Test {
 protected:
  model::Result<StoreKey> Find(std::string_view url) const {
    return dynamic_cast<const UrlOpener&>(*source_).FindUrl(url);
  }

  test::FakeFileServer server_;
  std::vector<std::string> opened_;
  const std::shared_ptr<const Source> source_ = MakeAllowedUrls(
      server_.MakeSource(), {ParseUrl("http://test/source/d%20e").value()},
      [this](const Url& top, const Url&) -> model::Result<std::shared_ptr<const Source>> {
        opened_.push_back(top.ToText());
        return server_.MakeSource();
      });
};

TEST_F(AllowedUrlsTest, FilesBelowAPrefixAreReadThroughOneSource) {
  server_.Put("d e/a b", "text");
  for (int i = 0; i < 2; ++i) {
    const auto found = Find("http://test/source/d%20e/a%20b");
    ASSERT_THAT(found, test::IsOk());
    const auto value = found->store->Get(found->key, 100);
    EXPECT_EQ(AsText((*value)->bytes.span()), "text");
  }
  EXPECT_THAT(opened_, ElementsAre("http://test/source/"));
}

TEST_F(AllowedUrlsTest, OtherUrlsAreRefusedWithoutARequest) {
  for (const char* url :
       {"http://test/source/d%20ex", "http://test/source/x", "http://test:81/source/d%20e/a",
        "https://test/source/d%20e/a", "http://other/source/d%20e/a",
        "http://test/source/d%20e/../x", "http://test/source/d%20e/%2e%2e/x",
        "http://test/source/d%20e/a?token=secret", "http://me:secret@test/source/d%20e/a",
        "simplecache::http://test/source/d%20e/a", "file:///etc/passwd", "s3://bucket/a"}) {
    EXPECT_THAT(Find(url),
                test::IsError(ErrorCode::kUnsupported, AllOf(HasSubstr("the remote reference"),
                                                             Not(HasSubstr("secret")))))
        << url;
  }
  EXPECT_TRUE(opened_.empty());
  EXPECT_TRUE(server_.transport()->sent().empty());
}

}  // namespace
}  // namespace ndlfs::backends
