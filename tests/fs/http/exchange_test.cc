// SPDX-License-Identifier: MIT
#include "fs/http/exchange.h"

#include <gmock/gmock.h>

#include <atomic>
#include <cerrno>
#include <latch>
#include <thread>

namespace ndlfs::fs {
namespace {

constexpr uint64_t kFileSize = uint64_t{8} << 20;
constexpr uid_t kUser = 7;

// Has `ready` bytes at once, and works for the next ones until it is told to stop.
class Endless final : public FileHandle {
 public:
  explicit Endless(uint64_t ready) : ready_(ready) {}

  KeptObjects kept() const override { return {{this, 1000}}; }
  model::Result<size_t> Read(uint64_t offset, backends::ByteSpan out) const override {
    if (offset + out.size() <= ready_) return out.size();
    works.count_down();
    while (!backends::CancellationScope::IsCancelled()) std::this_thread::yield();
    ++ends;
    return model::Propagate(backends::CancellationScope::Check().error());
  }

  mutable std::latch works{1};
  mutable std::atomic<int> ends{0};

 private:
  const uint64_t ready_;
};

class File final : public TreeNode {
 public:
  explicit File(std::shared_ptr<const FileHandle> handle, bool has_size = true)
      : handle_(std::move(handle)), has_size_(has_size) {}
  Relation Compare(const TreeNode&) const override { return Relation::kSame; }
  model::Result<Attributes> Stat() const override {
    return Attributes{.mode = S_IFREG | 0444, .size = kFileSize};
  }
  model::Result<OpenedFile> Open() override { return OpenedFile{handle_, !has_size_}; }

 private:
  const std::shared_ptr<const FileHandle> handle_;
  const bool has_size_;
};

class Root final : public DirectoryNode {
 public:
  explicit Root(TreeNodePtr file) : file_(std::move(file)) {}
  model::Result<Attributes> Stat() const override { return Attributes{.mode = S_IFDIR | 0555}; }
  model::Result<TreeNodePtr> Lookup(std::string_view) const override { return file_; }

 private:
  const TreeNodePtr file_;
};

// A request that works until it is told to go on.
class Turn final : public QueuedRequest {
 public:
  Turn(Lane lane, std::latch& go) : QueuedRequest(kUser, lane, Clock::now()), go_(go) {}
  void Run() override { go_.wait(); }
  void Refuse(int) override {}

 private:
  std::latch& go_;
};

class ExchangeTest : public testing::Test {
 protected:
  // The reply to a request for `file`, which is under way.
  std::shared_ptr<Exchange> Ask(std::shared_ptr<const FileHandle> file, bool has_size = true) {
    site_.emplace(std::make_shared<Root>(std::make_shared<File>(std::move(file), has_size)),
                  SiteOptions(), nullptr);
    const auto exchange = std::make_shared<Exchange>(
        RequestServices{*site_, queue_, budget_, files_, counts_, slow_},
        HttpRequest{.target = *ParseRequestTarget("/f")},
        Exchange::Client{kUser, [this] { return is_waiting_.load(); }});
    exchange->Begin([this] { reply_.count_down(); });
    return exchange;
  }
  // Until the latch go_ is counted down.
  void TakeTurns(Lane lane, int count) {
    for (int i = 0; i < count; ++i) queue_.Run(std::make_shared<Turn>(lane, go_));
  }
  void Tick(RequestQueue::Clock::duration after) {
    queue_.Tick(RequestQueue::Clock::now() + after);
  }

  std::optional<Site> site_;
  OperationCounts counts_;
  SlowRequests slow_;
  BlockBudget budget_{uint64_t{64} << 20};
  OpenLimits files_{{.shared = true, .most_open = 100, .most_bytes = 10'000}};
  std::atomic<bool> is_waiting_{true};
  std::latch reply_{1};
  std::latch go_{1};
  RequestQueue queue_{
      {.shared = true, .timeout = std::chrono::minutes(1), .only_on_own_threads = true}};
};

TEST_F(ExchangeTest, FirstBlockIsNotMadeForAClientThatHasLeft) {
  const auto file = std::make_shared<Endless>(0);
  const auto exchange = Ask(file);
  file->works.wait();
  is_waiting_ = false;
  Tick(std::chrono::seconds(1));
  reply_.wait();
  queue_.End();
  EXPECT_EQ(file->ends, 1);
}

TEST_F(ExchangeTest, FirstBlockIsNotMadeForAConnectionThatHasEnded) {
  const auto file = std::make_shared<Endless>(0);
  const auto exchange = Ask(file);
  file->works.wait();
  exchange->Abandon();
  reply_.wait();
  queue_.End();
  EXPECT_EQ(file->ends, 1);
}

TEST_F(ExchangeTest, NothingIsMadeThatComesTooLate) {
  const auto file = std::make_shared<Endless>(0);
  const auto exchange = Ask(file);
  file->works.wait();
  Tick(std::chrono::minutes(2));
  reply_.wait();
  EXPECT_EQ(exchange->TakeReply().reply.status, 504U);
  queue_.End();
  EXPECT_EQ(file->ends, 1);
}

TEST_F(ExchangeTest, LaterBlocksAreNotMadeForAClientThatHasLeft) {
  const auto file = std::make_shared<Endless>(uint64_t{1} << 20);
  const auto exchange = Ask(file);
  reply_.wait();
  const auto body = exchange->TakeReply().body;
  ASSERT_NE(body, nullptr);
  backends::Bytes out(uint64_t{1} << 20);
  std::atomic<int> resumed{0};
  const auto take = [&] {
    return body
        ->Take(
            out.span(), [] {}, [&] { ++resumed; })
        .state;
  };
  // A block is made when the client has taken those before it.
  while (!file->works.try_wait()) {
    if (take() != Body::State::kLater) continue;
    for (const int known = resumed; !file->works.try_wait() && resumed == known;) {
      std::this_thread::yield();
    }
  }
  while (take() != Body::State::kLater) {
  }
  const int known = resumed;
  is_waiting_ = false;
  Tick(std::chrono::seconds(1));
  while (resumed == known) std::this_thread::yield();
  queue_.End();
  EXPECT_EQ(file->ends, 1);
}

TEST_F(ExchangeTest, FilesThatClientsReadForLongAreCharged) {
  const auto file = std::make_shared<Endless>(uint64_t{1} << 20);
  {
    const auto exchange = Ask(file);
    reply_.wait();
    const auto found = exchange->TakeReply();
    EXPECT_NE(found.body, nullptr);
    EXPECT_EQ(files_.stats().bytes, 1000U);
  }
  queue_.End();
  EXPECT_EQ(files_.stats().bytes, 0U);
}

// A text of five bytes that is made while it is read.
class State final : public FileHandle {
 public:
  bool is_light() const override { return true; }
  model::Result<size_t> Read(uint64_t, backends::ByteSpan) const override {
    ++reads;
    return 5;
  }

  mutable std::atomic<int> reads{0};
};

TEST_F(ExchangeTest, StateIsToldWhileAllReadsAreUnderWay) {
  TakeTurns(Lane::kRead, 100);
  const auto file = std::make_shared<State>();
  const auto exchange = Ask(file, false);
  reply_.wait();
  const auto found = exchange->TakeReply();
  ASSERT_NE(found.body, nullptr);
  std::vector<std::byte> out(10);
  const auto take = [&] {
    return found.body->Take(
        out, [] {}, [] {});
  };
  EXPECT_EQ(take().count, 5U);
  EXPECT_EQ(take().state, Body::State::kEnd);
  go_.count_down();
  queue_.End();
  EXPECT_EQ(file->reads, 1);
}

// Calls the source a thousand times for each block.
class Costly final : public FileHandle {
 public:
  model::Result<size_t> Read(uint64_t, backends::ByteSpan out) const override {
    for (int i = 0; i < 1000; ++i) backends::CancellationScope::ChargeCall();
    return out.size();
  }
};

TEST_F(ExchangeTest, WorkIsCharged) {
  const auto exchange = Ask(std::make_shared<Costly>());
  reply_.wait();
  queue_.End();
  EXPECT_GE(queue_.stats().charged_seconds, 1000 * 50e-6);
}

TEST_F(ExchangeTest, WhoHadNoTurnInTimeMayComeAgain) {
  TakeTurns(Lane::kLook, 16);
  const auto exchange = Ask(std::make_shared<Costly>());
  Tick(std::chrono::minutes(2));
  reply_.wait();
  const auto reply = exchange->TakeReply().reply;
  EXPECT_EQ(reply.status, 503U);
  EXPECT_THAT(reply.fields, testing::Contains(testing::Pair("Retry-After", "1")));
  go_.count_down();
  queue_.End();
}

TEST(BlockBudgetTest, BlocksBecomeSmallerWhereOthersHaveTheMemory) {
  constexpr size_t kBlock = size_t{1} << 20;
  BlockBudget budget(8 * kBlock);
  uint64_t all = 0;
  for (int i = 0; i < 8; ++i) all += budget.Take(kUser, kBlock);
  EXPECT_GT(all, 5 * kBlock);
  EXPECT_LT(all, 8 * kBlock);
  EXPECT_GT(budget.Take(kUser + 1, kBlock), BlockBudget::kLeast);
  for (int i = 0; i < 8; ++i) budget.Take(kUser, kBlock);
  EXPECT_EQ(budget.Take(kUser, kBlock), BlockBudget::kLeast);
}

}  // namespace
}  // namespace ndlfs::fs
