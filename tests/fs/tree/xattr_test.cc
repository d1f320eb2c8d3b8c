// SPDX-License-Identifier: MIT
#include "fs/tree/xattr.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

namespace ndlfs::fs {
namespace {

using model::Datatype;
using ::testing::Contains;
using ::testing::Key;
using ::testing::Not;
using ::testing::Pair;
using ::testing::SizeIs;

backends::Node GroupWith(std::vector<model::Attribute> attributes) {
  model::Group group;
  group.attributes = std::move(attributes);
  backends::Node node;
  node.entity = std::move(group);
  return node;
}

model::Attribute Attribute(const std::string& name, const Datatype& type, model::Value value,
                           std::vector<uint64_t> shape = {}) {
  model::Attribute attribute;
  attribute.name = name;
  attribute.type = type;
  attribute.shape = std::move(shape);
  attribute.value = std::move(value);
  return attribute;
}

TEST(DescribeEntityTest, GroupsHaveNoShape) {
  const auto attributes = DescribeEntity("a.zarr", "/g", GroupWith({}));
  EXPECT_THAT(attributes, SizeIs(3));
  EXPECT_THAT(attributes, Contains(Pair("user.ndl.kind", "group")));
  EXPECT_THAT(attributes, Contains(Pair("user.ndl.path", "/g")));
  EXPECT_THAT(attributes, Contains(Pair("user.ndl.store", "a.zarr")));
}

TEST(DescribeEntityTest, OneThatIsAskedForIsFoundAlone) {
  const auto node =
      GroupWith({Attribute("a", Datatype::String(), model::Value(std::string("x"))),
                 Attribute("b", Datatype::String(), model::Value(std::string("y")))});
  EXPECT_THAT(DescribeEntity("s", "/g", node, {}, "user.attr.b"),
              ::testing::ElementsAre(Pair("user.attr.b", "y")));
  EXPECT_THAT(DescribeEntity("s", "/g", node, {}, "user.ndl.kind"),
              ::testing::ElementsAre(Pair("user.ndl.kind", "group")));
  EXPECT_THAT(DescribeEntity("s", "/g", node, {}, "user.attr.c"), SizeIs(0));
}

TEST(DescribeEntityTest, ArraysTellTypeShapeAndChunk) {
  model::DimCoord coordinate;
  coordinate.type = Datatype::Float32();
  coordinate.shape = {{std::nullopt, ""}};
  coordinate.storage.chunk = {{128}};
  backends::Node node;
  node.entity = coordinate;
  const auto attributes = DescribeEntity("a.zarr", "/time", node);
  EXPECT_THAT(attributes, Contains(Pair("user.ndl.kind", "dimcoord")));
  EXPECT_THAT(attributes, Contains(Pair("user.ndl.type", "float32")));
  EXPECT_THAT(attributes, Contains(Pair("user.ndl.shape", "[null]")));
  EXPECT_THAT(attributes, Contains(Pair("user.ndl.chunk", "[128]")));
}

TEST(DescribeEntityTest, ArraysTellTheLayoutThatTheTypeDoesNot) {
  model::Ndarray array;
  array.type = Datatype::String();
  array.layout = model::LayoutOf(Datatype::FixedString(5, model::Charset::kAscii));
  backends::Node node;
  node.entity = array;
  EXPECT_THAT(DescribeEntity("a.zarr", "/t", node),
              Contains(Pair("user.ndl.layout", "{size: 5, charset: ascii}")));
  array.layout.reset();
  node.entity = array;
  EXPECT_THAT(DescribeEntity("a.zarr", "/t", node), Not(Contains(Key("user.ndl.layout"))));
}

TEST(DescribeEntityTest, ViewsAreNamedWhetherListedOrNotButNotRefusedOnes) {
  const std::vector<ViewName> views = {
      {"data.npy"},
      {"data.jsonl", /*is_listed=*/false},
      {"data.txt", true, model::Error(model::ErrorCode::kLimit, "too much")}};
  EXPECT_THAT(DescribeEntity("a", "/g", GroupWith({}), views),
              Contains(Pair("user.ndl.views", "[data.npy, data.jsonl]")));
  EXPECT_THAT(DescribeEntity("a", "/g", GroupWith({})), Not(Contains(Key("user.ndl.views"))));
}

TEST(DescribeEntityTest, TextIsShownAsItIsAndAllElseAsNdl) {
  const auto attributes = DescribeEntity(
      "a", "/",
      GroupWith({Attribute("units", Datatype::String(), model::Value("K: \"quoted\"\n")),
                 Attribute("scale", Datatype::Float64(), model::Value(0.5)),
                 Attribute("range", Datatype::Integer(2, true),
                           model::Value(model::Value::List{model::Value(model::WideInt{1}),
                                                           model::Value(model::WideInt{2})}),
                           {2})}));
  EXPECT_THAT(attributes, Contains(Pair("user.attr.units", "K: \"quoted\"\n")));
  EXPECT_THAT(attributes, Contains(Pair("user.attr.scale", "0.5")));
  EXPECT_THAT(attributes, Contains(Pair("user.attr.range", "[1, 2]")));
}

TEST(DescribeEntityTest, LeavesOutWhatTheSystemCannotHold) {
  const auto text = [](const std::string& name, size_t size) {
    return Attribute(name, Datatype::String(), model::Value(std::string(size, 'x')));
  };
  const auto attributes =
      DescribeEntity("a", "/",
                     GroupWith({text("largest", 65536), text("too large", 65537),
                                text(std::string(245, 'n'), 1), text(std::string(246, 'm'), 1),
                                text(std::string("nul\0nul", 7), 1)}));
  EXPECT_THAT(attributes, Contains(Key("user.attr.largest")));
  EXPECT_THAT(attributes, Contains(Key("user.attr." + std::string(245, 'n'))));
  EXPECT_THAT(attributes, SizeIs(5));
}

TEST(DescribeEntityTest, NamesFitIntoWhatListxattrMayReturn) {
  std::vector<model::Attribute> many;
  for (int i = 0; i < 2000; ++i) {
    many.push_back(Attribute(std::string(100, 'a') + std::to_string(i), Datatype::String(),
                             model::Value("v")));
  }
  size_t bytes = 0;
  for (const auto& [name, value] : DescribeEntity("a", "/", GroupWith(std::move(many)))) {
    bytes += name.size() + 1;
  }
  EXPECT_LE(bytes, 65536u);
  EXPECT_GT(bytes, 65000u);
}

}  // namespace
}  // namespace ndlfs::fs
