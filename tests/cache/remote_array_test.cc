// SPDX-License-Identifier: MIT
//
// Arrays that need no decoding, where each read is a request to a server.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <thread>

#include "cache/array_reader.h"
#include "cache/prefetcher.h"
#include "tests/support/chunk_source.h"

namespace ndlfs::cache {
namespace {

using backends::ChunkGrid;
using model::ByteOrder;
using model::Datatype;
using test::TestSource;
using testing::HasSubstr;

constexpr uint64_t kMiB = uint64_t{1} << 20;
const LoadPace::Limits kServer = {.decoders = 1, .fetches = 8, .is_remote = true};

std::string Read(const ArrayReader& reader, uint64_t offset, size_t size,
                 ReadHint hint = ReadHint::kOnward) {
  std::string out(size, '?');
  const auto result =
      reader.Read(offset, std::as_writable_bytes(std::span(out)), ByteOrder::kLittle, hint);
  EXPECT_TRUE(result) << result.error().message();
  return out;
}

// `count` elements, which lie in a file after "HEAD".
std::shared_ptr<TestSource> Contiguous(const Datatype& stored, uint64_t count,
                                       const std::string& elements) {
  const auto grid = ChunkGrid::Regular({count}, {count}, ChunkGrid::Edge::kCropped);
  const Datatype decoded = stored.kind() == Datatype::Kind::kOpaque
                               ? stored
                               : Datatype::Integer(stored.size(), true);
  auto source = std::make_shared<TestSource>(decoded, grid.value());
  source->store_->Put("file", "HEAD" + elements);
  source->contiguous_ = {source->store_, "file", 4, stored, {}};
  return source;
}

// Chunks of 256 KiB that are not encoded.
std::shared_ptr<TestSource> PlainChunks(const std::string& elements) {
  auto source = std::make_shared<TestSource>(
      Datatype::Integer(1, true),
      ChunkGrid::Regular({elements.size()}, {kMiB / 4}, ChunkGrid::Edge::kFull).value());
  test::PutChunks(*source, elements);
  return source;
}

std::string Random(size_t size) {
  std::mt19937 random(3);
  return test::RandomElements(random, size);
}

TEST(RemoteArrayTest, AnyRangeOfContiguousElementsIsThatOfTheFile) {
  constexpr size_t kItem = 12;  // a piece of whole elements is no whole MiB
  const std::string elements = Random(3 * kMiB / kItem * kItem);
  const auto source = Contiguous(Datatype::Opaque(kItem), elements.size() / kItem, elements);
  ChunkCache cache(16 * kMiB, nullptr, kServer);
  const ArrayReader reader(source, cache);
  EXPECT_EQ(reader.chunk_count(), 4u);
  EXPECT_EQ(reader.LastByte(3), elements.size() - 1);
  for (uint64_t chunk = 0; chunk < 4; ++chunk) {
    EXPECT_EQ(reader.ChunkAt(reader.LastByte(chunk)), chunk);
    const uint64_t around = reader.LastByte(chunk) - 5;
    const size_t size = std::min<size_t>(10, elements.size() - around);
    EXPECT_EQ(Read(reader, around, size, ReadHint::kAlone), elements.substr(around, size));
  }
  std::mt19937 random(5);
  for (int round = 0; round < 100; ++round) {
    const size_t begin = random() % elements.size();
    const size_t most = elements.size() - begin;
    const size_t size = random() % std::min<size_t>(most, round % 2 ? 100 : 2 * kMiB);
    const auto hint = random() % 2 ? ReadHint::kAlone : ReadHint::kOnward;
    ASSERT_TRUE(Read(reader, begin, size, hint) == elements.substr(begin, size)) << begin;
  }
}

TEST(RemoteArrayTest, PiecesAreSwapped) {
  const std::string elements = Random(2 * kMiB);
  const auto source =
      Contiguous(Datatype::Integer(4, true, ByteOrder::kBig), kMiB / 2, elements);
  ChunkCache cache(16 * kMiB, nullptr, kServer);
  const ArrayReader reader(source, cache);
  std::string swapped = elements;
  for (size_t i = 0; i < swapped.size(); i += 4) {
    std::reverse(swapped.begin() + i, swapped.begin() + i + 4);
  }
  EXPECT_TRUE(Read(reader, 0, 2 * kMiB) == swapped);
  EXPECT_TRUE(Read(reader, kMiB - 3, 7) == swapped.substr(kMiB - 3, 7));
}

TEST(RemoteArrayTest, NoMoreIsReadThanALittleReadAsksFor) {
  const std::string elements = Random(2 * kMiB);
  const auto source = Contiguous(Datatype::Integer(1, true), elements.size(), elements);
  ChunkCache cache(16 * kMiB, nullptr, kServer);
  const ArrayReader reader(source, cache);
  Read(reader, 5000, 100);
  Read(reader, 9000, 100 << 10, ReadHint::kAlone);
  EXPECT_EQ(source->store_->bytes_read(), 100u + (100 << 10));
  EXPECT_EQ(cache.stats().misses, 0u);
}

TEST(RemoteArrayTest, APieceIsReadOnce) {
  const std::string elements = Random(2 * kMiB);
  const auto source = Contiguous(Datatype::Integer(1, true), elements.size(), elements);
  ChunkCache cache(16 * kMiB, nullptr, kServer);
  const ArrayReader reader(source, cache);
  for (uint64_t offset = 0; offset < elements.size(); offset += 128 << 10) {
    ASSERT_TRUE(Read(reader, offset, 128 << 10) == elements.substr(offset, 128 << 10));
  }
  Read(reader, 77, 10);
  Read(reader, 770, 10, ReadHint::kAlone);
  EXPECT_EQ(source->store_->reads(), 2u);
}

TEST(RemoteArrayTest, AFileThatEndsTooEarlyIsNoData) {
  const auto source = Contiguous(Datatype::Integer(1, true), 2 * kMiB, Random(kMiB + 10));
  ChunkCache cache(16 * kMiB, nullptr, kServer);
  const ArrayReader reader(source, cache);
  EXPECT_FALSE(reader.Prefetch(1));
  std::vector<std::byte> out(kMiB);
  EXPECT_TRUE(reader.Read(0, out));
  EXPECT_THAT(reader.Read(kMiB, out).error().message(),
              HasSubstr("memory/file: ends before byte 2097156"));
}

TEST(RemoteArrayTest, ChunksThatAreNotEncodedAreReadWholeByAReaderThatGoesOn) {
  const std::string elements = Random(kMiB);
  const auto source = PlainChunks(elements);
  ChunkCache cache(16 * kMiB, nullptr, kServer);
  const ArrayReader reader(source, cache);
  EXPECT_TRUE(Read(reader, 10, 8 << 10, ReadHint::kAlone) == elements.substr(10, 8 << 10));
  EXPECT_TRUE(Read(reader, 10, 8 << 10) == elements.substr(10, 8 << 10));
  EXPECT_EQ(source->store_->bytes_read(), 16u << 10);
  EXPECT_TRUE(Read(reader, 0, kMiB) == elements);
  EXPECT_EQ(cache.stats().misses, 4u);
  const size_t reads = source->store_->reads();
  EXPECT_TRUE(Read(reader, 10, 8 << 10, ReadHint::kAlone) == elements.substr(10, 8 << 10));
  EXPECT_EQ(source->store_->reads(), reads);
}

TEST(RemoteArrayTest, ChunksForWhichTheCacheIsTooSmallAreReadInPlace) {
  const auto source = PlainChunks(Random(kMiB));
  ChunkCache cache(kMiB / 4, nullptr, kServer);
  const ArrayReader reader(source, cache);
  EXPECT_EQ(reader.max_ahead_bytes(), 0u);
  Read(reader, 0, 64 << 10);
  EXPECT_EQ(source->store_->bytes_read(), 64u << 10);
}

TEST(RemoteArrayTest, NothingIsReadAheadOfALocalFile) {
  ChunkCache cache(16 * kMiB);
  const auto contiguous = Contiguous(Datatype::Integer(1, true), kMiB, Random(kMiB));
  EXPECT_EQ(ArrayReader(contiguous, cache).max_ahead_bytes(), 0u);
  EXPECT_EQ(ArrayReader(PlainChunks(Random(kMiB)), cache).max_ahead_bytes(), 0u);
}

TEST(RemoteArrayTest, PiecesAndPlainChunksAreReadAhead) {
  const std::string elements = Random(8 * kMiB);
  for (const auto& source : {Contiguous(Datatype::Integer(1, true), elements.size(), elements),
                             PlainChunks(elements)}) {
    ChunkCache cache(64 * kMiB, nullptr, kServer);
    Prefetcher prefetcher(cache, 1);
    const auto reader = std::make_shared<const ArrayReader>(source, cache);
    ReadStream stream(prefetcher, reader);
    EXPECT_EQ(stream.OnRead(0, 256 << 10), ReadHint::kOnward);
    const uint64_t next = reader->LastByte(0) + 1;
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (prefetcher.stats().loaded < 2 && std::chrono::steady_clock::now() < end) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    while (!cache.Contains({source->id(), 1}) && std::chrono::steady_clock::now() < end) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    EXPECT_TRUE(cache.Contains({source->id(), 1}));
    EXPECT_TRUE(Read(*reader, next, 128 << 10) == elements.substr(next, 128 << 10));
    EXPECT_EQ(stream.OnRead(7 * kMiB, 128 << 10), ReadHint::kAlone)
        << "the reader goes elsewhere";
  }
}

}  // namespace
}  // namespace ndlfs::cache
