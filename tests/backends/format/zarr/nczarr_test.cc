// SPDX-License-Identifier: MIT
//
// NCZarr: what netCDF-C writes, and what its other generations wrote.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "backends/format/zarr/nczarr_keys.h"
#include "backends/format/zarr/zarr_format.h"
#include "backends/store/local/local_source.h"
#include "model/ndl/ndl_writer.h"
#include "tests/backends/format/zarr/zarr_stores.h"
#include "tests/support/memory_store.h"
#include "tests/support/python.h"
#include "tests/support/read_array.h"
#include "tests/support/result.h"

namespace ndlfs::backends {
namespace {

using nczarr::DimensionRef;
using test::DimCoordsOf;
using test::IsOk;
using test::IsOkAnd;
using test::MemoryStore;
using ::testing::ElementsAre;
using ::testing::Eq;
using ::testing::IsEmpty;
using ::testing::Optional;

using Keys = std::map<std::string, std::string>;

std::shared_ptr<const Hierarchy> Open(const Keys& keys) {
  auto store = std::make_shared<MemoryStore>();
  for (const auto& [key, value] : keys) store->Put(key, value);
  return OpenZarr(store, "", "top", {}).value();
}

bool IsDimCoord(const Node& node) {
  return std::holds_alternative<model::DimCoord>(node.entity);
}

// "name: type value" of each attribute.
std::vector<std::string> AttributesOf(const Node& node) {
  std::vector<std::string> lines;
  for (const auto& attribute : node.attributes()) {
    lines.push_back(fmt::format("{}: {}{} {}", attribute.name, model::WriteFlow(attribute.type),
                                attribute.json ? " json" : "",
                                model::WriteFlow(attribute.value, attribute.type)));
  }
  return lines;
}

TEST(NczarrNameTest, FullyQualifiedNames) {
  const auto parse = nczarr::ParseDimensionRef;
  EXPECT_THAT(parse("/x"), Optional(Eq(DimensionRef{"/", "x"})));
  EXPECT_THAT(parse("/g1/g2/x"), Optional(Eq(DimensionRef{"/g1/g2", "x"})));
  EXPECT_THAT(parse(R"(/a\/b)"), Optional(Eq(DimensionRef{"/", "a/b"})));
  EXPECT_THAT(parse(R"(/g\ 1/a\\b\ c)"), Optional(Eq(DimensionRef{"/g 1", R"(a\b c)"})));
  EXPECT_THAT(parse("/x y"), Optional(Eq(DimensionRef{"/", "x y"})));  // 4.9.0 left it
  for (const char* bad : {"", "x", "/", "/g/", "//x", R"(/x\)"}) {
    EXPECT_EQ(parse(bad), std::nullopt) << bad;
  }
}

TEST(NczarrNameTest, NamesWithASlashAreNoArrays) {
  EXPECT_EQ((DimensionRef{"/g", "x"}.path()), "/g/x");
  EXPECT_EQ((DimensionRef{"/g", "a/b"}.path()), "");
  EXPECT_EQ((DimensionRef{"/", "_Anonymous_Dim_8"}.path()), "");
  EXPECT_EQ((DimensionRef{"/", "_Anonymous_Dim_8"}.shown_name()), "");
}

std::string Array(std::string_view shape, std::string_view dtype, std::string_view more = "") {
  return fmt::format(R"({{"zarr_format": 2, "shape": {0}, "chunks": {0}, "dtype": "{1}",
      {2} "compressor": null, "fill_value": null, "order": "C", "filters": null}})",
                     shape, dtype, more);
}

// A dataset with the coordinate /time (unlimited, 3 long), /g/z, and the
// variable /g/v(time, z, lat), where lat has no variable; and a scalar /s.
struct WriterGeneration {
  const char* name;
  Keys keys;
};
void PrintTo(const WriterGeneration& generation, std::ostream* out) { *out << generation.name; }

Keys Generation480() {
  return {
      {".nczarr", R"({"zarr_format": 2, "nczarr_version": "1.0.0"})"},
      {".zgroup", R"({"zarr_format": 2})"},
      {".zattrs", R"({"title": "t", "level": 1.5})"},
      {".nczgroup", R"({"dims": {"time": {"size": 3, "unlimited": 1}, "lat": 2},
                        "vars": ["time", "s"], "groups": ["g"]})"},
      {".nczattr", R"({"types": {"title": "<U1", "level": "<f4"}})"},
      {"time/.zarray", Array("[3]", "<i4")},
      {"time/.nczvar", R"({"dimrefs": ["/time"], "storage": "chunked"})"},
      {"s/.zarray", Array("[1]", "<f8")},
      {"s/.nczarray", R"({"dimrefs": [], "storage": "scalar"})"},
      {"g/.zgroup", R"({"zarr_format": 2})"},
      {"g/.nczgroup", R"({"dims": {"z": 4}, "vars": ["v", "z"], "groups": []})"},
      {"g/z/.zarray", Array("[4]", "<i4")},
      {"g/z/.nczvar", R"({"dimrefs": ["/g/z"], "storage": "chunked"})"},
      {"g/v/.zarray", Array("[3, 4, 2]", "<i2")},
      {"g/v/.nczvar", R"({"dimrefs": ["/time", "/g/z", "/lat"], "storage": "chunked"})"},
  };
}

Keys GenerationInMetadata(bool upper) {
  const auto key = [&](std::string_view lower, std::string_view upper_name) {
    return std::string(upper ? upper_name : lower);
  };
  const std::string array = key("_nczarr_array", "_NCZARR_ARRAY");
  const std::string group = key("_nczarr_group", "_NCZARR_GROUP");
  const auto variable = [&](std::string_view refs, std::string_view storage = "chunked") {
    return fmt::format(R"("{}": {{"dimrefs": {}, "storage": "{}"}},)", array, refs, storage);
  };
  return {
      {".zgroup", fmt::format(R"({{"zarr_format": 2, "{}": {{"version": "2.0.0"}},
           "{}": {{"dims": {{"time": {{"size": 3, "unlimited": 1}}, "lat": 2}},
           "vars": ["time", "s"], "groups": ["g"]}}}})",
                              key("_nczarr_superblock", "_NCZARR_SUPERBLOCK"), group)},
      {".zattrs", fmt::format(R"({{"title": "t", "level": 1.5,
           "{}": {{"types": {{"title": "<U1", "level": "<f4"}}}}}})",
                              key("_nczarr_attr", "_NCZARR_ATTR"))},
      {"time/.zarray", Array("[3]", "<i4", variable(R"(["/time"])"))},
      {"s/.zarray", Array("[1]", "<f8", variable("[]", "scalar"))},
      {"g/.zgroup", fmt::format(R"({{"zarr_format": 2, "{}": {{"dims": {{"z": 4}},
           "vars": ["v", "z"], "groups": []}}}})",
                                group)},
      {"g/z/.zarray", Array("[4]", "<i4", variable(R"(["/g/z"])"))},
      {"g/v/.zarray", Array("[3, 4, 2]", "<i2", variable(R"(["/time", "/g/z", "/lat"])"))},
  };
}

Keys GenerationInAttributes() {
  const auto attributes = [](std::string_view refs) {
    return fmt::format(
        R"({{"_nczarr_array": {{"dimension_references": {}, "storage": "chunked"}},
        "_nczarr_attr": {{"types": {{"_nczarr_array": "|J0", "_nczarr_attr": "|J0"}}}}}})",
        refs);
  };
  return {
      {".zgroup", R"({"zarr_format": 2})"},
      {".zattrs", R"({"title": "t", "level": 1.5, "_nczarr_superblock": {"version": "2.0.0"},
           "_nczarr_group": {"dimensions": [{"name": "time", "size": 3, "unlimited": 1},
                                            {"name": "lat", "size": 2, "unlimited": 0}],
                             "arrays": ["time", "s"], "groups": ["g"]},
           "_nczarr_attr": {"types": {"title": ">S1", "level": "<f4"}}})"},
      {"time/.zarray", Array("[3]", "<i4")},
      {"time/.zattrs", attributes(R"(["/time"])")},
      {"s/.zarray", Array("[1]", "<f8")},
      {"s/.zattrs", R"({"_nczarr_array": {"scalar": 1, "storage": "chunked"}})"},
      {"g/.zgroup", R"({"zarr_format": 2})"},
      {"g/.zattrs", R"({"_nczarr_group": {"dimensions": {"z": 4}, "arrays": ["v", "z"]}})"},
      {"g/z/.zarray", Array("[4]", "<i4")},
      {"g/z/.zattrs", attributes(R"(["/g/z"])")},
      {"g/v/.zarray", Array("[3, 4, 2]", "<i2")},
      {"g/v/.zattrs", attributes(R"(["/time", "/g/z", "/lat"])")},
  };
}

class NczarrGenerationTest : public ::testing::TestWithParam<WriterGeneration> {};

TEST_P(NczarrGenerationTest, TellsTheSameOfADataset) {
  const auto hierarchy = Open(GetParam().keys);
  EXPECT_EQ(hierarchy->format(), "NCZarr");
  EXPECT_THAT(hierarchy->List("/"), IsOkAnd(ElementsAre("g", "s", "time")));
  EXPECT_THAT(AttributesOf(*hierarchy->Load("/").value()),
              ElementsAre("title: string t", "level: float32 1.5"));
  EXPECT_THAT(AttributesOf(*hierarchy->Load("/g").value()), IsEmpty());
  EXPECT_THAT(std::get<model::Group>(hierarchy->Load("/").value()->entity).dimensions,
              ElementsAre(model::NamedDimension{"lat", 2}));
  EXPECT_THAT(std::get<model::Group>(hierarchy->Load("/g").value()->entity).dimensions,
              IsEmpty());

  const auto time = hierarchy->Load("/time").value();
  ASSERT_TRUE(IsDimCoord(*time));
  EXPECT_EQ(std::get<model::DimCoord>(time->entity).size(), std::nullopt);
  EXPECT_EQ(time->array().storage.size, 3u);
  EXPECT_THAT(AttributesOf(*time), IsEmpty());

  const auto scalar = hierarchy->Load("/s").value();
  EXPECT_THAT(scalar->array().shape, IsEmpty());
  EXPECT_THAT(scalar->source->spec().shape, IsEmpty());

  ASSERT_TRUE(IsDimCoord(*hierarchy->Load("/g/z").value()));
  const auto v = hierarchy->Load("/g/v").value();
  EXPECT_THAT(v->array().dimension_names, ElementsAre("time", "z", "lat"));
  EXPECT_THAT(DimCoordsOf(*v), ElementsAre("/time", "/g/z", ""));
  EXPECT_EQ(v->array().shape[0].size, std::nullopt);
  EXPECT_EQ(v->array().shape[2].size, 2u);
  EXPECT_THAT(v->array().storage.shape.value(), ElementsAre(3, 4, 2));
  EXPECT_THAT(v->source->spec().shape, ElementsAre(3, 4, 2));
}

INSTANTIATE_TEST_SUITE_P(
    All, NczarrGenerationTest,
    ::testing::Values(WriterGeneration{"NetCdf480", Generation480()},
                      WriterGeneration{"NetCdf490", GenerationInMetadata(true)},
                      WriterGeneration{"NetCdf492", GenerationInMetadata(false)},
                      WriterGeneration{"NetCdf493", GenerationInAttributes()}),
    [](const auto& info) { return info.param.name; });

TEST(NczarrTest, ACoordinateIsWhereItsDimensionIsDeclared) {
  const auto hierarchy = Open({
      {".zgroup", R"({"zarr_format": 2})"},
      {"g/.zgroup", R"({"zarr_format": 2})"},
      {"x/.zarray", Array("[2]", "<i4")},
      {"x/.zattrs", R"({"_nczarr_array": {"dimension_references": ["/x"]}})"},
      {"g/x/.zarray", Array("[2]", "<i4")},
      {"g/x/.zattrs", R"({"_nczarr_array": {"dimension_references": ["/x"]}})"},
      {"g/v/.zarray", Array("[2]", "<i4")},
      {"g/v/.zattrs", R"({"_nczarr_array": {"dimension_references": ["/x"]}})"},
  });
  EXPECT_TRUE(IsDimCoord(*hierarchy->Load("/x").value()));
  EXPECT_FALSE(IsDimCoord(*hierarchy->Load("/g/x").value()));
  EXPECT_THAT(DimCoordsOf(*hierarchy->Load("/g/v").value()), ElementsAre("/x"));
}

TEST(NczarrTest, CoordinatesOfAnotherSizeAreNotLinked) {
  const auto hierarchy = Open({
      {".zgroup", R"({"zarr_format": 2})"},
      {"x/.zarray", Array("[5]", "<i4")},
      {"x/.zattrs", R"({"_nczarr_array": {"dimension_references": ["/x"]}})"},
      {"v/.zarray", Array("[2]", "<i4")},
      {"v/.zattrs", R"({"_nczarr_array": {"dimension_references": ["/x"]}})"},
  });
  EXPECT_THAT(DimCoordsOf(*hierarchy->Load("/v").value()), ElementsAre(""));
}

TEST(NczarrTest, AnonymousDimensionsHaveNoName) {
  const auto hierarchy = Open({
      {".zgroup", R"({"zarr_format": 2})"},
      {"v/.zarray", Array("[8]", "<i4")},
      {"v/.zattrs", R"({"_ARRAY_DIMENSIONS": ["_Anonymous_Dim_8"],
          "_nczarr_array": {"dimension_references": ["/_Anonymous_Dim_8"]}})"},
  });
  const auto node = hierarchy->Load("/v").value();
  EXPECT_THAT(node->array().dimension_names, IsEmpty());
  EXPECT_THAT(AttributesOf(*node), IsEmpty());
}

TEST(NczarrTest, TypesOfAttributes) {
  const auto hierarchy = Open({
      {".zgroup", R"({"zarr_format": 2})"},
      {".zattrs", R"({"f": 0.1, "i": 3, "list": [1, 2], "nan": "NaN", "bytes": [1, 255],
           "wrong": 300, "text": "NaN", "json": {"a": [1]}, "strings": ["a", "b"], "free": 7,
           "whole": 2, "quoted": "[1]",
           "_nczarr_attr": {"types": {"f": "<f4", "i": "<i8", "list": ">i2", "nan": "<f8",
           "bytes": "|u1", "wrong": "|i1", "text": ">S1", "json": "|J0", "strings": "|S5",
           "whole": "<f8", "quoted": "|J0"}}})"},
  });
  EXPECT_THAT(
      AttributesOf(*hierarchy->Load("/").value()),
      ElementsAre("f: float32 0.1", "i: int64 3", "list: int16 [1, 2]", "nan: float64 .nan",
                  "bytes: uint8 [1, 255]", "wrong: int32 300", R"(text: string NaN)",
                  R"(json: string json "{\"a\":[1]}")", "strings: string [a, b]",
                  "free: int32 7", "whole: float64 2.0", R"(quoted: string "[1]")"));
}

TEST(NczarrTest, CharsAreOneByteWhateverTheirTypeSays) {
  const auto hierarchy = Open({
      {".zgroup", R"({"zarr_format": 2})"},
      {"c/.zarray", R"({"zarr_format": 2, "shape": [2, 3], "chunks": [2, 3], "dtype": "<U1",
          "compressor": null, "fill_value": "-", "order": "C", "filters": null,
          "_NCZARR_ARRAY": {"dimrefs": ["/x", "/y"], "storage": "chunked"}})"},
      {"c/0.0", "abcdef"},
      {"d/.zarray", R"({"zarr_format": 2, "shape": [3], "chunks": [3], "dtype": ">S1",
          "compressor": null, "fill_value": "-", "order": "C", "filters": null})"},
      {"d/.zattrs", R"({"_nczarr_array": {"dimension_references": ["/y"]}})"},
  });
  EXPECT_EQ(test::ReadThroughChunks(*hierarchy->Load("/c").value()->source), "abcdef");
  EXPECT_EQ(test::ReadThroughChunks(*hierarchy->Load("/d").value()->source), "---");
  EXPECT_EQ(hierarchy->Load("/c").value()->array().storage.charset, "utf-8");
}

TEST(NczarrTest, ObjectsThatMakeNoSenseAreAsGoodAsAbsent) {
  const auto hierarchy = Open({
      {".zgroup", R"({"zarr_format": 2, "_nczarr_group": {"dims": [1, {"name": 3}, {}]}})"},
      {".zattrs", R"({"a": 1, "_nczarr_attr": {"types": [1]}})"},
      {"v/.zarray", Array("[2]", "<i4")},
      {"v/.zattrs", R"({"_ARRAY_DIMENSIONS": ["v"],
          "_nczarr_array": {"dimension_references": ["/a", "/b"]}})"},
      {"w/.zarray", Array("[2]", "<i4")},
      {"w/.zattrs", R"({"_ARRAY_DIMENSIONS": ["v"], "_nczarr_array": 7})"},
      {"x/.zarray", Array("[2]", "<i4")},
      {"x/.zattrs", R"({"_nczarr_array": {"dimension_references": ["/../v"]}})"},
  });
  EXPECT_THAT(AttributesOf(*hierarchy->Load("/").value()), ElementsAre("a: int32 1"));
  EXPECT_TRUE(IsDimCoord(*hierarchy->Load("/v").value()));
  EXPECT_THAT(DimCoordsOf(*hierarchy->Load("/w").value()), ElementsAre("/v"));
  EXPECT_THAT(DimCoordsOf(*hierarchy->Load("/x").value()), ElementsAre(""));
}

// What this machine's netCDF-C writes.
TEST(NczarrTest, ReadsWhatNcgenWrites) {
  const test::TemporaryDirectory directory;
  test::WriteFile(directory / "a.cdl", R"(netcdf a {
dimensions:
  time = 3 ; lat = 2 ; x\ y = 4 ;
variables:
  float lat(lat) ;
    lat:units = "degrees" ;
  int t(time, lat) ;
    t:_FillValue = -9 ;
    t:scale = 1.5f ;
    t:range = 1s, 2s ;
    t:count = 5ll ;
  double s ;
  char c(lat, x\ y) ;
  :title = "hello" ;
data:
  lat = 1, 2 ;
  t = 1, 2, 3, _, 5, 6 ;
  s = 3.5 ;
  c = "abcd", "efgh" ;
group: g {
  dimensions:
    z = 3 ;
  variables:
    short v(z, lat) ;
    byte z(z) ;
  data:
    v = 1, 2, 3, 4, 5, 6 ;
    z = 7, 8, 9 ;
  }
}
)");
  const std::string command = "cd '" + directory.path().string() +
                              "' && ncgen -4 -lb -o 'file://" + (directory / "a.zarr") +
                              "#mode=nczarr,file' a.cdl 2>&1";
  ASSERT_EQ(std::system(command.c_str()), 0);

  const auto root = LocalSource::Open(directory.path()).value();
  const auto hierarchy = ZarrFormat().Open(root, "a.zarr", {}).value();
  EXPECT_EQ(hierarchy->format(), "NCZarr");
  EXPECT_THAT(hierarchy->List("/"), IsOkAnd(ElementsAre("c", "g", "lat", "s", "t")));
  EXPECT_THAT(AttributesOf(*hierarchy->Load("/").value()),
              ::testing::Contains("title: string hello"));

  const auto t = hierarchy->Load("/t").value();
  EXPECT_THAT(AttributesOf(*t), ElementsAre("_FillValue: int32 -9", "scale: float32 1.5",
                                            "range: int16 [1, 2]", "count: int64 5"));
  EXPECT_THAT(t->array().dimension_names, ElementsAre("time", "lat"));
  EXPECT_THAT(DimCoordsOf(*t), ElementsAre("", "/lat"));
  EXPECT_EQ(t->array().storage.fillvalue, model::Value(model::WideInt{-9}));
  EXPECT_EQ(test::ToHex(test::ReadThroughChunks(*t->source)),
            "010000000200000003000000f7ffffff0500000006000000");

  const auto s = hierarchy->Load("/s").value();
  EXPECT_THAT(s->array().shape, IsEmpty());
  EXPECT_EQ(test::ToHex(test::ReadThroughChunks(*s->source)), "0000000000000c40");

  const auto c = hierarchy->Load("/c").value();
  EXPECT_THAT(c->array().dimension_names, ElementsAre("lat", "x y"));
  EXPECT_EQ(test::ReadThroughChunks(*c->source), "abcdefgh");

  EXPECT_TRUE(IsDimCoord(*hierarchy->Load("/lat").value()));
  EXPECT_TRUE(IsDimCoord(*hierarchy->Load("/g/z").value()));
  EXPECT_THAT(DimCoordsOf(*hierarchy->Load("/g/v").value()), ElementsAre("/g/z", "/lat"));
  EXPECT_EQ(test::ToHex(test::ReadThroughChunks(*hierarchy->Load("/g/v").value()->source)),
            "010002000300040005000600");
}

}  // namespace
}  // namespace ndlfs::backends
