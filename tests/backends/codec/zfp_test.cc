// SPDX-License-Identifier: MIT
//
// zfp of arrays, as Zarr v3 has it, and what its stream must not bring about.
// The conformance suite has the chunks of numcodecs and of HDF5.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <malloc.h>

#include <ostream>
#include <string>
#include <vector>

#include "tests/backends/codec/chain_testing.h"
#include "tests/backends/codec/find_golden.h"
#include "tests/backends/codec/goldens.h"

namespace ndlfs::backends {

void PrintTo(const ArrayGolden& golden, std::ostream* out) { *out << golden.test_name; }

namespace {

using model::Datatype;
using model::ErrorCode;
using testing::HasSubstr;

ChunkForm FormOf(const ArrayGolden& golden) {
  ChunkForm form{*Datatype::FromKeyword(golden.dtype), {}};
  for (const uint64_t extent : golden.shape) {
    if (extent != 0) form.shape.push_back(extent);
  }
  return form;
}

// A chunk in hexadecimal. What memory held before must not matter.
model::Result<std::string> DecodeWith(const CodecChain& chain, const ChunkForm& form,
                                      ConstByteSpan encoded, unsigned char memory = 0xa5) {
  ::mallopt(M_PERTURB, memory);
  GuardedBuffer decoded(*form.byte_size(), static_cast<std::byte>(memory));
  Scratch scratch;
  const Bytes input = Bytes::Copy(encoded);
  const auto status = chain.Decode(input.span(), form.shape, decoded.span(), scratch);
  ::mallopt(M_PERTURB, 0);
  EXPECT_TRUE(decoded.IsIntact());
  NDLFS_RETURN_IF_ERROR(status);
  return ToHex(decoded.span());
}

class ZfpTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!IsBuiltIn(kZarr3, "zfp")) GTEST_SKIP() << "zfp is not built in";
  }
};

class ZfpArrayTest : public testing::TestWithParam<ArrayGolden> {
 protected:
  void SetUp() override {
    if (!IsBuiltIn(kZarr3, "zfp")) GTEST_SKIP() << "zfp is not built in";
    form_ = FormOf(GetParam());
    chain_ = MakeChain(GetParam().codecs, form_);
    encoded_ = FromHex(GetParam().encoded);
  }
  model::Result<std::string> Decode(ConstByteSpan encoded, unsigned char memory = 0xa5) {
    return DecodeWith(chain_, form_, encoded, memory);
  }

  ChunkForm form_;
  CodecChain chain_;
  Bytes encoded_;
};

TEST_P(ZfpArrayTest, DecodesWhatOthersEncoded) {
  const auto decoded = Decode(encoded_.span());
  ASSERT_TRUE(decoded) << decoded.error().message();
  EXPECT_EQ(*decoded, GetParam().decoded);
  EXPECT_GE(chain_.MaxEncodedSize(form_.shape), encoded_.size());
}

// The last 7 bytes may be what fills up a word.
TEST_P(ZfpArrayTest, TruncatedInputIsTheWholeOrAnError) {
  for (size_t size = 0; size < encoded_.size(); ++size) {
    const auto decoded = Decode(encoded_.span().first(size));
    if (size + 8 <= encoded_.size()) {
      EXPECT_THAT(FailureOf(decoded, ErrorCode::kCorrupt), HasSubstr("truncated data"));
    } else if (decoded) {
      EXPECT_EQ(*decoded, GetParam().decoded) << "from " << size << " bytes";
    }
  }
}

TEST_P(ZfpArrayTest, DamagedInputDecodesToWhatMemoryHasNoPartIn) {
  for (size_t bit = 0; bit < encoded_.size() * 8; bit += 7) {  // each of a byte, in turn
    const auto mask = static_cast<std::byte>(1 << bit % 8);
    encoded_.data()[bit / 8] ^= mask;
    EXPECT_EQ(Decode(encoded_.span(), 0x11).value_or("an error"),
              Decode(encoded_.span(), 0x66).value_or("an error"));
    encoded_.data()[bit / 8] ^= mask;
  }
}

TEST_P(ZfpArrayTest, AllOnesAreSurvived) {
  const Bytes ones = [&] {
    Bytes bytes(encoded_.size() + 4096);
    std::fill_n(bytes.data(), bytes.size(), std::byte{0xff});
    return bytes;
  }();
  for (size_t size = 0; size < ones.size(); size += 61) (void)Decode(ones.span().first(size));
}

INSTANTIATE_TEST_SUITE_P(Goldens, ZfpArrayTest, testing::ValuesIn(kZfpGoldens),
                         [](const auto& info) { return std::string(info.param.test_name); });

std::string ZfpFailure(std::string_view configuration, const Datatype& dtype = kInt32,
                       const std::vector<uint64_t>& shape = {4, 4},
                       ErrorCode code = ErrorCode::kBadInput) {
  return MakeFailure(kZarr3, "zfp", configuration, {dtype, shape}, code);
}

TEST_F(ZfpTest, ConfigurationsThatCannotBeAreRefused) {
  EXPECT_EQ(ZfpFailure("{}"), "zfp: mode is missing");
  EXPECT_EQ(ZfpFailure(R"({"mode": 4})"), "zfp: mode: expected a string, found the number 4");
  EXPECT_EQ(ZfpFailure(R"({"mode": "best"})", kInt32, {4}, ErrorCode::kUnsupported),
            "zfp: mode \"best\"");
  EXPECT_EQ(ZfpFailure(R"({"mode": "reversible", "rate": 1})"), "zfp: unknown member \"rate\"");
  EXPECT_EQ(ZfpFailure(R"({"mode": "fixed_rate"})"), "zfp: \"rate\" is missing");
  EXPECT_EQ(ZfpFailure(R"({"mode": "fixed_rate", "rate": "8"})"),
            "zfp: rate: expected a number, found the string \"8\"");
  for (const std::string_view rate : {"0", "-3", "1e300", "NaN", "129"}) {
    EXPECT_THAT(ZfpFailure(fmt::format(R"({{"mode": "fixed_rate", "rate": {}}})", rate)),
                HasSubstr("zfp: rate: expected a number of bits up to 128, found "));
  }
  EXPECT_EQ(ZfpFailure(R"({"mode": "fixed_precision", "precision": -1})"),
            "zfp: precision: expected an integer from 0 to 2147483647, found the number -1");
  EXPECT_EQ(ZfpFailure(R"({"mode": "fixed_precision", "precision": 1.5})"),
            "zfp: precision: expected an integer from 0 to 2147483647, found the number 1.5");
  EXPECT_EQ(ZfpFailure(R"({"mode": "fixed_accuracy", "tolerance": null})"),
            "zfp: tolerance: expected a number, found null");
}

TEST_F(ZfpTest, ExpertParametersThatCannotBeAreRefused) {
  const auto failure = [](std::string_view minbits, std::string_view maxbits,
                          std::string_view maxprec, std::string_view minexp) {
    return ZfpFailure(
        fmt::format(R"({{"mode": "expert", "minbits": {}, "maxbits": {}, "maxprec": {},
                         "minexp": {}}})",
                    minbits, maxbits, maxprec, minexp),
        Datatype::Float32());
  };
  EXPECT_EQ(failure("20", "10", "8", "0"), "zfp: minbits: 20, but maxbits is 10");
  EXPECT_EQ(failure("1", "8", "8", "0"), "zfp: blocks of 1 to 8 bits");
  EXPECT_EQ(failure("1", "14", "8", "-2000"), "zfp: blocks of 1 to 14 bits");
  EXPECT_THAT(failure("4294967295", "4294967295", "8", "0"),
              HasSubstr("zfp: minbits: expected"));
  EXPECT_THAT(failure("1", "100", "65", "0"), HasSubstr("zfp: maxprec: expected an integer"));
  EXPECT_THAT(failure("1", "100", "0", "0"), HasSubstr("zfp: maxprec: expected an integer"));
  EXPECT_THAT(failure("1", "100", "8", "2000000000"), HasSubstr("zfp: minexp: expected"));
}

TEST_F(ZfpTest, ArraysThatItDoesNotApplyToAreRefused) {
  constexpr std::string_view kReversible = R"({"mode": "reversible"})";
  EXPECT_EQ(ZfpFailure(kReversible, kInt32, {1, 2, 1, 2, 1}),
            "zfp: a chunk of 5 dimensions, at most 4 can be encoded");
  EXPECT_EQ(ZfpFailure(kReversible, Datatype::Bool(), {4}, ErrorCode::kUnsupported),
            "zfp: elements of enum");
  EXPECT_EQ(ZfpFailure(kReversible, Datatype::String(), {4}, ErrorCode::kUnsupported),
            "zfp: elements of string");
}

TEST_F(ZfpTest, ChunksWithoutDimensionsAreOneNumber) {
  const ArrayGolden& golden = FindGolden(kZfpGoldens, "ZfpConstant");
  const ChunkForm form{Datatype::Float32(), {}};
  const auto decoded =
      DecodeWith(MakeChain(golden.codecs, form), form, FromHex(golden.encoded).span());
  ASSERT_TRUE(decoded) << decoded.error().message();
  EXPECT_EQ(*decoded, "00002040");
}

// A block of -1, -1, -1, -1 as it stands in the reversible mode.
TEST_F(ZfpTest, UnsignedNumbersAreNeverBelowZero) {
  const Bytes minus_one = FromHex("c0ffffffffffffffffff");
  const ChunkForm as_signed{kInt32, {4}};
  constexpr std::string_view kExpert =
      R"([{"name": "zfp", "configuration": {"mode": "expert", "minbits": 1, "maxbits": 60,
                                            "maxprec": 64, "minexp": -1074}}])";
  const auto numbers = DecodeWith(MakeChain(kExpert, as_signed), as_signed, minus_one.span());
  ASSERT_TRUE(numbers) << numbers.error().message();
  const ChunkForm as_unsigned{Datatype::Integer(4, false), {4}};
  const auto raised =
      DecodeWith(MakeChain(kExpert, as_unsigned), as_unsigned, minus_one.span());
  ASSERT_TRUE(raised) << raised.error().message();
  const auto before = ValuesOf<int32_t>(FromHex(*numbers).span());
  const auto after = ValuesOf<int32_t>(FromHex(*raised).span());
  EXPECT_THAT(before, testing::Contains(testing::Lt(0)));
  for (size_t i = 0; i < 4; ++i) EXPECT_EQ(after[i], std::max(before[i], 0));
}

TEST_F(ZfpTest, HeadersOfOtherArraysAreRefused) {
  const Bytes encoded = FromHex(FindGolden(kGoldens, "ZfpyFloat32Reversible1d").encoded);
  constexpr std::string_view kZfpy = R"(["numcodecs.zfpy"])";
  const auto failure = [&](const Datatype& dtype, uint64_t extent) {
    const ChunkForm form{dtype, {extent}};
    return FailureOf(DecodeWith(MakeChain(kZfpy, form), form, encoded.span()),
                     ErrorCode::kCorrupt);
  };
  EXPECT_THAT(failure(kInt32, 7), HasSubstr("the type in the header is not that of the array"));
  EXPECT_THAT(failure(Datatype::Float32(), 8), HasSubstr("7 elements, expected 8"));
  const ChunkForm form{Datatype::Float32(), {7, 1}};  // the same number of elements
  EXPECT_EQ(DecodeWith(MakeChain(kZfpy, form), form, encoded.span()).value_or("an error"),
            FindGolden(kGoldens, "ZfpyFloat32Reversible1d").decoded);
}

TEST_F(ZfpTest, ClientDataWithoutAHeaderIsRefused) {
  const auto failure = [](std::string_view values, ErrorCode code) {
    return MakeFailure(CodecDialect::kHdf5, "32013", values, ByteForm(1), code);
  };
  EXPECT_EQ(failure(R"({"cd_values": [1]})", ErrorCode::kBadInput),
            "zfp: 1 parameters, expected at least 2");
  EXPECT_EQ(failure(R"({"cd_values": [5570817, 1, 2, 3]})", ErrorCode::kUnsupported),
            "zfp: the parameters hold no zfp header of version 5");
  // Of version 4, and cut short.
  EXPECT_EQ(failure(R"({"cd_values": [5570817, 74475130, 805306486, 4293918720]})",
                    ErrorCode::kUnsupported),
            "zfp: the parameters hold no zfp header of version 5");
  EXPECT_EQ(
      failure(R"({"cd_values": [5570817, 91252346, 805306486]})", ErrorCode::kUnsupported),
      "zfp: the parameters hold no zfp header of version 5");
}

// As H5Z-ZFP writes on a big-endian machine.
TEST_F(ZfpTest, ClientDataOfTheOtherByteOrderMeansNumbersOfThatOrder) {
  const Golden& golden = FindGolden(kGoldens, "Hdf5ZfpInt32");
  Json swapped = *ParseJson(golden.configuration);
  for (Json& value : swapped["cd_values"]) value = __builtin_bswap32(value.get<uint32_t>());
  const auto codec = MakeBytesToBytes(CodecDialect::kHdf5, "32013", swapped.dump());
  Bytes expected = FromHex(golden.decoded);
  Bytes decoded(expected.size());
  const auto size = codec->Decode(FromHex(golden.encoded).span(), decoded.span());
  ASSERT_TRUE(size) << size.error().message();
  for (size_t i = 0; i < expected.size(); i += 4) {
    std::reverse(expected.data() + i, expected.data() + i + 4);
  }
  EXPECT_EQ(ToHex(decoded.span()), ToHex(expected.span()));
}

// In 64 bits each block of 256 values: more than there are bytes to read.
TEST_F(ZfpTest, BlocksThatTakeMoreThanThereIsAreTruncated) {
  const ChunkForm form{Datatype::Float64(), {1000, 1, 1, 1}};
  const auto chain = MakeChain(
      R"([{"name": "zfp", "configuration": {"mode": "expert", "minbits": 32768,
                                            "maxbits": 32768, "maxprec": 64, "minexp": 0}}])",
      form);
  const Bytes zeros = FromHex(std::string(4096 * 2 * 249, '0'));
  EXPECT_THAT(FailureOf(DecodeWith(chain, form, zeros.span()), ErrorCode::kCorrupt),
              HasSubstr("truncated data"));
  EXPECT_GE(chain.MaxEncodedSize(form.shape), uint64_t{4096} * 250);
}

}  // namespace
}  // namespace ndlfs::backends
