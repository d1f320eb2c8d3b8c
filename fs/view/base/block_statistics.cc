// SPDX-License-Identifier: MIT
#include "fs/view/base/block_statistics.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>

#include "backends/base/checked.h"
#include "backends/codec/byte_swap.h"
#include "backends/format/packing.h"
#include "backends/store/cancellation.h"
#include "cache/prefetcher.h"
#include "cache/range_to_boxes.h"
#include "cache/strided_copy.h"
#include "fs/view/base/array_part.h"
#include "fs/view/base/attributes.h"
#include "fs/view/base/number_array.h"
#include "fs/view/base/unpacked.h"
#include "fs/view/elements/box_source.h"
#include "fs/view/elements/chunk_need.h"
#include "fs/view/elements/converted_elements.h"
#include "fs/view/elements/element_window.h"
#include "fs/view/elements/whole_elements.h"

namespace ndlfs::fs {
namespace {

using backends::ByteSpan;
using backends::Packing;
using model::Datatype;
using model::Result;
using Extents = std::vector<uint64_t>;

// What is known so far of some blocks, which have numbers.
class BlockSums {
 public:
  virtual ~BlockSums() = default;
  // Adds `count` elements that follow each other: `each` of them to block `first`, the next to
  // the block after it, and so on.
  virtual void Add(size_t first, const std::byte* from, size_t count, uint64_t each) = 0;
  // Writes the results of all blocks, little-endian.
  virtual void Write(std::byte* to) const = 0;
};

// Which numbers of type T are left out.
template <typename T>
class LeftOut {
 public:
  explicit LeftOut(const Packing& packing)
      : is_missing_(packing), may_be_missing_(packing.has_missing()) {}
  bool operator()(T number) const {
    if constexpr (std::is_floating_point_v<T>) {
      if (std::isnan(number)) return true;
    }
    return may_be_missing_ && is_missing_(number);
  }

 private:
  const backends::MissingTest<T> is_missing_;
  const bool may_be_missing_;
};

// The sums and the counts of the elements of blocks that are not left out. `RowSum` is enough
// for the elements of a block that are added at once.
template <typename T, typename Sum, typename RowSum = Sum>
class SumsAndCounts {
 public:
  SumsAndCounts(const Packing& packing, size_t blocks)
      : is_left_out_(packing), sums_(blocks), counts_(blocks) {}

  size_t size() const { return sums_.size(); }
  Sum sum(size_t block) const { return sums_[block]; }
  uint64_t count(size_t block) const { return counts_[block]; }
  // As BlockSums::Add().
  void Add(size_t first, const std::byte* from, size_t count, uint64_t each) {
    for (size_t block = first; count > 0; ++block) {
      const size_t inside = std::min<uint64_t>(count, each);
      RowSum sum = 0;
      uint64_t added = 0;
      for (size_t i = 0; i < inside; ++i, from += sizeof(T)) {
        T number;
        std::memcpy(&number, from, sizeof number);
        if (is_left_out_(number)) continue;
        sum += static_cast<RowSum>(number);
        ++added;
      }
      sums_[block] += sum;
      counts_[block] += added;
      count -= inside;
    }
  }

 private:
  const LeftOut<T> is_left_out_;
  std::vector<Sum> sums_;
  std::vector<uint64_t> counts_;
};

// `Sum` is the type of the sums: double, or integers for dates.
template <typename T, typename Sum>
class Totals final : public BlockSums {
 public:
  Totals(Statistic statistic, const Packing& packing, size_t blocks, Sum factor = 1)
      : statistic_(statistic), factor_(factor), sums_(packing, blocks) {}

  void Add(size_t first, const std::byte* from, size_t count, uint64_t each) override {
    sums_.Add(first, from, count, each);
  }
  void Write(std::byte* to) const override {
    for (size_t block = 0; block < sums_.size(); ++block, to += sizeof(uint64_t)) {
      const uint64_t counted = sums_.count(block);
      const Sum sum = sums_.sum(block);
      if (statistic_ == Statistic::kCount) {
        std::memcpy(to, &counted, sizeof counted);
      } else if constexpr (std::is_same_v<Sum, double>) {
        const auto count = static_cast<double>(counted);
        double result = statistic_ == Statistic::kMean ? sum / count : sum;
        if (counted == 0) result = std::numeric_limits<double>::quiet_NaN();
        std::memcpy(to, &result, sizeof result);
      } else {
        const auto count = static_cast<Sum>(counted);
        auto result = std::numeric_limits<int64_t>::min();  // no date
        const Sum steps = sum * factor_;
        // Rounded down, on both sides of 1970.
        const Sum rest = count != 0 ? steps % count : 0;
        const Sum mean = count != 0 ? (steps - rest) / count - (rest < 0) : 0;
        const bool fits = mean > result && mean <= std::numeric_limits<int64_t>::max();
        if (count != 0 && fits) result = static_cast<int64_t>(mean);
        std::memcpy(to, &result, sizeof result);
      }
    }
  }

 private:
  const Statistic statistic_;
  const Sum factor_;
  SumsAndCounts<T, Sum> sums_;
};

template <typename T>
class Extremes final : public BlockSums {
 public:
  Extremes(Statistic statistic, const Packing& packing, size_t blocks)
      : is_least_(statistic == Statistic::kMin), is_left_out_(packing), found_(blocks) {}

  void Add(size_t first, const std::byte* from, size_t count, uint64_t each) override {
    for (size_t block = first; count > 0; ++block) {
      const size_t inside = std::min<uint64_t>(count, each);
      for (size_t i = 0; i < inside; ++i, from += sizeof(T)) {
        T number;
        std::memcpy(&number, from, sizeof number);
        Take(number, found_[block]);
      }
      count -= inside;
    }
  }
  void Write(std::byte* to) const override {
    for (const Found& found : found_) {
      std::memcpy(to, &found.number, sizeof found.number);
      to += sizeof found.number;
    }
  }

 private:
  struct Found {
    T number = {};
    bool is_any = false;
    bool is_missing = false;
  };
  void Take(T number, Found& found) const {
    const bool is_missing = is_left_out_(number);
    if (found.is_any && is_missing) return;
    const bool is_better = is_least_ ? number < found.number : found.number < number;
    if (!found.is_any || found.is_missing || is_better) found = {number, true, is_missing};
  }

  const bool is_least_;
  const LeftOut<T> is_left_out_;
  std::vector<Found> found_;
};

// The first element of each block.
template <typename T>
class Firsts final : public BlockSums {
 public:
  explicit Firsts(size_t blocks) : numbers_(blocks), seen_(blocks) {}

  void Add(size_t first, const std::byte* from, size_t count, uint64_t each) override {
    for (size_t block = first; count > 0; ++block) {
      const size_t inside = std::min<uint64_t>(count, each);
      if (!std::exchange(seen_[block], uint8_t{1})) {
        std::memcpy(&numbers_[block], from, sizeof(T));
      }
      from += inside * sizeof(T);
      count -= inside;
    }
  }
  void Write(std::byte* to) const override {
    if (!numbers_.empty()) std::memcpy(to, numbers_.data(), numbers_.size() * sizeof(T));
  }

 private:
  std::vector<T> numbers_;
  std::vector<uint8_t> seen_;
};

// The mean in the type of the elements.
template <typename T>
class RoundedMeans final : public BlockSums {
 public:
  RoundedMeans(const Packing& packing, size_t blocks)
      : sums_(packing, blocks), firsts_(blocks) {}

  void Add(size_t first, const std::byte* from, size_t count, uint64_t each) override {
    sums_.Add(first, from, count, each);
    firsts_.Add(first, from, count, each);
  }
  void Write(std::byte* to) const override {
    firsts_.Write(to);
    for (size_t block = 0; block < sums_.size(); ++block, to += sizeof(T)) {
      if (sums_.count(block) == 0) continue;
      const T mean = MeanOf(sums_.sum(block), sums_.count(block));
      std::memcpy(to, &mean, sizeof mean);
    }
  }

 private:
  static constexpr bool kIsFloat = std::is_floating_point_v<T>;
  using Sum = std::conditional_t<kIsFloat, double, model::WideInt>;
  // A row that is added at once has too few elements for more than this.
  using RowSum = std::conditional_t<sizeof(T) == 8 || kIsFloat, Sum, int64_t>;

  static T MeanOf(Sum sum, uint64_t count) {
    if constexpr (kIsFloat) {
      return static_cast<T>(sum / static_cast<double>(count));
    } else {
      const auto divisor = static_cast<Sum>(count);
      Sum mean = sum / divisor;
      Sum rest = sum % divisor;
      if (rest < 0) {
        rest += divisor;
        --mean;
      }
      const bool is_odd = mean % 2 != 0;
      if (2 * rest > divisor || (2 * rest == divisor && is_odd)) ++mean;
      return static_cast<T>(mean);
    }
  }

  SumsAndCounts<T, Sum, RowSum> sums_;
  Firsts<T> firsts_;  // a block without values has its first element, which is missing
};

// The mean direction of degrees of longitude: each number counts as the nearest to the one
// before it, whole circles apart. So 350 and 10 give 0, and not 180.
template <typename T>
class CircleMeans final : public BlockSums {
 public:
  CircleMeans(const Packing& packing, size_t blocks)
      : is_left_out_(packing), packing_(packing), found_(blocks) {}

  void Add(size_t first, const std::byte* from, size_t count, uint64_t each) override {
    for (size_t block = first; count > 0; ++block) {
      const size_t inside = std::min<uint64_t>(count, each);
      Found& found = found_[block];
      double before = found.first;
      bool is_first_of_row = true;
      for (size_t i = 0; i < inside; ++i, from += sizeof(T)) {
        T number;
        std::memcpy(&number, from, sizeof number);
        if (is_left_out_(number)) continue;
        const double degrees =
            static_cast<double>(number) * packing_.factor() + packing_.shift();
        found.least = std::min(found.least, degrees);
        found.largest = std::max(found.largest, degrees);
        before =
            found.count++ == 0 ? degrees : before + std::remainder(degrees - before, kCircle);
        found.sum += before;
        if (std::exchange(is_first_of_row, false)) found.first = before;
      }
      count -= inside;
    }
  }
  void Write(std::byte* to) const override {
    for (const Found& found : found_) {
      double mean = found.sum / static_cast<double>(found.count);  // NaN of none
      const double least = found.least < 0 ? -kCircle / 2 : 0;
      const bool is_between = mean >= found.least && mean <= found.largest;
      if (!is_between) mean -= std::floor((mean - least) / kCircle) * kCircle;
      mean = (mean - packing_.shift()) / packing_.factor();
      std::memcpy(to, &mean, sizeof mean);
      to += sizeof mean;
    }
  }

 private:
  static constexpr double kCircle = 360;
  struct Found {
    double sum = 0;
    double first = 0;  // of the row before, whole circles apart
    uint64_t count = 0;
    double least = std::numeric_limits<double>::infinity();
    double largest = -std::numeric_limits<double>::infinity();
  };

  const LeftOut<T> is_left_out_;
  const Packing packing_;
  std::vector<Found> found_;
};

// How the numbers of blocks are made.
struct Rule {
  Statistic statistic;
  Number number;    // of the elements
  bool is_date;     // the elements are datetime64 or timedelta64
  Packing packing;  // which elements are missing
  size_t item;      // bytes of an element
  Datatype type;    // of the result
  bool is_longitude = false;
  model::WideInt date_factor = 1;  // steps of the result in a step of dates

  std::unique_ptr<BlockSums> Begin(size_t blocks) const {
    return WithType(number, [&](auto t) -> std::unique_ptr<BlockSums> {
      using T = decltype(t);
      if (statistic == Statistic::kMin || statistic == Statistic::kMax) {
        return std::make_unique<Extremes<T>>(statistic, packing, blocks);
      }
      if (statistic == Statistic::kFirst) return std::make_unique<Firsts<T>>(blocks);
      if constexpr (std::is_same_v<T, int64_t>) {
        const bool is_rounded = statistic == Statistic::kRoundedMean;
        if (is_date) {
          return std::make_unique<Totals<T, model::WideInt>>(
              is_rounded ? Statistic::kMean : statistic, packing, blocks, date_factor);
        }
      }
      if (is_longitude) return std::make_unique<CircleMeans<T>>(packing, blocks);
      if (statistic == Statistic::kRoundedMean) {
        return std::make_unique<RoundedMeans<T>>(packing, blocks);
      }
      return std::make_unique<Totals<T, double>>(statistic, packing, blocks);
    });
  }
};

Extents StridesOf(const Extents& shape) {
  Extents strides(shape.size(), 1);
  for (size_t d = shape.size(); d-- > 1;) strides[d - 1] = strides[d] * shape[d];
  return strides;
}

// Reads the elements of a box in rows along the last dimension. Where rows follow each other in
// the source, it reads several at once.
class RowReader {
 public:
  // `run` bytes from each place on belong to the box.
  RowReader(const ElementSource& source, uint64_t run, cache::ReadHint hint)
      : source_(source), run_(run), hint_(hint) {}

  // The next `size` bytes of the box, which are at byte `place` of the source. Valid until the
  // next call.
  Result<const std::byte*> Read(uint64_t place, size_t size) {
    if (left_ < size) {
      NDLFS_RETURN_IF_ERROR(backends::CancellationScope::Check());
      const uint64_t rest = run_ - taken_;
      const uint64_t many = std::max<uint64_t>(kPieceBytes / size, 1) * size;
      left_ = std::min(rest, many);
      if (buffer_.size() < left_) buffer_ = backends::Bytes(left_);
      NDLFS_RETURN_IF_ERROR(
          source_.Read(place, buffer_.span().first(left_), model::ByteOrder::kLittle, hint_));
      next_ = buffer_.data();
    }
    const std::byte* const row = next_;
    next_ += size;
    left_ -= size;
    taken_ = (taken_ + size) % run_;
    return row;
  }

 private:
  static constexpr uint64_t kPieceBytes = uint64_t{256} << 10;

  const ElementSource& source_;
  const uint64_t run_;
  const cache::ReadHint hint_;
  backends::Bytes buffer_;
  const std::byte* next_ = nullptr;
  uint64_t left_ = 0;   // bytes in the buffer
  uint64_t taken_ = 0;  // of the run
};

class BlockElements final : public ElementSource, public BoxSource {
 public:
  // `input` has at least one dimension.
  BlockElements(const ArrayInput& input, Extents extents, Extents shape, Rule rule)
      : source_(input.elements),
        part_(PartOf(input)),
        from_shape_(input.shape),
        from_strides_(StridesOf(input.shape)),
        extents_(std::move(extents)),
        shape_(std::move(shape)),
        rule_(std::move(rule)),
        size_(rule_.type.size()) {
    for (const uint64_t extent : shape_) size_ *= extent;
    if (size_ > 0 && HasLongBlocks()) {
      constexpr uint64_t kWindowBytes = uint64_t{8} << 20;
      window_ = std::make_shared<ElementWindow>(size_, kWindowBytes);
    }
  }

  uint64_t size() const override { return size_; }
  Result<void> Read(uint64_t offset, ByteSpan out, model::ByteOrder order,
                    cache::ReadHint /*hint*/) const override {
    const size_t item = rule_.type.size();
    const auto read = [&](uint64_t first, ByteSpan to) -> Result<void> {
      const auto make = [&](uint64_t begin, ByteSpan bytes) {
        return ReadBlocks(begin / item, bytes);
      };
      NDLFS_RETURN_IF_ERROR(window_ ? window_->Read(first * item, to, make)
                                    : ReadBlocks(first, to));
      if (order == model::ByteOrder::kLittle) return {};
      NDLFS_TRY(const auto runs, model::PlanByteSwap(rule_.type, order));
      backends::SwapElements(runs, item, to, to);
      return {};
    };
    return ReadWholeElements(item, offset, out, read);
  }
  uint64_t held_bytes() const override {
    return source_->held_bytes() + (window_ ? window_->held_bytes() : 0);
  }
  Result<void> VisitChunks(const ChunkVisitor& visit) const override {
    return source_->VisitChunks(visit);
  }
  std::unique_ptr<ReadTracker> TrackReader(cache::Prefetcher& prefetcher) const override;
  Result<void> ReadBox(std::span<const uint64_t> begin, std::span<const uint64_t> extents,
                       ByteSpan out, uint64_t& done) const override;

  // The reader of the array that all elements come from; may be null.
  const std::shared_ptr<const cache::ArrayReader>& reader() const { return part_.whole.reader; }
  // The indices along the first dimension of that array, from the least to the last, of the
  // elements that bytes [offset, offset + size) are made of.
  std::pair<uint64_t, uint64_t> IndicesOf(uint64_t offset, uint64_t size) const {
    const IndexRange& range = part_.selection[0];
    uint64_t first = 0;
    uint64_t last = range.count - 1;
    if (DimensionOfWhole(part_, 0) == size_t{0}) {
      const uint64_t step = size_ / shape_[0];
      first = std::min(offset / step * extents_[0], last);
      const uint64_t end = std::min((offset + size - 1) / step, shape_[0] - 1) + 1;
      last = end > last / extents_[0] ? last : end * extents_[0] - 1;
    }
    return std::minmax({range.At(first), range.At(last)});
  }

 private:
  // Whether a block has elements of several chunks that follow each other along a dimension.
  // Then the blocks next to it need the same chunks, which may be more than the cache holds.
  bool HasLongBlocks() const {
    if (reader() == nullptr || reader()->max_chunk_bytes() == 0) return false;
    const Extents& chunk = reader()->spec().grid.max_chunk_shape();
    for (size_t d = 0; d < extents_.size(); ++d) {
      const auto of_whole = DimensionOfWhole(part_, d);
      if (of_whole && extents_[d] > chunk[*of_whole] && from_shape_[d] > chunk[*of_whole]) {
        return true;
      }
    }
    return false;
  }

  // The blocks along each dimension that ReadBox() makes together: those of one chunk of the
  // source where they are smaller than that, else one. So chunks are decoded one after the
  // other, and a block has its elements in the order in which ReadBlocks() adds them.
  Extents PieceShape() const {
    constexpr uint64_t kMostBlocks = uint64_t{1} << 16;
    const bool has_chunks = reader() != nullptr && reader()->max_chunk_bytes() != 0;
    Extents piece = shape_;
    uint64_t blocks = 1;
    for (size_t d = shape_.size(); d-- > 0;) {
      const auto of_whole = has_chunks ? DimensionOfWhole(part_, d) : std::nullopt;
      if (of_whole) {
        const auto step = static_cast<uint64_t>(std::abs(part_.selection[*of_whole].step));
        const uint64_t chunk = reader()->spec().grid.max_chunk_shape()[*of_whole];
        piece[d] = std::min(piece[d], chunk / step / extents_[d]);
      }
      piece[d] = std::max<uint64_t>(1, std::min(piece[d], kMostBlocks / blocks));
      blocks *= piece[d];
    }
    return piece;
  }

  Result<void> ReadBlocks(uint64_t first, ByteSpan out) const {
    const uint64_t count = out.size() / rule_.type.size();
    const auto sums = rule_.Begin(count);
    uint64_t done = 0;
    const auto visit = [&](const Extents& begin, const Extents& extents,
                           uint64_t) -> Result<void> {
      NDLFS_RETURN_IF_ERROR(AddBox(begin, extents, done, *sums));
      uint64_t blocks = 1;
      for (const uint64_t extent : extents) blocks *= extent;
      done += blocks;
      return {};
    };
    NDLFS_RETURN_IF_ERROR(
        cache::RangeToBoxes(shape_, StridesOf(shape_), visit).Run(first, first + count));
    sums->Write(out.data());
    return {};
  }

  // Adds the elements of a box of blocks, whose numbers begin with `first`.
  Result<void> AddBox(const Extents& begin, const Extents& count, uint64_t first,
                      BlockSums& sums) const {
    const size_t rank = begin.size();
    Extents low(rank);
    Extents extents(rank);
    for (size_t d = 0; d < rank; ++d) {
      low[d] = begin[d] * extents_[d];
      const bool is_at_end = begin[d] + count[d] == shape_[d];
      extents[d] = (is_at_end ? from_shape_[d] : (begin[d] + count[d]) * extents_[d]) - low[d];
    }
    uint64_t run = rule_.item;
    for (size_t d = rank; d-- > 0;) {
      run *= extents[d];
      if (extents[d] != from_shape_[d]) break;
    }
    RowReader rows(*source_, run, cache::ReadHint::kOnward);
    const Extents strides = StridesOf(count);
    Extents index(rank, 0);  // of the row, in the box
    do {
      uint64_t place = 0;
      uint64_t block = first;
      for (size_t d = 0; d < rank; ++d) {
        place += (low[d] + index[d]) * from_strides_[d];
        block += index[d] / extents_[d] * strides[d];
      }
      NDLFS_RETURN_IF_ERROR(AddRow(place, extents.back(), block, rows, sums));
    } while (NextRow(index, extents));
    return {};
  }
  Result<void> AddRow(uint64_t place, uint64_t count, uint64_t block, RowReader& rows,
                      BlockSums& sums) const {
    constexpr uint64_t kMostElements = uint64_t{1} << 16;
    const uint64_t each = extents_.back();
    // Pieces of a row end where blocks end, or are parts of one block.
    const uint64_t piece = each >= kMostElements ? kMostElements : kMostElements / each * each;
    for (uint64_t done = 0; done < count;) {
      const uint64_t in_block = done % each;
      const uint64_t room = each >= kMostElements ? each - in_block : piece;
      const uint64_t now = std::min({piece, room, count - done});
      NDLFS_TRY(const std::byte* const from,
                rows.Read((place + done) * rule_.item, now * rule_.item));
      sums.Add(block + done / each, from, now, each);
      done += now;
    }
    return {};
  }
  // Goes to the next row; false after the last one.
  static bool NextRow(Extents& index, const Extents& extents) {
    for (size_t d = index.size() - 1; d-- > 0;) {
      if (++index[d] < extents[d]) return true;
      index[d] = 0;
    }
    return false;
  }

  const std::shared_ptr<const ElementSource> source_;
  const ArrayPart part_;
  const Extents from_shape_;
  const Extents from_strides_;
  const Extents extents_;
  const Extents shape_;
  const Rule rule_;
  uint64_t size_;
  std::shared_ptr<ElementWindow> window_;  // null: blocks are made as they are read
};

Result<void> BlockElements::ReadBox(std::span<const uint64_t> begin,
                                    std::span<const uint64_t> extents, ByteSpan out,
                                    uint64_t& done) const {
  const size_t rank = begin.size();
  const size_t item = rule_.type.size();
  const Extents piece = PieceShape();
  Extents counts(rank);  // of pieces, which begin at multiples of their extents
  uint64_t pieces = 1;
  for (size_t d = 0; d < rank; ++d) {
    counts[d] = (begin[d] + extents[d] - 1) / piece[d] - begin[d] / piece[d] + 1;
    pieces *= counts[d];
  }
  backends::Bytes made;
  for (; done < pieces; ++done) {
    NDLFS_RETURN_IF_ERROR(backends::CancellationScope::Check());
    Extents low(rank);  // of the piece, in the array
    Extents count(rank);
    Extents in_box(rank);
    uint64_t blocks = 1;
    uint64_t rest = done;
    for (size_t d = rank; d-- > 0; rest /= counts[d]) {
      const uint64_t first = (begin[d] / piece[d] + rest % counts[d]) * piece[d];
      low[d] = std::max(first, begin[d]);
      count[d] = std::min(first + piece[d], begin[d] + extents[d]) - low[d];
      in_box[d] = low[d] - begin[d];
      blocks *= count[d];
    }
    const auto sums = rule_.Begin(blocks);
    NDLFS_RETURN_IF_ERROR(AddBox(low, count, 0, *sums));
    if (made.size() < blocks * item) made = backends::Bytes(blocks * item);
    sums->Write(made.data());
    cache::CopyBox(made.data(), count, out.data(), extents, in_box, item);
  }
  return {};
}

// Has chunks decoded that the reader needs next, and those kept that it will need again.
class BlockTracker final : public ReadTracker {
 public:
  BlockTracker(std::shared_ptr<const BlockElements> elements, cache::Prefetcher& prefetcher)
      : elements_(std::move(elements)), stream_(prefetcher, elements_->reader()) {}
  ~BlockTracker() override { ForgetNeed(*elements_->reader(), this); }

  cache::ReadHint OnRead(uint64_t offset, uint64_t size) override {
    // The kernel's read-ahead may come so late.
    constexpr uint64_t kLateBytes = uint64_t{2} << 20;
    constexpr uint64_t kMostAhead = 16;
    if (size == 0 || offset >= elements_->size()) return cache::ReadHint::kOnward;
    const cache::ArrayReader& reader = *elements_->reader();
    const uint64_t late = offset - std::min(offset, kLateBytes);
    const auto [need, need_end] = elements_->IndicesOf(late, elements_->size() - late);
    TellNeed(reader, this, need, need_end);
    const auto [low, high] = elements_->IndicesOf(offset, size);
    const uint64_t step = reader.byte_size() / reader.spec().shape[0];
    const backends::ChunkGrid& grid = reader.spec().grid;
    const uint64_t first = grid.ChunkOf(0, low);
    const uint64_t last = std::min(grid.ChunkOf(0, high), first + kMostAhead);
    const model::MutexLock lock(mutex_);
    for (uint64_t chunk = std::max(first + 1, asked_); chunk <= last; ++chunk) {
      stream_.Expect(grid.Begin(0, chunk) * step);
    }
    asked_ = last + 1;
    return cache::ReadHint::kOnward;
  }

 private:
  const std::shared_ptr<const BlockElements> elements_;
  cache::ReadStream stream_;
  model::Mutex mutex_;
  uint64_t asked_ GUARDED_BY(mutex_) = 0;  // chunks below this were asked for
};

class NoBlockTracker final : public ReadTracker {
 public:
  cache::ReadHint OnRead(uint64_t, uint64_t) override { return cache::ReadHint::kOnward; }
};

std::unique_ptr<ReadTracker> BlockElements::TrackReader(cache::Prefetcher& prefetcher) const {
  if (reader() == nullptr || reader()->max_chunk_bytes() == 0 || size_ == 0) {
    return std::make_unique<NoBlockTracker>();
  }
  return std::make_unique<BlockTracker>(std::make_shared<const BlockElements>(*this),
                                        prefetcher);
}

bool IsDate(const Datatype& type) {
  return type.kind() == Datatype::Kind::kInteger && type.time();
}

// The array with elements of a type of C++.
ArrayInput WithNumbers(const ArrayInput& input) {
  ElementConversion wider = ToFloat32(input.dtype);
  if (!wider.converter) return input;
  ArrayInput floats = input;
  floats.dtype = wider.type;
  floats.elements = ConvertElements(input.elements, std::move(wider));
  return floats;
}

model::Failure NotForStored(std::string_view word, std::string_view attribute) {
  return model::NotFound(
      "{} of stored numbers with {} says nothing; values[{}:...] has that of "
      "the values",
      word, attribute, word);
}

Result<Rule> RuleForFirst(const ArrayInput& input) {
  const auto number = NumberOfType(input.dtype);
  const bool is_known = number && !IsComplex(*number) && *number != Number::kFloat16;
  if (!is_known || !input.elements) return model::NotFound("the elements are no numbers");
  return Rule{Statistic::kFirst, *number, false, {}, input.dtype.size(), input.dtype};
}

// The middle of two days is at noon.
void CountFinerDates(Rule& rule) {
  const auto scale = model::TimeScaleOf(rule.type);
  if (!scale) return;
  constexpr std::array<std::pair<model::Nanoseconds, const char*>, 3> kFiner = {
      {{60 * model::kNanosecondsOfSecond, "s"},
       {model::kNanosecondsOfSecond, "ms"},
       {model::kNanosecondsOfSecond / 1000, "us"}}};
  for (const auto& [least, unit] : kFiner) {
    if (scale->unit < least) continue;
    rule.type = Datatype::Time({.unit = unit});
    rule.date_factor = scale->unit / model::TimeScaleOf(rule.type)->unit;
    return;
  }
}

Result<Rule> RuleFor(const ArrayInput& input, Statistic statistic) {
  if (statistic == Statistic::kFirst) return RuleForFirst(input);
  const bool is_date = IsDate(input.dtype);
  auto packing = backends::ReadPacking(*input.node);
  const auto number = packing ? NumberOfType(TypeAsRead(*packing, input.dtype)) : std::nullopt;
  const bool is_known = number && !IsComplex(*number) && *number != Number::kFloat16 &&
                        input.dtype.kind() != Datatype::Kind::kEnum;
  if (!is_known || !input.elements) {
    return model::NotFound(
        "no statistics: the elements are no numbers, or their attributes "
        "cannot be understood");
  }
  const bool is_extreme = statistic == Statistic::kMin || statistic == Statistic::kMax;
  if (statistic == Statistic::kSum && is_date) return model::NotFound("dates have no sum");
  if (statistic == Statistic::kSum && packing->offset.value_or(0) != 0) {
    return NotForStored("sum", "add_offset");
  }
  if (is_extreme && packing->scale.value_or(1) < 0) {
    return NotForStored(statistic == Statistic::kMin ? "min" : "max",
                        "a negative scale_factor");
  }
  if (is_date) packing->missing.emplace_back(std::numeric_limits<int64_t>::min());
  Datatype type = Datatype::Float64();
  const bool keeps_type = is_extreme || statistic == Statistic::kRoundedMean;
  if (keeps_type || (is_date && statistic == Statistic::kMean)) type = input.dtype;
  if (statistic == Statistic::kCount) type = Datatype::Integer(8, true);
  Rule rule{statistic,          *number,        is_date, *std::move(packing),
            input.dtype.size(), std::move(type)};
  const auto& attributes = input.node->attributes();
  rule.is_longitude =
      statistic == Statistic::kMean && (TextOf(attributes, "standard_name") == "longitude" ||
                                        IsDegreesEast(TextOf(attributes, "units")));
  if (statistic == Statistic::kMean) CountFinerDates(rule);
  return rule;
}

bool IsOfLevel(Statistic statistic) {
  return statistic == Statistic::kRoundedMean || statistic == Statistic::kFirst;
}

// Whether an attribute says what numbers mean.
bool IsMeaning(std::string_view name) {
  constexpr std::array<std::string_view, 8> kNames = {
      "units",         "calendar",    "long_name",  "standard_name",
      "flag_meanings", "flag_values", "flag_masks", "description"};
  const auto& packing = backends::PackingAttributes();
  return std::ranges::find(kNames, name) != kNames.end() ||
         std::ranges::find(packing, name) != packing.end();
}

// Whether an attribute of the elements holds for the numbers of blocks as well.
bool StaysWith(std::string_view name, const Rule& rule) {
  if (IsOfLevel(rule.statistic)) return IsMeaning(name);
  if (rule.statistic == Statistic::kMin || rule.statistic == Statistic::kMax) {
    return !IsOfAllElements(name);
  }
  if (IsOfAllElements(name)) return false;
  if (name == "units" || name == "calendar" || name == "standard_name" ||
      name == "cell_methods" || name == "bounds") {
    return rule.statistic != Statistic::kCount;
  }
  if (name == "scale_factor" || name == "add_offset") {
    return rule.statistic != Statistic::kCount;
  }
  if (name.starts_with("flag_")) return false;
  return std::ranges::find(backends::PackingAttributes(), name) ==
         backends::PackingAttributes().end();
}

// What was done along which dimensions, as CF says it (section 7.3): "lat: lon: mean".
std::string MethodOf(const ArrayInput& input, const Blocks& blocks) {
  constexpr std::array<std::string_view, 4> kWords = {"mean", "minimum", "maximum", "sum"};
  const auto word = static_cast<size_t>(blocks.statistic);
  std::string method;
  for (size_t d = 0; d < blocks.extents.size() && word < kWords.size(); ++d) {
    const std::string name = DimensionName(input, d);
    if (blocks.extents[d] > 1 && !name.empty()) method += name + ": ";
  }
  return method.empty() ? method : method.append(kWords[word]);
}

void SetText(std::vector<model::Attribute>& attributes, std::string_view name,
             std::string text) {
  std::erase_if(attributes, [&](const auto& attribute) { return attribute.name == name; });
  attributes.push_back(model::MakeTextAttribute(std::string(name), std::move(text)));
}

// Blocks have no bounds of several dimensions.
void DescribeCentres(const ArrayInput& input, std::vector<model::Attribute>& attributes) {
  if (input.shape.size() == 1) return;
  std::erase_if(attributes, [](const auto& attribute) {
    return attribute.name == "bounds" || attribute.name == "climatology";
  });
}

// Says of numbers of blocks what they are.
void DescribeNumbers(const ArrayInput& input, const Blocks& blocks, const Rule& rule,
                     std::vector<model::Attribute>& attributes) {
  const std::string method = MethodOf(input, blocks);
  if (!method.empty()) {
    const std::string before = TextOf(attributes, "cell_methods");
    SetText(attributes, "cell_methods", before.empty() ? method : before + ' ' + method);
  }
  if (rule.statistic == Statistic::kCount) {
    SetText(attributes, "standard_name", "number_of_observations");
    SetText(attributes, "units", "1");
  }
  const bool may_be_nan = rule.type.kind() == Datatype::Kind::kFloat &&
                          (IsFloat(rule.number) || rule.packing.has_missing());
  if (may_be_nan && (rule.statistic == Statistic::kMean || rule.statistic == Statistic::kSum)) {
    attributes.push_back({"_FillValue",
                          rule.type,
                          {},
                          model::Value(std::numeric_limits<double>::quiet_NaN()),
                          {}});
  }
}

std::shared_ptr<const backends::Node> BlockNode(const ArrayInput& input,
                                                const Blocks& blocks_of, const Extents& shape,
                                                const Rule& rule, bool are_centres) {
  auto blocks = std::make_shared<backends::Node>(*input.node);
  const auto change = [&](model::Ndarray& array) {
    std::erase_if(array.attributes, [&](const model::Attribute& attribute) {
      return !StaysWith(attribute.name, rule);
    });
    if (are_centres) {
      DescribeCentres(input, array.attributes);
    } else {
      DescribeNumbers(input, blocks_of, rule, array.attributes);
    }
    for (size_t d = 0; d < shape.size() && d < array.shape.size(); ++d) {
      if (array.shape[d].size) array.shape[d].size = shape[d];  // an unlimited one stays so
    }
    array.value.reset();
    array.storage.chunk.reset();
    if (rule.type == array.type) return;
    array.type = rule.type;
    array.storage.fillvalue.reset();
  };
  if (auto* array = std::get_if<model::Ndarray>(&blocks->entity)) change(*array);
  if (auto* coordinates = std::get_if<model::DimCoord>(&blocks->entity)) change(*coordinates);
  const bool keeps_numbers = rule.statistic == Statistic::kMin ||
                             rule.statistic == Statistic::kMax || IsOfLevel(rule.statistic);
  blocks->fill_is_missing = blocks->fill_is_missing && keeps_numbers;
  return blocks;
}

Result<ArrayInput> MakeNumbersOf(const ArrayInput& input, Blocks blocks, bool are_centres) {
  const ArrayInput numbers = WithNumbers(input);
  NDLFS_TRY(Rule rule, RuleFor(numbers, blocks.statistic));
  if (blocks.extents.empty()) return model::NotFound("no blocks: the array has no dimensions");
  Extents shape;
  for (size_t d = 0; d < blocks.extents.size(); ++d) {
    const uint64_t each = blocks.extents[d];
    if (each > 1 && blocks.statistic != Statistic::kCount && HasFactorsAlong(input, d)) {
      return model::NotFound(
          "stored numbers of several bands have different factors; values[...] has the "
          "statistics of the values");
    }
    shape.push_back(input.shape[d] / each + (input.shape[d] % each != 0 ? 1 : 0));
  }
  const auto bytes = backends::CheckedProduct(shape, rule.type.size());
  if (!bytes || *bytes > backends::kMaxViewSize) {
    return model::Limit("more than {} bytes of elements", backends::kMaxViewSize);
  }
  const bool is_extreme =
      blocks.statistic == Statistic::kMin || blocks.statistic == Statistic::kMax;
  const ElementConversion narrower =
      is_extreme ? FromFloat32(input.dtype) : ElementConversion();
  Rule described = rule;
  if (narrower.converter) described.type = input.dtype;
  ArrayInput made = input;
  made.node = BlockNode(input, blocks, shape, described, are_centres);
  made.dtype = described.type;
  made.shape = shape;
  made.reader = nullptr;
  ArrayPart part = PartOf(input);
  made.elements = std::make_shared<const BlockElements>(numbers, blocks.extents,
                                                        std::move(shape), std::move(rule));
  if (narrower.converter) made.elements = ConvertElements(made.elements, narrower);
  part.blocks = std::move(blocks);
  part.is_converted = true;
  made.part = std::make_shared<const ArrayPart>(std::move(part));
  return made;
}

// Bounds of blocks: those of their first and of their last elements.
class BlockBounds final : public ElementSource {
 public:
  BlockBounds(const ArrayInput& bounds, uint64_t each)
      : source_(bounds.elements),
        count_(bounds.shape[0]),
        each_(each),
        item_(bounds.dtype.size()),
        size_((count_ + each - 1) / each * 2 * item_) {}

  uint64_t size() const override { return size_; }
  Result<void> Read(uint64_t offset, ByteSpan out, model::ByteOrder order,
                    cache::ReadHint hint) const override {
    return ReadWholeElements(item_, offset, out, [&](uint64_t at, ByteSpan to) -> Result<void> {
      for (size_t done = 0; done < to.size(); done += item_, ++at) {
        const uint64_t begin = at / 2 * each_;
        const bool is_last = at % 2 == 1;
        const uint64_t index = is_last ? std::min(begin + each_, count_) - 1 : begin;
        NDLFS_RETURN_IF_ERROR(
            source_->Read((2 * index + at % 2) * item_, to.subspan(done, item_), order, hint));
      }
      return {};
    });
  }
  Result<void> VisitChunks(const ChunkVisitor& visit) const override {
    return source_->VisitChunks(visit);
  }
  std::unique_ptr<ReadTracker> TrackReader(cache::Prefetcher&) const override {
    return std::make_unique<NoBlockTracker>();
  }

 private:
  const std::shared_ptr<const ElementSource> source_;
  const uint64_t count_;
  const uint64_t each_;
  const size_t item_;
  const uint64_t size_;
};

}  // namespace

Result<ArrayInput> MakeBlocks(const ArrayInput& input, Blocks blocks) {
  return MakeNumbersOf(input, std::move(blocks), /*are_centres=*/false);
}

Result<ArrayInput> MakeCentres(const ArrayInput& coordinates, Extents extents) {
  return MakeNumbersOf(coordinates,
                       {.statistic = Statistic::kMean, .extents = std::move(extents)},
                       /*are_centres=*/true);
}

Result<ArrayInput> MakeBlockBounds(const ArrayInput& bounds, Blocks blocks) {
  const bool are_pairs = bounds.shape.size() == 2 && bounds.shape[1] == 2 &&
                         bounds.shape[0] > 0 && blocks.extents[1] == 1 && bounds.elements;
  if (!are_pairs) return model::Unsupported("blocks have other bounds than their elements");
  const uint64_t each = blocks.extents[0];
  blocks.statistic = Statistic::kFirst;
  NDLFS_TRY(ArrayInput made, MakeNumbersOf(bounds, std::move(blocks), /*are_centres=*/true));
  made.elements = std::make_shared<const BlockBounds>(WithNumbers(bounds), each);
  return made;
}

}  // namespace ndlfs::fs
