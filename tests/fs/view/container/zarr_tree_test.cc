// SPDX-License-Identifier: MIT
//
// data.zarr: its documents and chunks, held against the Zarr core specification 3.0.
#include "fs/view/container/zarr_tree.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "backends/base/json.h"
#include "cache/array_reader.h"
#include "cache/chunk_cache.h"
#include "fs/view/all_views.h"
#include "fs/view/base/array_part.h"
#include "tests/support/memory_hierarchy.h"
#include "tests/support/result.h"

namespace ndlfs::fs {
namespace {

using backends::Json;
using model::Datatype;
using model::ErrorCode;
using test::IsError;
using test::IsOk;
using test::IsOkAnd;
using test::Raw;
using ::testing::_;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// An array with a fill value, and with chunks that are all equally large.
class FilledArray final : public backends::ArraySource {
 public:
  FilledArray(const test::MemoryArray& array, const std::string& fill)
      : array_(array), spec_(array.spec()) {
    const auto bytes = backends::AsBytes(fill);
    spec_.fill.assign(bytes.begin(), bytes.end());
  }
  // Without one, in chunks of `chunk`.
  FilledArray(const test::MemoryArray& array, std::vector<uint64_t> chunk,
              std::set<uint64_t> absent = {})
      : array_(array), spec_(array.spec()), absent_(std::move(absent)) {
    spec_.grid = backends::ChunkGrid::Regular(spec_.shape, std::move(chunk),
                                              backends::ChunkGrid::Edge::kFull)
                     .value();
  }
  const backends::ArraySpec& spec() const override { return spec_; }
  model::Result<backends::ChunkLocation> Locate(std::span<const uint64_t> index,
                                                backends::IndexCache& cache) const override {
    uint64_t number = 0;
    for (size_t d = 0; d < index.size(); ++d)
      number = number * spec_.grid.counts()[d] + index[d];
    if (absent_.contains(number)) return backends::ChunkLocation::Absent();
    return array_.Locate(index, cache);
  }

 private:
  const test::MemoryArray array_;
  backends::ArraySpec spec_;
  std::set<uint64_t> absent_;  // numbers of chunks
};

class ZarrTreeTest : public ::testing::Test {
 protected:
  ArrayInput Input(std::shared_ptr<const backends::ArraySource> source) {
    auto node = std::make_shared<backends::Node>();
    node->entity = model::Ndarray();
    node->source = source;
    auto reader = std::make_shared<cache::ArrayReader>(std::move(source), cache_);
    return MakeArrayInput(std::move(node), std::move(reader), {});
  }
  // 0, 1, 2 ... in chunks of `chunk`.
  static test::MemoryArray Count(std::vector<uint64_t> shape, std::vector<uint64_t> chunk) {
    const auto grid =
        backends::ChunkGrid::Regular(shape, chunk, backends::ChunkGrid::Edge::kCropped).value();
    std::map<uint64_t, std::string> chunks;
    const size_t columns = shape[1];
    for (uint64_t i = 0; i < grid.counts()[0]; ++i) {
      for (uint64_t j = 0; j < grid.counts()[1]; ++j) {
        std::string& bytes = chunks[i * grid.counts()[1] + j];
        for (uint64_t y = grid.Begin(0, i); y < grid.Begin(0, i) + grid.Extent(0, i); ++y) {
          for (uint64_t x = grid.Begin(1, j); x < grid.Begin(1, j) + grid.Extent(1, j); ++x) {
            bytes += Raw(static_cast<int16_t>(y * columns + x));
          }
        }
      }
    }
    return {Datatype::Integer(2, true), std::move(shape), std::move(chunk), std::move(chunks)};
  }
  static model::Result<std::string> ReadFile(const ViewNode& tree, const std::string& path) {
    NDLFS_TRY(const ViewNode node, FindBelow(tree, path));
    const ViewPtr file = FileOf(node);
    if (file == nullptr) return model::BadInput("{} is a directory", path);
    NDLFS_TRY(const uint64_t size, file->FindSize());
    std::string out(size, '?');
    NDLFS_TRY(const size_t count, file->Read(0, std::as_writable_bytes(std::span(out))));
    out.resize(count);
    // Any part of it is the same part.
    for (size_t at = 0; at < out.size(); at += 3) {
      std::string part(5, '?');
      NDLFS_TRY(const size_t some, file->Read(at, std::as_writable_bytes(std::span(part))));
      part.resize(some);
      EXPECT_EQ(part, out.substr(at, 5)) << path << " at " << at;
    }
    return out;
  }
  static std::vector<std::string> List(const ViewNode& node) {
    const ViewDirectoryPtr directory = DirectoryOf(node);
    std::vector<std::string> names;
    if (directory == nullptr) return names;
    const auto listing = directory->List();
    for (;;) {
      const auto entry = listing->Next();
      EXPECT_THAT(entry, IsOk());
      if (!entry || !*entry) return names;
      const auto found = directory->Find((*entry)->name);
      EXPECT_THAT(found, IsOk()) << (*entry)->name;
      EXPECT_EQ(found && DirectoryOf(*found) != nullptr, (*entry)->is_directory);
      names.push_back((*entry)->name + ((*entry)->is_directory ? "/" : ""));
    }
  }
  static std::string Shorts(const std::vector<int>& numbers) {
    std::string bytes;
    for (const int number : numbers) bytes += Raw(static_cast<int16_t>(number));
    return bytes;
  }

  cache::ChunkCache cache_{1 << 20};
};

TEST_F(ZarrTreeTest, ArrayIsADocumentAndChunksOfTheSourcesGrid) {
  const auto array = std::make_shared<FilledArray>(Count({3, 5}, {2, 2}), Shorts({-1}));
  const ArrayInput input = Input(array);
  const auto found = ArrayViews().Resolve(input, "data.zarr");
  ASSERT_TRUE(found);
  EXPECT_TRUE(found->is_directory);
  EXPECT_FALSE(found->is_listed);
  const auto tree = ArrayViews().Make(input, "data.zarr");
  ASSERT_THAT(tree, IsOk());
  EXPECT_THAT(List(*tree), ElementsAre("zarr.json", "c/"));
  EXPECT_THAT(List(FindBelow(*tree, "c").value()), ElementsAre("0/", "1/"));
  EXPECT_THAT(List(FindBelow(*tree, "c/1").value()), ElementsAre("0", "1", "2"));
  EXPECT_THAT(ReadFile(*tree, "c/0/0"), IsOkAnd(Shorts({0, 1, 5, 6})));
  EXPECT_THAT(ReadFile(*tree, "c/0/2"), IsOkAnd(Shorts({4, -1, 9, -1})));
  EXPECT_THAT(ReadFile(*tree, "c/1/1"), IsOkAnd(Shorts({12, 13, -1, -1})));
  EXPECT_THAT(ReadFile(*tree, "c/1/2"), IsOkAnd(Shorts({14, -1, -1, -1})));
  const Json document = Json::parse(ReadFile(*tree, "zarr.json").value());
  EXPECT_EQ(document, Json::parse(R"({
    "zarr_format": 3, "node_type": "array", "shape": [3, 5], "data_type": "int16",
    "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [2, 2]}},
    "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
    "fill_value": -1, "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
    "attributes": {}, "dimension_names": [null, null]})"));
}

TEST_F(ZarrTreeTest, RowsGoAlongTheFirstDimensionThatIsCut) {
  const auto tree = ArrayViews().Make(
      Input(std::make_shared<test::MemoryArray>(Count({5, 3}, {2, 3}))), "data.zarr");
  ASSERT_THAT(tree, IsOk());
  EXPECT_THAT(ReadFile(*tree, "c/1/0"), IsOkAnd(Shorts({6, 7, 8, 9, 10, 11})));
  EXPECT_THAT(ReadFile(*tree, "c/2/0"), IsOkAnd(Shorts({12, 13, 14, 0, 0, 0})));
}

TEST_F(ZarrTreeTest, NamesOfChunksAreExact) {
  const auto tree = ArrayViews().Make(
      Input(std::make_shared<test::MemoryArray>(Count({3, 5}, {2, 2}))), "data.zarr");
  for (const char* name : {"c/2", "c/0/3", "c/00", "c/-1", "c/+1", "c/0x0", "c/ 0", "c/",
                           "c/0/0/0", "C", "d", "zarr.json/x", "c/18446744073709551616"}) {
    if (std::string_view(name) == "c/") continue;  // the directory itself
    EXPECT_THAT(FindBelow(*tree, name), IsError(ErrorCode::kNotFound, _)) << name;
  }
}

TEST_F(ZarrTreeTest, ScalarIsOneChunkAndEmptyArraysHaveNone) {
  const auto scalar =
      ArrayViews().Make(Input(std::make_shared<test::MemoryArray>(
                            Datatype::Float64(), std::vector<uint64_t>{}, Raw(1.5))),
                        "data.zarr");
  ASSERT_THAT(scalar, IsOk());
  EXPECT_THAT(List(*scalar), ElementsAre("zarr.json", "c"));
  EXPECT_THAT(ReadFile(*scalar, "c"), IsOkAnd(Raw(1.5)));
  const auto empty =
      ArrayViews().Make(Input(test::Undecodable(Datatype::Float64(), {2, 0})), "data.zarr");
  ASSERT_THAT(empty, IsOk());
  EXPECT_THAT(List(*empty), ElementsAre("zarr.json", "c/"));
  EXPECT_THAT(List(FindBelow(*empty, "c/0").value()), ElementsAre());
}

TEST_F(ZarrTreeTest, TypesAndFillValuesHaveTheirWords) {
  const auto document = [&](const Datatype& type, const std::string& fill) {
    const test::MemoryArray array(type, {1}, fill);
    const auto tree =
        ArrayViews().Make(Input(std::make_shared<FilledArray>(array, fill)), "data.zarr");
    EXPECT_THAT(tree, IsOk()) << type.keyword();
    const Json json = Json::parse(ReadFile(*tree, "zarr.json").value());
    const Json& name = json["data_type"];
    return (name.is_string() ? name.get<std::string>() : name.dump()) + ' ' +
           json["fill_value"].dump();
  };
  EXPECT_EQ(document(Datatype::Integer(1, false), "\x07"), "uint8 7");
  EXPECT_EQ(document(Datatype::Integer(8, true), Raw(std::numeric_limits<int64_t>::min())),
            "int64 -9223372036854775808");
  EXPECT_EQ(document(Datatype::Integer(8, false), Raw(~uint64_t{0})),
            "uint64 18446744073709551615");
  EXPECT_EQ(document(Datatype::Bool(), "\x01"), "bool true");
  EXPECT_EQ(document(Datatype::Float32(), Raw(0.1F)), "float32 0.10000000149011612");
  EXPECT_EQ(document(Datatype::Float64(), Raw(-HUGE_VAL)), "float64 \"-Infinity\"");
  EXPECT_EQ(document(Datatype::Float32(), Raw(uint32_t{0x7fc00000})), "float32 \"NaN\"");
  EXPECT_EQ(document(Datatype::Float32(), Raw(uint32_t{0x7fc00001})), "float32 \"0x7fc00001\"");
  EXPECT_EQ(document(Datatype::Complex(8), Raw(1.0F) + Raw(uint32_t{0x7fc00000})),
            "complex64 [1.0,\"NaN\"]");
  EXPECT_EQ(document(Datatype::Float("bfloat16", 2), Raw(uint16_t{0x3f80})), "bfloat16 1.0");
  EXPECT_EQ(document(Datatype::Opaque(2), "\x01\x02"), "r16 [1,2]");
  EXPECT_EQ(
      document(Datatype::FixedString(4, model::Charset::kAscii), std::string("ab\0\0", 4)),
      R"({"name":"null_terminated_bytes","configuration":{"length_bytes":4}} "YWI=")");
  EXPECT_EQ(
      document(Datatype::FixedString(8, model::Charset::kUtf32), Raw(U'\u00e9') + Raw(U'\0')),
      "{\"name\":\"fixed_length_utf32\",\"configuration\":{\"length_bytes\":8}} \"\u00e9\"");
  EXPECT_EQ(
      document(Datatype::Time({"ms", 10, false}), Raw(int64_t{-5})),
      R"({"name":"numpy.datetime64","configuration":{"unit":"ms","scale_factor":10}} -5)");
  EXPECT_EQ(document(Datatype::Enum(Datatype::Integer(1, true), {{"a", 1}, {"b", 7}}), "\x07"),
            "int8 7");
  EXPECT_EQ(document(Datatype::PackedCompound({{"x", Datatype::Integer(1, true), 0},
                                               {"z", Datatype::Complex(8), 0}}),
                     "\x05" + Raw(1.0F) + Raw(-HUGE_VALF)),
            R"({"name":"struct","configuration":{"fields":[{"name":"x","data_type":"int8"},)"
            R"({"name":"z","data_type":"complex64"}]}} {"x":5,"z":[1.0,"-Infinity"]})");
  for (const Datatype& type :
       {Datatype::Vlen(Datatype::Float32()), Datatype::ObjectRef(), Datatype::Opaque(0),
        Datatype::Float("float128", 16),
        Datatype::PackedCompound({{"", Datatype::Float32(), 0}}),
        Datatype::PackedCompound(
            {{"a", Datatype::Float32(), 0}, {"a", Datatype::Float32(), 0}}),
        Datatype::PackedCompound({{"a", Datatype::Array(Datatype::Float32(), {2}), 0}})}) {
    EXPECT_FALSE(ArrayViews().Resolve(Input(test::Undecodable(type, {2})), "data.zarr"))
        << type.keyword();
  }
}

TEST_F(ZarrTreeTest, EnumHasTheNamesOfItsNumbersAsFlags) {
  const Datatype type = Datatype::Enum(Datatype::Integer(1, true), {{"no ice", 1}, {"ice", 7}});
  const auto tree = ArrayViews().Make(
      Input(std::make_shared<test::MemoryArray>(type, std::vector<uint64_t>{1}, "\x07")),
      "data.zarr");
  EXPECT_EQ(Json::parse(ReadFile(*tree, "zarr.json").value())["attributes"],
            Json::parse(R"({"flag_values": [1, 7], "flag_meanings": "no_ice ice"})"));
}

TEST_F(ZarrTreeTest, MembersLieWithoutGaps) {
  const Datatype type = Datatype::Compound(
      {{"a", Datatype::Integer(1, false), 0}, {"b", Datatype::Integer(2, false), 2}}, 6);
  const auto array =
      std::make_shared<test::MemoryArray>(type, std::vector<uint64_t>{2}, "a?bc??d?ef??");
  const auto tree = ArrayViews().Make(Input(array), "data.zarr");
  EXPECT_THAT(ReadFile(*tree, "c/0"), IsOkAnd("abcdef"));
  const auto v2 = ArrayViews().Make(Input(array), "data.zarr2");
  EXPECT_THAT(ReadFile(*v2, "0"), IsOkAnd("abcdef"));
  EXPECT_EQ(Json::parse(ReadFile(*v2, ".zarray").value())["dtype"],
            Json::parse(R"([["a", "|u1"], ["b", "<u2"]])"));
}

TEST_F(ZarrTreeTest, ArraysInElementsAreDimensions) {
  const Datatype type = Datatype::Array(Datatype::Integer(1, false), {3});
  const auto tree = ArrayViews().Make(
      Input(std::make_shared<test::MemoryArray>(type, std::vector<uint64_t>{2}, "abcdef")),
      "data.zarr");
  const Json json = Json::parse(ReadFile(*tree, "zarr.json").value());
  EXPECT_EQ(json["shape"], Json::parse("[2, 3]"));
  EXPECT_EQ(json["data_type"], "uint8");
  EXPECT_EQ(json["dimension_names"], Json::parse("[null, null]"));
  EXPECT_THAT(ReadFile(*tree, "c/0/0"), IsOkAnd("abcdef"));
}

TEST_F(ZarrTreeTest, TextsAreAsVlenUtf8WritesThem) {
  const std::string texts =
      test::ElementStream({test::Counted("ab"), test::Counted(""), test::Counted("\u00e9")});
  const auto array =
      std::make_shared<test::MemoryArray>(Datatype::String(), std::vector<uint64_t>{3}, texts);
  const auto tree = ArrayViews().Make(Input(array), "data.zarr");
  const Json json = Json::parse(ReadFile(*tree, "zarr.json").value());
  EXPECT_EQ(json["data_type"], "string");
  EXPECT_EQ(json["codecs"], Json::parse(R"([{"name": "vlen-utf8"}])"));
  EXPECT_EQ(json["fill_value"], "");
  const ViewPtr chunk = FileOf(FindBelow(*tree, "c/0").value());
  EXPECT_EQ(chunk->size(), std::nullopt);
  const std::string bytes =
      Raw(uint32_t{3}) + test::Counted("ab") + test::Counted("") + test::Counted("\u00e9");
  EXPECT_THAT(chunk->FindSize(), IsOkAnd(bytes.size()));
  for (size_t at = 0; at <= bytes.size(); ++at) {
    std::string part(5, '?');
    const auto count = chunk->Read(at, std::as_writable_bytes(std::span(part)));
    ASSERT_THAT(count, IsOk());
    EXPECT_EQ(part.substr(0, *count), bytes.substr(at, 5));
  }
  const Json v2 =
      Json::parse(ReadFile(*ArrayViews().Make(Input(array), "data.zarr2"), ".zarray").value());
  EXPECT_EQ(v2["dtype"], "|O");
  EXPECT_EQ(v2["filters"], Json::parse(R"([{"id": "vlen-utf8"}])"));
}

TEST_F(ZarrTreeTest, TextsInChunksThatEndWithTheArrayAreRefused) {
  const test::MemoryArray array(Datatype::String(), {3}, {2}, {});
  const ArrayInput input = Input(std::make_shared<test::MemoryArray>(array));
  const auto found = ArrayViews().Resolve(input, "data.zarr");
  ASSERT_TRUE(found && found->refusal);
  EXPECT_THAT(found->refusal->message(), HasSubstr("in chunks that end with the array"));
}

TEST_F(ZarrTreeTest, AbsentChunksAreAbsent) {
  const ArrayInput input = Input(std::make_shared<FilledArray>(
      Count({3, 5}, {2, 2}), std::vector<uint64_t>{2, 2}, std::set<uint64_t>{0, 4}));
  const auto tree = ArrayViews().Make(input, "data.zarr");
  ASSERT_THAT(tree, IsOk());
  EXPECT_THAT(List(FindBelow(*tree, "c").value()), ElementsAre("0/", "1/"));
  EXPECT_THAT(List(FindBelow(*tree, "c/0").value()), ElementsAre("1", "2"));
  EXPECT_THAT(List(FindBelow(*tree, "c/1").value()), ElementsAre("0", "2"));
  EXPECT_THAT(FindBelow(*tree, "c/0/0"), IsError(ErrorCode::kNotFound, "0"));
  const auto v2 = ArrayViews().Make(input, "data.zarr2");
  EXPECT_THAT(List(*v2), ElementsAre(".zarray", ".zattrs", "0.1", "0.2", "1.0", "1.2"));
  EXPECT_THAT(FindBelow(*v2, "0.0"), IsError(ErrorCode::kNotFound, "0.0"));
}

TEST_F(ZarrTreeTest, Version2HasItsDocumentsAndKeys) {
  const auto array = std::make_shared<FilledArray>(Count({3, 5}, {2, 2}), Shorts({-1}));
  const auto tree = ArrayViews().Make(Input(array), "data.zarr2");
  ASSERT_THAT(tree, IsOk());
  EXPECT_THAT(List(*tree),
              ElementsAre(".zarray", ".zattrs", "0.0", "0.1", "0.2", "1.0", "1.1", "1.2"));
  EXPECT_THAT(ReadFile(*tree, "0.2"), IsOkAnd(Shorts({4, -1, 9, -1})));
  EXPECT_EQ(Json::parse(ReadFile(*tree, ".zarray").value()), Json::parse(R"({
    "zarr_format": 2, "shape": [3, 5], "chunks": [2, 2], "dtype": "<i2", "compressor": null,
    "fill_value": -1, "order": "C", "filters": null, "dimension_separator": "."})"));
  EXPECT_EQ(Json::parse(ReadFile(*tree, ".zattrs").value()), Json::object());
  for (const char* name :
       {"0", "0.3", "2.0", "0.0.0", "0.", ".0", "00.0", "0,0", "0/0", "", "c"}) {
    if (std::string_view(name).empty()) continue;  // the directory itself
    EXPECT_THAT(FindBelow(*tree, name), IsError(ErrorCode::kNotFound, _)) << name;
  }
  const auto scalar =
      ArrayViews().Make(Input(std::make_shared<test::MemoryArray>(
                            Datatype::Float64(), std::vector<uint64_t>{}, Raw(1.5))),
                        "data.zarr2");
  EXPECT_THAT(List(*scalar), ElementsAre(".zarray", ".zattrs", "0"));
  EXPECT_THAT(ReadFile(*scalar, "0"), IsOkAnd(Raw(1.5)));
}

// xarray takes the fill value of v2 for missing.
TEST_F(ZarrTreeTest, Version2HasTheFillValueOfMissingElementsWhereXarrayReadsIt) {
  auto store = std::make_shared<test::MemoryHierarchy>();
  store->AddGroup("/");
  const auto add = [&](const std::string& path, std::vector<model::Attribute> attributes) {
    model::Ndarray array;
    array.shape = {{3, ""}, {5, ""}};
    array.dimension_names = {"y", "x"};
    array.attributes = std::move(attributes);
    store->AddArray(
        path, array,
        std::make_shared<FilledArray>(Count({3, 5}, {2, 2}), std::vector<uint64_t>{2, 2},
                                      std::set<uint64_t>{0}));
  };
  const Datatype type = Datatype::Integer(2, true);
  add("/plain", {});
  add("/zero", {{"_FillValue", type, {}, model::Value(0), {}}});
  add("/other", {{"_FillValue", type, {1}, model::Value(model::Value::List{-9}), {}}});
  const auto group = MakeGroupInput(store, "/", cache_).value();
  const auto tree = GroupViews().Make(*group, "data.zarr2");
  ASSERT_THAT(tree, IsOk());
  const auto fill = [&](const std::string& path) {
    return Json::parse(ReadFile(*tree, path + "/.zarray").value())["fill_value"].dump();
  };
  EXPECT_EQ(fill("plain"), "null");
  EXPECT_EQ(fill("zero"), "0");
  EXPECT_EQ(fill("other"), "-9");
  EXPECT_EQ(Json::parse(ReadFile(*tree, "other/.zattrs").value()),
            Json::parse(R"({"_ARRAY_DIMENSIONS": ["y", "x"]})"));
  EXPECT_THAT(ReadFile(*tree, "plain/0.0"), IsOkAnd(Shorts({0, 0, 0, 0})));
  EXPECT_THAT(ReadFile(*tree, "other/0.0"), IsOkAnd(Shorts({0, 0, 0, 0})));
  EXPECT_THAT(FindBelow(*tree, "zero/0.0"), IsError(ErrorCode::kNotFound, "0.0"));
}

TEST_F(ZarrTreeTest, GroupHasTheMetadataOfAllBelowIt) {
  auto store = std::make_shared<test::MemoryHierarchy>();
  for (const char* group : {"/", "/g", "/g/deep", "/h"}) store->AddGroup(group);
  const auto count = std::make_shared<test::MemoryArray>(Count({3, 5}, {2, 2}));
  for (const char* path : {"/b", "/g/deep/z"}) store->AddArray(path, count);
  const auto group = MakeGroupInput(store, "/", cache_).value();
  const auto tree = GroupViews().Make(*group, "data.zarr").value();
  const auto read = [&](const ViewNode& node, const std::string& path) {
    return Json::parse(ReadFile(node, path).value());
  };
  const Json root = read(tree, "zarr.json");
  const Json& inline_one = root["consolidated_metadata"];
  EXPECT_EQ(inline_one["kind"], "inline");
  EXPECT_EQ(inline_one["must_understand"], false);
  const Json& metadata = inline_one["metadata"];
  EXPECT_EQ(metadata.size(), 5U);
  EXPECT_EQ(metadata["b"], read(tree, "b/zarr.json"));
  EXPECT_EQ(metadata["g/deep/z"], read(tree, "g/deep/z/zarr.json"));
  for (const char* path : {"g", "g/deep", "h"}) {
    Json document = read(tree, std::string(path) + "/zarr.json");
    EXPECT_FALSE(document.contains("consolidated_metadata"));
    document["consolidated_metadata"] =
        Json::parse(R"({"kind": "inline", "must_understand": false, "metadata": {}})");
    EXPECT_EQ(metadata[path], document) << path;
  }
  const auto v2 = GroupViews().Make(*group, "data.zarr2").value();
  EXPECT_THAT(List(v2), ElementsAre(".zmetadata", ".zgroup", ".zattrs", "b/", "g/", "h/"));
  const Json all = read(v2, ".zmetadata");
  EXPECT_EQ(all["zarr_consolidated_format"], 1);
  EXPECT_EQ(all["metadata"].size(), 12U);
  for (const auto& [key, document] : all["metadata"].items()) {
    EXPECT_EQ(document, read(v2, key)) << key;
  }
}

TEST_F(ZarrTreeTest, ValuesOfAGroupAreUnpacked) {
  auto store = std::make_shared<test::MemoryHierarchy>();
  store->AddGroup("/");
  model::Ndarray array;
  array.shape = {{3, ""}, {5, ""}};
  array.attributes = {{"scale_factor", Datatype::Float32(), {}, model::Value(0.5), {}},
                      {"_FillValue", Datatype::Integer(2, true), {}, model::Value(14), {}}};
  store->AddArray("/t", array, std::make_shared<test::MemoryArray>(Count({3, 5}, {2, 2})));
  store->AddArray(
      "/text", std::make_shared<test::MemoryArray>(Datatype::String(), std::vector<uint64_t>{1},
                                                   test::ElementStream({test::Counted("x")})));
  const auto group = MakeGroupInput(store, "/", cache_).value();
  const auto tree = GroupViews().Make(*group, "values.zarr").value();
  EXPECT_THAT(List(tree), ElementsAre("zarr.json", "t/", "text/"));
  const Json json = Json::parse(ReadFile(tree, "t/zarr.json").value());
  EXPECT_EQ(json["data_type"], "float32");
  EXPECT_EQ(json["fill_value"], "NaN");
  EXPECT_EQ(json["attributes"], Json::object());
  EXPECT_EQ(json["chunk_grid"]["configuration"]["chunk_shape"], Json::parse("[2, 2]"));
  EXPECT_THAT(ReadFile(tree, "t/c/0/0"), IsOkAnd(Raw(0.F) + Raw(0.5F) + Raw(2.5F) + Raw(3.F)));
  EXPECT_THAT(ReadFile(tree, "t/c/1/2"),
              IsOkAnd(Raw(uint32_t{0x7fc00000}) + Raw(uint32_t{0x7fc00000}) +
                      Raw(uint32_t{0x7fc00000}) + Raw(uint32_t{0x7fc00000})));
  EXPECT_THAT(ReadFile(tree, "text/c/0"), IsOkAnd(Raw(uint32_t{1}) + test::Counted("x")));
}

TEST_F(ZarrTreeTest, PartHasChunksOfFewChunksOfTheWhole) {
  const ArrayInput input = Input(std::make_shared<test::MemoryArray>(Count({3, 5}, {2, 2})));
  const auto found = ArrayViews().Resolve(input, "data[1:,::2].zarr");
  ASSERT_TRUE(found);
  EXPECT_TRUE(found->is_directory);
  const auto tree = ArrayViews().Make(input, found->name);
  ASSERT_THAT(tree, IsOk());
  EXPECT_THAT(List(FindBelow(*tree, "c/0").value()), ElementsAre("0", "1", "2"));
  EXPECT_THAT(ReadFile(*tree, "c/0/0"), IsOkAnd(Shorts({5, 10})));
  EXPECT_THAT(ReadFile(*tree, "c/0/2"), IsOkAnd(Shorts({9, 14})));
  EXPECT_THAT(ArrayViews().MakeFile(input, "data.zarr"),
              IsError(ErrorCode::kUnsupported, "data.zarr is a directory"));
}

TEST_F(ZarrTreeTest, NameChoosesOtherChunks) {
  const ArrayInput input = Input(std::make_shared<test::MemoryArray>(Count({3, 5}, {2, 2})));
  const auto found = ArrayViews().Resolve(input, "data[chunks:-1,3].zarr");
  ASSERT_TRUE(found && !found->refusal);
  EXPECT_EQ(found->name, "data[chunks:3,3].zarr");
  const auto tree = ArrayViews().Make(input, found->name);
  ASSERT_THAT(tree, IsOk());
  const Json json = Json::parse(ReadFile(*tree, "zarr.json").value());
  EXPECT_EQ(json["chunk_grid"]["configuration"]["chunk_shape"], Json::parse("[3, 3]"));
  EXPECT_THAT(List(FindBelow(*tree, "c/0").value()), ElementsAre("0", "1"));
  EXPECT_THAT(ReadFile(*tree, "c/0/0"), IsOkAnd(Shorts({0, 1, 2, 5, 6, 7, 10, 11, 12})));
  EXPECT_THAT(ReadFile(*tree, "c/0/1"), IsOkAnd(Shorts({3, 4, 0, 8, 9, 0, 13, 14, 0})));
  const auto part = ArrayViews().Resolve(input, "data[:,1:4,chunks:1].zarr2");
  ASSERT_TRUE(part && !part->refusal);
  EXPECT_EQ(part->name, "data[:,1:4,chunks:1].zarr2");
  const auto of_part = ArrayViews().Make(input, part->name);
  EXPECT_THAT(ReadFile(*of_part, "1.0"), IsOkAnd(Shorts({6, 7})));
  EXPECT_THAT(ReadFile(*of_part, "1.1"), IsOkAnd(Shorts({8, 0})));
  const auto values = ArrayViews().Resolve(input, "values[chunks:,5].zarr");
  ASSERT_TRUE(values && !values->refusal);
  EXPECT_EQ(values->name, "values[chunks:,5].zarr");
  EXPECT_THAT(ReadFile(ArrayViews().Make(input, values->name).value(), "c/1/0"),
              IsOkAnd(Shorts({10, 11, 12, 13, 14, 0, 0, 0, 0, 0})));
}

TEST_F(ZarrTreeTest, ChunksThatMakeNoSenseAreRefused) {
  const ArrayInput input = Input(std::make_shared<test::MemoryArray>(Count({3, 5}, {2, 2})));
  const auto refusal = [&](const std::string& name) -> std::string {
    const auto found = ArrayViews().Resolve(input, name);
    return found && found->refusal ? found->refusal->message() : "none";
  };
  for (const char* extent : {"0", "-2", "+1", "1.5", "x", " 1", "0x1", "1e3"}) {
    EXPECT_THAT(refusal(fmt::format("data[chunks:1,{}].zarr", extent)),
                HasSubstr("expected a number of elements from 1, or -1 for all"))
        << extent;
  }
  EXPECT_THAT(refusal("data[chunks:1,2,3].zarr"), HasSubstr("3 extents for 2 dimensions"));
  std::string many = "1";
  for (int i = 1; i < 40; ++i) many += ",1";
  EXPECT_THAT(refusal("data[chunks:" + many + "].zarr"), HasSubstr("40 extents for 2 dim"));
  EXPECT_THAT(refusal("data[chunks:t=1].zarr"), HasSubstr("no dimension is called \"t\""));
  EXPECT_THAT(refusal("data[chunks:1,t=1].zarr"), HasSubstr("some without"));
  EXPECT_THAT(refusal("data[chunks:1].npy"), HasSubstr("only Zarr has chunks"));
  EXPECT_EQ(
      ArrayViews().Resolve(input, "data[chunks:1099511627776,99999999999999999999].zarr")->name,
      "data[chunks:3,5].zarr")
      << "larger than the array: all of it";
}

TEST_F(ZarrTreeTest, ChunksGoByTheNamesOfDimensions) {
  auto store = std::make_shared<test::MemoryHierarchy>();
  store->AddGroup("/");
  model::Ndarray array;
  array.shape = {{3, ""}, {5, ""}};
  array.dimension_names = {"lat", "lon"};
  store->AddArray("/t", array, std::make_shared<test::MemoryArray>(Count({3, 5}, {2, 2})));
  const ArrayInput input = MakeGroupInput(store, "/", cache_).value()->Load("t")->array.value();
  EXPECT_EQ(ArrayViews().Resolve(input, "data[chunks:lon=-1].zarr")->name,
            "data[chunks:,5].zarr");
  EXPECT_EQ(ArrayViews().Resolve(input, "data[0,chunks:lon=3].zarr")->name,
            "data[0,chunks:3].zarr");
  const auto gone = ArrayViews().Resolve(input, "data[0,chunks:lat=1].zarr");
  EXPECT_THAT(gone->refusal->message(), HasSubstr("no dimension is called \"lat\""));
  const auto twice = ArrayViews().Resolve(input, "data[chunks:lat=1,lat=2].zarr");
  EXPECT_THAT(twice->refusal->message(), HasSubstr("\"lat=2\" is there twice"));
}

TEST_F(ZarrTreeTest, ChunkTooLargeForAFileIsRefused) {
  const uint64_t many = uint64_t{1} << 61;
  const test::MemoryArray one(Datatype::Float64(), {1}, Raw(1.0));
  const auto huge = Input(std::make_shared<FilledArray>(one, std::vector<uint64_t>{many}));
  EXPECT_THAT(ArrayViews().Make(huge, "data.zarr"),
              IsError(ErrorCode::kLimit, HasSubstr("a chunk of more than ")));
}

TEST_F(ZarrTreeTest, BrokenChunkFailsAloneAndTheDocumentNeedsNone) {
  auto array = std::make_shared<test::MemoryArray>(
      Datatype::Integer(1, false), std::vector<uint64_t>{4}, std::vector<uint64_t>{2},
      std::map<uint64_t, std::string>{{0, "ab"}});
  const auto tree = ArrayViews().Make(Input(std::move(array)), "data.zarr");
  EXPECT_THAT(ReadFile(*tree, "zarr.json"), IsOkAnd(HasSubstr("\"uint8\"")));
  EXPECT_THAT(ReadFile(*tree, "c/0"), IsOkAnd("ab"));
  EXPECT_THAT(ReadFile(*tree, "c/1"), IsError(ErrorCode::kCorrupt, HasSubstr("chunk 1")));
}

TEST_F(ZarrTreeTest, GroupHasAllThatIsBelowItAndSaysWhatIsLeftOut) {
  auto store = std::make_shared<test::MemoryHierarchy>();
  for (const char* group : {"/", "/g", "/g/deep"}) store->AddGroup(group);
  const auto count = std::make_shared<test::MemoryArray>(Count({3, 5}, {2, 2}));
  for (const char* path : {"/b", "/g/a", "/g/deep/z", "/g/zarr.json", "/g/__x"}) {
    store->AddArray(path, count);
  }
  store->AddArray("/g/lists", test::Undecodable(Datatype::Vlen(Datatype::Float32()), {2}));
  const auto group = MakeGroupInput(store, "/", cache_).value();
  const auto found = GroupViews().Resolve(*group, "data.zarr");
  ASSERT_TRUE(found && found->is_directory && !found->is_listed);
  const auto tree = GroupViews().Make(*group, "data.zarr");
  ASSERT_THAT(tree, IsOk());
  EXPECT_THAT(List(*tree), ElementsAre("zarr.json", "b/", "g/"));
  EXPECT_THAT(List(FindBelow(*tree, "g").value()), ElementsAre("zarr.json", "a/", "deep/"));
  EXPECT_THAT(ReadFile(*tree, "g/deep/z/c/1/2"), IsOkAnd(Shorts({14, 0, 0, 0})));
  Json root = Json::parse(ReadFile(*tree, "zarr.json").value());
  root.erase("consolidated_metadata");
  EXPECT_EQ(root, Json::parse(R"({"zarr_format": 3, "node_type": "group", "attributes": {}})"));
  const Json inner = Json::parse(ReadFile(*tree, "g/zarr.json").value());
  EXPECT_EQ(inner["attributes"]["ndlfs_left_out"],
            Json::parse(R"(["__x: Zarr has no such names", "zarr.json: Zarr has no such names",
                            "lists: elements of type vlen"])"));
}

TEST_F(ZarrTreeTest, FillValueAttributeIsAsXarrayReadsIt) {
  const auto attribute = [&](const Datatype& type, const model::Value& value,
                             std::vector<uint64_t> shape) {
    auto store = std::make_shared<test::MemoryHierarchy>();
    store->AddGroup("/");
    model::Ndarray array;
    array.shape = {{1, ""}};
    array.attributes = {{"_FillValue", type, std::move(shape), value, {}}};
    store->AddArray("/t", array,
                    std::make_shared<test::MemoryArray>(type, std::vector<uint64_t>{1},
                                                        std::string(type.size(), '\0')));
    const auto group = MakeGroupInput(store, "/", cache_).value();
    const auto tree = ArrayViews().Make(group->Load("t")->array.value(), "data.zarr");
    EXPECT_THAT(tree, IsOk());
    return Json::parse(ReadFile(*tree, "zarr.json").value())["attributes"]["_FillValue"].dump();
  };
  // struct.pack("<d", -999.0) and float("nan") in base64.
  EXPECT_EQ(attribute(Datatype::Float32(), model::Value(-999.0), {}), "\"AAAAAAA4j8A=\"");
  EXPECT_EQ(attribute(Datatype::Float64(), model::Value(std::nan("")), {}), "\"AAAAAAAA+H8=\"");
  EXPECT_EQ(attribute(Datatype::Integer(2, true), model::Value(model::Value::List{-1}), {1}),
            "-1");
}

TEST_F(ZarrTreeTest, AttributesAndNamesOfDimensionsAreInTheDocument) {
  auto store = std::make_shared<test::MemoryHierarchy>();
  store->AddGroup("/");
  model::Ndarray array;
  array.shape = {{3, ""}, {5, ""}};
  array.dimension_names = {"lat", ""};
  const Datatype real = Datatype::Float32();
  array.attributes = {
      {"units", Datatype::String(), {}, model::Value("K"), {}},
      {"scale", real, {}, model::Value(double{0.1F}), {}},
      {"range", real, {2}, model::Value(model::Value::List{1.0, HUGE_VAL}), {}},
      {"flag", Datatype::Bool(), {}, model::Value("TRUE"), {}},
      {"nested", Datatype::String(), {}, model::Value(R"({"a":[1,null]})"), {}, true},
      {"raw", Datatype::Opaque(1), {}, model::Value(model::Blob(1)), {}},
  };
  store->AddArray("/t", array, std::make_shared<test::MemoryArray>(Count({3, 5}, {2, 2})));
  const auto group = MakeGroupInput(store, "/", cache_).value();
  const auto tree = ArrayViews().Make(group->Load("t")->array.value(), "data.zarr");
  ASSERT_THAT(tree, IsOk());
  const Json json = Json::parse(ReadFile(*tree, "zarr.json").value());
  EXPECT_EQ(json["dimension_names"], Json::parse(R"(["lat", null])"));
  EXPECT_EQ(json["attributes"].dump(),
            R"({"units":"K","scale":0.10000000149011612,"range":[1.0,"Infinity"],"flag":true,)"
            R"("nested":{"a":[1,null]},)"
            R"("ndlfs_left_out":["raw: JSON has no attributes of opaque"]})");
}

TEST_F(ZarrTreeTest, AListOfOneItemStaysOneWhereTheSourceHasJson) {
  auto store = std::make_shared<test::MemoryHierarchy>();
  auto& group = std::get<model::Group>(store->AddGroup("/").entity);
  const auto list = [](const char* name, const Datatype& type, model::Value item) {
    return model::Attribute{name, type, {1}, model::Value(model::Value::List{item}), {}};
  };
  group.attributes = {list("labels", Datatype::String(), "cells"),
                      list("axis", Datatype::Float64(), 6378137.0),
                      list("scale_factor", Datatype::Float64(), 0.5)};
  const auto attributes = [&] {
    const auto tree =
        GroupViews().Make(*MakeGroupInput(store, "/", cache_).value(), "data.zarr");
    EXPECT_THAT(tree, IsOk());
    return Json::parse(ReadFile(*tree, "zarr.json").value())["attributes"].dump();
  };
  EXPECT_EQ(attributes(), R"({"labels":"cells","axis":6378137.0,"scale_factor":0.5})");
  auto& node = store->AddGroup("/");
  std::get<model::Group>(node.entity).attributes = {
      list("labels", Datatype::String(), "cells"),
      list("scale_factor", Datatype::Float64(), 0.5)};
  node.has_json_attributes = true;
  EXPECT_EQ(attributes(), R"({"labels":["cells"],"scale_factor":0.5})");
}

// Zeros in chunks; counts how often each is asked for, and fails once.
class CountedArray final : public backends::ArraySource {
 public:
  CountedArray(std::vector<uint64_t> shape, std::vector<uint64_t> chunk, uint64_t fails_at) {
    spec_.dtype = Datatype::Integer(2, true);
    spec_.grid = backends::ChunkGrid::Regular(shape, std::move(chunk),
                                              backends::ChunkGrid::Edge::kCropped)
                     .value();
    spec_.shape = std::move(shape);
    spec_.fill = std::vector<std::byte>(2, std::byte{1});
    fails_at_ = fails_at;
  }
  const backends::ArraySpec& spec() const override { return spec_; }
  model::Result<backends::ChunkLocation> Locate(std::span<const uint64_t> index,
                                                backends::IndexCache&) const override {
    const uint64_t number = index[0] * spec_.grid.counts()[1] + index[1];
    ++counts_[number];
    if (number == fails_at_ && counts_[number] == 1) return model::BadInput("not now");
    return backends::ChunkLocation::Absent();
  }
  const std::map<uint64_t, int>& counts() const { return counts_; }

 private:
  backends::ArraySpec spec_;
  uint64_t fails_at_;
  mutable std::map<uint64_t, int> counts_;
};

TEST_F(ZarrTreeTest, ChunkOfAPyramidGoesOnWhereItHasStopped) {
  const auto array = std::make_shared<CountedArray>(std::vector<uint64_t>{1024, 1024},
                                                    std::vector<uint64_t>{256, 256}, 9);
  const ArrayInput input = Input(array);
  const auto found = ArrayViews().Resolve(input, "data.ome.zarr");
  ASSERT_TRUE(found && found->is_directory && !found->is_listed);
  const auto tree = ArrayViews().Make(input, "data.ome.zarr");
  ASSERT_THAT(tree, IsOk());
  EXPECT_THAT(List(*tree), ElementsAre("zarr.json", "0/", "1/", "2/"));
  EXPECT_TRUE(array->counts().empty()) << "nothing is read before a chunk is";
  const auto node = FindBelow(*tree, "2/c/0/0");
  ASSERT_THAT(node, IsOk());
  const ViewPtr chunk = FileOf(*node);
  ASSERT_EQ(chunk->size(), 256 * 256 * 2u);
  std::string out(64, '?');
  EXPECT_THAT(chunk->Read(0, std::as_writable_bytes(std::span(out))),
              IsError(ErrorCode::kBadInput, HasSubstr("not now")));
  const std::map<uint64_t, int> before = array->counts();
  EXPECT_EQ(before.size(), 10u);
  EXPECT_THAT(chunk->Read(131000, std::as_writable_bytes(std::span(out))), IsOkAnd(64u));
  std::string expected;
  for (int i = 0; i < 32; ++i) expected += Raw(int16_t{257});
  EXPECT_EQ(out, expected);
  EXPECT_EQ(array->counts().size(), 16u);
  for (uint64_t number = 0; number < 9; ++number) {
    EXPECT_EQ(array->counts().at(number), before.at(number)) << number;
  }
}

TEST_F(ZarrTreeTest, NumberOfTextsHasFourBytes) {
  const std::vector<std::string> counted(300, test::Counted("a"));
  const auto array = std::make_shared<test::MemoryArray>(
      Datatype::String(), std::vector<uint64_t>{300}, test::ElementStream(counted));
  const auto tree = ArrayViews().Make(Input(array), "data.zarr");
  const ViewPtr chunk = FileOf(FindBelow(*tree, "c/0").value());
  std::string head(9, '?');
  ASSERT_THAT(chunk->Read(0, std::as_writable_bytes(std::span(head))), IsOkAnd(9u));
  EXPECT_EQ(head, Raw(uint32_t{300}) + test::Counted("a"));
}

}  // namespace
}  // namespace ndlfs::fs
