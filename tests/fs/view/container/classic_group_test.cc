// SPDX-License-Identifier: MIT
#include "fs/view/container/classic_group.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cache/array_reader.h"
#include "cache/chunk_cache.h"
#include "fs/view/container/classic_arrays.h"
#include "tests/support/memory_hierarchy.h"

namespace ndlfs::fs::classic {
namespace {

using backends::netcdf3::Attribute;
using backends::netcdf3::Type;
using backends::netcdf3::Variable;
using model::Datatype;
using test::Undecodable;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

model::Attribute Number(std::string name, Datatype type, model::Value value) {
  model::Attribute attribute;
  attribute.name = std::move(name);
  attribute.type = std::move(type);
  attribute.value = std::move(value);
  return attribute;
}

model::Attribute Text(std::string name, std::string text) {
  return Number(std::move(name), Datatype::String(), std::move(text));
}

class ClassicGroupTest : public ::testing::Test {
 protected:
  model::Ndarray& AddArray(const std::string& path, Datatype dtype, std::vector<uint64_t> shape,
                           std::vector<std::string> names = {}) {
    model::Ndarray array;
    array.name = model::BaseName(path);
    for (const uint64_t extent : shape) array.shape.push_back({extent, ""});
    array.dimension_names = std::move(names);
    return Add(path, std::move(array), Undecodable(std::move(dtype), std::move(shape)));
  }
  model::Ndarray& AddCoordinate(const std::string& path, Datatype dtype, uint64_t size) {
    model::DimCoord coordinate;
    coordinate.name = model::BaseName(path);
    coordinate.shape = {{size, ""}};
    return Add(path, std::move(coordinate), Undecodable(std::move(dtype), {size}));
  }

  Content Make() const {
    ContentBuilder builder;
    for (const GroupArray& array : arrays_) builder.Add(array);
    return builder.Build(group_attributes_);
  }

  static const Attribute* Find(const std::vector<Attribute>& attributes,
                               std::string_view name) {
    for (const Attribute& attribute : attributes) {
      if (attribute.name == name) return &attribute;
    }
    return nullptr;
  }
  static std::string LeftOut(const Content& content) {
    const Attribute* attribute = Find(content.header.attributes, "ndlfs_left_out");
    return attribute == nullptr ? "" : attribute->values;
  }
  static std::vector<std::string> DimensionsOf(const Content& content, size_t variable) {
    std::vector<std::string> names;
    for (const uint64_t d : content.header.variables.at(variable).dimensions) {
      names.push_back(content.header.dimensions.at(d).name);
    }
    return names;
  }

  cache::ChunkCache cache_{1 << 20};
  std::vector<model::Attribute> group_attributes_;
  std::vector<GroupArray> arrays_;

 private:
  template <typename Entity>
  model::Ndarray& Add(const std::string& path, Entity entity,
                      std::shared_ptr<const backends::ArraySource> source) {
    entity.type = source->spec().dtype;
    auto node = std::make_shared<backends::Node>();
    node->entity = std::move(entity);
    node->source = source;
    auto reader = std::make_shared<cache::ArrayReader>(std::move(source), cache_);
    arrays_.push_back({path, node, MakeArrayInput(node, std::move(reader), {})});
    return std::get<Entity>(node->entity);
  }
};

TEST_F(ClassicGroupTest, CoordinatesComeFirstAndGiveDimensionsTheirNames) {
  model::Ndarray& wind = AddArray("/wind", Datatype::Float32(), {2, 3});
  wind.shape[0].dimcoord = "/time";
  wind.shape[1].dimcoord = "/x";
  AddCoordinate("/time", Datatype::Float64(), 2);
  const Content content = Make();
  EXPECT_THAT(content.arrays, ElementsAre(1, 0));
  EXPECT_EQ(content.header.variables[0].name, "time");
  EXPECT_THAT(DimensionsOf(content, 0), ElementsAre("time"));
  EXPECT_THAT(DimensionsOf(content, 1), ElementsAre("time", "x"));
  EXPECT_EQ(LeftOut(content), "");
}

TEST_F(ClassicGroupTest, NamesOfOneLengthAreOneDimension) {
  AddArray("/a", Datatype::Float32(), {2, 3}, {"y", "x"});
  AddArray("/b", Datatype::Float32(), {3, 4}, {"x", "y"});
  const Content content = Make();
  EXPECT_THAT(DimensionsOf(content, 0), ElementsAre("y", "x"));
  EXPECT_THAT(DimensionsOf(content, 1), ElementsAre("x", "y_2"));
}

TEST_F(ClassicGroupTest, DimensionsWithoutNamesAreNeverShared) {
  AddArray("/a", Datatype::Float32(), {3, 3});
  AddArray("/b", Datatype::Float32(), {3});
  const Content content = Make();
  EXPECT_THAT(DimensionsOf(content, 0), ElementsAre("a_dim0", "a_dim1"));
  EXPECT_THAT(DimensionsOf(content, 1), ElementsAre("b_dim0"));
}

struct TypesOfFile {
  Datatype elements;
  Type classic;
  Type own;
};
const std::vector<TypesOfFile>& KnownTypes() {
  static const std::vector<TypesOfFile> types = {
      {Datatype::Integer(1, true), Type::kByte, Type::kByte},
      {Datatype::Integer(1, false), Type::kShort, Type::kUByte},
      {Datatype::Integer(2, true), Type::kShort, Type::kShort},
      {Datatype::Integer(2, false), Type::kInt, Type::kUShort},
      {Datatype::Integer(4, true), Type::kInt, Type::kInt},
      {Datatype::Integer(4, false), Type::kDouble, Type::kUInt},
      {Datatype::Integer(8, true), Type::kDouble, Type::kInt64},
      {Datatype::Integer(8, false), Type::kDouble, Type::kUInt64},
      {Datatype::Float32(), Type::kFloat, Type::kFloat},
      {Datatype::Float64(), Type::kDouble, Type::kDouble},
      {Datatype::Bool(), Type::kByte, Type::kByte}};
  return types;
}

TEST_F(ClassicGroupTest, IntegersHaveTypesOfCdf1) {
  for (size_t i = 0; i < KnownTypes().size(); ++i)
    AddArray(fmt::format("/v{}", i), KnownTypes()[i].elements, {1});
  const Content content = Make();
  ASSERT_TRUE(content.cdf5_header);
  EXPECT_EQ(content.wide.size(), 2U);
  for (size_t i = 0; i < KnownTypes().size(); ++i) {
    const TypesOfFile& types = KnownTypes()[i];
    EXPECT_EQ(content.header.variables[i].type, types.classic) << types.elements.keyword();
    const bool is_wide = i == 6 || i == 7;
    EXPECT_EQ(content.cdf5_header->variables[i].type, is_wide ? types.own : types.classic);
    EXPECT_EQ(content.elements[i]->size(), content.cdf5_elements[i]->size());
  }
}

TEST_F(ClassicGroupTest, TypesAreThoseOfTheElementsWhereOneIsTooLargeToLookAt) {
  for (size_t i = 0; i < KnownTypes().size(); ++i)
    AddArray(fmt::format("/v{}", i), KnownTypes()[i].elements, {1});
  AddArray("/v_large", Datatype::Integer(8, true), {ContentBuilder::kLooksAtArray});
  const Content content = Make();
  EXPECT_FALSE(content.cdf5_header);
  for (size_t i = 0; i < KnownTypes().size(); ++i) {
    EXPECT_EQ(content.header.variables[i].type, KnownTypes()[i].own);
  }
}

TEST_F(ClassicGroupTest, WhatHasNoTypeIsLeftOutAndNamed) {
  AddArray("/text", Datatype::String(), {2});
  AddArray("/quad", Datatype::Float("float128", 16), {2});
  AddArray("/z", Datatype::Complex(8), {2});
  AddArray("/good", Datatype::Float32(), {2});
  const Content content = Make();
  EXPECT_THAT(content.arrays, ElementsAre(3));
  EXPECT_EQ(LeftOut(content),
            "text: netCDF classic has no type for string\n"
            "quad: netCDF classic has no type for float128\n"
            "z: netCDF classic has no type for compound");
}

TEST_F(ClassicGroupTest, TextOfFixedLengthHasOneDimensionMore) {
  AddArray("/name", Datatype::FixedString(12, model::Charset::kUtf8), {3}, {"station"});
  const Content content = Make();
  EXPECT_EQ(content.header.variables.at(0).type, Type::kChar);
  EXPECT_THAT(DimensionsOf(content, 0), ElementsAre("station", "string12"));
}

TEST_F(ClassicGroupTest, TextsOfTheSameShapeMayHaveDifferentWidths) {
  AddArray("/a", Datatype::FixedString(3, model::Charset::kAscii), {2}, {"station"});
  AddArray("/b", Datatype::FixedString(4, model::Charset::kAscii), {2}, {"station"});
  const Content content = Make();
  EXPECT_THAT(DimensionsOf(content, 0), ElementsAre("station", "string3"));
  EXPECT_THAT(DimensionsOf(content, 1), ElementsAre("station", "string4"));
}

TEST_F(ClassicGroupTest, SingleCharactersHaveNoDimensionMore) {
  AddArray("/c", Datatype::FixedString(1, model::Charset::kAscii), {3, 2}, {"n", "len"});
  EXPECT_THAT(DimensionsOf(Make(), 0), ElementsAre("n", "len"));
}

TEST_F(ClassicGroupTest, SmallFloatsAreFloats) {
  const Datatype half = Datatype::Float("float16", 2);
  model::Ndarray& a = AddArray("/a", half, {2});
  a.attributes.push_back(Number("_FillValue", Datatype::Float64(), 1.5));
  AddArray("/b", Datatype::Float("bfloat16", 2), {2});
  AddArray("/c", Datatype::Array(half, {3}), {2});
  const Content content = Make();
  EXPECT_EQ(LeftOut(content), "");
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(content.header.variables.at(i).type, Type::kFloat);
    EXPECT_EQ(content.elements.at(i)->size(), i == 2 ? 24u : 8u);
  }
  EXPECT_EQ(Find(content.header.variables[0].attributes, "_FillValue")->values,
            std::string("\x3f\xc0\0\0", 4));
}

TEST_F(ClassicGroupTest, Utf32IsCharacters) {
  AddArray("/name", Datatype::FixedString(12, model::Charset::kUtf32), {3}, {"station"});
  const Content content = Make();
  EXPECT_EQ(content.header.variables.at(0).type, Type::kChar);
  EXPECT_THAT(DimensionsOf(content, 0), ElementsAre("station", "string12"));
}

TEST_F(ClassicGroupTest, NamesOfOwnArraysComeBeforeThoseOfOuterCoordinates) {
  model::Ndarray& wind = AddArray("/g/wind", Datatype::Float32(), {2, 3});
  wind.shape[0].dimcoord = "/lat";
  wind.shape[1].dimcoord = "/lon";
  AddArray("/g/lat", Datatype::Float32(), {2, 2});
  AddCoordinate("/lat", Datatype::Float64(), 2);
  AddCoordinate("/lon", Datatype::Float64(), 3);
  const Content content = Make();
  EXPECT_THAT(content.arrays, ElementsAre(2, 3, 0, 1));
  EXPECT_EQ(content.header.variables[0].name, "lat_2");
  EXPECT_EQ(content.header.variables[3].name, "lat");
  EXPECT_THAT(DimensionsOf(content, 0), ElementsAre("lat_2"));
  EXPECT_THAT(DimensionsOf(content, 1), ElementsAre("lon"));
  EXPECT_THAT(DimensionsOf(content, 2), ElementsAre("lat_2", "lon"));
}

TEST_F(ClassicGroupTest, ElementsThatAreArraysHaveTheirDimensionsLast) {
  AddArray("/v", Datatype::Array(Datatype::Float32(), {2, 3}), {5});
  const Content content = Make();
  EXPECT_THAT(DimensionsOf(content, 0), ElementsAre("v_dim0", "v_dim1", "v_dim2"));
  EXPECT_EQ(content.header.dimensions.at(2).size, 3u);
}

TEST_F(ClassicGroupTest, EnumsAreFlags) {
  AddArray("/kind",
           Datatype::Enum(Datatype::Integer(2, true), {{"sea ice", -1}, {"land", 300}}), {2});
  const Content content = Make();
  const auto& attributes = content.header.variables.at(0).attributes;
  ASSERT_NE(Find(attributes, "flag_values"), nullptr);
  EXPECT_EQ(Find(attributes, "flag_values")->values, std::string("\xff\xff\x01\x2c"));
  EXPECT_EQ(Find(attributes, "flag_values")->type, Type::kShort);
  EXPECT_EQ(Find(attributes, "flag_meanings")->values, "sea_ice land");
}

TEST_F(ClassicGroupTest, FillValuesHaveTheTypeOfTheVariable) {
  model::Ndarray& a = AddArray("/a", Datatype::Integer(2, true), {2});
  a.attributes.push_back(Number("_FillValue", Datatype::Integer(4, true), -999));
  model::Ndarray& b = AddArray("/b", Datatype::Integer(1, true), {2});
  b.attributes.push_back(Number("_FillValue", Datatype::Integer(4, true), 1000));
  model::Ndarray& c = AddArray("/c", Datatype::Float32(), {2});
  c.storage.fillvalue = model::Value(std::nan(""));
  model::Ndarray& d = AddArray("/d", Datatype::Float32(), {2});
  d.storage.fillvalue = model::Value(1.5);
  model::Ndarray& e = AddArray("/e", Datatype::FixedString(1, model::Charset::kAscii), {2});
  e.attributes.push_back(Text("_FillValue", " "));
  const auto variables = Make().header.variables;
  EXPECT_EQ(Find(variables.at(0).attributes, "_FillValue")->type, Type::kShort);
  EXPECT_EQ(Find(variables.at(0).attributes, "_FillValue")->values, "\xfc\x19");
  EXPECT_EQ(Find(variables.at(1).attributes, "_FillValue"), nullptr);
  EXPECT_EQ(Find(variables.at(2).attributes, "_FillValue")->values,
            std::string("\x7f\xc0\0\0", 4));
  EXPECT_THAT(variables.at(3).attributes, IsEmpty()) << "no attribute says that it is missing";
  EXPECT_EQ(Find(variables.at(4).attributes, "_FillValue")->values, " ");
  EXPECT_EQ(Find(variables.at(4).attributes, "_FillValue")->type, Type::kChar);
}

TEST_F(ClassicGroupTest, AnUnlimitedDimensionIsTheRecordDimension) {
  AddArray("/a", Datatype::Float32(), {4, 3}, {"t", "x"}).shape[0].size.reset();
  AddArray("/b", Datatype::Float32(), {4}, {"t"}).shape[0].size.reset();
  AddArray("/c", Datatype::Float32(), {2}, {"u"}).shape[0].size.reset();
  const Content content = Make();
  ASSERT_TRUE(content.header.record_dimension);
  EXPECT_EQ(content.header.dimensions[*content.header.record_dimension].name, "t");
  EXPECT_EQ(content.header.dimensions[*content.header.record_dimension].size, 0u);
  EXPECT_EQ(content.header.record_count, 4u);
}

TEST_F(ClassicGroupTest, AnUnlimitedDimensionThatIsNotAlwaysTheFirstIsFixed) {
  AddArray("/a", Datatype::Float32(), {4, 3}, {"t", "x"}).shape[0].size.reset();
  AddArray("/b", Datatype::Float32(), {3, 4}, {"x", "t"}).shape[1].size.reset();
  const Content content = Make();
  EXPECT_FALSE(content.header.record_dimension);
  EXPECT_EQ(content.header.dimensions.at(0).size, 4u);
}

TEST_F(ClassicGroupTest, IntegersOfAttributesAreNarrowedUnlessTheFileIsCdf5) {
  group_attributes_.push_back(Number("n", Datatype::Integer(8, true), 7));
  AddArray("/a", Datatype::Float32(), {2});
  EXPECT_EQ(Make().header.attributes.at(0).type, Type::kInt);
  AddArray("/b", Datatype::Integer(8, true), {ContentBuilder::kLooksAtArray});
  EXPECT_EQ(Make().header.attributes.at(0).type, Type::kInt64);
}

TEST_F(ClassicGroupTest, IntegersOfAttributesThatDoNotFitAreDoublesOrText) {
  group_attributes_.push_back(Number("n", Datatype::Integer(8, true), int64_t{1} << 40));
  group_attributes_.push_back(Number("m", Datatype::Integer(8, true), (int64_t{1} << 53) + 1));
  AddArray("/a", Datatype::Float32(), {2});
  const auto attributes = Make().header.attributes;
  EXPECT_EQ(attributes.at(0).type, Type::kDouble);
  EXPECT_EQ(attributes.at(1).values, "9007199254740993");
  AddArray("/b", Datatype::Integer(8, true), {ContentBuilder::kLooksAtArray});
  EXPECT_EQ(Make().header.attributes.at(1).type, Type::kInt64) << "in CDF-5";
}

TEST_F(ClassicGroupTest, ListsAndTextsOfAttributes) {
  group_attributes_.push_back(
      Number("list", Datatype::Float64(), model::Value::List{1.0, 2.0}));
  group_attributes_.push_back(
      Number("texts", Datatype::String(), model::Value::List{"a", "b"}));
  group_attributes_.push_back(Number("flag", Datatype::Bool(), "TRUE"));
  const auto attributes = Make().header.attributes;
  EXPECT_EQ(attributes.at(0).count, 2u);
  EXPECT_EQ(attributes.at(0).values.size(), 16u);
  EXPECT_EQ(attributes.at(1).values, "a\nb");
  EXPECT_EQ(attributes.at(2).values, "\1");
  EXPECT_EQ(attributes.at(2).type, Type::kByte);
}

TEST_F(ClassicGroupTest, CountsOfTimeHaveUnits) {
  AddArray("/t", Datatype::Time({"s", 1, false}), {2});
  AddArray("/d", Datatype::Time({"D", 1, true}), {2});
  model::Ndarray& own = AddArray("/o", Datatype::Time({"s", 1, false}), {2});
  own.attributes.push_back(Text("units", "ticks"));
  const Content content = Make();
  const auto variables = content.cdf5_header->variables;
  EXPECT_EQ(Find(content.header.variables.at(0).attributes, "_FillValue")->values,
            std::string("\xc3\xe0\0\0\0\0\0\0", 8));
  EXPECT_EQ(Find(variables.at(0).attributes, "units")->values, "seconds since 1970-01-01");
  EXPECT_EQ(Find(variables.at(0).attributes, "calendar")->values, "proleptic_gregorian");
  EXPECT_EQ(Find(variables.at(0).attributes, "_FillValue")->values,
            std::string("\x80\0\0\0\0\0\0\0", 8));
  EXPECT_EQ(Find(variables.at(1).attributes, "units")->values, "days");
  EXPECT_EQ(Find(variables.at(1).attributes, "calendar"), nullptr);
  EXPECT_EQ(Find(variables.at(2).attributes, "units")->values, "ticks");
}

TEST_F(ClassicGroupTest, NamesThatNetCdfRefusesAreChangedAndTold) {
  AddArray("/a:b", Datatype::Float32(), {2});
  AddArray("/-x", Datatype::Float32(), {2});
  AddArray("/_-x", Datatype::Float32(), {2});
  AddArray("/" + std::string(299, 'n') + "1", Datatype::Float32(), {2});
  AddArray("/" + std::string(299, 'n') + "2", Datatype::Float32(), {2});
  std::string accents;
  for (int i = 0; i < 150; ++i) accents += "\u00e9";
  AddArray("/" + accents, Datatype::Float32(), {2});
  AddArray("/" + accents + "x", Datatype::Float32(), {2});
  const auto variables = Make().header.variables;
  EXPECT_EQ(variables.at(3).name, std::string(256, 'n'));
  EXPECT_EQ(variables.at(4).name, std::string(253, 'n') + "_2");
  EXPECT_EQ(variables.at(5).name, accents.substr(0, 256));
  EXPECT_EQ(variables.at(6).name, accents.substr(0, 252) + "_2") << "no half character";
  EXPECT_EQ(variables.at(0).name, "a:b");
  EXPECT_EQ(variables.at(1).name, "_-x_2");
  EXPECT_EQ(Find(variables.at(1).attributes, "ndlfs_name")->values, "-x");
  EXPECT_EQ(variables.at(2).name, "_-x") << "a name that netCDF takes stays";
  EXPECT_EQ(Find(variables.at(2).attributes, "ndlfs_name"), nullptr);
}

TEST_F(ClassicGroupTest, CharactersOfNamesAreComposed) {
  AddArray("/e\u0301", Datatype::Float32(), {2});
  AddArray("/\u00e9", Datatype::Float32(), {2});
  const auto variables = Make().header.variables;
  EXPECT_EQ(variables.at(0).name, "\u00e9_2");
  EXPECT_EQ(Find(variables.at(0).attributes, "ndlfs_name")->values, "e\u0301");
  EXPECT_EQ(variables.at(1).name, "\u00e9");
  EXPECT_EQ(Find(variables.at(1).attributes, "ndlfs_name"), nullptr);
}

// CDO takes the dates of a dimension from the variable of its name.
TEST_F(ClassicGroupTest, DimensionOfForecastPeriodsHasTheNameOfTheTimesAlongIt) {
  const auto name = [](const char* text) {
    return model::Attribute{"standard_name", Datatype::String(), {}, model::Value(text), {}};
  };
  AddCoordinate("/step", Datatype::Float64(), 2).attributes = {name("forecast_period")};
  model::Ndarray& times = AddArray("/valid_time", Datatype::Float64(), {2});
  times.attributes = {name("time")};
  times.shape[0].dimcoord = "/step";
  AddArray("/t", Datatype::Float32(), {2, 3}).shape[0].dimcoord = "/step";
  const Content content = Make();
  EXPECT_EQ(content.header.variables[0].name, "step");
  for (const size_t i : {0, 1, 2}) {
    EXPECT_EQ(DimensionsOf(content, i)[0], "valid_time") << i;
  }
}

TEST_F(ClassicGroupTest, LargeAttributesAreWhole) {
  group_attributes_.push_back(Text("history", std::string(10 << 20, 'h')));
  AddArray("/a", Datatype::Float32(), {2})
      .attributes.push_back(
          Number("where", Datatype::PackedCompound({{"x", Datatype::Integer(4, true), 0}}),
                 model::Value::Map{{"x", 1}}));
  const Content content = Make();
  EXPECT_EQ(content.header.attributes.at(0).count, uint64_t{10} << 20);
  const Attribute* where = Find(content.header.variables.at(0).attributes, "where");
  EXPECT_EQ(where->type, Type::kChar);
  EXPECT_THAT(where->values, HasSubstr("x: 1")) << "no counterpart: its NDL";
}

TEST_F(ClassicGroupTest, ManyDimensionsAreAllThere) {
  AddArray("/a", Datatype::Float32(), std::vector<uint64_t>(40, 1));
  EXPECT_EQ(Make().header.variables.at(0).dimensions.size(), 40u);
}

TEST_F(ClassicGroupTest, OneEmptyDimensionIsTheRecordDimension) {
  AddArray("/a", Datatype::Float32(), {0, 3}, {"time", "x"});
  AddArray("/b", Datatype::Float32(), {3, 0}, {"x", "time"});
  AddArray("/c", Datatype::Float32(), {0}, {"other"});
  const Content content = Make();
  EXPECT_THAT(content.arrays, ElementsAre(0));
  EXPECT_EQ(content.header.record_dimension, 0u);
  EXPECT_THAT(LeftOut(content), HasSubstr("b: it has no elements"));
  EXPECT_THAT(LeftOut(content), HasSubstr("c: it has no elements"));
}

TEST_F(ClassicGroupTest, ArraysThatCannotBeReadAreLeftOut) {
  AddArray("/a", Datatype::Float32(), {2});
  arrays_[0].input.reset();
  const Content content = Make();
  EXPECT_THAT(content.header.variables, IsEmpty());
  EXPECT_EQ(LeftOut(content), "a: it cannot be read");
}

TEST(ClassicArraysTest, ArraysThatAttributesNameByPathHaveTheirNamesInTheFile) {
  const auto hierarchy = std::make_shared<test::MemoryHierarchy>();
  for (const char* group : {"/", "/a", "/a/b", "/c"}) hierarchy->AddGroup(group);
  for (const char* path : {"/crs", "/a/h", "/a/far", "/c/low", "/a/b/x:y"}) {
    hierarchy->AddArray(path, Undecodable(Datatype::Float32(), {}));
  }
  model::Ndarray array;
  array.shape = {{2, ""}};
  array.attributes = {model::MakeTextAttribute("grid_mapping", "/crs: x y"),
                      model::MakeTextAttribute("coordinates", "/a/h  ../far ../../c/low none"),
                      model::MakeTextAttribute("cell_measures", "area:  h"),
                      model::MakeTextAttribute("title", "/a/h")};
  hierarchy->AddArray("/a/b/v", array, Undecodable(Datatype::Float32(), {2}));
  cache::ChunkCache cache(1 << 20);
  const auto group = MakeGroupInput(hierarchy, "/a/b", cache).value();
  ContentBuilder builder;
  ASSERT_TRUE(VisitArrays(*group, [&](const GroupArray& found) { builder.Add(found); }));
  const Content content = builder.Build({});
  const auto& variables = content.header.variables;
  std::vector<std::string> names;
  for (const Variable& variable : variables) names.push_back(variable.name);
  EXPECT_THAT(names, ElementsAre("v", "x:y", "low", "far", "h", "crs"));
  std::vector<std::string> values;
  for (const Attribute& attribute : variables.at(0).attributes) {
    values.push_back(attribute.values);
  }
  EXPECT_THAT(values, ElementsAre("crs: x y", "h far low none", "area:  h", "/a/h"));
}

TEST(ClassicArraysTest, OuterCoordinatesFollowTheArraysOfTheGroup) {
  const auto hierarchy = std::make_shared<test::MemoryHierarchy>();
  hierarchy->AddGroup("/");
  hierarchy->AddGroup("/g");
  hierarchy->AddDimCoord("/x", Undecodable(Datatype::Float64(), {3}));
  hierarchy->AddDimCoord("/unused", Undecodable(Datatype::Float64(), {5}));
  model::Ndarray array;
  array.shape = {{2, ""}, {3, "/x"}};
  hierarchy->AddArray("/g/t", array, Undecodable(Datatype::Float32(), {2, 3}));
  cache::ChunkCache cache(1 << 20);
  const auto group = MakeGroupInput(hierarchy, "/g", cache).value();
  std::vector<std::string> paths;
  ASSERT_TRUE(VisitArrays(*group, [&](const GroupArray& found) {
    EXPECT_TRUE(found.input) << found.path;
    paths.push_back(found.path);
  }));
  EXPECT_THAT(paths, ElementsAre("/g/t", "/x"));
  const auto root = MakeGroupInput(hierarchy, "/", cache).value();
  EXPECT_TRUE(HasArrayAmong(*root, {"g", "x"}, 2));
  EXPECT_FALSE(HasArrayAmong(*root, {"g", "x"}, 1));
  EXPECT_FALSE(HasArrayAmong(*root, {"g"}, 2));
}

}  // namespace
}  // namespace ndlfs::fs::classic
