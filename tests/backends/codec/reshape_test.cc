// SPDX-License-Identifier: MIT
//
// Zarr v3 "reshape".
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/backends/codec/chain_testing.h"

namespace ndlfs::backends {
namespace {

using ::testing::HasSubstr;

TEST(ReshapeTest, ExtentsMayBeNumbersDimensionsOrTheRest) {
  const ChunkForm form{kUint8, {100, 50, 64, 3}};
  const auto shape = [&](std::string_view configuration) {
    auto codec = MakeCodecFrom(kZarr3, "reshape", configuration, form);
    EXPECT_TRUE(codec);
    const auto encoded =
        std::get<std::shared_ptr<const ArrayToArrayCodec>>(*codec)->EncodedForm(form);
    return encoded ? Json(encoded->shape).dump() : encoded.error().message();
  };
  EXPECT_EQ(shape(R"({"shape": [[0, 1], [2], 3]})"), "[5000,64,3]");
  EXPECT_EQ(shape(R"({"shape": [-1, 3]})"), "[320000,3]");
  EXPECT_EQ(shape(R"({"shape": [960000]})"), "[960000]");
  EXPECT_EQ(shape(R"({"shape": [[0], [], -1]})"), "[100,1,9600]");
  EXPECT_THAT(shape(R"({"shape": [7, -1]})"), HasSubstr("cannot have the shape [7,137142]"));
  EXPECT_THAT(shape(R"({"shape": [10]})"), HasSubstr("a chunk of 960000 elements cannot"));
  EXPECT_THAT(shape(R"({"shape": [[4], -1]})"), HasSubstr("shape[0]: there is no dimension 4"));
  EXPECT_THAT(shape(R"({"shape": [2, [0], -1]})"),
              HasSubstr("shape[1]: not at the position of its dimensions"));
}

TEST(ReshapeTest, ElementsStayInOrder) {
  const ChunkForm form{kUint8, {2, 3}};
  const CodecChain chain =
      MakeFilterChain(R"({"name": "reshape", "configuration": {"shape": [3, 2]}})", form);
  EXPECT_TRUE(chain.IsIdentity());
  EXPECT_EQ(chain.ExactEncodedSize(form.shape), 6u);
}

TEST(ReshapeTest, ConfigurationsThatCannotBeAreRefused) {
  const ChunkForm form{kUint8, {4, 4}};
  const auto failure = [&](std::string_view configuration) {
    return ConfigFailure("reshape", configuration, form);
  };
  EXPECT_EQ(failure("{}"), "reshape: \"shape\" is missing");
  EXPECT_THAT(failure(R"({"shape": 16})"), HasSubstr("shape: expected a list of at most 64"));
  EXPECT_EQ(failure(R"({"shape": [-1, -1]})"), "reshape: shape[1]: a second -1");
  EXPECT_EQ(failure(R"({"shape": [0]})"), "reshape: shape[0]: an extent of 0");
  EXPECT_EQ(failure(R"({"shape": [[1], [0]]})"),
            "reshape: shape[1]: the dimensions are not in ascending order");
  EXPECT_THAT(failure(R"({"shape": ["x"]})"), HasSubstr("shape[0]: expected a non-negative"));
}

TEST(ReshapeTest, ExtentsOfTooManyElementsAreRefused) {
  const ChunkForm small{kUint8, {2, 2}};
  const auto codec = MakeCodecFrom(kZarr3, "reshape", R"({"shape": [[0, 1]]})", small);
  ASSERT_TRUE(codec);
  const ChunkForm huge{kUint8, {uint64_t{1} << 33, uint64_t{1} << 33}};
  EXPECT_EQ(
      FailureOf(std::get<std::shared_ptr<const ArrayToArrayCodec>>(*codec)->EncodedForm(huge),
                model::ErrorCode::kLimit),
      "shape[0]: too large");
  std::string ones = "1";
  for (int i = 0; i < 64; ++i) ones += ", 1";
  EXPECT_THAT(ConfigFailure("reshape", fmt::format(R"({{"shape": [{}]}})", ones), small),
              HasSubstr("expected a list of at most 64"));
}

TEST(ReshapeTest, TextsStayInOrder) {
  const CodecChain chain =
      MakeChain(R"([{"name": "reshape", "configuration": {"shape": [2]}}, "vlen-utf8"])",
                {model::Datatype::String(), {1, 2}});
  Scratch scratch;
  const auto stream =
      chain.DecodeVariable(FromHex("02000000010000006100000000").span(), {1, 2}, 1000, scratch);
  ASSERT_TRUE(stream) << stream.error().message();
  EXPECT_EQ(ToHex(stream->span()),
            "0000000000000000"
            "0500000000000000"
            "0900000000000000"
            "0100000061"
            "00000000");
}

}  // namespace
}  // namespace ndlfs::backends
