// SPDX-License-Identifier: MIT
#include "fs/view/picture/preview_samples.h"

#include <atomic>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <set>

#include "cache/chunk_cache.h"
#include "tests/fs/view/grid_test.h"
#include "tests/support/chunk_source.h"

namespace ndlfs::fs {
namespace {

using fake::NumberAttribute;
using fake::RawOf;
using model::Datatype;
using test::IsError;
using test::IsOk;
using test::MemoryArray;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class PreviewSamplesTest : public fake::GridTest {
 protected:
  // Numbers 0, 1, 2 ... in C order, of the chunks that are asked for only.
  class Counting final : public backends::ArraySource {
   public:
    Counting(std::vector<uint64_t> shape, std::vector<uint64_t> chunk,
             bool is_transient = false)
        : is_transient_(is_transient) {
      spec_.dtype = Datatype::Float64();
      spec_.shape = shape;
      spec_.grid = backends::ChunkGrid::Regular(shape, std::move(chunk),
                                                backends::ChunkGrid::Edge::kFull)
                       .value();
    }
    const backends::ArraySpec& spec() const override { return spec_; }
    model::Result<backends::ChunkLocation> Locate(std::span<const uint64_t> index,
                                                  backends::IndexCache&) const override {
      backends::ChunkLocation location;
      location.generate = [this, at = std::vector<uint64_t>(index.begin(), index.end())](
                              uint64_t) -> model::Result<backends::Bytes> {
        if (is_transient_) return model::IoError(EIO, "no disk");
        ++decoded;
        return Decode(at);
      };
      return location;
    }
    mutable std::atomic<int> decoded = 0;

   private:
    backends::Bytes Decode(const std::vector<uint64_t>& index) const {
      const std::vector<uint64_t> extents = spec_.grid.ChunkShape(index);
      uint64_t count = 1;
      for (const uint64_t extent : extents) count *= extent;
      backends::Bytes bytes(count * sizeof(double));
      for (uint64_t i = 0; i < count; ++i) {
        uint64_t rest = i;
        uint64_t place = 0;
        uint64_t stride = 1;
        for (size_t d = extents.size(); d-- > 0; rest /= extents[d]) {
          place += (spec_.grid.Begin(d, index[d]) + rest % extents[d]) * stride;
          stride *= spec_.shape[d];
        }
        const auto number = static_cast<double>(place);
        std::memcpy(bytes.data() + i * sizeof number, &number, sizeof number);
      }
      return bytes;
    }

    backends::ArraySpec spec_;
    bool is_transient_;
  };

  // An array whose elements lie in a file as they are. The file is empty.
  static std::shared_ptr<ndlfs::test::TestSource> InFile(const std::vector<uint64_t>& shape) {
    auto grid =
        backends::ChunkGrid::Regular(shape, shape, backends::ChunkGrid::Edge::kCropped).value();
    auto source =
        std::make_shared<ndlfs::test::TestSource>(Datatype::Float64(), std::move(grid));
    backends::ContiguousRange& range = source->contiguous_.emplace();
    range.store = source->store_;
    range.key = "data";
    range.stored = Datatype::Float64();
    return source;
  }

  ArrayInput Add(const std::shared_ptr<const backends::ArraySource>& source) {
    store_->AddArray("/t", source);
    return Input();
  }
};

TEST_F(PreviewSamplesTest, ASmallArrayIsReadWhole) {
  const SamplePlan plan = PlanSamples(Add(
      std::make_shared<Counting>(std::vector<uint64_t>{3, 5}, std::vector<uint64_t>{2, 2})));
  EXPECT_EQ(plan.rows(), 3U);
  EXPECT_EQ(plan.columns(), 5U);
  EXPECT_FALSE(plan.is_coarse || plan.is_window);
  const auto samples = ReadSamples(plan, nullptr);
  ASSERT_THAT(samples, IsOk());
  for (size_t i = 0; i < 15; ++i) EXPECT_EQ(samples->numbers[i], static_cast<double>(i));
  EXPECT_EQ(samples->chunks, 6U);
  EXPECT_TRUE(samples->is_broken.empty());
}

TEST_F(PreviewSamplesTest, TheMiddleOfLeadingDimensionsIsShown) {
  const SamplePlan plan = PlanSamples(Add(std::make_shared<Counting>(
      std::vector<uint64_t>{9, 4, 3, 5}, std::vector<uint64_t>{1, 1, 3, 5})));
  EXPECT_EQ(plan.y, 2U);
  EXPECT_EQ(plan.x, 3U);
  const auto samples = ReadSamples(plan, nullptr);
  ASSERT_THAT(samples, IsOk());
  EXPECT_EQ(samples->numbers.front(), (4 * 4 + 2) * 15.0);
}

TEST_F(PreviewSamplesTest, DimensionsOfOneElementAreNotShown) {
  const SamplePlan plan = PlanSamples(Add(std::make_shared<Counting>(
      std::vector<uint64_t>{6, 1, 5, 1}, std::vector<uint64_t>{6, 1, 5, 1})));
  EXPECT_EQ(plan.y, 0U);
  EXPECT_EQ(plan.x, 2U);
  const SamplePlan one = PlanSamples(Add(
      std::make_shared<Counting>(std::vector<uint64_t>{1, 1}, std::vector<uint64_t>{1, 1})));
  EXPECT_FALSE(one.x || one.y);
  EXPECT_THAT(ReadSamples(one, nullptr)->numbers, ElementsAre(0));
}

TEST_F(PreviewSamplesTest, ALargeArrayIsReadInSteps) {
  const auto source = std::make_shared<Counting>(std::vector<uint64_t>{2500, 3500},
                                                 std::vector<uint64_t>{250, 350});
  const SamplePlan plan = PlanSamples(Add(source));
  EXPECT_LE(plan.rows(), 800U);
  EXPECT_GT(plan.rows(), 400U);
  EXPECT_LE(plan.columns(), 1200U);
  const auto samples = ReadSamples(plan, nullptr);
  ASSERT_THAT(samples, IsOk());
  EXPECT_EQ(source->decoded, 100);
  for (uint64_t row = 0; row < plan.rows(); row += 37) {
    for (uint64_t column = 0; column < plan.columns(); column += 41) {
      const uint64_t place = plan.selection[0].At(row) * 3500 + plan.selection[1].At(column);
      ASSERT_EQ(samples->numbers[row * plan.columns() + column], static_cast<double>(place));
    }
  }
}

TEST_F(PreviewSamplesTest, AHugeArrayCostsSomeHundredChunks) {
  const auto source = std::make_shared<Counting>(std::vector<uint64_t>{1'000'000, 2'000'000},
                                                 std::vector<uint64_t>{100, 100});
  const SamplePlan plan = PlanSamples(Add(source));
  EXPECT_TRUE(plan.is_coarse);
  ASSERT_THAT(ReadSamples(plan, nullptr), IsOk());
  EXPECT_LE(source->decoded, 600);
  EXPECT_GT(source->decoded, 300);
  const auto line = std::make_shared<Counting>(std::vector<uint64_t>{1'000'000'000},
                                               std::vector<uint64_t>{1000});
  ASSERT_THAT(ReadSamples(PlanSamples(Add(line)), nullptr), IsOk());
  EXPECT_LE(line->decoded, 600);
  EXPECT_GT(line->decoded, 300);
}

TEST_F(PreviewSamplesTest, OfLargeChunksThatCannotAllBeReadTheMiddleIsShown) {
  const auto source = std::make_shared<Counting>(std::vector<uint64_t>{100, 100},
                                                 std::vector<uint64_t>{10, 10});
  const SamplePlan plan = PlanSamples(Add(source), {.bytes = 4 * 800});
  EXPECT_TRUE(plan.is_window);
  EXPECT_EQ(plan.rows(), 20U);
  EXPECT_EQ(plan.columns(), 20U);
  EXPECT_EQ(plan.selection[0].begin, 40U);
  ASSERT_THAT(ReadSamples(plan, nullptr), IsOk());
  EXPECT_EQ(source->decoded, 4);
  const SamplePlan least = PlanSamples(Input(), {.bytes = 1});
  EXPECT_EQ(least.rows() * least.columns(), 100U) << "one chunk is always read";
}

TEST_F(PreviewSamplesTest, OfSlowCodecsFewerChunksAreRead) {
  const auto rows_of = [&](const std::string& codec, const model::Value::Map& parameters = {}) {
    ArrayInput input = Add(std::make_shared<Counting>(std::vector<uint64_t>{1000, 1000},
                                                      std::vector<uint64_t>{10, 10}));
    auto node = std::make_shared<backends::Node>(*input.node);
    std::get<model::Ndarray>(node->entity).storage.filter = {{"shuffle", {}},
                                                             {codec, parameters}};
    input.node = std::move(node);
    const SamplePlan plan = PlanSamples(
        input, {.bytes = 400 * 800, .deflated_bytes = 81 * 800, .slowest_bytes = 4 * 800});
    return plan.is_window ? 0 : plan.rows();
  };
  EXPECT_EQ(rows_of("zstd"), 20U);
  EXPECT_EQ(rows_of("gzip"), 9U);
  EXPECT_EQ(rows_of("zlib"), 9U);
  EXPECT_EQ(rows_of("bz2"), 0U) << "so few show the middle";
  EXPECT_EQ(rows_of("lzma"), 0U);
  EXPECT_EQ(rows_of("blosc", {{"cname", "lz4"}}), 20U);
  EXPECT_EQ(rows_of("blosc", {{"cname", "zlib"}}), 9U);
  const model::Value inner(model::Value::Map{{"name", "gzip"}});
  EXPECT_EQ(rows_of("sharding_indexed", {{"codecs", model::Value::List{inner}}}), 9U);
}

TEST_F(PreviewSamplesTest, OfWideRowsInAFileFewAreRead) {
  const SamplePlan plan = PlanSamples(Add(InFile({100'000, 400'000})));
  EXPECT_GT(plan.columns(), 1000U);
  EXPECT_GE(plan.rows(), 30U);
  EXPECT_LE(plan.rows() * 400'000 * 8, uint64_t{128} << 20);
  const SamplePlan narrow = PlanSamples(Add(InFile({100'000, 1000})));
  EXPECT_GT(narrow.rows(), 700U);
}

TEST_F(PreviewSamplesTest, ElementsThatShareAPageAreReadTogether) {
  std::vector<double> numbers(2 * 200'000);
  std::iota(numbers.begin(), numbers.end(), 0.0);
  const auto source = InFile({2, 200'000});
  source->store_->Put("data", RawOf(numbers));
  const SamplePlan plan = PlanSamples(Add(source));
  const auto samples = ReadSamples(plan, nullptr);
  ASSERT_THAT(samples, IsOk());
  for (uint64_t i = 0; i < samples->numbers.size(); ++i) {
    const uint64_t row = i / plan.columns();
    const uint64_t column = i % plan.columns();
    const uint64_t place = plan.selection[0].At(row) * 200'000 + plan.selection[1].At(column);
    ASSERT_EQ(samples->numbers[i], static_cast<double>(place));
  }
  EXPECT_LE(source->store_->reads(), 8U) << "of at most 1 MiB each";
}

TEST_F(PreviewSamplesTest, NeverReadsMoreChunksThanAllowed) {
  std::mt19937 random(1);
  for (int i = 0; i < 300; ++i) {
    std::vector<uint64_t> shape;
    std::vector<uint64_t> chunk;
    for (int d = 0; d < 2; ++d) {
      shape.push_back(1 + random() % (random() % 2 == 0 ? 50 : 100'000));
      chunk.push_back(1 + random() % shape.back());
    }
    const SampleLimits limits = {.columns = 1 + random() % 100,
                                 .rows = 1 + random() % 100,
                                 .chunks = 1 + random() % 200,
                                 .bytes = 1 + random() % 100'000};
    const SamplePlan plan = PlanSamples(Add(std::make_shared<Counting>(shape, chunk)), limits);
    uint64_t chunks = 1;
    for (const auto& [d, most] : {std::pair(0U, limits.rows), std::pair(1U, limits.columns)}) {
      const IndexRange& range = plan.selection[d];
      ASSERT_GE(range.count, 1U);
      ASSERT_LT(range.At(range.count - 1), shape[d]);
      if (plan.x && plan.y) {
        ASSERT_LE(range.count, most);
      }
      std::set<uint64_t> touched;
      for (uint64_t k = 0; k < range.count; ++k) touched.insert(range.At(k) / chunk[d]);
      chunks *= touched.size();
    }
    const uint64_t chunk_bytes = chunk[0] * chunk[1] * 8;
    ASSERT_LE(chunks,
              std::max<uint64_t>(1, std::min(limits.chunks, limits.bytes / chunk_bytes)))
        << shape[0] << 'x' << shape[1] << " in " << chunk[0] << 'x' << chunk[1];
  }
}

TEST_F(PreviewSamplesTest, ChunksThatCannotBeReadAreNoted) {
  std::map<uint64_t, std::string> chunks;
  for (uint64_t i : {0, 1, 3})
    chunks[i] = RawOf(std::vector<double>(4, static_cast<double>(i)));
  AddArray(std::make_shared<MemoryArray>(Datatype::Float64(), std::vector<uint64_t>{4, 4},
                                         std::vector<uint64_t>{2, 2}, std::move(chunks)));
  const auto samples = ReadSamples(PlanSamples(Input()), nullptr);
  ASSERT_THAT(samples, IsOk());
  EXPECT_EQ(samples->broken_chunks, 1U);
  EXPECT_THAT(samples->first_problem, HasSubstr("chunk 1.0: "));
  for (size_t i = 0; i < 16; ++i) {
    EXPECT_EQ(samples->is_broken[i], i >= 8 && i % 4 < 2) << i;
    EXPECT_EQ(std::isnan(samples->numbers[i]), i >= 8 && i % 4 < 2) << i;
  }
}

TEST_F(PreviewSamplesTest, NoChunkIsAnError) {
  AddArray(std::make_shared<MemoryArray>(Datatype::Float64(), std::vector<uint64_t>{4},
                                         std::vector<uint64_t>{2},
                                         std::map<uint64_t, std::string>()));
  EXPECT_THAT(ReadSamples(PlanSamples(Input()), nullptr),
              IsError(model::ErrorCode::kCorrupt, HasSubstr("chunk 0")));
}

TEST_F(PreviewSamplesTest, TransientFailureIsAnError) {
  const ArrayInput input =
      Add(std::make_shared<Counting>(std::vector<uint64_t>{4}, std::vector<uint64_t>{2}, true));
  EXPECT_THAT(ReadSamples(PlanSamples(input), nullptr),
              IsError(model::ErrorCode::kIo, HasSubstr("no disk")));
}

TEST_F(PreviewSamplesTest, ValuesAreUnpackedAndMissingOnesAreNan) {
  const std::vector<int16_t> packed = {-1, 0, 100};
  auto& array = AddArray(std::make_shared<MemoryArray>(
      Datatype::Integer(2, true), std::vector<uint64_t>{3}, RawOf(packed)));
  array.attributes = {NumberAttribute("scale_factor", 0.5), NumberAttribute("add_offset", 10),
                      NumberAttribute("_FillValue", -1)};
  const auto samples = ReadSamples(PlanSamples(Input()), nullptr);
  ASSERT_THAT(samples, IsOk());
  EXPECT_TRUE(std::isnan(samples->numbers[0]));
  EXPECT_EQ(samples->numbers[1], 10);
  EXPECT_EQ(samples->numbers[2], 60);
}

TEST_F(PreviewSamplesTest, TheFillValueOfAnXarrayStoreIsMissing) {
  const std::vector<int32_t> numbers = {-9999, 0, 7};
  auto& node = store_->AddArray(
      "/t", std::make_shared<MemoryArray>(Datatype::Integer(4, true), std::vector<uint64_t>{3},
                                          RawOf(numbers)));
  std::get<model::Ndarray>(node.entity).storage.fillvalue = model::Value(-9999);
  node.fill_is_missing = true;
  const auto samples = ReadSamples(PlanSamples(Input()), nullptr);
  ASSERT_THAT(samples, IsOk());
  EXPECT_TRUE(std::isnan(samples->numbers[0]));
  EXPECT_EQ(samples->numbers[1], 0);
}

TEST_F(PreviewSamplesTest, EveryTypeIsANumber) {
  const auto read = [this](const Datatype& type, const std::string& bytes) {
    AddArray(std::make_shared<MemoryArray>(type, std::vector<uint64_t>{2}, bytes));
    const auto samples = ReadSamples(PlanSamples(Input()), nullptr);
    EXPECT_THAT(samples, IsOk()) << type.keyword();
    return samples ? samples->numbers : std::vector<double>();
  };
  EXPECT_THAT(read(Datatype::Float("float16", 2), RawOf(std::vector<uint16_t>{0x3C00, 0xC000})),
              ElementsAre(1, -2));
  EXPECT_THAT(
      read(Datatype::Float("bfloat16", 2), RawOf(std::vector<uint16_t>{0x3F80, 0x4000})),
      ElementsAre(1, 2));
  EXPECT_THAT(read(Datatype::Complex(8), RawOf(std::vector<float>{3, 4, 0, -1})),
              ElementsAre(5, 1));
  EXPECT_THAT(read(Datatype::Complex(16), RawOf(std::vector<double>{3, 4, 0, -1})),
              ElementsAre(5, 1));
  EXPECT_THAT(read(Datatype::Bool(), std::string("\0\1", 2)), ElementsAre(0, 1));
  EXPECT_THAT(read(Datatype::Integer(8, false), RawOf(std::vector<uint64_t>{1, ~uint64_t{0}})),
              ElementsAre(1, 18446744073709551615.0));
  const auto times = read(Datatype::Time({.unit = "s"}),
                          RawOf(std::vector<int64_t>{std::numeric_limits<int64_t>::min(), 60}));
  EXPECT_TRUE(std::isnan(times[0]));
  EXPECT_EQ(times[1], 60);
}

TEST_F(PreviewSamplesTest, ColoursAreReadTogether) {
  AddArray(Datatype::Integer(1, false), {4, 5, 3});
  const SamplePlan plan = PlanSamples(Input());
  EXPECT_EQ(plan.channels, 3U);
  EXPECT_EQ(plan.rows(), 4U);
  EXPECT_EQ(plan.columns(), 5U);
  const auto samples = ReadSamples(plan, nullptr);
  ASSERT_THAT(samples, IsOk());
  ASSERT_EQ(samples->numbers.size(), 60U);
  for (size_t i = 0; i < 60; ++i) EXPECT_EQ(samples->numbers[i], static_cast<double>(i));
}

TEST_F(PreviewSamplesTest, OneOfTheBandsInPixelsIsShown) {
  AddArray(Datatype::Integer(2, false), {4, 5, 7}, {"y", "x", "band"});
  const SamplePlan plan = PlanSamples(Input());
  EXPECT_EQ(plan.channels, 1U);
  EXPECT_EQ(plan.y, 0U);
  EXPECT_EQ(plan.x, 1U);
  const auto samples = ReadSamples(plan, nullptr);
  ASSERT_THAT(samples, IsOk());
  ASSERT_EQ(samples->numbers.size(), 20U);
  for (size_t i = 0; i < 20; ++i) {
    const size_t at = 2 * (7 * i + 3);  // the band in the middle
    EXPECT_EQ(samples->numbers[i], static_cast<double>(at % 256 + (at + 1) % 256 * 256));
  }
}

TEST_F(PreviewSamplesTest, DecodingAheadReadsTheSame) {
  const auto source =
      std::make_shared<Counting>(std::vector<uint64_t>{60, 60}, std::vector<uint64_t>{10, 10});
  const SamplePlan plan = PlanSamples(Add(source));
  const auto alone = ReadSamples(plan, nullptr);
  cache::ChunkCache cache(1 << 20);
  cache::Prefetcher prefetcher(cache, 2);
  const auto ahead = ReadSamples(plan, &prefetcher);
  ASSERT_THAT(alone, IsOk());
  ASSERT_THAT(ahead, IsOk());
  EXPECT_EQ(alone->numbers, ahead->numbers);
}

}  // namespace
}  // namespace ndlfs::fs
