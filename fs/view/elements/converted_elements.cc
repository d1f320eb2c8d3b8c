// SPDX-License-Identifier: MIT
#include "fs/view/elements/converted_elements.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "backends/base/checked.h"
#include "backends/base/utf32_text.h"
#include "backends/codec/byte_swap.h"
#include "model/cf_time.h"
#include "model/float_format.h"
#include "model/mutex.h"

namespace ndlfs::fs {
namespace {

using backends::ByteSpan;
using backends::ConstByteSpan;
using backends::ElementConverter;
using model::ByteOrder;
using model::Datatype;
using model::Result;

// Elements are converted in pieces that stay in the processor's cache.
constexpr size_t kPieceBytes = size_t{256} << 10;

class ConvertedElements final : public ElementSource {
 public:
  ConvertedElements(std::shared_ptr<const ElementSource> source, ElementConversion conversion,
                    uint64_t size)
      : source_(std::move(source)),
        converter_(std::move(conversion.converter)),
        type_(std::move(conversion.type)),
        in_turn_(std::move(conversion.in_turn)),
        run_(conversion.run),
        size_(size) {}

  uint64_t size() const override { return size_; }

  Result<void> Read(uint64_t offset, ByteSpan out, ByteOrder order,
                    cache::ReadHint hint) const override {
    const size_t from_size = converter_->from_size();
    const size_t to_size = converter_->to_size();
    std::vector<model::SwapRun> runs;
    if (order == ByteOrder::kBig) {
      NDLFS_TRY(runs, model::PlanByteSwap(type_, order));
    }
    const uint64_t piece = std::max<uint64_t>(kPieceBytes / std::max(from_size, to_size), 1);
    backends::Bytes from(std::min<uint64_t>(piece, out.size() / to_size + 2) * from_size);
    backends::Bytes element(to_size);
    while (!out.empty()) {
      const uint64_t first = offset / to_size;
      const uint64_t skip = offset % to_size;
      // Whole elements go straight to their place, the two at the ends through `element`.
      const bool is_whole = skip == 0 && out.size() >= to_size;
      const uint64_t count = is_whole ? std::min(piece, out.size() / to_size) : 1;
      const ByteSpan read = from.span().first(count * from_size);
      NDLFS_RETURN_IF_ERROR(source_->Read(first * from_size, read, ByteOrder::kLittle, hint));
      const ByteSpan to = is_whole ? out.first(count * to_size) : element.span();
      NDLFS_RETURN_IF_ERROR(Convert(first, read, to));
      if (!runs.empty()) backends::SwapElements(runs, to_size, to, to);
      const uint64_t done =
          is_whole ? to.size() : std::min<uint64_t>(to_size - skip, out.size());
      if (!is_whole) std::memcpy(out.data(), to.data() + skip, done);
      out = out.subspan(done);
      offset += done;
    }
    return {};
  }
  Result<void> VisitChunks(const ChunkVisitor& visit) const override {
    return source_->VisitChunks(visit);
  }
  std::unique_ptr<ReadTracker> TrackReader(cache::Prefetcher& prefetcher) const override {
    return TrackElements(source_->TrackReader(prefetcher), converter_->from_size(),
                         converter_->to_size());
  }

 private:
  // Converts elements from the element `first` on.
  Result<void> Convert(uint64_t first, ConstByteSpan from, ByteSpan to) const {
    if (in_turn_.empty()) return converter_->Convert(from, to);
    while (!from.empty()) {
      const uint64_t left = from.size() / converter_->from_size();
      const uint64_t count = std::min(left, run_ - first % run_);
      NDLFS_RETURN_IF_ERROR(in_turn_[first / run_ % in_turn_.size()]->Convert(
          from.first(count * converter_->from_size()),
          to.first(count * converter_->to_size())));
      from = from.subspan(count * converter_->from_size());
      to = to.subspan(count * converter_->to_size());
      first += count;
    }
    return {};
  }

  const std::shared_ptr<const ElementSource> source_;
  const std::shared_ptr<const ElementConverter> converter_;
  const Datatype type_;
  const std::vector<std::shared_ptr<const ElementConverter>> in_turn_;
  const uint64_t run_;
  const uint64_t size_;
};

// The bits of the float32 for each code of a format of at most 16 bits. Made once a format.
const std::vector<uint32_t>& FloatTable(const model::FloatFormat& format, size_t bytes) {
  static model::Mutex mutex;
  static std::map<std::string_view, std::vector<uint32_t>> tables;
  const model::MutexLock lock(mutex);
  std::vector<uint32_t>& table = tables[format.keyword];
  for (uint32_t code = 0; table.size() < size_t{1} << (8 * bytes); ++code) {
    table.push_back(std::bit_cast<uint32_t>(static_cast<float>(format.Decode(code))));
  }
  return table;
}

template <typename Code>
class FloatsToFloat32 final : public ElementConverter {
 public:
  explicit FloatsToFloat32(const model::FloatFormat& format)
      : ElementConverter(sizeof(Code), sizeof(float)), format_(format) {}
  Result<void> Convert(ConstByteSpan from, ByteSpan to) const override {
    const std::vector<uint32_t>& table = FloatTable(format_, sizeof(Code));
    for (size_t i = 0; i * sizeof(Code) < from.size(); ++i) {
      Code code;
      std::memcpy(&code, from.data() + i * sizeof code, sizeof code);
      std::memcpy(to.data() + i * sizeof(float), &table[code], sizeof(float));
    }
    return {};
  }

 private:
  const model::FloatFormat& format_;
};

template <typename Code>
class Float32ToFloats final : public ElementConverter {
 public:
  explicit Float32ToFloats(const model::FloatFormat& format)
      : ElementConverter(sizeof(float), sizeof(Code)), format_(format) {}
  Result<void> Convert(ConstByteSpan from, ByteSpan to) const override {
    for (size_t i = 0; i * sizeof(float) < from.size(); ++i) {
      float number;
      std::memcpy(&number, from.data() + i * sizeof number, sizeof number);
      const auto encoded = format_.Encode(number);
      if (!encoded) return model::Internal("{} is no {}", number, format_.keyword);
      const auto code = static_cast<Code>(*encoded);
      std::memcpy(to.data() + i * sizeof code, &code, sizeof code);
    }
    return {};
  }

 private:
  const model::FloatFormat& format_;
};

// From or to `small`.
template <template <typename> class Converter>
ElementConversion ConvertFloats(const Datatype& small, Datatype to) {
  if (small.kind() != Datatype::Kind::kFloat || small.size() > 2) return {};
  const model::FloatFormat* format = model::FindFloatFormat(small.keyword());
  if (format == nullptr) return {};
  if (small.size() == 1)
    return {std::make_shared<const Converter<uint8_t>>(*format), std::move(to)};
  return {std::make_shared<const Converter<uint16_t>>(*format), std::move(to)};
}

class Utf32ToUtf8 final : public ElementConverter {
 public:
  Utf32ToUtf8(std::vector<backends::Utf32Run> runs, size_t size)
      : ElementConverter(size, size), runs_(std::move(runs)) {}
  Result<void> Convert(ConstByteSpan from, ByteSpan to) const override {
    std::memcpy(to.data(), from.data(), to.size());
    backends::RewriteUtf32(runs_, to_size(), to);
    return {};
  }

 private:
  const std::vector<backends::Utf32Run> runs_;
};

// Counts of time in another unit. NaT stays NaT.
class TimeCounts : public ElementConverter {
 public:
  TimeCounts() : ElementConverter(sizeof(int64_t), sizeof(int64_t)) {}
  Result<void> Convert(ConstByteSpan from, ByteSpan to) const override {
    constexpr int64_t kNotATime = std::numeric_limits<int64_t>::min();
    for (size_t at = 0; at < from.size(); at += sizeof(int64_t)) {
      int64_t count;
      std::memcpy(&count, from.data() + at, sizeof count);
      std::optional<int64_t> other = kNotATime;
      if (count != kNotATime) other = Count(count);
      if (!other) return model::Corrupt("64 bits have no room for the time {}", count);
      std::memcpy(to.data() + at, &*other, sizeof count);
    }
    return {};
  }

 protected:
  // nullopt where 64 bits have no room for it.
  virtual std::optional<int64_t> Count(int64_t count) const = 0;
};

class MultipliedCounts final : public TimeCounts {
 public:
  explicit MultipliedCounts(int64_t factor) : factor_(factor) {}

 private:
  std::optional<int64_t> Count(int64_t count) const override {
    int64_t product;
    if (__builtin_mul_overflow(count, factor_, &product)) return std::nullopt;
    return product;
  }
  const int64_t factor_;
};

// Days since 1970-01-01 of months since then.
class DaysOfMonths final : public TimeCounts {
 public:
  explicit DaysOfMonths(int64_t months) : months_(months) {}

 private:
  std::optional<int64_t> Count(int64_t count) const override {
    constexpr int64_t kFarthest = int64_t{1} << 52;
    int64_t months;
    if (__builtin_mul_overflow(count, months_, &months) || months < -kFarthest ||
        months > kFarthest) {
      return std::nullopt;
    }
    const int64_t month = ((months % 12) + 12) % 12;
    const model::Date date{1970 + (months - month) / 12, static_cast<unsigned>(month + 1), 1};
    return DaysOf(model::Calendar::kProlepticGregorian, date);
  }
  const int64_t months_;  // in a unit
};

}  // namespace

ElementConversion ToCfTimes(const Datatype& type) {
  if (type.kind() != Datatype::Kind::kInteger || !type.time()) return {};
  model::TimeUnit unit = *type.time();
  if (unit.scale < 1) return {};
  int64_t factor = std::exchange(unit.scale, 1);
  const bool is_year = unit.unit == "Y";
  if (!unit.is_delta && (is_year || unit.unit == "M")) {
    if (is_year && __builtin_mul_overflow(factor, 12, &factor)) return {};
    unit.unit = "D";
    return {std::make_shared<const DaysOfMonths>(factor), Datatype::Time(unit)};
  }
  if (unit.unit == "W") {
    if (__builtin_mul_overflow(factor, 7, &factor)) return {};
    unit.unit = "D";
  }
  if (factor == 1) return {};
  return {std::make_shared<const MultipliedCounts>(factor), Datatype::Time(unit)};
}

ElementConversion ToFloat32(const Datatype& type) {
  return ConvertFloats<FloatsToFloat32>(type, Datatype::Float32());
}
ElementConversion FromFloat32(const Datatype& type) {
  return ConvertFloats<Float32ToFloats>(type, type);
}

Result<ElementConversion> ToUtf8(const Datatype& type) {
  NDLFS_TRY(auto runs, backends::FindUtf32(type));
  if (runs.empty() || type.size() == 0) return ElementConversion();
  const bool is_text = type.kind() == Datatype::Kind::kString;
  return ElementConversion{std::make_shared<const Utf32ToUtf8>(std::move(runs), type.size()),
                           is_text ? Datatype::FixedString(type.size(), model::Charset::kUtf8)
                                   : Datatype::Opaque(type.size())};
}

std::shared_ptr<const ElementSource> ConvertElements(
    std::shared_ptr<const ElementSource> source, ElementConversion conversion) {
  if (source == nullptr) return nullptr;
  const ElementConverter& converter = *conversion.converter;
  const uint64_t count = source->size() / converter.from_size();
  const auto size = backends::CheckedMultiply(count, converter.to_size());
  if (!size || *size > backends::kMaxViewSize) return nullptr;
  return std::make_shared<const ConvertedElements>(std::move(source), std::move(conversion),
                                                   *size);
}

}  // namespace ndlfs::fs
