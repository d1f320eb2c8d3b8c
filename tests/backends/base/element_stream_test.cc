// SPDX-License-Identifier: MIT
#include "backends/base/element_stream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>

namespace ndlfs::backends {
namespace {

using model::Datatype;
using testing::HasSubstr;

// uint32, little-endian.
std::string U32(uint32_t n) { return std::string(reinterpret_cast<const char*>(&n), 4); }
std::string U64(uint64_t n) { return std::string(reinterpret_cast<const char*>(&n), 8); }
std::string Text(const std::string& s) { return U32(static_cast<uint32_t>(s.size())) + s; }

model::Result<model::Value> Take(const Datatype& type, const std::string& bytes) {
  auto stream = backends::AsBytes(bytes);
  auto value = TakeElement(type, stream);
  if (value) {
    EXPECT_TRUE(stream.empty());
  }
  return value;
}

model::Value Int(model::WideInt n) { return model::Value(n); }

TEST(ElementStreamTest, TakesTextAndReferences) {
  EXPECT_EQ(Take(Datatype::String(), Text("h\u00e9")).value(), model::Value("h\u00e9"));
  EXPECT_EQ(Take(Datatype::String(), Text("h\xe9")).value(), model::Value("h\u00e9"));
  EXPECT_EQ(Take(Datatype::ObjectRef(), Text("/a/b")).value(), model::Value("/a/b"));
  EXPECT_TRUE(Take(Datatype::ObjectRef(), Text("")).value().is_null());
}

TEST(ElementStreamTest, TakesRegions) {
  const auto block = Datatype::RegionRef(Datatype::Selection::kBlock);
  const model::Value value =
      Take(block, Text(R"({"target":"/x","start":[0,1],"opposite":[2,3]})")).value();
  ASSERT_NE(value.region(), nullptr);
  EXPECT_EQ(value.region()->target, "/x");
  EXPECT_EQ(value.region()->points, (std::vector<std::vector<uint64_t>>{{0, 1}, {2, 3}}));
  const auto element = Datatype::RegionRef(Datatype::Selection::kElement);
  const model::Value points =
      Take(element, Text(R"({"target":"/x","elements":[[5],[6]]})")).value();
  EXPECT_EQ(points.region()->points, (std::vector<std::vector<uint64_t>>{{5}, {6}}));
}

TEST(ElementStreamTest, TakesNestedTypes) {
  const auto type = Datatype::PackedCompound(
      {{"n", Datatype::Integer(2, true)},
       {"v", Datatype::Vlen(Datatype::PackedCompound({{"s", Datatype::String()}}))},
       {"m", Datatype::Array(Datatype::Vlen(Datatype::Integer(1, false)), {2})}});
  const std::string bytes =
      std::string("\xff\xff", 2) + U32(2) + Text("a") + Text("bc") + U32(0) + U32(1) + "\x07";
  const model::Value expected(model::Value::Map{
      {"n", Int(-1)},
      {"v", model::Value(model::Value::List{
                model::Value(model::Value::Map{{"s", model::Value("a")}}),
                model::Value(model::Value::Map{{"s", model::Value("bc")}})})},
      {"m", model::Value(model::Value::List{model::Value(model::Value::List{}),
                                            model::Value(model::Value::List{Int(7)})})}});
  EXPECT_EQ(Take(type, bytes).value(), expected);
}

TEST(ElementStreamTest, RefusesAStreamThatEndsTooEarly) {
  EXPECT_THAT(Take(Datatype::String(), U32(9) + "abc").error().message(),
              HasSubstr("needs 9 bytes where 3 are left"));
  EXPECT_FALSE(Take(Datatype::Vlen(Datatype::Float64()), U32(2) + U64(0)));
}

TEST(ElementStreamTest, RefusesElementsMadeOfNothing) {
  const auto type = Datatype::Vlen(Datatype::Opaque(0));
  EXPECT_THAT(Take(type, U32(0xFFFFFFFF)).error().message(), HasSubstr("4294967295 elements"));
}

TEST(ElementStreamTest, ZeroElementReadsBackAsNothing) {
  const auto type = Datatype::PackedCompound(
      {{"n", Datatype::Integer(4, true)}, {"s", Datatype::Array(Datatype::String(), {2})}});
  const auto zero = ZeroElement(type);
  backends::ConstByteSpan stream(zero);
  const model::Value value = TakeElement(type, stream).value();
  EXPECT_TRUE(stream.empty());
  EXPECT_EQ(value,
            model::Value(model::Value::Map{
                {"n", Int(0)},
                {"s", model::Value(model::Value::List{model::Value(""), model::Value("")})}}));
}

TEST(ElementTableTest, FindsElementsAndRefusesBadOffsets) {
  const std::string good = U64(0) + U64(1) + U64(3) + "abc";
  const auto table = ElementTable::Make(backends::AsBytes(good), 2).value();
  EXPECT_EQ(backends::AsText(table[0]), "a");
  EXPECT_EQ(backends::AsText(table[1]), "bc");
  const auto error = [](const std::string& bytes, uint64_t count) {
    return ElementTable::Make(backends::AsBytes(bytes), count).error().message();
  };
  EXPECT_THAT(error(U64(0) + U64(9) + "abc", 1), HasSubstr("beyond their chunk"));
  EXPECT_THAT(error(U64(2) + U64(1) + "abc", 1), HasSubstr("begins before"));
  EXPECT_THAT(error(good, UINT64_MAX), HasSubstr("do not hold"));
  EXPECT_THAT(error("", 0), HasSubstr("do not hold"));
}

}  // namespace
}  // namespace ndlfs::backends
