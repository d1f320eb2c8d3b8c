// SPDX-License-Identifier: MIT
//
// The codec "conditional" of Zarr v3.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "tests/backends/codec/chain_testing.h"
#include "tests/support/shard_builder.h"

namespace ndlfs::backends {
namespace {

using model::ErrorCode;
using ::testing::HasSubstr;

constexpr std::string_view kShuffleAndGzip =
    R"([{"name": "bytes", "configuration": {"endian": "little"}},
        {"name": "conditional", "configuration": {"codecs": [
            {"name": "numcodecs.shuffle", "configuration": {"elementsize": 4}},
            {"name": "gzip", "configuration": {"level": 9}}]}}])";

// Decodes `hex` as a chunk of four integers.
model::Result<std::string> DecodeConditional(std::string_view codecs, std::string_view hex) {
  const ChunkForm form{kInt32, {4}};
  const CodecChain chain = MakeChain(codecs, form);
  GuardedBuffer memory(16);
  Scratch scratch;
  NDLFS_RETURN_IF_ERROR(chain.Decode(FromHex(hex).span(), form.shape, memory.span(), scratch));
  EXPECT_TRUE(memory.IsIntact());
  return ToHex(memory.span());
}

std::string ConditionalFailure(std::string_view hex) {
  return FailureOf(DecodeConditional(kShuffleAndGzip, hex), ErrorCode::kCorrupt);
}

std::string ConfigurationFailure(std::string_view configuration,
                                 ErrorCode code = ErrorCode::kBadInput) {
  return MakeFailure(CodecDialect::kZarr3, "conditional", configuration, ByteForm(4), code);
}

constexpr std::string_view kPlain = "01000000020000000300000004000000";
constexpr std::string_view kShuffled = "01020304000000000000000000000000";
// By gzip of Python.
constexpr std::string_view kGzipOfPlain =
    "1f8b080000000000020363646060600262662066016200efd405af10000000";
constexpr std::string_view kGzipOfShuffled =
    "1f8b0800000000000203636462666140020018248d5610000000";

TEST(ConditionalTest, EachChunkSaysWhichCodecsWereApplied) {
  for (const auto& [head, data] : {std::pair{"00", kPlain},
                                   {"01", kShuffled},
                                   {"02", kGzipOfPlain},
                                   {"03", kGzipOfShuffled}}) {
    const auto decoded =
        DecodeConditional(kShuffleAndGzip, std::string(head) + std::string(data));
    ASSERT_TRUE(decoded) << head << ": " << decoded.error().message();
    EXPECT_EQ(*decoded, kPlain) << head;
  }
}

TEST(ConditionalTest, TheHeaderMayHaveRoomForMoreCodecs) {
  constexpr std::string_view kWide =
      R"([{"name": "bytes", "configuration": {"endian": "little"}},
          {"name": "conditional", "configuration": {"codecs": ["crc32c"], "header_bits": 24}}])";
  const auto decoded = DecodeConditional(kWide, "000000" + std::string(kPlain));
  ASSERT_TRUE(decoded) << decoded.error().message();
  EXPECT_EQ(*decoded, kPlain);
  EXPECT_EQ(
      FailureOf(DecodeConditional(kWide, "000001" + std::string(kPlain)), ErrorCode::kCorrupt),
      "conditional: codec 16 of 1 was applied");
  EXPECT_THAT(FailureOf(DecodeConditional(kWide, "010000" + std::string(kPlain) + "00000000"),
                        ErrorCode::kCorrupt),
              HasSubstr("conditional: crc32c: "));
}

TEST(ConditionalTest, BrokenChunksAreCorrupt) {
  EXPECT_EQ(ConditionalFailure(""), "conditional: 0 bytes, a header has 1");
  EXPECT_EQ(ConditionalFailure("04" + std::string(kPlain)),
            "conditional: codec 2 of 2 was applied");
  EXPECT_EQ(ConditionalFailure("00" + std::string(kPlain) + "00"),
            "conditional: 17 bytes, expected at most 16");
  EXPECT_THAT(ConditionalFailure("02" + std::string(kPlain)), HasSubstr("conditional: gzip: "));
  EXPECT_THAT(ConditionalFailure("00" + std::string(kPlain.substr(2))),
              HasSubstr("15 bytes, expected 16"));
}

TEST(ConditionalTest, ConfigurationsThatCannotBeAreRefused) {
  EXPECT_EQ(ConfigurationFailure("{}"), "conditional: codecs: expected a list, found none");
  EXPECT_EQ(ConfigurationFailure(R"({"codecs": ["bytes"]})"),
            "conditional: codecs[0]: not a bytes to bytes codec");
  EXPECT_EQ(ConfigurationFailure(R"({"codecs": ["none"]})", ErrorCode::kUnsupported),
            "conditional: codecs[0]: unknown codec \"none\"");
  EXPECT_EQ(ConfigurationFailure(R"({"codecs": [{"name": "conditional",
                                     "configuration": {"codecs": []}}]})",
                                 ErrorCode::kUnsupported),
            "conditional: codecs[0]: conditional within conditional");
  EXPECT_EQ(ConfigurationFailure(R"({"codecs": ["crc32c"], "header_bits": 4})"),
            "conditional: header_bits: 4 for 1 codecs");
  EXPECT_EQ(ConfigurationFailure(R"({"codecs": ["crc32c"], "header_bits": 0})"),
            "conditional: header_bits: 0 for 1 codecs");
  EXPECT_EQ(ConfigurationFailure(R"({"codecs": [], "mask": 0})"),
            "conditional: unknown member \"mask\"");
}

TEST(ConditionalTest, TheHeaderMayHaveMoreThanOneByteOfCodecs) {
  std::string codecs = R"("crc32c")";
  for (int i = 1; i < 9; ++i) codecs += R"(, "crc32c")";
  const std::string nine =
      R"([{"name": "bytes", "configuration": {"endian": "little"}},
          {"name": "conditional", "configuration": {"codecs": [)" +
      codecs + "]}}]";
  const Bytes plain = FromHex(kPlain);
  const std::string summed = test::WithCrc32c(std::string(AsText(plain.span())));
  const std::string twice = test::WithCrc32c(summed);
  for (const auto& [head, data] :
       {std::pair{"8000", summed}, {"0001", summed}, {"8001", twice}, {"0101", twice}}) {
    const auto decoded = DecodeConditional(nine, head + ToHex(AsBytes(data)));
    ASSERT_TRUE(decoded) << head << ": " << decoded.error().message();
    EXPECT_EQ(*decoded, kPlain) << head;
  }
  EXPECT_EQ(
      FailureOf(DecodeConditional(nine, "0002" + std::string(kPlain)), ErrorCode::kCorrupt),
      "conditional: codec 9 of 9 was applied");
}

TEST(ConditionalTest, HeadersAreWholeBytesOfALimitedNumber) {
  EXPECT_EQ(ConfigurationFailure(R"({"codecs": {}})"),
            "conditional: codecs: expected a list, found an object");
  EXPECT_THAT(ConfigurationFailure(R"({"codecs": ["crc32c"], "header_bits": 1000000000})"),
              HasSubstr("header_bits: 1000000000 for 1 codecs"));
  std::string many = R"("crc32c")";
  for (int i = 0; i < 2000; ++i) many += R"(, "crc32c")";
  EXPECT_THAT(ConfigurationFailure(R"({"codecs": [)" + many + "]}", ErrorCode::kLimit),
              HasSubstr("2001 codecs, more than"));
}

}  // namespace
}  // namespace ndlfs::backends
