// SPDX-License-Identifier: MIT
#include "fs/view/dap/dap_elements.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <utility>

#include "backends/base/checked.h"

namespace ndlfs::fs {
namespace {

using backends::ByteSpan;
using backends::ConstByteSpan;
using backends::netcdf3::Type;
using model::Result;

uint64_t GetBig(ConstByteSpan bytes) {
  uint64_t value = 0;
  for (const std::byte byte : bytes) value = value << 8 | std::to_integer<uint64_t>(byte);
  return value;
}

void PutBig(uint64_t value, ByteSpan out) {
  for (size_t i = out.size(); i-- > 0; value >>= 8) out[i] = static_cast<std::byte>(value);
}

// The value of a signed number of `bytes` bytes.
int64_t Extend(uint64_t value, size_t bytes) {
  const unsigned shift = 64 - 8 * static_cast<unsigned>(bytes);
  return static_cast<int64_t>(value << shift) >> shift;
}

// How one value is encoded.
struct Encoding {
  uint64_t from = 1;  // bytes
  uint64_t to = 1;
  void (*encode)(ConstByteSpan value, ByteSpan out) = nullptr;
};

void EncodeSigned(ConstByteSpan value, ByteSpan out) {
  PutBig(static_cast<uint64_t>(Extend(GetBig(value), value.size())), out);
}

void EncodeUnsigned(ConstByteSpan value, ByteSpan out) { PutBig(GetBig(value), out); }

template <typename Integer>
void EncodeDouble(ConstByteSpan value, ByteSpan out) {
  const auto integer = static_cast<Integer>(GetBig(value));
  const auto real = static_cast<double>(integer);
  // A number that is rounded up to this one is no such integer any more.
  constexpr auto kEnd = 2.0 * static_cast<double>(std::numeric_limits<Integer>::max() / 2 + 1);
  const bool is_exact = real < kEnd && static_cast<Integer>(real) == integer;
  PutBig(std::bit_cast<uint64_t>(is_exact ? real : std::numeric_limits<double>::quiet_NaN()),
         out);
}

// Length, bytes, and zeros up to a multiple of four.
void EncodeString(ConstByteSpan value, ByteSpan out) {
  constexpr size_t kLength = 4;
  PutBig(value.size(), out.first(kLength));
  std::ranges::copy(value, out.begin() + kLength);
  std::ranges::fill(out.subspan(kLength + value.size()), std::byte{0});
}

Encoding EncodingOf(Type type, uint64_t string_length) {
  switch (type) {
    case Type::kByte:
      return {1, 4, &EncodeSigned};
    case Type::kUByte:
      return {1, 4, &EncodeUnsigned};
    case Type::kShort:
      return {2, 4, &EncodeSigned};
    case Type::kUShort:
      return {2, 4, &EncodeUnsigned};
    case Type::kUInt:
      return {4, 8, &EncodeDouble<uint32_t>};
    case Type::kInt64:
      return {8, 8, &EncodeDouble<int64_t>};
    case Type::kUInt64:
      return {8, 8, &EncodeDouble<uint64_t>};
    case Type::kChar:
      return {string_length, 4 + (string_length + 3) / 4 * 4, &EncodeString};
    case Type::kInt:
    case Type::kFloat:
    case Type::kDouble:
      break;
  }
  return {};
}

class DapElements final : public ElementSource {
 public:
  DapElements(std::shared_ptr<const ElementSource> values, const Encoding& encoding,
              uint64_t size)
      : values_(std::move(values)), encoding_(encoding), size_(size) {}

  uint64_t size() const override { return size_; }
  Result<void> Read(uint64_t offset, ByteSpan out, model::ByteOrder /*order*/,
                    cache::ReadHint hint) const override {
    const uint64_t to = encoding_.to;
    const size_t at_once = std::max<size_t>(1, kBlock / std::max(encoding_.from, to));
    backends::Bytes values(at_once * encoding_.from);
    backends::Bytes encoded(to);
    while (!out.empty()) {
      const uint64_t first = offset / to;
      const uint64_t end = (offset + out.size() + to - 1) / to;
      const size_t count = std::min<uint64_t>(end - first, at_once);
      const ByteSpan read = values.span().first(count * encoding_.from);
      NDLFS_RETURN_IF_ERROR(
          values_->Read(first * encoding_.from, read, model::ByteOrder::kBig, hint));
      for (size_t i = 0; i < count; ++i) {
        encoding_.encode(read.subspan(i * encoding_.from, encoding_.from), encoded.span());
        const size_t skipped = offset % to;
        const size_t copied = std::min<size_t>(to - skipped, out.size());
        std::memcpy(out.data(), encoded.data() + skipped, copied);
        out = out.subspan(copied);
        offset += copied;
      }
    }
    return {};
  }
  std::unique_ptr<ReadTracker> TrackReader(cache::Prefetcher& prefetcher) const override {
    return TrackElements(values_->TrackReader(prefetcher), encoding_.from, encoding_.to);
  }

 private:
  static constexpr uint64_t kBlock = uint64_t{64} << 10;

  const std::shared_ptr<const ElementSource> values_;
  const Encoding encoding_;
  const uint64_t size_;
};

}  // namespace

Result<std::shared_ptr<const ElementSource>> EncodeForDap(
    std::shared_ptr<const ElementSource> values, Type type, uint64_t string_length) {
  const Encoding encoding = EncodingOf(type, string_length);
  if (encoding.encode == nullptr || encoding.from == 0) return values;
  const auto size = backends::CheckedMultiply(values->size() / encoding.from, encoding.to);
  if (!size || *size > backends::kMaxViewSize) return model::Limit("too many bytes");
  return std::make_shared<const DapElements>(std::move(values), encoding, *size);
}

}  // namespace ndlfs::fs
