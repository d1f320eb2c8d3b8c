// SPDX-License-Identifier: MIT
//
// What every Source promises, asked of files behind HTTP.
#include <memory>
#include <string>

#include "tests/support/fake_file_server.h"
#include "tests/support/source_conformance.h"

namespace ndlfs::backends {
namespace {

class HttpTree final : public Tree {
 public:
  const Source& source() const override { return *source_; }
  void Put(const std::string& path, const std::string& text) override {
    server_.Put(path, text);
  }
  void Remove(const std::string& path) override { server_.Remove(path); }

 private:
  test::FakeFileServer server_;
  const std::shared_ptr<const RemoteSource> source_ = server_.MakeSource();
};

INSTANTIATE_TEST_SUITE_P(Http, SourceConformanceTest,
                         testing::Values(SourceKind{"Http",
                                                    []() -> std::unique_ptr<Tree> {
                                                      return std::make_unique<HttpTree>();
                                                    }}),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace ndlfs::backends
