// SPDX-License-Identifier: MIT
#include "fs/compare/array_digest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "backends/format/computed_source.h"
#include "cache/spill_space.h"
#include "fs/compare/object_digest.h"
#include "tests/support/memory_hierarchy.h"
#include "tests/support/result.h"

namespace ndlfs::fs {
namespace {

using test::MemoryArray;

constexpr uint64_t kRows = 40;
constexpr uint64_t kColumns = 16384;  // more than two blocks in all

// int16 elements with chunks of the given shape; element i is i % 30011.
std::shared_ptr<const MemoryArray> Numbers(uint64_t rows, uint64_t columns, int16_t last = -1) {
  const auto chunk_of = [&](uint64_t first_row, uint64_t first_column) {
    std::string chunk;
    for (uint64_t y = first_row; y < std::min(first_row + rows, kRows); ++y) {
      for (uint64_t x = first_column; x < std::min(first_column + columns, kColumns); ++x) {
        const bool is_last = y == kRows - 1 && x == kColumns - 1;
        chunk += test::Raw(is_last ? last : static_cast<int16_t>((y * kColumns + x) % 30011));
      }
    }
    return chunk;
  };
  std::map<uint64_t, std::string> chunks;
  for (uint64_t y = 0; y < kRows; y += rows) {
    for (uint64_t x = 0; x < kColumns; x += columns) chunks[chunks.size()] = chunk_of(y, x);
  }
  return std::make_shared<MemoryArray>(model::Datatype::Integer(2, true),
                                       std::vector<uint64_t>{kRows, kColumns},
                                       std::vector<uint64_t>{rows, columns}, std::move(chunks));
}

// By `threads` threads, with a cache of `budget` bytes.
std::string DigestBy(unsigned threads, uint64_t budget,
                     std::shared_ptr<const backends::ArraySource> source) {
  cache::SpillSpace spill("/tmp", uint64_t{64} << 20);
  cache::ChunkCache cache(budget, &spill);
  const auto reader = std::make_shared<const cache::ArrayReader>(std::move(source), cache);
  const auto digest = ArrayDigest::Make(reader).value();
  std::atomic<uint64_t> next{0};
  std::vector<std::thread> workers;
  for (unsigned i = 0; i < threads; ++i) {
    workers.emplace_back([&] {
      for (uint64_t block; (block = next++) < digest->block_count();) {
        EXPECT_TRUE(digest->Run(block));
      }
    });
  }
  for (auto& worker : workers) worker.join();
  return HexOf(digest->Finish());
}

TEST(ArrayDigestTest, DoesNotDependOnChunksThreadsOrMemory) {
  const std::string whole = DigestBy(1, uint64_t{64} << 20, Numbers(kRows, kColumns));
  EXPECT_EQ(whole.size(), 64u);
  EXPECT_EQ(DigestBy(3, uint64_t{64} << 20, Numbers(7, 1000)), whole);
  EXPECT_EQ(DigestBy(2, uint64_t{1} << 16, Numbers(kRows, 100)), whole);
  EXPECT_EQ(DigestBy(4, uint64_t{1} << 20, Numbers(1, kColumns)), whole);
  EXPECT_NE(DigestBy(1, uint64_t{64} << 20, Numbers(kRows, kColumns, -2)), whole);
}

TEST(ArrayDigestTest, DecodesEachChunkOnce) {
  cache::SpillSpace spill("/tmp", uint64_t{64} << 20);
  cache::ChunkCache cache(uint64_t{1} << 18, &spill);  // less than a band
  const auto reader = std::make_shared<const cache::ArrayReader>(Numbers(kRows, 64), cache);
  ASSERT_TRUE(DigestOf(reader));
  EXPECT_EQ(cache.stats().misses, kColumns / 64);
}

TEST(ArrayDigestTest, NamesTheChunkThatDoesNotDecode) {
  cache::ChunkCache cache(uint64_t{1} << 20);
  const auto reader = std::make_shared<const cache::ArrayReader>(
      test::Undecodable(model::Datatype::Float32(), {4}), cache);
  EXPECT_THAT(DigestOf(reader),
              test::IsError(model::ErrorCode::kCorrupt,
                            testing::HasSubstr("chunk 0: chunk 0 is broken")));
}

TEST(ArrayDigestTest, DoesNotBeginWithComputedElementsWithoutEnd) {
  cache::ChunkCache cache(uint64_t{1} << 20);
  const auto digest_of = [&](uint64_t count) {
    const backends::ElementAt at = [](uint64_t i) { return static_cast<double>(i); };
    return DigestOf(std::make_shared<const cache::ArrayReader>(
        backends::MakeComputedSource({count}, at).value(), cache));
  };
  EXPECT_TRUE(digest_of(100'000));
  EXPECT_THAT(digest_of(uint64_t{1} << 48),
              test::IsError(model::ErrorCode::kLimit,
                            testing::HasSubstr("281474976710656 computed elements")));
}

TEST(ArrayDigestTest, AnArrayWithoutElementsHasADigest) {
  cache::ChunkCache cache(uint64_t{1} << 20);
  const auto empty = std::make_shared<MemoryArray>(
      model::Datatype::Integer(2, true), std::vector<uint64_t>{0}, std::vector<uint64_t>{1},
      std::map<uint64_t, std::string>());
  const auto digest = DigestOf(std::make_shared<const cache::ArrayReader>(empty, cache));
  ASSERT_TRUE(digest);
  EXPECT_EQ(*digest, Sha256Of(backends::AsBytes("[\"ndlfs-array-1\",\"int16\",[0]]\n")));
}

// The digest of the attributes of a group with one attribute.
Sha256Digest DigestOfOne(const model::Datatype& type, model::Value value) {
  backends::Node node;
  model::Group group;
  group.attributes.push_back({"a", type, {}, std::move(value), {}, false});
  node.entity = std::move(group);
  return DigestOfAttributes(node);
}

TEST(ObjectDigestTest, TheWidthOfNumbersAndListsOfOneItemDoNotCount) {
  const auto of_float = DigestOfOne(model::Datatype::Float64(), 0.5);
  EXPECT_EQ(DigestOfOne(model::Datatype::Float32(), 0.5), of_float);
  EXPECT_EQ(DigestOfOne(model::Datatype::Float32(), model::Value::List{0.5}), of_float);
  const auto of_integer = DigestOfOne(model::Datatype::Integer(8, true), 3);
  EXPECT_EQ(DigestOfOne(model::Datatype::Integer(1, false), 3), of_integer);
  EXPECT_NE(DigestOfOne(model::Datatype::Float64(), 3.0), of_integer);
  EXPECT_NE(DigestOfOne(model::Datatype::Float64(), 0.0),
            DigestOfOne(model::Datatype::Float64(), -0.0));
}

TEST(ObjectDigestTest, KindsOfValuesDiffer) {
  EXPECT_NE(DigestOfOne(model::Datatype::Bool(), "TRUE"),
            DigestOfOne(model::Datatype::String(), "TRUE"));
  EXPECT_EQ(DigestOfOne(model::Datatype::String(), "TRUE"),
            Sha256Of(backends::AsBytes("ndlfs-attributes-1\nattribute \"a\" \"TRUE\"\n")));
  EXPECT_EQ(DigestOfOne(model::Datatype::Bool(), "TRUE"),
            Sha256Of(backends::AsBytes("ndlfs-attributes-1\nattribute \"a\" true\n")));
  EXPECT_EQ(DigestOfOne(model::Datatype::Opaque(2), model::Blob{std::byte{0}, std::byte{255}}),
            Sha256Of(backends::AsBytes(
                "ndlfs-attributes-1\nattribute \"a\" {\"bytes\":\"00ff\"}\n")));
}

TEST(ObjectDigestTest, TheOrderOfMembersDoesNotCount) {
  const DigestedMember a{.name = "a"};
  const DigestedMember b{.name = "b", .kind = DigestedMember::Kind::kLink, .target = "/a"};
  EXPECT_EQ(DigestOfGroup({}, {a, b}), DigestOfGroup({}, {b, a}));
  EXPECT_NE(DigestOfGroup({}, {a, b}), DigestOfGroup({}, {a}));
}

}  // namespace
}  // namespace ndlfs::fs
