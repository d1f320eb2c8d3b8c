// SPDX-License-Identifier: MIT
//
// pcodec in Zarr v3, where the array says which numbers a chunk has, and what a file of it must
// not bring about. The conformance suite has the chunks of numcodecs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "tests/backends/codec/chain_testing.h"
#include "tests/backends/codec/find_golden.h"
#include "tests/backends/codec/goldens.h"

namespace ndlfs::backends {
namespace {

using model::Datatype;
using model::ErrorCode;
using ::testing::HasSubstr;

// Decodes `encoded` as a chunk of `count` elements of `dtype`, to hexadecimal.
model::Result<std::string> DecodePcodec(ConstByteSpan encoded, const Datatype& dtype,
                                        uint64_t count) {
  const ChunkForm form{dtype, {count}};
  const CodecChain chain = MakeChain(R"(["numcodecs.pcodec"])", form);
  GuardedBuffer memory(*form.byte_size());
  Scratch scratch;
  NDLFS_RETURN_IF_ERROR(chain.Decode(encoded, form.shape, memory.span(), scratch));
  EXPECT_TRUE(memory.IsIntact());
  return ToHex(memory.span());
}

std::string PcodecFailure(std::string_view hex, const Datatype& dtype = kInt32,
                          uint64_t count = 1000, ErrorCode code = ErrorCode::kCorrupt) {
  return FailureOf(DecodePcodec(FromHex(hex).span(), dtype, count), code);
}

TEST(PcodecTest, AChunkOfZarr3HasTheNumbersOfItsArray) {
  const std::vector<std::pair<std::string_view, Datatype>> goldens = {
      {"PcodecClassicUint8", kUint8},
      {"PcodecClassicInt16", kInt16},
      {"PcodecClassicInt64", kInt64},
      {"PcodecClassicFloat16", *Datatype::FromKeyword("float16")},
      {"PcodecFloatMultFloat32", Datatype::Float32()},
      {"PcodecFloatQuant", Datatype::Float64()},
  };
  for (const auto& [name, dtype] : goldens) {
    const Golden& golden = FindGolden(kGoldens, name);
    const uint64_t count = std::string_view(golden.decoded).size() / 2 / dtype.size();
    const auto decoded = DecodePcodec(FromHex(golden.encoded).span(), dtype, count);
    ASSERT_TRUE(decoded) << name << ": " << decoded.error().message();
    EXPECT_EQ(*decoded, golden.decoded) << name;
    EXPECT_THAT(FailureOf(DecodePcodec(FromHex(golden.encoded).span(), dtype, count + 1),
                          ErrorCode::kCorrupt),
                HasSubstr(fmt::format("{} bytes, expected", count * dtype.size())));
    EXPECT_THAT(FailureOf(DecodePcodec(FromHex(golden.encoded).span(), dtype, count - 1),
                          ErrorCode::kCorrupt),
                HasSubstr("more than"));
  }
}

TEST(PcodecTest, NumbersOfAnotherTypeAreNotTakenForThoseOfTheArray) {
  const std::string_view hex = FindGolden(kGoldens, "PcodecClassicFloat32").encoded;
  EXPECT_THAT(PcodecFailure(hex, kInt32, 60),
              HasSubstr("floats of 4 bytes, expected integers of 4"));
  EXPECT_THAT(PcodecFailure(hex, Datatype::Float64(), 60),
              HasSubstr("floats of 4 bytes, expected floats of 8"));
}

TEST(PcodecTest, ElementsThatPcodecDoesNotHaveAreRefused) {
  for (const Datatype& dtype : {Datatype::Bool(), Datatype::String(), Datatype::Complex(8)}) {
    EXPECT_THAT(
        MakeFailure(kZarr3, "numcodecs.pcodec", "{}", {dtype, {4}}, ErrorCode::kUnsupported),
        HasSubstr("pcodec: elements of "));
  }
}

TEST(PcodecTest, WhatIsNoFileOfPcodecIsSaidToBeNone) {
  EXPECT_THAT(PcodecFailure(""), HasSubstr("does not begin with \"pco!\""));
  EXPECT_THAT(PcodecFailure("70636f3f"), HasSubstr("does not begin with \"pco!\""));
  EXPECT_THAT(PcodecFailure("70636f21"), HasSubstr("truncated data"));
  EXPECT_THAT(PcodecFailure("70636f210300000401"), HasSubstr("truncated data"));
}

TEST(PcodecTest, LaterVersionsAreNotSupported) {
  EXPECT_THAT(PcodecFailure("70636f2104", kInt32, 10, ErrorCode::kUnsupported),
              HasSubstr("version 4 of a file of pcodec"));
  EXPECT_THAT(PcodecFailure("70636f210300000500", kInt32, 10, ErrorCode::kUnsupported),
              HasSubstr("format version 5"));
}

// The header of a file, and the beginning of a chunk of 16 numbers of int32.
constexpr std::string_view kBeginning = "70636f210300000401030f0000";

std::string ChunkFailure(std::string_view metadata) {
  return PcodecFailure(std::string(kBeginning) + std::string(metadata) + std::string(64, '0'));
}

TEST(PcodecTest, MetadataThatCannotBeAreRefused) {
  EXPECT_THAT(ChunkFailure("05"), HasSubstr("mode 5"));
  EXPECT_THAT(ChunkFailure("02"), HasSubstr("a mode of floats in integers"));
  EXPECT_THAT(ChunkFailure("010000000000"), HasSubstr("multiples of 0"));
  EXPECT_THAT(ChunkFailure("f4ffff1f"), HasSubstr("a dictionary of 33554431 for 16 numbers"));
  EXPECT_THAT(ChunkFailure("40"), HasSubstr("delta encoding 4"));
  EXPECT_THAT(ChunkFailure("1000"), HasSubstr("differences of order 0"));
  EXPECT_THAT(ChunkFailure("20e0"), HasSubstr("a window of 2^1 for a state of 2^7"));
  EXPECT_THAT(ChunkFailure("000f"), HasSubstr("a table of 2^15 states"));
  // A table of one state with two bins.
  EXPECT_THAT(ChunkFailure("0020000000000000000000"),
              HasSubstr("weights of 2 for a table of 2^0"));
  EXPECT_THAT(ChunkFailure("00"), HasSubstr("16 numbers, but no bins"));
  // One bin with offsets of 63 bits.
  EXPECT_THAT(ChunkFailure("00100000000000f801"), HasSubstr("offsets of 63 bits"));
}

// Each of these chunks of one number takes as long as a chunk of thousands.
TEST(PcodecTest, ManyTablesForFewNumbersAreRefused) {
  const auto chunks = [](size_t count) {
    std::string hex = "70636f210300000401";
    for (size_t i = 0; i < count; ++i) hex += "0a000000001e00f8ff010000000000000000";
    return FromHex(hex + "00");
  };
  EXPECT_THAT(FailureOf(DecodePcodec(chunks(20).span(), kUint8, 20), ErrorCode::kCorrupt),
              HasSubstr("tables that are too large for so few numbers"));
  const auto few = DecodePcodec(chunks(4).span(), kUint8, 4);
  ASSERT_TRUE(few) << few.error().message();
  EXPECT_EQ(*few, "00000000");
}

TEST(PcodecTest, MoreNumbersThanTheArrayHasAreRefusedBeforeTheyAreDecoded) {
  EXPECT_THAT(PcodecFailure("70636f21030000040103ffffff00", kInt32, 4),
              HasSubstr("more than 16 bytes"));
}

}  // namespace
}  // namespace ndlfs::backends
