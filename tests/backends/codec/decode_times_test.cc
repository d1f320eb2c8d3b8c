// SPDX-License-Identifier: MIT
#include "backends/codec/decode_times.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backends/codec/codec_chain.h"
#include "backends/codec/registry.h"
#include "tests/backends/codec/codec_testing.h"

namespace ndlfs::backends {
namespace {

using ::testing::ElementsAre;
using ::testing::Key;

TEST(DecodeTimesTest, AddsUpByCodec) {
  DecodeTimes times;
  times.Add("zstd", 100, std::chrono::nanoseconds(7));
  times.Add("zstd", 200, std::chrono::nanoseconds(3));
  times.Add("bytes", 50, std::chrono::nanoseconds(1));
  const auto totals = times.totals();
  EXPECT_THAT(totals, ElementsAre(Key("bytes"), Key("zstd")));
  const DecodeTimes::Total& zstd = totals.find("zstd")->second;
  EXPECT_EQ(zstd.chunks, 2u);
  EXPECT_EQ(zstd.bytes, 300u);
  EXPECT_DOUBLE_EQ(zstd.seconds(), 10e-9);
}

// Two bytes as a big-endian number in Base64.
class DecodeTimesOfChainTest : public ::testing::Test {
 protected:
  model::Result<void> Decode(std::string_view encoded, DecodeTimes* times) {
    const auto chain =
        MakeZarr3Chain(*ParseJson(R"([{"name": "bytes", "configuration": {"endian": "big"}},
                       {"name": "numcodecs.base64"}])"),
                       {model::Datatype::Integer(2, true), {1}});
    EXPECT_TRUE(chain) << chain.error().message();
    Bytes decoded(2);
    Scratch scratch;
    return chain->Decode(AsBytes(encoded), {1}, decoded.span(), scratch, 0, times);
  }
};

TEST_F(DecodeTimesOfChainTest, EachCodecIsCountedWithWhatItMakes) {
  DecodeTimes times;
  ASSERT_TRUE(Decode("AQI=", &times));
  const auto totals = times.totals();
  ASSERT_THAT(totals, ElementsAre(Key("base64"), Key("bytes")));
  for (const auto& [codec, total] : totals) {
    EXPECT_EQ(total.chunks, 1u) << codec;
    EXPECT_EQ(total.bytes, 2u) << codec;
  }
  EXPECT_TRUE(Decode("AQI=", nullptr));
}

TEST_F(DecodeTimesOfChainTest, ACodecThatFailsIsNotCounted) {
  DecodeTimes times;
  EXPECT_FALSE(Decode("????", &times));
  EXPECT_TRUE(times.totals().empty());
}

}  // namespace
}  // namespace ndlfs::backends
