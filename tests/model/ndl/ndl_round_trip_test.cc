// SPDX-License-Identifier: MIT
//
// What is written is read back equal, and what is canonical is written again
// as it was.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/ndl/ndl_reader.h"
#include "model/ndl/ndl_writer.h"
#include "tests/model/ndl/random_file.h"

namespace ndlfs::model {
namespace {

std::string Explain(const ParsedDocument& parsed) {
  std::string text;
  for (const Diagnostic& error : parsed.errors) text += FormatDiagnostic("f", error) + "\n";
  return text;
}

constexpr uint64_t kSeedsPerShard = 100;

class RandomFileTest : public testing::TestWithParam<uint64_t> {};

TEST_P(RandomFileTest, IsReadBackEqual) {
  for (uint64_t i = 0; i < kSeedsPerShard; ++i) {
    const uint64_t seed = GetParam() * kSeedsPerShard + i;
    const File file = test::RandomFile(seed).Make();
    const std::string text = WriteFile(file);
    const ParsedDocument parsed = ReadNdl(text, "example.yaml");
    ASSERT_TRUE(parsed.file) << "seed " << seed << "\n" << Explain(parsed) << text;
    ASSERT_EQ(WriteFile(*parsed.file), text) << "seed " << seed;
    ASSERT_TRUE(*parsed.file == file) << "seed " << seed << "\n" << text;
  }
}

INSTANTIATE_TEST_SUITE_P(Shards, RandomFileTest, testing::Range<uint64_t>(0, 12));

}  // namespace
}  // namespace ndlfs::model
