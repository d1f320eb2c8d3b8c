// SPDX-License-Identifier: MIT
//
// Kerchunk references in Parquet files.
#include "backends/store/reference/parquet_references.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <string>

#include "backends/detection.h"
#include "backends/format/kerchunk/kerchunk.h"
#include "backends/store/local/local_source.h"
#include "tests/support/python.h"
#include "tests/support/read_array.h"
#include "tests/support/reference_tables.h"
#include "tests/support/result.h"

namespace ndlfs::backends {
namespace {

using model::ErrorCode;
using test::IsError;
using test::IsOk;
using test::IsOkAnd;
using ::testing::ElementsAre;
using ::testing::Eq;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::Optional;

constexpr std::string_view kArray =
    R"({"zarr_format": 2, "shape": [15], "chunks": [3], "dtype": "|u1", "order": "C",
        "compressor": null, "filters": null, "fill_value": 9})";

class ParquetReferencesTest : public ::testing::Test {
 protected:
  ParquetReferencesTest() {
    std::filesystem::create_directories(directory_ / "source/refs.parq/t/deep");
    std::filesystem::create_directories(directory_ / "source/refs.parq/data");
    Put("refs.parq/data/a.bin", "0123456789");
    Put("refs.parq/top.bin", "abcdef");
    Put("refs.parq/same.bin", "x");
    Put("refs.parq/t/same.bin", "y");
    test::WriteFile(directory_ / "secret", "secret");
    PutMetadata(fmt::format(R"({{".zgroup": {{"zarr_format": 2}}, "t/.zarray": {}}})", kArray));
    root_ = LocalSource::Open(directory_ / "source").value();
  }

  void Put(const std::string& path, std::string_view content) {
    test::WriteFile(directory_ / ("source/" + path), content);
  }
  void PutMetadata(std::string_view metadata, std::string_view size = "5") {
    Put("refs.parq/.zmetadata",
        fmt::format(R"({{"metadata": {}, "record_size": {}}})", metadata, size));
  }
  void PutTable(std::string_view hex, int number = 0) {
    Put(fmt::format("refs.parq/t/refs.{}.parq", number), test::TableFile(hex));
  }
  std::shared_ptr<const kerchunk::ReferenceStore> Store() {
    auto store = kerchunk::OpenParquetReferences(root_, "refs.parq");
    EXPECT_THAT(store, IsOk());
    return store ? *store : nullptr;
  }
  std::string OpenFailure() {
    const auto store = kerchunk::OpenParquetReferences(root_, "refs.parq");
    return store ? "none" : store.error().message();
  }
  model::Result<std::string> Value(std::string_view key) {
    NDLFS_TRY(const auto bytes, Store()->Read(key, 1000));
    if (!bytes) return "absent";
    return std::string(AsText(bytes->span()));
  }
  std::string Failure(std::string_view key, ErrorCode code) {
    const auto value = Value(key);
    if (value) return "none: " + *value;
    EXPECT_EQ(value.error().code(), code);
    return value.error().message();
  }

  const test::TemporaryDirectory directory_;
  std::shared_ptr<const Source> root_;
};

TEST_F(ParquetReferencesTest, RowsArePartsWholeFilesBytesOrAbsent) {
  PutTable(test::kTableSome);
  EXPECT_THAT(Value("t/0"), IsOkAnd(Eq("234")));
  EXPECT_THAT(Value("t/1"), IsOkAnd(Eq("absent")));
  EXPECT_THAT(Value("t/2"), IsOkAnd(Eq(std::string("\0\1\2", 3))));
  EXPECT_THAT(Value("t/3"), IsOkAnd(Eq("abcdef")));
  EXPECT_EQ(Failure("t/4", ErrorCode::kCorrupt),
            "the file \"refs.parq/data/none.bin\" that it refers to is not there");
  EXPECT_THAT(Value("t/.zarray"), IsOkAnd(Eq(kArray)));
  for (const std::string_view none :
       {"t/5", "t/00", "t/0.0", "t/0/0", "t/c/0", "t/", "u/0", "t", "t/refs.0.parq", "t/-1"}) {
    EXPECT_THAT(Value(none), IsOkAnd(Eq("absent"))) << none;
  }
}

TEST_F(ParquetReferencesTest, ReadsWithinAPart) {
  PutTable(test::kTableSome);
  const auto store = Store();
  std::array<std::byte, 3> out;
  EXPECT_THAT(store->ReadInto("t/0", 1, out), IsOkAnd(Optional(2u)));
  EXPECT_EQ(AsText(std::span(out).first(2)), "34");
  EXPECT_THAT(store->ReadInto("t/0", 3, out), IsOkAnd(Optional(0u)));
  EXPECT_THAT(store->ReadInto("t/2", 1, out), IsOkAnd(Optional(2u)));
  EXPECT_THAT(store->Size("t/0"), IsOkAnd(Optional(3u)));
  EXPECT_THAT(store->Size("t/2"), IsOkAnd(Optional(3u)));
  EXPECT_THAT(store->Size("t/1"), IsOkAnd(Eq(std::nullopt)));
  const auto last = store->Get("t/0", 10, {.range = {2, 2}, .from_end = true});
  ASSERT_TRUE(last && *last);
  EXPECT_EQ(AsText((*last)->bytes.span()), "34");
}

TEST_F(ParquetReferencesTest, TablesAreReadWhenTheirChunksAreAskedFor) {
  PutMetadata(fmt::format(R"({{"t/.zarray": {}}})", kArray), "2");
  PutTable(test::kTableOneMore, 2);
  PutTable("00", 1);  // no table, and not looked at
  EXPECT_THAT(Value("t/0"), IsOkAnd(Eq("absent")));
  EXPECT_THAT(Value("t/4"), IsOkAnd(Eq("5")));
  EXPECT_THAT(Failure("t/2", ErrorCode::kCorrupt), HasSubstr("t/refs.1.parq: "));
}

TEST_F(ParquetReferencesTest, ATableThatIsWrittenAgainIsReadAgain) {
  PutTable(test::kTableSome);
  const auto store = Store();
  EXPECT_EQ(store->Size("t/1").value(), std::nullopt);
  const uint64_t held = store->held_bytes();
  EXPECT_GT(held, 100u);
  PutTable(test::kTableRawAlone);
  EXPECT_THAT(store->Size("t/0"), IsOkAnd(Optional(3u)));
  EXPECT_THAT(store->Read("t/0", 10).value()->span().size(), 3u);
  PutMetadata("{}", "7");
  EXPECT_THAT(store->Read("t/0", 10), IsError(ErrorCode::kStale, HasSubstr("changed")));
  EXPECT_THAT(store->Read("t/.zarray", 1000), IsError(ErrorCode::kStale, HasSubstr("changed")));
}

TEST_F(ParquetReferencesTest, PlacesOutOfReachAreNamed) {
  PutTable(test::kTableElsewhere);
  EXPECT_EQ(Failure("t/0", ErrorCode::kUnsupported), "the remote reference \"s3://bucket/a\"");
  EXPECT_EQ(Failure("t/1", ErrorCode::kUnsupported),
            "\"../../../../secret\" is outside the source tree");
  EXPECT_EQ(Failure("t/2", ErrorCode::kBadInput), "\"\" is no path of a file");
  EXPECT_EQ(Failure("t/3", ErrorCode::kBadInput),
            "\"same.bin\" may be \"refs.parq/t/same.bin\" or \"refs.parq/same.bin\"");
}

TEST_F(ParquetReferencesTest, TablesThatMakeNoSense) {
  const auto failure = [this](std::string_view hex, ErrorCode code) {
    PutTable(hex);
    return Failure("t/0", code);
  };
  EXPECT_EQ(failure(test::kTableNegative, ErrorCode::kCorrupt),
            "t/refs.0.parq: row 0: offset is -1");
  EXPECT_EQ(failure(test::kTableSixRows, ErrorCode::kLimit),
            "t/refs.0.parq: 6 rows, more than 5");
  EXPECT_EQ(failure(test::kTableOfNumbers, ErrorCode::kUnsupported),
            "t/refs.0.parq: column \"path\" has another type");
  EXPECT_EQ(failure(test::kTableOfOthers, ErrorCode::kBadInput),
            "t/refs.0.parq: a table without the columns \"path\" and \"raw\"");
  EXPECT_THAT(failure(test::kTableSome.substr(0, 200), ErrorCode::kCorrupt),
              HasSubstr("cut short"));
}

TEST_F(ParquetReferencesTest, MetadataThatMakeNoSense) {
  PutMetadata("{}", "0");
  EXPECT_THAT(OpenFailure(), HasSubstr("record_size: expected a number from 1 to 1000000"));
  PutMetadata("{}", "10000000");
  EXPECT_THAT(OpenFailure(), HasSubstr("record_size: expected a number"));
  PutMetadata("{}", "\"many\"");
  EXPECT_THAT(OpenFailure(), HasSubstr("record_size"));
  PutMetadata(R"({"../t/.zarray": {}})");
  EXPECT_THAT(OpenFailure(), HasSubstr("metadata"));
  PutMetadata(R"({"t/.zarray": {"shape": [1, 2], "chunks": [1]}})");
  EXPECT_THAT(OpenFailure(), HasSubstr("t/.zarray: shape and chunks"));
  PutMetadata(R"({"t/.zarray": {"shape": [1], "chunks": [0]}})");
  EXPECT_THAT(OpenFailure(), HasSubstr("t/.zarray: chunks: 0"));
  PutMetadata(R"({"t/.zarray": {"shape": [9223372036854775807, 9], "chunks": [1, 1]}})");
  EXPECT_THAT(OpenFailure(), HasSubstr("too many chunks"));
  Put("refs.parq/.zmetadata", R"({"record_size": 5})");
  EXPECT_THAT(OpenFailure(), HasSubstr("\"metadata\" is missing"));
}

TEST_F(ParquetReferencesTest, ListsDocumentsAlone) {
  PutTable(test::kTableSome);
  const auto name = [](std::string_view text) { return Field(&StoreEntry::name, Eq(text)); };
  EXPECT_THAT(Store()->List(""), IsOkAnd(ElementsAre(name(".zgroup"), name("t"))));
  EXPECT_THAT(Store()->List("t"), IsOkAnd(ElementsAre(name(".zarray"))));
  EXPECT_FALSE(Store()->lists_keys());
}

TEST_F(ParquetReferencesTest, TellsWhereChunksTrulyAre) {
  PutTable(test::kTableSome);
  const auto store = Store();
  const auto part = store->Resolve("t/0", nullptr);
  ASSERT_TRUE(part && *part);
  EXPECT_EQ((*part)->key, "refs.parq/data/a.bin");
  EXPECT_EQ((*part)->range.offset, 2u);
  EXPECT_EQ((*part)->range.length, 3u);
  const auto absent = store->Resolve("t/1", nullptr);
  EXPECT_TRUE(absent && !*absent);
  const auto bytes = store->Resolve("t/2", nullptr);
  ASSERT_TRUE(bytes && *bytes && (*bytes)->bytes);
  EXPECT_EQ((*bytes)->bytes->size(), 3u);
  EXPECT_EQ((*bytes)->key, "t/refs.0.parq");
}

TEST_F(ParquetReferencesTest, DirectoriesAreKnownByTheirMetadata) {
  const auto detected = [this] { return DetectStore(*root_, "refs.parq").value(); };
  EXPECT_EQ(detected(), &KerchunkFormat());
  const std::string long_metadata =
      fmt::format(R"({{"a/.zattrs": {{"a": "{}"}}}})", std::string(10'000, 'x'));
  PutMetadata(long_metadata);
  EXPECT_EQ(detected(), &KerchunkFormat());
  Put("refs.parq/.zmetadata",
      fmt::format(R"({{"record_size": 5, "metadata": {}}})", long_metadata));
  EXPECT_EQ(detected(), &KerchunkFormat());
  // Consolidated metadata of Zarr, with an attribute of that name.
  Put("refs.parq/.zmetadata", R"({"metadata": {".zgroup": {}, ".zattrs": {"record_size": 1}},)"
                              R"( "zarr_consolidated_format": 1})");
  EXPECT_EQ(detected()->name(), "Zarr");
  Put("refs.parq/.zmetadata", R"({"record_size": 5, "metadata")");
  EXPECT_EQ(detected()->name(), "Zarr");
}

}  // namespace
}  // namespace ndlfs::backends
