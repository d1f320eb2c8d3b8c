// SPDX-License-Identifier: MIT
#include "backends/format/grib/header_bytes.h"

#include <algorithm>
#include <cstring>
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

}  // namespace

void HeaderBytes::Fetch(const std::vector<uint64_t>& offsets) {
  constexpr size_t kTogether = 512;
  for (size_t begin = 0; begin < offsets.size(); begin += kTogether) {
    std::vector<ReadRequest> requests;
    for (size_t i = begin; i < std::min(begin + kTogether, offsets.size()); ++i) {
      // The end of the message before is read with it.
      const uint64_t from = offsets[i] - std::min<uint64_t>(offsets[i], 4);
      if (from >= size_) continue;
      requests.push_back({"", {.range = {from, 2 * kUsual}}, 2 * kUsual});
    }
    auto values = store_.ReadMany(requests);
    for (size_t i = 0; i < values.size(); ++i) {
      if (!values[i] || !*values[i]) continue;
      fetched_.insert_or_assign(requests[i].options.range.offset,
                                std::move((*values[i])->bytes));
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
