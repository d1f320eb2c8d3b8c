// SPDX-License-Identifier: MIT
//
// Filters of HDF5 that work on bytes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/backends/codec/codec_testing.h"

namespace ndlfs::backends {
namespace {

using model::ErrorCode;

std::string Hdf5Failure(std::string_view filter, std::string_view values,
                        ErrorCode code = ErrorCode::kBadInput) {
  return MakeFailure(CodecDialect::kHdf5, filter, fmt::format(R"({{"cd_values": {}}})", values),
                     ByteForm(1), code);
}

TEST(Hdf5FilterTest, ParametersThatCannotBeAreRefused) {
  EXPECT_EQ(Hdf5Failure("2", "[]"), "shuffle: 0 parameters, expected at least 1");
  EXPECT_EQ(Hdf5Failure("2", "[4294967296]"), "shuffle: cd_values: 4294967296 is too large");
  EXPECT_EQ(Hdf5Failure("2", "{}"), "shuffle: cd_values: expected a list, found an object");
  EXPECT_EQ(Hdf5Failure("4", "[141, 8, 8, 4]"),
            "szip: 8 pixels per block, 8 bits per pixel, 4 pixels per scanline");
  EXPECT_EQ(Hdf5Failure("4", "[141, 0, 8, 8]"),
            "szip: 0 pixels per block, 8 bits per pixel, 8 pixels per scanline");
  EXPECT_EQ(Hdf5Failure("4", "[141, 8, 33, 8]"),
            "szip: 8 pixels per block, 33 bits per pixel, 8 pixels per scanline");
  EXPECT_EQ(Hdf5Failure("5", "[8, 0, 4, 1, 2, 0, 17, 0]"),
            "nbit: 17 bits from bit 0 of 2 bytes in order 0");
  EXPECT_EQ(Hdf5Failure("5", "[8, 0, 4, 1, 2, 0, 12]"),
            "nbit: the description of the type ends early");
  EXPECT_EQ(Hdf5Failure("5", "[8, 0, 4, 9, 2, 0, 12, 0]"), "nbit: unknown class 9");
  EXPECT_EQ(Hdf5Failure("5", "[9, 0, 4, 2, 7, 1, 2, 0, 12, 0]"),
            "nbit: an array of 7 bytes with items of 2");
  EXPECT_EQ(Hdf5Failure("5", "[9, 0, 4, 3, 4, 1, 3, 1, 2, 0, 12, 0]"),
            "nbit: 2 bytes where there is room for 1");
  EXPECT_EQ(Hdf5Failure("6", "[2, 0, 4, 0, 3, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]"),
            "scaleoffset: class 0, 3 bytes, sign 1, order 0");
  EXPECT_EQ(Hdf5Failure("6", "[1, 0, 4, 1, 4, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]",
                        ErrorCode::kUnsupported),
            "scaleoffset: scale type 1");
  EXPECT_EQ(Hdf5Failure("32020", "[0, 2]"), "vbz: 2 parameters, expected at least 3");
  EXPECT_EQ(Hdf5Failure("32020", "[2, 2, 1, 1]", ErrorCode::kUnsupported), "vbz: version 2");
  EXPECT_EQ(Hdf5Failure("32020", "[0, 3, 1, 1]"), "vbz: integers of 3 bytes");
  EXPECT_EQ(Hdf5Failure("32020", "[0, 8, 1, 1]"), "vbz: integers of 8 bytes");
  EXPECT_EQ(Hdf5Failure("32008", "[0, 3, 0]"), "bitshuffle: elements of 0 bytes");
  EXPECT_EQ(Hdf5Failure("32008", "[0, 3, 4, 12]"), "bitshuffle: blocks of 12 elements");
  EXPECT_EQ(Hdf5Failure("32008", "[0, 3, 4, 0, 9]", ErrorCode::kUnsupported),
            "bitshuffle: unknown compression 9");
}

TEST(Hdf5FilterTest, TheSignOfFloatsIsNotLookedAt) {
  EXPECT_EQ(Hdf5Failure("6", "[2, 0, 4, 0, 4, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]"),
            "scaleoffset: class 0, 4 bytes, sign 2, order 0");
  EXPECT_TRUE(MakeBytesToBytes(
      CodecDialect::kHdf5, "6",
      R"({"cd_values": [0, 3, 4, 1, 4, 148433160, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]})"));
}

std::string DecodeFailure(std::string_view filter, std::string_view values,
                          std::string_view encoded, size_t room) {
  const auto codec = MakeBytesToBytes(CodecDialect::kHdf5, filter,
                                      fmt::format(R"({{"cd_values": {}}})", values));
  Bytes decoded(room);
  return FailureOf(codec->Decode(FromHex(encoded).span(), decoded.span()), ErrorCode::kCorrupt);
}

TEST(Hdf5FilterTest, VbzThatLiesAboutItsSizeIsCorrupt) {
  constexpr std::string_view kPlain = "[0, 4, 1, 0]";
  EXPECT_EQ(DecodeFailure("32020", kPlain, "140000", 20), "3 bytes");
  EXPECT_EQ(DecodeFailure("32020", kPlain, "ffffffff00000a01010101", 20),
            "decodes to 4294967295 bytes, expected at most 20");
  EXPECT_EQ(DecodeFailure("32020", kPlain, "1300000000000a01010101", 20),
            "19 bytes, in integers of 4");
  EXPECT_EQ(DecodeFailure("32020", kPlain, "1400000000", 20), "truncated data");
  EXPECT_EQ(DecodeFailure("32020", kPlain, "1400000000000a010101", 20), "truncated data");
  EXPECT_EQ(DecodeFailure("32020", kPlain, "14000000ffff0a01010101", 20), "truncated data");
  EXPECT_EQ(DecodeFailure("32020", kPlain, "1000000000000a01010101", 20),
            "more data than 4 integers");
  EXPECT_EQ(DecodeFailure("32020", "[0, 0, 0, 0]", "0200000001", 20), "1 bytes, expected 2");
}

TEST(Hdf5FilterTest, LzoThatIsNotWholeIsCorrupt) {
  if (!IsBuiltIn(CodecDialect::kHdf5, "305")) GTEST_SKIP() << "LZO is not built in";
  EXPECT_EQ(DecodeFailure("305", "[]", "14616263110000", 2), "decodes to more than 2 bytes");
  EXPECT_EQ(DecodeFailure("305", "[]", "146162631100", 3), "invalid or truncated data");
  EXPECT_EQ(DecodeFailure("305", "[]", "1461626311000000", 3), "invalid or truncated data");
  EXPECT_EQ(DecodeFailure("305", "[]", "", 3), "invalid or truncated data");
}

TEST(Hdf5FilterTest, ManyNestedTypesAreRefused) {
  std::string values = "[0, 0, 1";
  for (int i = 0; i < 100; ++i) values += ", 2, 8";
  EXPECT_EQ(Hdf5Failure("5", values + "]", ErrorCode::kLimit),
            "nbit: nested more than 32 deep");
  EXPECT_EQ(Hdf5Failure("5", "[0, 0, 1, 4, 1000000]", ErrorCode::kLimit),
            "nbit: more than 100000 numbers");
}

TEST(Hdf5FilterTest, NumbersOfMoreThan64BitsAreRead) {
  // 80 bits from bit 3 of 16 bytes: 1, then 0xffff followed by 64 zero bits.
  const auto codec = MakeBytesToBytes(CodecDialect::kHdf5, "5",
                                      R"({"cd_values": [8, 0, 2, 1, 16, 0, 80, 3]})");
  Bytes decoded(32);
  const auto size = codec->Decode(FromHex("00000000000000000001"
                                          "ffff0000000000000000"
                                          "00")
                                      .span(),
                                  decoded.span());
  ASSERT_TRUE(size);
  EXPECT_EQ(ToHex(decoded.span()),
            "08000000000000000000000000000000"
            "0000000000000000f8ff070000000000");
}

TEST(Hdf5FilterTest, DescriptionsOfTypesThatLieAreRefused) {
  EXPECT_EQ(Hdf5Failure("5", "[8, 0, 4]"), "nbit: no parameters of a type");
  EXPECT_EQ(Hdf5Failure("5", "[8, 0, 4, 1, 0, 0, 8, 0]"),
            "nbit: 0 bytes where there is room for 0");
  EXPECT_EQ(Hdf5Failure("5", "[8, 0, 4, 1, 2, 2, 8, 0]"),
            "nbit: 8 bits from bit 0 of 2 bytes in order 2");
  EXPECT_EQ(Hdf5Failure("5", "[8, 0, 4, 1, 2, 0, 0, 0]"),
            "nbit: 0 bits from bit 0 of 2 bytes in order 0");
  EXPECT_EQ(Hdf5Failure("5", "[8, 0, 4, 1, 2, 0, 8, 4294967295]"),
            "nbit: 8 bits from bit 4294967295 of 2 bytes in order 0");
  EXPECT_EQ(Hdf5Failure("5", "[6, 0, 4, 2, 4, 1]"), "nbit: an array without a base type");
  EXPECT_EQ(Hdf5Failure("5", "[7, 0, 4, 2, 4, 1, 0]"),
            "nbit: an array of 4 bytes with items of 0");
  EXPECT_EQ(Hdf5Failure("5", "[9, 0, 4, 3, 4, 1, 4, 1, 2, 0, 12, 0]"),
            "nbit: a member at byte 4 of 4");
}

TEST(Hdf5FilterTest, ArraysOfWhateverBytesAreReadUnchanged) {
  const auto codec =
      MakeBytesToBytes(CodecDialect::kHdf5, "5", R"({"cd_values": [7, 0, 2, 2, 3, 4, 3]})");
  Bytes decoded(6);
  const auto size = codec->Decode(FromHex("010203fdfeff").span(), decoded.span());
  ASSERT_TRUE(size) << size.error().message();
  EXPECT_EQ(ToHex(decoded.span()), "010203fdfeff");
}

TEST(Hdf5FilterTest, TypesOfScaleOffsetAreNumbers) {
  const auto failure = [](int of_class, int size, int sign, int order) {
    return Hdf5Failure("6",
                       fmt::format("[2, 0, 4, {}, {}, {}, {}, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, "
                                   "0, 0]",
                                   of_class, size, sign, order));
  };
  EXPECT_EQ(failure(0, 3, 0, 0), "scaleoffset: class 0, 3 bytes, sign 0, order 0");
  EXPECT_EQ(failure(1, 2, 0, 0), "scaleoffset: class 1, 2 bytes, sign 0, order 0");
  EXPECT_EQ(failure(2, 4, 0, 0), "scaleoffset: class 2, 4 bytes, sign 0, order 0");
  EXPECT_EQ(failure(0, 4, 0, 2), "scaleoffset: class 0, 4 bytes, sign 0, order 2");
}

}  // namespace
}  // namespace ndlfs::backends
