// SPDX-License-Identifier: MIT
//
// Zarr v3 "scale_offset".
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "tests/backends/codec/chain_testing.h"

namespace ndlfs::backends {
namespace {

using model::Datatype;
using ::testing::ElementsAre;

TEST(ScaleOffsetTest, DividesAndAddsInTheTypeOfTheArray) {
  EXPECT_THAT(DecodeFilter<float>(
                  R"({"name": "scale_offset", "configuration": {"offset": 5, "scale": 0.1}})",
                  Datatype::Float32(), std::vector<float>{0, 1, -2}),
              ElementsAre(5.0f, 1.0f / 0.1f + 5, -2.0f / 0.1f + 5));
  EXPECT_THAT(DecodeFilter<int16_t>(
                  R"({"name": "scale_offset", "configuration": {"offset": -1, "scale": 3}})",
                  kInt16, std::vector<int16_t>{7, -7, 0}),
              ElementsAre(1, -4, -1));
  EXPECT_THAT(DecodeFilter<uint8_t>(
                  R"({"name": "scale_offset", "configuration": {"offset": 250, "scale": 2}})",
                  kUint8, std::vector<uint8_t>{255, 4}),
              ElementsAre(121, 252));
  EXPECT_THAT(
      DecodeFilter<int8_t>(R"({"name": "scale_offset", "configuration": {"scale": -1}})", kInt8,
                           std::vector<int8_t>{-128, 5}),
      ElementsAre(-128, -5));
}

TEST(ScaleOffsetTest, DefaultsChangeNothing) {
  EXPECT_THAT(DecodeFilter<float>(R"("scale_offset")", Datatype::Float32(),
                                  std::vector<float>{1.5f, -2}),
              ElementsAre(1.5f, -2.0f));
}

TEST(ScaleOffsetTest, FillValueGoesTheOtherWay) {
  EXPECT_THAT((EncodedFill<float>("scale_offset", R"({"offset": 5, "scale": 2})",
                                  Datatype::Float32(), 8.0f)),
              ElementsAre(6.0f));
  EXPECT_THAT((EncodedFill<int16_t>("scale_offset", R"({"offset": 5, "scale": 2})", kInt16,
                                    int16_t{3})),
              ElementsAre(-4));
}

TEST(ScaleOffsetTest, ConfigurationsThatCannotBeAreRefused) {
  EXPECT_EQ(ConfigFailure("scale_offset", R"({"scale": 0})", {kInt16, {1}}),
            "scale_offset: scale: division by 0");
  EXPECT_EQ(ConfigFailure("scale_offset", R"({"scale": 1.5})", {kInt16, {1}}),
            "scale_offset: scale: expected an integer, found the number 1.5");
  EXPECT_EQ(ConfigFailure("scale_offset", R"({"offset": 300})", {kUint8, {1}}),
            "scale_offset: offset: 300 does not fit into 1 bytes");
  EXPECT_EQ(ConfigFailure("scale_offset", R"({"factor": 2})", {kInt16, {1}}),
            "scale_offset: unknown member \"factor\"");
  EXPECT_EQ(ConfigFailure("scale_offset", "{}", {Datatype::Opaque(4), {1}}),
            "scale_offset: does not apply to elements of opaque");
}

TEST(ScaleOffsetTest, GoesOnOverMoreNumbersThanItLoadsAtOnce) {
  std::vector<int16_t> encoded(1300);
  for (size_t i = 0; i < encoded.size(); ++i) encoded[i] = static_cast<int16_t>(i - 600);
  const auto integers = DecodeFilter<int16_t>(
      R"({"name": "scale_offset", "configuration": {"offset": 7, "scale": 3}})", kInt16,
      encoded);
  ASSERT_EQ(integers.size(), encoded.size());
  for (int i = 0; i < 1300; ++i) {
    const int value = i - 600;
    ASSERT_EQ(integers[i], (value < 0 ? -((2 - value) / 3) : value / 3) + 7) << i;
  }
  const std::vector<float> reals(encoded.begin(), encoded.end());
  const auto decoded = DecodeFilter<float>(
      R"({"name": "scale_offset", "configuration": {"offset": 7, "scale": 2}})",
      Datatype::Float32(), reals);
  ASSERT_EQ(decoded.size(), reals.size());
  for (size_t i = 0; i < reals.size(); ++i) ASSERT_EQ(decoded[i], reals[i] / 2 + 7) << i;
}

TEST(ScaleOffsetTest, EveryTypeComputesInItsOwnPrecision) {
  EXPECT_THAT(DecodeFilter<double>(
                  R"({"name": "scale_offset", "configuration": {"offset": 0.1, "scale": 3}})",
                  Datatype::Float64(), std::vector<double>{1, -2}),
              ElementsAre(1.0 / 3 + 0.1, -2.0 / 3 + 0.1));
  // numpy.float16(1) / numpy.float16(3) + numpy.float16(0.1) is 0.433, which is 36ee.
  EXPECT_THAT(DecodeFilter<uint16_t>(
                  R"({"name": "scale_offset", "configuration": {"offset": 0.1, "scale": 3}})",
                  Datatype::Float("float16", 2), std::vector<uint16_t>{0x3c00}),
              ElementsAre(0x36ee));
  EXPECT_THAT(DecodeFilter<float>(
                  R"({"name": "scale_offset",
                      "configuration": {"scale": "0x40000000", "offset": "-Infinity"}})",
                  Datatype::Float32(), std::vector<float>{1}),
              ElementsAre(-std::numeric_limits<float>::infinity()));
}

TEST(ScaleOffsetTest, BoolsHaveNoScale) {
  EXPECT_EQ(ConfigFailure("scale_offset", "{}", {Datatype::Bool(), {1}}),
            "scale_offset: does not apply to elements of enum");
}

}  // namespace
}  // namespace ndlfs::backends
