// SPDX-License-Identifier: MIT
//
// Fields of GRIB messages: what eccodes and the Manual on Codes say, and damaged messages.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <malloc.h>

#include <cmath>
#include <limits>
#include <ostream>
#include <string>
#include <vector>

#include "backends/codec/grib/field_codec.h"
#include "backends/codec/grib/octets.h"
#include "tests/backends/codec/chain_testing.h"
#include "tests/backends/codec/find_golden.h"
#include "tests/backends/codec/grib_goldens.h"

namespace ndlfs::backends {

void PrintTo(const GribGolden& golden, std::ostream* out) { *out << golden.test_name; }

namespace {

using model::Datatype;
using model::ErrorCode;
using ::testing::HasSubstr;

constexpr size_t kGribPoints = 48;

// Decodes a field in stored order.
template <typename T>
model::Result<std::vector<T>> DecodeField(ConstByteSpan message, size_t field = 0) {
  GribFieldOptions options;
  options.field = field;
  options.order = GribOrder::kStored;
  const Datatype dtype = sizeof(T) == 4 ? Datatype::Float32() : Datatype::Float64();
  GuardedBuffer memory(kGribPoints * sizeof(T));
  // A copy of its own, so that address sanitizers see a read past its end.
  const Bytes input = Bytes::Copy(message);
  const auto status =
      MakeGribFieldCodec(options)->Decode(input.span(), {dtype, {kGribPoints}}, memory.span());
  EXPECT_TRUE(memory.IsIntact());
  NDLFS_RETURN_IF_ERROR(status);
  return ValuesOf<T>(memory.span());
}

// A build may lack a library.
bool IsLeftOut(const model::Error& error) {
  return error.message().ends_with(" is not built in");
}

// Equal within one unit of float32; NaN equals NaN.
template <typename T>
bool IsNear(T value, double expected) {
  if (std::isnan(expected)) return std::isnan(value);
  const auto narrow = static_cast<float>(std::abs(expected));
  const double unit = std::nextafter(narrow, std::numeric_limits<float>::infinity()) - narrow;
  return std::abs(static_cast<double>(value) - expected) <= unit;
}

class GribGoldenTest : public testing::TestWithParam<GribGolden> {
 protected:
  GribGoldenTest()
      : message_(FromHex(GetParam().message)),
        values_(ValuesOf<double>(FromHex(GetParam().values).span())) {}

  void SetUp() override {
    const auto values = DecodeField<double>(message_.span());
    if (!values && IsLeftOut(values.error())) GTEST_SKIP() << values.error().message();
  }

  const Bytes message_;
  const std::vector<double> values_;
};

TEST_P(GribGoldenTest, EachFieldHasItsValues) {
  for (size_t field = 0; field < values_.size() / kGribPoints; ++field) {
    const auto values = DecodeField<double>(message_.span(), field);
    ASSERT_TRUE(values) << values.error().message();
    const auto floats = DecodeField<float>(message_.span(), field);
    ASSERT_TRUE(floats) << floats.error().message();
    for (size_t i = 0; i < kGribPoints; ++i) {
      const double expected = values_[field * kGribPoints + i];
      EXPECT_TRUE(IsNear((*values)[i], expected))
          << i << ": " << (*values)[i] << ' ' << expected;
      EXPECT_TRUE(IsNear((*floats)[i], expected))
          << i << ": " << (*floats)[i] << ' ' << expected;
    }
  }
  EXPECT_THAT(FailureOf(DecodeField<float>(message_.span(), values_.size() / kGribPoints),
                        ErrorCode::kCorrupt),
              HasSubstr("without field"));
}

TEST_P(GribGoldenTest, BytesBehindTheMessageAreIgnored) {
  Bytes longer(message_.size() + 9);
  std::copy_n(message_.data(), message_.size(), longer.data());
  std::fill_n(longer.data() + message_.size(), 9, std::byte{0x37});
  EXPECT_TRUE(DecodeField<float>(longer.span()));
}

TEST_P(GribGoldenTest, MoreOrFewerPointsThanTheArrayHasAreCorrupt) {
  for (const size_t count : {kGribPoints - 1, kGribPoints + 1}) {
    std::vector<float> memory(count);
    EXPECT_THAT(FailureOf(MakeGribFieldCodec({})->Decode(
                              message_.span(), {Datatype::Float32(), {count}},
                              std::as_writable_bytes(std::span(memory))),
                          ErrorCode::kCorrupt),
                HasSubstr(fmt::format("a field of 48 points, expected {}", count)));
  }
}

TEST_P(GribGoldenTest, AMessageThatIsCutAnywhereIsCorrupt) {
  for (size_t size = 0; size < message_.size(); ++size) {
    const auto values = DecodeField<float>(message_.span().first(size));
    ASSERT_FALSE(values) << "from " << size << " bytes";
    EXPECT_EQ(values.error().code(), ErrorCode::kCorrupt) << values.error().message();
  }
}

void ExpectSurvived(const model::Result<std::vector<float>>& values) {
  if (values) return;
  EXPECT_THAT(values.error().code(),
              testing::AnyOf(ErrorCode::kCorrupt, ErrorCode::kUnsupported, ErrorCode::kLimit))
      << values.error().message();
}

TEST_P(GribGoldenTest, AnyFlippedBitIsSurvived) {
  Bytes damaged = Bytes::Copy(message_.span());
  for (size_t bit = 0; bit < damaged.size() * 8; ++bit) {
    const auto mask = static_cast<std::byte>(1 << bit % 8);
    damaged.data()[bit / 8] ^= mask;
    ExpectSurvived(DecodeField<float>(damaged.span()));
    damaged.data()[bit / 8] ^= mask;
  }
}

TEST_P(GribGoldenTest, AnyByteSetToAllOnesIsSurvived) {
  Bytes damaged = Bytes::Copy(message_.span());
  for (size_t i = 0; i < damaged.size(); ++i) {
    const std::byte before = std::exchange(damaged.data()[i], std::byte{0xff});
    ExpectSurvived(DecodeField<float>(damaged.span()));
    damaged.data()[i] = before;
  }
}

// What is shown has been decoded; it is never what memory happened to hold.
TEST_P(GribGoldenTest, WhatDamagedMessagesDecodeToIsAlwaysTheSame) {
  Bytes damaged = Bytes::Copy(message_.span());
  const auto decode = [&](unsigned char memory) {
    ::mallopt(M_PERTURB, memory);
    const auto values = DecodeField<float>(damaged.span());
    ::mallopt(M_PERTURB, 0);
    return values ? ToHex(std::as_bytes(std::span(*values))) : "an error";
  };
  for (size_t i = 0; i < damaged.size(); ++i) {
    damaged.data()[i] ^= std::byte{0x05};
    EXPECT_EQ(decode(0x11), decode(0x66)) << "byte " << i;
    damaged.data()[i] ^= std::byte{0x05};
  }
}

INSTANTIATE_TEST_SUITE_P(Goldens, GribGoldenTest, testing::ValuesIn(kGribGoldens),
                         [](const auto& info) { return std::string(info.param.test_name); });

// A golden with other octets.
class Damaged {
 public:
  explicit Damaged(std::string_view name)
      : bytes_(FromHex(FindGolden(kGribGoldens, name).message)) {
    const auto headers = ParseGribMessage(bytes_.span());
    EXPECT_TRUE(headers);
    data_ = headers->fields[0].data;
    // Section 5 lies before the bitmap.
    const auto& five = *headers->fields[0].packing->section;
    const auto found =
        std::search(bytes_.span().begin(), bytes_.span().end(), five.begin(), five.end());
    packing_ = static_cast<size_t>(found - bytes_.span().begin());
  }
  // Sets `octet` (from 1) of section 5 and those behind it; of section 4 of edition 1.
  Damaged& Packing(size_t octet, std::initializer_list<uint8_t> bytes) {
    return Set(packing_ + octet - 1, bytes);
  }
  // The same for the data of section 7.
  Damaged& Data(size_t octet, std::initializer_list<uint8_t> bytes) {
    return Set(data_.offset + octet - 1, bytes);
  }
  std::string Failure(ErrorCode code = ErrorCode::kCorrupt) const {
    return FailureOf(DecodeField<float>(bytes_.span()), code);
  }
  bool IsLeftOut() const {
    const auto values = DecodeField<float>(bytes_.span());
    return !values && backends::IsLeftOut(values.error());
  }

 private:
  Damaged& Set(size_t at, std::initializer_list<uint8_t> bytes) {
    for (const uint8_t byte : bytes) bytes_.data()[at++] = std::byte{byte};
    return *this;
  }
  Bytes bytes_;
  GribRange data_;
  size_t packing_ = 0;
};

TEST(GribFieldTest, ValuesWiderThanNumbersAreCorrupt) {
  EXPECT_THAT(Damaged("Simple8Bits").Packing(20, {64}).Failure(),
              HasSubstr("packed values of 64 bits"));
  EXPECT_THAT(Damaged("Simple8Bits").Packing(20, {9}).Failure(),
              HasSubstr("48 bytes for 48 values of 9 bits"));
  EXPECT_THAT(Damaged("Edition1Simple").Packing(11, {58}).Failure(),
              HasSubstr("packed values of 58 bits"));
}

TEST(GribFieldTest, OtherNumbersOfPackedValuesThanPointsAreCorrupt) {
  EXPECT_THAT(Damaged("Simple8Bits").Packing(6, {0, 0, 0, 47}).Failure(),
              HasSubstr("47 packed values for 48 points"));
  EXPECT_THAT(Damaged("SimpleHoles").Packing(6, {0, 0, 0, 48}).Failure(),
              HasSubstr("48 packed values for "));
}

TEST(GribFieldTest, PackingsThatAreNotKnownAreNamed) {
  EXPECT_THAT(Damaged("Simple8Bits").Packing(10, {0, 50}).Failure(ErrorCode::kUnsupported),
              HasSubstr("packing 5.50"));
  EXPECT_THAT(Damaged("Edition1Simple").Packing(4, {0x80}).Failure(ErrorCode::kUnsupported),
              HasSubstr("spherical harmonics"));
  EXPECT_THAT(Damaged("Edition1Simple").Packing(4, {0x10}).Failure(ErrorCode::kUnsupported),
              HasSubstr("a matrix of values at each point"));
  EXPECT_THAT(Damaged("Ieee32").Packing(12, {3}).Failure(ErrorCode::kUnsupported),
              HasSubstr("floats of precision 3"));
}

TEST(GribFieldTest, GroupsThatExceedTheDataAreCorrupt) {
  const auto complex = [] { return Damaged("Differences0"); };
  EXPECT_THAT(complex().Packing(32, {0xff, 0xff, 0xff, 0xff}).Failure(),
              HasSubstr("4294967295 groups for 48 values"));
  EXPECT_THAT(complex().Packing(36, {200}).Failure(), HasSubstr("a group of 2"));
  EXPECT_THAT(complex().Packing(36, {50}).Failure(), HasSubstr("ends within a group of "));
  EXPECT_THAT(complex().Packing(38, {0xff, 0xff, 0xff, 0xff}).Failure(),
              HasSubstr("more than 48 values"));
  EXPECT_THAT(complex().Packing(37, {64}).Failure(), HasSubstr("a list of numbers of 64 bits"));
  EXPECT_THAT(complex().Packing(47, {57}).Failure(), HasSubstr("a group of "));
  EXPECT_THAT(Damaged("TwoMissingValues").Packing(20, {57}).Failure(),
              HasSubstr("bytes for a list of "));
  EXPECT_THAT(complex().Packing(43, {0, 0, 0, 0}).Failure(), HasSubstr("expected 48"));
  EXPECT_THAT(complex().Packing(23, {3}).Failure(ErrorCode::kUnsupported),
              HasSubstr("missing value management 3"));
}

TEST(GribFieldTest, DifferencesThatCannotBeAreRefused) {
  EXPECT_THAT(Damaged("Differences1").Packing(48, {3}).Failure(ErrorCode::kUnsupported),
              HasSubstr("spatial differencing of order 3"));
  EXPECT_THAT(Damaged("Differences1").Packing(49, {0}).Failure(),
              HasSubstr("differences with 0 octets"));
  EXPECT_THAT(Damaged("Differences1").Packing(49, {8}).Failure(),
              HasSubstr("differences with 8 octets"));
}

TEST(GribFieldTest, SecondOrderPackingThatCannotBeIsRefused) {
  const auto second = [] { return Damaged("Edition1SecondOrderSpd2"); };
  EXPECT_THAT(second().Packing(17, {0xff, 0xff}).Failure(), HasSubstr("groups for 48 values"));
  EXPECT_THAT(second().Packing(26, {58}).Failure(), HasSubstr("first values of 58 bits"));
  EXPECT_THAT(second().Packing(14, {0x40}).Failure(ErrorCode::kUnsupported),
              HasSubstr("a matrix of values"));
  EXPECT_THAT(second().Packing(14, {0x28}).Failure(ErrorCode::kUnsupported),
              HasSubstr("flags 0x28"));
  EXPECT_THAT(Damaged("Edition1General").Packing(17, {0, 5}).Failure(), HasSubstr("group"));
  EXPECT_THAT(Damaged("Edition1RowByRow").Packing(17, {0, 5}).Failure(),
              HasSubstr("5 groups for 6 rows"));
}

TEST(GribFieldTest, RunsOfMoreValuesThanPointsAreCorrupt) {
  EXPECT_THAT(Damaged("RunLength").Packing(12, {0}).Failure(),
              HasSubstr("run lengths of 0 bits"));
  EXPECT_THAT(Damaged("RunLength").Packing(15, {0xff, 0xff}).Failure(),
              HasSubstr("65535 levels are not there"));
  EXPECT_THAT(Damaged("RunLength").Data(1, {0xff}).Failure(), HasSubstr("begin with a length"));
  EXPECT_THAT(Damaged("RunLength").Data(1, {0x3f, 0xff, 0xff}).Failure(),
              HasSubstr("runs of more values"));
}

TEST(GribFieldTest, ParametersThatCcsdsDoesNotHaveAreCorrupt) {
  if (Damaged("Ccsds12Bits").IsLeftOut()) GTEST_SKIP();
  EXPECT_THAT(Damaged("Ccsds12Bits").Packing(20, {33}).Failure(),
              HasSubstr("CCSDS of 33 bits"));
  EXPECT_THAT(Damaged("Ccsds12Bits").Packing(22, {0x1e}).Failure(), HasSubstr("restricted"));
  EXPECT_THAT(Damaged("Ccsds12Bits").Packing(22, {0x01}).Failure(ErrorCode::kUnsupported),
              HasSubstr("signed numbers"));
  EXPECT_THAT(Damaged("Ccsds12Bits").Packing(23, {0}).Failure(), HasSubstr("blocks of 0"));
  EXPECT_THAT(Damaged("Ccsds12Bits").Packing(24, {0xff, 0xff}).Failure(),
              HasSubstr("reference interval of 65535"));
}

TEST(GribFieldTest, PicturesOfAnotherSizeThanTheFieldAreCorrupt) {
  if (!Damaged("Png8Bits").IsLeftOut()) {
    EXPECT_THAT(Damaged("Png8Bits").Data(17, {0x7f, 0xff, 0xff, 0xff}).Failure(),
                HasSubstr("a PNG picture of 2147483647 x 6 pixels for 48 values"));
    EXPECT_THAT(Damaged("Png8Bits").Data(1, {0}).Failure(), HasSubstr("no PNG picture"));
    EXPECT_THAT(Damaged("Png8Bits").Data(26, {3}).Failure(ErrorCode::kUnsupported),
                HasSubstr("colour type 3"));
  }
  if (!Damaged("Jpeg2000Of12Bits").IsLeftOut()) {
    const auto picture = [] { return Damaged("Jpeg2000Of12Bits"); };
    // 32768 x 32768 pixels.
    const std::initializer_list<uint8_t> large = {0, 0, 0x80, 0, 0, 0, 0x80, 0};
    EXPECT_THAT(picture().Data(9, large).Data(25, large).Failure(),
                HasSubstr("a JPEG 2000 picture of 32768 x 32768 pixels for 48 values"));
    EXPECT_THAT(picture().Data(25, {0, 0, 0, 0}).Failure(), HasSubstr("without a size"));
    EXPECT_THAT(picture().Data(41, {0, 4}).Failure(ErrorCode::kUnsupported),
                HasSubstr("components that differ"));
    EXPECT_THAT(picture().Data(1, {0}).Failure(), HasSubstr("no JPEG 2000 codestream"));
  }
}

TEST(GribFieldTest, ABitmapOfTheCentreIsNotThere) {
  Bytes message = FromHex(FindGolden(kGribGoldens, "Simple8Bits").message);
  const auto headers = ParseGribMessage(message.span());
  ASSERT_TRUE(headers);
  message.data()[headers->fields[0].data.offset - 6] = std::byte{7};
  EXPECT_THAT(FailureOf(DecodeField<float>(message.span()), ErrorCode::kUnsupported),
              HasSubstr("bitmap 7 of the centre"));
  message.data()[headers->fields[0].data.offset - 6] = std::byte{254};
  EXPECT_THAT(FailureOf(DecodeField<float>(message.span()), ErrorCode::kCorrupt),
              HasSubstr("a bitmap that was defined before, but none was"));
  message.data()[headers->fields[0].data.offset - 6] = std::byte{0};
  EXPECT_THAT(FailureOf(DecodeField<float>(message.span()), ErrorCode::kCorrupt),
              HasSubstr("a bitmap of 0 bits for 48 points"));
}

// A field by hand, on a grid that nothing is known of. `packing` is section 5 from octet 10 on.
Bytes MadeField(uint32_t points, uint32_t values, const std::string& packing,
                const std::string& bitmap, const std::string& data) {
  const auto big = [](uint64_t value, size_t size) {
    std::string text;
    while (size-- > 0) text += static_cast<char>(value >> 8 * size & 0xff);
    return text;
  };
  const auto section = [&](char number, const std::string& body) {
    return big(body.size() + 5, 4) + number + body;
  };
  const std::string body =
      section(1, std::string(16, '\1')) +
      section(3, big(0, 1) + big(points, 4) + big(0, 1) + big(1, 1) + big(60000, 2)) +
      section(4, std::string(29, '\0')) + section(5, big(values, 4) + packing) +
      section(6, bitmap) + section(7, data);
  return Bytes::Copy(
      AsBytes(std::string("GRIB\0\0\0\2", 8) + big(body.size() + 20, 8) + body + "7777"));
}

std::vector<float> DecodeMade(const Bytes& message, size_t points) {
  GuardedBuffer memory(points * sizeof(float));
  GribFieldOptions options;
  options.order = GribOrder::kStored;
  const auto status = MakeGribFieldCodec(options)->Decode(
      message.span(), {Datatype::Float32(), {points}}, memory.span());
  EXPECT_TRUE(memory.IsIntact());
  if (!status) {
    ADD_FAILURE() << status.error().message();
    return {};
  }
  return ValuesOf<float>(memory.span());
}

// From octet 10 on: the template, a reference of 0, no scales, numbers of 8 bits, floats.
const std::string kPackedBytes("\0\0\0\0\0\0\0\0\0\0\x08\0", 12);

TEST(GribFieldTest, BitsOfABitmapBehindTheLastPointSayNothing) {
  constexpr size_t kPoints = 15;
  constexpr std::string_view kPresent = "101101100101111";
  const float nan = std::numeric_limits<float>::quiet_NaN();
  std::vector<float> expected;
  std::string data;
  for (const char present : kPresent) {
    if (present == '1') data += static_cast<char>(40 + data.size());
    expected.push_back(present == '1' ? static_cast<float>(data.back()) : nan);
  }
  for (const char* bits : {"b65e", "b65f", "b65e00", "b65fff"}) {
    const std::string bitmap = '\0' + std::string(AsText(FromHex(bits).span()));
    const Bytes message =
        MadeField(kPoints, static_cast<uint32_t>(data.size()), kPackedBytes, bitmap, data);
    EXPECT_THAT(DecodeMade(message, kPoints),
                testing::Pointwise(testing::NanSensitiveFloatEq(), expected))
        << bits;
  }
}

// libaec 1.0.6 wrote the data: blocks of 8, reference interval 128.
TEST(GribFieldTest, CcsdsOfEightBitsAreBytes) {
  std::string packing = kPackedBytes + std::string("\x08\x08\x00\x80", 4);
  packing[1] = 42;
  const Bytes message =
      MadeField(16, 16, packing, "\xff",
                std::string(AsText(FromHex("e00060f90dcfefe05700e722398822").span())));
  const auto headers = ParseGribMessage(message.span());
  ASSERT_TRUE(headers) << headers.error().message();
  EXPECT_EQ(headers->fields[0].packing->method, GribMethod::kCcsds);
  if (Damaged("Ccsds7Bits").IsLeftOut()) GTEST_SKIP() << "not built in";
  EXPECT_THAT(DecodeMade(message, 16), testing::ElementsAre(0, 3, 7, 200, 255, 128, 64, 65, 66,
                                                            67, 1, 9, 13, 40, 41, 42));
}

TEST(GribFieldTest, PicturesOfSignedNumbersAreNotSupported) {
  if (Damaged("Jpeg2000Of12Bits").IsLeftOut()) GTEST_SKIP() << "not built in";
  EXPECT_THAT(Damaged("Jpeg2000Of12Bits").Data(43, {0x8b}).Failure(ErrorCode::kUnsupported),
              HasSubstr("a JPEG 2000 picture of 1 components, the first of 12 bits"));
}

TEST(GribFieldTest, RunsThatEndEarlyAreCorrupt) {
  // 48 points, and one value of the two levels.
  std::string packing("\0\xc8\x08\0\2\0\2\0\0\1\0\2", 12);
  const Bytes message = MadeField(48, 48, packing, "\xff", std::string(47, '\1'));
  EXPECT_THAT(FailureOf(DecodeField<float>(message.span()), ErrorCode::kCorrupt),
              HasSubstr("runs of 47 values, expected 48"));
}

}  // namespace
}  // namespace ndlfs::backends
