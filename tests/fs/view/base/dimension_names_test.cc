// SPDX-License-Identifier: MIT
#include "fs/view/base/dimension_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fs/view/base/attributes.h"

namespace ndlfs::fs {
namespace {

using ::testing::ElementsAre;
using enum DimensionKind;

std::vector<DimensionKind> Of(const std::vector<std::string>& names) { return KindsOf(names); }

TEST(DimensionNamesTest, CaseAndTheNumberOfASecondOneSayNothing) {
  EXPECT_EQ(PlainDimension("Band_2"), "band");
  EXPECT_EQ(PlainDimension("y_12"), "y");
  EXPECT_EQ(PlainDimension("y2"), "y2");
  EXPECT_EQ(PlainDimension("_2"), "_2");
  EXPECT_EQ(PlainDimension("z_kind"), "z_kind");
  EXPECT_EQ(PlainDimension(""), "");
  EXPECT_THAT(Of({"z_3", "Y_3", "X_3"}), ElementsAre(kDepth, kRows, kColumns));
  EXPECT_THAT(Of({"Latitude", "LON"}), ElementsAre(kRows, kColumns));
  EXPECT_THAT(Of({"z_kind", ""}), ElementsAre(kUnknown, kUnknown));
}

TEST(DimensionNamesTest, HeightIsRowsBeforeColumnsOnly) {
  EXPECT_THAT(Of({"height", "width"}), ElementsAre(kRows, kColumns));
  EXPECT_THAT(Of({"frame", "height", "width", "channel"}),
              ElementsAre(kNoPlace, kRows, kColumns, kBands));
  EXPECT_THAT(Of({"time", "height", "lat", "lon"}),
              ElementsAre(kTime, kVertical, kRows, kColumns));
  EXPECT_THAT(Of({"time", "height"}), ElementsAre(kTime, kVertical));
}

TEST(DimensionNamesTest, SamplesAreColumnsOfLinesOrNumbersOfAPixel) {
  EXPECT_THAT(Of({"line", "sample"}), ElementsAre(kRows, kColumns));
  EXPECT_THAT(Of({"line", "sample", "band"}), ElementsAre(kRows, kColumns, kBands));
  EXPECT_THAT(Of({"line", "band", "sample"}), ElementsAre(kRows, kBands, kColumns));
  EXPECT_THAT(Of({"y", "x", "sample"}), ElementsAre(kRows, kColumns, kBands));
  EXPECT_THAT(Of({"sample", "y", "x"}), ElementsAre(kBands, kRows, kColumns));
  EXPECT_THAT(Of({"scanline", "ground_pixel", "spectral_channel"}),
              ElementsAre(kRows, kColumns, kBands));
}

TEST(DimensionNamesTest, OthersAreNoRowsAndNoColumns) {
  for (const DimensionKind kind : Of({"valid_time", "plev", "z", "member", "channel"})) {
    EXPECT_TRUE(IsNoRowOrColumn(kind));
  }
  for (const DimensionKind kind : Of({"y", "x", "", "cell"})) {
    EXPECT_FALSE(IsNoRowOrColumn(kind));
  }
  EXPECT_TRUE(IsNameOfBands("Bands_2"));
  EXPECT_FALSE(IsNameOfBands("channel"));
  EXPECT_TRUE(IsNameOfOmeChannels("c_2"));
}

TEST(DimensionNamesTest, AllLettersBecomeSmall) {
  EXPECT_EQ(PlainDimension("AZ@[az`{_90"), "az@[az`{");
  EXPECT_EQ(PlainDimension("A_9B"), "a_9b");
}

TEST(PrintableAsciiTest, OtherCharactersAreQuestionMarks) {
  EXPECT_EQ(PrintableAscii(" ~aZ"), " ~aZ");
  EXPECT_EQ(PrintableAscii("\x1f\x7f\n\xc3\xa9"), "?????");
}

}  // namespace
}  // namespace ndlfs::fs
