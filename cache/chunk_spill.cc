// SPDX-License-Identifier: MIT
#include "cache/chunk_spill.h"

#include <algorithm>
#include <utility>

namespace ndlfs::cache {

using backends::Bytes;
using backends::ByteSpan;
using model::MutexLock;

namespace {

// The records of spilled chunks take memory, too.
constexpr uint64_t kMaxSlots = uint64_t{1} << 18;

// Sweeping looks at all chunks: not before some more have come.
constexpr size_t kSweepEvery = 16;

}  // namespace

ChunkSpill::ChunkSpill(SpillSpace& space, uint64_t chunk_bytes, LastByte last_byte)
    : space_(space), chunk_bytes_(chunk_bytes), last_byte_(std::move(last_byte)) {}

void ChunkSpill::SetReader(const void* reader, uint64_t offset, uint64_t end,
                           std::shared_ptr<const Order> order) {
  MutexLock lock(mutex_);
  readers_[reader] = {offset, end, std::move(order)};
}

void ChunkSpill::RemoveReader(const void* reader) {
  std::shared_ptr<SpillSpace::File> dropped;  // closed after the lock
  MutexLock lock(mutex_);
  readers_.erase(reader);
  if (!readers_.empty()) return;
  dropped = std::move(file_);
  slots_.clear();
  count_ = 0;
  free_.clear();
  slot_count_ = 0;
}

bool ChunkSpill::Wants(uint64_t chunk) {
  MutexLock lock(mutex_);
  return !slots_.contains(chunk) && IsNeeded(chunk);
}

bool ChunkSpill::IsNeeded(uint64_t chunk) const {
  return std::any_of(readers_.begin(), readers_.end(), [&](const auto& reader) {
    const Need& need = reader.second;
    return chunk < need.end && last_byte_(chunk) >= need.offset;
  });
}

std::shared_ptr<const ChunkSpill::Order> ChunkSpill::CommonOrder() const {
  std::shared_ptr<const Order> common;
  for (const auto& [reader, need] : readers_) {
    if (need.order == nullptr) return nullptr;
    if (common != nullptr && common->key() != need.order->key()) return nullptr;
    common = need.order;
  }
  return common;
}

void ChunkSpill::Take(uint64_t chunk, const Bytes& bytes) {
  std::shared_ptr<SpillSpace::File> file;
  std::shared_ptr<const Order> order;
  std::optional<uint64_t> slot;
  {
    MutexLock lock(mutex_);
    slot = TakeSlot();
    file = file_;
    order = CommonOrder();
  }
  const auto write = [&](uint64_t offset, backends::ConstByteSpan piece) {
    return file->Write(*slot, offset, piece);
  };
  const bool written =
      slot && bytes.size() <= chunk_bytes_ &&
      (order ? order->Write(chunk, bytes.span(), write) : write(0, bytes.span()));
  if (written) space_.CountWritten();
  if (!written) space_.CountRefused();
  MutexLock lock(mutex_);
  if (!slot || file != file_) return;  // the last reader has gone meanwhile
  const bool added =
      written &&
      slots_.try_emplace(chunk, Slot{*slot, ++writings_, order ? order->key() : 0}).second;
  if (!added) free_.push_back(*slot);
  count_ = slots_.size();
}

std::optional<uint64_t> ChunkSpill::TakeSlot() {
  if (readers_.empty()) return std::nullopt;
  if (!file_) file_ = space_.Open(chunk_bytes_);
  if (!file_) return std::nullopt;
  ++since_sweep_;
  if (free_.empty() && since_sweep_ > std::max(kSweepEvery, slots_.size() / 8)) Sweep();
  if (free_.empty() && slot_count_ < kMaxSlots && file_->Grow()) {
    free_.push_back(slot_count_++);
  }
  if (free_.empty()) return std::nullopt;
  const uint64_t slot = free_.back();
  free_.pop_back();
  return slot;
}

void ChunkSpill::Sweep() {
  for (auto it = slots_.begin(); it != slots_.end();) {
    if (IsNeeded(it->first)) {
      ++it;
    } else {
      free_.push_back(it->second.number);
      it = slots_.erase(it);
    }
  }
  count_ = slots_.size();
  since_sweep_ = 0;
}

bool ChunkSpill::Contains(uint64_t chunk) const {
  MutexLock lock(mutex_);
  return slots_.contains(chunk);
}

// The slot may be given to another chunk while it is read: then the writing
// that was found is not the one that is there afterwards.
bool ChunkSpill::Read(uint64_t chunk, const std::function<bool(const ReadAt&)>& read,
                      size_t key) const {
  std::shared_ptr<SpillSpace::File> file;
  Slot slot;
  {
    MutexLock lock(mutex_);
    const auto found = slots_.find(chunk);
    if (found == slots_.end() || found->second.order != key) return false;
    slot = found->second;
    file = file_;
  }
  const bool complete =
      read([&](uint64_t offset, ByteSpan out) { return file->Read(slot.number, offset, out); });
  MutexLock lock(mutex_);
  if (!complete || file != file_) return false;
  const auto found = slots_.find(chunk);
  return found != slots_.end() && found->second.writing == slot.writing;
}

}  // namespace ndlfs::cache
