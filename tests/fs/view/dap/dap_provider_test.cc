// SPDX-License-Identifier: MIT
#include "fs/view/dap/dap_provider.h"

#include <gmock/gmock.h>

#include <bit>
#include <limits>

#include "cache/chunk_cache.h"
#include "tests/support/memory_hierarchy.h"

namespace ndlfs::fs {
namespace {

using model::Datatype;
using testing::HasSubstr;
using testing::Not;

// Big-endian, as XDR has it.
std::string Big(uint64_t value, int bytes) {
  std::string out;
  for (int i = bytes; i-- > 0;) out += static_cast<char>(value >> (8 * i));
  return out;
}
std::string BigReal(double value) { return Big(std::bit_cast<uint64_t>(value), 8); }

template <typename T>
std::string Little(std::initializer_list<T> values) {
  std::string out;
  for (const T value : values) out += test::Raw(value);
  return out;
}

// t(y, x) and what else there is.
class DapTest : public testing::Test {
 protected:
  DapTest() {
    hierarchy_->AddGroup("/").entity = [] {
      model::Group group;
      group.attributes.push_back(
          {.name = "title", .type = Datatype::String(), .value = model::Value("a \"b\"")});
      return group;
    }();
    hierarchy_->AddDimCoord("/x",
                            Array(Datatype::Integer(8, true), {3}, Little<int64_t>({5, 6, 7})));
    hierarchy_->AddDimCoord("/y", Array(Datatype::Float64(), {2}, Little({0.5, 1.5})));
    model::Ndarray t;
    t.shape = {{2, "/y"}, {3, "/x"}};
    hierarchy_->AddArray(
        "/t", t,
        Array(Datatype::Integer(2, true), {2, 3}, Little<int16_t>({1, 2, 3, -4, 5, 6})));
    hierarchy_->AddArray("/wide", Array(Datatype::Integer(8, true), {2},
                                        Little<int64_t>({-1, (int64_t{1} << 53) + 1})));
    hierarchy_->AddArray("/small",
                         Array(Datatype::Integer(1, true), {2}, Little<int8_t>({-1, 1})));
    hierarchy_->AddArray("/we ird.1",
                         Array(Datatype::Integer(2, false), {1}, Little<uint16_t>({65535})));
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
  // What follows the description.
  std::string Values(const std::string& constraint) {
    const std::string all = Read("data[" + constraint + "].dods");
    const size_t begin = all.find("Data:\n");
    return begin == all.npos ? all : all.substr(begin + 6);
  }

  std::shared_ptr<test::MemoryHierarchy> hierarchy_ = std::make_shared<test::MemoryHierarchy>();
  cache::ChunkCache cache_{1 << 20};
  const DapProvider provider_;
};

TEST_F(DapTest, StructureHasGridsWhereAllDimensionsHaveCoordinates) {
  const std::string dds = Read("data.dds");
  EXPECT_THAT(dds, HasSubstr("    Grid {\n      ARRAY:\n        Int16 t[y = 2][x = 3];\n"
                             "      MAPS:\n        Float64 y[y = 2];\n        Float64 x[x = "
                             "3];\n    } t;\n"));
  EXPECT_THAT(dds, HasSubstr("    Float64 x[x = 3];\n"));
  EXPECT_THAT(dds, HasSubstr("    Int16 small["));
  EXPECT_THAT(dds, HasSubstr("    Int32 we%20ird%2E1["));
  EXPECT_TRUE(dds.starts_with("Dataset {\n"));
}

TEST_F(DapTest, ArrayWithADimensionTwiceIsNoGrid) {
  model::Ndarray square;
  square.shape = {{2, "/y"}, {2, "/y"}};
  hierarchy_->AddArray("/square", square,
                       Array(Datatype::Float64(), {2, 2}, Little({1., 2., 3., 4.})));
  EXPECT_THAT(Read("data.dds"), HasSubstr("    Float64 square[y = 2][y = 2];\n"));
}

TEST_F(DapTest, LettersAreTextsAlongTheirLastDimension) {
  hierarchy_->AddArray("/letters", Array(Datatype::FixedString(1, model::Charset::kAscii),
                                         {2, 5}, "helloworld"));
  hierarchy_->AddArray("/empty", test::Undecodable(Datatype::Float64(), {0}));
  EXPECT_THAT(Read("data.dds"), HasSubstr("    String letters[letters_dim0 = 2];\n"));
  EXPECT_THAT(Read("data.dds"), Not(HasSubstr("empty")));
  EXPECT_EQ(Values("letters[1]"), Big(1, 4) + Big(5, 4) + "world" + std::string(3, '\0'));
  EXPECT_THAT(Read("data.das"), HasSubstr("Int32 DODS.strlen 5;"));
}

// netCDF-C opens no dataset with a name that begins with '%'.
TEST_F(DapTest, NamesBeginWithALetterOrUnderscore) {
  hierarchy_->AddArray("/\u00fc", Array(Datatype::Integer(2, true), {1}, Little<int16_t>({7})));
  EXPECT_THAT(Read("data.dds"), HasSubstr("    Int16 _%C3%BC[_%C3%BC_dim0 = 1];\n"));
  EXPECT_EQ(Values("_%25C3%25BC"), Big(1, 4) + Big(1, 4) + Big(7, 4));
  EXPECT_EQ(Values("%C3%BC"), Values("_%25C3%25BC"));
}

TEST_F(DapTest, AttributesAreQuoted) {
  EXPECT_THAT(Read("data.das"), HasSubstr("String title \"a \\\"b\\\"\";"));
  EXPECT_THAT(Read("data.das"), HasSubstr("    t {\n"));
}

TEST_F(DapTest, GridIsCutWithItsMaps) {
  EXPECT_THAT(Read("data[t[1][0:2:2]].dds"), HasSubstr("Int16 t[y = 1][x = 2]"));
  EXPECT_EQ(Values("t[1][0:2:2]"), Big(2, 4) + Big(2, 4) + Big(0xfffffffc, 4) +
                                       Big(6, 4) +                                        // t
                                       Big(1, 4) + Big(1, 4) + BigReal(1.5) +             // y
                                       Big(2, 4) + Big(2, 4) + BigReal(5) + BigReal(7));  // x
}

TEST_F(DapTest, MembersOfAGridAreAStructure) {
  EXPECT_THAT(
      Read("data[t.t[0][1],t.x].dds"),
      HasSubstr("    Structure {\n        Int16 t[y = 1][x = 1];\n        Float64 x[x = "
                "3];\n    } t;\n"));
  EXPECT_EQ(Values("t.t[0][1]"), Big(1, 4) + Big(1, 4) + Big(2, 4));
}

// Each dot may end the name of a Grid: a name of many dots has to be read once, not once for
// each way to divide it.
TEST_F(DapTest, NamesOfManyDotsAreReadOnce) {
  hierarchy_->AddDimCoord("/t.t.x",
                          Array(Datatype::Integer(4, true), {3}, Little<int32_t>({7, 8, 9})));
  model::Ndarray grid;
  grid.shape = {{3, "/t.t.x"}};
  hierarchy_->AddArray("/t.t", grid,
                       Array(Datatype::Integer(2, true), {3}, Little<int16_t>({1, 2, 3})));
  EXPECT_EQ(Values("t.t.t.t.x[1]"), Values("t%252Et.t%252Et%252Ex[1]"));
  EXPECT_EQ(Values("t.t.t.t.x[1]"), Big(1, 4) + Big(1, 4) + Big(8, 4));
  EXPECT_EQ(Values("t.t[0]"), Values("t%252Et[0]"));
  for (size_t count : {40, 80, 160, 4000}) {
    std::string name;
    while (count-- > 0) name += "t.";
    EXPECT_THAT(Read("data[" + name + "].dods"), HasSubstr("no variable")) << name.size();
    EXPECT_THAT(Read("data[" + name + "x].dds"), HasSubstr("no variable")) << name.size();
  }
}

// netCDF-C takes the values of others where the order is another one.
TEST_F(DapTest, VariablesComeInTheOrderOfTheDataset) {
  EXPECT_EQ(Read("data[wide,t.x[0],y,t.t[0][0]].dds"),
            Read("data[y,t.t[0][0],t.x[0],wide].dds"));
  EXPECT_EQ(Values("wide,y"), Values("y,wide"));
  EXPECT_EQ(Values("y[0],y[1]"), Values("y[1]"));
  EXPECT_EQ(Values("t.t,t"), Values("t"));
  EXPECT_EQ(Values("t,t.t"), Values("t"));
}

TEST_F(DapTest, NumbersThatNoTypeHoldsAreMissing) {
  EXPECT_EQ(Values("wide"), Big(2, 4) + Big(2, 4) + BigReal(-1) +
                                BigReal(std::numeric_limits<double>::quiet_NaN()));
  EXPECT_EQ(Values("small"), Big(2, 4) + Big(2, 4) + Big(0xffffffff, 4) + Big(1, 4));
  EXPECT_EQ(Values("we%20ird%2E1"), Big(1, 4) + Big(1, 4) + Big(65535, 4));
  EXPECT_EQ(Values("we ird.1"), Values("we%2520ird%252E1"));
}

TEST_F(DapTest, WrongConstraintsHaveReasons) {
  EXPECT_EQ(Read("data[nothing].dds"),
            "no variable \"nothing\"; there are x, y, small, t, we%20ird%2E1, wide");
  EXPECT_THAT(Read("data[t[0]].dods"), HasSubstr("t has 2 dimensions, not 1"));
  EXPECT_THAT(Read("data[t[0][3]].dods"),
              HasSubstr("index 3 of dimension 1, which has the size 3"));
  EXPECT_THAT(Read("data[t&t>1].dods"), HasSubstr("selections"));
  EXPECT_THAT(Read("data[x.t].dods"), HasSubstr("no variable"));
  for (const char* name : {"data.dd", "dds", "data[.dds", "data].dds", "datax.dds",
                           "data[t]x.dds", "values.dds", "data"}) {
    EXPECT_EQ(Read(name), "none") << name;
  }
}

TEST_F(DapTest, NoListingShowsThem) {
  const auto group = MakeGroupInput(hierarchy_, "/", cache_);
  EXPECT_TRUE(provider_.Names(**group).empty());
  EXPECT_FALSE(provider_.Resolve(**group, "data.dds")->is_listed);
}

TEST_F(DapTest, TextsAreFilledUpToFourBytes) {
  hierarchy_->AddArray(
      "/word", Array(Datatype::FixedString(4, model::Charset::kAscii), {2}, "abcdefgh"));
  EXPECT_EQ(Values("word"), Big(2, 4) + Big(4, 4) + "abcd" + Big(4, 4) + "efgh");
}

TEST_F(DapTest, BytesThatAreReadWithoutASignAreTheNumbersThatTheyAre) {
  model::Ndarray array;
  array.shape = {{2, ""}};
  array.attributes = {
      {.name = "_Unsigned", .type = Datatype::String(), .value = model::Value("true")}};
  hierarchy_->AddArray("/u", array,
                       Array(Datatype::Integer(1, true), {2}, Little<int8_t>({-16, 70})));
  EXPECT_EQ(Values("u"), Big(2, 4) + Big(2, 4) + Big(240, 4) + Big(70, 4));
  EXPECT_THAT(Read("data.das"), Not(HasSubstr("_Unsigned")));
}

TEST_F(DapTest, AsciiHasARowOfTheLastDimensionInEachLine) {
  const auto values = [&](const std::string& constraint) -> std::string {
    const auto group = MakeGroupInput(hierarchy_, "/", cache_);
    const auto node = provider_.Make(**group, "data[" + constraint + "].ascii");
    if (!node) return node.error().message();
    const ViewPtr view = FileOf(*node);
    std::string all(view->FindSize().value(), '\0');
    EXPECT_TRUE(view->Read(0, std::as_writable_bytes(std::span(all))));
    const size_t begin = all.find("---\n");
    return begin == all.npos ? all : all.substr(begin + 4);
  };
  hierarchy_->AddArray("/cube", Array(Datatype::Integer(2, true), {2, 2, 2},
                                      Little<int16_t>({0, 1, 2, 3, 4, 5, 6, 7})));
  hierarchy_->AddArray(
      "/word", Array(Datatype::FixedString(4, model::Charset::kAscii), {2}, "abcdefgh"));
  hierarchy_->AddArray("/one", Array(Datatype::Integer(2, true), {}, Little<int16_t>({9})));
  EXPECT_EQ(values("x"), "x[3]\n5, 6, 7\n\n");
  EXPECT_EQ(values("cube"),
            "cube[2][2][2]\n[0][0], 0, 1\n[0][1], 2, 3\n[1][0], 4, 5\n[1][1], "
            "6, 7\n\n");
  EXPECT_EQ(values("word"), "word[2]\n\"abcd\", \"efgh\"\n\n");
  EXPECT_EQ(values("one"), "one, 9\n\n");
}

}  // namespace
}  // namespace ndlfs::fs
