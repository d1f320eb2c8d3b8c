// SPDX-License-Identifier: MIT
#include "fs/view/place/smaller_level.h"

#include "tests/fs/view/grid_test.h"

namespace ndlfs::fs::fake {
namespace {

using model::Datatype;

class StoredLevelTest : public GridTest {
 protected:
  using Names = std::vector<std::string>;

  StoredLevelTest() {
    std::get<model::Group>(store_->AddGroup("/").entity).attributes = {
        TextAttribute("multiscales", R"({"layout": [{"asset": "full"},
            {"asset": "half", "derived_from": "full"},
            {"asset": "quarter", "derived_from": "half"}]})")};
    Add("full", {8, 8});
    Add("half", {4, 4});
    Add("quarter", {2, 2});
  }
  model::Ndarray& Add(const std::string& name, const std::vector<uint64_t>& shape,
                      Names names = {"y", "x"}, Attributes attributes = {}) {
    auto& array = std::get<model::Ndarray>(
        store_->AddArray("/" + name, test::Undecodable(Datatype::Integer(2, true), shape))
            .entity);
    array.dimension_names = std::move(names);
    array.attributes = std::move(attributes);
    return array;
  }
  // The extent of the level that a small picture is made of.
  uint64_t Found() {
    const auto found = FindSmallerLevel(Input("full"), {.x = 1, .y = 0});
    EXPECT_THAT(found, IsOk());
    return found ? found->shape[1] : 0;
  }
  static Attributes Packed(double scale, double missing) {
    return {NumberAttribute("scale_factor", scale), NumberAttribute("_FillValue", missing)};
  }
};

TEST_F(StoredLevelTest, TheSmallestThatIsEnoughIsFound) {
  EXPECT_EQ(Found(), 2U);
  EXPECT_EQ(FindSmallerLevel(Input("full"), {.x = 1, .y = 0, .columns = 3, .rows = 3})
                .value()
                .shape[0],
            4U);
}

TEST_F(StoredLevelTest, ALevelHasThePackingOfTheArray) {
  Add("half", {4, 4}, {"y", "x"}, {NumberAttribute("scale_factor", 0.1)});
  EXPECT_EQ(Found(), 8U) << "the first that does not fit ends the search";
  Add("full", {8, 8}, {"y", "x"}, Packed(0.5, -1));
  Add("half", {4, 4}, {"y", "x"}, Packed(0.5, -1));
  Add("quarter", {2, 2}, {"y", "x"}, Packed(0.5, -2));
  EXPECT_EQ(Found(), 4U);
  Add("quarter", {2, 2}, {"y", "x"}, Packed(0.5, -1));
  EXPECT_EQ(Found(), 2U);
  Add("quarter", {2, 2}, {"y", "x"},
      {NumberAttribute("scale_factor", 0.5), NumberAttribute("missing_value", -1)});
  EXPECT_EQ(Found(), 2U) << "the same in other words";
}

TEST_F(StoredLevelTest, ALevelHasTheNamesOfTheArrayInTheirOrder) {
  Add("half", {4, 4}, {"x", "y"});
  EXPECT_EQ(Found(), 8U);
  Add("half", {4, 4}, {"y_2", "x_2"});
  EXPECT_EQ(Found(), 2U);
  Add("half", {4, 4}, {});
  EXPECT_EQ(Found(), 2U) << "without names";
  Add("quarter", {2, 2}, {"x", "y"});
  EXPECT_EQ(Found(), 4U) << "held against the array, not the level before";
}

TEST_F(StoredLevelTest, ALevelIsNoLargerThanTheOneBefore) {
  Add("half", {4, 2});
  Add("quarter", {2, 4});
  EXPECT_EQ(Found(), 2U);
  Add("half", {4, 9});
  EXPECT_EQ(Found(), 8U);
}

TEST_F(StoredLevelTest, OnlySomeDimensionsMayBeSmaller) {
  const ArrayInput full = Input("full");
  const ArrayInput half = Input("half");
  EXPECT_TRUE(IsLevelOf(half, full, full, {0, 1}));
  EXPECT_FALSE(IsLevelOf(half, full, full, {1}));
  EXPECT_FALSE(IsLevelOf(full, full, half, {0, 1}));
  EXPECT_TRUE(IsLevelOf(full, full, full, {}));
}

}  // namespace
}  // namespace ndlfs::fs::fake
