// SPDX-License-Identifier: MIT
//
// Shards that are rewritten while they are read: what was learnt of their
// index does not outlive them unnoticed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <memory>
#include <string>

#include "backends/format/zarr/zarr_format.h"
#include "cache/array_reader.h"
#include "cache/chunk_ledger.h"
#include "tests/support/memory_store.h"
#include "tests/support/result.h"
#include "tests/support/shard_builder.h"

namespace ndlfs::cache {
namespace {

using test::MakeShard;

class ShardChangeTest : public ::testing::Test {
 protected:
  ShardChangeTest() {
    store_->Put("zarr.json", R"({"zarr_format": 3, "node_type": "array", "shape": [4],
        "data_type": "uint8", "fill_value": 46,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [4]}},
        "chunk_key_encoding": "default",
        "codecs": [{"name": "sharding_indexed", "configuration": {"chunk_shape": [2],
            "codecs": ["bytes"], "index_codecs": [{"name": "bytes",
            "configuration": {"endian": "little"}}, "crc32c"]}}]})");
  }

  void Open() {
    const auto hierarchy = backends::OpenZarr(store_, "", "a", {}).value();
    ledger_ = std::make_shared<ChunkLedger>();
    reader_ =
        std::make_unique<ArrayReader>(hierarchy->Load("/").value()->source, cache_, ledger_);
  }
  model::Result<std::string> Read(uint64_t offset, size_t count) {
    std::string text(count, '?');
    NDLFS_RETURN_IF_ERROR(reader_->Read(offset, std::as_writable_bytes(std::span(text))));
    return text;
  }

  std::shared_ptr<test::MemoryStore> store_ = std::make_shared<test::MemoryStore>();
  ChunkCache cache_{1 << 20};
  std::shared_ptr<ChunkLedger> ledger_;
  std::unique_ptr<ArrayReader> reader_;
};

TEST_F(ShardChangeTest, AnEmptyChunkThatIsFilledIsNoticed) {
  store_->Put("c/0", MakeShard({"ab", std::nullopt}));
  Open();
  EXPECT_EQ(Read(2, 2).value(), "..");
  EXPECT_FALSE(ledger_->Changed());
  store_->Put("c/0", MakeShard({"ab", "cd"}));
  EXPECT_TRUE(ledger_->Changed());
}

TEST_F(ShardChangeTest, AnAbsentShardThatAppearsIsNoticed) {
  Open();
  EXPECT_EQ(Read(0, 4).value(), "....");
  EXPECT_FALSE(ledger_->Changed());
  store_->Put("c/0", MakeShard({"ab", "cd"}));
  EXPECT_TRUE(ledger_->Changed());
}

TEST_F(ShardChangeTest, AnIndexIsNotUsedForAnotherVersionOfItsShard) {
  store_->Put("c/0", MakeShard({"ab", "cd"}));
  Open();
  EXPECT_EQ(Read(0, 2).value(), "ab");
  store_->Put("c/0", MakeShard({"ABCD", "cd"}));
  EXPECT_THAT(Read(2, 2), test::IsStale());
  EXPECT_TRUE(ledger_->Changed());
}

TEST_F(ShardChangeTest, ABrokenIndexThatIsMendedIsNoticed) {
  store_->Put("c/0", "too short");
  Open();
  EXPECT_THAT(Read(0, 2), test::IsError(model::ErrorCode::kCorrupt,
                                        testing::HasSubstr("too small for its index")));
  EXPECT_FALSE(ledger_->Changed());
  store_->Put("c/0", MakeShard({"ab", "cd"}));
  EXPECT_TRUE(ledger_->Changed());
}

}  // namespace
}  // namespace ndlfs::cache
