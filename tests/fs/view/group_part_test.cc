// SPDX-License-Identifier: MIT
//
// Slices of groups: data[...].nc.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cache/chunk_cache.h"
#include "fs/view/base/array_part.h"
#include "fs/view/part_provider.h"
#include "model/attributes.h"
#include "tests/support/memory_hierarchy.h"
#include "tests/support/result.h"

namespace ndlfs::fs {
namespace {

using model::Datatype;
using model::ErrorCode;
using ::testing::HasSubstr;

// A group with temperatures along lat and x, a mask along lat, and a number.
class GroupPartTest : public ::testing::Test {
 protected:
  void SetUp() override {
    store_->AddGroup("/");
    store_->AddDimCoord("/lat", std::make_shared<test::MemoryArray>(
                                    Datatype::Float64(), std::vector<uint64_t>{3},
                                    test::Raw(10.0) + test::Raw(20.0) + test::Raw(30.0)));
    Add("/t", {{"lat", 3}, {"x", 4}});
    Add("/mask", {{"lat", 3}});
    Add("/one", {});
  }
  backends::Node& Add(const std::string& path,
                      const std::vector<std::pair<std::string, uint64_t>>& dims) {
    model::Ndarray array;
    std::vector<uint64_t> shape;
    uint64_t count = 1;
    for (const auto& [name, extent] : dims) {
      array.dimension_names.push_back(name);
      array.shape.push_back({extent, ""});
      shape.push_back(extent);
      count *= extent;
    }
    std::string bytes;
    for (uint64_t i = 0; i < count; ++i) bytes += test::Raw(static_cast<int32_t>(i));
    return store_->AddArray(
        path, std::move(array),
        std::make_shared<test::MemoryArray>(Datatype::Integer(4, true), std::move(shape),
                                            std::move(bytes)));
  }
  // Adds an attribute to an object.
  static void Say(backends::Node& node, const std::string& name, const std::string& text) {
    AttributesIn(node).push_back(model::MakeTextAttribute(name, text));
  }
  std::shared_ptr<const GroupInput> Group() { return *MakeGroupInput(store_, group_, cache_); }
  std::optional<Resolution> Find(const std::string& name) {
    return GroupViews().Resolve(*Group(), name);
  }
  std::string TrueName(const std::string& name) {
    const auto found = Find(name);
    return found && !found->refusal ? found->name : "";
  }
  std::string Refusal(const std::string& name) {
    const auto found = Find(name);
    if (!found || !found->refusal) return "";
    EXPECT_EQ(found->refusal->code(), ErrorCode::kNotFound);
    return found->refusal->message();
  }
  std::string Bytes(const std::string& name) {
    const auto view = GroupViews().MakeFile(*Group(), name);
    EXPECT_THAT(view, test::IsOk());
    if (!view) return {};
    std::string out((*view)->size().value(), '?');
    EXPECT_THAT((*view)->Read(0, std::as_writable_bytes(std::span(out))),
                test::IsOkAnd(out.size()));
    return out;
  }

  std::string group_ = "/";
  cache::ChunkCache cache_{1 << 20};
  std::shared_ptr<test::MemoryHierarchy> store_ = std::make_shared<test::MemoryHierarchy>();
};

std::string Big(std::vector<int32_t> numbers) {
  std::string bytes;
  for (const int32_t number : numbers) {
    for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(number >> shift);
  }
  return bytes;
}

TEST_F(GroupPartTest, TrueNameHasIndices) {
  EXPECT_EQ(TrueName("data[lat=15:40].nc"), "data[lat=#1:3].nc");
  EXPECT_EQ(TrueName("data[lat=#1:].nc"), "data[lat=#1:3].nc");
  EXPECT_EQ(TrueName("data[lat=20,x=#-1].nc"), "data[lat=#1,x=#3].nc");
  EXPECT_EQ(TrueName("data[lat=:].nc"), "data[lat=#:].nc");
  for (const char* name : {"data[lat=#1:3].nc", "data[lat=#1,x=#3].nc", "data[lat=#:].nc"}) {
    EXPECT_EQ(TrueName(name), name);
  }
  EXPECT_FALSE(Find("data[lat=#1:].nc")->is_listed);
}

TEST_F(GroupPartTest, EveryArrayIsCutAlongTheDimension) {
  const std::string file = Bytes("data[lat=15:40,x=#1:3].nc");
  EXPECT_THAT(file, HasSubstr(Big({5, 6, 9, 10})));  // t
  EXPECT_THAT(file, HasSubstr(Big({1, 2})));         // mask
  // The coordinates 20 and 30, and no more.
  EXPECT_THAT(file, HasSubstr(std::string("\x40\x34\0\0\0\0\0\0\x40\x3e", 10)));
  EXPECT_THAT(file, Not(HasSubstr(std::string("\x40\x24\0\0\0\0\0\0\x40\x34", 10))));
}

TEST_F(GroupPartTest, OneIndexDropsTheDimension) {
  const std::string file = Bytes("data[lat=20].nc");
  EXPECT_THAT(file, HasSubstr(Big({4, 5, 6, 7})));
  EXPECT_THAT(file, Not(HasSubstr(Big({7, 8}))));
}

TEST_F(GroupPartTest, CoordinatesOfADroppedDimensionAreNamed) {
  auto& t = Add("/t", {{"lat", 3}, {"x", 4}});
  EXPECT_THAT(Bytes("data[lat=20].nc"),
              HasSubstr(std::string("coordinates\0\0\0\0\2\0\0\0\3lat", 23)));
  EXPECT_THAT(Bytes("data[x=#1].nc"), Not(HasSubstr("coordinates")));
  Say(t, "coordinates", "lon");
  EXPECT_THAT(Bytes("data[lat=20].nc"), HasSubstr("lon lat"));
  EXPECT_THAT(Bytes("data[lat=#1:].nc"), Not(HasSubstr("lon lat")));
}

TEST_F(GroupPartTest, WhatIsNamedInOuterGroupsIsCutInTheSameWay) {
  store_->AddGroup("/g");
  auto& t = Add("/g/t", {{"lat", 3}, {"x", 4}});
  Say(t, "coordinates", "far");
  Say(t, "cell_measures", "area: area");
  Add("/far", {{"lat", 3}, {"x", 4}});
  Add("/area", {{"lat", 3}});
  Add("/bnds", {{"lat", 3}, {"two", 2}});
  Say(store_->AddDimCoord("/lat", std::make_shared<test::MemoryArray>(
                                      Datatype::Float64(), std::vector<uint64_t>{3},
                                      test::Raw(10.0) + test::Raw(20.0) + test::Raw(30.0))),
      "bounds", "bnds");
  std::get<model::Ndarray>(t.entity).shape[0].dimcoord = "/lat";
  group_ = "/g";
  const std::string slice = Bytes("data[lat=#1:].nc");
  EXPECT_THAT(slice, HasSubstr("far"));
  EXPECT_THAT(slice, HasSubstr(Big({4, 5, 6, 7, 8, 9, 10, 11})));
  EXPECT_THAT(slice, Not(HasSubstr(Big({3, 4, 5, 6}))));
  EXPECT_THAT(slice, HasSubstr(Big({2, 3, 4, 5}))) << "bounds";
  const std::string mean = Bytes("data[max:lat=2].nc");
  EXPECT_THAT(mean, HasSubstr(Big({0, 3, 4, 5}))) << "bounds";
  // The summed areas 1 and 2, and the coordinates 15 and 30.
  EXPECT_THAT(mean, HasSubstr(std::string("\x3f\xf0\0\0\0\0\0\0\x40\0", 10)));
  EXPECT_THAT(mean, HasSubstr(std::string("\x40\x2e\0\0\0\0\0\0\x40\x3e", 10)));
  const std::string index = Bytes("data[lat=#1].nc");
  EXPECT_THAT(index, HasSubstr("far lat"));
  EXPECT_THAT(index, HasSubstr(std::string("\x40\x34\0\0\0\0\0\0", 8)));
}

TEST_F(GroupPartTest, SlicesOfAllEqualTheWholeFile) {
  EXPECT_EQ(Bytes("data[lat=#:].nc"), Bytes("data.nc"));
}

TEST_F(GroupPartTest, BlocksHaveTheirCentresAsCoordinates) {
  const std::string file = Bytes("data[max:lat=2].nc");
  EXPECT_THAT(file, HasSubstr(Big({4, 5, 6, 7, 8, 9, 10, 11})));  // t
  EXPECT_THAT(file, HasSubstr(Big({1, 2})));                      // mask
  // The coordinates 15 and 30.
  EXPECT_THAT(file, HasSubstr(std::string("\x40\x2e\0\0\0\0\0\0\x40\x3e", 10)));
  EXPECT_EQ(TrueName("data[lat=20:,max:lat=2].nc"), "data[lat=#1:3,max:lat=2].nc");
  EXPECT_THAT(Refusal("data[max:depth=2].nc"), HasSubstr("no array has a dimension"));
  EXPECT_THAT(Refusal("data[max:2].nc"), HasSubstr("does not name a dimension"));
  EXPECT_THAT(Refusal("data[max:lat=0].nc"), HasSubstr("max: expected a number"));
  EXPECT_THAT(Refusal("data[axes:lat,x].nc"), HasSubstr("only arrays have axes"));
  EXPECT_THAT(Refusal("data[order=F].nc"), HasSubstr("only arrays have axes"));
}

TEST_F(GroupPartTest, TransformOfTheGridMappingIsThatOfThePart) {
  auto& t = Add("/t", {{"lat", 3}, {"x", 4}});
  Say(t, "grid_mapping", "crs");
  Say(t, "actual_range", "0 11");
  Say(Add("/crs", {}), "GeoTransform", "500000 100 20 5600200 10 -100");
  EXPECT_THAT(Bytes("data[lat=#1:,x=#1:].nc"), HasSubstr("500120 100 20 5600110 10 -100"));
  EXPECT_THAT(Bytes("data[max:lat=2,x=2].nc"), HasSubstr("500000 200 40 5600200 20 -200"));
  EXPECT_THAT(Bytes("data[lat=#1].nc"), Not(HasSubstr("GeoTransform")));
  EXPECT_THAT(Bytes("data.nc"), HasSubstr("actual_range"));
  EXPECT_THAT(Bytes("data[lat=#1:].nc"), Not(HasSubstr("actual_range")));
  // Another array of the same mapping is not cut.
  Say(Add("/other", {{"j", 3}, {"i", 4}}), "grid_mapping", "crs");
  EXPECT_THAT(Bytes("data[lat=#1:,x=#1:].nc"), Not(HasSubstr("GeoTransform")));
}

TEST_F(GroupPartTest, AGroupDoesNotPlaceImagesOfWhichPartsAreShown) {
  Add("/volume", {{"time", 2}, {"lat", 3}, {"x", 4}, {"k", 1}});
  auto& group = store_->AddGroup("/");
  Say(group, "space", "RAS");
  Say(group, "space directions", "(1,0,0) (0,1,0) (0,0,1)");
  Say(group, "space origin", "(7,8,9)");
  Say(group, "multiscales", "[]");
  EXPECT_THAT(Bytes("data[time=#1].nc"), HasSubstr("(7,8,9)"));
  EXPECT_THAT(Bytes("data[time=#1].nc"), Not(HasSubstr("multiscales")));
  EXPECT_THAT(Bytes("data[lat=#1:].nc"), Not(HasSubstr("(7,8,9)")));
}

TEST_F(GroupPartTest, WhatIsNoSliceSaysWhy) {
  EXPECT_THAT(Refusal("data[depth=3].nc"),
              HasSubstr("no array has a dimension called \"depth\""));
  EXPECT_THAT(Refusal("data[3].nc"), HasSubstr("does not name a dimension"));
  EXPECT_THAT(Refusal("data[].nc"), HasSubstr("does not name a dimension"));
  EXPECT_THAT(Refusal("data[lat=#3].nc"), HasSubstr("index 3 is outside"));
  EXPECT_THAT(Refusal("data[lat=25].nc"), HasSubstr("there is no coordinate \"25\""));
  EXPECT_THAT(Refusal("data[lat=10,lat=20].nc"), HasSubstr("is there twice"));
  EXPECT_THAT(Refusal("data[lat=].nc"), HasSubstr("lat"));
  for (const char* name : {"data[lat=10].h5", "data[lat=10", "data[lat=10].ncx", "data]"}) {
    EXPECT_FALSE(Find(name)) << name;
  }
}

// The dimension has another length than the coordinates of that name.
TEST_F(GroupPartTest, AnItemMeansTheSameForAllArrays) {
  Add("/other", {{"lat", 5}});
  EXPECT_THAT(Refusal("data[lat=1:2].nc"), HasSubstr("coordinates of some arrays"));
  // By index there is no doubt, but an index may be another one in each array.
  EXPECT_EQ(TrueName("data[lat=#-1].nc"), "data[lat=#-1].nc");
  EXPECT_THAT(Bytes("data[lat=#-1].nc"), HasSubstr(Big({8, 9, 10, 11})));
}

// Loading is counted.
class CountedGroup final : public GroupInput {
 public:
  explicit CountedGroup(std::shared_ptr<const GroupInput> group) : group_(std::move(group)) {}
  const std::string& path() const override { return group_->path(); }
  const backends::Node& node() const override { return group_->node(); }
  std::shared_ptr<const GroupInput> Outer() const override { return group_->Outer(); }
  model::Result<std::vector<std::string>> List() const override { return group_->List(); }
  model::Result<std::optional<backends::Link>> GetLink(std::string_view name) const override {
    return group_->GetLink(name);
  }
  model::Result<GroupChild> Load(std::string_view name) const override {
    ++loads;
    return group_->Load(name);
  }
  mutable int loads = 0;

 private:
  const std::shared_ptr<const GroupInput> group_;
};

TEST_F(GroupPartTest, FileIsMadeOfWhatItsNameWasResolvedTo) {
  const CountedGroup group(Group());
  const auto file = GroupViews().Resolve(group, "data[mean:lat=2].nc");
  ASSERT_TRUE(file && !file->refusal);
  EXPECT_EQ(file->name, "data[mean:lat=2].nc");
  const CountedGroup whole(Group());
  const auto all = GroupViews().Resolve(whole, "data.nc");
  constexpr int kArrays = 4;
  EXPECT_EQ(group.loads, whole.loads + kArrays);
  ASSERT_THAT(all->make(), test::IsOk());
  ASSERT_THAT(file->make(), test::IsOk());
  EXPECT_EQ(group.loads, whole.loads + kArrays);
}

TEST_F(GroupPartTest, OneArrayAsAGroupIsCutToo) {
  const ArrayInput array = Group()->Load("t")->array.value();
  const auto group = MakeGroupOfArray(array, "t");
  const auto found = GroupViews().Resolve(*group, "data[x=#1].nc");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->name, "data[x=#1].nc");
  EXPECT_FALSE(found->refusal);
}

}  // namespace
}  // namespace ndlfs::fs
