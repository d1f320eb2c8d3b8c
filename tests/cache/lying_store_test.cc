// SPDX-License-Identifier: MIT
//
// What is read of an array whose store does not keep its promises.
#include "tests/support/lying_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <memory>
#include <string>

#include "backends/codec/registry.h"
#include "backends/format/zarr/zarr_format.h"
#include "cache/array_reader.h"
#include "cache/chunk_ledger.h"
#include "tests/support/result.h"
#include "tests/support/shard_builder.h"

namespace ndlfs::cache {
namespace {

using Lie = test::LyingStore::Lie;

constexpr Lie kLies[] = {Lie::kLargerSize, Lie::kSmallerSize, Lie::kOtherSize,
                         Lie::kMoreBytes,  Lie::kFewerBytes,  Lie::kMoreMemory};

// One chunk of 4 bytes, in pieces of the value "c".
class PiecesSource final : public backends::ArraySource {
 public:
  PiecesSource(std::shared_ptr<const backends::Store> store,
               std::vector<backends::ByteRange> pieces)
      : store_(std::move(store)), pieces_(std::move(pieces)) {
    spec_.dtype = model::Datatype::Integer(1, false);
    spec_.shape = {4};
    spec_.grid =
        backends::ChunkGrid::Regular({4}, {4}, backends::ChunkGrid::Edge::kFull).value();
    spec_.codecs =
        backends::MakeZarr3Chain(backends::Json::parse(R"(["bytes"])"), {spec_.dtype, {4}})
            .value();
    spec_.fill = {std::byte{'.'}};
  }
  const backends::ArraySpec& spec() const override { return spec_; }
  model::Result<backends::ChunkLocation> Locate(std::span<const uint64_t>,
                                                backends::IndexCache&) const override {
    backends::ChunkLocation location;
    location.store = store_;
    location.key = "c";
    location.pieces = pieces_;
    return location;
  }

 private:
  const std::shared_ptr<const backends::Store> store_;
  const std::vector<backends::ByteRange> pieces_;
  backends::ArraySpec spec_;
};

class LyingStoreTest : public ::testing::Test {
 protected:
  LyingStoreTest() { truth_->Put("c", "abcd"); }

  model::Result<std::string> Read(const std::vector<backends::ByteRange>& pieces) {
    return ReadFrom(std::make_shared<PiecesSource>(store_, pieces));
  }
  model::Result<std::string> ReadFrom(std::shared_ptr<const backends::ArraySource> source) {
    ChunkCache cache(1 << 20);
    const ArrayReader reader(std::move(source), cache, ledger_);
    std::string text(4, '?');
    NDLFS_RETURN_IF_ERROR(reader.Read(0, std::as_writable_bytes(std::span(text))));
    return text;
  }
  // The `n`-th read finds another version.
  void ChangeBeforeRead(size_t n, const std::string& key, const std::string& value) {
    store_->BeforeRead([=, this](size_t reads) -> model::Result<void> {
      if (reads == n) truth_->Put(key, value);
      return {};
    });
  }

  const std::shared_ptr<test::MemoryStore> truth_ = std::make_shared<test::MemoryStore>();
  const std::shared_ptr<test::LyingStore> store_ = std::make_shared<test::LyingStore>(truth_);
  const std::shared_ptr<ChunkLedger> ledger_ = std::make_shared<ChunkLedger>();
};

TEST_F(LyingStoreTest, TheTruthIsRead) {
  EXPECT_THAT(Read({{0, 4}}), test::IsOkAnd("abcd"));
  EXPECT_THAT(Read({{2, 2}, {0, 2}}), test::IsOkAnd("cdab"));
}

TEST_F(LyingStoreTest, AnAnswerThatContradictsItselfIsAnError) {
  for (const Lie lie : kLies) {
    store_->Tell(lie);
    EXPECT_FALSE(Read({{}})) << static_cast<int>(lie);
    EXPECT_FALSE(Read({{2, 2}, {0, 2}})) << static_cast<int>(lie);
  }
}

TEST_F(LyingStoreTest, PiecesOfTwoVersionsAreStale) {
  ChangeBeforeRead(1, "c", "ABCD");
  EXPECT_THAT(Read({{2, 2}, {0, 2}}), test::IsStale());
}

TEST_F(LyingStoreTest, PiecesOfTwoVersionsAreStaleAlsoIfNobodyLooksAtIfMatch) {
  store_->Tell(Lie::kIgnoresIfMatch);
  ChangeBeforeRead(1, "c", "ABCD");
  EXPECT_THAT(Read({{2, 2}, {0, 2}}), test::IsStale());
}

TEST_F(LyingStoreTest, AChunkThatIsReadAgainIsOfTheVersionThatWasReadFirst) {
  store_->Tell(Lie::kIgnoresIfMatch);
  EXPECT_THAT(Read({{}}), test::IsOkAnd("abcd"));
  truth_->Put("c", "ABCD");
  EXPECT_THAT(Read({{}}), test::IsStale());
  EXPECT_TRUE(ledger_->has_changed());
}

TEST_F(LyingStoreTest, AnAbsentChunkThatAppearsIsNoticed) {
  truth_->Remove("c");
  EXPECT_THAT(Read({{}}), test::IsOkAnd("...."));
  truth_->Put("c", "ABCD");
  EXPECT_THAT(Read({{}}), test::IsStale());
}

TEST_F(LyingStoreTest, AChunkThatGoesBetweenItsPiecesIsNotAbsent) {
  store_->BeforeRead([this](size_t reads) -> model::Result<void> {
    if (reads == 1) truth_->Remove("c");
    return {};
  });
  EXPECT_FALSE(Read({{2, 2}, {0, 2}}));
}

TEST_F(LyingStoreTest, AFailureBetweenPiecesIsAnError) {
  store_->BeforeRead([](size_t reads) -> model::Result<void> {
    if (reads == 1) return model::IoError(EIO, "c");
    return {};
  });
  EXPECT_THAT(Read({{2, 2}, {0, 2}}), test::IsErrno(EIO));
}

// An index of one version says nothing of the bytes of another one.
TEST_F(LyingStoreTest, AShardThatChangesAfterItsIndexIsStale) {
  truth_->Put("zarr.json", R"({"zarr_format": 3, "node_type": "array", "shape": [4],
      "data_type": "uint8", "fill_value": 46,
      "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [4]}},
      "chunk_key_encoding": "default",
      "codecs": [{"name": "sharding_indexed", "configuration": {"chunk_shape": [2],
          "codecs": ["bytes"], "index_codecs": [{"name": "bytes",
          "configuration": {"endian": "little"}}, "crc32c"]}}]})");
  truth_->Put("c/0", test::MakeShard({"ab", "cd"}));
  const auto hierarchy = backends::OpenZarr(store_, "", "a", {}).value();
  const auto source = hierarchy->Load("/").value()->source;
  EXPECT_THAT(ReadFrom(source), test::IsOkAnd("abcd"));
  truth_->Put("c/0", test::MakeShard({"ab", "cd"}));
  for (const Lie lie : {Lie::kNone, Lie::kIgnoresIfMatch}) {
    store_->Tell(lie);
    size_t before = 0;
    store_->BeforeRead([&before](size_t reads) -> model::Result<void> {
      before = reads;
      return {};
    });
    const auto other =
        backends::OpenZarr(store_, "", "a", {}).value()->Load("/").value()->source;
    const size_t index_read = before + 1;  // then the first chunk
    store_->BeforeRead([this, index_read](size_t reads) -> model::Result<void> {
      if (reads == index_read + 1) truth_->Put("c/0", test::MakeShard({"XY", "ZW"}));
      return {};
    });
    ChunkCache cache(1 << 20);
    const auto ledger = std::make_shared<ChunkLedger>();
    const ArrayReader reader(other, cache, ledger);
    std::string text(4, '?');
    EXPECT_THAT(reader.Read(0, std::as_writable_bytes(std::span(text))), test::IsStale());
  }
}

TEST_F(LyingStoreTest, ReadManyAnswersFromOneVersionOrSaysThatThereAreTwo) {
  for (const Lie lie : {Lie::kNone, Lie::kIgnoresIfMatch}) {
    truth_->Put("c", "abcdefgh");
    store_->Tell(lie);
    std::optional<size_t> first;
    store_->BeforeRead([&](size_t reads) -> model::Result<void> {
      if (!first) first = reads;
      if (reads == *first + 1) truth_->Put("c", "ABCDEFGH");
      return {};
    });
    const std::vector<backends::ReadRequest> requests = {
        {"c", {.range = {0, 2}}}, {"c", {.range = {4, 2}}}, {"c", {.range = {2, 2}}}};
    const auto answers = store_->ReadMany(requests);
    ASSERT_EQ(answers.size(), 3u);
    ASSERT_TRUE(answers[0] && *answers[0]);
    EXPECT_EQ(backends::AsText((*answers[0])->bytes.span()), "ab");
    EXPECT_THAT(answers[1], test::IsStale());
    EXPECT_THAT(answers[2], test::IsStale());
  }
}

TEST_F(LyingStoreTest, ReadManyGoesOnAfterAFailure) {
  truth_->Put("d", "1234");
  store_->BeforeRead([](size_t reads) -> model::Result<void> {
    if (reads == 1) return model::IoError(EIO, "c");
    return {};
  });
  const std::vector<backends::ReadRequest> requests = {
      {"c", {.range = {0, 1}}}, {"c", {.range = {3, 1}}}, {"d"}, {"none"}};
  const auto answers = store_->ReadMany(requests);
  ASSERT_EQ(answers.size(), 4u);
  ASSERT_TRUE(answers[0] && *answers[0]);
  EXPECT_THAT(answers[1], test::IsErrno(EIO));
  ASSERT_TRUE(answers[2] && *answers[2]);
  EXPECT_EQ(backends::AsText((*answers[2])->bytes.span()), "1234");
  ASSERT_TRUE(answers[3]);
  EXPECT_FALSE(answers[3]->has_value());
}

}  // namespace
}  // namespace ndlfs::cache
