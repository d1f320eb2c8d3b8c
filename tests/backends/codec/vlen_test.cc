// SPDX-License-Identifier: MIT
//
// Texts, bytes and arrays of variable length.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zstd.h>

#include <string>

#include "tests/backends/codec/variable_testing.h"

namespace ndlfs::backends {
namespace {

using model::Datatype;
using model::ErrorCode;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::string_view kVlenTexts =
    "0300000003000000666f6f00000000050000006"
    "6c3bc6e66";

TEST(VlenTest, TextsBecomeAnElementStream) {
  const ChunkForm form{Datatype::String(), {3}};
  const auto stream =
      DecodeVariable(MakeChain(R"(["vlen-utf8"])", form), FromHex(kVlenTexts).span(), {3});
  ASSERT_TRUE(stream) << stream.error().message();
  EXPECT_THAT(ElementsOf(*stream, 3), ElementsAre(Text("foo"), Text(""), Text("fünf")));
}

TEST(VlenTest, FortranOrderIsUndone) {
  const CodecChain chain =
      MakeZarr2(R"([{"id": "vlen-utf8"}])", Datatype::String(), {1, 3}, true);
  EXPECT_TRUE(DecodeVariable(chain, FromHex(kVlenTexts).span(), {1, 3}));
  const CodecChain square =
      MakeZarr2(R"([{"id": "vlen-bytes"}])", Datatype::String(), {2, 2}, true);
  const auto stream = DecodeVariable(square,
                                     FromHex("04000000"
                                             "0100000061"
                                             "0100000062"
                                             "0100000063"
                                             "0100000064")
                                         .span(),
                                     {2, 2});
  ASSERT_TRUE(stream);
  EXPECT_THAT(ElementsOf(*stream, 4), ElementsAre(Text("a"), Text("c"), Text("b"), Text("d")));
}

TEST(VlenTest, CompressedTextsMayExpandManyTimes) {
  const std::string long_text(300000, 'x');
  std::string encoded = std::string("\1\0\0\0", 4) + Text(long_text);
  Bytes compressed(1000);
  compressed.Shrink(
      ZSTD_compress(compressed.data(), compressed.size(), encoded.data(), encoded.size(), 1));
  const CodecChain chain = MakeZarr2(R"([{"id": "vlen-utf8"}])", Datatype::String(), {1}, false,
                                     R"({"id": "zstd", "level": 1})");
  const auto stream = DecodeVariable(chain, compressed.span(), {1});
  ASSERT_TRUE(stream) << stream.error().message();
  EXPECT_THAT(ElementsOf(*stream, 1), ElementsAre(Text(long_text)));
  EXPECT_THAT(VariableFailure(chain, compressed.span(), {1}, 100000),
              HasSubstr("zstd: Destination buffer is too small"));
}

TEST(VlenTest, MoreThanTheLimitIsRefused) {
  const CodecChain chain = MakeChain(R"(["vlen-utf8"])", {Datatype::String(), {3}});
  EXPECT_EQ(VariableFailure(chain, FromHex(kVlenTexts).span(), {3}, 50, ErrorCode::kLimit),
            "vlen-utf8: more than 50 bytes of elements");
}

TEST(VlenTest, ArraysCountItemsInNativeOrder) {
  const Datatype item = Datatype::Integer(2, true, model::ByteOrder::kBig);
  const CodecChain chain =
      MakeZarr2(R"([{"id": "vlen-array", "dtype": ">i2"}])", Datatype::Vlen(item), {2});
  const auto stream = DecodeVariable(chain,
                                     FromHex("02000000"
                                             "04000000"
                                             "00010002"
                                             "00000000")
                                         .span(),
                                     {2});
  ASSERT_TRUE(stream) << stream.error().message();
  const auto elements = ElementsOf(*stream, 2);
  EXPECT_EQ(ToHex(AsBytes(elements[0])),
            "02000000"
            "01000200");
  EXPECT_EQ(ToHex(AsBytes(elements[1])), "00000000");
  EXPECT_EQ(VariableFailure(chain,
                            FromHex("02000000"
                                    "03000000"
                                    "000102"
                                    "00000000")
                                .span(),
                            {2}),
            "vlen-array: element 0: 3 bytes are not a whole number of items");
}

TEST(VlenTest, LengthsThatLieAreCorrupt) {
  const CodecChain chain = MakeChain(R"(["vlen-utf8"])", {Datatype::String(), {2}});
  const auto failure = [&](std::string_view hex) {
    return VariableFailure(chain, FromHex(hex).span(), {2});
  };
  EXPECT_EQ(failure("0200"), "vlen-utf8: 2 bytes");
  EXPECT_EQ(failure("03000000"), "vlen-utf8: 3 elements, expected 2");
  EXPECT_EQ(failure("02000000"), "vlen-utf8: 4 bytes are too few for 2 elements");
  EXPECT_EQ(failure("020000000000000005000000"),
            "vlen-utf8: element 1 of 5 bytes extends beyond the end");
  EXPECT_EQ(failure("02000000ffffffff00000000"),
            "vlen-utf8: element 0 of 4294967295 bytes extends beyond the end");
  EXPECT_EQ(failure("020000000400000000000000"), "vlen-utf8: ends at element 1");
  EXPECT_EQ(failure("02000000000000000000000000"), "vlen-utf8: 1 bytes after the last element");
  EXPECT_EQ(failure("020000000100000080"
                    "00000000"),
            "vlen-utf8: element 0: not UTF-8");
}

TEST(VlenTest, EveryTruncationIsCorrupt) {
  const CodecChain chain = MakeChain(R"(["vlen-utf8"])", {Datatype::String(), {3}});
  const Bytes encoded = FromHex(kVlenTexts);
  for (size_t size = 0; size < encoded.size(); ++size) {
    const Bytes part = Bytes::Copy(encoded.span().first(size));
    EXPECT_FALSE(DecodeVariable(chain, part.span(), {3})) << size;
  }
}

TEST(VlenTest, OtherTypesAreRefused) {
  EXPECT_EQ(ConfigFailure("vlen-utf8", "{}", {kInt16, {2}}),
            "vlen-utf8: does not apply to elements of int16");
  EXPECT_EQ(ConfigFailure("vlen-bytes", "{}", {Datatype::Vlen(kInt16), {2}}),
            "vlen-bytes: does not apply to elements of vlen");
  EXPECT_EQ(ConfigFailure("numcodecs.vlen-array", R"({"dtype": "<i4"})",
                          {Datatype::Vlen(kInt16), {2}}),
            "vlen-array: does not apply to elements of vlen");
}

TEST(VlenTest, ListsOfSingleBytesLookLikeTextsAndOthersDoNot) {
  const auto encoded = FromHex(kVlenTexts);
  for (const std::string_view codec : {R"(["vlen-bytes"])", R"(["vlen-utf8"])"}) {
    const ChunkForm form{Datatype::Vlen(kUint8), {3}};
    const auto stream = DecodeVariable(MakeChain(codec, form), encoded.span(), {3});
    ASSERT_TRUE(stream) << stream.error().message();
    EXPECT_THAT(ElementsOf(*stream, 3), ElementsAre(Text("foo"), Text(""), Text("fünf")));
    EXPECT_THAT(FailureOf(MakeZarr3Chain(*ParseJson(codec), {Datatype::Vlen(kInt16), {3}}),
                          ErrorCode::kBadInput),
                HasSubstr("does not apply to elements of "));
  }
}

TEST(VlenTest, ItemsMayBeOfAByte) {
  const CodecChain chain =
      MakeZarr2(R"([{"id": "vlen-array", "dtype": "|u1"}])", Datatype::Vlen(kUint8), {1});
  const auto stream = DecodeVariable(chain, FromHex("01000000020000000708").span(), {1});
  ASSERT_TRUE(stream) << stream.error().message();
  EXPECT_EQ(ToHex(AsBytes(ElementsOf(*stream, 1)[0])), "020000000708");
}

TEST(VlenTest, ItemsThatCannotBeAreRefused) {
  EXPECT_EQ(ConfigFailure("numcodecs.vlen-array", R"({"dtype": "|S0"})",
                          {Datatype::Vlen(kInt16), {2}}),
            "vlen-array: dtype: items of 0 bytes");
  for (const Datatype& dtype :
       {kInt16, Datatype::String(), Datatype::Vlen(Datatype::String())}) {
    EXPECT_THAT(ConfigFailure("numcodecs.vlen-array", R"({"dtype": "<i2"})", {dtype, {2}}),
                HasSubstr("vlen-array: does not apply to elements of"));
  }
  EXPECT_EQ(ConfigFailure("vlen-utf8", "{}", {Datatype::Vlen(Datatype::String()), {2}}),
            "vlen-utf8: does not apply to elements of vlen");
}

// Two shards' worth of text: [["a", "bb"], ["c", "dd"]] in inner chunks of one column, of
// which the second is missing if `has_second` is false.
Bytes ShardOfTexts(bool has_second) {
  const std::string first =
      "020000000100000061"
      "0100000063";
  const std::string second =
      "02000000020000006262"
      "020000006464";
  std::string index =
      "0000000000000000"
      "0e00000000000000";
  index += has_second ? "0e00000000000000"
                        "1000000000000000"
                      : "ffffffffffffffff"
                        "ffffffffffffffff";
  return FromHex(first + (has_second ? second : "") + index);
}

CodecChain ShardedTexts(std::string_view fill) {
  const auto bytes = std::as_bytes(std::span(fill));
  return MakeChain(
      R"([{"name": "sharding_indexed", "configuration": {"chunk_shape": [2, 1],
           "codecs": ["vlen-utf8"],
           "index_codecs": [{"name": "bytes", "configuration": {"endian": "little"}}]}}])",
      {Datatype::String(), {2, 2}, {bytes.begin(), bytes.end()}});
}

TEST(VlenTest, TextsInShardsAreInTheOrderOfTheShard) {
  const CodecChain chain = ShardedTexts(Text("-"));
  const auto whole = DecodeVariable(chain, ShardOfTexts(true).span(), {2, 2});
  ASSERT_TRUE(whole) << whole.error().message();
  EXPECT_THAT(ElementsOf(*whole, 4), ElementsAre(Text("a"), Text("bb"), Text("c"), Text("dd")));
  const auto half = DecodeVariable(chain, ShardOfTexts(false).span(), {2, 2});
  ASSERT_TRUE(half) << half.error().message();
  EXPECT_THAT(ElementsOf(*half, 4), ElementsAre(Text("a"), Text("-"), Text("c"), Text("-")));
}

TEST(VlenTest, ShardsOfMoreThanTheLimitAreRefused) {
  const CodecChain chain = ShardedTexts(Text("-"));
  const Bytes shard = ShardOfTexts(true);
  EXPECT_THAT(VariableFailure(chain, shard.span(), {2, 2}, 31, ErrorCode::kLimit),
              ::testing::HasSubstr("sharding_indexed: a chunk of 4 elements"));
  EXPECT_THAT(VariableFailure(chain, shard.span(), {2, 2}, 60, ErrorCode::kLimit),
              ::testing::HasSubstr("sharding_indexed: a chunk of 62 bytes, more than 60"));
}

}  // namespace
}  // namespace ndlfs::backends
