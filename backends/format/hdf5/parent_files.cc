// SPDX-License-Identifier: MIT
#include "backends/format/hdf5/parent_files.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace ndlfs::backends::hdf5 {

using model::Result;

namespace {

constexpr uint64_t kPageBytes = PageCache::kPageBytes;
// Pieces of this size and more are elements, not metadata: they go straight to
// where they are wanted.
constexpr uint64_t kLargeBytes = 64 << 10;
// Pages that are fetched at once: at first, and at most where each miss follows
// the one before. The beginning of a file mostly holds more than the first page.
constexpr uint64_t kFirstRun = 4;
constexpr uint64_t kLongestRun = 64;
constexpr uint64_t kRunAtBeginning = 16;

constexpr uint64_t kMaxReply = 64 << 10;

}  // namespace

// One version of one file, its pages in the cache that all files share.
class ParentFile final : public InputFile {
 public:
  ParentFile(ParentFiles& files, uint64_t id, uint64_t size)
      : files_(files), id_(id), size_(size) {}

  uint64_t id() const override { return id_; }
  uint64_t size() const override { return size_; }
  // The parent has looked, before it asked.
  Result<void> CheckUnchanged() const override { return {}; }

  Result<void> Read(uint64_t offset, ByteSpan out) const override {
    while (!out.empty()) {
      const uint64_t page = offset / kPageBytes;
      const uint64_t inside = offset % kPageBytes;
      size_t count = 0;
      if (const std::byte* bytes = files_.pages_.Find(id_, page)) {
        count = std::min<uint64_t>(out.size(), kPageBytes - inside);
        std::memcpy(out.data(), bytes + inside, count);
      } else if (out.size() >= kLargeBytes) {
        NDLFS_TRY(const ConstByteSpan bytes, FetchLarge(offset, out.size()));
        count = std::min(out.size(), bytes.size());
        std::memcpy(out.data(), bytes.data(), count);
      } else {
        NDLFS_RETURN_IF_ERROR(FetchRun(page, (inside + out.size() - 1) / kPageBytes + 1));
      }
      offset += count;
      out = out.subspan(count);
    }
    return {};
  }

  void Prefetch(std::span<const uint64_t> offsets, uint64_t bytes) const override {
    std::vector<uint64_t> missing;
    for (const uint64_t offset : offsets) {
      if (offset >= size_) continue;
      const uint64_t last = std::min(offset + bytes, size_) - 1;
      for (uint64_t page = offset / kPageBytes; page <= last / kPageBytes; ++page) {
        if (!files_.pages_.Contains(id_, page)) missing.push_back(page);
      }
    }
    std::sort(missing.begin(), missing.end());
    missing.erase(std::unique(missing.begin(), missing.end()), missing.end());
    // A failed request is sent again when the bytes are needed, and fails only then.
    for (std::span<const uint64_t> rest = missing; !rest.empty();) {
      const auto part = rest.first(std::min(rest.size(), MaxPages()));
      if (!FetchPages(part)) return;
      rest = rest.subspan(part.size());
    }
  }

 private:
  size_t MaxPages() const {
    return std::min<size_t>(files_.shared_.size() / kPageBytes, ReadRequest::kMaxRanges);
  }

  // Returns at least one and up to `wanted` bytes from `offset` on. The library reads elements
  // that lie together in pieces of 64 KiB: after the second piece, this fetches as much as
  // there is room for.
  Result<ConstByteSpan> FetchLarge(uint64_t offset, uint64_t wanted) const {
    if (const auto there = files_.Fetched(id_, offset); !there.empty()) {
      after_last_large_ = offset + std::min<uint64_t>(wanted, there.size());
      return there;
    }
    const uint64_t room = std::min<uint64_t>(files_.shared_.size(), size_ - offset);
    const uint64_t bytes = offset == after_last_large_ ? room : std::min(wanted, room);
    auto fetched = files_.Fetch({id_, {{offset, bytes}}});
    if (!fetched && bytes > wanted && fetched.error().code() != model::ErrorCode::kStale) {
      fetched = files_.Fetch({id_, {{offset, wanted}}});
    }
    NDLFS_RETURN_IF_ERROR(fetched);
    after_last_large_ = offset + std::min(wanted, bytes);
    return files_.Fetched(id_, offset);
  }

  // Fetches `needed` pages that are not all there, and some more.
  Result<void> FetchRun(uint64_t first, uint64_t needed) const {
    const uint64_t pages_of_file = (size_ - 1) / kPageBytes + 1;
    run_ = first == after_last_run_ ? std::min(run_ * 2, kLongestRun) : kFirstRun;
    const uint64_t run = first == 0 ? kRunAtBeginning : run_;
    const uint64_t end = std::min(first + std::max(needed, run), pages_of_file);
    std::vector<uint64_t> pages;
    for (uint64_t page = first; page < end; ++page) {
      if (page >= first + needed && files_.pages_.Contains(id_, page)) break;
      pages.push_back(page);
    }
    after_last_run_ = first + pages.size();
    auto fetched = FetchPages(pages);
    if (fetched || fetched.error().code() == model::ErrorCode::kStale ||
        pages.size() <= needed) {
      return fetched;
    }
    // It may be one of those that nobody needs that cannot be read.
    return FetchPages(std::span(pages).first(needed));
  }

  // Sorted, and no more than MaxPages().
  Result<void> FetchPages(std::span<const uint64_t> pages) const {
    ReadRequest request{id_, {}};
    for (const uint64_t page : pages) {
      const uint64_t offset = page * kPageBytes;
      const uint64_t bytes = std::min(kPageBytes, size_ - offset);
      auto* last = request.ranges.empty() ? nullptr : &request.ranges.back();
      if (last && last->offset + last->bytes == offset) {
        last->bytes += bytes;
      } else {
        request.ranges.push_back({offset, bytes});
      }
    }
    NDLFS_RETURN_IF_ERROR(files_.Fetch(request));
    ConstByteSpan rest = files_.shared_;
    for (const uint64_t page : pages) {
      const ConstByteSpan bytes = rest.first(std::min(kPageBytes, size_ - page * kPageBytes));
      files_.pages_.Insert(id_, page, bytes);
      rest = rest.subspan(bytes.size());
    }
    return {};
  }

  ParentFiles& files_;
  const uint64_t id_;
  const uint64_t size_;
  mutable uint64_t run_ = kFirstRun;
  mutable uint64_t after_last_run_ = 0;
  mutable uint64_t after_last_large_ = 0;
};

std::shared_ptr<const InputFile> ParentFiles::Told(const NamedFile& file) {
  fetched_ = {};
  const uint64_t head = std::min<uint64_t>(file.head_bytes, shared_.size());
  for (uint64_t offset = 0; offset < head; offset += kPageBytes) {
    const uint64_t bytes = std::min(kPageBytes, file.size - offset);
    if (bytes > head - offset) break;  // not all of the page
    pages_.Insert(file.id, offset / kPageBytes, shared_.subspan(offset, bytes));
  }
  return std::make_shared<const ParentFile>(*this, file.id, file.size);
}

model::Result<std::shared_ptr<const InputFile>> ParentFiles::Open(std::string_view name) {
  const auto known = by_name_.find(name);
  if (known != by_name_.end()) return known->second;
  return by_name_.emplace(name, AskFor(name)).first->second;
}

model::Result<std::shared_ptr<const InputFile>> ParentFiles::AskFor(std::string_view name) {
  if (name.size() > OpenRequest::kMaxName) return model::IoError(ENAMETOOLONG, "open");
  const auto reply = Ask(MessageKind::kOpen, Encode(OpenRequest{std::string(name)}));
  NDLFS_TRY(const NamedFile file, DecodeAnswer<NamedFile>(reply));
  return Told(file);
}

model::Result<void> ParentFiles::Fetch(const ReadRequest& request) {
  fetched_ = {};
  const auto reply = Ask(MessageKind::kRead, Encode(request));
  NDLFS_RETURN_IF_ERROR(DecodeAnswer<Done>(reply));
  if (request.ranges.size() == 1) {
    fetched_file_ = request.file;
    fetched_ = request.ranges.front();
  }
  return {};
}

ConstByteSpan ParentFiles::Fetched(uint64_t file, uint64_t offset) const {
  const bool is_there = file == fetched_file_ && offset >= fetched_.offset &&
                        offset - fetched_.offset < fetched_.bytes;
  if (!is_there) return {};
  return shared_.first(fetched_.bytes).subspan(offset - fetched_.offset);
}

std::vector<std::byte> ParentFiles::Ask(MessageKind kind, ConstByteSpan request) const {
  Message reply;
  const auto limit = [](MessageKind) { return kMaxReply; };
  const bool done = SendMessage(socket_, kind, request) == Exchange::kDone &&
                    ReceiveMessage(socket_, reply, limit) == Exchange::kDone &&
                    reply.kind == MessageKind::kReply;
  if (!done) ::_exit(0);
  return std::move(reply.bytes);
}

}  // namespace ndlfs::backends::hdf5
