// SPDX-License-Identifier: MIT
#include "backends/format/hierarchy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "model/path_name.h"
#include "tests/support/read_group.h"
#include "tests/support/result.h"

namespace ndlfs::backends {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// Objects by path, as a test sets them.
class FakeHierarchy final : public Hierarchy {
 public:
  void AddGroup(const std::string& path) {
    model::Group group;
    group.name = model::BaseName(path);
    Add(path).entity = group;
  }
  void AddArray(const std::string& path, std::vector<uint64_t> shape,
                std::vector<std::string> names = {}) {
    model::DimCoord array;
    array.name = model::BaseName(path);
    for (const uint64_t extent : shape) array.shape.push_back({extent, {}});
    array.dimension_names = std::move(names);
    if (IsDimCoordName(array.name, array.dimension_names)) {
      Add(path).entity = array;
    } else {
      Add(path).entity = static_cast<const model::Ndarray&>(array);
    }
  }
  Node& Add(const std::string& path) { return *(nodes_[path] = std::make_shared<Node>()); }
  void AddBroken(const std::string& path) { nodes_[path] = nullptr; }
  void AddLink(const std::string& path, Link link = {"/elsewhere"}) {
    links_.emplace(path, std::move(link));
  }

  std::string_view format() const override { return "fake"; }
  model::Result<std::shared_ptr<const Node>> Load(std::string_view path) const override {
    const auto found = nodes_.find(std::string(path));
    if (found == nodes_.end()) return model::NotFound("no such object");
    if (!found->second) return model::BadInput("broken\nmetadata");
    return found->second;
  }
  model::Result<std::vector<std::string>> List(std::string_view path) const override {
    std::set<std::string> names;
    const auto add = [&](const std::string& child) {
      if (child != "/" && model::ParentPath(child) == path) {
        names.insert(std::string(model::BaseName(child)));
      }
    };
    for (const auto& [child, node] : nodes_) add(child);
    for (const auto& [child, link] : links_) add(child);
    return std::vector<std::string>(names.begin(), names.end());
  }
  std::optional<Link> GetLink(std::string_view path) const override {
    const auto found = links_.find(std::string(path));
    return found == links_.end() ? std::nullopt : std::optional(found->second);
  }
  model::Result<uint64_t> Version(std::string_view) const override { return 0; }
  using Hierarchy::HashVersions;

 private:
  std::map<std::string, std::shared_ptr<Node>> nodes_;
  std::map<std::string, Link> links_;
};

TEST(ReadGroupTest, CollectsAllObjectsBelow) {
  FakeHierarchy hierarchy;
  hierarchy.AddGroup("/");
  hierarchy.AddGroup("/g");
  hierarchy.AddGroup("/g/empty");
  hierarchy.AddArray("/a", {2});
  hierarchy.AddArray("/lat", {3}, {"lat"});
  hierarchy.AddArray("/g/b", {4, 5});
  std::vector<std::string> errors;
  const auto group = ReadGroup(hierarchy, "/", &errors);
  ASSERT_THAT(group, test::IsOk());
  EXPECT_THAT(errors, IsEmpty());
  ASSERT_THAT(group->ndarrays, SizeIs(1));
  EXPECT_EQ(group->ndarrays[0].name, "a");
  ASSERT_THAT(group->dimcoords, SizeIs(1));
  EXPECT_EQ(group->dimcoords[0].name, "lat");
  ASSERT_THAT(group->groups, SizeIs(1));
  EXPECT_EQ(group->groups[0].name, "g");
  EXPECT_EQ(group->groups[0].ndarrays[0].name, "b");
  EXPECT_EQ(group->groups[0].groups[0].name, "empty");

  const auto below = ReadGroup(hierarchy, "/g");
  EXPECT_EQ(below->name, "g");
  EXPECT_THAT(below->ndarrays, SizeIs(1));
}

TEST(ReadGroupTest, AnArrayAloneIsAGroupOfOne) {
  FakeHierarchy hierarchy;
  model::Ndarray array;
  array.name = "file";
  hierarchy.Add("/").entity = array;
  const auto group = ReadGroup(hierarchy, "/");
  ASSERT_THAT(group, test::IsOk());
  EXPECT_EQ(group->name, "");
  ASSERT_THAT(group->ndarrays, SizeIs(1));
  EXPECT_EQ(group->ndarrays[0].name, "file");
}

TEST(ReadGroupTest, ShowsLinksAndSecondNames) {
  FakeHierarchy hierarchy;
  hierarchy.AddGroup("/");
  hierarchy.AddGroup("/g");
  hierarchy.AddArray("/g/a", {2, 3}, {"y", "x"});
  hierarchy.AddArray("/lat", {3}, {"lat"});
  hierarchy.AddLink("/soft", {"/nowhere"});
  hierarchy.AddLink("/external", {"../o.h5/x", Link::Kind::kExternal, "o.h5", "/x"});
  hierarchy.AddLink("/b", {"/g/a", Link::Kind::kHard});
  hierarchy.AddLink("/latitude", {"/lat", Link::Kind::kHard});
  hierarchy.AddLink("/g/up", {"/", Link::Kind::kHard});
  hierarchy.AddLink("/lost", {"/nowhere", Link::Kind::kHard});
  std::vector<std::string> errors;
  const auto group = ReadGroup(hierarchy, "/", &errors);
  ASSERT_THAT(group, test::IsOk());
  EXPECT_THAT(errors, IsEmpty());
  EXPECT_THAT(group->links, ElementsAre(model::NamedLink{"external", "/x", "o.h5"},
                                        model::NamedLink{"soft", "/nowhere", ""}));
  ASSERT_THAT(group->ndarrays, SizeIs(1));
  EXPECT_EQ(group->ndarrays[0].name, "b");
  EXPECT_EQ(group->ndarrays[0].same_as, "/g/a");
  EXPECT_THAT(group->ndarrays[0].dimension_names, ElementsAre("y", "x"));
  ASSERT_THAT(group->dimcoords, SizeIs(2));
  EXPECT_EQ(group->dimcoords[1].same_as, "/lat");
  ASSERT_THAT(group->groups[0].groups, SizeIs(1));
  EXPECT_EQ(group->groups[0].groups[0].same_as, "/");
}

TEST(ReadGroupTest, TellsWhatIsMissing) {
  FakeHierarchy hierarchy;
  hierarchy.AddGroup("/");
  hierarchy.AddBroken("/bad");
  hierarchy.AddArray("/good", {1});
  hierarchy.AddLink("/link");
  hierarchy.AddArray("/partly", {1});
  const_cast<Node&>(**hierarchy.Load("/partly")).error =
      model::Error(model::ErrorCode::kUnsupported, "unknown codec \"x\"");
  std::vector<std::string> errors;
  const auto group = ReadGroup(hierarchy, "/", &errors);
  ASSERT_THAT(group, test::IsOk());
  EXPECT_THAT(group->ndarrays, SizeIs(2));
  EXPECT_THAT(errors,
              ElementsAre(testing::StartsWith("/bad: broken"), "/partly: unknown codec \"x\""));
  EXPECT_THAT(ReadGroup(hierarchy, "/bad"),
              test::IsError(model::ErrorCode::kBadInput, testing::HasSubstr("broken")));
}

TEST(ReadGroupTest, EndlessNestingEnds) {
  class Endless final : public Hierarchy {
   public:
    std::string_view format() const override { return "endless"; }
    model::Result<std::shared_ptr<const Node>> Load(std::string_view) const override {
      return std::make_shared<const Node>();
    }
    model::Result<std::vector<std::string>> List(std::string_view) const override {
      return std::vector<std::string>{"x"};
    }
    model::Result<uint64_t> Version(std::string_view) const override { return 0; }
  };
  std::vector<std::string> errors;
  EXPECT_THAT(ReadGroup(Endless(), "/", &errors), test::IsOk());
  EXPECT_THAT(errors, ElementsAre(testing::EndsWith("groups nest too deep")));
}

TEST(IsDimCoordNameTest, IsTheOnlyDimensionOfItsOwnName) {
  EXPECT_TRUE(IsDimCoordName("lat", {"lat"}));
  EXPECT_FALSE(IsDimCoordName("lat", {"lon"}));
  EXPECT_FALSE(IsDimCoordName("lat", {"lat", "lon"}));
  EXPECT_FALSE(IsDimCoordName("lat", {}));
  EXPECT_FALSE(IsDimCoordName("", {""}));
}

class LinkDimensionsTest : public ::testing::Test {
 protected:
  std::vector<std::string> Link(const std::string& path) {
    model::Ndarray array = (*hierarchy_.Load(path))->array();
    LinkDimensions(model::ParentPath(path), array,
                   [&](std::string_view at) { return hierarchy_.Load(at).value_or(nullptr); });
    std::vector<std::string> dimensions;
    for (const auto& dimension : array.shape) dimensions.push_back(dimension.dimcoord);
    return dimensions;
  }
  FakeHierarchy hierarchy_;
};

TEST_F(LinkDimensionsTest, FindsCoordinatesHereAndAbove) {
  hierarchy_.AddArray("/lat", {3}, {"lat"});
  hierarchy_.AddArray("/lon", {4}, {"lon"});
  hierarchy_.AddArray("/g/h/lon", {4}, {"lon"});
  hierarchy_.AddArray("/g/h/t", {3, 4, 9}, {"lat", "lon", "none"});
  EXPECT_THAT(Link("/g/h/t"), ElementsAre("/lat", "/g/h/lon", ""));
}

TEST_F(LinkDimensionsTest, SizesMustAgreeWithTheNearestOne) {
  hierarchy_.AddArray("/lat", {3}, {"lat"});
  hierarchy_.AddArray("/g/lat", {5}, {"lat"});
  hierarchy_.AddArray("/g/t", {3}, {"lat"});
  EXPECT_THAT(Link("/g/t"), ElementsAre(""));
}

TEST_F(LinkDimensionsTest, OnlyCoordinatesCount) {
  hierarchy_.AddGroup("/lat");
  hierarchy_.AddArray("/lon", {4}, {"x"});
  hierarchy_.AddArray("/t", {3, 4}, {"lat", "lon"});
  EXPECT_THAT(Link("/t"), ElementsAre("", ""));
}

TEST_F(LinkDimensionsTest, CoordinatesAndUnnamedDimensionsStay) {
  hierarchy_.AddArray("/lat", {3}, {"lat"});
  hierarchy_.AddArray("/t", {3, 3}, {"", "a/../lat"});
  EXPECT_THAT(Link("/lat"), ElementsAre(""));
  EXPECT_THAT(Link("/t"), ElementsAre("", ""));
}

TEST_F(LinkDimensionsTest, AnArrayIsNotItsOwnCoordinate) {
  hierarchy_.AddArray("/lat", {3}, {"lat"});
  hierarchy_.AddArray("/g/lat", {3, 2}, {"lat", "x"});
  EXPECT_THAT(Link("/g/lat"), ElementsAre("/lat", ""));
}

TEST(HashVersionsTest, EveryPartOfAGenerationCounts) {
  const Generation::Numbers numbers = {1, 2, 3, 4, 5};
  const ValueInfo value = {Generation::OfNumbers(numbers)};
  std::vector<std::vector<std::optional<ValueInfo>>> versions = {
      {value}, {std::nullopt}, {}, {value, std::nullopt}, {std::nullopt, value}};
  for (size_t field = 0; field < 5; ++field) {
    Generation::Numbers other = numbers;
    other[field] = 9;
    versions.push_back({ValueInfo{Generation::OfNumbers(other)}});
  }
  std::set<uint64_t> hashes;
  for (const auto& version : versions) hashes.insert(FakeHierarchy::HashVersions(version));
  EXPECT_EQ(hashes.size(), versions.size());
}

}  // namespace
}  // namespace ndlfs::backends
