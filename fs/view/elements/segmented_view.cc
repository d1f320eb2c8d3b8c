// SPDX-License-Identifier: MIT
#include "fs/view/elements/segmented_view.h"

#include <algorithm>
#include <cstring>
#include <unordered_set>
#include <utility>

#include "backends/base/checked.h"
#include "model/mutex.h"

namespace ndlfs::fs {
namespace {

using backends::ByteSpan;
using model::Result;

// How far beyond a read its reader is expected to go on, and how many sources
// it may come to on that way: chunks of these are decoded beforehand.
constexpr uint64_t kLookAhead = uint64_t{4} << 20;
constexpr size_t kMostExpected = 8;

// Sources whose reader is tracked at the same time.
constexpr size_t kMostTracked = 16;

// How far a read may be off and still continue the one before: the kernel
// sends the requests of its read-ahead in any order.
constexpr uint64_t kReorderBytes = uint64_t{4} << 20;

uint64_t SizeOf(const Segment& segment) {
  return std::visit([](const auto& part) { return part.size; }, segment);
}

bool IsWithin(uint64_t offset, uint64_t size, uint64_t total) {
  return offset <= total && size <= total - offset;
}

bool IsSound(const Segment& segment) {
  if (const auto* literal = std::get_if<Literal>(&segment)) {
    return literal->bytes != nullptr &&
           IsWithin(literal->offset, literal->size, literal->bytes->size());
  }
  if (const auto* elements = std::get_if<Elements>(&segment)) {
    return elements->source != nullptr &&
           IsWithin(elements->offset, elements->size, elements->source->size());
  }
  if (const auto* repeat = std::get_if<Repeat>(&segment)) {
    return repeat->pattern != nullptr && !repeat->pattern->empty();
  }
  return true;
}

void Fill(const Literal& literal, uint64_t begin, ByteSpan out) {
  std::memcpy(out.data(), literal.bytes->data() + literal.offset + begin, out.size());
}

void Fill(const Zeros&, uint64_t /*begin*/, ByteSpan out) {
  std::memset(out.data(), 0, out.size());
}

void Fill(const Repeat& repeat, uint64_t begin, ByteSpan out) {
  const std::string& pattern = *repeat.pattern;
  const size_t phase = begin % pattern.size();
  size_t filled = std::min(out.size(), pattern.size() - phase);
  std::memcpy(out.data(), pattern.data() + phase, filled);
  const size_t period = std::min(out.size(), pattern.size());
  std::memcpy(out.data() + filled, pattern.data(), period - filled);
  // From here on everything is a copy of what was there a whole number of
  // patterns before: twice as much each time.
  for (filled = period; filled < out.size();) {
    const size_t count = std::min(filled, out.size() - filled);
    std::memcpy(out.data() + filled, out.data(), count);
    filled += count;
  }
}

class SegmentedView final : public View, public std::enable_shared_from_this<SegmentedView> {
 public:
  // `ends` has the offset behind each segment; none is empty.
  SegmentedView(std::vector<Segment> segments, std::vector<uint64_t> ends)
      : segments_(std::move(segments)),
        ends_(std::move(ends)),
        elements_count_(CountElements()),
        held_bytes_(CountHeldBytes()) {}

  std::optional<uint64_t> size() const override { return total(); }
  uint64_t held_bytes() const override { return held_bytes_; }

  Result<size_t> Read(uint64_t offset, ByteSpan out) const override {
    return Read(offset, out,
                [](const Elements&, uint64_t, uint64_t) { return cache::ReadHint::kOnward; });
  }

  // `hint_for` tells how `count` bytes of Elements from `begin` on are read.
  template <typename HintFor>
  Result<size_t> Read(uint64_t offset, ByteSpan out, const HintFor& hint_for) const {
    if (offset >= total()) return size_t{0};
    out = out.first(std::min<uint64_t>(out.size(), total() - offset));
    size_t done = 0;
    for (size_t i = IndexAt(offset); done < out.size(); ++i) {
      const uint64_t begin = offset + done - BeginOf(i);
      const uint64_t count = std::min<uint64_t>(out.size() - done, ends_[i] - offset - done);
      NDLFS_RETURN_IF_ERROR(ReadPart(segments_[i], begin, out.subspan(done, count), hint_for));
      done += count;
    }
    return done;
  }

  // A source that is in the file several times counts once.
  Result<std::optional<ReadCost>> FindCost() const override {
    ReadCost sum;
    std::unordered_set<const ElementSource*> counted;
    for (const Segment& segment : segments_) {
      const auto* part = std::get_if<Elements>(&segment);
      if (part == nullptr || !counted.insert(part->source.get()).second) continue;
      NDLFS_TRY(const ReadCost cost, CostOf(*part->source));
      AddCost(cost, sum);
    }
    return sum;
  }

  // Segments of elements.
  size_t elements_count() const { return elements_count_; }

  // Calls `visit(elements)` for each segment of elements that begins within
  // [begin, end), in order, `most` of them at most. Returns where to go on.
  template <typename Visit>
  uint64_t VisitElements(uint64_t begin, uint64_t end, size_t most, const Visit& visit) const {
    end = std::min(end, total());
    if (begin >= end) return begin;
    size_t i = IndexAt(begin);
    if (BeginOf(i) < begin) ++i;
    for (; i < segments_.size() && BeginOf(i) < end; ++i) {
      const auto* elements = std::get_if<Elements>(&segments_[i]);
      if (elements == nullptr) continue;
      if (most-- == 0) return BeginOf(i);
      visit(*elements);
    }
    return end;
  }

  std::shared_ptr<const View> ForReader(cache::Prefetcher& prefetcher) const override;

 private:
  uint64_t total() const { return ends_.empty() ? 0 : ends_.back(); }
  // The segment that byte `offset` is in.
  size_t IndexAt(uint64_t offset) const {
    const auto after = std::upper_bound(ends_.begin(), ends_.end(), offset);
    return static_cast<size_t>(after - ends_.begin());
  }
  uint64_t BeginOf(size_t index) const { return index == 0 ? 0 : ends_[index - 1]; }

  template <typename HintFor>
  static Result<void> ReadPart(const Segment& segment, uint64_t begin, ByteSpan out,
                               const HintFor& hint_for) {
    return std::visit(
        [&](const auto& part) -> Result<void> {
          if constexpr (std::is_same_v<decltype(part), const Elements&>) {
            const uint64_t offset = part.offset + begin;
            const cache::ReadHint hint = hint_for(part, offset, out.size());
            return part.source->Read(offset, out, part.order, hint);
          } else {
            Fill(part, begin, out);
            return {};
          }
        },
        segment);
  }

  size_t CountElements() const {
    return static_cast<size_t>(std::count_if(
        segments_.begin(), segments_.end(),
        [](const Segment& segment) { return std::holds_alternative<Elements>(segment); }));
  }

  uint64_t CountHeldBytes() const {
    uint64_t bytes =
        segments_.capacity() * sizeof(Segment) + ends_.capacity() * sizeof(ends_[0]);
    std::unordered_set<const std::string*> counted;
    for (const Segment& segment : segments_) {
      const std::string* text = nullptr;
      if (const auto* literal = std::get_if<Literal>(&segment)) text = literal->bytes.get();
      if (const auto* repeat = std::get_if<Repeat>(&segment)) text = repeat->pattern.get();
      if (const auto* part = std::get_if<Elements>(&segment))
        bytes += part->source->held_bytes();
      if (text != nullptr && counted.insert(text).second) bytes += text->capacity();
    }
    return bytes;
  }

  const std::vector<Segment> segments_;
  const std::vector<uint64_t> ends_;
  const size_t elements_count_;
  const uint64_t held_bytes_;
};

// A view as one open file reads it.
class TrackedView final : public View {
 public:
  TrackedView(std::shared_ptr<const SegmentedView> view, cache::Prefetcher& prefetcher)
      : view_(std::move(view)), prefetcher_(prefetcher) {}

  std::optional<uint64_t> size() const override { return view_->size(); }

  Result<size_t> Read(uint64_t offset, ByteSpan out) const override {
    LookAhead(offset, out.size());
    return view_->Read(offset, out,
                       [this](const Elements& elements, uint64_t begin, uint64_t count) {
                         const bool is_last = begin + count == elements.source->size();
                         return TrackerOf(elements.source.get(), is_last)->OnRead(begin, count);
                       });
  }

 private:
  struct Tracked {
    const ElementSource* source;
    std::shared_ptr<ReadTracker> tracker;
    bool is_finished;  // its last byte has been read
  };

  // The one that was used last comes first. A tracker that is dropped gives
  // back what its reader was granted of the cache; the two latest that are
  // finished are kept, for reads that come late.
  std::shared_ptr<ReadTracker> TrackerOf(const ElementSource* source, bool is_last) const
      EXCLUDES(mutex_) {
    std::vector<std::shared_ptr<ReadTracker>> dropped;  // destroyed without the lock
    const model::MutexLock lock(mutex_);
    const auto known = std::find_if(tracked_.begin(), tracked_.end(),
                                    [&](const Tracked& t) { return t.source == source; });
    if (known != tracked_.end()) {
      std::rotate(tracked_.begin(), known, known + 1);
      tracked_.front().is_finished |= is_last;
    } else {
      tracked_.insert(tracked_.begin(), {source, source->TrackReader(prefetcher_), is_last});
      DropOld(dropped);
    }
    return tracked_.front().tracker;
  }

  void DropOld(std::vector<std::shared_ptr<ReadTracker>>& dropped) const REQUIRES(mutex_) {
    constexpr int kMostFinished = 2;
    int finished = 0;
    for (size_t i = 0; i < tracked_.size();) {
      if (tracked_[i].is_finished) ++finished;
      const bool is_old = tracked_[i].is_finished && finished > kMostFinished;
      if (!is_old && i < kMostTracked) {
        ++i;
        continue;
      }
      dropped.push_back(std::move(tracked_[i].tracker));
      tracked_.erase(tracked_.begin() + static_cast<ptrdiff_t>(i));
    }
  }

  // Tells the sources that a reader comes to soon if it goes on like this.
  void LookAhead(uint64_t offset, size_t size) const EXCLUDES(mutex_) {
    if (view_->elements_count() < 2 || offset >= *view_->size()) return;
    const uint64_t end = offset + size;
    uint64_t begin = 0;
    {
      const model::MutexLock lock(mutex_);
      const bool goes_on =
          next_ != 0 && offset + kReorderBytes >= next_ && offset <= next_ + kReorderBytes;
      next_ = goes_on ? std::max(next_, end) : end;
      if (!goes_on) looked_to_ = 0;
      if (!goes_on) return;
      begin = std::max(looked_to_, offset + 1);
    }
    const auto expect = [this](const Elements& elements) {
      TrackerOf(elements.source.get(), /*is_last=*/false)->Expect(elements.offset);
    };
    const uint64_t looked_to =
        view_->VisitElements(begin, end + kLookAhead, kMostExpected, expect);
    const model::MutexLock lock(mutex_);
    looked_to_ = std::max(looked_to_, looked_to);
  }

  const std::shared_ptr<const SegmentedView> view_;
  cache::Prefetcher& prefetcher_;
  mutable model::Mutex mutex_;
  mutable std::vector<Tracked> tracked_ GUARDED_BY(mutex_);
  mutable uint64_t next_ GUARDED_BY(mutex_) = 0;       // where the reader is to go on
  mutable uint64_t looked_to_ GUARDED_BY(mutex_) = 0;  // sources before this know
};

std::shared_ptr<const View> SegmentedView::ForReader(cache::Prefetcher& prefetcher) const {
  if (elements_count_ == 0) return nullptr;
  return std::make_shared<const TrackedView>(shared_from_this(), prefetcher);
}

}  // namespace

Elements AllOf(std::shared_ptr<const ElementSource> source, model::ByteOrder order) {
  const uint64_t size = source->size();
  return {.source = std::move(source), .offset = 0, .size = size, .order = order};
}

Result<std::shared_ptr<const View>> MakeSegmentedView(std::vector<Segment> segments) {
  for (const Segment& segment : segments) {
    if (!IsSound(segment)) return model::Internal("a segment is not inside its source");
  }
  std::erase_if(segments, [](const Segment& segment) { return SizeOf(segment) == 0; });
  segments.shrink_to_fit();
  std::vector<uint64_t> ends;
  ends.reserve(segments.size());
  uint64_t end = 0;
  for (const Segment& segment : segments) {
    const auto sum = backends::CheckedAdd(end, SizeOf(segment));
    if (!sum || *sum > backends::kMaxViewSize) {
      return model::Limit("more than {} bytes", backends::kMaxViewSize);
    }
    ends.push_back(end = *sum);
  }
  return std::make_shared<const SegmentedView>(std::move(segments), std::move(ends));
}

}  // namespace ndlfs::fs
