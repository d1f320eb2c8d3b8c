// SPDX-License-Identifier: MIT
#include "fs/tree/store/document.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "cache/array_reader.h"
#include "cache/chunk_cache.h"
#include "tests/support/memory_hierarchy.h"
#include "tests/support/result.h"

namespace ndlfs::fs {
namespace {

using model::Datatype;
using test::MemoryArray;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

using Extents = std::vector<uint64_t>;

class DocumentTest : public ::testing::Test {
 protected:
  DocumentTest() { hierarchy_.AddGroup("/"); }

  model::Result<std::string> Write(std::string_view path, std::string_view store = "a.zarr") {
    const ReaderOf reader_of =
        [this](std::string_view array) -> std::shared_ptr<const cache::ArrayReader> {
      const auto node = hierarchy_.Load(array);
      if (!node || !(*node)->source) return nullptr;
      return std::make_shared<cache::ArrayReader>((*node)->source, cache_);
    };
    std::string text;
    const TextSink sink = [&](std::string_view part) -> model::Result<void> {
      text += part;
      return {};
    };
    NDLFS_RETURN_IF_ERROR(WriteDocument(hierarchy_, store, path, reader_of, sink, &errors_));
    return text;
  }

  static std::shared_ptr<MemoryArray> Bytes(size_t count, size_t chunk) {
    std::map<uint64_t, std::string> chunks;
    for (size_t at = 0; at < count; ++at) chunks[at / chunk] += static_cast<char>(at % 100);
    return std::make_shared<MemoryArray>(Datatype::Integer(1, false), Extents{count},
                                         Extents{chunk}, std::move(chunks));
  }

  cache::ChunkCache cache_{uint64_t{64} << 20};
  test::MemoryHierarchy hierarchy_;
  std::vector<std::string> errors_;
};

TEST_F(DocumentTest, OfAStoreHasAllGroupsAndTheValuesOfCoordinates) {
  hierarchy_.AddDimCoord("/lat", Bytes(3, 2));
  hierarchy_.AddArray("/t", Bytes(3, 2));
  hierarchy_.AddGroup("/g");
  hierarchy_.AddDimCoord("/g/lon", Bytes(2, 2));
  EXPECT_THAT(Write("/"), test::IsOkAnd(R"(/:
  dimcoords:
    lat:
      size: 3
      type: uint8
      value: [0, 1, 2]
  ndarrays:
    t:
      shape: [3]
      type: uint8
/g:
  dimcoords:
    lon:
      size: 2
      type: uint8
      value: [0, 1]
)"));
  EXPECT_THAT(errors_, ElementsAre());
}

TEST_F(DocumentTest, OfAGroupHasAbsolutePathNames) {
  hierarchy_.AddGroup("/g");
  hierarchy_.AddGroup("/g/h");
  hierarchy_.AddDimCoord("/g/h/x", Bytes(2, 2));
  EXPECT_THAT(Write("/g"), test::IsOkAnd(HasSubstr("/g/h:\n  dimcoords:\n    x:\n")));
  EXPECT_THAT(Write("/g/h"), test::IsOkAnd(HasSubstr("value: [0, 1]")));
}

TEST_F(DocumentTest, OfOneArrayStandsUnderItsGroup) {
  hierarchy_.AddGroup("/g");
  hierarchy_.AddDimCoord("/g/x", Bytes(2, 2));
  hierarchy_.AddArray("/g/y", Bytes(2, 2));
  EXPECT_THAT(Write("/g/x"), test::IsOkAnd("/g:\n  dimcoords:\n    x:\n      size: 2\n"
                                           "      type: uint8\n      value: [0, 1]\n"));
  EXPECT_THAT(Write("/g/y"), test::IsOkAnd("/g:\n  ndarrays:\n    \"y\":\n      shape: [2]\n"
                                           "      type: uint8\n"));
}

TEST_F(DocumentTest, OfAStoreThatIsOneArrayCallsItAsTheFile) {
  hierarchy_.AddArray("/", Bytes(2, 2));
  EXPECT_THAT(Write("/", "sst.2024.npy"), test::IsOkAnd(HasSubstr("\n    sst.2024:\n")));
  EXPECT_THAT(Write("/", "sst"), test::IsOkAnd(HasSubstr("\n    sst:\n")));
  EXPECT_THAT(Write("/", ".npy"), test::IsOkAnd(HasSubstr("\n    .npy:\n")));
}

TEST_F(DocumentTest, HasTheValuesOfScalarsAndReferences) {
  hierarchy_.AddArray(
      "/scalar", std::make_shared<MemoryArray>(Datatype::Integer(1, false), Extents{}, "\7"));
  hierarchy_.AddArray("/refs",
                      std::make_shared<MemoryArray>(
                          Datatype::ObjectRef(), Extents{2},
                          test::ElementStream({test::Counted("/scalar"), test::Counted("")})));
  EXPECT_THAT(Write("/scalar"), test::IsOkAnd(HasSubstr("value: 7\n")));
  EXPECT_THAT(Write("/refs"), test::IsOkAnd(HasSubstr("value: [/scalar, ")));
}

TEST_F(DocumentTest, LeavesOutTheValuesOfLargeCoordinates) {
  hierarchy_.AddDimCoord("/x", Bytes(1000, 10));
  hierarchy_.AddDimCoord("/y", Bytes(1001, 10));
  EXPECT_THAT(Write("/x"), test::IsOkAnd(HasSubstr("value:")));
  EXPECT_THAT(Write("/y"), test::IsOkAnd(Not(HasSubstr("value:"))));
}

TEST_F(DocumentTest, LeavesOutValuesThatTakeMuchReading) {
  // One element, in a chunk of 65 MiB, and of 2 MiB.
  hierarchy_.AddDimCoord("/chunk", std::make_shared<MemoryArray>(
                                       Datatype::Integer(1, false), Extents{1},
                                       Extents{65 << 20}, std::map<uint64_t, std::string>()));
  hierarchy_.AddArray("/opaque",
                      std::make_shared<MemoryArray>(Datatype::Opaque(2 << 20), Extents{},
                                                    std::string(2 << 20, 'x')));
  hierarchy_.AddArray("/text",
                      std::make_shared<MemoryArray>(
                          Datatype::String(), Extents{},
                          test::ElementStream({test::Counted(std::string(2 << 20, 'x'))})));
  for (const char* path : {"/chunk", "/opaque", "/text"}) {
    EXPECT_THAT(Write(path), test::IsOkAnd(Not(HasSubstr("value:")))) << path;
  }
}

TEST_F(DocumentTest, LeavesOutValuesThatDoNotDecode) {
  hierarchy_.AddDimCoord(
      "/x", std::make_shared<MemoryArray>(Datatype::Integer(1, false), Extents{4}, Extents{2},
                                          std::map<uint64_t, std::string>{{0, "ab"}}));
  const auto document = Write("/");
  EXPECT_THAT(document, test::IsOkAnd(HasSubstr("size: 4")));
  EXPECT_THAT(document, test::IsOkAnd(Not(HasSubstr("value:"))));
}

TEST_F(DocumentTest, KeepsValuesThatTheStoreGives) {
  model::Ndarray scalar;
  scalar.value = model::Value(42);
  hierarchy_.AddArray(
      "/s", scalar,
      std::make_shared<MemoryArray>(Datatype::Integer(1, false), Extents{}, "\7"));
  EXPECT_THAT(Write("/s"), test::IsOkAnd(HasSubstr("value: 42\n")));
}

TEST_F(DocumentTest, LeavesOutWhatCannotBeLoadedAndSaysSo) {
  hierarchy_.AddDimCoord("/x", Bytes(1, 1));
  hierarchy_.AddArray("/bad", Bytes(1, 1));
  hierarchy_.AddArray("/odd", Bytes(1, 1)).error =
      model::Error(model::ErrorCode::kUnsupported, "unknown codec");
  hierarchy_.Break("/bad");
  const auto document = Write("/");
  EXPECT_THAT(document, test::IsOkAnd(Not(HasSubstr("bad"))));
  EXPECT_THAT(document, test::IsOkAnd(HasSubstr("    odd:\n")));
  EXPECT_THAT(errors_, ElementsAre("/bad: /bad is broken", "/odd: unknown codec"));
  EXPECT_THAT(Write("/bad"), test::IsError(model::ErrorCode::kBadInput, "/bad is broken"));
  EXPECT_THAT(Write("/none"), test::IsError(model::ErrorCode::kNotFound, "no /none"));
}

TEST_F(DocumentTest, OfAnArrayThatCannotBeDecodedSaysWhy) {
  hierarchy_.AddArray("/odd", model::Ndarray(), nullptr).error =
      model::Error(model::ErrorCode::kUnsupported, "unknown codec");
  EXPECT_THAT(Write("/odd"), test::IsOkAnd(HasSubstr("    odd:\n")));
  EXPECT_THAT(errors_, ElementsAre("/odd: unknown codec"));
}

}  // namespace
}  // namespace ndlfs::fs
