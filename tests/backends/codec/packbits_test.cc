// SPDX-License-Identifier: MIT
//
// Zarr v3 "packbits".
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/backends/codec/chain_testing.h"

namespace ndlfs::backends {
namespace {

using model::Datatype;
using model::ErrorCode;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(PackBitsTest, FirstElementsAreInTheLowestBits) {
  const ChunkForm form{Datatype::Bool(), {10}};
  const CodecChain chain = MakeChain(R"(["packbits"])", form);
  EXPECT_EQ(chain.ExactEncodedSize(form.shape), 2u);
  EXPECT_THAT(*Decode<uint8_t>(chain, FromHex("9602").span(), form.shape),
              ElementsAre(0, 1, 1, 0, 1, 0, 0, 1, 0, 1));
}

TEST(PackBitsTest, ARangeOfBitsIsShiftedAndExtended) {
  // Bits 4 to 6 of int8: 3 bits each, 001 and 111.
  const ChunkForm form{kInt8, {2}};
  const CodecChain chain = MakeChain(
      R"([{"name": "packbits", "configuration": {"first_bit": 4, "last_bit": 6}}])", form);
  EXPECT_THAT(*Decode<int8_t>(chain, FromHex("39").span(), form.shape), ElementsAre(16, -16));
}

TEST(PackBitsTest, NumbersMayCrossBytes) {
  const ChunkForm form{Datatype::Integer(4, false), {3}};
  const CodecChain chain = MakeChain(
      R"([{"name": "packbits", "configuration": {"last_bit": 19, "padding_encoding": "first_byte"}}])",
      form);
  // 0x12345, 0xabcde, 0x0ffff one after the other, then 4 bits of padding.
  EXPECT_THAT(*Decode<uint32_t>(chain, FromHex("044523e1cdabffff00").span(), form.shape),
              ElementsAre(0x12345, 0xabcde, 0x0ffff));
}

TEST(PackBitsTest, FloatsHaveAllTheirBits) {
  const std::string two = "0000000000000040";
  EXPECT_THAT(*Decode<double>(MakeChain(R"(["packbits"])", {Datatype::Float64(), {2}}),
                              FromHex("000000000000f03f" + two).span(), {2}),
              ElementsAre(1.0, 2.0));
  EXPECT_THAT(*Decode<double>(MakeChain(R"(["packbits"])", {Datatype::Complex(16), {1}}),
                              FromHex("000000000000f03f" + two).span(), {1}),
              ElementsAre(1.0, 2.0));
  const Datatype half = Datatype::Float("float16", 2);
  const Datatype complex32 = Datatype::PackedCompound({{"r", half, 0}, {"i", half, 0}});
  EXPECT_THAT(*Decode<uint16_t>(MakeChain(R"(["packbits"])", {complex32, {1}}),
                                FromHex("003c0040").span(), {1}),
              ElementsAre(0x3c00, 0x4000));
}

TEST(PackBitsTest, WrongPaddingOrLengthIsCorrupt) {
  const ChunkForm form{Datatype::Bool(), {10}};
  const CodecChain last = MakeChain(
      R"([{"name": "packbits", "configuration": {"padding_encoding": "last_byte"}}])", form);
  EXPECT_THAT(*Decode<uint8_t>(last, FromHex("960206").span(), form.shape),
              ElementsAre(0, 1, 1, 0, 1, 0, 0, 1, 0, 1));
  EXPECT_EQ(FailureOf(Decode<uint8_t>(last, FromHex("960205").span(), form.shape),
                      ErrorCode::kCorrupt),
            "packbits: 5 bits of padding, expected 6");
  EXPECT_EQ(
      FailureOf(Decode<uint8_t>(last, FromHex("9602").span(), form.shape), ErrorCode::kCorrupt),
      "packbits: 2 bytes, expected 3");
}

TEST(PackBitsTest, ThePlaceOfThePaddingHasTheNamesOfTheDraftToo) {
  const ChunkForm form{Datatype::Bool(), {3}};
  const auto decode = [&](std::string_view place, std::string_view encoded) {
    const CodecChain chain = MakeChain(
        fmt::format(
            R"([{{"name": "packbits", "configuration": {{"padding_encoding": "{}"}}}}])",
            place),
        form);
    return *Decode<uint8_t>(chain, FromHex(encoded).span(), form.shape);
  };
  EXPECT_THAT(decode("none", "06"), ElementsAre(0, 1, 1));
  EXPECT_THAT(decode("first_byte", "0506"), ElementsAre(0, 1, 1));
  EXPECT_THAT(decode("start_byte", "0506"), ElementsAre(0, 1, 1));
  EXPECT_THAT(decode("last_byte", "0605"), ElementsAre(0, 1, 1));
  EXPECT_THAT(decode("end_byte", "0605"), ElementsAre(0, 1, 1));
}

TEST(PackBitsTest, WholeBytesHaveNoPadding) {
  const ChunkForm form{Datatype::Bool(), {8}};
  const CodecChain chain = MakeChain(
      R"([{"name": "packbits", "configuration": {"padding_encoding": "first_byte"}}])", form);
  EXPECT_THAT(*Decode<uint8_t>(chain, FromHex("0096").span(), form.shape),
              ElementsAre(0, 1, 1, 0, 1, 0, 0, 1));
  EXPECT_EQ(FailureOf(Decode<uint8_t>(chain, FromHex("0896").span(), form.shape),
                      ErrorCode::kCorrupt),
            "packbits: 8 bits of padding, expected 0");
}

TEST(PackBitsTest, NumbersWithoutASignAreNotExtended) {
  const ChunkForm form{kUint8, {2}};
  const CodecChain chain = MakeChain(
      R"([{"name": "packbits", "configuration": {"first_bit": 4, "last_bit": 6}}])", form);
  EXPECT_THAT(*Decode<uint8_t>(chain, FromHex("39").span(), form.shape), ElementsAre(16, 112));
}

TEST(PackBitsTest, OneBitMayBeBothTheFirstAndTheLast) {
  const ChunkForm form{kUint8, {8}};
  const CodecChain chain = MakeChain(
      R"([{"name": "packbits", "configuration": {"first_bit": 7, "last_bit": 7}}])", form);
  EXPECT_THAT(*Decode<uint8_t>(chain, FromHex("03").span(), form.shape),
              ElementsAre(128, 128, 0, 0, 0, 0, 0, 0));
}

TEST(PackBitsTest, SmallFloatsHaveTheirBits) {
  const ChunkForm four{Datatype::Float("float4_e2m1fn", 1), {3}};
  EXPECT_THAT(*Decode<uint8_t>(MakeChain(R"(["packbits"])", four), FromHex("210f").span(), {3}),
              ElementsAre(1, 2, 15));
  const ChunkForm six{Datatype::Float("float6_e2m3fn", 1), {3}};
  EXPECT_THAT(
      *Decode<uint8_t>(MakeChain(R"(["packbits"])", six), FromHex("81f003").span(), {3}),
      ElementsAre(1, 2, 63));
}

TEST(PackBitsTest, PairsThatAreNoComplexNumbersAreRefused) {
  const Datatype half = Datatype::Float("float16", 2);
  const std::vector<Datatype> others = {
      Datatype::PackedCompound({{"x", half, 0}, {"i", half, 0}}),
      Datatype::PackedCompound({{"r", half, 0}, {"y", half, 0}}),
      Datatype::PackedCompound({{"r", kInt16, 0}, {"i", kInt16, 0}}),
      Datatype::PackedCompound({{"r", half, 0}, {"i", Datatype::Float64(), 0}}),
      Datatype::PackedCompound({{"r", half, 0}}),
  };
  for (const Datatype& other : others) {
    EXPECT_THAT(ConfigFailure("packbits", "{}", {other, {1}}), HasSubstr("does not apply"));
  }
}

// The one of numcodecs, over bytes and over arrays.
TEST(PackBitsTest, ThatOfNumcodecsHasThePaddingInFrontAndHighBitsFirst) {
  const ChunkForm form{Datatype::Bool(), {10}};
  const auto codec = MakeCodecFrom(CodecDialect::kNumcodecs, "packbits", "{}", form);
  ASSERT_TRUE(codec) << codec.error().message();
  const auto& bytes = *std::get<std::shared_ptr<const BytesToBytesCodec>>(*codec);
  EXPECT_EQ(bytes.EncodedSize(10).size, 3u);
  EXPECT_EQ(bytes.EncodedSize(8).size, 2u);
  const auto decode = [&](std::string_view encoded, size_t size) {
    GuardedBuffer memory(size);
    const auto count = bytes.Decode(FromHex(encoded).span(), memory.span());
    EXPECT_TRUE(memory.IsIntact());
    return count ? fmt::format("{}: {}", *count,
                               fmt::join(ValuesOf<uint8_t>(memory.span().first(*count)), ""))
                 : count.error().message();
  };
  EXPECT_EQ(decode("069640", 10), "10: 1001011001");
  EXPECT_EQ(decode("0096", 8), "8: 10010110");
  EXPECT_EQ(decode("0796", 1), "1: 1");
  EXPECT_EQ(decode("00", 0), "0: ");
  EXPECT_EQ(decode("0096", 7), "decodes to more than expected");
  EXPECT_EQ(decode("", 1), "no data");
  EXPECT_EQ(decode("0896", 8), "2 bytes with 8 bits of padding");
  EXPECT_EQ(decode("01", 8), "1 bytes with 1 bits of padding");
}

TEST(PackBitsTest, ConfigurationsThatCannotBeAreRefused) {
  EXPECT_EQ(ConfigFailure("packbits", R"({"first_bit": 3, "last_bit": 2})", {kInt8, {1}}),
            "packbits: first_bit and last_bit: 3 to 2 of 8 bits");
  EXPECT_EQ(ConfigFailure("packbits", R"({"last_bit": 8})", {kInt8, {1}}),
            "packbits: first_bit and last_bit: 0 to 8 of 8 bits");
  EXPECT_THAT(
      ConfigFailure("packbits", R"({"padding_encoding": "both"})", {kInt8, {1}}),
      HasSubstr("padding_encoding: expected \"none\", \"first_byte\" or \"last_byte\""));
  EXPECT_EQ(ConfigFailure("packbits", "{}", {Datatype::Opaque(2), {1}}),
            "packbits: does not apply to elements of opaque");
}

TEST(PackBitsTest, StructsThatOnlyLookComplexAreRefused) {
  const auto pair = [](const Datatype& r, const Datatype& i, size_t bytes) {
    return Datatype::Compound({{"r", r, 0}, {"i", i, r.size()}}, bytes);
  };
  const Datatype float32 = Datatype::Float32();
  EXPECT_TRUE(MakeCodecFrom(kZarr3, "packbits", "{}", {pair(float32, float32, 8), {1}}));
  for (const Datatype& other :
       {pair(float32, float32, 12), pair(float32, Datatype::Float64(), 12),
        pair(kInt32, kInt32, 8), Datatype::Compound({{"r", float32, 0}}, 4)}) {
    EXPECT_THAT(ConfigFailure("packbits", "{}", {other, {1}}),
                HasSubstr("packbits: does not apply to elements of compound"));
  }
}

}  // namespace
}  // namespace ndlfs::backends
