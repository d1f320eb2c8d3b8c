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

}  // namespace
}  // namespace ndlfs::backends
