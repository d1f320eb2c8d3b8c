// SPDX-License-Identifier: MIT
#include "fs/view/converted_elements.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "backends/base/checked.h"
#include "model/float_format.h"
#include "model/mutex.h"
#include "model/utf8.h"

namespace ndlfs::fs {
namespace {

using backends::ByteSpan;
using model::ByteOrder;
using model::Datatype;

// Elements are converted in pieces that stay in the processor's cache.
constexpr size_t kPieceBytes = size_t{64} << 10;

// Bytes of an element before and after.
struct Sizes {
  uint64_t from;
  uint64_t to;
};

class ConvertedElements final : public ElementSource {
 public:
  ConvertedElements(std::shared_ptr<const ElementSource> source, ElementConversion conversion,
                    uint64_t size)
      : source_(std::move(source)),
        conversion_(std::move(conversion)),
        sizes_{conversion_.type.size(), conversion_.to_size},
        size_(size) {}

  uint64_t size() const override { return size_; }

  model::Result<void> Read(uint64_t offset, ByteSpan out, ByteOrder order,
                           cache::Access access) const override {
    const uint64_t piece =
        std::max<uint64_t>(kPieceBytes / std::max(sizes_.from, sizes_.to), 1);
    backends::Bytes from(std::min<uint64_t>(piece, out.size() / sizes_.to + 2) * sizes_.from);
    backends::Bytes element(sizes_.to);
    while (!out.empty()) {
      const uint64_t first = offset / sizes_.to;
      const uint64_t skip = offset % sizes_.to;
      // Whole elements go straight to their place, the two at the ends through `element`.
      const bool is_whole = skip == 0 && out.size() >= sizes_.to;
      const uint64_t count = is_whole ? std::min(piece, out.size() / sizes_.to) : 1;
      const ByteSpan read = from.span().first(count * sizes_.from);
      NDLFS_RETURN_IF_ERROR(
          source_->Read(first * sizes_.from, read, ByteOrder::kLittle, access));
      std::byte* const to = is_whole ? out.data() : element.span().data();
      conversion_.convert(conversion_.type, read.data(), to, count, order);
      const uint64_t done =
          is_whole ? count * sizes_.to : std::min<uint64_t>(sizes_.to - skip, out.size());
      if (!is_whole) std::memcpy(out.data(), to + skip, done);
      out = out.subspan(done);
      offset += done;
    }
    return {};
  }
  std::unique_ptr<ReadTracker> TrackReader(cache::Prefetcher& prefetcher) const override {
    return TrackElements(source_->TrackReader(prefetcher), sizes_.from, sizes_.to);
  }

 private:
  const std::shared_ptr<const ElementSource> source_;
  const ElementConversion conversion_;
  const Sizes sizes_;
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

template <typename Code, bool kSwapped>
void ConvertFloats(const std::vector<uint32_t>& table, const std::byte* from, std::byte* to,
                   size_t count) {
  for (size_t i = 0; i < count; ++i) {
    Code code;
    std::memcpy(&code, from + i * sizeof(code), sizeof(code));
    const uint32_t bits = kSwapped ? __builtin_bswap32(table[code]) : table[code];
    std::memcpy(to + i * sizeof(bits), &bits, sizeof(bits));
  }
}

void FloatsToFloat32(const Datatype& type, const std::byte* from, std::byte* to, size_t count,
                     ByteOrder order) {
  const auto& table = FloatTable(*model::FindFloatFormat(type.keyword()), type.size());
  const bool swapped = order == ByteOrder::kBig;
  const auto convert =
      type.size() == 1
          ? (swapped ? &ConvertFloats<uint8_t, true> : &ConvertFloats<uint8_t, false>)
          : (swapped ? &ConvertFloats<uint16_t, true> : &ConvertFloats<uint16_t, false>);
  convert(table, from, to, count);
}

void Utf32ToUtf8(const Datatype& type, const std::byte* from, std::byte* to, size_t count,
                 ByteOrder) {
  const size_t size = type.size();
  std::string text;
  for (size_t i = 0; i < count; ++i, from += size, to += size) {
    text.clear();
    // Zeros within the text are kept, those at its end cannot be told from padding.
    for (size_t at = 0; at < size; at += 4) {
      uint32_t code;
      std::memcpy(&code, from + at, 4);
      if (!model::AppendUtf8(text, code)) model::AppendUtf8(text, 0xFFFD);
    }
    std::memset(to, 0, size);
    std::memcpy(to, text.data(), std::min(text.size(), size));
  }
}

}  // namespace

ElementConversion ToFloat32(const Datatype& type) {
  const bool is_known = type.kind() == Datatype::Kind::kFloat && type.size() <= 2 &&
                        model::FindFloatFormat(type.keyword()) != nullptr;
  if (!is_known) return {};
  return {type, sizeof(float), &FloatsToFloat32};
}

ElementConversion ToUtf8(const Datatype& type) {
  const bool is_utf32 = type.kind() == Datatype::Kind::kString && type.is_fixed_size() &&
                        type.charset() == model::Charset::kUtf32 && type.size() % 4 == 0;
  if (!is_utf32 || type.size() == 0) return {};
  return {type, type.size(), &Utf32ToUtf8};
}

std::shared_ptr<const ElementSource> ConvertElements(
    std::shared_ptr<const ElementSource> source, ElementConversion conversion) {
  if (source == nullptr) return nullptr;
  const uint64_t count = source->size() / conversion.type.size();
  const auto size = backends::CheckedMultiply(count, conversion.to_size);
  if (!size || *size > backends::kMaxViewSize) return nullptr;
  return std::make_shared<const ConvertedElements>(std::move(source), std::move(conversion),
                                                   *size);
}

}  // namespace ndlfs::fs
