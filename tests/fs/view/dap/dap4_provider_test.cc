// SPDX-License-Identifier: MIT
#include "fs/view/dap/dap4_provider.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <zlib.h>

#include "cache/chunk_cache.h"
#include "tests/support/memory_hierarchy.h"

namespace ndlfs::fs {
namespace {

using model::Datatype;
using testing::HasSubstr;
using testing::Not;

template <typename T>
std::string Bytes(std::initializer_list<T> values) {
  std::string out;
  for (const T value : values) out += test::Raw(value);
  return out;
}

std::string SumOf(const std::string& bytes) {
  const uLong sum =
      ::crc32(0, reinterpret_cast<const Bytef*>(bytes.data()), static_cast<uInt>(bytes.size()));
  return test::Raw(static_cast<uint32_t>(sum));
}

std::string TextBytes(std::initializer_list<std::string> texts) {
  std::string out;
  for (const std::string& text : texts) out += test::Raw(uint64_t{text.size()}) + text;
  return out;
}

// A reply that was taken apart.
struct Dap4Reply {
  std::string dmr;
  std::string data;
  std::vector<unsigned> flags;
};

// x(x), g/t(x, 2) and others.
class Dap4Test : public testing::Test {
 protected:
  Dap4Test() {
    hierarchy_->AddGroup("/");
    hierarchy_->AddGroup("/g").entity = [] {
      model::Group group;
      group.attributes.push_back(
          {.name = "note", .type = Datatype::String(), .value = model::Value("a<\"b\"\n\\")});
      model::Value::Map pair;
      pair.emplace_back("a", model::Value(model::WideInt{1}));
      pair.emplace_back("b", model::Value(2.5));
      group.attributes.push_back(
          {.name = "pair",
           .type = Datatype::Compound(
               {{"a", Datatype::Integer(1, true), 0}, {"b", Datatype::Float64(), 8}}, 16),
           .value = model::Value(std::move(pair))});
      return group;
    }();
    hierarchy_->AddDimCoord("/x", Array(Datatype::Integer(8, true), {3}, x_));
    model::Ndarray t;
    t.shape = {{3, "/x"}, {2, ""}};
    hierarchy_->AddArray("/g/t", t, Array(Datatype::Integer(2, false), {3, 2}, t_));
    hierarchy_->AddArray("/z", Array(Datatype::Complex(8), {2}, Bytes<float>({1, 2, 3, 4})));
    hierarchy_->AddArray("/flag", Array(Datatype::Bool(), {2}, Bytes<int8_t>({0, 1})));
    hierarchy_->AddArray("/text",
                         Array(Datatype::String(), {2, 2},
                               test::ElementStream({test::Counted("a"), test::Counted("bc"),
                                                    test::Counted(""), test::Counted("d")})));
    hierarchy_->AddArray("/<8 ", Array(Datatype::Integer(1, false), {1}, "e"));
    hierarchy_->AddArray("/o", Array(Datatype::Opaque(3), {1}, "abc"));
    hierarchy_->AddArray(
        "/gaps", Array(Datatype::PackedCompound(
                           {{"a", Datatype::Integer(1, true)}, {"b", Datatype::Float64()}}),
                       {1}, std::string(9, '\0')));
  }

  static std::shared_ptr<const backends::ArraySource> Array(Datatype type,
                                                            std::vector<uint64_t> shape,
                                                            std::string elements) {
    return std::make_shared<test::MemoryArray>(std::move(type), std::move(shape),
                                               std::move(elements));
  }

  std::string Read(const std::string& name) {
    const auto group = MakeGroupInput(hierarchy_, "/", cache_);
    EXPECT_TRUE(group);
    const auto found = provider_.Resolve(**group, name);
    if (!found) return "none";
    if (found->refusal) return found->refusal->message();
    const auto node = provider_.Make(**group, found->name);
    if (!node) return node.error().message();
    const ViewPtr view = FileOf(*node);
    std::string out(*view->size(), '\0');
    const auto count = view->Read(0, std::as_writable_bytes(std::span(out)));
    return count && *count == out.size() ? out : "not read";
  }

  Dap4Reply Ask(const std::string& name) {
    Dap4Reply out;
    const std::string all = Read(name);
    for (size_t at = 0; at + 4 <= all.size();) {
      const auto byte = [&](size_t i) { return static_cast<unsigned char>(all[at + i]); };
      const size_t size = byte(1) << 16 | byte(2) << 8 | byte(3);
      out.flags.push_back(byte(0));
      (out.flags.size() == 1 ? out.dmr : out.data) += all.substr(at + 4, size);
      at += 4 + size;
    }
    return out;
  }

  const std::string x_ = Bytes<int64_t>({-1, int64_t{1} << 60, 7});
  const std::string t_ = Bytes<uint16_t>({1, 2, 3, 4, 5, 65535});
  std::shared_ptr<test::MemoryHierarchy> hierarchy_ = std::make_shared<test::MemoryHierarchy>();
  cache::ChunkCache cache_{1 << 20};
  const Dap4Provider provider_;
};

TEST_F(Dap4Test, StructureHasGroupsDimensionsAndTypes) {
  const std::string dmr = Read("data.dmr");
  EXPECT_THAT(dmr, HasSubstr("<Dimension name=\"x\" size=\"3\"/>"));
  EXPECT_THAT(dmr, HasSubstr("<Int64 name=\"x\"><Dim name=\"/x\"/>"));
  EXPECT_THAT(dmr, HasSubstr("<Group name=\"g\">"));
  EXPECT_THAT(dmr, HasSubstr("<UInt16 name=\"t\"><Dim name=\"/x\"/>"));
  EXPECT_THAT(dmr, HasSubstr("<Structure name=\"z\"><Float32 name=\"r\"></Float32><Float32 "
                             "name=\"i\"></Float32><Dim size=\"2\"/>"));
  EXPECT_THAT(dmr, HasSubstr("<EnumConst name=\"TRUE\" value=\"1\"/>"));
  EXPECT_THAT(dmr, HasSubstr("<Enum name=\"flag\" enum=\"/bool\">"));
  EXPECT_THAT(dmr, HasSubstr("<UInt8 name=\"o\"><Dim size=\"1\"/><Dim size=\"3\"/>"));
  EXPECT_THAT(dmr,
              HasSubstr("<Attribute name=\"ndlfs_name\" type=\"String\" value=\"&lt;8 \">"));
  EXPECT_THAT(dmr, Not(HasSubstr("name=\"gaps\"")));
  EXPECT_THAT(dmr, HasSubstr("/gaps: DAP 4 shows compounds of numbers without gaps only"));
  EXPECT_THAT(dmr, HasSubstr("type=\"String\"><Value>{a: 1, b: 2.5}</Value>"));
  // A value of netCDF-C, and one of all others.
  EXPECT_THAT(dmr, HasSubstr("value=\"a&lt;&quot;b&quot;&#10;\\\"><Value>a&lt;&quot;b&quot;\n\\"
                             "</Value>"));
}

TEST_F(Dap4Test, DataHaveTheOrderOfTheStructure) {
  const Dap4Reply reply = Ask("data.dap");
  EXPECT_EQ(reply.dmr, Read("data.dmr") + "\r\n");
  EXPECT_THAT(reply.flags, testing::ElementsAre(12, 5));
  std::map<size_t, std::string> values;
  for (const auto& [name, bytes] : std::map<std::string, std::string>{
           {"\"x\"><Dim", x_},
           {"<UInt16 name=\"t\"", t_},
           {"\"z\"", Bytes<float>({1, 2, 3, 4})},
           {"\"flag\"", Bytes<int8_t>({0, 1})},
           {"\"o\"", "abc"},
           {"<UInt8 name=\"_", "e"},
           {"<String name=\"text\"", TextBytes({"a", "bc", "", "d"})}}) {
    const size_t place = reply.dmr.find(name);
    ASSERT_NE(place, std::string::npos) << name;
    values[place] = bytes;
  }
  std::string expected;
  for (const auto& [place, bytes] : values) expected += bytes;
  EXPECT_EQ(reply.data, expected);
}

TEST_F(Dap4Test, ConstraintsCutAndChecksumsFollow) {
  const Dap4Reply reply = Ask("data[/g/t[0:2:2][1];/x[1:]].checksums.dap");
  EXPECT_THAT(reply.flags, testing::ElementsAre(4, 5));
  const std::string x = x_.substr(8);
  const std::string t = Bytes<uint16_t>({2, 65535});
  EXPECT_EQ(reply.data, x + SumOf(x) + t + SumOf(t));
  EXPECT_THAT(reply.dmr, HasSubstr("<Int64 name=\"x\"><Dim size=\"2\"/>"));
  EXPECT_THAT(reply.dmr, HasSubstr("<Dim size=\"2\"/><Dim size=\"1\"/>"));
  EXPECT_THAT(reply.dmr, Not(HasSubstr("\"z\"")));
  EXPECT_EQ(Ask("data[/g/t[][0]].dap").data, Bytes<uint16_t>({1, 3, 5}));
  EXPECT_EQ(Ask("data[/g/t].dap").data, t_);
  EXPECT_EQ(Ask("data[/text[1][1];/text[0:1][1]].dap").data, TextBytes({"bc", "d"}));
}

TEST_F(Dap4Test, ChecksumsOfAnyPartAreRight) {
  const std::string all = Read("data[/x].checksums.dap");
  const auto group = MakeGroupInput(hierarchy_, "/", cache_);
  const auto node = provider_.Make(**group, "data[/x].checksums.dap");
  ASSERT_TRUE(node);
  std::string end(4, '\0');
  ASSERT_TRUE(FileOf(*node)->Read(all.size() - 4, std::as_writable_bytes(std::span(end))));
  EXPECT_EQ(end, SumOf(x_));
}

// As data.h5 has them: XML allows most control characters that HTML does not.
TEST_F(Dap4Test, TextsHaveAllCharactersOfXml) {
  model::Ndarray array;
  array.attributes.push_back({.name = "odd",
                              .type = Datatype::String(),
                              .value = model::Value("\u0080\x7f\r\x01\u00e9")});
  hierarchy_->AddArray("/odd", array, Array(Datatype::Integer(1, false), {1}, "1"));
  EXPECT_THAT(Read("data.dmr"), HasSubstr("<Value>\u0080\x7f&#13;\uFFFD\u00e9</Value>"));
}

// netCDF-C refuses a dataset with two objects of one name, and names with such characters.
TEST_F(Dap4Test, NamesThatWouldBecomeTheSameDiffer) {
  const auto bytes = [&](const std::string& value) {
    return Array(Datatype::Integer(1, false), {1}, value);
  };
  hierarchy_->AddArray("/n_", bytes("1"));
  hierarchy_->AddArray("/n ", bytes("2"));
  hierarchy_->AddArray("/n\x01", bytes("3"));
  hierarchy_->AddGroup("/n\x02");
  hierarchy_->AddArray("/n\x02/b\\.@;", bytes("4"));
  const std::string dmr = Read("data.dmr");
  for (const char* element : {"<UInt8 name=\"n_\">", "<UInt8 name=\"n__3\">",
                              "<UInt8 name=\"n__4\">", "<Group name=\"n__2\">"}) {
    EXPECT_THAT(dmr, HasSubstr(element));
  }
  EXPECT_THAT(dmr, HasSubstr("<Attribute name=\"ndlfs_name\" type=\"String\"><Value>n "));
  EXPECT_EQ(Ask("data[/n_].dap").data, "1");
  EXPECT_EQ(Ask("data[/n__3;/n__4].dap").data.size(), 2U);
  EXPECT_EQ(Ask("data[/n__2/b\\\\.@\\;].dap").data, "4");
  EXPECT_THAT(Read("data[/none].dmr"), HasSubstr("no variable \"/none\"; there are /"));
}

TEST_F(Dap4Test, WhatTheGroupLacksIsRefused) {
  for (const char* constraint :
       {"/none", "/x[3]", "/x[0][0]", "/x[3:]", "/x[0:3]", "/g", "/g/x", "/gaps", "/x;",
        "x=[0:1]", "/z.r", "/x|x>1", "/x[0", "[0]"}) {
    EXPECT_THAT(Read(fmt::format("data[{}].dap", constraint)), Not(HasSubstr("<Dataset")))
        << constraint;
  }
  EXPECT_EQ(Read("data.dap4"), "none");
  EXPECT_EQ(Read("data[.dmr"), "none");
}

// netCDF-C knows no `_FillValue` of enums, and changes the last bits of floats.
TEST_F(Dap4Test, FillValuesAreWrittenAsReadersFindThem) {
  const auto add = [this](const std::string& path, const Datatype& type,
                          const Datatype& of_fill, model::Value fill, std::string elements) {
    model::Ndarray ndarray;
    ndarray.shape = {{1, ""}};
    ndarray.attributes = {{.name = "_FillValue", .type = of_fill, .value = std::move(fill)}};
    hierarchy_->AddArray(path, ndarray, Array(type, {1}, std::move(elements)));
  };
  const auto base = Datatype::Integer(1, false);
  add("/named", Datatype::Enum(base, {{"no", 1}, {"none", 2}}), base,
      model::Value(model::WideInt{2}), "\2");
  add("/whole", base, base, model::Value(model::WideInt{3}), "\3");
  add("/real", Datatype::Float32(), Datatype::Float32(), model::Value(0.5), test::Raw(0.5f));
  const std::string dmr = Read("data.dmr");
  EXPECT_THAT(dmr, HasSubstr("<Enum name=\"named\" enum=\"/enum\"><Dim size=\"1\"/><Attribute "
                             "name=\"missing_value\" type=\"UInt8\"><Value>2</Value>"));
  EXPECT_THAT(dmr, HasSubstr("<UInt8 name=\"whole\"><Dim size=\"1\"/><Attribute "
                             "name=\"_FillValue\" type=\"UInt8\"><Value>3</Value></Attribute>\n"
                             "</UInt8>"));
  EXPECT_THAT(dmr,
              HasSubstr("name=\"_FillValue\" type=\"Float32\"><Value>0.5</Value></Attribute>"
                        "\n<Attribute name=\"missing_value\" type=\"Float64\"><Value>0.5"));
}

}  // namespace
}  // namespace ndlfs::fs
