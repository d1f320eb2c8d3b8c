// SPDX-License-Identifier: MIT
#include "backends/format/packing.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <utility>

#include "model/attributes.h"

namespace ndlfs::backends {
namespace {

using model::Datatype;
using model::Value;

model::Attribute Attribute(std::string name, const Datatype& type, Value value) {
  model::Attribute attribute;
  attribute.name = std::move(name);
  attribute.type = type;
  attribute.value = std::move(value);
  return attribute;
}

class PackingTest : public ::testing::Test {
 protected:
  explicit PackingTest() { SetType(Datatype::Integer(2, true)); }

  void SetType(const Datatype& type) {
    model::Ndarray array;
    array.type = type;
    node_.entity = std::move(array);
  }
  model::Ndarray& array() { return std::get<model::Ndarray>(node_.entity); }
  void Add(std::string name, const Datatype& type, Value value) {
    array().attributes.push_back(Attribute(std::move(name), type, std::move(value)));
  }
  static double RealOf(const std::optional<Value>& value) {
    return value ? model::AsDouble(*value).value_or(std::nan("")) : std::nan("");
  }

  const Datatype kDouble = Datatype::Float64();
  Node node_;
};

TEST_F(PackingTest, TheFillValueOfTheStorageIsMissingWhereTheConventionSaysSo) {
  array().storage.fillvalue = Value(-9);
  EXPECT_FALSE(ReadPacking(node_)->has_missing());
  EXPECT_FALSE(FillValueOf(node_));
  node_.fill_is_missing = true;
  EXPECT_TRUE(ReadPacking(node_)->has_missing());
  EXPECT_EQ(RealOf(FillValueOf(node_)), -9);
  Add("_FillValue", Datatype::Integer(2, true), Value(-1));
  ASSERT_EQ(ReadPacking(node_)->missing.size(), 2U) << "both are missing";
  EXPECT_EQ(RealOf(ReadPacking(node_)->missing[0]), -1);
  EXPECT_EQ(RealOf(ReadPacking(node_)->missing[1]), -9);
  EXPECT_EQ(RealOf(FillValueOf(node_)), -1);
  EXPECT_EQ(AttributesOfMissing(node_).back().name, "missing_value");
  array().storage.fillvalue = Value(-1.0);
  EXPECT_EQ(ReadPacking(node_)->missing.size(), 1U);
  EXPECT_EQ(AttributesOfMissing(node_).size(), 1U);
}

TEST_F(PackingTest, LimitsBelowZeroOfUnsignedNumbersLimitNothing) {
  SetType(Datatype::Integer(1, false));
  Add("valid_min", Datatype::Integer(2, true), Value(-20));
  Add("missing_value", Datatype::Integer(2, true), Value(-1));
  const MissingTest<uint8_t> is_missing(*ReadPacking(node_));
  for (const int number : {0, 1, 235, 255}) {
    EXPECT_FALSE(is_missing(static_cast<uint8_t>(number))) << number;
  }
}

TEST_F(PackingTest, NumbersOfUnsignedBytesHaveTheirSigns) {
  SetType(Datatype::Integer(1, true));
  Add("_Unsigned", Datatype::String(), Value("true"));
  Add("_FillValue", Datatype::Integer(1, true), Value(-1));
  Add("valid_min", Datatype::Integer(1, true), Value(-20));
  const auto packing = ReadPacking(node_);
  EXPECT_EQ(RealOf(packing->missing[0]), 255);
  EXPECT_EQ(RealOf(packing->low), 236);
  EXPECT_EQ(RealOf(MissingValueOf(node_)), 255);
  EXPECT_EQ(RealOf(FillValueOf(node_)), -1) << "as it is stored";
}

TEST_F(PackingTest, WordsOfZarrAreNumbers) {
  SetType(kDouble);
  Add("missing_value", Datatype::String(), Value("NaN"));
  Add("valid_max", Datatype::String(), Value("Infinity"));
  ASSERT_TRUE(ReadPacking(node_));
  EXPECT_TRUE(std::isnan(RealOf(ReadPacking(node_)->missing[0])));
}

TEST_F(PackingTest, ZeroIsNoFillValueOfACoordinate) {
  model::DimCoord coordinate;
  coordinate.type = kDouble;
  coordinate.storage.fillvalue = Value(0.0);
  node_.entity = coordinate;
  node_.fill_is_missing = true;
  EXPECT_FALSE(FillValueOf(node_));
  coordinate.storage.fillvalue = Value(-9.0);
  node_.entity = coordinate;
  EXPECT_EQ(RealOf(FillValueOf(node_)), -9);
}

TEST_F(PackingTest, ZeroIsNoMissingDate) {
  SetType(Datatype::Time({.unit = "D"}));
  array().storage.fillvalue = Value(0);
  node_.fill_is_missing = true;
  EXPECT_FALSE(FillValueOf(node_));
}

TEST_F(PackingTest, AFillValueMayBeText) {
  SetType(Datatype::Float32());
  Add("_FillValue", Datatype::String(), Value("AAAAAACHw8A="));
  EXPECT_EQ(RealOf(FillValueOf(node_)), -9998);
  array().attributes[0].value = Value("NaN");
  EXPECT_TRUE(std::isnan(RealOf(FillValueOf(node_))));
  array().attributes[0].value = Value("none");
  EXPECT_FALSE(FillValueOf(node_));
  EXPECT_FALSE(ReadPacking(node_));
}

TEST_F(PackingTest, LimitsOfTheTypeOfTheFactorAreUnpacked) {
  Add("scale_factor", kDouble, Value(0.01));
  Add("add_offset", kDouble, Value(1.0));
  Add("valid_min", kDouble, Value(1.07));
  Add("valid_max", Datatype::Integer(2, true), Value(300));
  const auto packing = ReadPacking(node_);
  ASSERT_TRUE(packing);
  EXPECT_EQ(RealOf(packing->low), 7) << "rounding excludes no number at the limit";
  EXPECT_EQ(RealOf(packing->high), 300);
  EXPECT_TRUE(IsLimitOfUnpacked(node_, array().attributes[2]));
  EXPECT_FALSE(IsLimitOfUnpacked(node_, array().attributes[3]));
  EXPECT_FALSE(IsLimitOfUnpacked(node_, array().attributes[0]));
}

TEST_F(PackingTest, ANegativeFactorExchangesTheLimits) {
  Add("scale_factor", kDouble, Value(-0.5));
  Add("valid_range", kDouble, Value(Value::List{-10.0, 4.0}));
  const auto packing = ReadPacking(node_);
  ASSERT_TRUE(packing);
  EXPECT_EQ(RealOf(packing->low), -8);
  EXPECT_EQ(RealOf(packing->high), 20);
}

TEST_F(PackingTest, LimitsOfFloatsAreUnpackedOnlyIfTheyAreWider) {
  SetType(kDouble);
  Add("scale_factor", kDouble, Value(0.5));
  Add("valid_min", kDouble, Value(4.0));
  EXPECT_EQ(RealOf(ReadPacking(node_)->low), 4);
  array().type = Datatype::Float32();
  EXPECT_EQ(RealOf(ReadPacking(node_)->low), 8);
}

TEST_F(PackingTest, UnsignedSaysHowIntegersAreRead) {
  const Datatype byte = Datatype::Integer(1, true);
  EXPECT_TRUE(TypeAsRead(Packing(), byte).is_signed());
  Add("_Unsigned", Datatype::String(), Value("true"));
  EXPECT_FALSE(TypeAsRead(*ReadPacking(node_), byte).is_signed());
  array().attributes[0].value = Value("false");
  EXPECT_TRUE(TypeAsRead(*ReadPacking(node_), Datatype::Integer(1, false)).is_signed());
  EXPECT_EQ(TypeAsRead(*ReadPacking(node_), kDouble), kDouble);
}

TEST_F(PackingTest, FillValuesOfEnumsAreNumbersOrNames) {
  const auto type =
      Datatype::Enum(Datatype::Integer(1, false), {{"red", 0}, {"none", 5}, {"blue", 7}});
  for (const Value& fill : {Value("none"), Value(Value::List{Value("none")}), Value(5)}) {
    SetType(type);
    Add("_FillValue", type, fill);
    const auto packing = ReadPacking(node_);
    ASSERT_TRUE(packing);
    ASSERT_EQ(packing->missing.size(), 1U);
    EXPECT_EQ(RealOf(packing->missing[0]), 5);
  }
  for (const Value& fill :
       {Value("green"), Value(Value::List{Value("none"), Value("green")})}) {
    SetType(type);
    Add("_FillValue", type, fill);
    EXPECT_FALSE(ReadPacking(node_));
  }
}

}  // namespace
}  // namespace ndlfs::backends
