// SPDX-License-Identifier: MIT
#include "fs/http/body.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <exception>
#include <utility>

#include "backends/store/request_context.h"
#include "fs/serve/user_share.h"

namespace ndlfs::fs {
namespace {

using model::MutexLock;
using model::Result;

// Blocks of files grow: a client that wants a few pages of a header needs no more. Those of
// texts that are made meanwhile do not: they are sent in small pieces anyway.
constexpr size_t kFirstBlock = size_t{64} << 10;
constexpr size_t kMostBlock = size_t{1} << 20;

}  // namespace

void EndWork(backends::Cancellation& work, int error) {
  return error == ETIMEDOUT ? work.Cancel() : work.Abandon();
}

size_t BlockBudget::Take(uid_t user, size_t wanted) {
  const MutexLock lock(mutex_);
  uint64_t& own = users_[user];
  size_t taken = wanted;
  while (taken > kLeast && !HasShare(own, all_, most_, taken)) {
    taken = std::max(taken / 2, kLeast);
  }
  own += taken;
  all_ += taken;
  return taken;
}

void BlockBudget::Return(uid_t user, size_t taken) {
  if (taken == 0) return;
  const MutexLock lock(mutex_);
  all_ -= taken;
  const auto found = users_.find(user);
  found->second -= taken;
  if (found->second == 0) users_.erase(found);
}

// A read of the next block, in its turn.
class Body::ReadRequest final : public QueuedRequest {
 public:
  ReadRequest(std::shared_ptr<Body> body, const FileRange& range)
      : QueuedRequest(body->user_, Lane::kRead, Clock::now()),
        body_(std::move(body)),
        range_(range) {}

  void Run() override {
    body_->services_.counts.read.Begin();
    auto block = body_->Read(range_);
    body_->services_.counts.read.End(arrival(), Clock::now());
    if (!is_done_.exchange(true)) {
      body_->Put(std::move(block));
    } else if (block) {
      body_->Drop(*block);
    }
  }
  void Refuse(int error) override {
    EndWork(*body_->cancellation_, error);
    if (!is_done_.exchange(true)) body_->Put(model::IoError(error, "read"));
  }
  bool IsWanted() override { return body_->is_wanted_(); }
  Clock::duration TakeCharge() override { return body_->cancellation_->TakeCharge(); }

 private:
  const std::shared_ptr<Body> body_;
  const FileRange range_;
  std::atomic<bool> is_done_{false};
};

Body::Body(const RequestServices& services, HttpReply&& reply, uid_t user,
           std::function<bool()> is_wanted, backends::CallerPtr caller,
           std::shared_ptr<backends::Cancellation> cancellation)
    : services_(services),
      file_(std::move(reply.file)),
      parts_(std::move(reply.parts)),
      length_(reply.length),
      user_(user),
      is_wanted_(std::move(is_wanted)),
      caller_(std::move(caller)),
      cancellation_(std::move(cancellation)),
      block_size_(kFirstBlock) {}

Body::~Body() {
  services_.budget.Return(user_, copied_to_);
  Drop(block_);
  if (next_) Drop(*next_);
}

void Body::Abandon() { cancellation_->Abandon(); }

void Body::Drop(Block& block) {
  services_.budget.Return(user_, std::exchange(block.taken, 0));
  block = {};
}

std::optional<FileRange> Body::NextRange() {
  if (!length_) {
    if (has_ended_) return std::nullopt;
    return FileRange{range_read_, block_size_};
  }
  if (part_ == parts_.size()) return std::nullopt;
  const FileRange& range = parts_[part_].range;
  if (range_read_ == range.length) return std::nullopt;
  return FileRange{range.offset + range_read_,
                   std::min<uint64_t>(range.length - range_read_, block_size_)};
}

// A file that ends before its size does is not complete.
Result<Body::Block> Body::Read(const FileRange& range) const {
  const size_t size = services_.budget.Take(user_, static_cast<size_t>(range.length));
  Block block{.bytes = {}, .taken = size};
  auto count = [&]() -> Result<size_t> {
    try {
      const backends::RequestContext::Scope scope(
          {.caller = caller_, .cancellation = cancellation_});
      block.bytes = backends::Bytes(size);
      NDLFS_TRY(const size_t read, file_->Read(range.offset, block.bytes.span()));
      if (read == size) file_->Delivered(range.offset, block.bytes.span());
      return read;
    } catch (const std::exception& exception) {
      return model::IoError(ENOMEM, exception.what());
    }
  }();
  if (count && length_ && *count < size) count = model::HasChanged("the file");
  if (!count) {
    services_.budget.Return(user_, size);
    return model::Propagate(std::move(count).error());
  }
  block.bytes.Shrink(*count);
  services_.counts.bytes_read.fetch_add(*count, std::memory_order_relaxed);
  return block;
}

Result<void> Body::ReadFirst() {
  std::optional<FileRange> range;
  {
    const MutexLock lock(mutex_);
    range = NextRange();
    if (!range) return {};
    is_reading_ = true;
  }
  auto block = Read(*range);
  if (!block) return model::Propagate(std::move(block).error());
  const size_t size = block->bytes.size();
  const bool is_whole = length_ ? size == *length_ : size < block->taken;
  Put(std::move(block));
  if (is_whole) return {};
  auto place = services_.files.Take(user_);
  if (!place || !place->Keep(file_->kept())) {
    return model::IoError(EAGAIN, "too many slow answers");
  }
  place_.emplace(*std::move(place));
  return {};
}

backends::ConstByteSpan Body::WholeInMemory() const {
  const MutexLock lock(mutex_);
  const bool is_one = length_ && parts_.size() == 1 && parts_[0].text.empty();
  if (!is_one || !next_ || next_->bytes.size() != *length_) return {};
  return next_->bytes.span();
}

void Body::Put(Result<Block> block) {
  std::function<void()> resume;
  if (!block) services_.site.Complain(block.error());
  {
    const MutexLock lock(mutex_);
    is_reading_ = false;
    if (!block) {
      has_failed_ = true;
    } else if (block->bytes.empty()) {
      has_ended_ = true;
      Drop(*block);
    } else {
      has_ended_ = block->bytes.size() < block->taken;
      range_read_ += block->bytes.size();
      if (length_ && block_size_ < kMostBlock) block_size_ *= 4;
      next_ = *std::move(block);
    }
    resume = std::exchange(resume_, nullptr);
  }
  if (resume) resume();
}

void Body::ReadAhead() {
  std::optional<FileRange> range;
  {
    const MutexLock lock(mutex_);
    if (is_reading_ || next_ || has_failed_) return;
    range = NextRange();
    if (!range) return;
    is_reading_ = true;
  }
  try {
    services_.queue.Run(std::make_shared<ReadRequest>(shared_from_this(), *range));
  } catch (const std::bad_alloc&) {
    Put(model::IoError(ENOMEM, "read"));
  }
}

// Copies as much as there is; the state says what comes next.
Body::Taken Body::Copy(backends::ByteSpan out) {
  size_t count = 0;
  const auto copy = [&](backends::ConstByteSpan from, size_t& taken) {
    const size_t size = std::min(out.size() - count, from.size() - taken);
    std::memcpy(out.data() + count, from.data() + taken, size);
    count += size;
    taken += size;
  };
  while (count < out.size()) {
    const bool has_part = part_ < parts_.size();
    if (has_part && text_taken_ < parts_[part_].text.size()) {
      copy(backends::AsBytes(parts_[part_].text), text_taken_);
    } else if (block_taken_ < block_.bytes.size()) {
      copy(block_.bytes.span(), block_taken_);
    } else if (next_) {
      Drop(block_);
      block_ = *std::exchange(next_, std::nullopt);
      block_taken_ = 0;
    } else if (has_failed_) {
      return {State::kFailure, count};
    } else if (is_reading_ || NextRange()) {
      return {State::kLater, count};
    } else if (has_part) {
      ++part_;
      text_taken_ = 0;
      range_read_ = 0;
    } else {
      return {State::kEnd, count};
    }
  }
  return {State::kBytes, count};
}

Body::Taken Body::Take(backends::ByteSpan out, const std::function<void()>& suspend,
                       std::function<void()> resume) {
  Taken taken;
  {
    const MutexLock lock(mutex_);
    taken = Copy(out);
    // What comes next is told at the next call.
    if (taken.count != 0) taken.state = State::kBytes;
    if (taken.state == State::kLater) {
      suspend();
      resume_ = std::move(resume);
    }
  }
  ReadAhead();
  return taken;
}

}  // namespace ndlfs::fs
