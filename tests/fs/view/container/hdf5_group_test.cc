// SPDX-License-Identifier: MIT
#include "fs/view/container/hdf5_group.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cache/chunk_cache.h"
#include "fs/view/all_views.h"
#include "fs/view/container/hdf5_types.h"
#include "fs/view/container/views.h"
#include "tests/support/memory_hierarchy.h"
#include "tests/support/result.h"

namespace ndlfs::fs::hdf5 {
namespace {

using backends::hdf5::NewAttribute;
using backends::hdf5::NewObject;
using model::Datatype;
using model::ErrorCode;
using test::Counted;
using test::ElementStream;
using test::IsError;
using test::IsOk;
using test::Raw;
using test::Undecodable;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class Hdf5GroupTest : public ::testing::Test {
 protected:
  Hdf5GroupTest() { store_->AddGroup("/"); }

  model::Ndarray& Add(const std::string& path,
                      std::shared_ptr<const backends::ArraySource> source,
                      std::vector<std::string> names = {}) {
    auto& array = std::get<model::Ndarray>(store_->AddArray(path, std::move(source)).entity);
    array.dimension_names = std::move(names);
    return array;
  }
  static model::Attribute Attribute(std::string name, Datatype type, model::Value value,
                                    std::vector<uint64_t> shape = {}) {
    model::Attribute attribute;
    attribute.name = std::move(name);
    attribute.type = std::move(type);
    attribute.shape = std::move(shape);
    attribute.value = std::move(value);
    return attribute;
  }

  model::Result<Content> TryMake(const Limits& limits = {}, const std::string& path = "/") {
    group_ = MakeGroupInput(store_, path, cache_).value();
    return MakeContent(*group_, limits);
  }
  Content Make(const std::string& path = "/") {
    auto content = TryMake({}, path);
    EXPECT_THAT(content, IsOk());
    return content ? *std::move(content)
                   : Content{std::make_shared<backends::hdf5::NewFile>(), {}};
  }

  static const NewObject& Find(const Content& content, std::string_view name) {
    static const NewObject none;
    for (const NewObject& object : content.file->objects) {
      if (object.name == name) return object;
    }
    ADD_FAILURE() << "no " << name;
    return none;
  }
  static std::vector<std::string> Names(const Content& content) {
    std::vector<std::string> names;
    for (const NewObject& object : content.file->objects) names.push_back(object.name);
    return names;
  }
  static std::vector<std::string> ScalesOf(const Content& content, std::string_view name) {
    std::vector<std::string> names;
    for (const uint32_t scale : Find(content, name).scales) {
      names.push_back(content.file->objects.at(scale).name);
    }
    return names;
  }
  static const NewAttribute* FindAttribute(const NewObject& object, std::string_view name) {
    for (const NewAttribute& attribute : object.attributes) {
      if (attribute.name == name) return &attribute;
    }
    return nullptr;
  }
  static std::string DataOf(const NewAttribute* attribute) {
    if (attribute == nullptr) return "(no attribute)";
    return std::string(backends::AsText(attribute->data));
  }

  const std::shared_ptr<test::MemoryHierarchy> store_ =
      std::make_shared<test::MemoryHierarchy>();
  cache::ChunkCache cache_{1 << 20};
  std::shared_ptr<const GroupInput> group_;
};

TEST_F(Hdf5GroupTest, CoordinatesAreTheScalesOfTheirDimensions) {
  store_->AddDimCoord("/time", Undecodable(Datatype::Float64(), {2}));
  Add("/wind", Undecodable(Datatype::Float32(), {2, 3}), {"time", "x"}).shape[0].dimcoord =
      "/time";
  const Content content = Make();
  EXPECT_THAT(Names(content), ElementsAre("", "time", "x", "wind"));
  EXPECT_TRUE(Find(content, "time").is_scale);
  EXPECT_EQ(Find(content, "x").kind, NewObject::Kind::kDimension);
  EXPECT_THAT(ScalesOf(content, "wind"), ElementsAre("time", "x"));
  EXPECT_EQ(content.file->left_out, "");
}

TEST_F(Hdf5GroupTest, CoordinatesOfOuterGroupsAreShared) {
  store_->AddDimCoord("/time", Undecodable(Datatype::Float64(), {2}));
  store_->AddGroup("/g");
  Add("/g/wind", Undecodable(Datatype::Float32(), {2}), {"time"}).shape[0].dimcoord = "/time";
  EXPECT_THAT(ScalesOf(Make(), "wind"), ElementsAre("time"));
  // The file of the group alone has them, too.
  const Content part = Make("/g");
  EXPECT_THAT(Names(part), ElementsAre("", "time", "wind"));
  EXPECT_THAT(ScalesOf(part, "wind"), ElementsAre("time"));
}

TEST_F(Hdf5GroupTest, ACoordinateOfAnotherLengthIsNone) {
  store_->AddDimCoord("/x", Undecodable(Datatype::Float64(), {2}));
  Add("/v", Undecodable(Datatype::Float32(), {5}), {"x"}).shape[0].dimcoord = "/x";
  EXPECT_THAT(ScalesOf(Make(), "v"), ElementsAre("x_2"));
}

TEST_F(Hdf5GroupTest, DimensionsWithoutNamesHaveNoScales) {
  Add("/v", Undecodable(Datatype::Float32(), {5, 6}));
  EXPECT_THAT(Find(Make(), "v").scales, IsEmpty());
}

TEST_F(Hdf5GroupTest, AVariableCalledAsADimensionThatItIsNotGivesWay) {
  Add("/v", Undecodable(Datatype::Float32(), {5}), {"x"});
  Add("/x", Undecodable(Datatype::Float32(), {7}), {"y"});
  const Content content = Make();
  EXPECT_EQ(Find(content, "x").kind, NewObject::Kind::kDimension);
  EXPECT_THAT(ScalesOf(content, "_nc4_non_coord_x"), ElementsAre("y"));
}

TEST_F(Hdf5GroupTest, AVariableCalledAsItsFirstDimensionIsItsScale) {
  Add("/v", Undecodable(Datatype::Float32(), {5}), {"x"});
  Add("/x", Undecodable(Datatype::Float32(), {5, 2}), {"x", "n"});
  const Content content = Make();
  EXPECT_TRUE(Find(content, "x").is_scale);
  EXPECT_THAT(ScalesOf(content, "x"), ElementsAre("x", "n"));
  EXPECT_THAT(ScalesOf(content, "v"), ElementsAre("x"));
}

TEST_F(Hdf5GroupTest, DimensionsAreThoseOfTheGroupThatDefinesThem) {
  auto& root = std::get<model::Group>(store_->AddGroup("/").entity);
  root.dimensions = {{"x", 5}, {"unused", 3}};
  store_->AddGroup("/g");
  Add("/g/v", Undecodable(Datatype::Float32(), {5}), {"x"});
  Add("/g/w", Undecodable(Datatype::Float32(), {6}), {"x"});
  const Content content = Make();
  EXPECT_THAT(Names(content), ElementsAre("", "g", "x", "unused", "x", "v", "w"));
  EXPECT_EQ(Find(content, "v").scales.at(0), 2U);
  EXPECT_EQ(Find(content, "w").scales.at(0), 4U);
}

TEST_F(Hdf5GroupTest, TextOfFixedLengthIsCharacters) {
  Add("/t", Undecodable(Datatype::FixedString(8, model::Charset::kUtf32), {3}));
  const Content content = Make();
  EXPECT_THAT(Find(content, "t").shape, ElementsAre(3, 8));
  EXPECT_EQ(Find(content, "t").type.size(), 1U);
  EXPECT_EQ(DataOf(FindAttribute(Find(content, "t"), "_Encoding")), "UTF-8");
}

TEST_F(Hdf5GroupTest, Utf32BecomesUtf8InTheSameBytes) {
  const std::string text = Raw(uint32_t{0xE9}) + Raw(uint32_t{0}) +  // "é"
                           Raw(uint32_t{0x1F600}) + Raw(uint32_t{0xDDDDDDDD});
  store_->AddArray("/t", std::make_shared<test::MemoryArray>(
                             Datatype::FixedString(8, model::Charset::kUtf32),
                             std::vector<uint64_t>{2}, text));
  const Content content = Make();
  const auto& elements = content.elements.back();
  ASSERT_EQ(elements->size(), 16U);
  std::string read(16, '?');
  for (size_t at = 0; at < 16; at += 5) {  // also from within a text
    const size_t count = std::min<size_t>(5, 16 - at);
    backends::ByteSpan out(reinterpret_cast<std::byte*>(read.data()) + at, count);
    ASSERT_THAT(elements->Read(at, out, model::ByteOrder::kLittle, cache::ReadHint::kOnward),
                IsOk());
  }
  EXPECT_EQ(read, std::string("\xC3\xA9\0\0\0\0\0\0\xF0\x9F\x98\x80\xEF\xBF\xBD\0", 16));
}

TEST_F(Hdf5GroupTest, ElementsThatAreArraysAreDimensions) {
  Add("/a", Undecodable(Datatype::Array(Datatype::Integer(2, true), {2, 4}), {3}));
  EXPECT_THAT(Find(Make(), "a").shape, ElementsAre(3, 2, 4));
}

TEST_F(Hdf5GroupTest, TypesOfNetcdfAreCommittedOnceInnerOnesFirst) {
  const Datatype compound = Datatype::PackedCompound({{"c", Datatype::Complex(8), 0}});
  Add("/a", Undecodable(compound, {2}));
  Add("/b", Undecodable(compound, {2}));
  Add("/f", Undecodable(Datatype::Bool(), {2}));
  EXPECT_THAT(Names(Make()), ElementsAre("", "complex64", "compound", "bool", "a", "b", "f"));
}

TEST_F(Hdf5GroupTest, TypesThatNetcdfCannotReadAreNotCommitted) {
  store_->AddArray("/r", std::make_shared<test::MemoryArray>(
                             Datatype::PackedCompound({{"r", Datatype::ObjectRef(), 0}}),
                             std::vector<uint64_t>{1}, ElementStream({Counted("/r")})));
  EXPECT_THAT(Names(Make()), ElementsAre("", "r"));
}

TEST(Hdf5TypesTest, ListsOfArraysAndOfTextsAreNotCommitted) {
  const auto count = [](const Datatype& base) {
    std::vector<Datatype> types;
    AddCommitted(Datatype::Vlen(base), types);
    return types.size();
  };
  EXPECT_EQ(count(Datatype::Array(Datatype::Integer(4, true), {3})), 0u);
  EXPECT_EQ(count(Datatype::FixedString(4, model::Charset::kAscii)), 0u);
  EXPECT_EQ(count(Datatype::FixedString(1, model::Charset::kAscii)), 1u);
  EXPECT_EQ(count(Datatype::Integer(4, true)), 1u);
}

TEST_F(Hdf5GroupTest, ElementsOfVariableSizeAreDecodedUpToALimit) {
  store_->AddArray(
      "/a", std::make_shared<test::MemoryArray>(Datatype::String(), std::vector<uint64_t>{1},
                                                ElementStream({Counted("first")})));
  store_->AddArray("/b", std::make_shared<test::MemoryArray>(
                             Datatype::String(), std::vector<uint64_t>{1},
                             ElementStream({Counted(std::string(100, 'x'))})));
  const auto content = TryMake({.variable_bytes = 100});
  ASSERT_THAT(content, IsOk());
  EXPECT_THAT(Names(*content), ElementsAre("", "a"));
  EXPECT_EQ(backends::AsText(*Find(*content, "a").data), Counted("first"));
  EXPECT_THAT(content->file->left_out,
              HasSubstr("/b: elements of variable size take more than"));
}

TEST_F(Hdf5GroupTest, WhatCannotBeReadIsLeftOutWithItsReason) {
  Add("/good", Undecodable(Datatype::Float32(), {2}));
  store_->AddArray("/text", Undecodable(Datatype::String(), {1}));  // its chunk is broken
  store_->AddArray("/none", model::Ndarray(), nullptr).error =
      model::Error(ErrorCode::kUnsupported, "an unknown codec");
  Add("/gone", Undecodable(Datatype::Float32(), {2}));
  store_->Break("/gone");
  Add("/rank", Undecodable(Datatype::Integer(1, true), std::vector<uint64_t>(40, 1)));
  const Content content = Make();
  EXPECT_THAT(Names(content), ElementsAre("", "good"));
  EXPECT_THAT(content.file->left_out, HasSubstr("/none: an unknown codec"));
  EXPECT_THAT(content.file->left_out, HasSubstr("/gone: /gone is broken"));
  EXPECT_THAT(content.file->left_out, HasSubstr("/rank: 40 dimensions; HDF5 has 32"));
  EXPECT_THAT(content.file->left_out, HasSubstr("/text: "));
}

TEST_F(Hdf5GroupTest, MoreObjectsThanTheLimitAreRefused) {
  for (const char* path : {"/a", "/b", "/c"}) Add(path, Undecodable(Datatype::Float32(), {2}));
  EXPECT_THAT(TryMake({.objects = 2}), IsError(ErrorCode::kLimit, HasSubstr("2 objects")));
}

TEST_F(Hdf5GroupTest, GroupsNestedTooDeepAreLeftOut) {
  store_->AddGroup("/a");
  store_->AddGroup("/a/b");
  Add("/a/b/v", Undecodable(Datatype::Float32(), {2}));
  const auto content = TryMake({.depth = 1});
  ASSERT_THAT(content, IsOk());
  EXPECT_THAT(content->file->left_out, HasSubstr("/a/b: its groups are nested too deep"));
}

TEST_F(Hdf5GroupTest, NamesThatHdf5CannotHaveAreChanged) {
  const std::string longest(300, 'n');
  Add("/" + longest, Undecodable(Datatype::Float32(), {2}));
  const Content content = Make();
  const NewObject& object = content.file->objects.back();
  EXPECT_EQ(object.name, std::string(255, 'n'));
  EXPECT_EQ(DataOf(FindAttribute(object, "ndlfs_name")), longest);
}

TEST_F(Hdf5GroupTest, CharactersOfNamesAreComposed) {
  auto& array = Add("/e\u0301", Undecodable(Datatype::Float32(), {2}));
  array.attributes = {Attribute("a\u0308", Datatype::Integer(1, true), 1)};
  array.dimension_names = {"o\u0302"};
  Add("/\u00e9", Undecodable(Datatype::Float32(), {2}));
  const Content content = Make();
  std::vector<std::string> names;
  for (const NewObject& object : content.file->objects) names.push_back(object.name);
  EXPECT_THAT(names, ElementsAre("", "\u00f4", "\u00e9_2", "\u00e9"))
      << "a name that HDF5 can have stays";
  const NewObject& object = content.file->objects.at(2);
  EXPECT_EQ(DataOf(FindAttribute(object, "ndlfs_name")), "e\u0301");
  EXPECT_NE(FindAttribute(object, "\u00e4"), nullptr);
}

TEST_F(Hdf5GroupTest, AttributesAreAsNetcdfReadsThem) {
  auto& array = Add("/v", Undecodable(Datatype::Float32(), {2}));
  array.attributes = {
      Attribute("units", Datatype::String(), "m"),
      Attribute("texts", Datatype::String(), model::Value::List{"a", "b"}, {2}),
      Attribute("flag", Datatype::Bool(), "TRUE"),
      Attribute("matrix", Datatype::Integer(1, true),
                model::Value::List{model::Value::List{1, 2}, model::Value::List{3, 4}}, {2, 2}),
      Attribute("big", Datatype::Integer(2, true, model::ByteOrder::kBig), 1),
      Attribute("_FillValue", Datatype::Float64(), 1e20),
      Attribute("CLASS", Datatype::String(), "mine"),
  };
  const Content content = Make();
  const NewObject& object = Find(content, "v");
  EXPECT_EQ(DataOf(FindAttribute(object, "units")), "m");
  EXPECT_THAT(FindAttribute(object, "units")->shape, IsEmpty());
  EXPECT_EQ(DataOf(FindAttribute(object, "texts")), Counted("a") + Counted("b"));
  EXPECT_EQ(DataOf(FindAttribute(object, "flag")), std::string("\1"));
  EXPECT_EQ(DataOf(FindAttribute(object, "matrix")), std::string("\1\2\3\4"));
  EXPECT_THAT(FindAttribute(object, "matrix")->shape, ElementsAre(4));
  EXPECT_EQ(DataOf(FindAttribute(object, "big")), Raw(int16_t{1}));
  EXPECT_EQ(DataOf(FindAttribute(object, "_FillValue")), Raw(1e20F));
  EXPECT_EQ(DataOf(FindAttribute(object, "ndlfs_CLASS")), "mine");
  EXPECT_EQ(FindAttribute(object, "CLASS"), nullptr);
}

// That of a file which ndlfs has made before.
TEST_F(Hdf5GroupTest, WhatAnotherFileHasLeftOutHasAnotherName) {
  auto& array = Add("/v", Undecodable(Datatype::Float32(), {2}));
  array.attributes = {Attribute("ndlfs_left_out", Datatype::String(), "/x: a link")};
  EXPECT_EQ(DataOf(FindAttribute(Find(Make(), "v"), "ndlfs_ndlfs_left_out")), "/x: a link");
}

TEST_F(Hdf5GroupTest, FillValuesThatStandForMissingElementsAreAttributes) {
  const auto add = [&](const std::string& path, bool is_missing) {
    auto& node = store_->AddArray(path, Undecodable(Datatype::Integer(2, true), {2}));
    std::get<model::Ndarray>(node.entity).storage.fillvalue = -9;
    node.fill_is_missing = is_missing;
  };
  add("/xarray", true);
  add("/plain", false);
  const Content content = Make();
  EXPECT_EQ(DataOf(FindAttribute(Find(content, "xarray"), "_FillValue")), Raw(int16_t{-9}));
  EXPECT_EQ(FindAttribute(Find(content, "plain"), "_FillValue"), nullptr);
}

TEST_F(Hdf5GroupTest, LimitsOfUnpackedValuesKeepTheirType) {
  auto& v = Add("/v", Undecodable(Datatype::Integer(2, true), {2}));
  v.attributes = {Attribute("scale_factor", Datatype::Float64(), 0.5),
                  Attribute("valid_min", Datatype::Float64(), 1.0),
                  Attribute("valid_max", Datatype::Integer(4, true), 9)};
  const Content content = Make();
  EXPECT_EQ(DataOf(FindAttribute(Find(content, "v"), "valid_min")), Raw(1.0));
  EXPECT_EQ(DataOf(FindAttribute(Find(content, "v"), "valid_max")), Raw(int16_t{9}));
}

TEST_F(Hdf5GroupTest, FloatsOfMoreThan64BitsAreLeftOutAndNamed) {
  Add("/l", Undecodable(Datatype::Float("float128", 16), {2}));
  Add("/a", Undecodable(Datatype::Float32(), {2}));
  const Content content = Make();
  EXPECT_THAT(Names(content), ElementsAre("", "a"));
  EXPECT_THAT(content.file->left_out, HasSubstr("/l: netCDF-C fails"));
}

TEST_F(Hdf5GroupTest, UnlimitedDimensionsStaySo) {
  Add("/v", Undecodable(Datatype::Float32(), {2, 3}), {"t", "x"}).shape[0].size.reset();
  const Content content = Make();
  EXPECT_TRUE(Find(content, "t").is_unlimited);
  EXPECT_FALSE(Find(content, "x").is_unlimited);
}

TEST_F(Hdf5GroupTest, TimesHaveUnits) {
  Add("/t", Undecodable(Datatype::Time({"s", 1, false}), {2}));
  EXPECT_EQ(DataOf(FindAttribute(Find(Make(), "t"), "units")), "seconds since 1970-01-01");
  EXPECT_EQ(DataOf(FindAttribute(Find(Make(), "t"), "calendar")), "proleptic_gregorian");
}

TEST_F(Hdf5GroupTest, TheFileHasTheElementsAndNeedsNoChunkBefore) {
  const std::string elements = Raw(1.5F) + Raw(-2.0F);
  store_->AddArray("/good", std::make_shared<test::MemoryArray>(
                                Datatype::Float32(), std::vector<uint64_t>{2}, elements));
  Add("/broken", Undecodable(Datatype::Float32(), {2}));
  group_ = MakeGroupInput(store_, "/", cache_).value();
  const auto view = GroupViews().MakeFile(*group_, "data.h5");
  ASSERT_THAT(view, IsOk());
  const uint64_t size = *(*view)->size();
  // Byte by byte: eight of them cannot be read, those of the broken chunk.
  std::string bytes;
  size_t failures = 0;
  for (uint64_t at = 0; at < size; at += 4) {
    std::byte four[4] = {};
    if (!(*view)->Read(at, four)) ++failures;
    bytes.append(reinterpret_cast<const char*>(four), 4);
  }
  EXPECT_EQ(failures, 2U);
  EXPECT_THAT(bytes, HasSubstr(elements));
  EXPECT_TRUE(bytes.starts_with("\x89HDF\r\n"));
}

TEST_F(Hdf5GroupTest, TextsThatAreNotAsciiAreUtf8) {
  auto& array = Add("/v", Undecodable(Datatype::Float32(), {2}));
  array.attributes = {Attribute("units", Datatype::String(), "m"),
                      Attribute("name", Datatype::String(), "\u00e9")};
  const Content content = Make();
  const NewObject& object = Find(content, "v");
  EXPECT_EQ(FindAttribute(object, "units")->type.charset(), model::Charset::kAscii);
  EXPECT_EQ(FindAttribute(object, "name")->type.charset(), model::Charset::kUtf8);
}

}  // namespace
}  // namespace ndlfs::fs::hdf5
