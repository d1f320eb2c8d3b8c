// SPDX-License-Identifier: MIT
//
// Zarr v3 "packbits".
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

}  // namespace
}  // namespace ndlfs::backends
