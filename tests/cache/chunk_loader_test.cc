// SPDX-License-Identifier: MIT
#include "cache/chunk_loader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "cache/chunk_cache.h"
#include "tests/support/chunk_source.h"

namespace ndlfs::cache {
namespace {

using backends::ChunkGrid;
using model::Datatype;
using test::TestSource;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr uint64_t kElements = 1000;

TestSource OneChunk(const std::string& bytes) {
  TestSource source(
      Datatype::Integer(1, false),
      ChunkGrid::Regular({kElements}, {kElements}, ChunkGrid::Edge::kFull).value());
  source.store_->Put("c0", bytes);
  return source;
}

// What a load of the chunk has told of the memory that it needs.
std::vector<uint64_t> ToldBy(const TestSource& source) {
  ChunkCache cache(1 << 20);
  std::vector<uint64_t> told;
  const std::function<void(uint64_t)> needs_only = [&](uint64_t bytes) {
    told.push_back(bytes);
  };
  const std::vector<uint64_t> index = {0};
  (void)LoadChunk(source, index, {.indexes = cache, .needs_only = &needs_only},
                  source.spec().max_chunk_bytes);
  return told;
}

TEST(ChunkLoaderTest, TellsHowLittleTheEncodedBytesTake) {
  TestSource source = OneChunk("damaged");
  source.spec_.codecs =
      backends::MakeZarr3Chain(
          backends::Json::parse(R"(["bytes",{"name":"gzip","configuration":{"level":1}}])"),
          {source.spec_.dtype, {kElements}})
          .value();
  const uint64_t scratch = source.spec().codecs.MaxScratchSize({kElements});
  EXPECT_THAT(ToldBy(source), ElementsAre(7 + scratch));
  EXPECT_LT(7 + scratch, TransientSize(source.spec(), {kElements}));
}

TEST(ChunkLoaderTest, WhatIsNotEncodedTakesNothingMore) {
  EXPECT_THAT(ToldBy(OneChunk(std::string(kElements, 'x'))), IsEmpty());
}

}  // namespace
}  // namespace ndlfs::cache
