// SPDX-License-Identifier: MIT
//
// Shards: read chunk by chunk where that can be, whole where not, and refused
// entry by entry where their index lies.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "backends/format/zarr/zarr_format.h"
#include "tests/support/memory_store.h"
#include "tests/support/read_array.h"
#include "tests/support/result.h"
#include "tests/support/shard_builder.h"

namespace ndlfs::backends {
namespace {

using model::ErrorCode;
using test::IsError;
using test::IsOk;
using test::kNoChunk;
using test::MakeShard;
using test::MemoryStore;
using test::ShardStyle;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr const char* kIndexCodecs =
    R"([{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "crc32c"}])";
constexpr const char* kPlainIndexCodecs =
    R"([{"name": "bytes", "configuration": {"endian": "little"}}])";
constexpr const char* kBytes = R"([{"name": "bytes"}])";

std::string Sharding(std::string_view inner_shape, std::string_view codecs,
                     std::string_view index_codecs = kIndexCodecs,
                     std::string_view location = "end") {
  return fmt::format(R"({{"name": "sharding_indexed", "configuration": {{"chunk_shape": {},
      "codecs": {}, "index_codecs": {}, "index_location": "{}"}}}})",
                     inner_shape, codecs, index_codecs, location);
}

// zarr.json of an array of uint8.
std::string Document(std::string_view shape, std::string_view chunk_shape,
                     std::string_view codecs, std::string_view fill = "238") {
  return fmt::format(R"({{"zarr_format": 3, "node_type": "array", "shape": {},
      "data_type": "uint8", "fill_value": {}, "codecs": {},
      "chunk_grid": {{"name": "regular", "configuration": {{"chunk_shape": {}}}}},
      "chunk_key_encoding": {{"name": "default"}}}})",
                     shape, fill, codecs, chunk_shape);
}

class ZarrShardingTest : public ::testing::Test {
 protected:
  std::shared_ptr<const Node> Load(const OpenOptions& options = {}) {
    const auto hierarchy = OpenZarr(store_, "", "a", options);
    EXPECT_THAT(hierarchy, IsOk());
    const auto node = (*hierarchy)->Load("/");
    EXPECT_THAT(node, IsOk());
    return node ? *node : nullptr;
  }
  std::shared_ptr<const ArraySource> Source() {
    const auto node = Load();
    if (!node || node->error) {
      ADD_FAILURE() << (node ? node->error->message() : "no node");
      return nullptr;
    }
    return node->source;
  }
  // Why the array has no data.
  std::string DataError() {
    const auto node = Load();
    return node && node->error ? node->error->message() : "no error";
  }

  std::shared_ptr<MemoryStore> store_ = std::make_shared<MemoryStore>();
};

TEST_F(ZarrShardingTest, InnerChunksAreTheGridThatReadersSee) {
  store_->Put("zarr.json",
              Document("[5, 6]", "[4, 4]", "[" + Sharding("[2, 2]", kBytes) + "]"));
  const auto node = Load();
  EXPECT_THAT(node->source->spec().grid.max_chunk_shape(), ElementsAre(2, 2));
  EXPECT_THAT(node->source->spec().grid.counts(), ElementsAre(3, 3));
  EXPECT_FALSE(node->source->contiguous());
  // Directives are about the objects in the store.
  EXPECT_THAT(node->array().storage.chunk.value(), ElementsAre(4, 4));
  ASSERT_EQ(node->array().storage.filter->size(), 1u);
  EXPECT_EQ(node->array().storage.filter->front().name, "sharding_indexed");
  EXPECT_EQ(node->array().storage.filter->front().parameters.front().first, "chunk_shape");
}

// An array of [5, 6]: its shards overhang it, and the last one is absent.
class ShardStyleTest : public ZarrShardingTest,
                       public ::testing::WithParamInterface<ShardStyle> {};

TEST_P(ShardStyleTest, ReadsWhateverTheWriterChose) {
  const ShardStyle& style = GetParam();
  store_->Put(
      "zarr.json",
      Document("[5, 6]", "[4, 4]",
               "[" +
                   Sharding("[2, 2]", kBytes, style.crc32c ? kIndexCodecs : kPlainIndexCodecs,
                            style.index_at_start ? "start" : "end") +
                   "]"));
  store_->Put("c/0/0",
              MakeShard({"\1\2\3\4", std::nullopt, "\5\6\7\10", "\11\12\13\14"}, style));
  store_->Put("c/0/1",
              MakeShard({"\41\42\43\44", "####", "\51\52\53\54", std::nullopt}, style));
  store_->Put("c/1/0", MakeShard({"\61\62##", "\63\64##", std::nullopt, std::nullopt}, style));
  const auto source = Source();
  ASSERT_TRUE(source);
  EXPECT_EQ(test::ReadThroughChunks(*source),
            "\1\2\xee\xee\41\42"
            "\3\4\xee\xee\43\44"
            "\5\6\11\12\51\52"
            "\7\10\13\14\53\54"
            "\61\62\63\64\xee\xee");
}

INSTANTIATE_TEST_SUITE_P(
    All, ShardStyleTest,
    ::testing::Values(ShardStyle{}, ShardStyle{.name = "IndexAtStart", .index_at_start = true},
                      ShardStyle{.name = "NoChecksum", .crc32c = false},
                      ShardStyle{
                          .name = "AtStartNoChecksum", .index_at_start = true, .crc32c = false},
                      ShardStyle{.name = "Reversed", .reversed = true},
                      ShardStyle{.name = "Gaps", .gap = 7},
                      ShardStyle{.name = "AtStartGaps", .index_at_start = true, .gap = 3}),
    [](const auto& info) { return std::string(info.param.name); });

TEST_F(ZarrShardingTest, ReadsTheIndexOnceAndTheChunkAlone) {
  store_->Put("zarr.json", Document("[400]", "[400]", "[" + Sharding("[100]", kBytes) + "]"));
  store_->Put("c/0", MakeShard({std::string(100, 'a'), std::string(100, 'b'),
                                std::string(100, 'c'), std::nullopt}));
  const auto source = Source();
  test::PlainIndexCache indexes;
  const size_t before = store_->bytes_read();
  EXPECT_EQ(test::ReadChunk(*source, {1}, indexes).value(), std::string(100, 'b'));
  EXPECT_EQ(store_->bytes_read() - before, 68u + 100u);
  EXPECT_EQ(test::ReadChunk(*source, {2}, indexes).value(), std::string(100, 'c'));
  EXPECT_EQ(store_->bytes_read() - before, 68u + 200u);
  EXPECT_EQ(test::ReadChunk(*source, {3}, indexes).value(), std::string(100, '\xee'));
  EXPECT_EQ(store_->bytes_read() - before, 68u + 200u);
}

// Has room for small objects only, so not for pages.
class SmallIndexCache final : public IndexCache {
 public:
  model::Result<std::shared_ptr<const void>> GetOrLoadWeighed(
      uint64_t, uint64_t slot, const std::function<model::Result<Weighed>()>& load) override {
    if (const auto kept = kept_.find(slot); kept != kept_.end()) return kept->second;
    NDLFS_TRY(Weighed loaded, load());
    slots_.insert(slot);
    most_ = std::max(most_, loaded.weight);
    if (loaded.weight <= 100) kept_[slot] = loaded.object;
    return loaded.object;
  }

  std::set<uint64_t> slots_;
  uint64_t most_ = 0;

 private:
  std::map<uint64_t, std::shared_ptr<const void>> kept_;
};

class ShardPageTest : public ShardStyleTest {
 protected:
  static constexpr uint64_t kChunks = 4 * 16384 + 7;

  // Chunks of one byte; every tenth is empty.
  std::string Put(const ShardStyle& style) {
    const auto codecs = Sharding("[1]", kBytes, style.crc32c ? kIndexCodecs : kPlainIndexCodecs,
                                 style.index_at_start ? "start" : "end");
    store_->Put("zarr.json", Document(fmt::format("[{}]", kChunks),
                                      fmt::format("[{}]", kChunks), "[" + codecs + "]"));
    std::vector<std::optional<std::string>> chunks;
    std::string all;
    for (uint64_t i = 0; i < kChunks; ++i) {
      const char byte = static_cast<char>(i * 7 % 251);
      chunks.emplace_back(i % 10 == 9 ? std::nullopt : std::optional(std::string(1, byte)));
      all += i % 10 == 9 ? '\xee' : byte;
    }
    store_->Put("c/0", MakeShard(chunks, style));
    return all;
  }
};

TEST_P(ShardPageTest, IndexThatIsLargeForTheCacheIsReadInPages) {
  const std::string all = Put(GetParam());
  const auto source = Source();
  ASSERT_TRUE(source);
  // Whole, and of pages that are found again.
  test::PlainIndexCache whole;
  for (const uint64_t chunk : {uint64_t{0}, uint64_t{16383}, uint64_t{16384}, kChunks - 1}) {
    SmallIndexCache paged;
    EXPECT_EQ(test::ReadChunk(*source, {chunk}, paged).value(), all.substr(chunk, 1)) << chunk;
    EXPECT_EQ(test::ReadChunk(*source, {chunk}, whole).value(), all.substr(chunk, 1)) << chunk;
    EXPECT_EQ(paged.slots_.size(), 2u);
    EXPECT_LT(paged.most_, 300'000u);
  }
}

TEST_P(ShardPageTest, PageOfAShardThatHasChangedIsStale) {
  Put(GetParam());
  const auto source = Source();
  SmallIndexCache indexes;
  const size_t before = store_->bytes_read();
  ASSERT_THAT(test::ReadChunk(*source, {5}, indexes), IsOk());
  const size_t first = store_->bytes_read() - before;
  ASSERT_THAT(test::ReadChunk(*source, {16385}, indexes), IsOk());
  EXPECT_LT(store_->bytes_read() - before - first, 270'000u) << "a page and the chunk";
  Put(GetParam());
  EXPECT_THAT(test::ReadChunk(*source, {5}, indexes),
              IsError(ErrorCode::kStale, HasSubstr("")));
}

INSTANTIATE_TEST_SUITE_P(
    All, ShardPageTest,
    ::testing::Values(ShardStyle{}, ShardStyle{.name = "AtStart", .index_at_start = true},
                      ShardStyle{.name = "Plain", .crc32c = false},
                      ShardStyle{.name = "Gaps", .gap = 3}),
    [](const auto& info) { return std::string(info.param.name); });

TEST_F(ZarrShardingTest, LargeIndexWithOverlapsIsKeptWhole) {
  constexpr uint64_t kChunks = 4 * 16384 + 1;
  store_->Put("zarr.json", Document(fmt::format("[{}]", kChunks), fmt::format("[{}]", kChunks),
                                    "[" + Sharding("[1]", kBytes, kPlainIndexCodecs) + "]"));
  test::ShardEntries entries(kChunks, {kNoChunk, kNoChunk});
  entries[1] = entries[3] = {0, 1};
  entries[4] = {1, 1};
  store_->Put("c/0", "xy" + test::EncodeEntries(entries));
  const auto source = Source();
  SmallIndexCache indexes;
  EXPECT_THAT(test::ReadChunk(*source, {1}, indexes),
              IsError(ErrorCode::kCorrupt, HasSubstr("overlap")));
  EXPECT_EQ(test::ReadChunk(*source, {4}, indexes).value(), "y");
}

TEST_F(ZarrShardingTest, AnEmptyChunkDependsOnItsShard) {
  store_->Put("zarr.json", Document("[4]", "[4]", "[" + Sharding("[2]", kBytes) + "]"));
  store_->Put("c/0", MakeShard({"ab", std::nullopt}));
  test::PlainIndexCache indexes;
  const auto location = Source()->Locate(std::vector<uint64_t>{1}, indexes);
  ASSERT_THAT(location, IsOk());
  EXPECT_EQ(location->key, "c/0");
  EXPECT_THAT(location->pieces, ::testing::IsEmpty());
}

TEST_F(ZarrShardingTest, CompressedInnerChunksWithTranspose) {
  // [[1, 2, 3], [4, 5, 6]] as the columns 1 4 2 5 3 6, stored gzip'd (level 0).
  const std::string gzip(
      "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff\x01\x06\x00\xf9\xff"
      "\x01\x04\x02\x05\x03\x06\x12\xd4\x20\x12\x06\x00\x00\x00",
      29);
  store_->Put("zarr.json", Document("[2, 3]", "[2, 3]",
                                    "[" +
                                        Sharding("[2, 3]",
                                                 R"([{"name": "transpose", "configuration":
                                          {"order": [1, 0]}}, "bytes",
                                          {"name": "gzip", "configuration": {"level": 0}}])") +
                                        "]"));
  const uint32_t crc = [] {  // CRC-32 of the six bytes
    uint32_t value = 0xffffffff;
    for (const char c : std::string("\1\4\2\5\3\6")) {
      value ^= static_cast<unsigned char>(c);
      for (int i = 0; i < 8; ++i) value = (value >> 1) ^ (value & 1 ? 0xedb88320 : 0);
    }
    return ~value;
  }();
  store_->Put("c/0/0",
              MakeShard({gzip.substr(0, 21) + test::LittleEndian(crc, 4) + gzip.substr(25)}));
  EXPECT_EQ(test::ReadThroughChunks(*Source()), "\1\2\3\4\5\6");
}

// Shards of [8] of shards of [4] of chunks of [2].
std::string NestedCodecs(std::string_view codecs = kBytes) {
  return "[" + Sharding("[4]", "[" + Sharding("[2]", codecs, kIndexCodecs, "start") + "]") +
         "]";
}

TEST_F(ZarrShardingTest, NestedShards) {
  store_->Put("zarr.json", Document("[16]", "[8]", NestedCodecs()));
  const ShardStyle inner{.index_at_start = true};
  store_->Put("c/0", MakeShard({MakeShard({"ab", "cd"}, inner),
                                MakeShard({std::nullopt, "gh"}, inner)}));
  store_->Put("c/1", MakeShard({std::nullopt, MakeShard({"mn", "op"}, inner)}));
  const auto source = Source();
  EXPECT_THAT(source->spec().grid.max_chunk_shape(), ElementsAre(2));
  EXPECT_EQ(test::ReadThroughChunks(*source), "abcd\xee\xeegh\xee\xee\xee\xeemnop");
}

TEST_F(ZarrShardingTest, IndexesOfNestedShardsAreKeptApart) {
  store_->Put("zarr.json", Document("[16]", "[8]", NestedCodecs()));
  const ShardStyle inner{.index_at_start = true};
  const std::string shard =
      MakeShard({MakeShard({"ab", "cd"}, inner), MakeShard({"ef", "gh"}, inner)});
  store_->Put("c/0", shard);
  store_->Put("c/1", shard);
  const auto source = Source();
  test::PlainIndexCache indexes;
  for (uint64_t i = 0; i < 8; ++i) EXPECT_THAT(test::ReadChunk(*source, {i}, indexes), IsOk());
  EXPECT_EQ(indexes.size(), 2u + 4u);
}

TEST_F(ZarrShardingTest, ANestedShardIsCheckedAgainstItsOwnBytes) {
  store_->Put("zarr.json", Document("[8]", "[8]", NestedCodecs()));
  // The inner entry would lie in the outer shard, but not in the inner one.
  const std::string inner = test::WithCrc32c(test::EncodeEntries({{36, 2}, {40, 2}})) + "ab";
  store_->Put("c/0", MakeShard({inner, std::string(60, 'x')}));
  test::PlainIndexCache indexes;
  const auto source = Source();
  EXPECT_EQ(test::ReadChunk(*source, {0}, indexes).value(), "ab");
  EXPECT_THAT(test::ReadChunk(*source, {1}, indexes),
              IsError(ErrorCode::kCorrupt,
                      HasSubstr("bytes 40 + 2 of inner chunk 1 lie outside the shard")));
}

TEST_F(ZarrShardingTest, ScalarsMayBeSharded) {
  store_->Put("zarr.json", Document("[]", "[]", "[" + Sharding("[]", kBytes) + "]"));
  store_->Put("c", MakeShard({"\7"}));
  EXPECT_EQ(test::ReadThroughChunks(*Source()), "\7");
}

TEST_F(ZarrShardingTest, RectilinearGridsOfShards) {
  std::string document = Document("[10]", "[4]", "[" + Sharding("[2]", kBytes) + "]");
  const std::string regular = R"({"name": "regular", "configuration": {"chunk_shape": [4]}})";
  document.replace(document.find(regular), regular.size(),
                   R"({"name": "rectilinear", "configuration":
                       {"kind": "inline", "chunk_shapes": [[2, 6, 2]]}})");
  store_->Put("zarr.json", document);
  store_->Put("c/0", MakeShard({"ab"}));
  store_->Put("c/1", MakeShard({"cd", std::nullopt, "gh"}));
  store_->Put("c/2", MakeShard({"ij"}));
  EXPECT_EQ(test::ReadThroughChunks(*Source()), "abcd\xee\xeeghij");
}

TEST_F(ZarrShardingTest, RectilinearShardsThatDoNotDivideAreRefused) {
  std::string document = Document("[10]", "[4]", "[" + Sharding("[2]", kBytes) + "]");
  const std::string regular = R"({"name": "regular", "configuration": {"chunk_shape": [4]}})";
  document.replace(document.find(regular), regular.size(),
                   R"({"name": "rectilinear", "configuration":
                       {"kind": "inline", "chunk_shapes": [[6, 3, 1]]}})");
  store_->Put("zarr.json", document);
  EXPECT_THAT(DataError(), HasSubstr("inner chunks of 2 do not divide a shard of 3"));
}

// Codecs around a shard, so that only all of it can be decoded.
class WrappedShardTest : public ZarrShardingTest {};

TEST_F(WrappedShardTest, ChecksumOfTheWholeShard) {
  store_->Put("zarr.json", Document("[2, 4]", "[2, 4]",
                                    "[" + Sharding("[1, 2]", kBytes) + R"(, "crc32c"])"));
  store_->Put("c/0/0", test::WithCrc32c(MakeShard({"ab", "cd", std::nullopt, "gh"})));
  const auto source = Source();
  EXPECT_THAT(source->spec().grid.max_chunk_shape(), ElementsAre(2, 4));
  EXPECT_EQ(test::ReadThroughChunks(*source), "abcd\xee\xeegh");
}

TEST_F(WrappedShardTest, TransposedShards) {
  // Encoded, the shard is [4, 2]: abcd / efgh in columns.
  store_->Put("zarr.json",
              Document("[2, 4]", "[2, 4]",
                       R"([{"name": "transpose", "configuration": {"order": [1, 0]}}, )" +
                           Sharding("[2, 2]", kBytes) + "]"));
  store_->Put("c/0/0", MakeShard({"aebf", std::nullopt}));
  EXPECT_EQ(test::ReadThroughChunks(*Source()),
            "ab\xee\xee"
            "ef\xee\xee");
}

TEST_F(WrappedShardTest, ShardsInTransposedInnerChunks) {
  // Outer shards are read piece by piece; their chunks are whole shards.
  store_->Put("zarr.json", Document("[2, 4]", "[2, 4]",
                                    "[" +
                                        Sharding("[2, 2]",
                                                 R"([{"name": "transpose", "configuration":
                                        {"order": [1, 0]}}, )" +
                                                     Sharding("[1, 2]", kBytes) + "]") +
                                        "]"));
  store_->Put("c/0/0", MakeShard({MakeShard({"ae", "bf"}), MakeShard({std::nullopt, "dh"})}));
  const auto source = Source();
  EXPECT_THAT(source->spec().grid.max_chunk_shape(), ElementsAre(2, 2));
  EXPECT_EQ(test::ReadThroughChunks(*source),
            "ab\xee"
            "def\xee"
            "h");
}

TEST_F(WrappedShardTest, OneBadChunkSpoilsTheShardThatIsDecodedWhole) {
  store_->Put("zarr.json",
              Document("[4]", "[4]", "[" + Sharding("[2]", kBytes) + R"(, "crc32c"])"));
  store_->Put("c/0", test::WithCrc32c(
                         "abcd" + test::WithCrc32c(test::EncodeEntries({{0, 2}, {2, 50}}))));
  EXPECT_THAT(test::ReadThroughChunks(*Source()),
              HasSubstr("bytes 2 + 50 of inner chunk 1 lie outside the shard"));
}

// Two inner chunks of [2], and an index that says what it should not. The
// index itself is without a checksum, so that nothing else notices.
struct HostileIndex {
  const char* name;
  std::string body;
  test::ShardEntries entries;
  const char* first;  // what reading each chunk gives
  const char* second;
};
void PrintTo(const HostileIndex& hostile, std::ostream* out) { *out << hostile.name; }

class HostileIndexTest : public ZarrShardingTest,
                         public ::testing::WithParamInterface<HostileIndex> {};

TEST_P(HostileIndexTest, OnlyTheChunksConcernedAreCorrupt) {
  const HostileIndex& hostile = GetParam();
  store_->Put("zarr.json",
              Document("[4]", "[4]", "[" + Sharding("[2]", kBytes, kPlainIndexCodecs) + "]"));
  store_->Put("c/0", hostile.body + test::EncodeEntries(hostile.entries));
  const auto source = Source();
  test::PlainIndexCache indexes;
  const char* const expected[] = {hostile.first, hostile.second};
  for (uint64_t i = 0; i < 2; ++i) {
    const auto chunk = test::ReadChunk(*source, {i}, indexes);
    if (chunk) {
      EXPECT_EQ(*chunk, expected[i]);
    } else {
      EXPECT_THAT(chunk, IsError(ErrorCode::kCorrupt, HasSubstr(expected[i])));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, HostileIndexTest,
    ::testing::Values(
        HostileIndex{"EndsOutside",
                     "abcd",
                     {{0, 2}, {2, 100}},
                     "ab",
                     "shard index: bytes 2 + 100 of inner chunk 1 lie outside the shard"},
        HostileIndex{"BeginsOutside",
                     "abcd",
                     {{1000, 2}, {2, 2}},
                     "bytes 1000 + 2 of inner chunk 0 lie outside",
                     "cd"},
        HostileIndex{"Overflows",
                     "abcd",
                     {{kNoChunk - 1, 4}, {2, 2}},
                     "of inner chunk 0 lie outside the shard",
                     "cd"},
        HostileIndex{"HalfEmpty",
                     "abcd",
                     {{kNoChunk, 2}, {2, 2}},
                     "of inner chunk 0 lie outside the shard",
                     "cd"},
        HostileIndex{"SizeEmpty",
                     "abcd",
                     {{0, kNoChunk}, {2, 2}},
                     "of inner chunk 0 lie outside the shard",
                     "cd"},
        HostileIndex{"InTheIndex",
                     "abcd",
                     {{0, 2}, {4, 2}},
                     "ab",
                     "bytes 4 + 2 of inner chunk 1 overlap with another or with the index"},
        HostileIndex{"OverTheIndex",
                     "abcd",
                     {{0, 2}, {3, 2}},
                     "ab",
                     "inner chunk 1 overlap with another or with the index"},
        HostileIndex{"Overlapping",
                     "abcd",
                     {{0, 2}, {1, 2}},
                     "inner chunk 0 overlap with another",
                     "inner chunk 1 overlap with another"},
        HostileIndex{"Identical",
                     "abcd",
                     {{0, 2}, {0, 2}},
                     "inner chunk 0 overlap with another",
                     "inner chunk 1 overlap with another"},
        HostileIndex{"Within",
                     "abcdef",
                     {{3, 1}, {1, 4}},
                     "inner chunk 0 overlap with another",
                     "inner chunk 1 overlap with another"},
        HostileIndex{"TooShort", "abcd", {{0, 1}, {2, 2}}, "1 bytes, expected 2", "cd"},
        HostileIndex{"NoBytes", "abcd", {{2, 0}, {2, 2}}, "0 bytes, expected 2", "cd"}),
    [](const auto& info) { return info.param.name; });

TEST_F(ZarrShardingTest, ShardsTooSmallForTheirIndex) {
  store_->Put("zarr.json", Document("[4]", "[2]", "[" + Sharding("[1]", kBytes) + "]"));
  store_->Put("c/0", std::string(35, '\0'));
  store_->Put("c/1", "");
  test::PlainIndexCache indexes;
  EXPECT_THAT(
      test::ReadChunk(*Source(), {0}, indexes),
      IsError(ErrorCode::kCorrupt,
              HasSubstr("memory/c/0: a shard of 35 bytes, too small for its index of 36")));
  EXPECT_THAT(test::ReadChunk(*Source(), {2}, indexes),
              IsError(ErrorCode::kCorrupt, HasSubstr("a shard of 0 bytes")));
}

TEST_F(ZarrShardingTest, AChecksumThatDoesNotFitIsCorrupt) {
  store_->Put("zarr.json", Document("[2]", "[2]", "[" + Sharding("[1]", kBytes) + "]"));
  std::string shard = MakeShard({"a", "b"});
  shard[3] ^= 1;
  store_->Put("c/0", shard);
  test::PlainIndexCache indexes;
  EXPECT_THAT(test::ReadChunk(*Source(), {0}, indexes),
              IsError(ErrorCode::kCorrupt, HasSubstr("c/0: shard index: crc32c: ")));
}

TEST_F(ZarrShardingTest, RefusesConfigurations) {
  const std::string index = fmt::format(R"("index_codecs": {})", kIndexCodecs);
  const std::pair<std::string, const char*> kCases[] = {
      {R"({})", "codecs[0]: \"chunk_shape\" is missing"},
      {R"({"chunk_shape": [2]})", "codecs[0]: \"codecs\" is missing"},
      {R"({"chunk_shape": [2], "codecs": ["bytes"]})",
       "codecs[0]: \"index_codecs\" is missing"},
      {R"({"chunk_shape": [3], "codecs": ["bytes"], )" + index + "}",
       "codecs[0]: chunk_shape: [0]: inner chunks of 3 do not divide a shard of 4"},
      {R"({"chunk_shape": [0], "codecs": ["bytes"], )" + index + "}",
       "inner chunks of 0 do not divide a shard of 4"},
      {R"({"chunk_shape": [8], "codecs": ["bytes"], )" + index + "}",
       "inner chunks of 8 do not divide a shard of 4"},
      {R"({"chunk_shape": [2, 1], "codecs": ["bytes"], )" + index + "}",
       "inner chunks of 2 dimensions in a shard of 1"},
      {R"({"chunk_shape": [-2], "codecs": ["bytes"], )" + index + "}",
       "chunk_shape: [0]: expected a non-negative integer"},
      {R"({"chunk_shape": [2], "codecs": ["bytes"], "index_location": "middle", )" + index +
           "}",
       "index_location: expected \"start\" or \"end\", found the string \"middle\""},
      {R"({"chunk_shape": [2], "codecs": ["bytes"], "location": "end", )" + index + "}",
       "unknown member \"location\""},
      {R"({"chunk_shape": [2], "codecs": [], )" + index + "}", "codecs[0].codecs"},
      {R"({"chunk_shape": [2], "codecs": ["unheard"], )" + index + "}",
       "codecs[0].codecs: codecs[0]: unknown codec \"unheard\""},
      {R"({"chunk_shape": [2], "codecs": ["bytes"], "index_codecs": ["bytes"]})",
       "index_codecs: codecs[0]: bytes: endian is missing"},
      {R"({"chunk_shape": [2], "codecs": ["bytes"], "index_codecs": [{"name": "bytes",
           "configuration": {"endian": "little"}}, {"name": "gzip", "configuration": {"level": 1}}]})",
       "index_codecs: the size of the encoded index is not fixed"},
  };
  for (const auto& [configuration, message] : kCases) {
    store_->Put("zarr.json", Document("[4]", "[4]",
                                      R"([{"name": "sharding_indexed", "configuration": )" +
                                          configuration + "}]"));
    EXPECT_THAT(DataError(), HasSubstr(message)) << configuration;
  }
}

TEST_F(ZarrShardingTest, IndexesCountAgainstTheLimitOfChunks) {
  store_->Put("zarr.json", Document("[4000]", "[4000]", "[" + Sharding("[1]", kBytes) + "]"));
  EXPECT_EQ(Load({.max_chunk_size = 68000})->error, std::nullopt);
  EXPECT_THAT(Load({.max_chunk_size = 67999})->error->message(),
              HasSubstr("shard indexes of 68000 bytes, --max-chunk-size is 67999"));
  // 5 MiB: a thread can have to hold that beside a chunk.
  store_->Put("zarr.json",
              Document("[300000]", "[300000]", "[" + Sharding("[1]", kBytes) + "]"));
  EXPECT_EQ(Load({.max_chunk_size = 16 * 300000 * 17})->error, std::nullopt);
  EXPECT_THAT(Load({.max_chunk_size = 16 * 300000 * 17 - 16})->error->message(),
              HasSubstr("shard indexes of 5100000 bytes, more than 1/16 of --max-chunk-size"));
  store_->Put("zarr.json", Document("[9223372036854775807]", "[9223372036854775807]",
                                    "[" + Sharding("[1]", kBytes) + "]"));
  EXPECT_THAT(DataError(), HasSubstr("an index of more than 2^62 bytes"));
}

}  // namespace
}  // namespace ndlfs::backends
