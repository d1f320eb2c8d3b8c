// SPDX-License-Identifier: MIT
#include "fs/view/dap/parse/constraint.h"

#include <gmock/gmock.h>

namespace ndlfs::fs {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<DapProjection> ProjectionsOf(std::string_view text) {
  const auto projections = ParseConstraint(text);
  EXPECT_TRUE(projections) << text;
  return projections ? *projections : std::vector<DapProjection>();
}

TEST(ConstraintTest, ProjectionsHaveNamesAndInclusiveRanges) {
  EXPECT_THAT(ProjectionsOf(""), IsEmpty());
  EXPECT_THAT(ProjectionsOf("t2m"), ElementsAre(DapProjection{"t2m", {}}));
  EXPECT_THAT(ProjectionsOf("t2m[3][0:9][0:2:9],t2m.lat"),
              ElementsAre(DapProjection{"t2m", {{3, 1, 3}, {0, 1, 9}, {0, 2, 9}}},
                          DapProjection{"t2m.lat", {}}));
  EXPECT_THAT(ProjectionsOf("a%20b[0]"), ElementsAre(DapProjection{"a b", {{0, 1, 0}}}));
  EXPECT_THAT(ProjectionsOf("x[18446744073709551615]"),
              ElementsAre(DapProjection{"x", {{~uint64_t{0}, 1, ~uint64_t{0}}}}));
}

TEST(ConstraintTest, OtherTextsAreRefused) {
  for (const char* text :
       {"[0]", ",", "x,", "x[", "x[]", "x[a]", "x[-1]", "x[1:0]", "x[0:0:1]", "x[0:1:2:3]",
        "x[:]", "x[0]y", "x]", "x[0]]", "x[1 ]", "x[18446744073709551616]"}) {
    EXPECT_FALSE(ParseConstraint(text)) << text;
  }
  EXPECT_THAT(ParseConstraint("x&x>3").error().message(), HasSubstr("selections"));
  EXPECT_THAT(ParseConstraint("geogrid(x,1)").error().message(), HasSubstr("functions"));
}

TEST(ConstraintTest, LongConstraintsEnd) {
  std::string text = "x";
  for (size_t i = 0; i <= kMostDapRanges; ++i) text += "[0]";
  EXPECT_FALSE(ParseConstraint(text));
  text = "x";
  for (size_t i = 0; i < kMostProjections; ++i) text += ",x";
  EXPECT_FALSE(ParseConstraint(text));
  EXPECT_FALSE(ParseConstraint(std::string(1 << 20, '[')));
}

std::vector<Dap4Projection> Dap4ProjectionsOf(std::string_view text) {
  const auto projections = ParseDap4Constraint(text);
  EXPECT_TRUE(projections) << text;
  return projections ? *projections : std::vector<Dap4Projection>();
}

TEST(Dap4ConstraintTest, ProjectionsHavePathsAndOpenRanges) {
  EXPECT_THAT(Dap4ProjectionsOf(""), IsEmpty());
  EXPECT_THAT(Dap4ProjectionsOf("/g/t2m[3][0:2:9][];x[2:][1:3:]"),
              ElementsAre(Dap4Projection{{"g", "t2m"}, {{3, 1, 3}, {0, 2, 9}, {0, 1, kDapEnd}}},
                          Dap4Projection{{"x"}, {{2, 1, kDapEnd}, {1, 3, kDapEnd}}}));
  EXPECT_THAT(Dap4ProjectionsOf(R"(/a\/b\;c\[0]\\.d)"),
              ElementsAre(Dap4Projection{{R"(a/b;c[0]\.d)"}, {}}));
}

TEST(Dap4ConstraintTest, OtherTextsAreRefused) {
  for (const char* text : {";", "/", "/x;", "/x[", "/x[:]", "/x[1:2:3:]", "/x[1:0]", "/x[0]y",
                           "x=[0:1]", "/s{a}", "/x|x>1", "/x\\", "//x", "/x[0:0:]"}) {
    EXPECT_FALSE(ParseDap4Constraint(text)) << text;
  }
  std::string text = "x";
  for (size_t i = 0; i < kMostProjections; ++i) text += ";x";
  EXPECT_FALSE(ParseDap4Constraint(text));
}

}  // namespace
}  // namespace ndlfs::fs
