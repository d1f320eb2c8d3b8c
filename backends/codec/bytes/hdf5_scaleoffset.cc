// SPDX-License-Identifier: MIT
//
// HDF5 filter 6 (scaleoffset): stores each number as its difference from the smallest
// one, with as many bits as the largest difference needs. Floats are multiplied by a
// power of ten first. The difference with all bits set stands for the fill value.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "backends/codec/byte_swap.h"
#include "backends/codec/factories.h"
#include "backends/codec/hdf5_config.h"
#include "backends/codec/little_endian.h"
#include "backends/codec/stream/high_bit_reader.h"

namespace ndlfs::backends {
namespace {

// Positions in the client data.
enum Parameter : size_t {
  kScaleType = 0,
  kScaleFactor = 1,
  kCount = 2,
  kClass = 3,
  kSize = 4,
  kSign = 5,
  kOrder = 6,
  kFillAvailable = 7,
  kFill = 8,
  kParameters = 20,
};
constexpr uint32_t kDecimalScale = 0;  // scale types: floats
constexpr uint32_t kIntegerScale = 2;

// The header: bits of a difference as uint32, bytes of the minimum as uint8, the
// minimum, and unused room for a wider minimum.
constexpr size_t kMinimumAt = 5;
constexpr size_t kScaleOffsetHeaderSize = 21;

struct Settings {
  size_t size = 1;
  size_t count = 0;  // numbers in a chunk
  bool is_float = false;
  bool big_endian = false;
  bool has_fill = false;
  bool is_stored = false;  // the writer asked for all bits, so that the filter did nothing
  int decimals = 0;
  uint64_t fill = 0;  // the bytes of the fill value
};

class Hdf5ScaleOffsetCodec final : public BytesToBytesCodec {
 public:
  explicit Hdf5ScaleOffsetCodec(const Settings& settings) : settings_(settings) {}

  std::string_view name() const override { return "scaleoffset"; }
  SizeBound EncodedSize(uint64_t decoded_size) const override {
    return {decoded_size + 65536, false};
  }

  model::Result<size_t> Decode(ConstByteSpan encoded, ByteSpan decoded) const override {
    if (settings_.is_stored) return Copy(encoded, decoded);
    if (encoded.size() < kScaleOffsetHeaderSize) {
      return model::Corrupt("{} bytes, a header has {}", encoded.size(),
                            kScaleOffsetHeaderSize);
    }
    const auto bits = LoadLittle<uint32_t>(encoded.data());
    const size_t count = settings_.count;
    const ConstByteSpan data = encoded.subspan(kScaleOffsetHeaderSize);
    if (bits > 8 * settings_.size) {
      return model::Corrupt("{} bits for numbers of {} bytes", bits, settings_.size);
    }
    if (CheckedMultiply(bits, count).value_or(UINT64_MAX) > data.size() * 8) {
      return model::Corrupt("{} bytes are too few for {} numbers", encoded.size(), count);
    }
    const size_t size = count * settings_.size;
    if (size > decoded.size()) {
      return model::Corrupt("decodes to {} bytes, expected at most {}", size, decoded.size());
    }
    if (bits == 8 * settings_.size) {  // the numbers are stored unchanged
      if (size != 0) std::memcpy(decoded.data(), data.data(), size);
    } else {
      DecodeNumbers(data, bits, Minimum(encoded), decoded.first(size));
    }
    if (settings_.big_endian) {
      SwapNumbers(settings_.size, decoded.first(size), decoded.first(size));
    }
    return size;
  }

 private:
  static model::Result<size_t> Copy(ConstByteSpan from, ByteSpan to) {
    if (from.size() > to.size()) return model::Corrupt("decodes to more than expected");
    if (!from.empty()) std::memcpy(to.data(), from.data(), from.size());
    return from.size();
  }

  static uint64_t Minimum(ConstByteSpan encoded) {
    const auto size = std::to_integer<size_t>(encoded[kMinimumAt - 1]);
    uint64_t minimum = 0;
    std::memcpy(&minimum, encoded.data() + kMinimumAt, std::min(size, sizeof(minimum)));
    return minimum;
  }

  void DecodeNumbers(ConstByteSpan data, uint32_t bits, uint64_t minimum,
                     ByteSpan decoded) const {
    const uint64_t highest = (uint64_t{1} << bits) - 1;
    HighBitReader reader(data);
    for (size_t at = 0; at < decoded.size(); at += settings_.size) {
      const uint64_t difference = reader.Take(bits);
      uint64_t number = settings_.fill;
      if (!settings_.has_fill || difference != highest) number = Restore(difference, minimum);
      std::memcpy(decoded.data() + at, &number, settings_.size);
    }
  }

  // Returns the bytes of a number.
  uint64_t Restore(uint64_t difference, uint64_t minimum) const {
    if (!settings_.is_float) return difference + minimum;
    if (settings_.size == 4) return RestoreReal<float, uint32_t>(difference, minimum);
    return RestoreReal<double, uint64_t>(difference, minimum);
  }

  template <typename Real, typename Code>
  uint64_t RestoreReal(uint64_t difference, uint64_t minimum) const {
    const Real power = std::pow(Real{10}, static_cast<Real>(settings_.decimals));
    const Real smallest = std::bit_cast<Real>(static_cast<Code>(minimum));
    return std::bit_cast<Code>(static_cast<Real>(difference) / power + smallest);
  }

  const Settings settings_;
};

model::Result<void> CheckType(const std::vector<uint32_t>& values) {
  const uint32_t size = values[kSize];
  const bool valid = values[kClass] == 1 ? size == 4 || size == 8
                                         : size == 1 || size == 2 || size == 4 || size == 8;
  // libhdf5 leaves the sign parameter of floats uninitialized.
  const bool known_sign = values[kClass] == 1 || values[kSign] <= 1;
  if (!valid || values[kClass] > 1 || !known_sign || values[kOrder] > 1) {
    return model::BadInput("class {}, {} bytes, sign {}, order {}", values[kClass], size,
                           values[kSign], values[kOrder]);
  }
  const uint32_t expected = values[kClass] == 1 ? kDecimalScale : kIntegerScale;
  if (values[kScaleType] == expected) return {};
  return model::Unsupported("scale type {}", values[kScaleType]);
}

model::Result<AnyCodec> ParseHdf5ScaleOffset(const CodecConfig& config) {
  NDLFS_TRY(const auto values, ParseClientData(config, kParameters));
  NDLFS_RETURN_IF_ERROR(CheckType(values));
  Settings settings;
  settings.size = values[kSize];
  settings.count = values[kCount];
  settings.is_float = values[kClass] == 1;
  settings.big_endian = values[kOrder] == 1;
  settings.has_fill = values[kFillAvailable] == 1;
  settings.decimals = static_cast<int>(values[kScaleFactor]);
  settings.is_stored = !settings.is_float && values[kScaleFactor] == 8 * values[kSize];
  settings.fill = uint64_t{values[kFill + 1]} << 32 | values[kFill];
  return NewCodec<Hdf5ScaleOffsetCodec>(settings);
}

}  // namespace

static CodecResult MakeHdf5ScaleOffset(const CodecConfig& config) {
  auto codec = ParseHdf5ScaleOffset(config);
  if (!codec) return model::Propagate(std::move(codec).error(), "scaleoffset");
  return codec;
}

const CodecEntry kHdf5ScaleOffsetEntry = {"", "", "6", MakeHdf5ScaleOffset, "scaleoffset"};

}  // namespace ndlfs::backends
