// SPDX-License-Identifier: MIT
#include "cache/chunk_spill.h"

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <random>
#include <thread>

#include "cache/prefetcher.h"
#include "tests/support/chunk_source.h"

namespace ndlfs::cache {
namespace {

using backends::Bytes;
using backends::ByteSpan;
using backends::ChunkGrid;
using model::Datatype;
using test::TestSource;

constexpr uint64_t kPlenty = uint64_t{1} << 30;

std::string Directory() { return std::filesystem::temp_directory_path(); }

Bytes Block(std::string_view text) { return Bytes::Copy(backends::AsBytes(text)); }

// `size` bytes of a spilled chunk; empty if it is not there.
std::string ReadBack(const ChunkSpill& spill, uint64_t chunk, uint64_t offset, size_t size,
                     size_t key = 0) {
  std::string text(size, '?');
  const auto copy = [&](const ChunkSpill::ReadAt& read) {
    return read(offset, std::as_writable_bytes(std::span(text)));
  };
  const bool there = spill.Read(chunk, copy, key);
  return there ? text : "";
}

// Chunks of ten bytes, one after the other.
class ChunkSpillTest : public testing::Test {
 protected:
  void Make(std::string directory, uint64_t limit) {
    space_ = std::make_unique<SpillSpace>(std::move(directory), limit);
    spill_ = std::make_unique<ChunkSpill>(*space_, 10,
                                          [](uint64_t chunk) { return chunk * 10 + 9; });
  }
  void SetUp() override { Make(Directory(), kPlenty); }

  std::unique_ptr<SpillSpace> space_;
  std::unique_ptr<ChunkSpill> spill_;
};

TEST_F(ChunkSpillTest, KeepsAnyPartOfWhatItTakes) {
  spill_->SetReader(this, 0, 5);
  spill_->Take(3, Block("0123456789"));
  spill_->Take(1, Block("abc"));
  EXPECT_EQ(ReadBack(*spill_, 3, 0, 10), "0123456789");
  EXPECT_EQ(ReadBack(*spill_, 3, 4, 3), "456");
  EXPECT_EQ(ReadBack(*spill_, 1, 0, 3), "abc");
  EXPECT_EQ(ReadBack(*spill_, 2, 0, 3), "");
  EXPECT_EQ(space_->stats().written, 2u);
  EXPECT_EQ(space_->stats().used_bytes, 20u);
}

TEST_F(ChunkSpillTest, WantsWhatAReaderStillNeedsAndDoesNotHave) {
  EXPECT_FALSE(spill_->Wants(0)) << "there is no reader";
  spill_->SetReader(this, 25, 5);
  EXPECT_FALSE(spill_->Wants(1)) << "ends at byte 19";
  EXPECT_TRUE(spill_->Wants(2)) << "reaches to byte 29";
  EXPECT_TRUE(spill_->Wants(4));
  EXPECT_FALSE(spill_->Wants(5)) << "not yet asked for";
  spill_->Take(4, Block("x"));
  EXPECT_FALSE(spill_->Wants(4)) << "it is here already";
  const int other = 0;
  spill_->SetReader(&other, 0, 1);
  EXPECT_TRUE(spill_->Wants(0)) << "another reader";
}

TEST_F(ChunkSpillTest, TheLastReaderLeavesNothingBehind) {
  const int other = 0;
  spill_->SetReader(this, 0, 5);
  spill_->SetReader(&other, 0, 5);
  spill_->Take(1, Block("abc"));
  spill_->RemoveReader(this);
  EXPECT_TRUE(spill_->Contains(1));
  EXPECT_FALSE(spill_->empty());
  spill_->RemoveReader(&other);
  EXPECT_FALSE(spill_->Contains(1));
  EXPECT_TRUE(spill_->empty());
  EXPECT_EQ(space_->stats().used_bytes, 0u);
  spill_->Take(1, Block("abc"));  // was on its way when the reader left
  EXPECT_FALSE(spill_->Contains(1));
}

TEST_F(ChunkSpillTest, UsesTheRoomOfChunksThatNobodyNeedsAnyMore) {
  for (uint64_t chunk = 0; chunk < 1000; ++chunk) {
    spill_->SetReader(this, chunk * 10, chunk + 2);
    spill_->Take(chunk, Block("abc"));
  }
  EXPECT_EQ(space_->stats().written, 1000u);
  EXPECT_LE(space_->stats().used_bytes, 40 * 10u);
  EXPECT_TRUE(spill_->Contains(999));
}

TEST_F(ChunkSpillTest, RefusesWhatTheLimitHasNoRoomFor) {
  Make(Directory(), 35);
  spill_->SetReader(this, 0, 100);
  for (uint64_t chunk = 0; chunk < 10; ++chunk) spill_->Take(chunk, Block("abc"));
  EXPECT_EQ(space_->stats().written, 3u);
  EXPECT_EQ(space_->stats().refused, 7u);
  EXPECT_EQ(space_->stats().used_bytes, 30u);
  EXPECT_TRUE(spill_->Contains(2));
  EXPECT_FALSE(spill_->Contains(3));
}

TEST_F(ChunkSpillTest, WritesNothingWhereItCannot) {
  for (const char* directory : {"/nonexistent/directory", "/dev/null", ""}) {
    Make(directory, kPlenty);
    spill_->SetReader(this, 0, 100);
    spill_->Take(1, Block("abc"));
    EXPECT_FALSE(spill_->Contains(1)) << directory;
    EXPECT_EQ(space_->stats().refused, 1u) << directory;
  }
  Make(Directory(), 0);
  spill_->SetReader(this, 0, 100);
  spill_->Take(1, Block("abc"));
  EXPECT_FALSE(spill_->Contains(1));
}

// Writes the bytes of a chunk backwards, one at a time.
class Backwards final : public ChunkSpill::Order {
 public:
  explicit Backwards(size_t key) : Order(key) {}
  bool Write(uint64_t, backends::ConstByteSpan elements, const WriteAt& write) const override {
    for (size_t i = 0; i < elements.size(); ++i) {
      if (!write(elements.size() - 1 - i, elements.subspan(i, 1))) return false;
    }
    return true;
  }
};

TEST_F(ChunkSpillTest, WritesInTheOrderThatAllReadersWant) {
  const auto order = std::make_shared<const Backwards>(2);
  const int other = 0;
  spill_->SetReader(this, 0, 5, order);
  spill_->SetReader(&other, 0, 5, std::make_shared<const Backwards>(2));
  spill_->Take(1, Block("abc"));
  EXPECT_EQ(ReadBack(*spill_, 1, 0, 3, 2), "cba");
  EXPECT_EQ(ReadBack(*spill_, 1, 0, 3), "") << "it is there in another order";
  EXPECT_EQ(ReadBack(*spill_, 1, 0, 3, 1), "");
  spill_->SetReader(&other, 0, 5, std::make_shared<const Backwards>(1));
  spill_->Take(2, Block("def"));
  EXPECT_EQ(ReadBack(*spill_, 2, 0, 3), "def") << "one wants another order";
  spill_->SetReader(&other, 0, 5);
  spill_->Take(3, Block("ghi"));
  EXPECT_EQ(ReadBack(*spill_, 3, 0, 3), "ghi") << "one wants C order";
  EXPECT_EQ(ReadBack(*spill_, 1, 0, 3, 2), "cba");
  EXPECT_EQ(space_->stats().written, 3u);
}

TEST_F(ChunkSpillTest, AChunkThatGoesWhileItIsReadIsNotBelieved) {
  spill_->SetReader(this, 0, 5);
  spill_->Take(1, Block("abc"));
  EXPECT_FALSE(spill_->Read(1, [&](const ChunkSpill::ReadAt&) {
    spill_->RemoveReader(this);
    return true;
  }));
}

TEST_F(ChunkSpillTest, LeavesNoFileInTheDirectory) {
  const auto directory = std::filesystem::temp_directory_path() / "ndlfs-chunk-spill-test";
  std::filesystem::create_directory(directory);
  Make(directory, kPlenty);
  spill_->SetReader(this, 0, 5);
  spill_->Take(1, Block("abc"));
  EXPECT_TRUE(spill_->Contains(1));
  EXPECT_TRUE(std::filesystem::is_empty(directory));
  std::filesystem::remove_all(directory);
}

// One pass over an array whose bands of chunks are larger than the cache.
struct Pass {
  const char* name;
  std::vector<uint64_t> shape;
  std::vector<uint64_t> chunks;
  uint64_t cache_bytes;
  uint64_t limit;    // of the spill
  bool once;         // each chunk is to be decoded once
  unsigned threads;  // that decode ahead
};

class SpilledBandTest : public testing::TestWithParam<Pass> {};

TEST_P(SpilledBandTest, OnePassYieldsTheElements) {
  const Pass& pass = GetParam();
  std::mt19937 random(3);
  auto source = std::make_shared<TestSource>(
      Datatype::Float32(),
      ChunkGrid::Regular(pass.shape, pass.chunks, ChunkGrid::Edge::kFull).value());
  const std::string elements = test::RandomElements(random, test::Product(pass.shape) * 4);
  test::PutChunks(*source, elements);
  SpillSpace space(Directory(), pass.limit);
  ChunkCache cache(pass.cache_bytes, &space);
  auto reader = std::make_shared<const ArrayReader>(source, cache);
  {
    Prefetcher prefetcher(cache, pass.threads);
    ReadStream stream(prefetcher, reader);
    std::string out(elements.size(), '?');
    for (size_t offset = 0; offset < out.size();) {
      const size_t size = std::min<size_t>(out.size() - offset, 1 + random() % 5000);
      stream.OnRead(offset, size);
      ASSERT_TRUE(
          reader->Read(offset, std::as_writable_bytes(std::span(out).subspan(offset, size))));
      offset += size;
    }
    ASSERT_TRUE(out == elements);
  }
  if (pass.once) {
    EXPECT_EQ(cache.stats().misses, reader->chunk_count());
  }
  EXPECT_LE(cache.stats().used_bytes, pass.cache_bytes);
  EXPECT_EQ(space.stats().used_bytes, 0u);
}

constexpr uint64_t kPlane = 40 * 50 * 4;
INSTANTIATE_TEST_SUITE_P(
    All, SpilledBandTest,
    testing::Values(
        Pass{"FitsIntoTheCache", {24, 40, 50}, {8, 10, 10}, 100 * kPlane, kPlenty, true, 0},
        Pass{"BandLargerThanTheCache", {24, 40, 50}, {8, 10, 10}, 2 * kPlane, kPlenty, true, 0},
        Pass{"OddEdges", {23, 37, 41}, {7, 9, 10}, 2 * kPlane, kPlenty, true, 0},
        Pass{"OneBandIsTheArray", {24, 40, 50}, {24, 5, 5}, 2 * kPlane, kPlenty, true, 0},
        Pass{"ColumnsOfOneElement", {24, 40, 50}, {24, 40, 1}, 2 * kPlane, kPlenty, true, 0},
        Pass{"CacheOfOneChunk", {24, 40, 50}, {8, 10, 10}, 8 * 10 * 10 * 4, kPlenty, true, 0},
        Pass{"DecodedAhead", {24, 40, 50}, {8, 10, 10}, 2 * kPlane, kPlenty, false, 2},
        Pass{"NoSpill", {24, 40, 50}, {8, 10, 10}, 2 * kPlane, 0, false, 0},
        Pass{"LittleRoom", {24, 40, 50}, {8, 10, 10}, 2 * kPlane, 8000, false, 0},
        Pass{"LittleRoomDecodedAhead", {24, 40, 50}, {8, 10, 10}, 2 * kPlane, 8000, false, 2}),
    [](const auto& param) { return std::string(param.param.name); });

// Each with a reader of its own, over one array and one small cache.
TEST(SpilledBandTest, ManyReadersSeeTheSameElements) {
  std::mt19937 random(4);
  auto source = std::make_shared<TestSource>(
      Datatype::Float32(),
      ChunkGrid::Regular({24, 40, 50}, {8, 10, 10}, ChunkGrid::Edge::kFull).value());
  const std::string elements = test::RandomElements(random, 24 * 40 * 50 * 4);
  test::PutChunks(*source, elements);
  SpillSpace space(Directory(), 30 * 3200);
  ChunkCache cache(4 * 3200, &space);
  auto reader = std::make_shared<const ArrayReader>(source, cache);
  Prefetcher prefetcher(cache, 2);
  std::vector<std::thread> threads;
  for (unsigned number = 0; number < 4; ++number) {
    threads.emplace_back([&, number] {
      ReadStream stream(prefetcher, reader);
      std::mt19937 sizes(number);
      std::string out(elements.size(), '?');
      for (size_t offset = 0; offset < out.size();) {
        const size_t size = std::min<size_t>(out.size() - offset, 1 + sizes() % 5000);
        stream.OnRead(offset, size);
        ASSERT_TRUE(
            reader->Read(offset, std::as_writable_bytes(std::span(out).subspan(offset, size))));
        offset += size;
      }
      EXPECT_TRUE(out == elements);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(space.stats().used_bytes, 0u);
}

TEST_F(ChunkSpillTest, AChunkIsNeededUntilItsLastByteIsRead) {
  spill_->SetReader(this, 9, 2);
  EXPECT_TRUE(spill_->Wants(0));  // byte 9 is its last
  EXPECT_TRUE(spill_->Wants(1));
  EXPECT_FALSE(spill_->Wants(2));
  spill_->SetReader(this, 10, 2);
  EXPECT_FALSE(spill_->Wants(0));
}

TEST_F(ChunkSpillTest, WhatFailedToReadHasNotBeenRead) {
  spill_->SetReader(this, 0, 5);
  spill_->Take(3, Block("0123456789"));
  EXPECT_TRUE(spill_->Read(3, [](const ChunkSpill::ReadAt&) { return true; }));
  EXPECT_FALSE(spill_->Read(3, [](const ChunkSpill::ReadAt&) { return false; }));
}

TEST(SpillSpaceTest, SlotsTakeNoMoreThanTheLimitAndGiveItBack) {
  SpillSpace space(Directory(), 20);
  EXPECT_EQ(space.Open(0), nullptr);
  EXPECT_EQ(space.Open(21), nullptr);
  EXPECT_NE(space.Open(1), nullptr);
  EXPECT_NE(space.Open(20), nullptr);
  {
    const auto file = space.Open(10);
    ASSERT_NE(file, nullptr);
    EXPECT_TRUE(file->Grow());
    EXPECT_TRUE(file->Grow());
    EXPECT_FALSE(file->Grow());
    EXPECT_EQ(space.stats().used_bytes, 20u);
  }
  EXPECT_EQ(space.stats().used_bytes, 0u);
  EXPECT_EQ(SpillSpace(Directory(), 0).Open(1), nullptr);
}

TEST(SpillSpaceTest, NothingIsReadBeyondWhatWasWritten) {
  SpillSpace space(Directory(), kPlenty);
  const auto file = space.Open(10);
  ASSERT_NE(file, nullptr);
  EXPECT_TRUE(file->Write(1, 0, backends::AsBytes("abcdefghij")));
  std::string text(4, '?');
  const ByteSpan out = std::as_writable_bytes(std::span(text));
  EXPECT_TRUE(file->Read(1, 6, out));
  EXPECT_EQ(text, "ghij");
  EXPECT_FALSE(file->Read(1, 7, out));
  EXPECT_FALSE(file->Read(2, 0, out));
}

TEST(SpillSpaceTest, OpensNoMoreFilesThanItMay) {
  SpillSpace space(Directory(), kPlenty);
  std::vector<std::shared_ptr<SpillSpace::File>> files;
  while (auto file = space.Open(10)) {
    files.push_back(std::move(file));
    ASSERT_LT(files.size(), 100000u);
  }
  files.pop_back();
  EXPECT_NE(space.Open(10), nullptr);
}

TEST(SpillSpaceTest, ADirectoryThatTakesNoFilesIsReportedOnce) {
  std::vector<std::string> reports;
  SpillSpace space("/proc", kPlenty,
                   [&](std::string_view text) { reports.emplace_back(text); });
  EXPECT_EQ(space.Open(10), nullptr);
  space.CountRefused();
  space.CountRefused();
  ASSERT_EQ(reports.size(), 1u);
  EXPECT_TRUE(reports[0].starts_with("/proc: ")) << reports[0];
}

TEST_F(ChunkSpillTest, AChunkThatIsLargerThanASlotIsNotWritten) {
  spill_->SetReader(this, 0, 5);
  spill_->Take(1, Block("0123456789!"));
  EXPECT_FALSE(spill_->Contains(1));
  spill_->Take(1, Block("abc"));
  spill_->Take(1, Block("def"));
  EXPECT_EQ(ReadBack(*spill_, 1, 0, 3), "abc") << "what is there stays";
}

TEST(SpilledBytesTest, LongTextsAreInAFile) {
  SpillSpace space(Directory(), kPlenty);
  SpilledBytes bytes(&space);
  std::string text;
  for (int i = 0; text.size() < (size_t{5} << 19); ++i) text += std::to_string(i) + ' ';
  for (size_t at = 0; at < text.size(); at += 99'999) {
    ASSERT_TRUE(bytes.Append(std::string_view(text).substr(at, 99'999)));
  }
  bytes.Finish();
  EXPECT_EQ(bytes.size(), text.size());
  EXPECT_LT(bytes.held_bytes(), text.size());
  EXPECT_EQ(space.stats().used_bytes, uint64_t{2} << 20);
  std::string read(text.size() + 10, '?');
  EXPECT_EQ(bytes.Read(7, std::as_writable_bytes(std::span(read))).value(), text.size() - 7);
  EXPECT_TRUE(read.substr(0, text.size() - 7) == text.substr(7));
  EXPECT_EQ(bytes.Read(text.size() + 1, std::as_writable_bytes(std::span(read))).value(), 0U);
}

TEST(SpilledBytesTest, WithoutAFileTooLongTextsAreRefused) {
  SpilledBytes bytes(nullptr);
  const std::string part(size_t{9} << 20, 'x');
  EXPECT_TRUE(bytes.Append(part));
  const auto refused = bytes.Append(part);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().sys_errno(), ENOMEM);
}

}  // namespace
}  // namespace ndlfs::cache
