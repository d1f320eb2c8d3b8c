// SPDX-License-Identifier: MIT
#include "fs/view/place/ome_plate.h"

#include <fmt/format.h>

#include "fs/view/place/ome_image.h"
#include "fs/view/place/physical_unit.h"
#include "tests/fs/view/grid_test.h"

namespace ndlfs::fs {
namespace {

using fake::TextAttribute;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class OmePlateTest : public fake::GridTest {
 protected:
  std::optional<OmePlate> PlateOf(const std::string& json, const std::string& name = "plate") {
    backends::Node& group = store_->AddGroup("/");
    std::get<model::Group>(group.entity).attributes = {TextAttribute(name, json)};
    return FindOmePlate(group);
  }
  static std::vector<std::string> Wells(const OmePlate& plate) {
    std::vector<std::string> wells;
    for (const OmeWell& well : plate.wells) {
      wells.push_back(fmt::format("{} {} {}", well.path, well.row, well.column));
    }
    return wells;
  }
  static std::string Plate(const std::string& wells) {
    return R"({"name": "p", "rows": [{"name": "A"}, {"name": "B"}], "columns": [{"name": "1"},
        {"name": "2"}, {"name": "3"}], "wells": )" +
           wells + "}";
  }
};

TEST_F(OmePlateTest, WellsLieInRowsAndColumns) {
  const auto plate = PlateOf(Plate(R"([
      {"path": "B/3", "rowIndex": 1, "columnIndex": 2},
      {"path": "A/2", "rowIndex": 0, "columnIndex": 1},
      {"path": "A/1"}])"));
  ASSERT_TRUE(plate);
  EXPECT_EQ(plate->name, "p");
  EXPECT_THAT(plate->rows, ElementsAre("A", "B"));
  EXPECT_THAT(plate->columns, ElementsAre("1", "2", "3"));
  EXPECT_THAT(Wells(*plate), ElementsAre("A/1 0 0", "A/2 0 1", "B/3 1 2"));
  EXPECT_THAT(plate->left_out, IsEmpty());
}

TEST_F(OmePlateTest, IsInOmeSinceVersion05) {
  const auto plate =
      PlateOf(R"({"version": "0.5", "plate": )" + Plate(R"([{"path": "A/1"}])") + "}", "ome");
  ASSERT_TRUE(plate);
  EXPECT_EQ(plate->wells.size(), 1U);
  EXPECT_FALSE(PlateOf(R"({"multiscales": []})", "ome"));
  EXPECT_FALSE(PlateOf("[]"));
  EXPECT_FALSE(PlateOf("{}", "other"));
}

TEST_F(OmePlateTest, WellsWithoutAPlaceAreLeftOutAndCounted) {
  const auto plate = PlateOf(Plate(R"([{"path": "A/1"},
      {"path": "C/1"}, {"path": "A/1", "rowIndex": 7, "columnIndex": 0},
      {"path": "A/1", "rowIndex": -1, "columnIndex": 0},
      {"path": "A/1", "rowIndex": 0.5, "columnIndex": 0},
      {"path": "A/1", "rowIndex": 0, "columnIndex": 1e300},
      {"path": "A/2", "rowIndex": 0, "columnIndex": 0},
      {"path": "../../etc"}, {"path": "A/.."}, {"path": "/A/1"}, {"path": "A"}, {"path": ""},
      {"path": "A/1/0"}, {"path": 7}, {}, null, "A/1"])"));
  ASSERT_TRUE(plate);
  EXPECT_THAT(Wells(*plate), ElementsAre("A/1 0 0"));
  EXPECT_EQ(plate->all_wells, 17U);
  EXPECT_THAT(plate->left_out,
              ElementsAre("5 wells are left out, because the plate has no such row or column.",
                          "10 wells are left out, because the path is not a row and a column.",
                          "1 well is left out, because another well is at the same place."));
}

TEST_F(OmePlateTest, WhatIsNoPlateHasNoWells) {
  for (const char* json : {"{}", R"({"rows": 3, "columns": {}, "wells": "A/1"})",
                           R"({"rows": [1, null], "columns": [[]], "wells": [[]]})"}) {
    const auto plate = PlateOf(json);
    ASSERT_TRUE(plate) << json;
    EXPECT_THAT(plate->wells, IsEmpty()) << json;
  }
  EXPECT_THAT(PlateOf("no JSON")->left_out.at(0), HasSubstr("cannot be used: "));
  EXPECT_THAT(PlateOf("no \"plate\"", "ome")->left_out.at(0), HasSubstr("cannot be used: "));
}

TEST_F(OmePlateTest, AMillionWellsAreASentence) {
  std::string wells = "[";
  for (int i = 0; i < 1'000'000; ++i) {
    wells += R"({"path":"A/1","rowIndex":0,"columnIndex":0},)";
  }
  wells.back() = ']';
  const auto plate = PlateOf(Plate(wells));
  ASSERT_TRUE(plate);
  EXPECT_THAT(plate->wells, IsEmpty());
  EXPECT_THAT(plate->left_out.at(0), HasSubstr("bytes, and at most 4194304 are read"));
}

TEST_F(OmePlateTest, LayoutsAreBounded) {
  std::string rows, columns, wells;
  for (int i = 0; i < 200; ++i) {
    rows += fmt::format(R"({{"name": "r{}"}},)", i);
    columns += fmt::format(R"({{"name": "c{}"}},)", i);
    for (int k = 0; k < 60; ++k) wells += fmt::format(R"({{"path": "r{}/c{}"}},)", i, k);
  }
  for (std::string* text : {&rows, &columns, &wells}) text->pop_back();
  const auto plate = PlateOf(R"({"rows": [)" + rows + R"(], "columns": [)" + columns +
                             R"(], "wells": [)" + wells + "]}");
  ASSERT_TRUE(plate);
  EXPECT_EQ(plate->rows.size(), kMostPlateRows);
  EXPECT_EQ(plate->columns.size(), kMostPlateColumns);
  EXPECT_EQ(plate->wells.size(), kMostPlateWells);
  EXPECT_THAT(
      plate->left_out,
      ElementsAre("The first 128 of 200 rows are shown.",
                  "The first 128 of 200 columns are shown.",
                  "4320 wells are left out, because the plate has no such row or column.",
                  "3584 wells are left out, because a page has at most 4096 of them."));
}

TEST_F(OmePlateTest, APictureOfAWellIsThatOfItsFirstField) {
  backends::Node& well = store_->AddGroup("/well");
  const auto set = [&](const std::string& json) {
    std::get<model::Group>(well.entity).attributes = {TextAttribute("well", json)};
  };
  set(R"({"images": [{"path": ".."}, {"path": "3", "acquisition": 1}, {"path": "0"}]})");
  EXPECT_EQ(FindOmeField(well), "3");
  EXPECT_TRUE(HasOmePicture(well));
  const auto group = MakeGroupInput(store_, "/well", cache_).value();
  EXPECT_THAT(LoadOmePicture(*group),
              test::IsError(model::ErrorCode::kNotFound, HasSubstr("3")));
  for (const char* json : {"{}", R"({"images": 3})", R"({"images": [3, {}]})", "no JSON"}) {
    set(json);
    EXPECT_FALSE(HasOmePicture(well)) << json;
  }
}

TEST(PhysicalUnitTest, LengthsHaveOneSymbol) {
  const auto symbol = [](std::string_view text) {
    const auto unit = LengthUnitOf(text);
    return unit ? unit->symbol : "none";
  };
  for (const char* text : {"micrometer", "micrometre", "micrometers", "\u00b5m", "\u03bcm",
                           "um", "micron", "microns"}) {
    EXPECT_EQ(symbol(text), "\u00b5m") << text;
    EXPECT_DOUBLE_EQ(LengthUnitOf(text)->size, 1e-6);
  }
  EXPECT_EQ(symbol("angstrom"), "\u00c5");
  EXPECT_EQ(symbol("m"), "m");
  EXPECT_EQ(symbol("Mm"), "Mm");
  EXPECT_EQ(symbol("mm"), "mm");
  EXPECT_EQ(symbol("yoctometer"), "ym");
  EXPECT_EQ(symbol("inches"), "none");
  EXPECT_EQ(symbol("inch"), "in");
  for (const char* text : {"", "meters per second", "pixel", "s", "degrees_east", "Meter"}) {
    EXPECT_EQ(symbol(text), "none") << text;
  }
  EXPECT_FALSE(LengthUnitOf(std::string(1 << 20, 'm')));
  EXPECT_EQ(TimeUnitOf("millisecond")->symbol, "ms");
  EXPECT_EQ(TimeUnitOf("minutes")->size, 60);
  EXPECT_FALSE(TimeUnitOf("micrometer"));
}

}  // namespace
}  // namespace ndlfs::fs
