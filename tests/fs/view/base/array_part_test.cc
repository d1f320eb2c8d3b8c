// SPDX-License-Identifier: MIT
//
// Slices of arrays, by index and by coordinate, and the values that packed numbers stand for.
#include "fs/view/base/array_part.h"

#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <bit>
#include <cmath>
#include <cstring>
#include <map>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "cache/array_reader.h"
#include "cache/chunk_cache.h"
#include "cache/prefetcher.h"
#include "fs/view/all_views.h"
#include "fs/view/base/block_statistics.h"
#include "fs/view/base/unpacked.h"
#include "fs/view/elements/box_source.h"
#include "fs/view/elements/selection.h"
#include "fs/view/elements/slice_elements.h"
#include "model/cf_time.h"
#include "tests/support/memory_hierarchy.h"
#include "tests/support/result.h"

namespace ndlfs::fs {
namespace {

using model::Calendar;
using model::FormatTime;
using model::IsDate;
using model::ParsePeriod;
using model::ParseTimeUnits;

using model::Datatype;
using model::ErrorCode;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<uint64_t> IndicesOf(std::string_view text, uint64_t extent) {
  const auto range = ParseIndexRange(text, extent);
  EXPECT_THAT(range, test::IsOk());
  std::vector<uint64_t> indices;
  for (uint64_t i = 0; range && i < range->count; ++i) indices.push_back(range->At(i));
  return indices;
}

TEST(SelectionTest, SlicesAsPythonDoes) {
  EXPECT_THAT(IndicesOf("2", 5), ElementsAre(2));
  EXPECT_THAT(IndicesOf("-1", 5), ElementsAre(4));
  EXPECT_THAT(IndicesOf(":", 3), ElementsAre(0, 1, 2));
  EXPECT_THAT(IndicesOf("1:10", 3), ElementsAre(1, 2));
  EXPECT_THAT(IndicesOf("-2:", 5), ElementsAre(3, 4));
  EXPECT_THAT(IndicesOf("::2", 5), ElementsAre(0, 2, 4));
  EXPECT_THAT(IndicesOf("::-1", 3), ElementsAre(2, 1, 0));
  EXPECT_THAT(IndicesOf("4:0:-2", 5), ElementsAre(4, 2));
  EXPECT_THAT(IndicesOf("-100:100:3", 5), ElementsAre(0, 3));
  EXPECT_THAT(IndicesOf("3:1", 5), ElementsAre());
  EXPECT_THAT(IndicesOf("::99999999999999999999999", 5), ElementsAre(0));
  EXPECT_THAT(IndicesOf(":", 0), ElementsAre());
}

TEST(SelectionTest, RefusesWhatIsNone) {
  for (const char* text : {"", "x", "1.5", "5", "-6", "99999999999999999999999", "::0",
                           "1:2:3:4", "--1", "1 ", "0x1", "-", "a:b"}) {
    EXPECT_THAT(ParseIndexRange(text, 5), test::IsError(ErrorCode::kNotFound, testing::_))
        << text;
  }
}

TEST(SelectionTest, TextIsReadAgain) {
  for (const char* text : {"0", "-1", "::-1", "::-2", "1:4:2", "3:3", "7:2:-3", ":", "2:3"}) {
    const auto range = ParseIndexRange(text, 8);
    ASSERT_THAT(range, test::IsOk());
    const std::string again = FormatSelection({*range}, {8});
    if (again == "...") continue;
    EXPECT_THAT(ParseIndexRange(again, 8), test::IsOkAnd(*range)) << text << " -> " << again;
  }
  EXPECT_EQ(FormatSelection({WholeRange(3), WholeRange(4)}, {3, 4}), "...");
  EXPECT_EQ(FormatSelection({*ParseIndexRange("1", 3), WholeRange(4)}, {3, 4}), "1");
}

// A store with an array of 7 * 9 * 10 numbers in chunks, and coordinates.
class ArrayPartTest : public ::testing::Test {
 protected:
  void SetUp() override {
    store_->AddGroup("/");
    model::Ndarray array;
    array.dimension_names = {"time", "lat", "x"};
    for (const uint64_t extent : kShape) array.shape.push_back({extent, ""});
    for (size_t i = 0; i < 7 * 9 * 10; ++i) numbers_.push_back(static_cast<int32_t>(i));
    store_->AddArray("/t", std::move(array), Chunked(numbers_, kShape, {2, 4, 10}));
    AddCoordinates("/lat", {40, 37.5, 35, 32.5, 30, 27.5, 25, 22.5, 20});
    auto& time = AddCoordinates("/time", {0, 0.25, 0.5, 0.75, 1, 31, 60});
    AddText(time, "units", "days since 2020-01-01 00:00");
  }

  static constexpr auto kShape = {uint64_t{7}, uint64_t{9}, uint64_t{10}};

  static void AddText(backends::Node& node, const std::string& name, const std::string& text) {
    std::visit(
        [&](auto& entity) {
          model::Attribute attribute;
          attribute.name = name;
          attribute.value = model::Value(text);
          entity.attributes.push_back(std::move(attribute));
        },
        node.entity);
  }
  static void AddNumber(backends::Node& node, const std::string& name, model::Value value,
                        const Datatype& type = Datatype::Float64()) {
    std::visit(
        [&](auto& entity) {
          model::Attribute attribute;
          attribute.name = name;
          attribute.type = type;
          attribute.value = std::move(value);
          entity.attributes.push_back(std::move(attribute));
        },
        node.entity);
  }
  template <typename T>
  static std::string Bytes(const std::vector<T>& numbers) {
    return {reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(T)};
  }
  backends::Node& AddCoordinates(const std::string& path, const std::vector<double>& numbers) {
    return store_->AddDimCoord(
        path, std::make_shared<test::MemoryArray>(
                  Datatype::Float64(), std::vector<uint64_t>{numbers.size()}, Bytes(numbers)));
  }
  // `without` is a chunk that does not decode.
  static std::shared_ptr<test::MemoryArray> Chunked(const std::vector<int32_t>& numbers,
                                                    std::vector<uint64_t> shape,
                                                    std::vector<uint64_t> chunk,
                                                    uint64_t without = ~uint64_t{0}) {
    std::map<uint64_t, std::string> chunks;
    const auto grid =
        backends::ChunkGrid::Regular(shape, chunk, backends::ChunkGrid::Edge::kCropped).value();
    for (uint64_t i = 0; i < shape[0]; ++i) {
      for (uint64_t j = 0; j < shape[1]; ++j) {
        for (uint64_t k = 0; k < shape[2]; ++k) {
          const uint64_t linear =
              (i / chunk[0] * grid.counts()[1] + j / chunk[1]) * grid.counts()[2] +
              k / chunk[2];
          chunks[linear] += test::Raw(numbers[(i * shape[1] + j) * shape[2] + k]);
        }
      }
    }
    chunks.erase(without);
    return std::make_shared<test::MemoryArray>(Datatype::Integer(4, true), std::move(shape),
                                               std::move(chunk), std::move(chunks));
  }
  ArrayInput Input(const std::string& path = "/t") {
    const auto group = MakeGroupInput(store_, "/", cache_);
    return (*group)->Load(path.substr(1))->array.value();
  }
  static std::string ReadAll(const View& view) {
    std::string out(view.size().value() + 10, '?');
    const auto count = view.Read(0, std::as_writable_bytes(std::span(out)));
    EXPECT_THAT(count, test::IsOk());
    out.resize(count.value_or(0));
    return out;
  }
  template <typename T>
  std::vector<T> Numbers(const std::string& file, const std::string& path = "/t") {
    const ArrayInput input = Input(path);
    const auto found = ArrayViews().Resolve(input, file);
    EXPECT_TRUE(found) << file;
    if (!found) return {};
    EXPECT_FALSE(found->refusal) << found->refusal->message();
    if (found->refusal) return {};
    const auto view = ArrayViews().MakeFile(input, found->name);
    EXPECT_THAT(view, test::IsOk());
    const std::string bytes = ReadAll(**view);
    std::vector<T> numbers(bytes.size() / sizeof(T));
    if (!numbers.empty()) std::memcpy(numbers.data(), bytes.data(), bytes.size());
    return numbers;
  }
  std::string Text(const std::string& file, const std::string& path = "/t") {
    const auto chars = Numbers<char>(file, path);
    return {chars.begin(), chars.end()};
  }
  std::string TrueName(const std::string& file, const std::string& path = "/t") {
    const auto found = ArrayViews().Resolve(Input(path), file);
    return found && !found->refusal ? found->name : "";
  }
  std::string Refusal(const std::string& file, const std::string& path = "/t") {
    const auto found = ArrayViews().Resolve(Input(path), file);
    if (!found || !found->refusal) return "";
    EXPECT_EQ(found->refusal->code(), ErrorCode::kNotFound);
    return found->refusal->message();
  }

  cache::ChunkCache cache_{1 << 20};
  std::shared_ptr<test::MemoryHierarchy> store_ = std::make_shared<test::MemoryHierarchy>();
  std::vector<int32_t> numbers_;
};

TEST_F(ArrayPartTest, SlicesHaveTheirElements) {
  EXPECT_THAT(Numbers<int32_t>("data[1,2,3:6].raw"), ElementsAre(113, 114, 115));
  EXPECT_THAT(Numbers<int32_t>("data[-1,-1,::-4].raw"), ElementsAre(629, 625, 621));
  EXPECT_THAT(Numbers<int32_t>("data[...,0].raw").size(), 63U);
  EXPECT_THAT(Numbers<int32_t>("data[::3,0,0].raw"), ElementsAre(0, 270, 540));
  EXPECT_THAT(Numbers<int32_t>("data[0,0,0].raw"), ElementsAre(0));
  EXPECT_THAT(Numbers<int32_t>("data[3:3].raw"), ElementsAre());
  EXPECT_EQ(Text("data[0,0,0:2].txt"), "          0\n          1\n");
}

TEST_F(ArrayPartTest, RandomSlicesAreThoseOfAllElements) {
  std::mt19937 random(7);
  const std::vector<uint64_t> shape = kShape;
  for (int round = 0; round < 300; ++round) {
    Selection selection;
    for (const uint64_t extent : shape) {
      const std::string text =
          random() % 4 == 0
              ? fmt::format("{}", random() % extent)
              : fmt::format(
                    "{}:{}:{}", random() % (extent + 2), random() % (extent + 2),
                    (random() % 2 == 0 ? 1 : -1) * (1 + static_cast<int>(random() % 3)));
      selection.push_back(*ParseIndexRange(text, extent));
    }
    std::vector<int32_t> expected;
    for (uint64_t i = 0; i < selection[0].count; ++i) {
      for (uint64_t j = 0; j < selection[1].count; ++j) {
        for (uint64_t k = 0; k < selection[2].count; ++k) {
          expected.push_back(numbers_[(selection[0].At(i) * 9 + selection[1].At(j)) * 10 +
                                      selection[2].At(k)]);
        }
      }
    }
    const ArrayInput part = MakePart(Input(), selection);
    ASSERT_EQ(part.elements->size(), expected.size() * 4);
    if (expected.empty()) continue;
    // Any part of it, also of elements, in both orders.
    const std::string whole = Bytes(expected);
    const size_t from = random() % whole.size();
    std::string out(random() % (whole.size() - from) + 1, '?');
    ASSERT_THAT(part.elements->Read(from, std::as_writable_bytes(std::span(out)),
                                    model::ByteOrder::kLittle, cache::ReadHint::kOnward),
                test::IsOk());
    ASSERT_EQ(out, whole.substr(from, out.size())) << FormatSelection(selection, shape);
    ASSERT_THAT(part.elements->Read(from, std::as_writable_bytes(std::span(out)),
                                    model::ByteOrder::kBig, cache::ReadHint::kOnward),
                test::IsOk());
    for (size_t i = 0; i < out.size(); ++i) {
      ASSERT_EQ(out[i], whole[((from + i) / 4) * 4 + 3 - (from + i) % 4]);
    }
  }
}

// The numbers of the array, transposed: dimension d is the dimension axes[d] of the array.
std::vector<int32_t> Transposed(const std::vector<int32_t>& numbers, std::vector<size_t> axes) {
  const std::vector<size_t> shape = {7, 9, 10};
  std::vector<int32_t> out;
  std::vector<size_t> at(3);
  for (at[axes[0]] = 0; at[axes[0]] < shape[axes[0]]; ++at[axes[0]]) {
    for (at[axes[1]] = 0; at[axes[1]] < shape[axes[1]]; ++at[axes[1]]) {
      for (at[axes[2]] = 0; at[axes[2]] < shape[axes[2]]; ++at[axes[2]]) {
        out.push_back(numbers[(at[0] * 9 + at[1]) * 10 + at[2]]);
      }
    }
  }
  return out;
}

TEST_F(ArrayPartTest, AxesStandInAnyOrder) {
  EXPECT_EQ(Numbers<int32_t>("data[axes:lat,x,time].raw"), Transposed(numbers_, {1, 2, 0}));
  EXPECT_EQ(Numbers<int32_t>("data[axes:x,time,lat].raw"), Transposed(numbers_, {2, 0, 1}));
  EXPECT_EQ(Numbers<int32_t>("data[axes:time,x,lat].raw"), Transposed(numbers_, {0, 2, 1}));
  EXPECT_EQ(Numbers<int32_t>("data[axes:time,lat,x].raw"), numbers_);
  EXPECT_EQ(Numbers<int32_t>("data[order=F].raw"), Transposed(numbers_, {2, 1, 0}));
  EXPECT_EQ(Numbers<int32_t>("data[axes:lat,x,time,order=F].raw"),
            Transposed(numbers_, {0, 2, 1}));
  EXPECT_THAT(Numbers<int32_t>("data[1,2:4,3:6,axes:x,lat].raw"),
              ElementsAre(113, 123, 114, 124, 115, 125));
  EXPECT_THAT(Numbers<int32_t>("data[1,3:1:-1,3:5,order=F].raw"),
              ElementsAre(123, 113, 124, 114));
  EXPECT_EQ(TrueName("data[lat=30,axes:x,time].npy"), "data[:,4,axes:#1,#0].npy");
  EXPECT_EQ(TrueName("data[axes:2,#1,time].npy"), "data[axes:#2,#1,#0].npy");
  EXPECT_EQ(TrueName("data[order=F,lat=30].npy"), "data[:,4,order=F].npy");
}

TEST_F(ArrayPartTest, NpyTellsShapeAndOrder) {
  EXPECT_THAT(Text("data[axes:lat,x,time].npy"),
              HasSubstr("'fortran_order': False, 'shape': (9, 10, 7)"));
  EXPECT_THAT(Text("data[order=F].npy"),
              HasSubstr("'fortran_order': True, 'shape': (7, 9, 10)"));
  EXPECT_THAT(Text("data[axes:lat,x,time,order=F].npy"),
              HasSubstr("'fortran_order': True, 'shape': (9, 10, 7)"));
  EXPECT_THAT(Text("data[order=F].npy", "/lat"),
              HasSubstr("'fortran_order': True, 'shape': (9,)"));
}

TEST_F(ArrayPartTest, LayoutsThatDoNotExist) {
  EXPECT_THAT(Refusal("data[axes:lat,x].npy"), HasSubstr("2 of 3 dimensions"));
  EXPECT_THAT(Refusal("data[axes:lat,x,x].npy"), HasSubstr("is there twice"));
  EXPECT_THAT(Refusal("data[axes:lat,x,lon].npy"), HasSubstr("no dimension is called \"lon\""));
  EXPECT_THAT(Refusal("data[axes:lat,x,3].npy"), HasSubstr("\"3\""));
  EXPECT_THAT(Refusal("data[axes:].npy"), HasSubstr("no dimension"));
  EXPECT_THAT(Refusal("data[axes:x,lat,time].vrt"), HasSubstr("order of the store"));
  EXPECT_THAT(Refusal("data[mean:2].jsonl"), HasSubstr("all elements"));
  EXPECT_THAT(Refusal("data[order=F].txt"), HasSubstr("only .npy and .raw"));
  EXPECT_THAT(Refusal("data[order=F].zarr"), HasSubstr("only .npy and .raw"));
}

TEST_F(ArrayPartTest, BlocksHaveOneNumberEach) {
  EXPECT_THAT(Numbers<double>("data[0,0,mean:x=4].raw"), ElementsAre(1.5, 5.5, 8.5));
  EXPECT_THAT(Numbers<double>("data[0,0,sum:x=4].raw"), ElementsAre(6, 22, 17));
  EXPECT_THAT(Numbers<int64_t>("data[0,0,count:x=4].raw"), ElementsAre(4, 4, 2));
  EXPECT_THAT(Numbers<int32_t>("data[0,0,min:x=4].raw"), ElementsAre(0, 4, 8));
  EXPECT_THAT(Numbers<int32_t>("data[0,0,max:x=4].raw"), ElementsAre(3, 7, 9));
  EXPECT_THAT(Numbers<double>("data[mean:-1,-1,-1].raw"), ElementsAre(314.5));
  EXPECT_THAT(Numbers<double>("data[0,mean:lat=8,x=6].raw"),
              ElementsAre(37.5, 42.5, 82.5, 87.5));
  EXPECT_THAT(Numbers<double>("data[0,mean:lat=8,x=6,axes:x,lat].raw"),
              ElementsAre(37.5, 82.5, 42.5, 87.5));
  EXPECT_THAT(Numbers<double>("data[:,0,0,mean:time=3].raw"), ElementsAre(90, 360, 540));
  EXPECT_THAT(Numbers<double>("data[0,0,::-1,mean:x=5].raw"), ElementsAre(7, 2));
  EXPECT_THAT(Numbers<double>("data[0,mean:].raw").size(), 90U);
  EXPECT_THAT(Text("data[mean:lat=4].npy"), HasSubstr("'<f8', 'fortran_order': False, "
                                                      "'shape': (7, 3, 10)"));
  EXPECT_THAT(Text("data[0,0,mean:x=5].txt"), HasSubstr(" 7.0\n"));
  EXPECT_EQ(TrueName("data[mean:x=4].npy"), "data[mean:,,4].npy");
  EXPECT_EQ(TrueName("data[lat=30,max:x=99,time=1].npy"), "data[:,4,max:,10].npy");
}

TEST_F(ArrayPartTest, BlocksLeaveMissingElementsOut) {
  auto& node =
      store_->AddArray("/m", std::make_shared<test::MemoryArray>(
                                 Datatype::Integer(2, true), std::vector<uint64_t>{8},
                                 Bytes(std::vector<int16_t>{1, -9, 3, 8, -9, -9, 7, 5})));
  AddNumber(node, "_FillValue", model::Value(-9), Datatype::Integer(2, true));
  AddNumber(node, "scale_factor", model::Value(0.5));
  EXPECT_THAT(Numbers<double>("data[mean:2].raw", "/m"),
              ElementsAre(1, 5.5, testing::IsNan(), 6));
  EXPECT_THAT(Numbers<double>("values[mean:2].raw", "/m"),
              ElementsAre(0.5, 2.75, testing::IsNan(), 3));
  EXPECT_THAT(Numbers<double>("data[sum:2].raw", "/m"),
              ElementsAre(1, 11, testing::IsNan(), 12));
  EXPECT_THAT(Numbers<int64_t>("data[count:2].raw", "/m"), ElementsAre(1, 2, 0, 2));
  EXPECT_THAT(Numbers<int16_t>("data[min:2].raw", "/m"), ElementsAre(1, 3, -9, 5));
  EXPECT_THAT(Numbers<int16_t>("data[max:4].raw", "/m"), ElementsAre(8, 7));
  EXPECT_THAT(Numbers<float>("values[max:2].raw", "/m").size(), 8U) << "float64";
  store_->AddArray(
      "/f", std::make_shared<test::MemoryArray>(Datatype::Float32(), std::vector<uint64_t>{4},
                                                Bytes(std::vector<float>{NAN, 2, NAN, NAN})));
  EXPECT_THAT(Numbers<double>("data[mean:2].raw", "/f"), ElementsAre(2, testing::IsNan()));
  EXPECT_THAT(Numbers<float>("data[max:2].raw", "/f"), ElementsAre(2, testing::IsNan()));
}

TEST_F(ArrayPartTest, BlocksThatDoNotExist) {
  EXPECT_THAT(Refusal("data[mean:lat=0].npy"), HasSubstr("mean: expected a number"));
  EXPECT_THAT(Refusal("data[mean:lat=x].npy"), HasSubstr("mean: expected a number"));
  EXPECT_THAT(Refusal("data[sum:lon=2].npy"), HasSubstr("sum: no dimension is called"));
  EXPECT_THAT(Refusal("data[max:lat=2,3].npy"), HasSubstr("some extents with names"));
  EXPECT_THAT(Refusal("data[max:1,1,1,1].npy"), HasSubstr("4 extents for 3 dimensions"));
  EXPECT_THAT(Refusal("data[0,0,0,mean:].npy"), HasSubstr("1 extents for 0 dimensions"));
  EXPECT_THAT(TrueName("data[mean:lat=1099511627776].npy"), "data[mean:,9].npy");
  auto& node = store_->AddArray("/m", std::make_shared<test::MemoryArray>(
                                          Datatype::Integer(2, true), std::vector<uint64_t>{2},
                                          Bytes(std::vector<int16_t>{1, 2})));
  AddNumber(node, "add_offset", model::Value(10.0));
  AddNumber(node, "scale_factor", model::Value(-1.0));
  EXPECT_THAT(Refusal("data[sum:2].npy", "/m"), HasSubstr("values[sum:...]"));
  EXPECT_THAT(Refusal("data[min:2].npy", "/m"), HasSubstr("negative scale_factor"));
  EXPECT_THAT(Numbers<double>("data[mean:2].raw", "/m"), ElementsAre(1.5));
  EXPECT_THAT(Numbers<double>("values[sum:2].raw", "/m"), ElementsAre(17));
  store_->AddArray("/text", std::make_shared<test::MemoryArray>(
                                Datatype::FixedString(2, model::Charset::kAscii),
                                std::vector<uint64_t>{2}, "abcd"));
  EXPECT_THAT(Refusal("data[mean:2].npy", "/text"), HasSubstr("no numbers"));
  EXPECT_THAT(Text("data[order=F].raw", "/text"), "abcd");
}

// Random arrays, blocks, slices and orders, and random reads of each.
TEST_F(ArrayPartTest, RandomBlocksAreThoseOfAllElements) {
  std::mt19937 random(11);
  for (int round = 0; round < 200; ++round) {
    std::vector<uint64_t> each;
    for (const uint64_t extent : kShape) each.push_back(1 + random() % (extent + 1));
    std::vector<double> sums((7 / each[0] + 1) * (9 / each[1] + 1) * (10 / each[2] + 1), 0);
    const uint64_t rows = (9 + each[1] - 1) / each[1];
    const uint64_t columns = (10 + each[2] - 1) / each[2];
    for (uint64_t i = 0; i < numbers_.size(); ++i) {
      const uint64_t block =
          (i / 90 / each[0] * rows + i / 10 % 9 / each[1]) * columns + i % 10 / each[2];
      sums[block] += numbers_[i];
    }
    sums.resize((7 + each[0] - 1) / each[0] * rows * columns);
    const auto made = MakeBlocks(Input(), {.statistic = Statistic::kSum, .extents = each});
    ASSERT_THAT(made, test::IsOk());
    const std::string whole = Bytes(sums);
    ASSERT_EQ(made->elements->size(), whole.size());
    const size_t from = random() % whole.size();
    std::string out(random() % (whole.size() - from) + 1, '?');
    ASSERT_THAT(made->elements->Read(from, std::as_writable_bytes(std::span(out)),
                                     model::ByteOrder::kLittle, cache::ReadHint::kOnward),
                test::IsOk());
    ASSERT_EQ(out, whole.substr(from, out.size())) << fmt::format("{}", fmt::join(each, " "));
  }
}

// Boxes of blocks are made chunk by chunk of the source, and are the same.
TEST_F(ArrayPartTest, RandomBoxesOfBlocksAreThoseOfAllElements) {
  std::mt19937 random(12);
  for (int round = 0; round < 200; ++round) {
    std::vector<uint64_t> each;
    for (const uint64_t extent : kShape) each.push_back(1 + random() % (extent + 1));
    const auto statistic = static_cast<Statistic>(random() % 7);
    const auto made = MakeBlocks(Input(), {.statistic = statistic, .extents = each});
    ASSERT_THAT(made, test::IsOk());
    const size_t item = made->dtype.size();
    std::string whole(made->elements->size(), '?');
    ASSERT_THAT(made->elements->Read(0, std::as_writable_bytes(std::span(whole)),
                                     model::ByteOrder::kLittle, cache::ReadHint::kOnward),
                test::IsOk());
    std::vector<uint64_t> begin;
    std::vector<uint64_t> count;
    for (const uint64_t extent : made->shape) {
      begin.push_back(random() % extent);
      count.push_back(1 + random() % (extent - begin.back()));
    }
    std::string expected;
    for (uint64_t i = 0; i < count[0] * count[1]; ++i) {
      const uint64_t row = (begin[0] + i / count[1]) * made->shape[1] + begin[1] + i % count[1];
      expected += whole.substr((row * made->shape[2] + begin[2]) * item, count[2] * item);
    }
    const auto* boxes = dynamic_cast<const BoxSource*>(made->elements.get());
    ASSERT_NE(boxes, nullptr);
    std::string out(expected.size(), '?');
    uint64_t done = 0;
    ASSERT_THAT(boxes->ReadBox(begin, count, std::as_writable_bytes(std::span(out)), done),
                test::IsOk());
    ASSERT_EQ(out, expected) << fmt::format("{}", fmt::join(each, " "));
    EXPECT_GT(done, 0u);
  }
}

TEST_F(ArrayPartTest, RoundedMeansAreExact) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  const auto means = [&](const std::string& name, Datatype type, std::string bytes,
                         uint64_t count) {
    auto& node = store_->AddArray(
        name, std::make_shared<test::MemoryArray>(type, std::vector<uint64_t>{count}, bytes));
    AddNumber(node, "_FillValue", model::Value(-1));
    AddText(node, "place", "is not kept");
    AddText(node, "units", "K");
    auto made = MakeBlocks(Input(name), {.statistic = Statistic::kRoundedMean, .extents = {2}});
    EXPECT_THAT(made, test::IsOk());
    EXPECT_EQ(made->dtype, type);
    EXPECT_EQ(made->node->attributes().size(), 2u);
    std::string out(made->elements->size(), '?');
    EXPECT_THAT(made->elements->Read(0, std::as_writable_bytes(std::span(out)),
                                     model::ByteOrder::kLittle, cache::ReadHint::kOnward),
                test::IsOk());
    return out;
  };
  EXPECT_EQ(means("/short", Datatype::Integer(2, true),
                  Bytes(std::vector<int16_t>{1, 2, 2, 3, -2, -3, -5, -6, -1, 7, -1, -1, 32767,
                                             32766, -1}),
                  15),
            Bytes(std::vector<int16_t>{2, 2, -2, -6, 7, -1, 32766, -1}));
  EXPECT_EQ(
      means("/long", Datatype::Integer(8, true),
            Bytes(std::vector<int64_t>{kMost, kMost - 2, kMost, kMost, -kMost, -kMost}), 6),
      Bytes(std::vector<int64_t>{kMost - 1, kMost, -kMost}));
  EXPECT_EQ(means("/float", Datatype::Float32(),
                  Bytes(std::vector<float>{1, 2, -1, 4, -1, -1, 0.5F}), 7),
            Bytes(std::vector<float>{1.5F, 4, -1, 0.5F}));
}

TEST_F(ArrayPartTest, CoordinatesOfBlocksAreTheirCentres) {
  const ArrayInput input = Input();
  auto blocks = MakeBlocks(input, {.statistic = Statistic::kMax, .extents = {2, 4, 1}});
  ASSERT_THAT(blocks, test::IsOk());
  const auto centres = FindCoordinate(*blocks, 1);
  ASSERT_THAT(centres, test::IsOk());
  ASSERT_TRUE(*centres);
  EXPECT_EQ((*centres)->shape, std::vector<uint64_t>{3});
  std::vector<double> numbers(3);
  ASSERT_THAT((*centres)->elements->Read(0, std::as_writable_bytes(std::span(numbers)),
                                         model::ByteOrder::kLittle, cache::ReadHint::kOnward),
              test::IsOk());
  EXPECT_THAT(numbers, ElementsAre(36.25, 26.25, 20));
  const ArrayInput turned =
      MakePart(input, {WholeRange(7), WholeRange(9), WholeRange(10)}, {2, 1, 0});
  const auto time = FindCoordinate(turned, 2);
  ASSERT_THAT(time, test::IsOk());
  EXPECT_EQ((*time)->node->array().name, "time");
  EXPECT_EQ(DimensionName(turned, 0), "x");
}

TEST_F(ArrayPartTest, OnlyChunksOfThePartAreDecoded) {
  store_->AddArray("/broken", Chunked(numbers_, kShape, {2, 4, 10}, /*without=*/4));
  // Chunk 4 has indices 2 and 3, 4 to 7.
  EXPECT_EQ(Numbers<int32_t>("data[:2].raw", "/broken").size(), 180U);
  EXPECT_EQ(Numbers<int32_t>("data[::4,4].raw", "/broken").size(), 20U);
  EXPECT_EQ(Numbers<int32_t>("data[2,::-8].raw", "/broken").size(), 20U);
  const ArrayInput part =
      MakePart(Input("/broken"),
               {{.begin = 3, .count = 1}, {.begin = 7, .count = 1}, {.begin = 0, .count = 1}});
  std::string out(4, '?');
  EXPECT_THAT(part.elements->Read(0, std::as_writable_bytes(std::span(out)),
                                  model::ByteOrder::kLittle, cache::ReadHint::kOnward),
              test::IsError(ErrorCode::kCorrupt, HasSubstr("chunk ")));
}

TEST_F(ArrayPartTest, AReaderThatGoesForwardGetsTheSame) {
  const ArrayInput input = Input();
  const auto view = ArrayViews().MakeFile(input, "data[::-1,1:8:2].raw");
  ASSERT_THAT(view, test::IsOk());
  cache::Prefetcher prefetcher(cache_, 2);
  const auto file = (*view)->ForReader(prefetcher);
  ASSERT_NE(file, nullptr);
  const std::string whole = ReadAll(**view);
  std::string out;
  for (size_t offset = 0; offset < whole.size(); offset += 100) {
    std::string piece(100, '?');
    const auto count = file->Read(offset, std::as_writable_bytes(std::span(piece)));
    ASSERT_THAT(count, test::IsOk());
    out += piece.substr(0, *count);
  }
  EXPECT_EQ(out, whole);
}

TEST_F(ArrayPartTest, NamesOfOneSliceAreOne) {
  EXPECT_EQ(TrueName("data[-1].npy"), "data[6].npy");
  EXPECT_EQ(TrueName("data[6,...].npy"), "data[6].npy");
  EXPECT_EQ(TrueName("data[time=#6].npy"), "data[6].npy");
  EXPECT_EQ(TrueName("data[lat=30].npy"), "data[:,4].npy");
  EXPECT_EQ(TrueName("data[0,lat=20:30].npy"), "data[0,4:9].npy");
  EXPECT_EQ(TrueName("data[lat=30:20,x=3].npy"), "data[:,4:9,3].npy");
  EXPECT_EQ(TrueName("data[0,lat=30,2:4].npy"), "data[0,4,2:4].npy");
  EXPECT_EQ(TrueName("data[...,lat=30,4].npy"), "data[:,4,4].npy");
  EXPECT_EQ(TrueName("data[lat=~31].npy"), "data[:,4].npy");
  EXPECT_EQ(TrueName("data[lat=~31.25].npy"), "data[:,3].npy");
  EXPECT_EQ(TrueName("data[lat=24:20:2].npy"), "data[:,7:8].npy") << "one of two";
  EXPECT_EQ(TrueName("data[lat=90:100].npy"), "data[:,0:0].npy");
}

TEST_F(ArrayPartTest, TimesAreFoundByDate) {
  EXPECT_EQ(TrueName("data[time=2020-01-01].npy"), "data[0:4].npy");
  EXPECT_EQ(TrueName("data[time=2020-01-01T06:00].npy"), "data[1].npy");
  EXPECT_EQ(TrueName("data[time=2020-01-01T06:00:00Z].npy"), "data[1].npy");
  EXPECT_EQ(TrueName("data[time=2020-02-01].npy"), "data[5].npy");
  EXPECT_EQ(TrueName("data[time=2020-02].npy"), "data[5:6].npy");
  EXPECT_EQ(TrueName("data[time=2020].npy"), "data[...].npy");
  EXPECT_EQ(TrueName("data[time=2020-01-01T12:00:2020-01-02].npy"), "data[2:5].npy");
  EXPECT_EQ(TrueName("data[time=2020-01-01T12:00:2020-01-02T00:00:2].npy"), "data[2:5:2].npy");
  EXPECT_EQ(TrueName("data[time=:2020-01].npy"), "data[0:5].npy");
  EXPECT_EQ(TrueName("data[time=~2020-02-20].npy"), "data[6].npy");
  EXPECT_EQ(TrueName("data[time=0.5].npy"), "data[2].npy") << "as it is stored";
  EXPECT_THAT(Refusal("data[time=2021-01-01].npy"), HasSubstr("no coordinate in"));
  EXPECT_THAT(Refusal("data[time=2021-02-30].npy"), HasSubstr("no coordinate"));
}

// As xarray's sel().
TEST_F(ArrayPartTest, AnOpenEndIsTheEndOfTheArray) {
  EXPECT_EQ(TrueName("data[lat=30:].npy"), "data[:,4:9].npy") << "they descend";
  EXPECT_EQ(TrueName("data[lat=:30].npy"), "data[:,0:5].npy");
  EXPECT_EQ(TrueName("data[lat=31:].npy"), "data[:,4:9].npy");
  EXPECT_EQ(TrueName("data[lat=:31].npy"), "data[:,0:4].npy");
  EXPECT_EQ(TrueName("data[time=2020-02:].npy"), "data[5:7].npy");
  EXPECT_EQ(TrueName("data[time=:2020-01-01].npy"), "data[0:4].npy");
  auto& time = AddCoordinates("/time", {60, 31, 1, 0.75, 0.5, 0.25, 0});
  AddText(time, "units", "days since 2020-01-01 00:00");
  EXPECT_EQ(TrueName("data[time=2020-01-01:].npy"), "data[3:7].npy") << "that day and earlier";
  EXPECT_EQ(TrueName("data[time=:2020-01-01].npy"), "data[...].npy");
  EXPECT_EQ(TrueName("data[time=:2020-02].npy"), "data[0:2].npy");
  EXPECT_EQ(TrueName("data[time=2020-02:2020-01-02].npy"), "data[1:3].npy");
  EXPECT_EQ(TrueName("data[time=2020-01-02:2020-02].npy"), "data[1:3].npy");
}

TEST_F(ArrayPartTest, BadSlicesSayWhatIsWrong) {
  EXPECT_THAT(Refusal("data[7].npy"), HasSubstr("outside of a dimension of 7"));
  EXPECT_THAT(Refusal("data[0,0,0,0].npy"), HasSubstr("4 indices for 3 dimensions"));
  EXPECT_THAT(Refusal("data[].npy"), HasSubstr("neither an index nor a slice"));
  EXPECT_THAT(Refusal("data[...,...].npy"), HasSubstr("more than one"));
  EXPECT_THAT(Refusal("data[time=#1,time=#0].npy"), HasSubstr("twice"));
  EXPECT_THAT(Refusal("data[depth=3].npy"), HasSubstr("no dimension is called \"depth\""));
  EXPECT_THAT(Refusal("data[lat=31].npy"),
              HasSubstr("no coordinate \"31\"; ~31 finds the nearest one (30)"));
  EXPECT_THAT(Refusal("data[lat=nan].npy"), HasSubstr("no coordinate"));
  EXPECT_THAT(Refusal("data[lat=].npy"), HasSubstr("no coordinate"));
  EXPECT_THAT(Refusal("data[" + std::string(1'000'000, '9') + "].npy"), HasSubstr("outside"));
  EXPECT_FALSE(ArrayViews().Resolve(Input(), "data[0"));
  EXPECT_FALSE(ArrayViews().Resolve(Input(), "data[0].png"));
  EXPECT_FALSE(ArrayViews().Resolve(Input(), "data[0]npy"));
}

// Lines, whose size is found first.
class JsonPartTest : public ArrayPartTest {
 protected:
  std::string Lines(const std::string& file, const std::string& path = "/t") {
    const ArrayInput input = Input(path);
    const auto found = ArrayViews().Resolve(input, file);
    EXPECT_TRUE(found && !found->refusal) << file;
    if (!found || found->refusal) return "";
    const auto view = ArrayViews().MakeFile(input, found->name);
    EXPECT_THAT(view, test::IsOk());
    EXPECT_FALSE((*view)->size()) << "nothing is decoded before somebody asks";
    const auto size = (*view)->FindSize();
    EXPECT_THAT(size, test::IsOk());
    std::string out(size.value_or(0), '?');
    // From its end on, so that places have to be found.
    for (size_t at = out.size(); at > 0;) {
      const size_t count = std::min<size_t>(at, 3);
      at -= count;
      const auto part = std::as_writable_bytes(std::span(out)).subspan(at, count);
      EXPECT_THAT((*view)->Read(at, part), test::IsOkAnd(count));
    }
    return out;
  }
  void AddTexts(const std::string& path, const std::vector<std::string>& texts) {
    std::vector<std::string> elements;
    for (const std::string& text : texts) elements.push_back(test::Counted(text));
    store_->AddDimCoord(path, std::make_shared<test::MemoryArray>(
                                  Datatype::String(), std::vector<uint64_t>{texts.size()},
                                  test::ElementStream(elements)));
  }
};

TEST_F(JsonPartTest, NumbersOfASliceAreLines) {
  EXPECT_EQ(Lines("data[1,2,3:6].jsonl"), "113\n114\n115\n");
  EXPECT_EQ(Lines("data[::-3,0,::5].jsonl"), "540\n545\n270\n275\n0\n5\n");
  EXPECT_EQ(Lines("data[0,0,0].jsonl"), "0\n");
  EXPECT_EQ(Lines("data[lat=20:25,time=2020-01-02,x=0].jsonl"), "420\n430\n440\n");
}

TEST_F(JsonPartTest, RandomSlicesHaveTheLinesOfTheirElements) {
  std::mt19937 random(7);
  for (int i = 0; i < 60; ++i) {
    const auto item = [&](int extent) {
      const int step = static_cast<int>(random() % 5) - 2;
      return fmt::format("{}:{}:{}", random() % extent, random() % (extent + 1),
                         step == 0 ? 3 : step);
    };
    const std::string slice = fmt::format("[{},{},{}]", item(7), item(9), item(10));
    std::string expected;
    for (const int32_t number : Numbers<int32_t>("data" + slice + ".raw")) {
      expected += fmt::format("{}\n", number);
    }
    if (!expected.empty()) {
      EXPECT_EQ(Lines("data" + slice + ".jsonl"), expected) << slice;
    }
  }
}

TEST_F(JsonPartTest, ElementsOfVariableSizeAreCutToo) {
  AddTexts("/name", {"zero", "", "two \"2\"", "three"});
  EXPECT_EQ(Lines("data[1:3].jsonl", "/name"), "\"\"\n\"two \\\"2\\\"\"\n");
  EXPECT_EQ(Lines("data[::-2].jsonl", "/name"), "\"three\"\n\"\"\n");
  EXPECT_EQ(Lines("data[-1].jsonl", "/name"), "\"three\"\n");
}

TEST_F(JsonPartTest, AnEmptySliceHasNoLines) {
  const ArrayInput input = Input();
  const auto view = ArrayViews().MakeFile(input, "data[3:3].jsonl");
  ASSERT_THAT(view, test::IsOk());
  EXPECT_THAT((*view)->FindSize(), test::IsOkAnd(0U));
}

TEST_F(JsonPartTest, ASliceMayBeSmallEnoughWhereTheArrayIsNot) {
  const auto group = MakeGroupInput(store_, "/", cache_, {.max_bytes = 100});
  const ArrayInput input = (*group)->Load("t")->array.value();
  EXPECT_TRUE(ArrayViews().Resolve(input, "data.jsonl")->refusal);
  EXPECT_TRUE(ArrayViews().Resolve(input, "data[0].jsonl")->refusal);
  EXPECT_FALSE(ArrayViews().Resolve(input, "data[0,0].jsonl")->refusal);
}

TEST_F(JsonPartTest, ABrokenChunkIsAnErrorOfItsSlicesAlone) {
  store_->AddArray("/b", Chunked(numbers_, kShape, {2, 4, 10}, /*without=*/0));
  EXPECT_EQ(Lines("data[6,8,:2].jsonl", "/b"), "620\n621\n");
  const auto view = ArrayViews().MakeFile(Input("/b"), "data[0,0].jsonl");
  ASSERT_THAT(view, test::IsOk());
  EXPECT_THAT((*view)->FindSize(), test::IsError(ErrorCode::kCorrupt, HasSubstr("broken")));
}

TEST_F(JsonPartTest, UnpackedValuesHaveNone) {
  AddNumber(
      *[&] {
        return &store_->AddArray("/p", std::make_shared<test::MemoryArray>(
                                           Datatype::Float32(), std::vector<uint64_t>{2},
                                           test::Raw(1.0F) + test::Raw(2.0F)));
      }(),
      "_FillValue", model::Value(2.0), Datatype::Float32());
  ASSERT_TRUE(ArrayViews().Resolve(Input("/p"), "values[:1].npy"));
  EXPECT_FALSE(ArrayViews().Resolve(Input("/p"), "values.jsonl"));
  EXPECT_FALSE(ArrayViews().Resolve(Input("/p"), "values[:1].jsonl"));
}

TEST_F(JsonPartTest, TextsAreCoordinates) {
  model::Ndarray array;
  array.dimension_names = {"station"};
  array.shape = {{4, ""}};
  store_->AddArray("/s", std::move(array),
                   std::make_shared<test::MemoryArray>(Datatype::Integer(1, false),
                                                       std::vector<uint64_t>{4}, "abcd"));
  AddTexts("/station", {"Bern", "a/b", "3", "Bern"});
  EXPECT_EQ(TrueName("data[station=3].npy", "/s"), "data[2].npy");
  EXPECT_EQ(TrueName("data[station=a%2Fb].npy", "/s"), "data[1].npy");
  EXPECT_EQ(TrueName("data[station=#3].npy", "/s"), "data[3].npy");
  EXPECT_THAT(Refusal("data[station=Bern].npy", "/s"), HasSubstr("2 coordinates are \"Bern\""));
  EXPECT_THAT(Refusal("data[station=Bonn].npy", "/s"), HasSubstr("no coordinate \"Bonn\""));
  EXPECT_THAT(Refusal("data[station=3:4].npy", "/s"), HasSubstr("no coordinate \"3:4\""));
}

TEST_F(ArrayPartTest, HalfFloatsAreCoordinates) {
  model::Ndarray array;
  array.dimension_names = {"h"};
  array.shape = {{4, ""}};
  store_->AddArray("/s", std::move(array),
                   std::make_shared<test::MemoryArray>(Datatype::Integer(1, false),
                                                       std::vector<uint64_t>{4}, "abcd"));
  // 0.5, 0.0999755859375 (the nearest to 0.1), -1, -2.
  store_->AddDimCoord("/h", std::make_shared<test::MemoryArray>(
                                Datatype::Float("float16", 2), std::vector<uint64_t>{4},
                                std::string("\x00\x38\x66\x2e\x00\xbc\x00\xc0", 8)));
  EXPECT_EQ(TrueName("data[h=0.1].npy", "/s"), "data[1].npy");
  EXPECT_EQ(TrueName("data[h=-1:0.2].npy", "/s"), "data[1:3].npy");
  EXPECT_EQ(TrueName("data[h=~-1.9].npy", "/s"), "data[3].npy");
  EXPECT_THAT(Refusal("data[h=0.3].npy", "/s"), HasSubstr("no coordinate \"0.3\""));
}

TEST_F(ArrayPartTest, LeastAndLargestOfSmallFloatsHaveTheirType) {
  store_->AddArray("/small", std::make_shared<test::MemoryArray>(
                                 Datatype::Float("float16", 2), std::vector<uint64_t>{4},
                                 std::string("\x00\x38\x66\x2e\x00\xbc\x00\xc0", 8)));
  EXPECT_THAT(Text("data[min:2].npy", "/small"), HasSubstr("'descr': '<f2'"));
  EXPECT_THAT(Numbers<uint16_t>("data[min:2].raw", "/small"), ElementsAre(0x2e66, 0xc000));
  EXPECT_THAT(Numbers<uint16_t>("data[max:2].raw", "/small"), ElementsAre(0x3800, 0xbc00));
  EXPECT_THAT(Numbers<double>("data[mean:4].raw", "/small"), ElementsAre(::testing::_));
}

// 10^8 coordinates 0, 2, 4 ..., which counts the chunks that are decoded.
class ManyCoordinates final : public backends::ArraySource {
 public:
  static constexpr uint64_t kCount = 100'000'000;
  static constexpr uint64_t kChunk = 65'536;
  ManyCoordinates() {
    spec_.dtype = Datatype::Integer(4, true);
    spec_.shape = {kCount};
    spec_.grid =
        backends::ChunkGrid::Regular({kCount}, {kChunk}, backends::ChunkGrid::Edge::kFull)
            .value();
  }
  const backends::ArraySpec& spec() const override { return spec_; }
  model::Result<backends::ChunkLocation> Locate(std::span<const uint64_t> index,
                                                backends::IndexCache&) const override {
    backends::ChunkLocation location;
    location.generate = [this, begin = index[0] * kChunk](uint64_t) {
      ++decoded_;
      std::vector<int32_t> numbers(kChunk);
      for (uint64_t i = 0; i < kChunk; ++i) numbers[i] = static_cast<int32_t>(2 * (begin + i));
      return model::Result<backends::Bytes>(
          backends::Bytes::Copy(std::as_bytes(std::span(numbers))));
    };
    return location;
  }
  int decoded() const { return decoded_; }

 private:
  backends::ArraySpec spec_;
  mutable std::atomic<int> decoded_{0};
};

TEST_F(ArrayPartTest, AHundredMillionCoordinatesAreFoundInAFewChunks) {
  model::Ndarray array;
  array.dimension_names = {"id"};
  array.shape = {{ManyCoordinates::kCount, ""}};
  store_->AddArray("/s", std::move(array),
                   test::Undecodable(Datatype::Float64(), {ManyCoordinates::kCount}));
  const auto many = std::make_shared<ManyCoordinates>();
  store_->AddDimCoord("/id", many);
  EXPECT_EQ(TrueName("data[id=123456].npy", "/s"), "data[61728].npy");
  EXPECT_EQ(TrueName("data[id=~199999999].npy", "/s"), "data[99999999].npy");
  EXPECT_EQ(TrueName("data[id=1001:150000000].npy", "/s"), "data[501:75000001].npy");
  EXPECT_THAT(Refusal("data[id=123457].npy", "/s"), HasSubstr("no coordinate \"123457\""));
  // 1,526 chunks; each of the six ends takes at most log2 of that, and the two ends of all.
  EXPECT_LE(many->decoded(), 4 * 2 * 13);
  EXPECT_GT(many->decoded(), 0);
}

TEST_F(ArrayPartTest, CoordinatesThatAreNotSortedAreRefused) {
  AddCoordinates("/lat", {40, 37.5, 35, 36, 30, 27.5, 25, 22.5, 20});
  EXPECT_THAT(Refusal("data[lat=30].npy"), HasSubstr("neither ascend nor descend at index 3"));
  AddCoordinates("/lat", {40, 37.5, NAN, 32.5, 30, 27.5, 25, 22.5, 20});
  EXPECT_THAT(Refusal("data[lat=30].npy"), HasSubstr("coordinate 2 is missing or not finite"));
}

TEST_F(ArrayPartTest, HeadersOfAPartAreOfThePart) {
  const std::string nrrd = Text("data[0,2:8:2].nhdr");
  EXPECT_THAT(nrrd, HasSubstr("data[0,2:7:2].raw"));
  EXPECT_THAT(nrrd, HasSubstr("sizes: 10 3"));
  const ArrayInput part = MakePart(Input(), {{.begin = 0, .count = 1, .is_dropped = true},
                                             {.begin = 8, .count = 3, .step = -2},
                                             WholeRange(10)});
  const auto latitude = FindCoordinate(part, 0);
  ASSERT_THAT(latitude, test::IsOk());
  ASSERT_TRUE(latitude->has_value());
  double numbers[3];
  ASSERT_THAT((*latitude)->elements->Read(0, std::as_writable_bytes(std::span(numbers)),
                                          model::ByteOrder::kLittle, cache::ReadHint::kOnward),
              test::IsOk());
  EXPECT_THAT(numbers, ElementsAre(20, 25, 30));
}

TEST(CfTimeTest, CalendarsHaveTheirDays) {
  EXPECT_EQ(DaysOf(Calendar::kStandard, {2000, 3, 1}), 11017);
  EXPECT_EQ(DaysOf(Calendar::kProlepticGregorian, {2000, 3, 1}), 11017);
  EXPECT_EQ(DaysOf(Calendar::kNoLeap, {2000, 3, 1}), 30 * 365 + 59);
  EXPECT_EQ(DaysOf(Calendar::kAllLeap, {2001, 3, 1}), 31 * 366 + 60);
  EXPECT_EQ(DaysOf(Calendar::k360Day, {1971, 2, 30}), 360 + 59);
  EXPECT_EQ(DaysOf(Calendar::kStandard, {1582, 10, 15}),
            DaysOf(Calendar::kStandard, {1582, 10, 4}) + 1);
  EXPECT_FALSE(IsDate(Calendar::kStandard, {1582, 10, 10}));
  EXPECT_TRUE(IsDate(Calendar::kProlepticGregorian, {1582, 10, 10}));
  EXPECT_TRUE(IsDate(Calendar::k360Day, {2001, 2, 30}));
  EXPECT_FALSE(IsDate(Calendar::kNoLeap, {2000, 2, 29}));
  EXPECT_TRUE(IsDate(Calendar::kJulian, {1900, 2, 29}));
}

TEST(CfTimeTest, EveryDayIsReadAgain) {
  for (const Calendar calendar :
       {Calendar::kStandard, Calendar::kProlepticGregorian, Calendar::kJulian,
        Calendar::kNoLeap, Calendar::kAllLeap, Calendar::k360Day}) {
    for (int64_t days = -900'000; days < 900'000; days += 13) {
      ASSERT_EQ(DaysOf(calendar, DateOf(calendar, days)), days);
    }
  }
}

TEST(CfTimeTest, UnitsHaveAnOrigin) {
  const auto text = [](const char* units, const char* calendar, double count) -> std::string {
    const auto scale = ParseTimeUnits(units, calendar);
    if (!scale) return "";
    return FormatTime(scale->calendar, *scale->OfReal(count), 0);
  };
  EXPECT_EQ(text("hours since 1900-01-01 00:00:0.0", "", 36), "1900-01-02T12:00:00");
  EXPECT_EQ(text("days since 1-1-1", "noleap", 365.5), "0002-01-01T12:00:00");
  EXPECT_EQ(text("seconds since 1970-01-01T00:00:00Z", "gregorian", -1), "1969-12-31T23:59:59");
  EXPECT_EQ(text("hours since 2000-01-01 00:00 +1:30", "standard", 0), "1999-12-31T22:30:00");
  EXPECT_EQ(text("months since 2000-01-01", "360_day", 14), "2001-03-01T00:00:00");
  EXPECT_EQ(text("months since 2000-01-01", "standard", 14), "");
  EXPECT_EQ(text("days since 2000-02-30", "standard", 0), "");
  EXPECT_EQ(text("days since then", "standard", 0), "");
  EXPECT_EQ(text("days since 2000-01-01", "martian", 0), "");
  EXPECT_EQ(text("metres", "", 0), "");
  EXPECT_FALSE(ParseTimeUnits("days since 2000-01-01", "")->OfReal(1e300));
}

class UnpackedTest : public ArrayPartTest {
 protected:
  template <typename T>
  backends::Node& AddPacked(const Datatype& type, const std::vector<T>& numbers) {
    return store_->AddArray(
        "/p", std::make_shared<test::MemoryArray>(type, std::vector<uint64_t>{numbers.size()},
                                                  Bytes(numbers)));
  }
  const Datatype kInt16 = Datatype::Integer(2, true);
};

TEST_F(UnpackedTest, ScalesAndMasks) {
  auto& node = AddPacked<int16_t>(kInt16, {-1, 0, 10, 100, 32767});
  AddNumber(node, "scale_factor", 0.5);
  AddNumber(node, "add_offset", 100.0);
  AddNumber(node, "_FillValue", -1, kInt16);
  AddNumber(node, "valid_max", 1000, kInt16);
  const auto values = Numbers<double>("values.raw", "/p");
  ASSERT_EQ(values.size(), 5U);
  EXPECT_TRUE(std::isnan(values[0]));
  EXPECT_EQ(values[1], 100);
  EXPECT_EQ(values[2], 105);
  EXPECT_EQ(values[3], 150);
  EXPECT_TRUE(std::isnan(values[4]));
  EXPECT_THAT(Numbers<double>("values[1:3].raw", "/p"), ElementsAre(100, 105));
  EXPECT_EQ(TrueName("values[-1].npy", "/p"), "values[4].npy");
  EXPECT_THAT(Text("values[2:3].nhdr", "/p"), HasSubstr("values[2:3].raw"));
}

// Each band has a factor and an offset of its own, wherever the bands are.
TEST_F(UnpackedTest, BandsHaveTheirOwnFactors) {
  const auto add = [&](std::vector<std::string> names, const std::vector<uint64_t>& shape) {
    model::Ndarray array;
    array.dimension_names = std::move(names);
    for (const uint64_t extent : shape) array.shape.push_back({extent, ""});
    auto& node = store_->AddArray("/p", std::move(array),
                                  std::make_shared<test::MemoryArray>(
                                      kInt16, shape, Bytes<int16_t>({1, 2, 3, 4, -1, 6})));
    const auto list = [](double a, double b) { return model::Value(model::Value::List{a, b}); };
    AddNumber(node, "band_scale", list(10, 100));
    AddNumber(node, "band_offset", list(0, 5));
    AddNumber(node, "_FillValue", -1, kInt16);
  };
  const auto nan = ::testing::IsNan();
  add({"y", "band"}, {3, 2});
  EXPECT_THAT(Numbers<double>("values.raw", "/p"), ElementsAre(10, 205, 30, 405, nan, 605));
  EXPECT_THAT(Numbers<double>("values[:,1].raw", "/p"), ElementsAre(205, 405, 605));
  EXPECT_THAT(Numbers<double>("values[1:,::-1].raw", "/p"), ElementsAre(405, 30, 605, nan));
  EXPECT_THAT(Numbers<double>("values[axes:band,y].raw", "/p"),
              ElementsAre(10, 30, nan, 205, 405, 605));
  EXPECT_THAT(Text("values.txt", "/p"), HasSubstr("205"));
  EXPECT_THAT(Numbers<double>("values[mean:band=2].raw", "/p"), ElementsAre(107.5, 217.5, 605));
  EXPECT_THAT(Refusal("data[mean:band=2].raw", "/p"), HasSubstr("different factors"));
  EXPECT_EQ(Refusal("data[mean:y=2].raw", "/p"), "");
  add({"band", "x"}, {2, 3});
  EXPECT_THAT(Numbers<double>("values.raw", "/p"), ElementsAre(10, 20, 30, 405, nan, 605));
  EXPECT_THAT(Numbers<double>("values[-1].raw", "/p"), ElementsAre(405, nan, 605));
  add({"band", "y", "x"}, {2, 1, 3});
  EXPECT_THAT(Text("data[1].vrt", "/p"),
              HasSubstr("<Offset>5</Offset>\n    <Scale>100</Scale>"))
      << "the only band's are those of the array";
  EXPECT_THAT(Text("data[1:].hdr", "/p"), HasSubstr("data gain values = {100}\n"));
  EXPECT_THAT(Text("data[::-1].hdr", "/p"),
              HasSubstr("data gain values = {100, 10}\ndata offset values = {5, 0}\n"));
  add({"wavelength", "x"}, {2, 3});
  EXPECT_THAT(Numbers<double>("values[-1].raw", "/p"), ElementsAre(405, nan, 605));
  add({"y", "x"}, {2, 3});
  EXPECT_THAT(Text("values.txt", "/p"), HasSubstr("6"));
  EXPECT_EQ(Numbers<float>("values.raw", "/p")[5], 6);
}

TEST_F(UnpackedTest, ManyElementsAreUnpackedAsOneIs) {
  std::vector<int16_t> packed(1300);
  std::iota(packed.begin(), packed.end(), int16_t{-10});
  auto& node = AddPacked<int16_t>(kInt16, packed);
  AddNumber(node, "scale_factor", 0.5);
  AddNumber(node, "_FillValue", 600, kInt16);
  AddNumber(node, "valid_min", 5.25);  // of unpacked numbers, as its type says: packed, 10.5
  AddNumber(node, "valid_max", 1200, kInt16);
  const auto values = Numbers<double>("values.raw", "/p");
  ASSERT_EQ(values.size(), packed.size());
  for (size_t i = 0; i < packed.size(); ++i) {
    const bool is_valid = packed[i] >= 11 && packed[i] <= 1200 && packed[i] != 600;
    ASSERT_EQ(std::isnan(values[i]), !is_valid) << packed[i];
    if (is_valid) {
      ASSERT_EQ(values[i], packed[i] * 0.5);
    }
  }
}

TEST_F(UnpackedTest, NumbersThatAreOnlyMaskedKeepTheirBits) {
  std::vector<float> numbers(3000);
  std::iota(numbers.begin(), numbers.end(), -1500.0F);
  numbers[5] = -0.0F;
  auto& node = AddPacked<float>(Datatype::Float32(), numbers);
  AddNumber(node, "_FillValue", 9, Datatype::Float32());
  AddNumber(node, "missing_value", 11, Datatype::Float32());
  const auto values = Numbers<float>("values.raw", "/p");
  ASSERT_EQ(values.size(), numbers.size());
  for (size_t i = 0; i < values.size(); ++i) {
    if (numbers[i] == 9 || numbers[i] == 11) {
      EXPECT_TRUE(std::isnan(values[i]));
    } else {
      ASSERT_EQ(std::bit_cast<uint32_t>(values[i]), std::bit_cast<uint32_t>(numbers[i])) << i;
    }
  }
}

TEST_F(UnpackedTest, AScaleAloneKeepsTheSignOfZero) {
  std::vector<float> numbers(200, -0.0F);
  AddNumber(AddPacked<float>(Datatype::Float32(), numbers), "scale_factor", 2.0,
            Datatype::Float32());
  for (const float value : Numbers<float>("values.raw", "/p")) {
    ASSERT_TRUE(value == 0 && std::signbit(value));
  }
}

TEST_F(UnpackedTest, LimitsThatTheTypeLacksHold) {
  AddNumber(AddPacked<int16_t>(kInt16, {1, 32767}), "valid_min", 40'000.0);
  for (const double value : Numbers<float>("values.raw", "/p")) EXPECT_TRUE(std::isnan(value));
  AddNumber(AddPacked<int16_t>(kInt16, {1, 32767}), "valid_max", 40'000.0);
  EXPECT_THAT(Numbers<float>("values.raw", "/p"), ElementsAre(1, 32767));
}

TEST_F(UnpackedTest, FactorsOfSinglePrecisionGiveSinglePrecision) {
  AddNumber(AddPacked<int16_t>(kInt16, {3}), "scale_factor", 0.25, Datatype::Float32());
  EXPECT_THAT(Numbers<float>("values.raw", "/p"), ElementsAre(0.75F));
}

TEST_F(UnpackedTest, UnsignedIntegersStayIntegers) {
  AddText(AddPacked<int8_t>(Datatype::Integer(1, true), {-1, 5}), "_Unsigned", "true");
  EXPECT_THAT(Numbers<uint8_t>("values.raw", "/p"), ElementsAre(255, 5));
}

TEST_F(UnpackedTest, FillValuesOfUnsignedIntegersMayHaveASign) {
  auto& node = AddPacked<int8_t>(Datatype::Integer(1, true), {-1, -2, 5});
  AddText(node, "_Unsigned", "true");
  AddNumber(node, "_FillValue", -1, Datatype::Integer(1, true));
  const auto values = Numbers<float>("values.raw", "/p");
  ASSERT_EQ(values.size(), 3U);
  EXPECT_TRUE(std::isnan(values[0]));
  EXPECT_EQ(values[1], 254);
}

TEST_F(UnpackedTest, ListsOfMissingValuesCountAll) {
  auto& node = AddPacked<int16_t>(kInt16, {1, 2, 3});
  AddNumber(node, "missing_value", model::Value(model::Value::List{1, 3}), kInt16);
  const auto values = Numbers<float>("values.raw", "/p");
  ASSERT_EQ(values.size(), 3U);
  EXPECT_TRUE(std::isnan(values[0]));
  EXPECT_EQ(values[1], 2);
  EXPECT_TRUE(std::isnan(values[2]));
}

TEST_F(UnpackedTest, ArraysThatAreNotPackedAreTheirValues) {
  EXPECT_TRUE(ArrayViews().Resolve(Input(), "values.npy"));
  AddPacked<int16_t>(kInt16, {1, 2});
  EXPECT_THAT(Numbers<int16_t>("values.raw", "/p"), ElementsAre(1, 2));
}

TEST_F(UnpackedTest, FactorsThatAreNoNumberGiveNoValues) {
  for (const model::Value& scale : {model::Value("0.5"), model::Value(double{NAN}),
                                    model::Value(model::Value::List{1, 2})}) {
    AddNumber(AddPacked<int16_t>(kInt16, {1}), "scale_factor", scale);
    EXPECT_FALSE(ArrayViews().Resolve(Input("/p"), "values.npy"));
  }
}

TEST_F(UnpackedTest, TimesAreDates) {
  EXPECT_EQ(Text("values[4:6].txt", "/time").substr(0, 19), "2020-01-02T00:00:00");
  const int64_t day = 86'400'000'000;
  EXPECT_THAT(Numbers<int64_t>("values[4:6].raw", "/time"),
              ElementsAre(18263 * day, 18293 * day));
  EXPECT_THAT(Text("values.npy", "/time"), HasSubstr("<M8[us]"));
}

TEST_F(UnpackedTest, TimesAreThoseOfTheirTexts) {
  const std::vector<double> counts = {
      0,       0.25,     -0.25,    1 / 3.0, -1e-9,   0.9999999999999,
      738000,  738000.7, -3.5e6,   6.5e6,   -153000, -152999.5,
      1e8 / 3, -1e8 / 3, 3.1556e8, 4.2e18,  1e300,   std::nan("")};
  for (const std::string units :
       {"days since 2000-01-01", "hours since 0001-01-01 00:00:00", "days since 1600-02-03",
        "microseconds since 1900-01-01", "milliseconds since 1970-01-01 00:00:00.0005",
        "seconds since 1970-01-01 00:00:00.000000001"}) {
    for (const std::string calendar : {"standard", "proleptic_gregorian"}) {
      auto& node = AddPacked<double>(Datatype::Float64(), counts);
      AddText(node, "units", units);
      AddText(node, "calendar", calendar);
      const auto scale = ParseTimeUnits(units, calendar);
      const auto times = Numbers<int64_t>("values.raw", "/p");
      ASSERT_EQ(times.size(), counts.size());
      for (size_t i = 0; i < counts.size(); ++i) {
        const auto time = scale->OfReal(counts[i]);
        if (!time || *time / 1000 > std::numeric_limits<int64_t>::max()) {
          EXPECT_EQ(times[i], std::numeric_limits<int64_t>::min()) << units << ' ' << counts[i];
          continue;
        }
        // Under the dates of the calendar the moments have the same text.
        EXPECT_EQ(FormatTime(scale->calendar, model::Nanoseconds{times[i]} * 1000, 6),
                  FormatTime(scale->calendar, *time, 6))
            << units << ' ' << calendar << ' ' << counts[i];
      }
    }
  }
}

// Blocks of near times, with one far or missing time in some, are those of each number alone.
template <typename T>
class BulkTimesTest : public UnpackedTest {
 protected:
  static std::vector<T> Counts() {
    std::mt19937_64 random(3);
    std::vector<T> counts(128 * 6 + 5);
    for (T& count : counts) {
      count = static_cast<T>(static_cast<double>(random() % 200'001) / 7 -
                             (std::is_signed_v<T> ? 14'000 : 0));
    }
    for (const size_t exact : {1, 2, 3}) counts[exact] = static_cast<T>(exact * 0.5);
    counts[300] = std::numeric_limits<T>::max();
    counts[500] = 7;  // is missing
    return counts;
  }
};
using CountTypes =
    ::testing::Types<int16_t, int32_t, int64_t, uint32_t, uint64_t, float, double>;
TYPED_TEST_SUITE(BulkTimesTest, CountTypes);

TYPED_TEST(BulkTimesTest, AreThoseOfEachNumberAlone) {
  using T = TypeParam;
  const Datatype type = std::is_same_v<T, float> ? Datatype::Float32()
                        : std::is_same_v<T, double>
                            ? Datatype::Float64()
                            : Datatype::Integer(sizeof(T), std::is_signed_v<T>);
  const std::vector<T> counts = this->Counts();
  constexpr int64_t kNone = std::numeric_limits<int64_t>::min();
  for (const std::string units :
       {"days since 1970-01-01", "hours since 1850-03-01", "seconds since 2001-02-03",
        "milliseconds since 1970-01-01", "microseconds since 2000-01-01"}) {
    for (const bool is_packed : {false, true}) {
      auto& node = this->template AddPacked<T>(type, counts);
      this->AddText(node, "units", units);
      this->AddNumber(node, "missing_value", 7, type);
      if (is_packed) this->AddNumber(node, "scale_factor", 0.25);
      const auto scale = ParseTimeUnits(units, "standard");
      const auto times = this->template Numbers<int64_t>("values.raw", "/p");
      ASSERT_EQ(times.size(), counts.size());
      for (size_t i = 0; i < counts.size(); ++i) {
        const bool is_real = is_packed || std::is_floating_point_v<T>;
        const auto time =
            is_real ? scale->OfReal(static_cast<double>(counts[i]) * (is_packed ? 0.25 : 1))
                    : scale->OfInteger(static_cast<model::WideInt>(counts[i]));
        const bool fits = time && *time / 1000 <= std::numeric_limits<int64_t>::max();
        const int64_t expected =
            fits && counts[i] != 7 ? static_cast<int64_t>(*time / 1000) : kNone;
        ASSERT_EQ(times[i], expected) << units << ' ' << counts[i];
      }
    }
  }
}

TEST_F(UnpackedTest, DaysThatNumpyHasNotAreText) {
  auto& node = AddPacked<int16_t>(kInt16, {59});
  AddText(node, "units", "days since 2000-01-01");
  AddText(node, "calendar", "360_day");
  EXPECT_FALSE(ArrayViews().Resolve(Input("/p"), "values.npy"));
  EXPECT_EQ(Text("values.txt", "/p").substr(0, 19), "2000-02-30T00:00:00");
}

TEST_F(UnpackedTest, IntegersAndMissingOnesAreTimes) {
  const int64_t kMost = std::numeric_limits<int64_t>::max();
  auto& node = AddPacked<int64_t>(Datatype::Integer(8, true), {0, -1, 7, kMost, -kMost, 1000});
  AddText(node, "units", "seconds since 1970-01-01");
  AddNumber(node, "_FillValue", 7);
  AddNumber(node, "valid_max", 999);
  const int64_t kNone = std::numeric_limits<int64_t>::min();
  EXPECT_THAT(Numbers<int64_t>("values.raw", "/p"),
              ElementsAre(0, -1'000'000, kNone, kNone, kNone, kNone));
}

TEST_F(UnpackedTest, FlagsHaveNames) {
  auto& node = AddPacked<int16_t>(kInt16, {0, 2, 7});
  AddNumber(node, "flag_values", model::Value(model::Value::List{0, 2}), kInt16);
  AddText(node, "flag_meanings", "land open_sea");
  EXPECT_EQ(Text("values.txt", "/p"),
            fmt::format("{:<20}\n{:<20}\n{:<20}\n", "land", "open_sea", "7"));
  EXPECT_THAT(Numbers<int16_t>("values.raw", "/p"), ElementsAre(0, 2, 7));
}

}  // namespace
}  // namespace ndlfs::fs
