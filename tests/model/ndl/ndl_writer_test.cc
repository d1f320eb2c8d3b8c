// SPDX-License-Identifier: MIT
#include "model/ndl/ndl_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <yaml-cpp/yaml.h>

#include "model/ndl/ndl_reader.h"

namespace ndlfs::model {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Ndarray Array(std::string name, Datatype type, Shape shape) {
  Ndarray array;
  array.name = std::move(name);
  array.type = std::move(type);
  array.shape = std::move(shape);
  return array;
}

DimCoord Coord(std::string name, Datatype type, std::optional<uint64_t> size) {
  DimCoord coord;
  coord.name = std::move(name);
  coord.type = std::move(type);
  coord.shape = {{size, ""}};
  return coord;
}

Attribute Scalar(std::string name, Datatype type, Value value) {
  return {std::move(name), std::move(type), {}, std::move(value), {}, false};
}

Attribute Text(std::string name, std::string value) {
  return Scalar(std::move(name), Datatype::String(), std::move(value));
}

std::string WriteAttribute(const Attribute& attribute) {
  Group root;
  root.attributes = {attribute};
  return WriteGroup(root, "/");
}

std::string TypeText(const Datatype& type) {
  const std::string text = WriteNdarray(Array("a", type, {}), "/");
  return text.substr(text.find("type:"));
}

TEST(NdlWriterTest, WritesAFileInTheOrderOfTheSpecification) {
  File file;
  file.root.attributes = {Text("Conventions", "CF-1.8")};
  DimCoord lat = Coord("lat", Datatype::Float32(), 3);
  lat.value = Value::List{-90.0, 0.0, 90.0};
  lat.attributes = {Text("units", "degrees_north")};
  lat.dimension_names = {"lat"};
  file.root.dimcoords = {lat, Coord("time", Datatype::Time({"ns", 1, false}), std::nullopt)};
  Ndarray t2m = Array("t2m", Datatype::Float32(), {{std::nullopt, "/time"}, {3, "/lat"}});
  t2m.dimension_names = {"time", "lat"};
  t2m.attributes = {Text("units", "K")};
  t2m.storage.shape = {{31, 3}};
  t2m.storage.chunk = {{16, 3}};
  t2m.storage.filter = {{{"shuffle", {}}, {"zlib", {{"level", 5}}}}};
  t2m.storage.endian = ByteOrder::kBig;
  t2m.storage.fillvalue = 9.96921e+36f;
  file.root.ndarrays = {t2m};
  Group empty;
  empty.name = "empty";
  Group forecast;
  forecast.name = "forecast";
  Group only_groups;
  only_groups.name = "a";
  Group leaf;
  leaf.name = "b";
  leaf.ndarrays = {Array("x", Datatype::Bool(), {{2, ""}, {3, "/lat"}})};
  leaf.ndarrays[0].dimension_names = {"y", "lat"};
  only_groups.groups = {leaf};
  forecast.ndarrays = {Array("n", Datatype::Integer(4, true), {})};
  forecast.ndarrays[0].value = 7;
  file.root.groups = {forecast, empty, only_groups};
  EXPECT_EQ(WriteFile(file), R"(/:
  attributes:
    Conventions: CF-1.8
  dimcoords:
    lat:
      size: 3
      type: float32
      value: [-90.0, 0.0, 90.0]
      attributes:
        units: degrees_north
    time:
      size: null
      type: int64
      x-datetime: {unit: ns, scale: 1}
  ndarrays:
    t2m:
      shape: [time, lat]
      type: float32
      attributes:
        units: K
      storage:
        shape: [31, 3]
        chunk: [16, 3]
        filter: [shuffle, {zlib: {level: 5}}]
        endian: big
        fillvalue: 9.96921e+36
/a/b:
  ndarrays:
    x:
      shape: [2, lat]
      x-dims: ["y", lat]
      type: {enum: {base: int8, members: {"FALSE": 0, "TRUE": 1}}}
/empty: {}
/forecast:
  ndarrays:
    "n":
      shape: []
      type: int32
      value: 7
)");
}

TEST(NdlWriterTest, AnEmptyFileKeepsItsRoot) { EXPECT_EQ(WriteFile(File()), "/: {}\n"); }

TEST(NdlWriterTest, NamesOfCoordinatesAreBareWhereTheNearestIsMeant) {
  Group root;
  root.dimcoords = {Coord("x", Datatype::Float32(), 2)};
  Group child;
  child.name = "g";
  child.ndarrays = {Array("far", Datatype::Float32(), {{2, "/x"}})};
  root.groups = {child};
  EXPECT_THAT(WriteGroup(root, "/"), HasSubstr("shape: [x]"));
  root.groups[0].dimcoords = {Coord("x", Datatype::Float32(), 3)};
  root.groups[0].ndarrays.push_back(Array("near", Datatype::Float32(), {{3, "/g/x"}}));
  EXPECT_THAT(WriteGroup(root, "/"), HasSubstr("far:\n      shape: [/x]\n"));
  EXPECT_THAT(WriteGroup(root, "/"), HasSubstr("near:\n      shape: [x]\n"));
  EXPECT_THAT(WriteGroup(root, "/"), Not(HasSubstr("x-extent")));
  // A coordinate of a group that does not enclose the array.
  root.ndarrays = {Array("up", Datatype::Float32(), {{3, "/g/x"}})};
  EXPECT_THAT(WriteGroup(root, "/"), HasSubstr("up:\n      shape: [/g/x]\n"));
}

TEST(NdlWriterTest, ADocumentWithoutTheCoordinateTellsTheExtent) {
  const Ndarray array =
      Array("wind", Datatype::Float32(), {{std::nullopt, "/time"}, {2, "/f/x"}, {5, ""}});
  EXPECT_EQ(WriteNdarray(array, "/f"), R"(/f:
  ndarrays:
    wind:
      shape: [/time, x, 5]
      x-extent: [null, 2, 5]
      type: float32
)");
  EXPECT_EQ(WriteDimCoord(Coord("x", Datatype::Float64(), 2), "/f"), R"(/f:
  dimcoords:
    x:
      size: 2
      type: float64
)");
}

TEST(NdlWriterTest, ACoordinateThatIsNowhereIsNotNamed) {
  Group root;
  root.ndarrays = {Array("before", Datatype::Float32(), {{4, ""}}),
                   Array("x", Datatype::Float32(), {{4, "/before"}, {4, "/before"}})};
  root.ndarrays[1].dimension_names = {"before", "before"};
  const std::string text = WriteGroup(root, "/");
  EXPECT_THAT(text, HasSubstr("shape: [4, 4]\n      x-dims: [before, before]\n"));
  EXPECT_THAT(text, Not(HasSubstr("x-extent")));
  // Of a group below, it is in another document.
  EXPECT_THAT(WriteGroup(root, "/g"), HasSubstr("shape: [/before, /before]\n      x-extent"));
}

TEST(NdlWriterTest, LayoutsAndSecondNamesFollowTheType) {
  Ndarray array = Array("a", Datatype::String(), {});
  array.layout = LayoutOf(Datatype::FixedString(8, Charset::kUtf32));
  array.same_as = "/b";
  EXPECT_THAT(WriteNdarray(array, "/"),
              HasSubstr("      type: string\n      x-layout: {size: 8, charset: utf-32}\n"
                        "      x-same-as: /b\n"));
}

TEST(NdlWriterTest, Links) {
  Group root;
  root.links = {{"y", "/g", ""}, {"far", "/x", "other.h5"}};
  root.groups.emplace_back().name = "g";
  root.groups[0].same_as = "/";
  EXPECT_EQ(WriteGroup(root, "/"), R"(/:
  x-links:
    "y": /g
    far: {file: other.h5, path: /x}
/g:
  x-same-as: /
)");
}

TEST(NdlWriterTest, ShowsDimensionNamesThatTheShapeDoesNot) {
  Ndarray array = Array("a", Datatype::Float32(), {{4, ""}, {2, "/x"}});
  const auto text = [&] { return WriteNdarray(array, "/"); };
  array.dimension_names = {"", "x"};
  EXPECT_THAT(text(), Not(HasSubstr("x-dims")));
  array.dimension_names = {"y", "x"};
  EXPECT_THAT(text(), HasSubstr("x-dims: [\"y\", x]\n"));
  array.dimension_names = {"", "lon"};
  EXPECT_THAT(text(), HasSubstr("x-dims: [null, lon]\n"));
}

TEST(NdlWriterTest, AttributesAreShortWhereThatReadsBackTheSame) {
  const auto value = [](const Attribute& attribute) {
    const std::string text = WriteAttribute(attribute);
    return text.substr(std::string_view("/:\n  attributes:\n    ").size());
  };
  const auto int32 = Datatype::Integer(4, true);
  EXPECT_EQ(value(Text("a", "Ηελλο ωορλδ")), "a: Ηελλο ωορλδ\n");
  EXPECT_EQ(value(Text("a", "yes")), "a: \"yes\"\n");
  EXPECT_EQ(value(Text("a", "2008-12-31")), "a: \"2008-12-31\"\n");
  EXPECT_EQ(value(Text("a", "one\ntwo\n")), "a: |\n      one\n      two\n");
  EXPECT_EQ(value(Text("a", " one\ntwo")), "a: \" one\\ntwo\"\n");
  EXPECT_EQ(value(Scalar("a", int32, 10)), "a: 10\n");
  EXPECT_EQ(value(Scalar("a", Datatype::Integer(8, true), 3000000000)), "a: 3000000000\n");
  EXPECT_EQ(value(Scalar("a", Datatype::Integer(8, false), UINT64_MAX)),
            "a: 18446744073709551615\n");
  EXPECT_EQ(value(Scalar("a", Datatype::Float64(), 0.1)), "a: 0.1\n");
  EXPECT_EQ(value(Scalar("a", Datatype::Bool(), "TRUE")), "a: true\n");

  EXPECT_EQ(value(Scalar("a", Datatype::Integer(8, true), 10)),
            "a:\n      shape: []\n      type: int64\n      value: 10\n");
  EXPECT_EQ(value(Scalar("a", Datatype::Float32(), 0.5)),
            "a:\n      shape: []\n      type: float32\n      value: 0.5\n");
  EXPECT_EQ(value({"a", int32, {2}, Value::List{1, 2}, {}, false}),
            "a:\n      shape: [2]\n      type: int32\n      value: [1, 2]\n");
  EXPECT_EQ(value({"a", Datatype::String(), {}, "{\"b\":null}", {}, true}),
            "a:\n      shape: []\n      type: string\n      x-format: json\n"
            "      value: '{\"b\":null}'\n");
  Attribute ascii = Text("a", "x");
  ascii.storage.charset = "ascii";
  EXPECT_EQ(value(ascii),
            "a:\n      shape: []\n      type: string\n      value: x\n"
            "      storage:\n        charset: ascii\n");
  EXPECT_THAT(value(Scalar("a", Datatype::Time({"s", 1, true}), 10)),
              HasSubstr("type: int64\n      x-timedelta: {unit: s, scale: 1}\n"));
}

TEST(NdlWriterTest, Datatypes) {
  EXPECT_EQ(TypeText(Datatype::String()), "type: string\n");
  EXPECT_EQ(TypeText(Datatype::Integer(2, false)), "type: uint16\n");
  EXPECT_EQ(TypeText(Datatype::Float("bfloat16", 2)), "type: bfloat16\n");
  EXPECT_EQ(TypeText(Datatype::ObjectRef()), "type: objref\n");
  EXPECT_EQ(TypeText(Datatype::RegionRef(Datatype::Selection::kElement)),
            "type: {regref: {selection: element}}\n");
  EXPECT_EQ(TypeText(Datatype::Opaque(64000, "image/png")),
            "type: {opaque: {size: 64000, tag: image/png}}\n");
  EXPECT_EQ(TypeText(Datatype::Opaque(0, "H5T_BITFIELD of 3 bytes")),
            "type: {opaque: {size: 0, tag: H5T_BITFIELD of 3 bytes}}\n");
  EXPECT_EQ(TypeText(Datatype::Enum(Datatype::Integer(1, true), {{"UP", 0}, {"CENTER", -120}})),
            "type: {enum: {base: int8, members: {UP: 0, CENTER: -120}}}\n");
  EXPECT_EQ(TypeText(Datatype::Vlen(Datatype::Integer(1, false))),
            "type: {vlen: {base: uint8}}\n");
  EXPECT_EQ(TypeText(Datatype::Complex(8)), "type: {compound: [{r: float32}, {i: float32}]}\n");
  EXPECT_EQ(TypeText(Datatype::Array(Datatype::Float32(), {3, 3})),
            "type: {array: {base: float32, shape: [3, 3]}}\n");
  EXPECT_EQ(TypeText(Datatype::Vlen(Datatype::Time({"D", 2, false}))),
            "type: {vlen: {base: int64, x-datetime: {unit: D, scale: 2}}}\n");
  EXPECT_EQ(TypeText(Datatype::PackedCompound({{"t", Datatype::Time({"s", 1, true})}})),
            "type: {compound: [{t: int64, x-timedelta: {unit: s, scale: 1}}]}\n");
}

TEST(NdlWriterTest, TypesThatDoNotFitALineAreBlocks) {
  const auto inner = Datatype::PackedCompound(
      {{"temperature", Datatype::Float32()}, {"pressure", Datatype::Float32()}});
  const auto type = Datatype::PackedCompound({{"station", Datatype::String()},
                                              {"surface", inner},
                                              {"profile", Datatype::Array(inner, {20})}});
  EXPECT_EQ(TypeText(type), R"(type:
        compound:
          - station: string
          - surface: {compound: [{temperature: float32}, {pressure: float32}]}
          - profile:
              array:
                base: {compound: [{temperature: float32}, {pressure: float32}]}
                shape: [20]
)");
}

TEST(NdlWriterTest, Values) {
  const auto value = [](const Datatype& type, Value value) {
    Ndarray array = Array("a", type, {});
    array.value = std::move(value);
    const std::string text = WriteNdarray(array, "/");
    return text.substr(text.find("value:"));
  };
  const auto f16 = Datatype::Float("float16", 2);
  EXPECT_EQ(value(f16, 0.333251953125), "value: 0.3333\n");
  EXPECT_EQ(value(Datatype::Float32(), double{0.1f}), "value: 0.1\n");
  EXPECT_EQ(value(Datatype::ObjectRef(), "/a/b"), "value: /a/b\n");
  EXPECT_EQ(value(Datatype::ObjectRef(), Value()), "value: null\n");
  EXPECT_EQ(value(Datatype::RegionRef(Datatype::Selection::kBlock),
                  Region{"/a", Datatype::Selection::kBlock, {{0, 1}, {2, 3}}}),
            "value: {target: /a, start: [0, 1], opposite: [2, 3]}\n");
  EXPECT_EQ(value(Datatype::RegionRef(Datatype::Selection::kElement),
                  Region{"/a", Datatype::Selection::kElement, {{0, 1}, {2, 3}}}),
            "value: {target: /a, elements: [[0, 1], [2, 3]]}\n");
  EXPECT_EQ(value(Datatype::Opaque(3), Blob{std::byte{1}, std::byte{2}, std::byte{3}}),
            "value: !!binary AQID\n");
  const auto record =
      Datatype::PackedCompound({{"x", Datatype::Float32()}, {"n", Datatype::String()}});
  EXPECT_EQ(value(Datatype::Vlen(record),
                  Value::List{Value::Map{{"x", double{0.1f}}, {"n", "a: b"}}}),
            "value: [{x: 0.1, \"n\": \"a: b\"}]\n");
  EXPECT_EQ(value(Datatype::Enum(Datatype::Integer(1, true), {{"ON", 1}}), "ON"),
            "value: \"ON\"\n");
  EXPECT_EQ(value(Datatype::Enum(Datatype::Integer(1, true), {{"ON", 1}}), 2), "value: 2\n");
}

TEST(NdlWriterTest, WrapsLongLists) {
  Ndarray array = Array("a", Datatype::Integer(4, true), {{30, ""}});
  Value::List list;
  for (int i = 0; i < 30; ++i) list.push_back(1000 + i);
  array.value = list;
  EXPECT_THAT(WriteNdarray(array, "/"), HasSubstr(R"(
      value: [1000, 1001, 1002, 1003, 1004, 1005, 1006, 1007, 1008, 1009, 1010,
        1011, 1012, 1013, 1014, 1015, 1016, 1017, 1018, 1019, 1020, 1021, 1022,
        1023, 1024, 1025, 1026, 1027, 1028, 1029]
)"));
}

TEST(NdlWriterTest, WritesMatricesRowByRow) {
  Ndarray array = Array("a", Datatype::Integer(4, true), {{2, ""}, {2, ""}, {2, ""}});
  array.value = Value::List{Value::List{Value::List{1, 2}, Value::List{3, 4}},
                            Value::List{Value::List{5, 6}, Value::List{7, 8}}};
  EXPECT_THAT(WriteNdarray(array, "/"),
              HasSubstr("value: [[[1, 2], [3, 4]], [[5, 6], [7, 8]]]"));
  Value::List row;
  for (int i = 0; i < 20; ++i) row.push_back(100 + i);
  array.value = Value::List{row, Value::List{Value::List{1}, row}};
  EXPECT_THAT(WriteNdarray(array, "/"), HasSubstr(R"(
      value:
        - [100, 101, 102, 103, 104, 105, 106, 107, 108, 109, 110, 111, 112, 113,
           114, 115, 116, 117, 118, 119]
        - - [1]
          - [100, 101, 102, 103, 104, 105, 106, 107, 108, 109, 110, 111, 112,
             113, 114, 115, 116, 117, 118, 119]
)"));
}

TEST(NdlWriterTest, TextInListsStaysOnItsLine) {
  const Attribute attribute{
      "a", Datatype::String(), {3}, Value::List{"power on", "a, b", "two\nlines"}, {}, false};
  EXPECT_THAT(WriteAttribute(attribute),
              HasSubstr(R"(value: [power on, "a, b", "two\nlines"])"));
}

TEST(NdlWriterTest, FillValueOfAStructIsAMap) {
  Ndarray array = Array(
      "a", Datatype::PackedCompound({{"x", Datatype::Float32()}, {"y", Datatype::Float64()}}),
      {});
  array.storage.fillvalue = Value::Map{{"x", double{0.1f}}, {"y", 0.1}};
  EXPECT_THAT(WriteNdarray(array, "/"), HasSubstr("fillvalue: {x: 0.1, \"y\": 0.1}\n"));
}

TEST(NdlWriterTest, BoolsAmongTheParametersOfFilters) {
  Ndarray array;
  array.name = "a";
  array.type = Datatype::Integer(1, true);
  array.storage.filter = {
      {"zstd", {{"level", 0}, {"checksum", "FALSE"}, {"word", "false"}}},
      {"other", {{"list", Value::List{"TRUE", Value(Value::Map{{"deep", "TRUE"}})}}}}};
  EXPECT_THAT(WriteNdarray(array, "/"),
              HasSubstr("          - zstd: {level: 0, checksum: false, word: \"false\"}\n"
                        "          - other: {list: [true, {deep: true}]}\n"));
}

TEST(NdlWriterTest, NamesOfAnyBytes) {
  Group root;
  root.ndarrays = {Array("caf\xe9", Datatype::Float32(), {}),
                   Array("new\nline", Datatype::Float32(), {}),
                   Array("", Datatype::Float32(), {}),
                   Array(std::string(2000, 'k'), Datatype::Float32(), {{1, "/caf\xe8/d"}})};
  root.groups.emplace_back().name = "caf\xe8";
  root.groups[0].dimcoords = {Coord("d", Datatype::Float32(), 1)};
  const std::string text = WriteGroup(root, "/");
  EXPECT_THAT(text, HasSubstr("    café:\n"));
  EXPECT_THAT(text, HasSubstr("    \"new\\nline\":\n"));
  EXPECT_THAT(text, HasSubstr("    \"\":\n"));
  EXPECT_THAT(text, HasSubstr("    ? kkkk"));
  EXPECT_THAT(text, HasSubstr("shape: [/cafè/d]\n"));
  const YAML::Node arrays = YAML::Load(text)["/"]["ndarrays"];
  EXPECT_EQ(arrays.size(), 4u);
  EXPECT_EQ(arrays[std::string(2000, 'k')]["type"].Scalar(), "float32");
  EXPECT_EQ(arrays["new\nline"]["type"].Scalar(), "float32");
}

TEST(NdlWriterTest, LongKeysInFlow) {
  const auto type = Datatype::PackedCompound({{std::string(2000, 'm'), Datatype::Float32()}});
  const YAML::Node node = YAML::Load(WriteFlow(type));
  EXPECT_EQ(node["compound"][0][std::string(2000, 'm')].Scalar(), "float32");
}

TEST(WriteFlowTest, IsOneLine) {
  EXPECT_EQ(WriteFlow(Value::List{1, 2, 3}, Datatype::Integer(4, true)), "[1, 2, 3]");
  EXPECT_EQ(WriteFlow(Value("a\nb"), Datatype::String()), R"("a\nb")");
  EXPECT_EQ(WriteFlow(Datatype::Vlen(Datatype::Float32())), "{vlen: {base: float32}}");
  Value::List list(1000, Value(1));
  EXPECT_EQ(WriteFlow(list, Datatype::Integer(4, true)).size(), 3000u);
}

TEST(NdlWriterTest, WritesThousandsOfArrays) {
  File file;
  for (const char* name : {"time", "lat", "lon"}) {
    file.root.dimcoords.push_back(Coord(name, Datatype::Float64(), 100));
    file.root.dimcoords.back().dimension_names = {name};
  }
  for (int i = 0; i < 3000; ++i) {
    Ndarray array = Array(fmt::format("variable_{:04}", i), Datatype::Float32(),
                          {{100, "/time"}, {100, "/lat"}, {100, "/lon"}});
    array.dimension_names = {"time", "lat", "lon"};
    array.attributes = {Text("units", "m s-1"), Text("long_name", "a variable of some sort"),
                        Scalar("scale", Datatype::Float64(), 0.01)};
    array.storage.chunk = {{10, 100, 100}};
    array.storage.filter = {{{"shuffle", {}}, {"zlib", {{"level", 5}}}}};
    array.storage.endian = ByteOrder::kLittle;
    array.storage.fillvalue = 9.96921e+36f;
    file.root.ndarrays.push_back(std::move(array));
  }
  const std::string text = WriteFile(file);
  EXPECT_GT(text.size(), 900'000u);
  const ParsedDocument parsed = ReadNdl(text, "");
  ASSERT_TRUE(parsed.file);
  EXPECT_TRUE(*parsed.file == file);
}

}  // namespace
}  // namespace ndlfs::model
