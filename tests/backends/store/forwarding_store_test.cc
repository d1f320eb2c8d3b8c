// SPDX-License-Identifier: MIT
//
// Stores that read through another one pass on what it can do.
#include "backends/store/forwarding_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "backends/store/pinned_store.h"
#include "backends/store/zip/inflated_store.h"
#include "backends/store/zip/zip_store.h"
#include "tests/support/memory_store.h"
#include "tests/support/result.h"
#include "tests/support/zip_builder.h"

namespace ndlfs::backends {
namespace {

using model::ErrorCode;
using ::testing::_;
using ::testing::ElementsAre;

// The values of another store, as if each read were a request to a server.
class FarStore final : public ForwardingStore {
 public:
  explicit FarStore(std::shared_ptr<test::MemoryStore> store)
      : ForwardingStore(std::move(store)) {}
  StoreTraits traits() const override {
    return {.is_remote = true, .looks_are_requests = true, .reads_in_parts = true};
  }
  model::Result<std::optional<ValueInfo>> Stat(std::string_view key) const override {
    ++looks;
    return ForwardingStore::Stat(key);
  }
  std::vector<model::Result<std::optional<ValueInfo>>> StatMany(
      std::span<const std::string_view> keys) const override {
    ++looks;
    return ForwardingStore::StatMany(keys);
  }
  std::vector<model::Result<std::optional<Value>>> ReadMany(
      std::span<const ReadRequest> requests) const override {
    rounds.push_back(requests.size());
    return ForwardingStore::ReadMany(requests);
  }
  void LookAhead(std::string_view, std::span<const std::string_view>,
                 std::span<const std::string_view>) const override {
    ++looks_ahead;
  }
  mutable int looks = 0;
  mutable int reads = 0;
  mutable int looks_ahead = 0;
  mutable std::vector<size_t> rounds;  // the requests of each ReadMany()

 private:
  model::Result<std::optional<ReadResult>> DoRead(std::string_view key,
                                                  const ReadOptions& options,
                                                  const Reserve& reserve) const override {
    ++reads;
    return ForwardingStore::DoRead(key, options, reserve);
  }
};

class ForwardingStoreTest : public ::testing::Test {
 protected:
  const std::shared_ptr<test::MemoryStore> values_ = std::make_shared<test::MemoryStore>();
  const std::shared_ptr<FarStore> far_ = std::make_shared<FarStore>(values_);
};

TEST_F(ForwardingStoreTest, PassesOnWhatTheOtherStoreCanDo) {
  values_->Put("", "text");
  const auto pinned = PinVersion(far_).value();
  EXPECT_TRUE(pinned->traits().is_remote);
  EXPECT_TRUE(pinned->traits().looks_are_requests);
  EXPECT_TRUE(pinned->traits().reads_in_parts);
  pinned->LookAhead("", {}, {});
  EXPECT_EQ(far_->looks_ahead, 1);
  const std::vector<ReadRequest> requests = {{"", {.range = {0, 2}}}, {"", {.range = {3, 1}}}};
  const auto answers = pinned->ReadMany(requests);
  EXPECT_THAT(far_->rounds, ElementsAre(2));
  EXPECT_EQ(AsText((*answers[1])->bytes.span()), "t");
}

TEST_F(ForwardingStoreTest, ReadsManyAsItReadsOne) {
  values_->Put("", "text");
  const auto pinned = PinVersion(far_).value();
  const auto other = Generation::OfTag("another");
  std::vector<ReadRequest> requests = {{"", {.if_match = other}}, {""}};
  auto answers = pinned->ReadMany(requests);
  EXPECT_THAT(answers[0], test::IsError(ErrorCode::kStale, _));
  EXPECT_THAT(answers[1], test::IsOk());
  values_->Put("", "changed");
  answers = pinned->ReadMany(requests);
  EXPECT_THAT(answers[1], test::IsError(ErrorCode::kStale, _));
  values_->Remove("");
  answers = pinned->ReadMany(requests);
  EXPECT_THAT(answers[1], test::IsError(ErrorCode::kStale, _));
}

TEST_F(ForwardingStoreTest, MembersOfAnArchiveAreReadAsItIs) {
  test::ZipBuilder builder;
  builder.Add({.name = "a", .data = std::string(1000, 'x')});
  builder.Add({.name = "b", .data = "text"});
  values_->Put("", builder.Build());
  const auto zip = ZipStore::Open(far_).value();
  EXPECT_TRUE(zip->traits().is_remote);
  EXPECT_FALSE(zip->traits().looks_are_requests) << "the directory is in memory";
  far_->looks = 0;
  const std::vector<std::string_view> keys = {"a", "none", "b", "../c"};
  const auto infos = zip->StatMany(keys);
  EXPECT_EQ(far_->looks, 1);
  EXPECT_EQ((*infos[0])->size, 1000u);
  EXPECT_THAT(infos[1], test::IsOkAnd(std::nullopt));
  EXPECT_EQ((*infos[2])->size, 4u);
  EXPECT_FALSE(infos[3]);
}

// The local header and the bytes behind it.
TEST_F(ForwardingStoreTest, AStoredMemberOfAFarArchiveIsOneRead) {
  const std::string large(100'000, 'x');
  test::ZipBuilder builder;
  builder.Add({.name = "large", .data = large});
  builder.Add({.name = "end", .data = "text"});
  values_->Put("", builder.Build());
  const auto zip = ZipStore::Open(far_).value();
  for (const auto& [key, text] :
       {std::pair<std::string, std::string>{"large", large}, {"end", "text"}}) {
    far_->reads = 0;
    EXPECT_EQ(AsText(zip->Read(key, 1 << 20).value()->span()), text);
    EXPECT_EQ(far_->reads, 1) << key;
  }
  EXPECT_EQ(AsText(zip->Read("large", 10, {99'998, 10}).value()->span()), "xx");
  std::string damaged = builder.Build();
  damaged[damaged.find("xxx")] = 'y';
  values_->Put("", damaged);
  EXPECT_THAT(ZipStore::Open(far_).value()->Read("large", 1 << 20),
              test::IsError(ErrorCode::kCorrupt, _));
}

}  // namespace
}  // namespace ndlfs::backends
