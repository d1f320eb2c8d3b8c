// SPDX-License-Identifier: MIT
//
// Zarr v3 "sharding_indexed" as a codec: what is sharded within shards, or encoded as a whole.
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "tests/backends/codec/variable_testing.h"
#include "tests/support/shard_builder.h"

namespace ndlfs::backends {
namespace {

using model::Datatype;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct ShardCase {
  std::vector<uint64_t> shape;
  std::vector<uint64_t> inner;
};

uint64_t CountOf(const std::vector<uint64_t>& shape) {
  return std::accumulate(shape.begin(), shape.end(), uint64_t{1}, std::multiplies<>());
}

CodecChain MakeSharded(const std::vector<uint64_t>& inner, std::string_view codec,
                       const ChunkForm& form) {
  return MakeChain(fmt::format(R"([{{"name": "sharding_indexed", "configuration": {{
          "chunk_shape": [{}], "codecs": [{}],
          "index_codecs": [{{"name": "bytes", "configuration": {{"endian": "little"}}}},
                           "crc32c"]}}}}])",
                               fmt::join(inner, ", "), codec),
                   form);
}

constexpr std::string_view kLittleBytes =
    R"({"name": "bytes", "configuration": {"endian": "little"}})";

class ShardRankTest : public ::testing::TestWithParam<ShardCase> {};

// Each element is its number in the shard; the inner chunk with the number 1 is absent.
TEST_P(ShardRankTest, EachElementComesToItsPlace) {
  const auto& [shape, inner] = GetParam();
  const int16_t fill = -7;
  const auto fill_bytes = std::as_bytes(std::span(&fill, 1));
  const ChunkForm form{kInt16, shape, {fill_bytes.begin(), fill_bytes.end()}};
  std::vector<int16_t> expected(CountOf(shape));
  std::vector<std::optional<std::string>> chunks(CountOf(shape) / CountOf(inner), "");
  for (size_t number = 0; number < expected.size(); ++number) {
    uint64_t chunk = 0;
    uint64_t scale = 1;
    uint64_t rest = number;
    for (size_t d = shape.size(); d-- > 0; rest /= shape[d]) {
      chunk += rest % shape[d] / inner[d] * scale;
      scale *= shape[d] / inner[d];
    }
    const auto value = static_cast<int16_t>(number);
    chunks[chunk]->append(reinterpret_cast<const char*>(&value), sizeof(value));
    expected[number] = chunk == 1 ? fill : value;
  }
  if (chunks.size() > 1) chunks[1] = std::nullopt;
  const std::string shard = test::MakeShard(chunks, {.gap = 3});
  EXPECT_EQ(*Decode<int16_t>(MakeSharded(inner, kLittleBytes, form), AsBytes(shard), shape),
            expected);
}

INSTANTIATE_TEST_SUITE_P(All, ShardRankTest,
                         ::testing::Values(ShardCase{{}, {}}, ShardCase{{6}, {2}},
                                           ShardCase{{4, 6}, {2, 3}}, ShardCase{{3, 4}, {1, 4}},
                                           ShardCase{{2, 6, 4}, {1, 3, 2}},
                                           ShardCase{{4, 2, 2, 4}, {2, 2, 1, 2}}));

TEST(ShardingIndexedTest, TextsOfInnerChunksKeepTheirPlaces) {
  const std::string fill = Text("-");
  const auto fill_bytes = AsBytes(fill);
  const ChunkForm form{Datatype::String(), {2, 4}, {fill_bytes.begin(), fill_bytes.end()}};
  const CodecChain chain = MakeSharded({2, 2}, R"("vlen-utf8")", form);
  const std::string texts =
      std::string("\4\0\0\0", 4) + Text("a") + Text("bb") + Text("") + Text("c");
  const std::string shard = test::MakeShard({std::nullopt, texts});
  const auto stream = DecodeVariable(chain, AsBytes(shard), form.shape);
  ASSERT_TRUE(stream) << stream.error().message();
  EXPECT_THAT(ElementsOf(*stream, 8),
              ElementsAre(fill, fill, Text("a"), Text("bb"), fill, fill, Text(""), Text("c")));
  EXPECT_THAT(VariableFailure(chain, AsBytes(shard), form.shape, 100, model::ErrorCode::kLimit),
              HasSubstr("a chunk of "));
  EXPECT_TRUE(DecodeVariable(chain, AsBytes(shard), form.shape, stream->size()));
}

TEST(ShardingIndexedTest, ABrokenInnerChunkIsNamed) {
  const ChunkForm form{kInt16, {6}};
  const std::string shard = test::MakeShard({"abcd", "abcd", "abc"});
  EXPECT_THAT(FailureOf(Decode<int16_t>(MakeSharded({2}, kLittleBytes, form), AsBytes(shard),
                                        form.shape),
                        model::ErrorCode::kCorrupt),
              HasSubstr("inner chunk 2: "));
}

}  // namespace
}  // namespace ndlfs::backends
