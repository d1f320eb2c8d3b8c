// SPDX-License-Identifier: MIT
#include "fs/view/elements/record_elements.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "backends/base/bytes.h"
#include "backends/base/checked.h"

namespace ndlfs::fs {
namespace {

using backends::ByteSpan;
using model::Result;

class RecordsTracker final : public ReadTracker {
 public:
  RecordsTracker(const std::vector<RecordPart>& parts, uint64_t stride,
                 cache::Prefetcher& prefetcher)
      : stride_(stride) {
    for (const RecordPart& part : parts) {
      trackers_.push_back({part.values->TrackReader(prefetcher), part.bytes});
    }
  }
  cache::ReadHint OnRead(uint64_t offset, uint64_t size) override {
    if (size == 0) return cache::ReadHint::kOnward;
    const uint64_t first = offset / stride_;
    const uint64_t count = (offset + size - 1) / stride_ - first + 1;
    for (const auto& [tracker, bytes] : trackers_)
      tracker->OnRead(first * bytes, count * bytes);
    return cache::ReadHint::kOnward;
  }
  void Expect(uint64_t offset) override {
    for (const auto& [tracker, bytes] : trackers_) tracker->Expect(offset / stride_ * bytes);
  }

 private:
  const uint64_t stride_;
  std::vector<std::pair<std::unique_ptr<ReadTracker>, uint64_t>> trackers_;
};

class Records final : public ElementSource {
 public:
  Records(std::vector<RecordPart> parts, uint64_t stride, uint64_t count)
      : parts_(std::move(parts)), stride_(stride), count_(count) {}

  uint64_t size() const override { return stride_ * count_; }
  Result<void> Read(uint64_t offset, ByteSpan out, model::ByteOrder order,
                    cache::ReadHint hint) const override {
    constexpr uint64_t kPiece = uint64_t{256} << 10;
    while (!out.empty()) {
      // Many small records are read together, and a large one in pieces.
      const ByteSpan piece = out.first(std::min<uint64_t>(out.size(), kPiece));
      NDLFS_RETURN_IF_ERROR(ReadPiece(offset, piece, order, hint));
      out = out.subspan(piece.size());
      offset += piece.size();
    }
    return {};
  }
  Result<void> VisitChunks(const ChunkVisitor& visit) const override {
    for (const RecordPart& part : parts_)
      NDLFS_RETURN_IF_ERROR(part.values->VisitChunks(visit));
    return {};
  }
  std::unique_ptr<ReadTracker> TrackReader(cache::Prefetcher& prefetcher) const override {
    return std::make_unique<RecordsTracker>(parts_, stride_, prefetcher);
  }

 private:
  Result<void> ReadPiece(uint64_t offset, ByteSpan out, model::ByteOrder order,
                         cache::ReadHint hint) const {
    std::ranges::fill(out, std::byte{0});
    for (const RecordPart& part : parts_) {
      const uint64_t begin = ValuesBefore(part, offset);
      const uint64_t end = ValuesBefore(part, offset + out.size());
      if (begin == end) continue;
      backends::Bytes values(end - begin);
      NDLFS_RETURN_IF_ERROR(part.values->Read(begin, values.span(), order, hint));
      for (uint64_t at = begin; at < end;) {
        const uint64_t record = at / part.bytes;
        const uint64_t count = std::min(end, (record + 1) * part.bytes) - at;
        const uint64_t place = record * stride_ + part.begin + at % part.bytes;
        std::memcpy(out.data() + (place - offset), values.data() + (at - begin), count);
        at += count;
      }
    }
    return {};
  }

  // The bytes of its values that lie before `offset`.
  uint64_t ValuesBefore(const RecordPart& part, uint64_t offset) const {
    const uint64_t in_record = offset % stride_;
    const uint64_t begun = in_record > part.begin ? in_record - part.begin : 0;
    return offset / stride_ * part.bytes + std::min(begun, part.bytes);
  }

  const std::vector<RecordPart> parts_;
  const uint64_t stride_;
  const uint64_t count_;
};

}  // namespace

Result<std::shared_ptr<const ElementSource>> MakeRecords(std::vector<RecordPart> parts,
                                                         uint64_t stride, uint64_t count) {
  if (stride == 0 || count == 0) return nullptr;
  for (const RecordPart& part : parts) {
    const bool fits = part.bytes <= stride && part.begin <= stride - part.bytes &&
                      backends::CheckedMultiply(part.bytes, count) == part.values->size();
    if (!fits) return model::Internal("{} bytes in {} records", part.values->size(), count);
  }
  std::erase_if(parts, [](const RecordPart& part) { return part.bytes == 0; });
  return std::make_shared<const Records>(std::move(parts), stride, count);
}

}  // namespace ndlfs::fs
