// SPDX-License-Identifier: MIT
#include "backends/format/grib/header_bytes.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

namespace ndlfs::backends::grib {
namespace {

bool CopyFromBlock(uint64_t begin, const Bytes& block, uint64_t offset, ByteSpan out) {
  if (offset < begin || offset - begin > block.size()) return false;
  const uint64_t skipped = offset - begin;
  if (block.size() - skipped < out.size()) return false;
  if (!out.empty()) std::memcpy(out.data(), block.data() + skipped, out.size());
  return true;
}

// Makes one range of two that are close to each other; false if they are not.
bool JoinRange(ByteRange& range, const ByteRange& next) {
  constexpr uint64_t kNear = uint64_t{8} << 10, kMost = uint64_t{1} << 20;
  const uint64_t end = range.offset + range.length, next_end = next.offset + next.length;
  if (next.offset > end + kNear || next_end - range.offset > kMost) return false;
  range.length = std::max(end, next_end) - range.offset;
  return true;
}

}  // namespace

void HeaderBytes::Fetch(std::vector<uint64_t> offsets) {
  constexpr size_t kTogether = 512;
  std::ranges::sort(offsets);
  std::vector<ReadRequest> requests;
  for (const uint64_t offset : offsets) {
    // The end of the message before is read with it.
    const ByteRange header = {offset - std::min<uint64_t>(offset, 4), 2 * kUsual};
    if (header.offset >= size_) break;
    if (!requests.empty() && JoinRange(requests.back().options.range, header)) continue;
    requests.push_back({"", {.range = header}});
  }
  // From the end on, because stores join reads that follow each other, and read the bytes
  // between them as well. These are few compared with chunks, and many compared with headers.
  std::ranges::reverse(requests);
  const std::span<const ReadRequest> all = requests;
  for (size_t begin = 0; begin < all.size(); begin += kTogether) {
    const auto some = all.subspan(begin, std::min(kTogether, all.size() - begin));
    auto values = store_.ReadMany(some);
    for (size_t i = 0; i < values.size(); ++i) {
      if (!values[i] || !*values[i]) continue;
      fetched_.insert_or_assign(some[i].options.range.offset, std::move((*values[i])->bytes));
    }
  }
}

model::Result<void> HeaderBytes::Read(uint64_t offset, ByteSpan out) {
  bytes_read_ += out.size();
  if (TakeFrom(offset, out)) return {};
  constexpr uint64_t kBlock = uint64_t{1} << 20;
  constexpr uint64_t kFewInBlock = kBlock / 4;
  // Where each read is a request, one for many short messages.
  const bool reads_ahead = store_.looks_are_requests() && message_size_ < kFewInBlock;
  if (!reads_ahead || out.size() >= kBlock) return ReadNow(offset, out);
  Bytes block(std::min(kBlock, size_ - offset));
  NDLFS_RETURN_IF_ERROR(ReadNow(offset, block.span()));
  ahead_offset_ = offset;
  ahead_ = std::move(block);
  std::memcpy(out.data(), ahead_.data(), out.size());
  return {};
}

bool HeaderBytes::TakeFrom(uint64_t offset, ByteSpan out) const {
  if (CopyFromBlock(ahead_offset_, ahead_, offset, out)) return true;
  auto found = fetched_.upper_bound(offset);
  if (found == fetched_.begin()) return false;
  --found;
  return CopyFromBlock(found->first, found->second, offset, out);
}

model::Result<void> HeaderBytes::ReadNow(uint64_t offset, ByteSpan out) const {
  NDLFS_TRY(const auto count, store_.ReadInto("", offset, out));
  if (!count || *count != out.size()) return model::HasChanged("the file");
  return {};
}

}  // namespace ndlfs::backends::grib
