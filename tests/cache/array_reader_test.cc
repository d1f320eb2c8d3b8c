// SPDX-License-Identifier: MIT
#include "cache/array_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <numeric>
#include <random>
#include <set>

#include "cache/chunk_ledger.h"
#include "cache/load_counts.h"
#include "tests/support/chunk_source.h"

namespace ndlfs::cache {
namespace {

using backends::ArraySpec;
using backends::Bytes;
using backends::ChunkGrid;
using backends::ChunkLocation;
using model::ByteOrder;
using model::Datatype;
using test::Product;
using test::PutChunks;
using test::RandomElements;
using test::TestSource;
using testing::HasSubstr;

using Extents = std::vector<uint64_t>;

std::string ReadAll(const ArrayReader& reader, uint64_t offset, size_t size,
                    ByteOrder order = ByteOrder::kLittle) {
  std::string out(size, '?');
  const auto result = reader.Read(offset, std::as_writable_bytes(std::span(out)), order);
  EXPECT_TRUE(result) << result.error().message();
  return out;
}

TEST(ArrayReaderTest, AnyRangeOfAnyGridIsThatOfTheElementStream) {
  std::mt19937 random(7);
  for (int round = 0; round < 300; ++round) {
    const size_t rank = random() % 5;
    Extents shape;
    Extents chunk;
    for (size_t d = 0; d < rank; ++d) {
      shape.push_back(1 + random() % 6);
      chunk.push_back(1 + random() % 7);
    }
    const auto edge = random() % 2 ? ChunkGrid::Edge::kFull : ChunkGrid::Edge::kCropped;
    const Datatype dtype =
        random() % 2 ? Datatype::Float32() : Datatype::Opaque(1 + random() % 5);
    auto source =
        std::make_shared<TestSource>(dtype, ChunkGrid::Regular(shape, chunk, edge).value());
    const std::string elements = RandomElements(random, Product(shape) * dtype.size());
    PutChunks(*source, elements);
    ChunkCache cache(100);  // hardly a chunk or two
    const ArrayReader reader(source, cache);
    ASSERT_EQ(reader.byte_size(), elements.size());
    for (int part = 0; part < 20; ++part) {
      const size_t begin = random() % (elements.size() + 1);
      const size_t size = random() % (elements.size() - begin + 1);
      ASSERT_EQ(ReadAll(reader, begin, size), elements.substr(begin, size))
          << "round " << round << ", bytes " << begin << " + " << size;
    }
  }
}

TEST(ArrayReaderTest, RectilinearGridsAreReadLikeAnyOther) {
  std::mt19937 random(8);
  auto source = std::make_shared<TestSource>(
      Datatype::Integer(2, true), ChunkGrid::Rectilinear({7, 5}, {{3, 1, 4}, {2, 3}}).value());
  const std::string elements = RandomElements(random, 7 * 5 * 2);
  PutChunks(*source, elements);
  ChunkCache cache(1000);
  const ArrayReader reader(source, cache);
  for (size_t begin = 0; begin < elements.size(); ++begin) {
    ASSERT_EQ(ReadAll(reader, begin, elements.size() - begin), elements.substr(begin));
  }
}

TEST(ArrayReaderTest, AbsentChunksHoldTheFillValue) {
  std::vector<std::byte> fill = {std::byte{1}, std::byte{2}, std::byte{3}, std::byte{4}};
  auto source = std::make_shared<TestSource>(
      Datatype::Integer(4, true),
      ChunkGrid::Regular({2, 4}, {1, 2}, ChunkGrid::Edge::kFull).value(), fill);
  PutChunks(*source, std::string(32, 'x'), {"c0.1", "c1.0"});
  ChunkCache cache(1000);
  const ArrayReader reader(source, cache);
  const std::string filled = "\1\2\3\4\1\2\3\4";
  const std::string stored = "xxxxxxxx";
  const std::string all = stored + filled + filled + stored;
  EXPECT_EQ(ReadAll(reader, 0, 32), all);
  EXPECT_EQ(ReadAll(reader, 9, 13), all.substr(9, 13));
  // That a chunk is absent is remembered.
  const size_t misses = cache.stats().misses;
  ReadAll(reader, 0, 32);
  EXPECT_EQ(cache.stats().misses, misses);
}

TEST(ArrayReaderTest, EachChunkIsLoadedOnceForARead) {
  auto source = std::make_shared<TestSource>(
      Datatype::Float64(), ChunkGrid::Regular({8, 8}, {4, 4}, ChunkGrid::Edge::kFull).value());
  PutChunks(*source, std::string(512, 'a'));
  ChunkCache cache(10000);
  const ArrayReader reader(source, cache);
  ReadAll(reader, 100, 300);
  EXPECT_EQ(cache.stats().misses, 4u);
}

TEST(ArrayReaderTest, ItCountsLoadsHitsAndFailures) {
  auto source = std::make_shared<TestSource>(
      Datatype::Float64(), ChunkGrid::Regular({8, 8}, {4, 4}, ChunkGrid::Edge::kFull).value());
  PutChunks(*source, std::string(512, 'a'));
  source->store_->Put("c1.1", "too short");
  ChunkCache cache(10000);
  const ArrayReader reader(source, cache);
  ReadAll(reader, 0, 100);
  ReadAll(reader, 0, 100);
  const LoadCounts& counts = reader.counts();
  EXPECT_EQ(counts.decoded, 2u);
  EXPECT_EQ(counts.decoded_bytes, 256u);
  EXPECT_GT(counts.nanoseconds, 0u);
  EXPECT_GE(counts.hits, 2u);
  EXPECT_EQ(counts.failures, 0u);
  std::byte last;
  for (uint64_t tries = 1; tries < 3; ++tries) {
    EXPECT_FALSE(reader.Read(511, backends::ByteSpan(&last, 1)));
    EXPECT_EQ(counts.failures, tries);
  }
  EXPECT_EQ(counts.decoded, 2u);
  EXPECT_EQ(counts.direct_bytes, 0u);
}

// Chunks of 240 kB that are not encoded.
std::shared_ptr<TestSource> LargePlainChunks() {
  return std::make_shared<TestSource>(
      Datatype::Float32(),
      ChunkGrid::Regular({5, 290, 330}, {2, 150, 200}, ChunkGrid::Edge::kFull).value());
}

TEST(ArrayReaderTest, LargeChunksThatAreNotEncodedAreReadWhereTheyLie) {
  std::mt19937 random(11);
  const auto source = LargePlainChunks();
  const std::string elements = RandomElements(random, 5 * 290 * 330 * 4);
  PutChunks(*source, elements);
  ChunkCache cache(1 << 20);
  const ArrayReader reader(source, cache);
  EXPECT_EQ(reader.max_chunk_bytes(), 0u) << "there is nothing to decode ahead";
  ASSERT_TRUE(ReadAll(reader, 0, elements.size()) == elements);
  EXPECT_EQ(cache.stats().misses, 0u);
  EXPECT_EQ(reader.counts().direct_bytes, elements.size());
  for (int round = 0; round < 200; ++round) {
    const size_t begin = random() % elements.size();
    const size_t size = random() % std::min<size_t>(elements.size() - begin, 300'000);
    ASSERT_TRUE(ReadAll(reader, begin, size) == elements.substr(begin, size))
        << begin << " + " << size;
  }
}

TEST(ArrayReaderTest, LittleOfAChunkAtTheEndOfALargeReadIsReadWhereItLies) {
  std::mt19937 random(13);
  constexpr size_t kChunkBytes = 400'000;
  const auto source = std::make_shared<TestSource>(
      Datatype::Float32(),
      ChunkGrid::Regular({200'000}, {100'000}, ChunkGrid::Edge::kFull).value());
  const std::string elements = RandomElements(random, 2 * kChunkBytes);
  PutChunks(*source, elements);
  ChunkCache cache(1 << 20);
  const ArrayReader reader(source, cache);
  EXPECT_TRUE(ReadAll(reader, kChunkBytes - 100, 8192) ==
              elements.substr(kChunkBytes - 100, 8192));
  EXPECT_EQ(cache.stats().misses, 0u);
  EXPECT_EQ(reader.counts().direct_bytes, 8192u);
  EXPECT_EQ(ReadAll(reader, kChunkBytes - 100, 100), elements.substr(kChunkBytes - 100, 100));
  EXPECT_EQ(cache.stats().misses, 1u) << "small reads load the chunk";
}

TEST(ArrayReaderTest, RowsThatTakeLittleOfManyChunksLoadThem) {
  std::mt19937 random(17);
  const auto source = std::make_shared<TestSource>(
      Datatype::Float32(),
      ChunkGrid::Regular({400, 1000}, {400, 100}, ChunkGrid::Edge::kFull).value());
  const std::string elements = RandomElements(random, 400 * 1000 * 4);
  PutChunks(*source, elements);
  ChunkCache cache(2 << 20);
  const ArrayReader reader(source, cache);
  EXPECT_TRUE(ReadAll(reader, 4000, 4000) == elements.substr(4000, 4000));
  EXPECT_EQ(cache.stats().misses, 10u);
  EXPECT_TRUE(ReadAll(reader, 0, elements.size()) == elements);
  EXPECT_EQ(cache.stats().misses, 10u);
}

TEST(ArrayReaderTest, ChunksReadWhereTheyLieAreCheckedLikeOthers) {
  const auto source = LargePlainChunks();
  const std::string elements(5 * 290 * 330 * 4, 'e');
  PutChunks(*source, elements, {"c0.0.1"});
  source->store_->Put("c1.0.0", std::string(239'999, 'e'));
  source->spec_.fill.assign(4, std::byte{'f'});
  ChunkCache cache(1 << 20);
  auto ledger = std::make_shared<ChunkLedger>();
  const ArrayReader reader(source, cache, ledger);
  std::string out(150 * 330 * 4, '?');
  ASSERT_TRUE(reader.Read(0, std::as_writable_bytes(std::span(out))));
  EXPECT_EQ(out.substr(199 * 4, 8), "eeeeffff") << "an absent chunk";
  const auto status = reader.Read(2 * 290 * 330 * 4, std::as_writable_bytes(std::span(out)));
  ASSERT_FALSE(status);
  EXPECT_THAT(status.error().message(), HasSubstr("c1.0.0: 239999 bytes, expected 240000"));
  source->store_->Put("c0.0.0", std::string(240'000, 'n'));
  EXPECT_FALSE(reader.Read(0, std::as_writable_bytes(std::span(out)))) << "another version";
  EXPECT_TRUE(ledger->has_changed());
}

TEST(ArrayReaderTest, ViewsMayAskForTheOtherByteOrder) {
  const auto dtype = Datatype::PackedCompound(
      {{"a", Datatype::Integer(2, true)}, {"b", Datatype::Integer(1, true)}});
  auto source = std::make_shared<TestSource>(
      dtype, ChunkGrid::Regular({4}, {3}, ChunkGrid::Edge::kFull).value());
  PutChunks(*source, "abcdefghijkl");
  ChunkCache cache(1000);
  const ArrayReader reader(source, cache);
  const std::string swapped = "bacedfhgikjl";
  for (size_t begin = 0; begin < 12; ++begin) {
    for (size_t size = 0; size <= 12 - begin; ++size) {
      ASSERT_EQ(ReadAll(reader, begin, size, ByteOrder::kBig), swapped.substr(begin, size));
    }
  }
}

TEST(ArrayReaderTest, AContiguousRangeIsReadInPlaceAndSwapped) {
  auto source = std::make_shared<TestSource>(
      Datatype::Integer(4, true),
      ChunkGrid::Regular({3}, {3}, ChunkGrid::Edge::kCropped).value());
  source->store_->Put("file", "HEADabcdefghijklTAIL");
  source->contiguous_ = {
      source->store_, "file", 4, Datatype::Integer(4, true, ByteOrder::kBig), {}};
  ChunkCache cache(1000);
  const ArrayReader reader(source, cache);
  const std::string swapped = "dcbahgfelkji";
  for (size_t begin = 0; begin < 12; ++begin) {
    for (size_t size = 0; size <= 12 - begin; ++size) {
      ASSERT_EQ(ReadAll(reader, begin, size), swapped.substr(begin, size));
    }
  }
  EXPECT_EQ(cache.stats().misses, 0u);
  source->store_->Put("file", "HEADabcdefgh");
  std::byte out[12];
  EXPECT_THAT(reader.Read(0, out).error().message(),
              HasSubstr("memory/file: ends before byte 16"));
  EXPECT_TRUE(reader.Read(0, std::span(out).first(8)));
}

TEST(ArrayReaderTest, AChunkReadInPlaceMustHaveItsLengthAndMayBeAbsent) {
  auto source = std::make_shared<TestSource>(
      Datatype::Integer(2, true), ChunkGrid::Regular({2}, {2}, ChunkGrid::Edge::kFull).value(),
      std::vector<std::byte>{std::byte{'f'}, std::byte{'g'}});
  source->contiguous_ = {source->store_, "0", 0, Datatype::Integer(2, true), 4};
  ChunkCache cache(1000);
  const ArrayReader reader(source, cache, std::make_shared<ChunkLedger>());
  EXPECT_EQ(ReadAll(reader, 1, 3), "gfg");
  const ArrayReader later(source, cache, std::make_shared<ChunkLedger>());
  source->store_->Put("0", "abcd");
  EXPECT_EQ(ReadAll(later, 1, 3), "bcd");
  const ArrayReader last(source, cache);
  source->store_->Put("0", "abcde");
  std::byte out[2];
  EXPECT_THAT(last.Read(0, out).error().message(), HasSubstr("memory/0: 5 bytes, expected 4"));
}

TEST(ArrayReaderTest, AnAbsentChunkIsTheFillValueInAnyStoredOrder) {
  auto source = std::make_shared<TestSource>(
      Datatype::Integer(2, true), ChunkGrid::Regular({2}, {2}, ChunkGrid::Edge::kFull).value(),
      std::vector<std::byte>{std::byte{'f'}, std::byte{'g'}});
  source->contiguous_ = {source->store_, "0", 0, Datatype::Integer(2, true, ByteOrder::kBig),
                         4};
  ChunkCache cache(1000);
  const ArrayReader reader(source, cache);
  const std::string filled = "fgfg";
  for (size_t begin = 0; begin < 4; ++begin) {
    for (size_t size = 0; size <= 4 - begin; ++size) {
      ASSERT_EQ(ReadAll(reader, begin, size), filled.substr(begin, size));
    }
  }
}

TEST(ArrayReaderTest, AChunkOfTheWrongLengthHurtsNoOther) {
  auto source = std::make_shared<TestSource>(
      Datatype::Integer(1, true), ChunkGrid::Regular({6}, {2}, ChunkGrid::Edge::kFull).value());
  PutChunks(*source, "abcdef");
  source->store_->Put("c1", "c");
  ChunkCache cache(1000);
  const ArrayReader reader(source, cache);
  EXPECT_EQ(ReadAll(reader, 0, 2), "ab");
  EXPECT_EQ(ReadAll(reader, 4, 2), "ef");
  std::byte out[4];
  const auto error = reader.Read(1, out).error();
  EXPECT_EQ(error.code(), model::ErrorCode::kCorrupt);
  EXPECT_EQ(error.message(), "chunk 1: memory/c1: 1 bytes, expected 2");
}

TEST(ArrayReaderTest, NeverMixesVersionsOfAChunkFile) {
  auto source = std::make_shared<TestSource>(
      Datatype::Integer(1, true), ChunkGrid::Regular({4}, {2}, ChunkGrid::Edge::kFull).value());
  PutChunks(*source, "abcd");
  ChunkCache cache(2);  // the second chunk drives the first out
  auto ledger = std::make_shared<ChunkLedger>();
  const ArrayReader reader(source, cache, ledger);
  EXPECT_EQ(ReadAll(reader, 0, 4), "abcd");
  source->store_->Put("c0", "xy");
  std::byte out[2];
  const auto error = reader.Read(0, out).error();
  EXPECT_EQ(error.code(), model::ErrorCode::kStale);
  EXPECT_TRUE(ledger->Changed());
}

TEST(ArrayReaderTest, SizesBeyondTheStreamAreOurOwnMistake) {
  auto source = std::make_shared<TestSource>(
      Datatype::Integer(1, true), ChunkGrid::Regular({4}, {2}, ChunkGrid::Edge::kFull).value());
  ChunkCache cache(100);
  const ArrayReader reader(source, cache);
  std::byte out[4];
  EXPECT_EQ(reader.Read(1, out).error().code(), model::ErrorCode::kInternal);
}

TEST(ReadValueTest, NestsAsTheShapeSays) {
  auto source = std::make_shared<TestSource>(
      Datatype::Integer(1, false),
      ChunkGrid::Regular({2, 2, 2}, {2, 1, 2}, ChunkGrid::Edge::kFull).value());
  PutChunks(*source, std::string("\1\2\3\4\5\6\7\10", 8));
  ChunkCache cache(1000);
  const auto list = [](std::initializer_list<int> numbers) {
    model::Value::List values;
    for (const int n : numbers) values.emplace_back(model::WideInt{n});
    return model::Value(values);
  };
  using L = model::Value::List;
  EXPECT_EQ(ReadValue(ArrayReader(source, cache)).value(),
            model::Value(L{model::Value(L{list({1, 2}), list({3, 4})}),
                           model::Value(L{list({5, 6}), list({7, 8})})}));
}

TEST(VisitTest, StopsWhenToldAndSeesElementsInOrder) {
  auto source = std::make_shared<TestSource>(
      Datatype::Opaque(2), ChunkGrid::Regular({3, 2}, {2, 2}, ChunkGrid::Edge::kFull).value());
  PutChunks(*source, "aabbccddeeff");
  ChunkCache cache(1000);
  std::string seen;
  const ArrayReader reader(source, cache);
  ASSERT_TRUE(reader.Visit(1, 4, [&](backends::ConstByteSpan bytes) {
    seen += backends::AsText(bytes);
    return seen.size() < 6;
  }));
  EXPECT_EQ(seen, "bbccdd");
}

// Elements of variable size, each chunk made by the source itself.
class WordSource final : public backends::ArraySource {
 public:
  WordSource() {
    spec_.dtype = Datatype::String();
    spec_.shape = {2, 3};
    spec_.grid = ChunkGrid::Regular({2, 3}, {1, 2}, ChunkGrid::Edge::kFull).value();
  }
  const ArraySpec& spec() const override { return spec_; }
  model::Result<ChunkLocation> Locate(std::span<const uint64_t> index,
                                      backends::IndexCache&) const override {
    if (index[0] == 1 && index[1] == 1) return ChunkLocation::Absent();
    ChunkLocation location;
    const std::string words[] = {std::to_string(index[0]), std::to_string(index[1])};
    location.generate = [words](uint64_t) -> model::Result<Bytes> {
      std::string stream;
      std::string elements;
      const auto offset = [&] {
        const uint64_t at = elements.size();
        stream.append(reinterpret_cast<const char*>(&at), 8);
      };
      for (const std::string& word : words) {
        offset();
        const uint32_t length = static_cast<uint32_t>(word.size());
        elements.append(reinterpret_cast<const char*>(&length), 4).append(word);
      }
      offset();
      return Bytes::Copy(backends::AsBytes(stream + elements));
    };
    return location;
  }
  ArraySpec spec_;
};

TEST(VisitTest, VariableElementsComeInCOrderAcrossChunks) {
  ChunkCache cache(10000);
  const model::Value value =
      ReadValue(ArrayReader(std::make_shared<WordSource>(), cache)).value();
  using V = model::Value;
  EXPECT_EQ(value,
            V(V::List{V(V::List{V("0"), V("0"), V("0")}), V(V::List{V("1"), V("0"), V("")})}));
}

// An empty text that says that it takes 20 MiB to decode.
class HungrySource final : public backends::ArraySource {
 public:
  HungrySource(const ChunkCache& cache, uint64_t max_chunk_bytes) : cache_(cache) {
    spec_.dtype = Datatype::String();
    spec_.shape = {1};
    spec_.grid = ChunkGrid::Regular({1}, {1}, ChunkGrid::Edge::kFull).value();
    spec_.max_chunk_bytes = max_chunk_bytes;
  }
  const ArraySpec& spec() const override { return spec_; }
  model::Result<ChunkLocation> Locate(std::span<const uint64_t>,
                                      backends::IndexCache&) const override {
    ChunkLocation location;
    location.generate = [this](uint64_t limit) -> model::Result<Bytes> {
      limits.push_back(limit);
      EXPECT_EQ(cache_.stats().used_bytes, 4 * limit);
      if (limit < 20 * kMiB) return model::Corrupt("no room, or broken");
      std::vector<std::byte> stream(2 * 8 + 4);
      stream[8] = std::byte{4};  // where the element ends, which is a length of 0
      return Bytes::Copy(stream);
    };
    return location;
  }

  static constexpr uint64_t kMiB = 1 << 20;
  mutable std::vector<uint64_t> limits;

 private:
  const ChunkCache& cache_;
  ArraySpec spec_;
};

TEST(VisitTest, ChunksOfUnknownSizeGetMoreMemoryWhereTheyNeedIt) {
  constexpr uint64_t kMiB = HungrySource::kMiB;
  struct Case {
    uint64_t max_chunk_bytes;
    std::vector<uint64_t> limits;
    bool found;
  };
  const Case cases[] = {
      {1024 * kMiB, {kMiB, 32 * kMiB}, true},
      {25 * kMiB, {kMiB, 25 * kMiB}, true},
      {19 * kMiB, {kMiB, 19 * kMiB}, false},
      {kMiB / 2, {kMiB / 2}, false},
  };
  for (const Case& c : cases) {
    ChunkCache cache(64 * kMiB);
    const auto source = std::make_shared<HungrySource>(cache, c.max_chunk_bytes);
    EXPECT_EQ(ReadValue(ArrayReader(source, cache)).has_value(), c.found);
    EXPECT_EQ(source->limits, c.limits);
    EXPECT_LT(cache.stats().used_bytes, 100);
  }
}

TEST(ArrayReaderTest, KnowsTheChunkOfEachByteAndWhereChunksEnd) {
  const auto source = std::make_shared<TestSource>(
      Datatype::Integer(2, true),
      ChunkGrid::Regular({3, 5, 7}, {1, 2, 3}, ChunkGrid::Edge::kCropped).value());
  ChunkCache cache(1000);
  const ArrayReader reader(source, cache);
  ASSERT_EQ(reader.chunk_count(), 27u);
  EXPECT_EQ(reader.band_chunks(), 3u);  // along the last dimension
  std::vector<uint64_t> last(27);
  for (uint64_t offset = 0; offset < reader.byte_size(); ++offset) {
    const uint64_t element = offset / 2;
    const uint64_t chunk = element / 35 * 9 + element / 7 % 5 / 2 * 3 + element % 7 / 3;
    ASSERT_EQ(reader.ChunkAt(offset), chunk) << offset;
    last[chunk] = offset;
  }
  for (uint64_t chunk = 0; chunk < 27; ++chunk) {
    EXPECT_EQ(reader.LastByte(chunk), last[chunk]) << chunk;
  }
}

}  // namespace
}  // namespace ndlfs::cache
