// SPDX-License-Identifier: MIT
#include "backends/format/hdf5/input.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <functional>
#include <list>
#include <unordered_map>

#include "backends/base/new_id.h"
#include "backends/store/cancellation.h"
#include "model/memory_budget.h"

namespace ndlfs::backends::hdf5 {
namespace {

using model::Result;

constexpr uint64_t kPageBytes = 4096;
// Pieces of so many bytes are read by themselves, and not kept.
constexpr uint64_t kLargePiece = uint64_t{64} << 10;
// In pages: the first block of a file, and the largest; also the least behind the first one.
constexpr uint64_t kFirstBlock = 16;
constexpr uint64_t kLeastBlock = 4;
constexpr uint64_t kMostBlock = 64;
// The same behind a server. Its store keeps blocks of so many bytes for pieces of up to
// kRemotePiece; the first one was read to find out the format.
constexpr uint64_t kRemoteBlock = 32;
constexpr uint64_t kMostRemoteBlock = 256;
constexpr uint64_t kRemotePiece = uint64_t{32} << 10;
// What one request asks for.
constexpr uint64_t kMostInRequest = 1024;

// The pages that were used last, of all files.
class Pages {
 public:
  static Pages& Shared() {
    static Pages& pages = *new Pages();
    return pages;
  }

  size_t most() const { return most_; }

  bool Has(uint64_t file, uint64_t page) EXCLUDES(mutex_) {
    const model::MutexLock lock(mutex_);
    return index_.contains({file, page});
  }

  // Copies from the page, if it is there.
  bool Copy(uint64_t file, uint64_t page, size_t inside, ByteSpan out) EXCLUDES(mutex_) {
    const model::MutexLock lock(mutex_);
    const auto found = index_.find({file, page});
    if (found == index_.end()) return false;
    pages_.splice(pages_.begin(), pages_, found->second);
    std::memcpy(out.data(), found->second->bytes.data() + inside, out.size());
    return true;
  }

  // Bytes behind the end of the file mean nothing.
  void Insert(uint64_t file, uint64_t page, ConstByteSpan bytes) EXCLUDES(mutex_) {
    const model::MutexLock lock(mutex_);
    if (index_.contains({file, page})) return;
    if (pages_.size() < most_) {
      pages_.emplace_front();
    } else {
      index_.erase(pages_.back().key);
      pages_.splice(pages_.begin(), pages_, std::prev(pages_.end()));
    }
    pages_.front().key = {file, page};
    std::memcpy(pages_.front().bytes.data(), bytes.data(), bytes.size());
    index_.emplace(pages_.front().key, pages_.begin());
  }

 private:
  struct Key {
    uint64_t file;
    uint64_t page;
    bool operator==(const Key&) const = default;
  };
  struct KeyHash {
    size_t operator()(const Key& key) const {
      return (key.file * 0x9e3779b97f4a7c15u) ^ (key.page * 0xc2b2ae3d27d4eb4fu);
    }
  };
  struct Page {
    Key key;
    std::array<std::byte, kPageBytes> bytes;
  };

  // The allocator takes so many bytes for one, with its places in list and index.
  static constexpr uint64_t kBytesOfPage = kPageBytes + 1024;

  const size_t most_ =
      model::MemoryBudget::Share(model::MemoryBudget::Pool::kPages) / kBytesOfPage;
  const model::MemoryBudget::Held held_{most_ * kBytesOfPage};
  model::Mutex mutex_;
  std::list<Page> pages_ GUARDED_BY(mutex_);  // the last used first
  std::unordered_map<Key, std::list<Page>::iterator, KeyHash> index_ GUARDED_BY(mutex_);
};

struct Span {
  uint64_t first;
  uint64_t end;
  bool is_needed = false;
};

// The pages to ask for with one request each, `most` together, to have `bytes` bytes from each
// of the offsets in a file of `size` bytes, of which there are those that `has` tells. One
// block alone is none: it is read when it is needed.
std::vector<Span> JoinPieces(std::vector<uint64_t> offsets, uint64_t bytes, uint64_t size,
                             uint64_t gap, uint64_t most,
                             const std::function<bool(uint64_t page)>& has) {
  const uint64_t unit =
      std::bit_floor(std::clamp<uint64_t>(most / (offsets.size() + 1), 1, kRemoteBlock));
  const uint64_t file_end = (size + kPageBytes - 1) / kPageBytes;
  std::ranges::sort(offsets);
  std::vector<Span> spans;
  uint64_t pages = 0;
  for (const uint64_t offset : offsets) {
    if (offset >= size) break;
    uint64_t page = offset / kPageBytes;
    const uint64_t last = (offset + std::min(bytes, size - offset) - 1) / kPageBytes;
    const uint64_t first = page / unit * unit;
    const uint64_t end = std::min((last / unit + 1) * unit, file_end);
    const bool is_far = spans.empty() || first > spans.back().end + gap;
    const uint64_t begin = is_far ? first : spans.back().end;
    if (end > begin) {
      pages += end - begin;
      if (pages > most) break;
      if (is_far || end > spans.back().first + kMostInRequest) spans.push_back({begin, end});
      spans.back().end = end;
    }
    while (page <= last && has(page)) ++page;
    if (page <= last) spans.back().is_needed = true;
  }
  std::erase_if(spans, [](const Span& span) { return !span.is_needed; });
  for (Span& span : spans) {
    while (has(span.first) && span.first + 1 < span.end) ++span.first;
    while (has(span.end - 1) && span.first + 1 < span.end) --span.end;
  }
  const bool is_one = spans.size() == 1 && spans[0].end - spans[0].first <= unit;
  return is_one ? std::vector<Span>() : spans;
}

thread_local ReadFailures* current_failures = nullptr;

}  // namespace

ReadFailures::ReadFailures() : outer_(current_failures) { current_failures = this; }

ReadFailures::~ReadFailures() {
  current_failures = outer_;
  if (first_) Note(*first_);
}

Result<void> ReadFailures::Check() const {
  if (first_) return model::Propagate(*first_);
  return {};
}

void ReadFailures::Note(const model::Error& error) {
  if (current_failures != nullptr && !current_failures->first_) {
    current_failures->first_ = error;
  }
}

uint64_t Cursor::Number(uint64_t width) {
  const ConstByteSpan bytes = Take(width);
  uint64_t number = 0;
  for (size_t i = bytes.size(); i-- > 0;) {
    if (i >= sizeof(number) && bytes[i] != std::byte{0}) ok_ = false;
    if (i < sizeof(number)) number = number << 8 | std::to_integer<uint64_t>(bytes[i]);
  }
  return ok_ ? number : 0;
}

uint64_t Cursor::Address(uint64_t width) {
  const uint64_t number = Number(width);
  const bool is_nowhere = width < 8 && number == (uint64_t{1} << (8 * width)) - 1;
  return is_nowhere ? kNowhere : number;
}

ConstByteSpan Cursor::Take(uint64_t count) {
  if (count > bytes_.size()) {
    ok_ = false;
    bytes_ = {};
    return {};
  }
  const ConstByteSpan taken = bytes_.first(count);
  bytes_ = bytes_.subspan(count);
  return taken;
}

std::string_view Cursor::Text() {
  const std::string_view all = AsText(bytes_);
  const size_t end = all.find('\0');
  if (end == all.npos) {
    Take(bytes_.size() + 1);
    return {};
  }
  Take(end + 1);
  return all.substr(0, end);
}

Result<void> Cursor::Check(std::string_view what) const {
  if (!ok_) return model::Corrupt("{} ends early", what);
  return {};
}

Result<std::shared_ptr<const Input>> Input::Open(std::shared_ptr<const Store> store,
                                                 const std::string& path) {
  NDLFS_TRY(const auto found, store->Get("", 0, {.range = {0, 0}}), path);
  if (!found) return model::IoError(ENOENT, path);
  return std::make_shared<const Input>(std::move(store), path, found->info);
}

Input::Input(std::shared_ptr<const Store> store, std::string path, ValueInfo info)
    : store_(std::move(store)), path_(std::move(path)), info_(std::move(info)), id_(NewId()) {}

Result<void> Input::Read(uint64_t offset, ByteSpan out) const {
  if (offset > size() || out.size() > size() - offset) {
    return model::Corrupt("{} bytes at {}, in a file of {} bytes", out.size(), offset, size());
  }
  if (out.size() >= kLargePiece) return ReadStore(offset, out);
  while (!out.empty()) {
    const uint64_t page = offset / kPageBytes;
    const size_t inside = offset % kPageBytes;
    const ByteSpan piece = out.first(std::min<size_t>(out.size(), kPageBytes - inside));
    if (!Pages::Shared().Copy(id_, page, inside, piece)) {
      NDLFS_RETURN_IF_ERROR(Load(page, inside, piece));
    }
    offset += piece.size();
    out = out.subspan(piece.size());
  }
  return {};
}

Result<void> Input::ReadStore(uint64_t offset, ByteSpan out) const {
  auto read = TryReadStore(offset, out);
  if (!read) ReadFailures::Note(read.error());
  return read;
}

Result<void> Input::TryReadStore(uint64_t offset, ByteSpan out) const {
  NDLFS_RETURN_IF_ERROR(CancellationScope::CheckWithinChunk());
  NDLFS_TRY(const auto result,
            store_->Read("", {.range = {offset, out.size()}},
                         [&](uint64_t) -> Result<ByteSpan> { return out; }),
            path_);
  if (!result || result->info.generation != info_.generation || result->count != out.size()) {
    return model::HasChanged(path_);
  }
  return {};
}

uint64_t Input::BlockAt(uint64_t page) const {
  const uint64_t least = is_remote() ? kRemoteBlock : kLeastBlock;
  const model::MutexLock lock(mutex_);
  const uint64_t distance = page > block_end_ ? page - block_end_ : block_end_ - page;
  if (block_ == 0) {
    block_ = is_remote() ? kRemoteBlock : kFirstBlock;
  } else if (distance <= 2 * block_) {
    block_ = std::min(2 * block_, is_remote() ? kMostRemoteBlock : kMostBlock);
  } else {
    block_ = std::max(block_ / 2, least);
  }
  block_end_ = page + block_;
  return block_;
}

Result<void> Input::Load(uint64_t page, size_t inside, ByteSpan out) const {
  const uint64_t first = is_remote() ? page / kRemoteBlock * kRemoteBlock : page;
  const uint64_t most = first + BlockAt(first);
  uint64_t end = page + 1;
  while (end < most && !Pages::Shared().Has(id_, end)) ++end;
  const uint64_t begin = first * kPageBytes;
  Bytes block(std::min(size() - begin, (end - first) * kPageBytes));
  const size_t piece = is_remote() && first == 0 ? kRemotePiece : block.size();
  for (size_t at = 0; at < block.size(); at += piece) {
    const size_t bytes = std::min(piece, block.size() - at);
    NDLFS_RETURN_IF_ERROR(ReadStore(begin + at, block.span().subspan(at, bytes)));
  }
  std::memcpy(out.data(), block.data() + (page - first) * kPageBytes + inside, out.size());
  KeepPages(first, block.span());
  return {};
}

void Input::Prefetch(std::vector<uint64_t> offsets, uint64_t bytes, bool is_dense) const {
  constexpr size_t kMany = 8;
  if (!is_remote() || bytes == 0) return;
  // What is farther apart is not worth to be read with all that is between. Of a small file
  // with metadata everywhere all is read, if many objects are asked for.
  const uint64_t most = Pages::Shared().most() / 4 * 3;
  const bool reads_all = !is_dense && offsets.size() >= kMany && size() <= most * kPageBytes;
  std::vector<Span> spans =
      JoinPieces(std::move(offsets), bytes, size(), reads_all ? most : kRemoteBlock, most,
                 [&](uint64_t page) { return Pages::Shared().Has(id_, page); });
  // Stores join requests in ascending order, whatever is between them.
  std::ranges::reverse(spans);
  std::vector<ReadRequest> requests;
  for (const Span& span : spans) {
    const uint64_t count = (span.end - span.first) * kPageBytes;
    const ByteRange range{span.first * kPageBytes, count};
    requests.push_back({"", {.range = range, .if_match = info_.generation}, count});
  }
  const auto answers = store_->ReadMany(requests);
  for (size_t i = 0; i < answers.size(); ++i) {
    const ByteRange& range = requests[i].options.range;
    if (!answers[i] || !*answers[i]) continue;
    const Value& value = **answers[i];
    const bool is_whole =
        value.bytes.size() == std::min<uint64_t>(range.length, size() - range.offset);
    if (!is_whole || value.info.generation != info_.generation) continue;
    KeepPages(range.offset / kPageBytes, value.bytes.span());
  }
}

void Input::KeepPages(uint64_t first, ConstByteSpan block) const {
  for (uint64_t at = 0; at < block.size(); at += kPageBytes) {
    const size_t bytes = std::min<size_t>(kPageBytes, block.size() - at);
    Pages::Shared().Insert(id_, first + at / kPageBytes, block.subspan(at, bytes));
  }
}

}  // namespace ndlfs::backends::hdf5
