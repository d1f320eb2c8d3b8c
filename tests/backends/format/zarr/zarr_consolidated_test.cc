// SPDX-License-Identifier: MIT
//
// Metadata of a whole Zarr hierarchy in one document, beside those of its nodes.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>

#include "tests/backends/format/zarr/zarr_stores.h"
#include "tests/support/python.h"
#include "tests/support/read_array.h"

namespace ndlfs::backends {
namespace {

using model::ErrorCode;
using test::ArrayV2;
using test::ArrayV3;
using test::DimCoordsOf;
using test::Dimensions;
using test::IsError;
using test::IsOk;
using test::IsOkAnd;
using test::kGroupV2;
using test::kGroupV3;
using test::MemoryStore;
using test::StoreV2;
using test::StoreV3;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Metadata of StoreV2() in one document.
std::string ConsolidatedV2(std::string_view more = "") {
  return fmt::format(R"({{"zarr_consolidated_format": 1, "metadata": {{ {}
      ".zgroup": {}, ".zattrs": {{"title": "copy"}},
      "lat/.zarray": {}, "lat/.zattrs": {{"units": NaN, "_ARRAY_DIMENSIONS": ["lat"]}},
      "sub/.zgroup": {}, "sub/t/.zarray": {}, "sub/t/.zattrs": {}}}}})",
                     more, kGroupV2, ArrayV2("[2]", "<f4"), kGroupV2, ArrayV2("[3, 2]"),
                     Dimensions(R"(["time", "lat"])"));
}

TEST(ZarrConsolidatedTest, StandsForFilesThatAreNotThere) {
  auto store = std::make_shared<MemoryStore>();
  store->Put(".zmetadata", ConsolidatedV2());
  store->Put("lat/0", std::string_view("\0\0\0\0\0\0\x80\x3f", 8));
  const auto hierarchy = test::OpenZarr(store);
  EXPECT_THAT(hierarchy->List("/"), IsOkAnd(ElementsAre("lat", "sub")));
  EXPECT_THAT(hierarchy->List("/sub"), IsOkAnd(ElementsAre("t")));
  EXPECT_EQ(hierarchy->Load("/").value()->attributes()[0].value, model::Value("copy"));
  const auto lat = hierarchy->Load("/lat").value();
  EXPECT_TRUE(std::holds_alternative<model::DimCoord>(lat->entity));
  EXPECT_EQ(test::ToHex(test::ReadThroughChunks(*lat->source)), "000000000000803f");
  EXPECT_THAT(DimCoordsOf(*hierarchy->Load("/sub/t").value()), ElementsAre("", "/lat"));
  EXPECT_THAT(hierarchy->Load("/none"), IsError(ErrorCode::kNotFound, HasSubstr("none")));

  const auto before = hierarchy->Version("/lat").value();
  store->Put(".zmetadata", ConsolidatedV2("   "));
  EXPECT_NE(hierarchy->Version("/lat").value(), before);
}

TEST(ZarrConsolidatedTest, FilesAreTheTruth) {
  auto store = StoreV2();
  store->Put(".zmetadata", ConsolidatedV2());
  store->Put("lat/.zarray", ArrayV2("[9]"));
  store->Put("fresh/.zarray", ArrayV2("[1]"));
  const auto hierarchy = test::OpenZarr(store);
  EXPECT_EQ(hierarchy->Load("/").value()->attributes()[0].value, model::Value("test"));
  EXPECT_EQ(hierarchy->Load("/lat").value()->array().shape.at(0).size, 9u);
  EXPECT_THAT(hierarchy->List("/"), IsOkAnd(ElementsAre("fresh", "lat", "sub")));
}

TEST(ZarrConsolidatedTest, DeletedNodesStayDeleted) {
  auto store = StoreV2();
  store->Put(".zmetadata", ConsolidatedV2());
  store->Remove("lat/.zarray");
  store->Remove("lat/.zattrs");
  store->Remove("lat/0");
  const auto hierarchy = test::OpenZarr(store);
  EXPECT_THAT(hierarchy->List("/"), IsOkAnd(ElementsAre("sub")));
  EXPECT_THAT(hierarchy->Load("/lat"), IsError(ErrorCode::kNotFound, HasSubstr("lat")));
}

TEST(ZarrConsolidatedTest, UnsoundCopiesAreIgnoredWhereThereAreFiles) {
  for (const std::string& copy :
       {std::string("{"), std::string("[]"), std::string(R"({"metadata": {}})"),
        std::string(R"({"zarr_consolidated_format": 2, "metadata": {"x/.zgroup": {}}})"),
        std::string(R"({"zarr_consolidated_format": 1, "metadata": []})"),
        ConsolidatedV2(R"("../x/.zarray": {},)"), ConsolidatedV2(R"("/x/.zarray": {},)"),
        ConsolidatedV2(R"("a//x/.zarray": {},)"), ConsolidatedV2(R"("a/./x/.zarray": {},)")}) {
    auto store = StoreV2();
    store->Put(".zmetadata", copy);
    const auto hierarchy = test::OpenZarr(store);
    EXPECT_THAT(hierarchy->List("/"), IsOkAnd(ElementsAre("lat", "sub"))) << copy;
    EXPECT_THAT(hierarchy->Load("/lat"), IsOk()) << copy;
  }
}

TEST(ZarrConsolidatedTest, UnsoundCopiesAreTheErrorOfARootWithoutFiles) {
  auto store = std::make_shared<MemoryStore>();
  store->Put(".zmetadata", R"({"zarr_consolidated_format": 7})");
  EXPECT_THAT(test::OpenZarr(store)->Load("/"),
              IsError(ErrorCode::kBadInput,
                      HasSubstr("memory/.zmetadata: zarr_consolidated_format: expected 1")));
}

TEST(ZarrConsolidatedTest, GroupsWithoutADocumentAreThoseThatHoldNodes) {
  auto store = std::make_shared<MemoryStore>();
  store->Put(".zmetadata", fmt::format(R"({{"zarr_consolidated_format": 1, "metadata": {{
                         "a/b/t/.zarray": {}, "a/.zattrs": {{"x": 1}}, "bare/.zattrs": {{}},
                         "bare/on/.zattrs": {{}}}}}})",
                                       ArrayV2("[2]")));
  const auto hierarchy = test::OpenZarr(store);
  EXPECT_THAT(hierarchy->List("/"), IsOkAnd(ElementsAre("a")));
  EXPECT_THAT(hierarchy->List("/a"), IsOkAnd(ElementsAre("b")));
  EXPECT_THAT(hierarchy->List("/a/b"), IsOkAnd(ElementsAre("t")));
  EXPECT_TRUE(hierarchy->Load("/").value()->is_group());
  EXPECT_EQ(hierarchy->Load("/a").value()->attributes().size(), 1u);
  EXPECT_FALSE(hierarchy->Load("/a/b/t").value()->is_group());
  EXPECT_THAT(hierarchy->Load("/bare"), IsError(ErrorCode::kNotFound, HasSubstr("bare")));
  // Where there are files, they say which groups there are.
  store->Put(".zgroup", kGroupV2);
  store->Put("a/notes.txt", "x");
  EXPECT_THAT(hierarchy->List("/"), IsOkAnd(IsEmpty()));
  EXPECT_THAT(hierarchy->Load("/a"), IsError(ErrorCode::kNotFound, HasSubstr("a")));
}

TEST(ZarrConsolidatedTest, CopiesOfNothingAreTheErrorOfARootWithoutFiles) {
  auto store = std::make_shared<MemoryStore>();
  store->Put(".zmetadata", R"({"zarr_consolidated_format": 1, "metadata": {"a/.zattrs": {}}})");
  EXPECT_THAT(test::OpenZarr(store)->Load("/"),
              IsError(ErrorCode::kBadInput,
                      HasSubstr("memory/.zmetadata: there is no group or array in it")));
}

TEST(ZarrConsolidatedTest, BrokenCopiesAreTheNodesOwnError) {
  auto store = std::make_shared<MemoryStore>();
  store->Put(".zmetadata", ConsolidatedV2(R"("bad/.zarray": {"shape": nil},)"));
  const auto hierarchy = test::OpenZarr(store);
  EXPECT_THAT(hierarchy->List("/"), IsOkAnd(ElementsAre("bad", "lat", "sub")));
  EXPECT_THAT(
      hierarchy->Load("/bad"),
      IsError(ErrorCode::kBadInput, HasSubstr("memory/.zmetadata: bad/.zarray: not JSON")));
  EXPECT_THAT(hierarchy->Load("/lat"), IsOk());
}

std::string ConsolidatedV3(std::string_view metadata) {
  return fmt::format(R"({{"zarr_format": 3, "node_type": "group", "attributes": {{"n": 1}},
      "consolidated_metadata": {{"kind": "inline", "must_understand": false,
      "metadata": {}}}}})",
                     metadata);
}

TEST(ZarrConsolidatedTest, InlineInV3) {
  auto store = StoreV3();
  store->Put("zarr.json",
             ConsolidatedV3(fmt::format(
                 R"({{"lat": {}, "sub": {}, "sub/t": {}, "gone": {}, "bare": {}}})",
                 ArrayV3("[2]"), kGroupV3, ArrayV3("[3, 2]"), ArrayV3("[2]"), ArrayV3("[2]"))));
  store->Put("bare/c/0", "ab");
  const auto hierarchy = test::OpenZarr(store);
  const auto root = hierarchy->Load("/").value();
  EXPECT_FALSE(root->error);
  EXPECT_EQ(root->attributes().size(), 1u);
  EXPECT_THAT(hierarchy->List("/"), IsOkAnd(ElementsAre("bare", "lat", "sub")));
  EXPECT_EQ(test::ReadThroughChunks(*hierarchy->Load("/bare").value()->source), "ab");
  EXPECT_THAT(hierarchy->Load("/gone"), IsError(ErrorCode::kNotFound, HasSubstr("gone")));
  // Its own file, not the copy, has the dimension names.
  EXPECT_TRUE(std::holds_alternative<model::DimCoord>(hierarchy->Load("/lat").value()->entity));
}

TEST(ZarrConsolidatedTest, GroupsThatTheCopyLeavesOutAreThere) {
  auto v3 = std::make_shared<MemoryStore>();
  v3->Put("zarr.json", ConsolidatedV3(fmt::format(R"({{"a/b/x": {}}})", ArrayV3("[2]"))));
  v3->Put("a/b/x/c/0", "ab");
  auto v2 = std::make_shared<MemoryStore>();
  v2->Put(".zgroup", kGroupV2);
  v2->Put(".zmetadata", fmt::format(R"({{"zarr_consolidated_format": 1, "metadata":
      {{".zgroup": {}, "a/b/x/.zarray": {}}}}})",
                                    kGroupV2, ArrayV2("[2]", "|u1")));
  v2->Put("a/b/x/0", "ab");
  for (const auto& store : {v3, v2}) {
    const auto hierarchy = test::OpenZarr(store);
    EXPECT_THAT(hierarchy->List("/"), IsOkAnd(ElementsAre("a")));
    EXPECT_THAT(hierarchy->List("/a/b"), IsOkAnd(ElementsAre("x")));
    EXPECT_TRUE(hierarchy->Load("/a").value()->is_group());
    EXPECT_EQ(test::ReadThroughChunks(*hierarchy->Load("/a/b/x").value()->source), "ab");
  }
}

TEST(ZarrConsolidatedTest, AStaleCopyDoesNotBringGroupsWithoutMetadataBack) {
  auto store = std::make_shared<MemoryStore>();
  store->Put("zarr.json",
             ConsolidatedV3(fmt::format(R"({{"a/b/x": {0}, "a/c/y": {0}}})", ArrayV3("[2]"))));
  store->Put("a/notes.txt", "x");
  store->Put("a/b/x/c/0", "ab");
  store->Put("a/c/notes.txt", "x");
  const auto hierarchy = test::OpenZarr(store);
  EXPECT_THAT(hierarchy->List("/"), IsOkAnd(ElementsAre("a")));
  EXPECT_THAT(hierarchy->List("/a"), IsOkAnd(ElementsAre("b")));
  EXPECT_THAT(hierarchy->Load("/a/c"), IsError(ErrorCode::kNotFound, HasSubstr("/a/c")));
  store->Remove("a/b/x/c/0");
  EXPECT_THAT(hierarchy->List("/"), IsOkAnd(IsEmpty()));
  EXPECT_THAT(hierarchy->Load("/a"), IsError(ErrorCode::kNotFound, HasSubstr("/a")));
  store->Put("a/c/z/zarr.json", ArrayV3("[2]"));  // after the copy was made
  EXPECT_THAT(hierarchy->List("/"), IsOkAnd(ElementsAre("a")));
  EXPECT_THAT(hierarchy->List("/a"), IsOkAnd(ElementsAre("c")));
  EXPECT_THAT(hierarchy->Load("/a"), IsOk());
}

TEST(ZarrConsolidatedTest, UnsoundInlineCopiesAreIgnored) {
  for (const char* copy : {"null", "7", "[]", R"({"kind": "stored"})", R"({"kind": "inline"})",
                           R"({"kind": "inline", "metadata": 3})",
                           R"({"kind": "inline", "metadata": {"../x": {}}})",
                           R"({"kind": "inline", "metadata": {"": {}}})"}) {
    auto store = StoreV3();
    store->Put("zarr.json", fmt::format(R"({{"zarr_format": 3, "node_type": "group",
                                          "consolidated_metadata": {}}})",
                                        copy));
    const auto hierarchy = test::OpenZarr(store);
    EXPECT_THAT(hierarchy->List("/"), IsOkAnd(ElementsAre("lat", "sub"))) << copy;
    const auto root = hierarchy->Load("/");
    ASSERT_THAT(root, IsOk()) << copy;
    EXPECT_FALSE((*root)->error) << copy;
  }
}

TEST(ZarrConsolidatedTest, ALargeCopyDoesNotCountAsTheNodesMetadata) {
  auto store = StoreV3();
  const std::string padding(20 << 20, ' ');
  store->Put("zarr.json", ConsolidatedV3("{" + padding + "}"));
  EXPECT_THAT(test::OpenZarr(store)->Load("/"), IsOk());
}

}  // namespace
}  // namespace ndlfs::backends
