// SPDX-License-Identifier: MIT
//
// Hierarchies of Zarr v2 and v3: what is found, listed, linked and noticed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "backends/detection.h"
#include "backends/format/metadata_files.h"
#include "backends/format/source_notes.h"
#include "backends/format/stored_chunks.h"
#include "backends/format/zarr/zarr_format.h"
#include "backends/store/local/local_source.h"
#include "backends/store/request_scope.h"
#include "backends/store/zip/zip_store.h"
#include "tests/backends/format/zarr/zarr_stores.h"
#include "tests/support/python.h"
#include "tests/support/read_array.h"
#include "tests/support/result.h"
#include "tests/support/slow_store.h"
#include "tests/support/zip_builder.h"

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
using ::testing::Not;

TEST(ZarrHierarchyTest, V2HasGroupsArraysAndCoordinates) {
  const auto hierarchy = test::OpenZarr(StoreV2());
  EXPECT_EQ(hierarchy->format(), "Zarr v2");
  EXPECT_THAT(hierarchy->List("/"), IsOkAnd(ElementsAre("lat", "sub")));
  EXPECT_THAT(hierarchy->List("/sub"), IsOkAnd(ElementsAre("t")));
  EXPECT_THAT(hierarchy->List("/lat"), IsOkAnd(IsEmpty()));

  const auto root = hierarchy->Load("/").value();
  ASSERT_TRUE(root->is_group());
  EXPECT_EQ(std::get<model::Group>(root->entity).name, "");
  ASSERT_EQ(root->attributes().size(), 2u);
  EXPECT_EQ(root->attributes()[0].name, "title");

  const auto lat = hierarchy->Load("/lat").value();
  ASSERT_TRUE(std::holds_alternative<model::DimCoord>(lat->entity));
  EXPECT_EQ(lat->array().name, "lat");
  EXPECT_THAT(lat->array().dimension_names, ElementsAre("lat"));
  ASSERT_EQ(lat->attributes().size(), 1u);  // the names of dimensions are no attribute
  EXPECT_EQ(lat->attributes()[0].name, "units");
  EXPECT_GT(lat->mtime_ns, 0);

  const auto t = hierarchy->Load("/sub/t").value();
  ASSERT_TRUE(std::holds_alternative<model::Ndarray>(t->entity));
  EXPECT_THAT(t->array().dimension_names, ElementsAre("time", "lat"));
  EXPECT_THAT(DimCoordsOf(*t), ElementsAre("", "/lat"));
  EXPECT_EQ(test::ReadThroughChunks(*t->source), std::string(24, '\0'));
}

TEST(ZarrHierarchyTest, V3HasGroupsArraysAndCoordinates) {
  const auto hierarchy = test::OpenZarr(StoreV3());
  EXPECT_EQ(hierarchy->format(), "Zarr v3");
  EXPECT_THAT(hierarchy->List("/"), IsOkAnd(ElementsAre("lat", "sub")));
  EXPECT_THAT(hierarchy->List("/sub"), IsOkAnd(ElementsAre("t")));
  EXPECT_THAT(hierarchy->List("/sub/t"), IsOkAnd(IsEmpty()));
  EXPECT_EQ(hierarchy->Load("/").value()->attributes().size(), 1u);
  const auto lat = hierarchy->Load("/lat").value();
  ASSERT_TRUE(std::holds_alternative<model::DimCoord>(lat->entity));
  EXPECT_EQ(lat->attributes()[0].name, "units");
  const auto t = hierarchy->Load("/sub/t").value();
  EXPECT_THAT(DimCoordsOf(*t), ElementsAre("", "/lat"));
  EXPECT_EQ(test::ReadThroughChunks(*t->source), "abcdef");
}

std::string TwoChunksV2(const std::string& separator) {
  const std::string member =
      separator.empty() ? "" : R"("dimension_separator": ")" + separator + "\", ";
  return R"({"zarr_format": 2, "shape": [1, 2], "chunks": [1, 1], "dtype": "|u1", )" + member +
         R"("compressor": null, "fill_value": 0, "order": "C", "filters": null})";
}

std::vector<std::string> NotesOf(const Node& node) {
  const auto* notes = dynamic_cast<const SourceNotes*>(node.source.get());
  return notes == nullptr ? std::vector<std::string>() : notes->notes();
}

TEST(ZarrSeparatorTest, ChunksUnderTheOtherSeparatorAreFoundAndNoted) {
  struct Case {
    std::string separator, first, second;
  };
  for (const Case& c :
       {Case{"", "a/0/0", "a/0/1"}, Case{"/", "a/0.0", "a/0.1"}, Case{".", "a/0/0", "a/0/1"}}) {
    const auto hierarchy = test::OpenZarr(
        std::shared_ptr<MemoryStore>(new MemoryStore{{".zgroup", kGroupV2},
                                                     {"a/.zarray", TwoChunksV2(c.separator)},
                                                     {c.first, "x"},
                                                     {c.second, "y"}}));
    const auto node = hierarchy->Load("/a").value();
    EXPECT_EQ(test::ReadThroughChunks(*node->source), "xy") << c.first;
    EXPECT_THAT(NotesOf(*node), ElementsAre(HasSubstr("chunks are read under keys")))
        << c.first;
  }
}

TEST(ZarrSeparatorTest, OfChunksUnderBothSeparatorsThoseOfTheMetadataCount) {
  const auto hierarchy = test::OpenZarr(
      std::shared_ptr<MemoryStore>(new MemoryStore{{".zgroup", kGroupV2},
                                                   {"a/.zarray", TwoChunksV2(".")},
                                                   {"a/0.1", "y"},
                                                   {"a/0/0", "old"}}));
  const auto node = hierarchy->Load("/a").value();
  EXPECT_EQ(test::ReadThroughChunks(*node->source), std::string("\0y", 2));
  EXPECT_THAT(NotesOf(*node), IsEmpty());
}

TEST(ZarrSeparatorTest, V3FindsThemToo) {
  const std::string metadata =
      R"({"zarr_format": 3, "node_type": "array", "shape": [2], "data_type": "uint8",
      "fill_value": 0, "codecs": ["bytes"], "chunk_key_encoding": "default",
      "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [1]}}})";
  const auto hierarchy = test::OpenZarr(std::shared_ptr<MemoryStore>(
      new MemoryStore{{"zarr.json", metadata}, {"c.0", "x"}, {"c.1", "y"}}));
  EXPECT_EQ(test::ReadThroughChunks(*hierarchy->Load("/").value()->source), "xy");
}

TEST(ZarrSeparatorTest, AFolderThatIsNoChunkIsNone) {
  const auto hierarchy = test::OpenZarr(
      std::shared_ptr<MemoryStore>(new MemoryStore{{".zgroup", kGroupV2},
                                                   {"a/.zarray", TwoChunksV2(".")},
                                                   {"a/notes/0", "x"},
                                                   {"a/0.0.0", "of another rank"}}));
  const auto node = hierarchy->Load("/a").value();
  EXPECT_EQ(test::ReadThroughChunks(*node->source), std::string(2, '\0'));
  EXPECT_THAT(NotesOf(*node), IsEmpty());
}

TEST(ZarrStoredChunksTest, AListingTellsWhichChunksAreThere) {
  const auto store =
      std::shared_ptr<MemoryStore>(new MemoryStore{{".zgroup", kGroupV2},
                                                   {"a/.zarray", TwoChunksV2(".")},
                                                   {"a/.zattrs", "{}"},
                                                   {"a/notes", "x"}});
  const auto list = [&](size_t most = 10) {
    const auto node = test::OpenZarr(store)->Load("/a").value();
    return dynamic_cast<const StoredChunks*>(node->source.get())->ListChunks(most).value();
  };
  EXPECT_THAT(list(), ::testing::Optional(IsEmpty()));
  store->Put("a/0.1", "y");
  store->Put("a/7.0", "beyond the array");
  store->Put("a/00.0", "no key of a chunk");
  EXPECT_EQ(list(), std::nullopt) << "a number that is no key";
  store->Remove("a/00.0");
  EXPECT_THAT(list(), ::testing::Optional(ElementsAre(1)));
  EXPECT_EQ(list(0), std::nullopt);
  store->Put("a/0/0", "x");
  EXPECT_EQ(list(), std::nullopt) << "under the other separator";
}

TEST(ZarrHierarchyTest, V2WithoutAFillValueIsReadAsIfThatWereNull) {
  std::string metadata = ArrayV2("[2]");
  const std::string member = R"("fill_value": 0, )";
  metadata.replace(metadata.find(member), member.size(), "");
  const auto hierarchy =
      test::OpenZarr(std::shared_ptr<MemoryStore>(new MemoryStore{{".zgroup", kGroupV2},
                                                                  {"a/.zarray", metadata},
                                                                  {"a/0", "abcdefgh"},
                                                                  {"b/.zarray", metadata}}));
  EXPECT_EQ(test::ReadThroughChunks(*hierarchy->Load("/a").value()->source), "abcdefgh");
  EXPECT_EQ(test::ReadThroughChunks(*hierarchy->Load("/b").value()->source),
            std::string(8, '\0'));
  EXPECT_THAT(hierarchy->Load("/a").value()->notes,
              ElementsAre(HasSubstr("without \"fill_value\"")));
}

TEST(ZarrHierarchyTest, NodesBelowAPrefix) {
  auto store = std::make_shared<MemoryStore>();
  store->Put("deep/down/zarr.json", kGroupV3);
  store->Put("deep/down/a/zarr.json", ArrayV3("[3]"));
  store->Put("deep/down/a/c/0", "xyz");
  store->Put("a/c/0", "bad");
  const auto hierarchy = test::OpenZarr(store, "deep/down");
  EXPECT_THAT(hierarchy->List("/"), IsOkAnd(ElementsAre("a")));
  EXPECT_EQ(test::ReadThroughChunks(*hierarchy->Load("/a").value()->source), "xyz");
}

TEST(ZarrHierarchyTest, ASingleArrayHasTheNameOfItsStore) {
  const auto v2 = test::OpenZarr(std::shared_ptr<MemoryStore>(new MemoryStore{
                                     {".zarray", ArrayV2("[2]", "|u1")}, {"0", "ab"}}),
                                 "", "lat");
  EXPECT_EQ(v2->Load("/").value()->array().name, "lat");
  EXPECT_EQ(test::ReadThroughChunks(*v2->Load("/").value()->source), "ab");
  EXPECT_THAT(v2->List("/"), IsOkAnd(IsEmpty()));
  const auto v3 = test::OpenZarr(
      std::shared_ptr<MemoryStore>(new MemoryStore{
          {"zarr.json", ArrayV3("[2]", R"("dimension_names": ["lat"],)")}, {"c/0", "ab"}}),
      "", "lat");
  EXPECT_TRUE(std::holds_alternative<model::DimCoord>(v3->Load("/").value()->entity));
  EXPECT_EQ(test::ReadThroughChunks(*v3->Load("/").value()->source), "ab");
}

TEST(ZarrHierarchyTest, V3WinsWhereBothAreThere) {
  auto store = StoreV3();
  store->Put(".zgroup", kGroupV2);
  store->Put("lat/.zarray", ArrayV2("[7]"));
  const auto hierarchy = test::OpenZarr(store);
  EXPECT_EQ(hierarchy->format(), "Zarr v3");
  EXPECT_EQ(hierarchy->Load("/lat").value()->array().shape.at(0).size, 2u);
}

TEST(ZarrHierarchyTest, DimensionNamesThatDoNotFitStayAnAttribute) {
  auto store = StoreV2();
  for (const char* names : {R"(["x"])", R"("xy")", R"([1, 2])"}) {
    store->Put("sub/t/.zattrs", Dimensions(names));
    const auto node = test::OpenZarr(store)->Load("/sub/t").value();
    EXPECT_THAT(node->array().dimension_names, IsEmpty()) << names;
    ASSERT_EQ(node->attributes().size(), 1u) << names;
    EXPECT_EQ(node->attributes()[0].name, "_ARRAY_DIMENSIONS");
  }
}

TEST(ZarrHierarchyTest, ArraysNamedAfterEachOthersDimensionsAreNoLoop) {
  auto store = std::make_shared<MemoryStore>();
  store->Put("zarr.json", kGroupV3);
  store->Put("a/zarr.json", ArrayV3("[2, 2]", R"("dimension_names": ["b", "b"],)"));
  store->Put("b/zarr.json", ArrayV3("[2, 2]", R"("dimension_names": ["a", "a"],)"));
  const auto hierarchy = test::OpenZarr(store);
  EXPECT_THAT(DimCoordsOf(*hierarchy->Load("/a").value()), ElementsAre("", ""));
  EXPECT_THAT(DimCoordsOf(*hierarchy->Load("/b").value()), ElementsAre("", ""));
}

TEST(ZarrHierarchyTest, MissingNodesAreNotFound) {
  for (const auto& hierarchy : {test::OpenZarr(StoreV2()), test::OpenZarr(StoreV3())}) {
    for (const char* path : {"/none", "/notes", "/sub/none", "/lat/0", "/file"}) {
      EXPECT_THAT(hierarchy->Load(path),
                  IsError(ErrorCode::kNotFound, HasSubstr("no group or array")));
      EXPECT_THAT(hierarchy->List(path), IsError(ErrorCode::kNotFound, HasSubstr(path)));
      EXPECT_THAT(hierarchy->Version(path), IsError(ErrorCode::kNotFound, HasSubstr(path)));
    }
  }
}

TEST(ZarrHierarchyTest, GroupsOfV2NeedNoMetadataOfTheirOwn) {
  auto store = StoreV2();
  store->Put("plate/A/1/image/.zarray", ArrayV2("[1]"));
  store->Put("plate/.zattrs", R"({"rows": 1})");
  store->Put("heap/of/files/notes.txt", "no node here");
  const auto hierarchy = test::OpenZarr(store);
  EXPECT_THAT(hierarchy->List("/"), IsOkAnd(ElementsAre("lat", "plate", "sub")));
  EXPECT_THAT(hierarchy->List("/plate/A"), IsOkAnd(ElementsAre("1")));
  EXPECT_THAT(hierarchy->Load("/plate/A/1/image"), IsOk());
  const auto plate = hierarchy->Load("/plate").value();
  EXPECT_TRUE(plate->is_group());
  EXPECT_EQ(plate->attributes().size(), 1u);
  EXPECT_THAT(hierarchy->Load("/heap"), IsError(ErrorCode::kNotFound, HasSubstr("/heap")));
}

TEST(ZarrHierarchyTest, GroupsOfV3NeedNoMetadataOfTheirOwn) {
  auto store = StoreV3();
  store->Put("plate/A/1/image/zarr.json", ArrayV3("[1]"));
  store->Put("plate/A/1/image/c/0", "x");
  store->Put("heap/of/files/notes.txt", "no node here");
  store->Put("other/.zarray", ArrayV2("[1]"));
  store->Put("__cache/x/zarr.json", kGroupV3);
  const auto hierarchy = test::OpenZarr(store);
  EXPECT_THAT(hierarchy->List("/"), IsOkAnd(ElementsAre("lat", "plate", "sub")));
  EXPECT_THAT(hierarchy->List("/plate"), IsOkAnd(ElementsAre("A")));
  EXPECT_THAT(hierarchy->List("/plate/A/1"), IsOkAnd(ElementsAre("image")));
  EXPECT_EQ(test::ReadThroughChunks(*hierarchy->Load("/plate/A/1/image").value()->source), "x");
  const auto plate = hierarchy->Load("/plate").value();
  EXPECT_TRUE(plate->is_group());
  EXPECT_THAT(plate->attributes(), IsEmpty());
  EXPECT_THAT(plate->notes, ElementsAre(HasSubstr("a group although it has no zarr.json")));
  for (const char* path : {"/heap", "/heap/of", "/other", "/__cache", "/lat/c"}) {
    EXPECT_THAT(hierarchy->Load(path), IsError(ErrorCode::kNotFound, HasSubstr(path)));
  }
}

TEST(ZarrHierarchyTest, AGroupWithoutMetadataGoesWithItsLastNode) {
  auto store = StoreV3();
  store->Put("plate/A/zarr.json", kGroupV3);
  store->Put("plate/B/zarr.json", kGroupV3);
  store->Put("plate/notes.txt", "still here");
  const auto hierarchy = test::OpenZarr(store);
  EXPECT_THAT(hierarchy->Load("/plate"), IsOk());
  store->Remove("plate/A/zarr.json");  // which has been remembered
  EXPECT_THAT(hierarchy->List("/plate"), IsOkAnd(ElementsAre("B")));
  store->Remove("plate/B/zarr.json");
  EXPECT_THAT(hierarchy->Load("/plate"), IsError(ErrorCode::kNotFound, HasSubstr("/plate")));
  EXPECT_THAT(hierarchy->List("/"), IsOkAnd(ElementsAre("lat", "sub")));
}

TEST(ZarrHierarchyTest, DirectoriesBelowAnArrayAreNoGroups) {
  auto v3 = StoreV3();
  v3->Put("sub/t/c/deep/zarr.json", kGroupV3);
  EXPECT_THAT(test::OpenZarr(v3)->Load("/sub/t/c"),
              IsError(ErrorCode::kNotFound, HasSubstr("/sub/t/c")));
  auto v2 = StoreV2();
  v2->Put("sub/t/0/deep/.zgroup", kGroupV2);
  EXPECT_THAT(test::OpenZarr(v2)->Load("/sub/t/0"),
              IsError(ErrorCode::kNotFound, HasSubstr("/sub/t/0")));
}

TEST(ZarrHierarchyTest, OnlySoManyDirectoriesAreLookedThroughForANode) {
  auto store = StoreV3();
  for (int i = 0; i < 1000; ++i) store->Put(fmt::format("heap/{}/x", i), "no node");
  store->Put("heap/zz/zarr.json", kGroupV3);
  EXPECT_THAT(test::OpenZarr(store)->List("/"), IsOkAnd(ElementsAre("lat", "sub")));
}

TEST(ZarrHierarchyTest, AListingLooksForNodesInOnlySoManyDirectories) {
  auto store = StoreV3();
  for (int i = 0; i < 100; ++i) {
    for (int k = 0; k < 100; ++k) store->Put(fmt::format("heap{}/{}/x", i, k), "no node");
    store->Put(fmt::format("group{}/a/b/zarr.json", i), kGroupV3);
  }
  store->Put("last/a/b/zarr.json", kGroupV3);
  store->Put("unseen/a/b/zarr.json", kGroupV3);
  store->Put("unseen/zarr.json", kGroupV3);
  const auto names = test::OpenZarr(store)->List("/").value();
  // What is found costs nothing: `heap` comes after `group`, and before `last`.
  EXPECT_EQ(names.size(), 100u + 3);
  EXPECT_EQ(std::count(names.begin(), names.end(), "last"), 0);
  EXPECT_EQ(std::count(names.begin(), names.end(), "unseen"), 1);
  EXPECT_THAT(test::OpenZarr(store)->Load("/last"), IsOk());
}

TEST(ZarrHierarchyTest, WhatCannotBeReadHidesNoOtherNode) {
  for (const int fault : {EACCES, EIO}) {
    auto store = StoreV3();
    store->Put("plate/A/x", "");
    store->Put("plate/B/zarr.json", kGroupV3);
    store->Put("plate/B/1/zarr.json", kGroupV3);
    store->Put("folder/closed/x", "");
    store->Fail("plate/A/zarr.json", fault);
    store->Fail("folder/closed/zarr.json", fault);
    const auto hierarchy = test::OpenZarr(store);
    // A folder in which no node is seen is not listed as a group that is broken.
    EXPECT_THAT(hierarchy->List("/"), IsOkAnd(ElementsAre("lat", "plate", "sub")));
    EXPECT_THAT(hierarchy->Load("/plate"), IsOk());
    EXPECT_THAT(hierarchy->List("/plate"), IsOkAnd(ElementsAre("A", "B")));
    EXPECT_THAT(hierarchy->Load("/folder"), test::IsErrno(fault));
    store->Put("plate/C/zarr.json", kGroupV3);
    store->Fail("plate/B/zarr.json", fault);  // which has been remembered
    EXPECT_THAT(hierarchy->Load("/plate"), IsOk());
  }
}

TEST(ZarrHierarchyTest, ThereIsNothingAtPathsThatClimbOrAreNone) {
  for (const auto& hierarchy : {test::OpenZarr(StoreV2()), test::OpenZarr(StoreV3())}) {
    for (const std::string path :
         {"/..", "/sub/../lat", "/sub/./t", "", "lat", "/sub/", "//lat", "/sub//t"}) {
      EXPECT_THAT(hierarchy->Load(path),
                  IsError(ErrorCode::kNotFound, HasSubstr("no group or array")));
      EXPECT_THAT(hierarchy->List(path), Not(IsOk()));
    }
    EXPECT_THAT(hierarchy->Load(std::string_view("/l\0t", 4)), Not(IsOk()));
  }
}

TEST(ZarrHierarchyTest, NamesThatV3Reserves) {
  auto store = StoreV3();
  store->Put("__x/zarr.json", kGroupV3);
  store->Put(".../zarr.json", kGroupV3);
  const auto hierarchy = test::OpenZarr(store);
  for (const char* path : {"/__x", "/..."}) {
    EXPECT_THAT(hierarchy->Load(path),
                IsError(ErrorCode::kBadInput, HasSubstr("a node cannot be called")));
  }
  for (const char* path : {"/zarr.json", "/sub/__y"}) {
    EXPECT_THAT(hierarchy->Load(path), IsError(ErrorCode::kNotFound, HasSubstr(path)));
  }
  EXPECT_THAT(hierarchy->List("/"), IsOkAnd(ElementsAre("...", "__x", "lat", "sub")));
}

TEST(ZarrHierarchyTest, BrokenMetadataAreTheNodesOwnError) {
  auto store = StoreV2();
  store->Put("bad/.zarray", "{\"zarr_format\": 2, ");
  store->Put("badgroup/.zgroup", R"({"zarr_format": 1})");
  store->Put("badgroup/t/.zarray", ArrayV2("[1]"));
  const auto hierarchy = test::OpenZarr(store);
  EXPECT_THAT(hierarchy->List("/"), IsOkAnd(ElementsAre("bad", "badgroup", "lat", "sub")));
  EXPECT_THAT(hierarchy->Load("/bad"),
              IsError(ErrorCode::kBadInput, HasSubstr("memory/bad/.zarray: not JSON: ")));
  EXPECT_THAT(hierarchy->Load("/badgroup"),
              IsError(ErrorCode::kBadInput,
                      HasSubstr("memory/badgroup/.zgroup: zarr_format: expected 2")));
  EXPECT_THAT(hierarchy->List("/badgroup"), IsOkAnd(ElementsAre("t")));
  EXPECT_THAT(hierarchy->Load("/badgroup/t"), IsOk());
  EXPECT_THAT(hierarchy->Version("/bad"), IsOk());

  store->Put("bad/.zarray", ArrayV2("[2]"));
  EXPECT_THAT(hierarchy->Load("/bad"), IsOk());
}

TEST(ZarrHierarchyTest, BrokenV3Metadata) {
  auto store = StoreV3();
  const auto hierarchy = test::OpenZarr(store);
  const std::pair<const char*, const char*> kCases[] = {
      {"", "memory/x/zarr.json: not JSON: "},
      {"[]", "memory/x/zarr.json: expected an object"},
      {"{}", "memory/x/zarr.json: \"node_type\" is missing"},
      {R"({"node_type": "table"})", "node_type: expected \"array\" or \"group\""},
      {R"({"node_type": "group", "zarr_format": 2})", "zarr_format: expected 3"},
      {R"({"node_type": "group", "zarr_format": 3, "attributes": 1})",
       "attributes: expected an object, found the number 1"},
      {R"({"node_type": "array", "zarr_format": 3})", "\"shape\" is missing"},
  };
  for (const auto& [document, message] : kCases) {
    store->Put("x/zarr.json", document);
    EXPECT_THAT(hierarchy->Load("/x"), IsError(ErrorCode::kBadInput, HasSubstr(message)))
        << document;
  }
  store->Put("x/zarr.json", std::string(200, '[') + std::string(200, ']'));
  EXPECT_THAT(hierarchy->Load("/x"), IsError(ErrorCode::kBadInput, HasSubstr("128 levels")));
}

TEST(ZarrHierarchyTest, GroupsWithUnknownMembersAreShownWithAnError) {
  auto store = StoreV3();
  store->Put("sub/zarr.json", R"({"zarr_format": 3, "node_type": "group", "future": {}})");
  const auto node = test::OpenZarr(store)->Load("/sub").value();
  ASSERT_TRUE(node->error);
  EXPECT_THAT(node->error->message(),
              HasSubstr("memory/sub/zarr.json: unknown member \"future\""));
}

TEST(ZarrHierarchyTest, BrokenAttributesLeaveTheData) {
  auto store = StoreV2();
  const auto hierarchy = test::OpenZarr(store);
  for (const char* attributes : {"{", "[1]", "\xff"}) {
    store->Put("lat/.zattrs", attributes);
    const auto node = hierarchy->Load("/lat").value();
    ASSERT_TRUE(node->error) << attributes;
    EXPECT_THAT(node->error->message(), HasSubstr("memory/lat/.zattrs: "));
    ASSERT_TRUE(node->source);
    EXPECT_EQ(test::ReadThroughChunks(*node->source).size(), 8u);
    EXPECT_THAT(node->attributes(), IsEmpty());
  }
}

TEST(ZarrHierarchyTest, FaultsOfTheSystemArePassedOn) {
  auto store = StoreV2();
  store->Fail("lat/.zarray", EIO);
  EXPECT_THAT(test::OpenZarr(store)->Load("/lat"), test::IsErrno(EIO));
  // Listing does not fail for one child; loading that child does.
  EXPECT_THAT(test::OpenZarr(store)->List("/"), IsOkAnd(ElementsAre("lat", "sub")));
}

TEST(ZarrHierarchyTest, MetadataAreNotReadBeyondTheirLimit) {
  auto store = StoreV2();
  store->Put("lat/.zarray", std::string((16 << 20) + 1, ' '));
  EXPECT_THAT(test::OpenZarr(store)->Load("/lat"),
              IsError(ErrorCode::kLimit, HasSubstr("16777217 bytes of metadata")));
}

TEST(ZarrVersionTest, IsThatOfTheNodeAlone) {
  auto store = StoreV2();
  const auto hierarchy = test::OpenZarr(store);
  const auto before = hierarchy->Version("/lat").value();
  const auto group = hierarchy->Version("/").value();
  store->Put("sub/.zattrs", "{}");
  store->Put("lat/0", "12345678");
  EXPECT_EQ(hierarchy->Version("/lat").value(), before);
  EXPECT_EQ(hierarchy->Version("/").value(), group);
  store->Put("lat/.zattrs", "{}");
  EXPECT_NE(hierarchy->Version("/lat").value(), before);
  const auto without_names = hierarchy->Version("/lat").value();
  store->Put("lat/.zarray", ArrayV2("[3]"));
  EXPECT_NE(hierarchy->Version("/lat").value(), without_names);
  EXPECT_EQ(hierarchy->Load("/lat").value()->array().shape.at(0).size, 3u);
}

TEST(ZarrVersionTest, ChangesWithTheCoordinateThatADimensionIsLinkedTo) {
  auto store = StoreV3();
  const auto hierarchy = test::OpenZarr(store);
  const auto before = hierarchy->Version("/sub/t").value();
  const auto node = hierarchy->Load("/sub/t").value();
  EXPECT_THAT(DimCoordsOf(*node), ElementsAre("", "/lat"));
  store->Put("lat/zarr.json", ArrayV3("[5]", R"("dimension_names": ["lat"],)"));
  EXPECT_NE(hierarchy->Version("/sub/t").value(), before);
  const auto unlinked = hierarchy->Load("/sub/t").value();
  EXPECT_THAT(DimCoordsOf(*unlinked), ElementsAre("", ""));
  // The data have not changed: what is cached of them can stay.
  EXPECT_EQ(unlinked->source, node->source);
}

// More of them than loaded nodes are kept.
TEST(ZarrVersionTest, OfNodesThatWereLoadedOnceIsFoundWithoutReadingThem) {
  const auto store = StoreV2();
  const auto path = [](int i) { return fmt::format("/a{}", i); };
  constexpr int kCount = 4000;
  for (int i = 0; i < kCount; ++i) {
    store->Put(fmt::format("a{}/.zarray", i), ArrayV2("[2, 2]"));
    if (i % 2 != 0) {
      store->Put(fmt::format("a{}/.zattrs", i), Dimensions(R"(["lat", "lon"])"));
    }
  }
  const auto hierarchy = test::OpenZarr(store);
  std::vector<uint64_t> versions;
  for (int i = 0; i < kCount; ++i) versions.push_back(hierarchy->Version(path(i)).value());
  const size_t reads = store->reads();
  EXPECT_GE(reads, 1.5 * kCount);
  for (int i = 0; i < kCount; ++i) EXPECT_EQ(hierarchy->Version(path(i)).value(), versions[i]);
  EXPECT_LT(store->reads(), reads + 10) << "at most the coordinate";
  EXPECT_GT(hierarchy->held_bytes(), 1000u * 4);

  store->Put("lat/.zarray", ArrayV2("[3]", "<f4"));
  EXPECT_EQ(hierarchy->Version("/a0").value(), versions[0]) << "has no names";
  EXPECT_NE(hierarchy->Version("/a1").value(), versions[1]) << "is no longer linked to /lat";
  const auto other = test::OpenZarr(store);
  EXPECT_EQ(other->Version("/a1").value(), hierarchy->Version("/a1").value());
  store->Put("a0/.zattrs", "{}");
  EXPECT_NE(hierarchy->Version("/a0").value(), versions[0]);
  store->Remove("a0/.zarray");
  EXPECT_THAT(hierarchy->Version("/a0"), IsError(ErrorCode::kNotFound, HasSubstr("/a0")));
}

// All members have the version of the archive.
TEST(ZarrVersionTest, OfNodesInAnArchiveStaysWhileOthersAreLoaded) {
  test::ZipBuilder archive;
  archive.Add({.name = ".zgroup", .data = kGroupV2});
  for (const char* name : {"lat", "lon"}) {
    archive.Add({.name = fmt::format("{}/.zarray", name), .data = ArrayV2("[2]")});
    archive.Add({.name = fmt::format("{}/.zattrs", name),
                 .data = Dimensions(fmt::format("[\"{}\"]", name))});
  }
  archive.Add({.name = "t/.zarray", .data = ArrayV2("[2, 2]")});
  archive.Add({.name = "t/.zattrs", .data = Dimensions(R"(["lat", "lon"])")});
  archive.Add({.name = "n/.zarray", .data = ArrayV2("[7]")});
  const auto file = std::make_shared<MemoryStore>();
  file->Put("", archive.Build());
  const auto store = ZipStore::Open(file);
  ASSERT_THAT(store, IsOk());
  const auto hierarchy = test::OpenZarr(*store);
  std::vector<uint64_t> versions;
  const std::vector<std::string> paths = {"/lat", "/lon", "/t", "/n"};
  for (const std::string& path : paths) {
    ASSERT_THAT(hierarchy->Load(path), IsOk());
    versions.push_back(hierarchy->Version(path).value());
  }
  for (size_t i = 0; i < paths.size(); ++i) {
    EXPECT_EQ(hierarchy->Version(paths[i]).value(), versions[i]) << paths[i];
  }
  EXPECT_EQ(test::OpenZarr(*store)->Version("/t").value(), versions[2]);
}

TEST(ZarrVersionTest, TheSameNodeIsFoundAgainWhileItIsUsed) {
  const auto hierarchy = test::OpenZarr(StoreV3());
  const auto node = hierarchy->Load("/sub/t").value();
  EXPECT_EQ(hierarchy->Load("/sub/t").value(), node);
}

TEST(ZarrFormatTest, ADirectoryWithAnyOfItsDocumentsIsAStore) {
  const test::TemporaryDirectory directory;
  const auto root = LocalSource::Open(directory.path()).value();
  for (const char* name : {".zgroup", ".zarray", ".zmetadata", "zarr.json"}) {
    const std::string store = std::string("store") + name;
    std::filesystem::create_directories(directory / store);
    EXPECT_THAT(DetectDirectory(*root, store), IsOkAnd(nullptr));
    test::WriteFile(directory / (store + "/" + name), "anything");
    EXPECT_THAT(DetectDirectory(*root, store), IsOkAnd(&ZarrFormat())) << name;
  }
  std::filesystem::create_directories(directory / "odd/zarr.json");
  EXPECT_THAT(DetectDirectory(*root, "odd"), IsOkAnd(nullptr));
  EXPECT_THAT(DetectDirectory(*root, "none"), IsOkAnd(nullptr));
}

TEST(ZarrFormatTest, DirectoriesNameTheirSingleArray) {
  const test::TemporaryDirectory directory;
  const auto root = LocalSource::Open(directory.path()).value();
  for (const char* store : {"lat.zarr", "v0.4"}) {
    std::filesystem::create_directories(directory / store);
    test::WriteFile(directory / (std::string(store) + "/.zarray"), ArrayV2("[2]"));
    const auto hierarchy = DetectDirectory(*root, store).value()->Open(root, store, {}).value();
    EXPECT_EQ(hierarchy->Load("/").value()->array().name,
              std::string(store) == "lat.zarr" ? "lat" : "v0.4");
  }
}

// Reads of one request do not wait for those of another.
TEST(ZarrSlowStoreTest, TwoThreadsReadMetadataAtTheSameTime) {
  const auto memory = std::make_shared<test::MemoryStore>();
  memory->Put(".zgroup", R"({"zarr_format": 2})");
  std::atomic<bool> waits = false;
  const test::SlowStore* counted = nullptr;
  const auto store = std::make_shared<const test::SlowStore>(
      memory, [&](std::string_view) -> model::Result<void> {
        for (int i = 0; waits && i < 3000 && counted->reads().most() < 2; ++i) {
          std::this_thread::sleep_for(std::chrono::milliseconds(10));
        }
        return {};
      });
  counted = store.get();
  const auto hierarchy = OpenZarr(store, "", "a", {}).value();
  waits = true;
  std::thread other([&] { EXPECT_EQ(hierarchy->format(), "Zarr v2"); });
  EXPECT_EQ(hierarchy->format(), "Zarr v2");
  other.join();
  EXPECT_EQ(store->reads().most(), 2);
}

class ZarrSearchTest : public ::testing::Test {
 protected:
  ZarrSearchTest() {
    store_->Put(".zgroup", kGroupV2);
    store_->Put("logs/a/b.txt", "x");
  }
  std::vector<std::string> Names(std::chrono::nanoseconds holds) {
    if (!hierarchy_) {
      hierarchy_ = OpenZarr(store_, "", "a", {.search_holds = holds}).value();
    }
    return hierarchy_->List("/").value();
  }
  const std::shared_ptr<MemoryStore> store_ = std::make_shared<MemoryStore>();
  std::shared_ptr<const Hierarchy> hierarchy_;
};

TEST_F(ZarrSearchTest, ADirectoryWithoutNodesIsNotSearchedAgainWhileTheAnswerHolds) {
  EXPECT_THAT(Names(std::chrono::hours(1)), IsEmpty());
  store_->Put("logs/a/.zarray", ArrayV2("[1]"));
  EXPECT_THAT(Names(std::chrono::hours(1)), IsEmpty());
  EXPECT_THAT(hierarchy_->Load("/logs"), IsError(ErrorCode::kNotFound, HasSubstr("/logs")));
  EXPECT_THAT(hierarchy_->Load("/logs/a"), IsOk()) << "its own document is there";
}

TEST_F(ZarrSearchTest, EveryAnswerIsThatOfTheMomentByDefault) {
  EXPECT_THAT(Names({}), IsEmpty());
  store_->Put("logs/a/.zarray", ArrayV2("[1]"));
  EXPECT_THAT(Names({}), ElementsAre("logs"));
  store_->Remove("logs/a/.zarray");
  EXPECT_THAT(Names({}), IsEmpty());
}

TEST(ZarrListingTest, AListingOfVeryManyLooksAtOneFileOfEach) {
  const auto store = StoreV2();
  for (int i = 0; i < 1000; ++i) store->Put(fmt::format("a{}/.zarray", i), ArrayV2("[2]"));
  store->Put("plain/x", "");
  const auto hierarchy = test::OpenZarr(store);
  const RequestScope request;
  const size_t stats = store->stats();
  const auto names = hierarchy->List("/").value();
  EXPECT_EQ(names.size(), 1002u);
  EXPECT_TRUE(std::ranges::binary_search(names, "sub"));
  EXPECT_FALSE(std::ranges::binary_search(names, "plain"));
  EXPECT_LT(store->stats(), stats + 1100);
}

// One program finds a folder, goes into it and lists it: several requests.
class ZarrKeptLookTest : public ::testing::Test {
 protected:
  std::shared_ptr<const Hierarchy> OpenFor(std::chrono::nanoseconds holds) {
    const RequestScope request;
    return OpenZarr(store_, "", "a", {.search_holds = holds}).value();
  }
  static uint64_t VersionOf(const Hierarchy& hierarchy, std::string_view path) {
    const RequestScope request;
    return hierarchy.Version(path).value();
  }
  const std::shared_ptr<MemoryStore> store_ = StoreV2();
};

TEST_F(ZarrKeptLookTest, RequestsShareALookUntilTheVersionOfTheRootIsAskedFor) {
  const auto hierarchy = OpenFor(std::chrono::hours(1));
  const uint64_t version = VersionOf(*hierarchy, "/lat");
  const size_t stats = store_->stats();
  EXPECT_EQ(VersionOf(*hierarchy, "/lat"), version);
  EXPECT_EQ(store_->stats(), stats);
  store_->Put("lat/.zattrs", "{}");
  EXPECT_EQ(VersionOf(*hierarchy, "/lat"), version);
  VersionOf(*hierarchy, "/");
  EXPECT_NE(VersionOf(*hierarchy, "/lat"), version);
}

TEST_F(ZarrKeptLookTest, ARequestThatLooksAnewSeesTheChange) {
  const auto hierarchy = OpenFor(std::chrono::hours(1));
  const uint64_t version = VersionOf(*hierarchy, "/lat");
  store_->Put("lat/.zattrs", "{}");
  const RequestScope request;
  RequestScope::ForgetAll();
  EXPECT_NE(hierarchy->Version("/lat").value(), version);
}

TEST_F(ZarrKeptLookTest, WhatIsLoadedAfterAChangeIsTheNewVersion) {
  const auto hierarchy = OpenFor(std::chrono::hours(1));
  {
    const RequestScope request;
    EXPECT_THAT(dynamic_cast<const FindsMetadataFiles&>(*hierarchy).FindFiles("/lat"), IsOk());
  }
  store_->Put("lat/.zarray", ArrayV2("[7]"));
  const RequestScope request;
  EXPECT_EQ(hierarchy->Load("/lat").value()->array().shape.at(0).size, 7u);
}

TEST_F(ZarrKeptLookTest, WhatWasNotThereIsFoundAtOnce) {
  const auto hierarchy = OpenFor(std::chrono::hours(1));
  const auto load = [&] {
    const RequestScope request;
    return hierarchy->Load("/new").has_value();
  };
  EXPECT_FALSE(load());
  store_->Put("new/.zarray", ArrayV2("[7]"));
  EXPECT_TRUE(load());
}

TEST_F(ZarrKeptLookTest, EachRequestLooksByDefault) {
  const auto hierarchy = OpenFor({});
  const uint64_t version = VersionOf(*hierarchy, "/lat");
  store_->Put("lat/.zattrs", "{}");
  EXPECT_NE(VersionOf(*hierarchy, "/lat"), version);
}

TEST(ZarrMetadataFilesTest, AreFoundWithoutReadingThem) {
  for (const auto& store : {StoreV2(), StoreV3()}) {
    const auto hierarchy = test::OpenZarr(store);
    const auto& finds = dynamic_cast<const FindsMetadataFiles&>(*hierarchy);
    for (const char* path : {"/", "/lat", "/sub", "/sub/t"}) {
      const size_t reads = store->reads();
      const auto found = finds.FindFiles(path);
      EXPECT_EQ(store->reads(), reads);
      const auto node = hierarchy->Load(path);
      ASSERT_THAT(found, IsOk());
      ASSERT_THAT(node, IsOk());
      EXPECT_EQ(found->mtime_ns, (*node)->mtime_ns);
      EXPECT_EQ(found->files, (*node)->files);
      EXPECT_THAT(found->files, Not(IsEmpty()));
    }
    EXPECT_THAT(finds.FindFiles("/none"), IsError(ErrorCode::kNotFound, HasSubstr("/none")));
    EXPECT_THAT(finds.FindFiles("/../x"), IsError(ErrorCode::kNotFound, HasSubstr("/../x")));
  }
}

TEST(ZarrSharedDocumentTest, ArraysWithEqualDocumentsHaveTheirOwnNamesAttributesAndChunks) {
  const auto store = std::make_shared<MemoryStore>();
  store->Put(".zgroup", kGroupV2);
  for (const char* name : {"a", "b"}) {
    store->Put(fmt::format("{}/.zarray", name), ArrayV2("[2]"));
    store->Put(fmt::format("{}/0", name), std::string(8, name[0]));
  }
  store->Put("b/.zattrs", R"({"_ARRAY_DIMENSIONS": ["b"], "units": "m"})");
  const auto hierarchy = test::OpenZarr(store);
  const auto a = hierarchy->Load("/a").value();
  const auto b = hierarchy->Load("/b").value();
  EXPECT_EQ(a->array().name, "a");
  EXPECT_EQ(b->array().name, "b");
  EXPECT_THAT(a->attributes(), IsEmpty());
  EXPECT_EQ(b->attributes().size(), 1u);
  EXPECT_TRUE(std::holds_alternative<model::Ndarray>(a->entity));
  EXPECT_TRUE(std::holds_alternative<model::DimCoord>(b->entity));
  EXPECT_NE(a->source->id(), b->source->id());
  EXPECT_THAT(test::ReadByChunks(*a->source), IsOkAnd(std::string(8, 'a')));
  EXPECT_THAT(test::ReadByChunks(*b->source), IsOkAnd(std::string(8, 'b')));

  store->Put("a/.zarray", ArrayV2("[2]", "<f4"));
  EXPECT_EQ(hierarchy->Load("/a").value()->array().type, model::Datatype::Float32());
  EXPECT_EQ(hierarchy->Load("/b").value()->array().type, model::Datatype::Integer(4, true));
}

// So many that the nodes themselves are not all kept.
class ZarrKnownDocumentTest : public ::testing::Test {
 protected:
  static constexpr int kMany = 4000;
  std::shared_ptr<const Hierarchy> OpenMany(int64_t placed_ns) {
    store_->set_placed_ns(placed_ns);
    store_->Put(".zgroup", kGroupV2);
    for (int i = 0; i < kMany; ++i) store_->Put(fmt::format("a{}/.zarray", i), ArrayV2("[2]"));
    auto hierarchy = test::OpenZarr(store_);
    for (int i = 0; i < kMany; ++i)
      EXPECT_THAT(hierarchy->Load(fmt::format("/a{}", i)), IsOk());
    return hierarchy;
  }
  const std::shared_ptr<MemoryStore> store_ = std::make_shared<MemoryStore>();
};

TEST_F(ZarrKnownDocumentTest, IsNotReadAgainUntilItsFileChanges) {
  const auto hierarchy = OpenMany(/*placed_ns=*/1);
  const size_t reads = store_->reads();
  const auto node = hierarchy->Load("/a0").value();
  EXPECT_EQ(store_->reads(), reads);
  EXPECT_EQ(node->array().name, "a0");
  EXPECT_EQ(node->array().type, model::Datatype::Integer(4, true));

  store_->Put("a0/.zarray", ArrayV2("[2]", "<f4"));
  EXPECT_EQ(hierarchy->Load("/a0").value()->array().type, model::Datatype::Float32());
  EXPECT_EQ(hierarchy->Load("/a1").value()->array().type, model::Datatype::Integer(4, true));
}

TEST_F(ZarrKnownDocumentTest, IsThatOfItsFileInAnArchive) {
  store_->set_placed_ns(1);
  store_->ShareGeneration();
  store_->Put(".zgroup", kGroupV2);
  store_->Put("a/.zarray", ArrayV2("[2]", "<i4"));
  store_->Put("b/.zarray", ArrayV2("[2]", "<f4"));
  const auto hierarchy = test::OpenZarr(store_);
  EXPECT_EQ(hierarchy->Load("/a").value()->array().type, model::Datatype::Integer(4, true));
  EXPECT_EQ(hierarchy->Load("/b").value()->array().type, model::Datatype::Float32());
}

// Written twice within a tick of its clock, a file has the same version.
TEST_F(ZarrKnownDocumentTest, OfAFileThatWasWrittenJustNowIsReadAgain) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const auto hierarchy =
      OpenMany(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
  const size_t reads = store_->reads();
  EXPECT_THAT(hierarchy->Load("/a0"), IsOk());
  EXPECT_EQ(store_->reads(), reads + 1);
}

TEST(ZarrSharedDocumentTest, ArraysOfV3HaveTheirOwnAttributes) {
  const auto store = StoreV3();
  const auto hierarchy = test::OpenZarr(store);
  // What attributes hold, and the names of those that are shown.
  const std::pair<const char*, std::vector<std::string>> kCases[] = {
      {R"("attributes": {"a": 1, "b": [2]},)", {"a", "b"}},
      {R"("attributes": {"c": "}, \"{", "d": NaN, "e": {"attributes": {"f": 1}}},)",
       {"c", "d", "e"}},
      {R"("attributes": {"a": 1}, "attributes": {"b": 1},)", {"b"}},
      {R"("\u0061ttributes": {"a": 1},)", {"a"}},
      {R"("attributes": {"a": 1}, "\u0061ttributes": {"b": 1},)", {"b"}},
      {R"("attributes": {},)", {}},
      {R"("attributes": null,)", {}},
      {"", {}},
  };
  for (const auto& [member, names] : kCases) {
    store->Put("x/zarr.json", ArrayV3("[2]", member));
    const auto node = hierarchy->Load("/x");
    ASSERT_THAT(node, IsOk()) << member;
    EXPECT_EQ((*node)->array().type, model::Datatype::Integer(1, false));
    std::vector<std::string> shown;
    for (const auto& attribute : (*node)->attributes()) shown.push_back(attribute.name);
    EXPECT_EQ(shown, names) << member;
  }
  for (const char* member : {R"("attributes": {"a": 1] },)", R"("attributes": {"a"},)",
                             R"("attributes": {"a": 1} 2,)", R"("attributes": {"a": tru},)",
                             R"("attributes": {"a": 1},,)", R"("attributes": {"a": 1)"}) {
    store->Put("x/zarr.json", ArrayV3("[2]", member));
    EXPECT_THAT(hierarchy->Load("/x"), IsError(ErrorCode::kBadInput, HasSubstr("not JSON: ")))
        << member;
  }
}

// Version 3 counts for more where both are there.
class ZarrRootTest : public ::testing::Test {
 protected:
  static constexpr auto kHolds = std::chrono::hours(1);
  std::shared_ptr<const Hierarchy> OpenFor(std::chrono::nanoseconds holds) {
    const RequestScope request;
    return OpenZarr(store_, "", "a", {.search_holds = holds}).value();
  }
  void BecomeV3() { store_->Put("zarr.json", kGroupV3); }
  static bool HasLat(const Hierarchy& hierarchy) {
    const RequestScope request;
    return hierarchy.Load("/lat").has_value();
  }
  const std::shared_ptr<MemoryStore> store_ = StoreV2();
};

TEST_F(ZarrRootTest, RequestsShareALookAtItUntilItsVersionIsAskedFor) {
  const auto hierarchy = OpenFor(kHolds);
  ASSERT_TRUE(HasLat(*hierarchy));
  BecomeV3();
  EXPECT_TRUE(HasLat(*hierarchy));
  {
    const RequestScope request;
    EXPECT_THAT(hierarchy->Version("/"), IsOk());
  }
  EXPECT_FALSE(HasLat(*hierarchy));
}

TEST_F(ZarrRootTest, ARequestThatLooksAnewLooksAtItToo) {
  const auto hierarchy = OpenFor(kHolds);
  ASSERT_TRUE(HasLat(*hierarchy));
  BecomeV3();
  const RequestScope request;
  EXPECT_THAT(hierarchy->Load("/lat"), IsOk());
  RequestScope::ForgetAll();
  EXPECT_THAT(hierarchy->Load("/lat"), IsError(ErrorCode::kNotFound, HasSubstr("/lat")));
}

TEST_F(ZarrRootTest, EachRequestLooksAtItByDefault) {
  const auto hierarchy = OpenFor({});
  ASSERT_TRUE(HasLat(*hierarchy));
  BecomeV3();
  EXPECT_FALSE(HasLat(*hierarchy));
}

}  // namespace
}  // namespace ndlfs::backends
