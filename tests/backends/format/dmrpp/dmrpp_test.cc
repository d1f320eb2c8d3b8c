// SPDX-License-Identifier: MIT
//
// DMR++ documents: of files that h5py writes, compared with what it reads, and written by hand.
#include "backends/format/dmrpp/dmrpp.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "backends/base/element_stream.h"
#include "backends/detection.h"
#include "backends/format/dmrpp/document.h"
#include "backends/format/dmrpp/fill_text.h"
#include "backends/format/read_elements.h"
#include "backends/store/forwarding_source.h"
#include "backends/store/url_opener.h"
#include "model/attributes.h"
#include "tests/support/detect_file.h"
#include "tests/support/memory_source.h"
#include "tests/support/memory_store.h"
#include "tests/support/python.h"
#include "tests/support/read_array.h"
#include "tests/support/result.h"

namespace ndlfs::backends {
namespace {

using model::ErrorCode;
using test::IsError;
using test::IsOk;
using test::IsOkAnd;
using ::testing::_;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const std::string kSignature("\x89HDF\r\n\x1a\n", 8);
constexpr char kUsual[] = R"( dmrpp:href="data.bin" dmrpp:version="3.21.1")";

std::string Document(const std::string& contents, const std::string& attributes = kUsual) {
  return R"(<?xml version="1.0" encoding="ISO-8859-1"?>)"
         "\n"
         R"(<Dataset xmlns="http://xml.opendap.org/ns/DAP/4.0#")"
         R"( xmlns:dmrpp="http://xml.opendap.org/dap/dmrpp/1.0.0#" dapVersion="4.0")"
         R"( dmrVersion="1.0" name="a")" +
         attributes + ">" + contents + "</Dataset>";
}

// The variable /v of 6 int16; `place` says where they are.
std::string Variable(const std::string& place, const std::string& dims = R"(<Dim size="6"/>)") {
  return R"(<Int16 name="v">)" + dims + place + "</Int16>";
}
std::string Chunks(const std::string& inside, const std::string& attributes = "") {
  return R"(<dmrpp:chunks fillValue="-1" byteOrder="LE")" + attributes + ">" + inside +
         "</dmrpp:chunks>";
}
std::string Extents(const std::string& text) {
  return "<dmrpp:chunkDimensionSizes>" + text + "</dmrpp:chunkDimensionSizes>";
}
std::string Chunk(int64_t offset, int64_t bytes, const std::string& rest = "") {
  return "<dmrpp:chunk offset=\"" + std::to_string(offset) + "\" nBytes=\"" +
         std::to_string(bytes) + "\"" + rest + "/>";
}
std::string At(const std::string& position) {
  return " chunkPositionInArray=\"" + position + "\"";
}

// A file whose bytes from 100 on are the int16 0, 1, 2 ...
std::string DataFile(int count = 50) {
  std::string file = kSignature + std::string(100 - kSignature.size(), '?');
  for (int i = 0; i < count; ++i) file += {static_cast<char>(i), '\0'};
  return file;
}

class DmrppTest : public ::testing::Test {
 protected:
  DmrppTest() { source_->Put("data.bin", DataFile()); }

  model::Result<std::shared_ptr<const Hierarchy>> Open(const std::string& document) {
    source_->Put("a.dmrpp", document);
    return OpenDetected(DmrppFormat(), source_, "a.dmrpp", {});
  }
  std::shared_ptr<const Node> Load(const std::string& document,
                                   const std::string& path = "/v") {
    const auto store = Open(document);
    if (!store) ADD_FAILURE() << store.error().message();
    if (!store) return std::make_shared<const Node>();
    auto node = (*store)->Load(path);
    if (!node) ADD_FAILURE() << node.error().message();
    return node ? *node : std::make_shared<const Node>();
  }
  // The int16 of a variable, or why there are none.
  std::string Numbers(const std::string& variable, const std::string& attributes = kUsual) {
    const auto node = Load(Document(variable, attributes));
    if (!node->source) return node->error ? node->error->message() : "no source";
    const auto bytes = test::ReadByChunks(*node->source);
    if (!bytes) return bytes.error().message();
    std::string text;
    for (size_t i = 0; i + 1 < bytes->size(); i += 2) {
      int16_t number;
      std::memcpy(&number, bytes->data() + i, sizeof(number));
      text += (i == 0 ? "" : " ") + std::to_string(number);
    }
    return text;
  }
  static std::string TextOf(const Node& node, std::string_view attribute) {
    return model::TextOf(node.attributes(), attribute);
  }

  std::shared_ptr<test::MemorySource> source_ = test::MemorySource::Make();
};

TEST_F(DmrppTest, ElementsLieWhereTheDocumentSays) {
  EXPECT_EQ(Numbers(Variable(Chunks(Chunk(104, 12)))), "2 3 4 5 6 7");
  EXPECT_EQ(Numbers(Variable(Chunk(104, 12))), "the document does not tell the byte order");
  EXPECT_EQ(Numbers(R"(<Int16 name="v"><Dim size="2"/><dmrpp:chunks byteOrder="BE">)" +
                    Chunk(104, 4) + "</dmrpp:chunks></Int16>"),
            "512 768");
  EXPECT_EQ(Numbers(R"(<Int16 name="v">)" + Chunks(Chunk(104, 2)) + "</Int16>"), "2");
}

TEST_F(DmrppTest, ChunksBeginAtTheirPositions) {
  const std::string chunks = Extents("4") + Chunk(108, 8, At("[4]"));
  EXPECT_EQ(Numbers(Variable(Chunks(chunks + Chunk(100, 8, At("[0]"))))), "0 1 2 3 4 5");
  EXPECT_EQ(Numbers(Variable(Chunks(chunks))), "-1 -1 -1 -1 4 5");
  EXPECT_EQ(Numbers(Variable(
                Chunks(Extents("2 2") + Chunk(100, 8, At("[0, 2]")) + Chunk(120, 8, At("2 0"))),
                R"(<Dim size="3"/><Dim size="3"/>)")),
            "-1 -1 0 -1 -1 2 10 11 -1");
  EXPECT_EQ(Numbers(Variable(Chunks(""))), "-1 -1 -1 -1 -1 -1");
  EXPECT_EQ(Numbers(Variable(Chunks(Extents("6") + Chunk(100, 12)))), "0 1 2 3 4 5");
}

TEST_F(DmrppTest, AbsentChunksNeedAFillValue) {
  const std::string place = "<dmrpp:chunks byteOrder=\"LE\">" + Extents("4") +
                            Chunk(108, 8, At("[4]")) + "</dmrpp:chunks>";
  EXPECT_THAT(Numbers(Variable(place)), HasSubstr("the chunk [0] is not stored"));
}

TEST_F(DmrppTest, BlocksTogetherAreTheArray) {
  const auto block = [](int offset, int bytes) {
    return "<dmrpp:block offset=\"" + std::to_string(offset) + "\" nBytes=\"" +
           std::to_string(bytes) + "\"/>";
  };
  EXPECT_EQ(Numbers(Variable(Chunks(block(120, 4) + block(100, 8)))), "10 11 0 1 2 3");
  EXPECT_THAT(Numbers(Variable(Chunks(block(120, 4) + block(100, 6)))),
              HasSubstr("a chunk of 10 bytes, expected 12"));
  const std::string linked =
      Extents("4") + Chunk(120, 4, At("[0]") + " LinkedBlockIndex=\"1\"") +
      Chunk(100, 4, At("[0]") + " LinkedBlockIndex=\"0\"") + Chunk(108, 8, At("[4]"));
  EXPECT_EQ(Numbers(Variable(Chunks(linked, " LBChunk=\"true\""))), "0 1 10 11 4 5");
  EXPECT_THAT(Numbers(Variable(Chunks(linked))), HasSubstr("more than one chunk"));
}

TEST_F(DmrppTest, ElementsMayBeInTheDocument) {
  EXPECT_EQ(Numbers(Variable("<dmrpp:compact>AAAB\nAAIAAwAEAAUA</dmrpp:compact>")),
            "0 1 2 3 4 5");
  EXPECT_THAT(Numbers(Variable("<dmrpp:compact>AAABAAIA</dmrpp:compact>")),
              HasSubstr("6 bytes in the document, and the elements take 12"));
  EXPECT_THAT(Numbers(Variable("<dmrpp:compact>!</dmrpp:compact>")), HasSubstr("base64"));
  // zlib.compress(struct.pack('<6h', 5, 4, 3, 2, 1, 0))
  EXPECT_EQ(Numbers(Variable("<dmrpp:missingdata>eJxjZWBhYGZgYmBkYGAAAACYABA="
                             "</dmrpp:missingdata>")),
            "5 4 3 2 1 0");
  EXPECT_EQ(
      Numbers(Variable("<dmrpp:missingdata>BwA=</dmrpp:missingdata>", R"(<Dim size="1"/>)")),
      "7");
}

TEST_F(DmrppTest, FiltersOfOldDocumentsAreInTheUsualOrder) {
  // zlib.compress(b'\0\1\2\3\4\5' + 6 * b'\0'): 0 to 5, shuffled
  const std::string packed("\x78\x9c\x63\x60\x64\x62\x66\x61\x65\x00\x03\x00\x00\x89\x00\x10",
                           16);
  source_->Put("data.bin", kSignature + packed);
  const std::string reversed =
      Variable(Chunks(Extents("6") + Chunk(8, 16, At("[0]")),
                      R"( compressionType="deflate shuffle" deflate_level="6")"));
  const std::string old = R"( dmrpp:href="data.bin")";
  EXPECT_EQ(Numbers(reversed, old), "0 1 2 3 4 5");
  EXPECT_THAT(Numbers(reversed), HasSubstr("zlib: invalid"));
  const auto filters = *Load(Document(reversed, old))->array().storage.filter;
  ASSERT_EQ(filters.size(), 2u);
  EXPECT_EQ(filters[0].name, "shuffle");
  EXPECT_EQ(filters[1].name, "zlib");
}

TEST_F(DmrppTest, MaskLeavesOutFilters) {
  const std::string attributes = R"( compressionType="shuffle deflate")";
  EXPECT_EQ(Numbers(Variable(
                Chunks(Extents("6") + Chunk(100, 12, At("[0]") + " fm=\"3\""), attributes))),
            "0 1 2 3 4 5");
  EXPECT_THAT(Numbers(Variable(
                  Chunks(Extents("6") + Chunk(100, 12, At("[0]") + " fm=\"4\""), attributes))),
              HasSubstr("the filter mask 4 of 2 filters"));
}

TEST_F(DmrppTest, TreeHasGroupsDimensionsAndAttributes) {
  const std::string document = Document(R"(
    <Dimension name="x" size="3"/><Dimension name="bare" size="2"/>
    <Int16 name="x"><Dim name="/x"/></Int16>
    <Attribute name="title" type="String"><Value>caf)"
                                        "\xe9"
                                        R"( &amp; &#8217;</Value></Attribute>
    <Attribute name="box" type="Container">
      <Attribute name="n" type="Int32"><Value>1</Value><Value value="-2"/></Attribute>
    </Attribute>
    <Group name="g"><Dimension name="y" size="2"/><Group name="deeper">
      <Float32 name="v"><Dim name="/x"/><Dim name="/g/y"/><Dim size="4"/>
        <Attribute name="scale" type="Float32"><Value>0.100000001</Value></Attribute>
        <Map name="/x"/></Float32></Group></Group>)");
  const auto store = Open(document);
  ASSERT_THAT(store, IsOk());
  EXPECT_THAT((*store)->List("/"), IsOkAnd(ElementsAre("g", "x")));
  EXPECT_THAT((*store)->List("/g/deeper"), IsOkAnd(ElementsAre("v")));
  const auto root = *(*store)->Load("/");
  EXPECT_EQ(TextOf(*root, "title"), "caf\xc3\xa9 & \xe2\x80\x99");
  EXPECT_THAT(model::NumbersOf(root->attributes(), "box.n"), ElementsAre(1, -2));
  const auto& dimensions = std::get<model::Group>(root->entity).dimensions;
  ASSERT_EQ(dimensions.size(), 1u);
  EXPECT_EQ(dimensions[0].name, "bare");
  EXPECT_TRUE(std::holds_alternative<model::DimCoord>((*(*store)->Load("/x"))->entity));
  const auto v = *(*store)->Load("/g/deeper/v");
  EXPECT_THAT(v->array().dimension_names, ElementsAre("x", "y", ""));
  EXPECT_EQ(v->array().shape[0].dimcoord, "/x");
  EXPECT_EQ(v->array().shape[1].dimcoord, "");
  EXPECT_EQ(v->array().shape[1].size, 2u);
  EXPECT_EQ(model::NumberOf(v->attributes(), "scale"), static_cast<double>(0.1F));
  EXPECT_THAT(v->error->message(), HasSubstr("does not say where"));
}

TEST_F(DmrppTest, TextsAreShownWhereTheDocumentTellsThem) {
  const auto texts = [&](const std::string& inside) -> std::vector<std::string> {
    const auto node = Load(Document(R"(<String name="v">)" + inside + "</String>"));
    if (!node->source) return {node->error ? node->error->message() : "?"};
    const auto read = ReadTexts(*node->source, 100);
    return read ? *read : std::vector<std::string>{read.error().message()};
  };
  EXPECT_THAT(
      texts(R"(<Dim size="4"/><dmrpp:vlsa><v>a b</v><v c="2">&lt;</v><v/></dmrpp:vlsa>)"),
      ElementsAre("a b", "<", "<", ""));
  // base64(zlib.compress(6 * b'a'))
  EXPECT_THAT(texts(R"(<Dim size="1"/><dmrpp:vlsa><v s="6">eJxLTAQBAAf7Akc=</v></dmrpp:vlsa>)"),
              ElementsAre("aaaaaa"));
  EXPECT_THAT(texts(R"(<Dim size="1"/><dmrpp:vlsa><v s="7">eJxLTAQBAAf7Akc=</v></dmrpp:vlsa>)"),
              ElementsAre(HasSubstr("6 bytes, expected 7")));
  EXPECT_THAT(texts("<dmrpp:compact>Z3LDvG4A</dmrpp:compact>"), ElementsAre("gr\xc3\xbcn"));
  EXPECT_THAT(texts(R"(<Dim size="3"/><dmrpp:vlsa><v c="4">a</v></dmrpp:vlsa>)"),
              ElementsAre("4 texts do not make up the shape"));
  source_->Put("data.bin", kSignature + "ab  c d ef" + std::string("gh\0i\0\0", 6));
  const std::string fixed = R"(<Dim size="2"/><dmrpp:FixedLengthStringArray string_length="4")";
  EXPECT_THAT(texts(fixed + R"( pad="space_pad"/>)" + Chunk(8, 8)), ElementsAre("ab", "c d"));
  EXPECT_THAT(texts(R"(<Dim size="2"/><dmrpp:FixedLengthStringArray string_length="3")"
                    R"( pad="null_term"/>)" +
                    Chunk(18, 6)),
              ElementsAre("gh", "i"));
  EXPECT_THAT(texts(Chunk(8, 2)), ElementsAre("ab"));
  EXPECT_THAT(texts(Chunk(8, 16)), ElementsAre(HasSubstr("a text or the place of one")));
  EXPECT_THAT(texts(R"(<Dim size="2"/>)" + Chunk(8, 8)),
              ElementsAre(HasSubstr("does not tell the length of texts")));
}

// What is wrong with the place of /v, and the reason that its error gives.
TEST_F(DmrppTest, LiesAboutPlacesAreErrorsOfTheArray) {
  const std::string two = Extents("3") + Chunk(100, 6, At("[0]"));
  const std::pair<std::string, const char*> lies[] = {
      {Chunks(Chunk(104, 10)), "10 bytes in the data file, and the elements take 12"},
      {Chunks(Chunk(190, 12)), "a chunk ends at 202, and the data file data.bin at 200"},
      {Chunks(Chunk(-4, 12)), "offset \"-4\" is no number"},
      {Chunks(Chunk(INT64_MAX, 12)), "ends beyond any file"},
      {Chunks(R"(<dmrpp:chunk offset="18446744073709551615" nBytes="12"/>)"),
       "ends beyond any file"},
      {Chunks(R"(<dmrpp:chunk offset="18446744073709551616" nBytes="12"/>)"), "is no number"},
      {Chunks(R"(<dmrpp:chunk nBytes="12"/>)"), "no offset"},
      {Chunks(Chunk(100, 12, " moved=\"1\"")), "unknown attribute \"moved\""},
      {Chunks(Chunk(100, 12), " transposed=\"1\""), "unknown attribute \"transposed\""},
      {Chunks(Chunk(100, 12)) + "<dmrpp:elsewhere/>", "unknown element <elsewhere>"},
      {Chunks("<dmrpp:chunk offset=\"100\" nBytes=\"12\"><Dim size=\"1\"/></dmrpp:chunk>"),
       "an element inside of <chunk>"},
      {Chunks(Chunk(100, 12)) + Chunks(Chunk(100, 12)), "more than one element says"},
      {Chunks(Chunk(100, 12)) + "<dmrpp:compact>AAAB</dmrpp:compact>", "more than one element"},
      {Chunks(two + Chunk(106, 6, At("[1]"))), "no chunk begins at [1]"},
      {Chunks(two + Chunk(106, 6, At("[6]"))), "no chunk begins at [6]"},
      {Chunks(two + Chunk(106, 6, At("[0]"))), "more than one chunk at one place"},
      {Chunks(two + Chunk(104, 6, At("[3]"))), "two chunks have the bytes from 104 on"},
      {Chunks(two + Chunk(100, 6, At("[3]"))), "two chunks have the bytes from 100 on"},
      {Chunks(two + Chunk(106, 7, At("[3]"))), "a chunk of 7 bytes, expected 6"},
      {Chunks(two + Chunk(106, 6, At("[3,0]"))), "different ranks"},
      {Chunks(two + Chunk(106, 6)), "different ranks"},
      {Chunks(two + Chunk(106, 6, At("[x]"))), "the position \"[x]\""},
      {Chunks(two + Chunk(106, 6, At("[-3]"))), "the position \"[-3]\""},
      {Chunks(two + Chunk(106, 6, At("[3"))), "the position \"[3\""},
      {Chunks(Extents("3 1") + Chunk(100, 6, At("[0]"))), "chunks of 2 dimensions"},
      {Chunks(Extents("0") + Chunk(100, 6, At("[0]"))), "chunks without an extent"},
      {Chunks(Extents("three") + Chunk(100, 6, At("[0]"))), "chunkDimensionSizes \"three\""},
      {Chunks(Extents("99999999999") + Chunk(100, 6, At("[0]"))), "--max-chunk-size"},
      {Chunks(Extents("3") + Chunk(100, 6)), "a chunk without a position"},
      {Chunks(Chunk(100, 6) + Chunk(106, 6)), "several chunks without positions"},
      {Chunks(two, R"( compressionType="szip")"), "the filter \"szip\""},
      {Chunks(Extents("3") + Chunk(100, 0, At("[0]")), R"( compressionType="deflate")"),
       "a chunk of 0 bytes"},
      {Chunks(Extents("3") + R"(<dmrpp:chunk offset="100" nBytes="6" fm="99999999999"/>)"),
       "a number above 2^32"},
      {R"(<dmrpp:chunks byteOrder="VAX"/>)", "the byteOrder \"VAX\""},
      {"", "does not say where the elements are"},
      {"<dmrpp:specialstructuredata>AA==</dmrpp:specialstructuredata>", "unknown element"},
  };
  for (const auto& [place, reason] : lies) {
    EXPECT_THAT(Numbers(Variable(place)), HasSubstr(reason)) << place;
  }
  EXPECT_THAT(Numbers(Variable(Chunks(Chunk(100, 12)), R"(<Dim name="/none"/>)")),
              HasSubstr("no dimension \"/none\""));
  EXPECT_THAT(Numbers(Variable(Chunks(Chunk(100, 12)), R"(<Dim size="-6"/>)")),
              HasSubstr("is no number"));
  EXPECT_THAT(
      Numbers(Variable(Chunks(""), R"(<Dim size="4294967296"/><Dim size="4294967296"/>)")),
      HasSubstr("2^62"));
  EXPECT_THAT(Numbers("<Sequence name=\"v\"><Int16 name=\"m\"/></Sequence>"),
              HasSubstr("the type Sequence"));
}

// Two elements of a structure of 8 bytes.
std::string Structure(const std::string& members, const std::string& attributes = "") {
  return R"(<Structure name="v">)" + members + R"(<Dim size="2"/>)" +
         Chunks(Chunk(100, 16), attributes) + "</Structure>";
}

TEST_F(DmrppTest, StructuresHaveTheirMembersWhereTheDocumentSays) {
  const std::string members = R"(<Int32 name="z"/><Int16 name="a"><Dim size="2"/></Int16>)";
  const auto node = Load(Document(Structure(members)));
  ASSERT_NE(node->source, nullptr) << node->error->message();
  const model::Datatype& type = node->source->spec().dtype;
  ASSERT_EQ(type.members().size(), 2U);
  EXPECT_EQ(type.members()[0].name, "z");
  EXPECT_EQ(type.members()[1].type.shape(), std::vector<uint64_t>{2});
  EXPECT_EQ(type.members()[1].offset, 4U);
  EXPECT_EQ(Numbers(Structure(members)), "0 1 2 3 4 5 6 7");

  // Behind the first member two bytes are not used.
  const auto gaps = Load(
      Document(Structure(R"(<Int16 name="a"/><Int32 name="b"/>)", R"( structOffset="4 8")")));
  ASSERT_NE(gaps->source, nullptr) << gaps->error->message();
  EXPECT_EQ(gaps->source->spec().dtype.members()[1].offset, 4U);
  EXPECT_EQ(gaps->source->spec().dtype.size(), 8U);
  const auto big = Load(Document(R"(<Structure name="v"><Int16 name="a"/>)"
                                 R"(<dmrpp:chunks byteOrder="BE">)" +
                                 Chunk(102, 2) + "</dmrpp:chunks></Structure>"));
  ASSERT_NE(big->source, nullptr) << big->error->message();
  EXPECT_THAT(test::ReadByChunks(*big->source), IsOkAnd(std::string("\0\1", 2)));
}

TEST_F(DmrppTest, StructuresThatTheDocumentDoesNotTellAreRefused) {
  const std::string two = R"(<Int32 name="a"/><Int32 name="b"/>)";
  const std::pair<std::string, const char*> lies[] = {
      {Structure(""), "a structure without members"},
      {Structure(R"(<Int32 name="a"/>)"), "16 bytes in the data file, and the elements take 8"},
      {Structure(two, R"( structOffset="4")"), "1 offsets of 2 members"},
      {Structure(two, R"( structOffset="3 8")"), "the member \"a\" ends at 3"},
      {Structure(two, R"( structOffset="4 99999999999")"), "the member \"b\" ends at"},
      {Structure(two, R"( structOffset="4 x")"), "the structOffset"},
      {Structure(two + R"(<Int32 name="a"/>)"), "is there twice"},
      {Structure(two + R"(<String name="c"/>)"), "the type \"String\""},
      {Structure(R"(<Structure name="s"><Int32 name="b"/></Structure>)"),
       "the type \"Structure\""},
      {Structure(R"(<Group name="g"/>)"), "the type \"\""},
      {Structure(R"(<Int32 name="a"><Dim name="/none"/></Int32>)"), "no dimension"},
      {Structure(R"(<Int32 name="a"><Dim size="4294967296"/></Int32>)"), "bytes, or none"},
      {R"(<Structure name="v"><Int16 name="m"/></Structure>)", "does not say where"},
  };
  for (const auto& [variable, reason] : lies) {
    EXPECT_THAT(Numbers(variable), HasSubstr(reason)) << variable;
  }
}

TEST_F(DmrppTest, EnumsHaveTheirConstants) {
  const std::string variable =
      R"(<Enum name="v" enum="/colour"><Dim size="3"/>)" + Chunks(Chunk(100, 6)) + "</Enum>";
  const auto definition = [](const std::string& constants, const std::string& base = "Int16") {
    return R"(<Enumeration name="colour" basetype=")" + base + R"(">)" + constants +
           "</Enumeration>";
  };
  const std::string red = R"(<EnumConst name="red" value="1"/>)";
  const auto node =
      Load(Document(definition(red + R"(<EnumConst name="none" value="-1"/>)") + variable));
  ASSERT_NE(node->source, nullptr) << node->error->message();
  const model::Datatype& type = node->source->spec().dtype;
  ASSERT_EQ(type.kind(), model::Datatype::Kind::kEnum);
  EXPECT_EQ(type.FindConstant("none")->value, -1);
  EXPECT_EQ(Numbers(definition(red) + variable), "0 1 2");

  const std::pair<std::string, const char*> lies[] = {
      {"", "no enumeration \"/colour\""},
      {definition(red, "Float32"), "an enumeration of the type \"Float32\""},
      {definition(red + red), "the constant \"red\""},
      {definition(R"(<EnumConst name="many" value="32768"/>)"), "the constant \"many\""},
      {definition(R"(<EnumConst name="few" value="-1"/>)", "UInt16"), "the constant \"few\""},
      {definition(R"(<EnumConst name="x" value="x"/>)"), "no enumeration"},
  };
  for (const auto& [enumeration, reason] : lies) {
    EXPECT_THAT(Numbers(enumeration + variable), HasSubstr(reason)) << enumeration;
  }
}

TEST_F(DmrppTest, WhatIsNoDocumentIsRefused) {
  EXPECT_THAT(Open("no XML"), IsError(ErrorCode::kBadInput, HasSubstr("no valid XML")));
  EXPECT_THAT(Open(""), IsError(ErrorCode::kBadInput, _));
  EXPECT_THAT(Open("<netcdf/>"), IsError(ErrorCode::kBadInput, HasSubstr("no DMR++")));
  EXPECT_THAT(Open("<Group><Dataset/></Group>"),
              IsError(ErrorCode::kBadInput, HasSubstr("no DMR++")));
  EXPECT_THAT(
      Open("<!DOCTYPE d [<!ENTITY a \"aaaa\"><!ENTITY b \"&a;&a;&a;\">]>" + Document("&b;")),
      IsError(ErrorCode::kBadInput, HasSubstr("DOCTYPE")));
  std::string deep, end;
  for (int i = 0; i < 20; ++i) deep += "<Group name=\"g\">", end += "</Group>";
  EXPECT_THAT(Open(Document(deep + end)), IsError(ErrorCode::kBadInput, HasSubstr("levels")));
  EXPECT_THAT(Open(Document("<Int16 name=\"v\">")), IsError(ErrorCode::kBadInput, _));
}

TEST_F(DmrppTest, NamesThatCannotBeAreLeftOut) {
  const auto store = Open(Document(R"(<Int16 name="a/b"/><Int16/><Int16 name="v"/>)"
                                   R"(<Int16 name="v"/><Attribute name="q"/>)"));
  ASSERT_THAT(store, IsOk());
  EXPECT_THAT((*store)->List("/"), IsOkAnd(ElementsAre("v")));
  EXPECT_THAT((*(*store)->Load("/"))->error->message(), HasSubstr("without a name"));
}

TEST_F(DmrppTest, AttributesThatCannotBeAreLeftOut) {
  std::string many;
  for (int i = 0; i < 100'000; ++i) many += "<Value>1</Value>";
  const auto root =
      Load(Document(R"(<Attribute name="many" type="Int8">)" + many + "</Attribute>" +
                    R"(<Attribute name="wide" type="Int8"><Value>300</Value></Attribute>)" +
                    R"(<Attribute name="x" type="OtherXML"><Group name="g"/></Attribute>)" +
                    R"(<Attribute name="good" type="Byte"><Value>255</Value></Attribute>)"),
           "/");
  ASSERT_EQ(root->attributes().size(), 1u);
  EXPECT_EQ(root->attributes()[0].name, "good");
  EXPECT_THAT(root->error->message(), HasSubstr("attribute \"many\": too many values"));
}

TEST_F(DmrppTest, DocumentsOfVeryManyChunksAreRead) {
  constexpr int kChunks = 100'000;
  std::string chunks = Extents("1");
  for (int i = kChunks; i-- > 0;) {
    chunks += Chunk(100 + 2 * i, 2, At("[" + std::to_string(i) + "]"));
  }
  source_->Put("data.bin", DataFile(kChunks));
  const auto node = Load(
      Document(Variable(Chunks(chunks), "<Dim size=\"" + std::to_string(kChunks) + "\"/>")));
  ASSERT_NE(node->source, nullptr);
  test::PlainIndexCache indexes;
  const auto location = node->source->Locate(std::vector<uint64_t>{77'777}, indexes);
  ASSERT_THAT(location, IsOk());
  ASSERT_EQ(location->pieces.size(), 1u);
  EXPECT_EQ(location->pieces[0].offset, 100u + 2 * 77'777u);
}

// --- The data file

TEST_F(DmrppTest, PlaceholderMeansTheFileNextToTheDocument) {
  source_->Put("d/x.nc", DataFile());
  source_->Put("d/x.nc.missing", DataFile());
  const auto open = [&](const std::string& href) -> std::string {
    source_->Put(
        "d/x.nc.dmrpp",
        Document(Variable(Chunks(Chunk(100, 12))),
                 href.empty() ? "" : " dmrpp:version=\"3\" dmrpp:href=\"" + href + "\""));
    const auto store = OpenDetected(DmrppFormat(), source_, "d/x.nc.dmrpp", {});
    if (!store) return store.error().message();
    const auto node = *(*store)->Load("/v");
    return node->source ? "there" : node->error->message();
  };
  EXPECT_EQ(open("OPeNDAP_DMRpp_DATA_ACCESS_URL"), "there");
  EXPECT_EQ(open("OPeNDAP_DMRpp_MISSING_DATA_ACCESS_URL"), "there");
  EXPECT_EQ(open(""), "there");
  EXPECT_EQ(open("x.nc"), "there");
  EXPECT_EQ(open("../data.bin"), "there");
  EXPECT_EQ(open("file:///home/me/elsewhere/x.nc"), "there");
  EXPECT_EQ(open("https://archive.example/granules/x.nc"), "there");
  EXPECT_THAT(open("https://archive.example/granules/y.nc"), HasSubstr("remote reference"));
  EXPECT_THAT(open("file:///home/me/y.nc"), HasSubstr("outside the source tree"));
  EXPECT_THAT(open("../../data.bin"), HasSubstr("outside the source tree"));
  EXPECT_THAT(open("y.nc"), HasSubstr("the data file \"y.nc\" is not there"));
  source_->Remove("d/x.nc");
  EXPECT_THAT(open("OPeNDAP_DMRpp_DATA_ACCESS_URL"), HasSubstr("d/x.nc is not there"));
}

// Also tells where URLs lead: "https://example.org/K" is the key K of a store in memory.
class DmrppUrls final : public ForwardingSource, public UrlOpener {
 public:
  using ForwardingSource::ForwardingSource;
  model::Result<StoreKey> FindUrl(std::string_view url) const override {
    constexpr std::string_view kTop = "https://example.org/";
    if (!url.starts_with(kTop)) return model::Unsupported("{} is not allowed", url);
    return StoreKey{store, std::string(url.substr(kTop.size()))};
  }
  const std::shared_ptr<test::MemoryStore> store = std::make_shared<test::MemoryStore>();
};

TEST_F(DmrppTest, UrlsThatAreAllowedAreRead) {
  const auto urls = std::make_shared<DmrppUrls>(source_);
  urls->store->Put("g/x.nc", DataFile());
  source_->Put(
      "a.dmrpp",
      Document(Variable(Chunks(Chunk(104, 12, " href=\"https://example.org/g/x.nc\""))) +
               R"(<Int8 name="w">)" +
               Chunks(Chunk(100, 1, " href=\"https://example.com/g/x.nc\"")) + "</Int8>"));
  const auto store = OpenDetected(DmrppFormat(), urls, "a.dmrpp", {});
  ASSERT_THAT(store, IsOk());
  const auto node = *(*store)->Load("/v");
  ASSERT_NE(node->source, nullptr) << node->error->message();
  EXPECT_EQ(test::ReadThroughChunks(*node->source).substr(0, 3), std::string("\2\0\3", 3));
  const auto other = *(*store)->Load("/w");
  ASSERT_NE(other->source, nullptr);
  EXPECT_THAT(test::ReadThroughChunks(*other->source), HasSubstr("is not allowed"));
}

TEST_F(DmrppTest, FilesModifiedAfterTheDocumentAreRefused) {
  const auto store = Open(Document(Variable(Chunks(Chunk(104, 12)))));
  ASSERT_THAT(store, IsOk());
  const auto node = *(*store)->Load("/v");
  ASSERT_NE(node->source, nullptr);
  const uint64_t version = *(*store)->Version("/v");
  source_->Put("data.bin", DataFile());
  // What is loaded already never shows bytes of the new file.
  EXPECT_FALSE(test::ReadByChunks(*node->source));
  EXPECT_NE(*(*store)->Version("/v"), version);
  EXPECT_THAT((*(*store)->Load("/v"))->error->message(),
              HasSubstr("data.bin was modified after the document"));
}

TEST_F(DmrppTest, FilesOfOtherKindsAreRefused) {
  const std::string variable = Variable(Chunks(Chunk(104, 12)));
  source_->Put("data.bin", std::string(512, '\0') + DataFile());
  EXPECT_THAT(Numbers(variable), HasSubstr("does not begin as HDF5 or HDF4"));
  source_->Put("data.bin", "\x89HDF");
  EXPECT_THAT(Numbers(variable), HasSubstr("does not begin as HDF5 or HDF4"));
  source_->Put("data.bin", std::string("\x0e\x03\x13\x01", 4) + DataFile().substr(4));
  EXPECT_EQ(Numbers(variable), "2 3 4 5 6 7");
}

TEST_F(DmrppTest, MountForSeveralUsersShowsNothingOfOtherFiles) {
  source_->Put("a.dmrpp",
               Document(Variable(Chunks(Chunk(104, 12))) +
                        R"(<Int8 name="w"><dmrpp:compact>Bw==</dmrpp:compact></Int8>)"));
  const auto store = OpenDetected(DmrppFormat(), source_, "a.dmrpp", {.shared = true});
  ASSERT_THAT(store, IsOk());
  EXPECT_THAT((*(*store)->Load("/v"))->error->message(), HasSubstr("for several users"));
  EXPECT_NE((*(*store)->Load("/w"))->source, nullptr);
}

TEST_F(DmrppTest, DocumentNextToAStoreIsNone) {
  source_->Put("x.h5", DataFile());
  source_->Put("x.h5.dmrpp", Document(""));
  source_->Put("y.h5.dmrpp", Document(""));
  EXPECT_EQ(DetectFile(*source_, "x.h5.dmrpp"), nullptr);
  EXPECT_EQ(DetectFile(*source_, "y.h5.dmrpp"), &DmrppFormat());
}

// --- Fill values

std::string Fill(const char* type, const std::string& text,
                 const model::Attribute* attribute = nullptr) {
  const auto element = dmrpp::ParseFill(*dmrpp::NumberType(type), text, attribute);
  if (!element) return "unknown";
  return model::FormatFloat(*model::DecodeElement(*dmrpp::NumberType(type), *element)->real(),
                            /*yaml=*/false);
}

TEST(DmrppFillTest, DigitsThatHyraxLeavesOutAreNotGuessed) {
  EXPECT_EQ(Fill("Float32", "9.96921e+36"),
            model::FormatFloat(9.969209968386869e36F + 0.0, false));
  EXPECT_EQ(Fill("Float64", "9.96921e+36"), "9.969209968386869e+36");
  EXPECT_EQ(Fill("Float64", "-9999"), "-9999.0");
  EXPECT_EQ(Fill("Float64", "-999999"), "-999999.0");
  EXPECT_EQ(Fill("Float32", "1e+20"), model::FormatFloat(static_cast<double>(1e20F), false));
  EXPECT_EQ(Fill("Float64", "-32767.5"), "unknown");
  EXPECT_EQ(Fill("Float64", "1.26765e+30"), "unknown");
  EXPECT_EQ(Fill("Float64", "1.2676506002282294e+30"), "1.2676506002282294e+30");
  EXPECT_EQ(Fill("Float64", "nan"), "nan");
  EXPECT_EQ(Fill("Float64", "-inf"), "-inf");
  EXPECT_EQ(Fill("Float64", ""), "unknown");
  EXPECT_EQ(Fill("Float64", "many"), "unknown");
  const model::Attribute attribute{
      "_FillValue", model::Datatype::Float64(), {}, 1.26765060022e30, {}};
  EXPECT_EQ(Fill("Float64", "1.26765e+30", &attribute), "1.26765060022e+30");
  EXPECT_EQ(Fill("Float64", "1.26764e+30", &attribute), "unknown");
  EXPECT_FALSE(dmrpp::ParseFill(model::Datatype::Integer(1, true), "128", nullptr));
  EXPECT_FALSE(dmrpp::ParseFill(model::Datatype::FixedString(30, model::Charset::kUtf8),
                                "unsupported-string", nullptr));
}

// --- Files of h5py

// Writes x.h5, its document, and the elements of each dataset of numbers as they are shown.
constexpr char kWrite[] = R"(
import os, sys
sys.path.insert(0, TESTS + '/mount')
os.chdir(TARGET)
import h5py, numpy as np
import dmrpp_writer
from h5py import h5d, h5p, h5s, h5t
numbers = np.random.default_rng(1).integers(0, 120, (19, 36)) / 1.0
with h5py.File('x.h5', 'w') as f:
    lat = f.create_dataset('lat', data=np.linspace(-90, 90, 19)); lat.make_scale('lat')
    g = f.create_group('g')
    lon = g.create_dataset('lon', data=np.arange(36, dtype='>f4') * 10); lon.make_scale('lon')
    zip, cut = dict(compression='gzip'), dict(chunks=(5, 7))
    for name, dtype, how in [
            ('i1', 'i1', {}), ('u1', 'u1', {}), ('i2', '<i2', {}), ('bi2', '>i2', {}), ('bu4', '>u4', cut),
            ('i8', '<i8', cut | zip), ('bf8', '>f8', cut | zip | dict(shuffle=True)),
            ('f4', '<f4', cut | zip | dict(shuffle=True, fletcher32=True)),
            ('bf4', '>f4', dict(chunks=(4, 36), fletcher32=True)), ('u8', '<u8', dict(chunks=(19, 36), shuffle=True))]:
        d = g.create_dataset(name, data=numbers.astype(dtype), **how)
        d.dims[0].attach_scale(lat); d.dims[1].attach_scale(lon)
    d = f.create_dataset('sparse', shape=(100, 100), dtype='<f4', chunks=(10, 10), fillvalue=9.9692099683868690e+36,
                         compression='gzip')
    d[25:35, 25:35] = np.arange(100).reshape(10, 10)
    f.create_dataset('nothing', shape=(100, 3), dtype='<i2', fillvalue=-7)
    f.create_dataset('scalar', data=np.float64(3.25))
    f.create_dataset('empty', shape=(0, 4), dtype='<f8')
    words = np.array([b'ab', b'', b'defgh'], 'S5')
    f.create_dataset('fixed', data=words)
    f.create_dataset('packed', data=words, chunks=(2,), compression='gzip')
    creation = h5p.create(h5p.DATASET_CREATE); creation.set_layout(h5d.COMPACT)
    d = h5d.create(f.id, b'compact', h5t.STD_I16BE, h5s.create_simple((2, 3)), creation)
    d.write(h5s.ALL, h5s.ALL, np.arange(6, dtype='i2').reshape(2, 3))
    d = f.create_dataset('masked', shape=(8,), dtype='<i4', chunks=(4,), compression='gzip')
    d[:4] = np.arange(4)
    d.id.write_direct_chunk((4,), np.arange(4, 8, dtype='<i4').tobytes(), filter_mask=1)
def save(name, item):
    if isinstance(item, h5py.Dataset):
        data = np.asarray(item[()])
        data.astype(data.dtype.newbyteorder('<')).tofile(name.replace('/', '.') + '.raw')
with h5py.File('x.h5') as f: f.visititems(save)
dmrpp_writer.write('x.h5', 'a.dmrpp', href='x.bin')
os.rename('x.h5', 'x.bin')
)";

TEST_F(DmrppTest, ShowsTheElementsThatH5pyReads) {
  const test::TemporaryDirectory directory;
  test::RunPython("TESTS = '" NDLFS_TEST_DATA "/..'\nTARGET = '" + directory.path().string() +
                  "'\n" + kWrite);
  source_->PutTree("", directory.path());
  const auto store = Open(test::ReadFile(directory / "a.dmrpp"));
  ASSERT_THAT(store, IsOk());
  int compared = 0;
  for (const auto& [path, text] : source_->files()) {
    if (!path.ends_with(".raw")) continue;
    std::string name = "/" + path.substr(0, path.size() - 4);
    std::ranges::replace(name, '.', '/');
    const auto node = (*store)->Load(name);
    ASSERT_THAT(node, IsOk()) << name;
    ASSERT_NE((*node)->source, nullptr) << name << ": " << (*node)->error->message();
    EXPECT_TRUE(test::ReadThroughChunks(*(*node)->source) == text) << name;
    ++compared;
  }
  EXPECT_EQ(compared, 20);
  const auto sparse = *(*store)->Load("/sparse");
  EXPECT_EQ(sparse->array().storage.chunk, (std::vector<uint64_t>{10, 10}));
  EXPECT_EQ(model::AsDouble(*sparse->array().storage.fillvalue),
            static_cast<double>(9.9692099683868690e+36F));
}

}  // namespace
}  // namespace ndlfs::backends
