// SPDX-License-Identifier: MIT
#include "fs/http/reply.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "model/mutex.h"
#include "model/secret_hash.h"

namespace ndlfs::fs {
namespace {

// A text that is read once, from its beginning to its end.
class TextHandle final : public FileHandle {
 public:
  // `text` is its beginning.
  TextHandle(std::string text, NextPiece next, KeptObjects kept)
      : kept_(std::move(kept)), text_(std::move(text)), next_(std::move(next)) {}

  KeptObjects kept() const override { return kept_; }
  bool is_light() const override { return true; }
  model::Result<size_t> Read(uint64_t offset, backends::ByteSpan out) const override {
    const model::MutexLock lock(mutex_);
    if (offset != read_) return model::Internal("a text is read in order");
    size_t count = 0;
    while (count < out.size()) {
      if (taken_ == text_.size()) {
        text_.clear();
        taken_ = 0;
        if (has_ended_) break;
        NDLFS_TRY(const bool has_more, next_(text_));
        has_ended_ = !has_more;
      }
      const size_t size = std::min(out.size() - count, text_.size() - taken_);
      std::memcpy(out.data() + count, text_.data() + taken_, size);
      taken_ += size;
      count += size;
    }
    read_ += count;
    return count;
  }

 private:
  const KeptObjects kept_;
  mutable model::Mutex mutex_;
  mutable std::string text_ GUARDED_BY(mutex_);  // the last piece
  mutable size_t taken_ GUARDED_BY(mutex_) = 0;  // of `text_`
  mutable uint64_t read_ GUARDED_BY(mutex_) = 0;
  mutable bool has_ended_ GUARDED_BY(mutex_) = false;
  const NextPiece next_ GUARDED_BY(mutex_);
};

unsigned StatusOf(const model::Error& error) {
  switch (error.code()) {
    case model::ErrorCode::kNotFound:
      return kAbsent;
    case model::ErrorCode::kDenied:
      return kForbidden;
    case model::ErrorCode::kBusy:
    case model::ErrorCode::kStale:
      return kUnavailable;
    default:
      break;
  }
  switch (error.reason()) {
    case model::SystemReason::kNoSuchFile:
    case model::SystemReason::kNoDirectory:
    case model::SystemReason::kNameTooLong:
      return kAbsent;
    case model::SystemReason::kNoPlainFile:
      return kForbidden;
    default:
      return kFirstFault;
  }
}

}  // namespace

// The numbers of versions begin again when the program does.
std::string EtagOf(const FileVersion& version) {
  static const uint64_t run = model::SecretHash("ETag");
  return fmt::format("\"{:x}-{:x}-{:x}\"", run & 0xffff'ffff, version.number, version.size);
}

model::Result<void> SetText(HttpReply& reply, NextPiece next, KeptObjects kept) {
  constexpr size_t kShort = size_t{32} << 10;
  while (reply.text.size() <= kShort) {
    NDLFS_TRY(const bool has_more, next(reply.text));
    if (!has_more) return {};
  }
  reply.file = std::make_shared<const TextHandle>(std::exchange(reply.text, {}),
                                                  std::move(next), std::move(kept));
  return {};
}

HttpReply ErrorReply(unsigned status, const std::string& reason) {
  HttpReply reply{.status = status};
  reply.fields.emplace_back("Content-Type", "text/plain; charset=utf-8");
  reply.fields.emplace_back("Cache-Control", "no-store");
  if (status == kUnavailable) reply.fields.emplace_back("Retry-After", "1");
  reply.text = reason + '\n';
  return reply;
}

HttpReply ErrorReply(const model::Error& error) {
  return ErrorReply(StatusOf(error), error.message());
}

HttpReply RefusalReply(int sys_errno) {
  if (sys_errno == ETIMEDOUT) return ErrorReply(kTimeout, "no answer in time (--timeout)");
  if (sys_errno == EBUSY) return ErrorReply(kUnavailable, "too many requests wait");
  if (sys_errno == ENOMEM) return ErrorReply(kUnavailable, "no memory");
  return ErrorReply(kUnavailable, "the server ends");
}

}  // namespace ndlfs::fs
