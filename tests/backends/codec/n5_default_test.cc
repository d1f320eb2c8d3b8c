// SPDX-License-Identifier: MIT
//
// Zarr v3 "n5_default".
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/backends/codec/chain_testing.h"

namespace ndlfs::backends {
namespace {

using model::ErrorCode;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::string_view kN5Codecs =
    R"([{"name": "n5_default", "configuration": {"codecs": [
         {"name": "transpose", "configuration": {"order": [1, 0]}},
         {"name": "bytes", "configuration": {"endian": "big"}}]}}])";

TEST(N5DefaultTest, BlocksAreColumnMajorAndBigEndianAfterAHeader) {
  const ChunkForm form{kInt16, {2, 3}};
  const CodecChain chain = MakeChain(kN5Codecs, form);
  EXPECT_THAT(*Decode<int16_t>(chain,
                               FromHex("0000"
                                       "0002"
                                       "00000002"
                                       "00000003"
                                       "000000030001000400020005")
                                   .span(),
                               form.shape),
              ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_GE(chain.MaxEncodedSize(form.shape), 24u);
}

TEST(N5DefaultTest, BlocksCutOffAtTheEdgeAreFilledUpWithZeros) {
  const ChunkForm form{kInt16, {2, 3}};
  EXPECT_THAT(*Decode<int16_t>(MakeChain(kN5Codecs, form),
                               FromHex("0000"
                                       "0002"
                                       "00000002"
                                       "00000001"
                                       "00070008")
                                   .span(),
                               form.shape),
              ElementsAre(7, 0, 0, 8, 0, 0));
}

TEST(N5DefaultTest, WholeBlocksAreCutOffWhereTheChunkEnds) {
  const ChunkForm form{kInt16, {2, 3}};
  EXPECT_THAT(*Decode<int16_t>(MakeChain(kN5Codecs, form),
                               FromHex("0000"
                                       "0002"
                                       "00000002"
                                       "00000003"
                                       "000000030001000400020005")
                                   .span(),
                               {2, 2}),
              ElementsAre(0, 1, 3, 4));
}

TEST(N5DefaultTest, HeadersThatLieAreCorrupt) {
  const ChunkForm form{kInt16, {2, 3}};
  const CodecChain chain = MakeChain(kN5Codecs, form);
  const auto failure = [&](std::string_view hex) {
    return FailureOf(Decode<int16_t>(chain, FromHex(hex).span(), form.shape),
                     ErrorCode::kCorrupt);
  };
  EXPECT_EQ(failure("0000"), "n5_default: 2 bytes, a header has 12");
  EXPECT_EQ(failure("000100020000000200000003"), "n5_default: a block of mode 1");
  EXPECT_EQ(failure("000000030000000200000003"),
            "n5_default: a block of 3 dimensions, expected 2");
  EXPECT_EQ(failure("0000000200000002ffffffff"),
            "n5_default: extent 4294967295 of a block along dimension 1, expected 1 to 3");
  EXPECT_EQ(failure("000000020000000000000003"),
            "n5_default: extent 0 of a block along dimension 0, expected 1 to 2");
  EXPECT_EQ(failure("0000000200000002000000030001"), "n5_default: bytes: 2 bytes, expected 12");
}

TEST(N5DefaultTest, OtherChainsAreRefused) {
  EXPECT_THAT(ConfigFailure("n5_default", "{}", {kInt16, {2}}),
              HasSubstr("n5_default: \"codecs\" is missing"));
  EXPECT_THAT(ConfigFailure("n5_default", R"({"codecs": ["n5_default"]})", {kInt16, {2}}),
              HasSubstr("n5_default: codecs: expected transpose, bytes and a compressor"));
}

TEST(N5DefaultTest, CodecsWithoutNamesAreRefused) {
  for (const char* codecs :
       {"1", "[1, 2]", R"([{"name": 1}, {}])", R"(["transpose"])",
        R"([{"name": "transpose", "configuration": {"order": [0]}}, "crc32c"])"}) {
    EXPECT_THAT(
        ConfigFailure("n5_default", fmt::format(R"({{"codecs": {}}})", codecs), {kInt16, {2}}),
        HasSubstr("n5_default: codecs: expected transpose, bytes and a compressor"))
        << codecs;
  }
  EXPECT_THAT(ConfigFailure("n5_default", "{}", {model::Datatype::String(), {2}}),
              HasSubstr("has no fixed size"));
}

}  // namespace
}  // namespace ndlfs::backends
