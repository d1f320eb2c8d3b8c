// SPDX-License-Identifier: MIT
//
// What .zarray and zarr.json of an array mean, and which are refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "backends/format/zarr/array_metadata.h"
#include "tests/support/result.h"

namespace ndlfs::backends::zarr {
namespace {

using model::Datatype;
using model::ErrorCode;
using test::IsError;
using test::IsOk;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr uint64_t kLimit = uint64_t{1} << 30;

// A sound document, with members replaced by those of `changes` (JSON Merge
// Patch, but null is a value and "DELETE" takes a member out).
Json Change(Json document, std::string_view changes) {
  const Json patch = ParseJson(changes).value();
  for (const auto& [key, value] : patch.items()) {
    if (value == "DELETE") {
      document.erase(key);
    } else {
      document[key] = value;
    }
  }
  return document;
}

Json DocumentV2(std::string_view changes = "{}") {
  return Change(ParseJson(R"({"zarr_format": 2, "shape": [10, 6], "chunks": [4, 6],
      "dtype": ">f4", "compressor": {"id": "zlib", "level": 1}, "fill_value": -1.5,
      "order": "C", "filters": null})")
                    .value(),
                changes);
}

Json DocumentV3(std::string_view changes = "{}") {
  return Change(ParseJson(R"({"zarr_format": 3, "node_type": "array", "shape": [10, 6],
      "data_type": "float32", "fill_value": "NaN",
      "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [4, 6]}},
      "chunk_key_encoding": {"name": "default"},
      "codecs": [{"name": "bytes", "configuration": {"endian": "big"}},
                 {"name": "gzip", "configuration": {"level": 1}}]})")
                    .value(),
                changes);
}

ArrayMetadata ParseV2(std::string_view changes = "{}") {
  auto metadata = ParseArrayV2(DocumentV2(changes), kLimit);
  EXPECT_THAT(metadata, IsOk());
  return metadata ? *std::move(metadata) : ArrayMetadata();
}
ArrayMetadata ParseV3(std::string_view changes = "{}") {
  auto metadata = ParseArrayV3(DocumentV3(changes), kLimit);
  EXPECT_THAT(metadata, IsOk());
  return metadata ? *std::move(metadata) : ArrayMetadata();
}

// Why the data of an array that can be described cannot be read.
std::string DataError(const ArrayMetadata& metadata) {
  EXPECT_EQ(metadata.layout == nullptr, metadata.error.has_value());
  return metadata.error ? metadata.error->message() : "no error";
}

std::vector<uint64_t> Extents(const model::Shape& shape) {
  std::vector<uint64_t> extents;
  for (const auto& dimension : shape) extents.push_back(dimension.size.value());
  return extents;
}

std::string Key(const ArrayMetadata& metadata, std::vector<uint64_t> index) {
  return metadata.layout->keys.Key(index);
}

TEST(ZarrV2MetadataTest, DescribesAnArray) {
  const ArrayMetadata metadata = ParseV2();
  ASSERT_EQ(DataError(metadata), "no error");
  EXPECT_EQ(metadata.array.type, Datatype::Float32());
  EXPECT_THAT(Extents(metadata.array.shape), ElementsAre(10, 6));
  EXPECT_THAT(metadata.array.dimension_names, IsEmpty());
  EXPECT_THAT(metadata.array.storage.chunk.value(), ElementsAre(4, 6));
  EXPECT_EQ(metadata.array.storage.endian, model::ByteOrder::kBig);
  EXPECT_EQ(metadata.array.storage.fillvalue, model::Value(-1.5));
  EXPECT_EQ(metadata.array.storage.filter.value(),
            (std::vector<model::Filter>{{"zlib", {{"level", model::WideInt{1}}}}}));
  EXPECT_THAT(metadata.layout->spec.grid.counts(), ElementsAre(3, 1));
  EXPECT_EQ(metadata.layout->spec.dtype.order(), model::ByteOrder::kLittle);
  EXPECT_FALSE(metadata.layout->plain);
}

TEST(ZarrV2MetadataTest, FiltersAreInWriteOrder) {
  const ArrayMetadata metadata = ParseV2(R"({"order": "F",
      "filters": [{"id": "future", "astype": "<i2"}], "compressor": {"id": "bz2"}})");
  EXPECT_EQ(
      metadata.array.storage.filter.value(),
      (std::vector<model::Filter>{
          {"transpose", {{"order", "F"}}}, {"future", {{"astype", "<i2"}}}, {"bz2", {}}}));
  EXPECT_EQ(DataError(metadata), "filters[0]: unknown codec \"future\"");
}

TEST(ZarrV2MetadataTest, OrderFMattersFromTwoDimensionsOn) {
  const ArrayMetadata metadata =
      ParseV2(R"({"order": "F", "shape": [10], "chunks": [4], "compressor": null})");
  EXPECT_THAT(metadata.array.storage.filter.value(), IsEmpty());
  EXPECT_TRUE(metadata.layout->plain);
  EXPECT_FALSE(ParseV2(R"({"order": "F", "compressor": null})").layout->plain);
}

TEST(ZarrV2MetadataTest, SeparatorsOfKeys) {
  EXPECT_EQ(Key(ParseV2(), {2, 0}), "2.0");
  EXPECT_EQ(Key(ParseV2(R"({"dimension_separator": "/"})"), {2, 0}), "2/0");
  EXPECT_EQ(Key(ParseV2(R"({"dimension_separator": "."})"), {2, 0}), "2.0");
  EXPECT_EQ(Key(ParseV2(R"({"shape": [], "chunks": []})"), {}), "0");
}

TEST(ZarrV2MetadataTest, FillValuesOfElementsAsLargeAsChunksAreNotMade) {
  constexpr uint64_t kGibibyte = uint64_t{1} << 30;
  const auto zeros = ParseArrayV2(
      DocumentV2(R"({"dtype": "|V900000000", "chunks": [1, 1], "fill_value": 0})"), kGibibyte);
  ASSERT_THAT(zeros, IsOk());
  EXPECT_FALSE(zeros->array.storage.fillvalue);
  ASSERT_TRUE(zeros->layout);
  EXPECT_TRUE(zeros->layout->spec.fill.empty());
  const auto text = ParseArrayV2(
      DocumentV2(R"({"dtype": "|S900000000", "chunks": [1, 1], "fill_value": "YWJj"})"),
      kGibibyte);
  ASSERT_THAT(text, IsOk());
  ASSERT_TRUE(text->error);
  EXPECT_THAT(text->error->message(), HasSubstr("of 900000000 bytes"));
}

TEST(ZarrV2MetadataTest, WithoutAFillValueThereIsNoDirective) {
  const ArrayMetadata metadata = ParseV2(R"({"fill_value": null})");
  EXPECT_FALSE(metadata.array.storage.fillvalue);
  EXPECT_THAT(metadata.layout->spec.fill, IsEmpty());
}

TEST(ZarrV2MetadataTest, FiltersMayBeAbsentAndUnknownMembersPresent) {
  EXPECT_EQ(DataError(ParseV2(R"({"filters": "DELETE", "_NCZARR_ARRAY": {}})")), "no error");
}

TEST(ZarrV2MetadataTest, ZeroExtents) {
  const ArrayMetadata metadata = ParseV2(R"({"shape": [0, 6], "chunks": [0, 6]})");
  ASSERT_EQ(DataError(metadata), "no error");
  EXPECT_THAT(metadata.layout->spec.grid.counts(), ElementsAre(0, 1));
}

TEST(ZarrV2MetadataTest, ObjectsHaveTheTypeOfTheirCodec) {
  const auto type = [](const char* filter) {
    return ParseV2(fmt::format(R"({{"dtype": "|O", "filters": [{}]}})", filter)).array.type;
  };
  EXPECT_EQ(type(R"({"id": "vlen-utf8"})"), Datatype::String());
  EXPECT_EQ(type(R"({"id": "vlen-bytes"})").charset(), model::Charset::kLatin1);
  EXPECT_EQ(type(R"({"id": "json2"})"), Datatype::String());
  EXPECT_EQ(type(R"({"id": "msgpack2"})"), Datatype::String());
  EXPECT_EQ(type(R"({"id": "vlen-array", "dtype": "<i4"})"),
            Datatype::Vlen(Datatype::Integer(4, true)));
}

TEST(ZarrV2MetadataTest, ObjectsWithoutASafeCodecAreDescribedOnly) {
  const ArrayMetadata pickled = ParseV2(R"({"dtype": "|O", "filters": [{"id": "pickle"}]})");
  EXPECT_EQ(pickled.array.type.tag(), R"("|O")");
  EXPECT_EQ(pickled.array.type.size(), 0u);
  EXPECT_EQ(DataError(pickled),
            "dtype: elements are Python objects, stored by pickle, which can run any program");
  EXPECT_THAT(DataError(ParseV2(R"({"dtype": "|O"})")),
              HasSubstr("no filter says how they are stored"));
  EXPECT_THAT(DataError(ParseV2(R"({"dtype": "|O", "filters": [{"id": "mine"}]})")),
              HasSubstr("stored by \"mine\""));
}

TEST(ZarrV2MetadataTest, UnknownTypesAreDescribedByTheirJson) {
  const ArrayMetadata metadata = ParseV2(R"({"dtype": [["a", "<z9"]]})");
  EXPECT_EQ(metadata.array.type.tag(), R"([["a","<z9"]])");
  EXPECT_THAT(DataError(metadata),
              HasSubstr("dtype: field \"a\": \"<z9\" is not a NumPy type"));
  EXPECT_THAT(metadata.array.storage.chunk.value(), ElementsAre(4, 6));
}

TEST(ZarrV2MetadataTest, RefusesWhatDoesNotDescribeAnArray) {
  struct {
    const char* changes;
    ErrorCode code;
    const char* message;
  } const kCases[] = {
      {R"({"zarr_format": 3})", ErrorCode::kBadInput,
       "zarr_format: expected 2, found the number 3"},
      {R"({"zarr_format": "2"})", ErrorCode::kBadInput, "zarr_format: expected 2"},
      {R"({"zarr_format": 2.0})", ErrorCode::kBadInput, "zarr_format: expected 2"},
      {R"({"zarr_format": "DELETE"})", ErrorCode::kBadInput, "\"zarr_format\" is missing"},
      {R"({"shape": "DELETE"})", ErrorCode::kBadInput, "\"shape\" is missing"},
      {R"({"shape": 10})", ErrorCode::kBadInput, "shape: expected a list of integers"},
      {R"({"shape": [10, -6]})", ErrorCode::kBadInput, "shape: [1]: expected a non-negative"},
      {R"({"shape": [10, 6.0]})", ErrorCode::kBadInput, "shape: [1]: expected a non-negative"},
      {R"({"shape": [10, "6"]})", ErrorCode::kBadInput, "shape: [1]: expected a non-negative"},
      {R"({"shape": [10, 9223372036854775808]})", ErrorCode::kBadInput, "below 2^63"},
      {R"({"shape": [10, 1e30]})", ErrorCode::kBadInput, "below 2^63"},
      {R"({"shape": [1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,
          1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]})",
       ErrorCode::kLimit, "a list of 65 integers, at most 64"},
      {R"({"dtype": "DELETE"})", ErrorCode::kBadInput, "\"dtype\" is missing"},
  };
  for (const auto& [changes, code, message] : kCases) {
    EXPECT_THAT(ParseArrayV2(DocumentV2(changes), kLimit), IsError(code, HasSubstr(message)))
        << changes;
  }
  EXPECT_THAT(
      ParseArrayV2(Json::array(), kLimit),
      IsError(ErrorCode::kBadInput, HasSubstr("expected an object, found a list of 0")));
}

TEST(ZarrV2MetadataTest, DescribesArraysWhoseDataItRefuses) {
  struct {
    const char* changes;
    ErrorCode code;
    const char* message;
  } const kCases[] = {
      {R"({"dtype": 4})", ErrorCode::kBadInput,
       "dtype: expected a NumPy type, found the number 4"},
      {R"({"chunks": "DELETE"})", ErrorCode::kBadInput, "\"chunks\" is missing"},
      {R"({"chunks": [4]})", ErrorCode::kBadInput,
       "chunks: chunks of 1 dimensions in an array of 2"},
      {R"({"chunks": [4, 0]})", ErrorCode::kBadInput, "chunks: chunks of extent 0"},
      {R"({"chunks": [4, -1]})", ErrorCode::kBadInput, "chunks: [1]: expected a non-negative"},
      {R"({"order": "K"})", ErrorCode::kBadInput, "order: expected \"C\" or \"F\""},
      {R"({"order": "DELETE"})", ErrorCode::kBadInput, "\"order\" is missing"},
      {R"({"dimension_separator": "-"})", ErrorCode::kBadInput,
       "dimension_separator: expected \".\" or \"/\", found the string \"-\""},
      {R"({"compressor": "zlib"})", ErrorCode::kBadInput, "compressor: "},
      {R"({"compressor": "DELETE"})", ErrorCode::kBadInput, "\"compressor\" is missing"},
      {R"({"compressor": {"level": 1}})", ErrorCode::kBadInput,
       "compressor: \"id\" is missing"},
      {R"({"compressor": {"id": "pcodec2"}})", ErrorCode::kUnsupported,
       "compressor: unknown codec \"pcodec2\""},
      {R"({"filters": {"id": "delta"}})", ErrorCode::kBadInput,
       "filters: expected a list or null"},
      {R"({"filters": [7]})", ErrorCode::kBadInput, "filters[0]: expected an object"},
      {R"({"fill_value": "seven"})", ErrorCode::kBadInput, "fill_value: expected a number"},
      {R"({"dtype": "|S0", "fill_value": null})", ErrorCode::kBadInput, "elements of 0 bytes"},
      {R"({"chunks": [40000, 40000]})", ErrorCode::kLimit,
       "chunks of 6400000000 bytes, --max-chunk-size is 1073741824"},
      {R"({"chunks": [9223372036854775807, 9223372036854775807]})", ErrorCode::kLimit,
       "chunks of more than 2^64 bytes"},
      {R"({"shape": [9223372036854775807, 6]})", ErrorCode::kLimit, "more than 2^62 bytes"},
      {R"({"shape": [4611686018427387904, 4611686018427387904], "chunks": [1, 1]})",
       ErrorCode::kLimit, "more than 2^64 chunks"},
  };
  for (const auto& [changes, code, message] : kCases) {
    const ArrayMetadata metadata = ParseV2(changes);
    EXPECT_THAT(DataError(metadata), HasSubstr(message)) << changes;
    EXPECT_TRUE(metadata.error && metadata.error->code() == code) << changes;
    EXPECT_EQ(metadata.array.shape.size(), 2u) << changes;
  }
}

TEST(ZarrV3MetadataTest, DescribesAnArray) {
  const ArrayMetadata metadata = ParseV3(R"({"dimension_names": ["y", null]})");
  ASSERT_EQ(DataError(metadata), "no error");
  EXPECT_EQ(metadata.array.type, Datatype::Float32());
  EXPECT_THAT(Extents(metadata.array.shape), ElementsAre(10, 6));
  EXPECT_THAT(metadata.array.dimension_names, ElementsAre("y", ""));
  EXPECT_THAT(metadata.array.storage.chunk.value(), ElementsAre(4, 6));
  EXPECT_EQ(metadata.array.storage.endian, model::ByteOrder::kBig);
  EXPECT_EQ(metadata.array.storage.filter.value(),
            (std::vector<model::Filter>{{"gzip", {{"level", model::WideInt{1}}}}}));
  ASSERT_TRUE(metadata.array.storage.fillvalue->real());
  EXPECT_EQ(metadata.layout->spec.fill.size(), 4u);
  EXPECT_THAT(metadata.layout->spec.grid.counts(), ElementsAre(3, 1));
}

TEST(ZarrV3MetadataTest, DimensionNames) {
  EXPECT_THAT(ParseV3(R"({"dimension_names": null})").array.dimension_names, IsEmpty());
  EXPECT_THAT(ParseV3(R"({"dimension_names": [null, null]})").array.dimension_names, IsEmpty());
  EXPECT_THAT(ParseV3(R"({"dimension_names": ["x", "x"]})").array.dimension_names,
              ElementsAre("x", "x"));
}

TEST(ZarrV3MetadataTest, ChunkKeyEncodings) {
  const auto key = [](const char* encoding, std::vector<uint64_t> index) {
    return Key(ParseV3(fmt::format(R"({{"chunk_key_encoding": {}}})", encoding)), index);
  };
  EXPECT_EQ(key(R"({"name": "default"})", {2, 0}), "c/2/0");
  EXPECT_EQ(key(R"("default")", {2, 0}), "c/2/0");
  EXPECT_EQ(key(R"({"name": "default", "configuration": {"separator": "."}})", {2, 0}),
            "c.2.0");
  EXPECT_EQ(key(R"({"name": "default"})", {}), "c");
  EXPECT_EQ(key(R"({"name": "v2"})", {2, 0}), "2.0");
  EXPECT_EQ(key(R"({"name": "v2", "configuration": {"separator": "/"}})", {2, 0}), "2/0");
  EXPECT_EQ(key(R"({"name": "v2"})", {}), "0");
}

TEST(ZarrV3MetadataTest, MembersThatNeedNotBeUnderstood) {
  EXPECT_EQ(DataError(ParseV3(R"({"future": {"must_understand": false, "x": 1}})")),
            "no error");
  EXPECT_EQ(DataError(ParseV3(R"({"storage_transformers": []})")), "no error");
  EXPECT_EQ(DataError(ParseV3(R"({"storage_transformers": null})")), "no error");
  EXPECT_EQ(DataError(ParseV3(
                R"({"storage_transformers": [{"name": "a", "must_understand": false}]})")),
            "no error");
}

TEST(ZarrV3MetadataTest, RectilinearGrids) {
  const ArrayMetadata metadata = ParseV3(R"({"chunk_grid": {"name": "rectilinear",
      "configuration": {"kind": "inline", "chunk_shapes": [[1, [2, 3], 3], 4]}}})");
  ASSERT_EQ(DataError(metadata), "no error");
  const ChunkGrid& grid = metadata.layout->spec.grid;
  EXPECT_THAT(grid.counts(), ElementsAre(5, 2));
  EXPECT_EQ(grid.Begin(0, 4), 7u);
  EXPECT_EQ(grid.Extent(0, 4), 3u);
  EXPECT_EQ(grid.Extent(1, 1), 4u);
  EXPECT_FALSE(metadata.array.storage.chunk);
}

TEST(ZarrV3MetadataTest, PlainElements) {
  EXPECT_FALSE(ParseV3().layout->plain);
  const ArrayMetadata metadata =
      ParseV3(R"({"codecs": [{"name": "bytes", "configuration": {"endian": "big"}}]})");
  ASSERT_TRUE(metadata.layout->plain);
  EXPECT_EQ(metadata.layout->plain->order(), model::ByteOrder::kBig);
  EXPECT_THAT(metadata.array.storage.filter.value(), IsEmpty());
  EXPECT_TRUE(
      ParseV3(R"({"data_type": "uint8", "fill_value": 0, "codecs": ["bytes"]})").layout->plain);
}

TEST(ZarrV3MetadataTest, WithoutCodecsElementsAreLittleEndian) {
  const ArrayMetadata metadata = ParseV3(R"({"codecs": "DELETE"})");
  ASSERT_EQ(DataError(metadata), "no error");
  ASSERT_TRUE(metadata.layout->plain);
  EXPECT_EQ(metadata.layout->plain->order(), model::ByteOrder::kLittle);
  EXPECT_THAT(metadata.notes, ElementsAre(HasSubstr("codecs: there are none")));
  EXPECT_THAT(ParseV3().notes, IsEmpty());
}

TEST(ZarrV3MetadataTest, IntegersOfFewBitsAreBytes) {
  const ArrayMetadata metadata =
      ParseV3(R"({"data_type": "int4", "fill_value": -8, "codecs": ["bytes", "zstd"]})");
  ASSERT_EQ(DataError(metadata), "no error");
  EXPECT_EQ(metadata.array.type, model::Datatype::Integer(1, true));
  EXPECT_EQ(metadata.array.storage.fillvalue, model::Value(-8));
  ASSERT_EQ(metadata.array.storage.filter->size(), 2u);
  EXPECT_EQ(metadata.array.storage.filter->front().name, "int4");
  EXPECT_FALSE(
      ParseV3(R"({"data_type": "uint2", "fill_value": 3, "codecs": ["bytes"]})").layout->plain);
  EXPECT_EQ(DataError(ParseV3(R"({"data_type": "int4", "fill_value": 8})")),
            "fill_value: expected an integer from -8 to 7, found 8");
  EXPECT_EQ(DataError(ParseV3(R"({"data_type": "uint2", "fill_value": 4})")),
            "fill_value: expected an integer from 0 to 3, found 4");
}

TEST(ZarrV3MetadataTest, TextHasACharset) {
  const char* utf32 = R"({"data_type": {"name": "fixed_length_utf32",
      "configuration": {"length_bytes": 8}}, "fill_value": ""})";
  EXPECT_EQ(ParseV3(utf32).array.storage.charset, "utf-32");
  EXPECT_EQ(ParseV3(utf32).array.storage.endian, model::ByteOrder::kBig);
  const char* ascii = R"({"data_type": {"name": "null_terminated_bytes",
      "configuration": {"length_bytes": 8}}, "fill_value": ""})";
  EXPECT_EQ(ParseV3(ascii).array.storage.charset, "ascii");
  EXPECT_FALSE(ParseV3(ascii).array.storage.endian);
}

TEST(ZarrV3MetadataTest, UnknownTypesAreDescribedByTheirJson) {
  const ArrayMetadata metadata =
      ParseV3(R"({"data_type": {"name": "optional", "configuration": {"name": "uint8"}}})");
  EXPECT_EQ(metadata.array.type.tag(),
            R"({"name":"optional","configuration":{"name":"uint8"}})");
  EXPECT_EQ(DataError(metadata), "data_type: unknown data type \"optional\"");
  EXPECT_EQ(metadata.error->code(), ErrorCode::kUnsupported);
}

TEST(ZarrV3MetadataTest, RefusesWhatDoesNotDescribeAnArray) {
  const std::pair<const char*, const char*> kCases[] = {
      {R"({"zarr_format": 2})", "zarr_format: expected 3, found the number 2"},
      {R"({"zarr_format": "DELETE"})", "\"zarr_format\" is missing"},
      {R"({"shape": {}})", "shape: expected a list of integers, found an object"},
      {R"({"shape": [-1]})", "shape: [0]: expected a non-negative integer"},
      {R"({"shape": [1.5]})", "shape: [0]: expected a non-negative integer"},
      {R"({"data_type": "DELETE"})", "\"data_type\" is missing"},
      {R"({"dimension_names": ["x"]})",
       "dimension_names: expected a list of 2 strings and nulls, found a list of 1"},
      {R"({"dimension_names": ["x", 1]})", "dimension_names: expected a list of 2"},
      {R"({"dimension_names": "xy"})", "dimension_names: expected a list of 2"},
  };
  for (const auto& [changes, message] : kCases) {
    EXPECT_THAT(ParseArrayV3(DocumentV3(changes), kLimit),
                IsError(ErrorCode::kBadInput, HasSubstr(message)))
        << changes;
  }
}

TEST(ZarrV3MetadataTest, DescribesArraysWhoseDataItRefuses) {
  struct {
    const char* changes;
    ErrorCode code;
    const char* message;
  } const kCases[] = {
      {R"({"future": 1})", ErrorCode::kUnsupported,
       "unknown member \"future\", which readers must"},
      {R"({"future": {"must_understand": true}})", ErrorCode::kUnsupported, "\"future\""},
      {R"({"future": {"name": "x"}})", ErrorCode::kUnsupported, "\"future\""},
      {R"({"storage_transformers": [{"name": "manifest"}]})", ErrorCode::kUnsupported,
       "unknown storage transformer \"manifest\""},
      {R"({"storage_transformers": {}})", ErrorCode::kBadInput,
       "storage_transformers: expected a list"},
      {R"({"chunk_grid": "DELETE"})", ErrorCode::kBadInput, "\"chunk_grid\" is missing"},
      {R"({"chunk_grid": "hexagonal"})", ErrorCode::kUnsupported,
       "chunk_grid: unknown chunk grid \"hexagonal\""},
      {R"({"chunk_grid": "regular"})", ErrorCode::kBadInput,
       "chunk_grid: \"chunk_shape\" is missing"},
      {R"({"chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [4]}}})",
       ErrorCode::kBadInput, "chunks of 1 dimensions in an array of 2"},
      {R"({"chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [4, 0]}}})",
       ErrorCode::kBadInput, "chunks of extent 0"},
      {R"({"chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [4, 6]},
          "must_understand": false}})",
       ErrorCode::kBadInput, "chunk_grid: \"must_understand\": false is not allowed here"},
      {R"({"chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [4, 6], "x": 1}}})",
       ErrorCode::kBadInput, "unknown member \"x\""},
      {R"({"chunk_grid": {"name": "rectilinear", "configuration":
          {"kind": "stored", "chunk_shapes": []}}})",
       ErrorCode::kUnsupported, "kind: expected \"inline\""},
      {R"({"chunk_grid": {"name": "rectilinear", "configuration":
          {"kind": "inline", "chunk_shapes": [[10]]}}})",
       ErrorCode::kBadInput, "chunk_shapes: expected a list of 2"},
      {R"({"chunk_grid": {"name": "rectilinear", "configuration":
          {"kind": "inline", "chunk_shapes": [[9], [6]]}}})",
       ErrorCode::kBadInput, "the chunks end at 9, the array at 10"},
      {R"({"chunk_grid": {"name": "rectilinear", "configuration":
          {"kind": "inline", "chunk_shapes": [[[1, 2, 3]], [6]]}}})",
       ErrorCode::kBadInput, "chunk_shapes[0]: expected [extent, repetitions]"},
      {R"({"chunk_grid": {"name": "rectilinear", "configuration":
          {"kind": "inline", "chunk_shapes": [[[1, 9000000000]], [6]]}}})",
       ErrorCode::kLimit, "more than 1048576 chunks along a dimension"},
      {R"({"shape": [9000000000, 6], "chunk_grid": {"name": "rectilinear", "configuration":
          {"kind": "inline", "chunk_shapes": [1, [6]]}}})",
       ErrorCode::kLimit, "more than 1048576 chunks along a dimension"},
      {R"({"chunk_key_encoding": "DELETE"})", ErrorCode::kBadInput,
       "\"chunk_key_encoding\" is missing"},
      {R"({"chunk_key_encoding": "hashed"})", ErrorCode::kUnsupported,
       "unknown chunk key encoding \"hashed\""},
      {R"({"chunk_key_encoding": {"name": "v2", "configuration": {"separator": "-"}}})",
       ErrorCode::kBadInput, "chunk_key_encoding: separator: expected \".\" or \"/\""},
      {R"({"fill_value": "DELETE"})", ErrorCode::kBadInput, "\"fill_value\" is missing"},
      {R"({"fill_value": null})", ErrorCode::kBadInput, "fill_value: expected a number"},
      {R"({"codecs": []})", ErrorCode::kBadInput, "codecs: "},
      {R"({"codecs": {}})", ErrorCode::kBadInput, "codecs: expected a list"},
      {R"({"codecs": ["gzip"]})", ErrorCode::kBadInput, "codecs: codecs[0]"},
      {R"({"codecs": ["bytes"]})", ErrorCode::kBadInput, "endian is missing"},
      {R"({"codecs": [{"name": "bytes", "configuration": {"endian": "little"}}, "zipp"]})",
       ErrorCode::kUnsupported, "unknown codec \"zipp\""},
      {R"({"chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [99999, 99999]}}})",
       ErrorCode::kLimit, "bytes, --max-chunk-size is 1073741824"},
      {R"({"shape": [9223372036854775807, 2]})", ErrorCode::kLimit, "more than 2^62 bytes"},
  };
  for (const auto& [changes, code, message] : kCases) {
    const ArrayMetadata metadata = ParseV3(changes);
    EXPECT_THAT(DataError(metadata), HasSubstr(message)) << changes;
    EXPECT_TRUE(metadata.error && metadata.error->code() == code) << changes;
    EXPECT_EQ(metadata.array.shape.size(), 2u) << changes;
  }
}

TEST(ZarrV3MetadataTest, TheLimitOfChunksIsTheOneGiven) {
  auto metadata = ParseArrayV3(DocumentV3(), 95);
  ASSERT_THAT(metadata, IsOk());
  EXPECT_EQ(DataError(*metadata), "chunks of 96 bytes, --max-chunk-size is 95");
  metadata = ParseArrayV3(DocumentV3(), 96);
  ASSERT_THAT(metadata, IsOk());
  EXPECT_EQ(DataError(*metadata), "no error");
}

}  // namespace
}  // namespace ndlfs::backends::zarr
