// SPDX-License-Identifier: MIT
//
// HDF5 filter 32020 (vbz, by Oxford Nanopore): the decoded size as a little-endian
// uint32, then a zstd frame with the integers as StreamVByte:
//
//   a code of 2 bits for each integer, the first in the lowest bits
//   the data of each integer, as long as its code says: 1 to 4 bytes, or for
//   integers of one byte in version 1: 0, 1, 2 or 4 times 4 bits, the first in the
//   lower half of a byte
//
// The integers are the values or their differences, which have the sign in the lowest
// bit; both are computed with 32 bits. zstd and StreamVByte may each be left out.
#include <zstd.h>

#include <cstring>
#include <utility>

#include "backends/codec/factories.h"
#include "backends/codec/hdf5_config.h"
#include "backends/codec/little_endian.h"
#include "backends/codec/stream/zstd_context.h"

namespace ndlfs::backends {
namespace {

constexpr size_t kVbzHeaderSize = 4;

struct VbzParameters {
  size_t integer_size;  // 0: the bytes are not StreamVByte
  bool has_differences;
  bool is_zstd;
  bool has_halves;  // of bytes
};

// The data of StreamVByte in units of bytes.
class DataBytes {
 public:
  explicit DataBytes(ConstByteSpan bytes) : bytes_(bytes) {}

  // Reads the data of an integer with this code. False if there are too few bytes.
  bool Take(unsigned code, uint32_t& value) {
    const size_t count = code + 1;
    if (count > bytes_.size() - at_) return false;
    value = 0;
    for (size_t i = 0; i < count; ++i) {
      value |= std::to_integer<uint32_t>(bytes_[at_ + i]) << (8 * i);
    }
    at_ += count;
    return true;
  }
  bool IsAtEnd() const { return at_ == bytes_.size(); }

 private:
  const ConstByteSpan bytes_;
  size_t at_ = 0;
};

class DataHalves {
 public:
  explicit DataHalves(ConstByteSpan bytes) : bytes_(bytes) {}

  bool Take(unsigned code, uint32_t& value) {
    const size_t count = code == 3 ? 4 : code;
    if (count > 2 * bytes_.size() - at_) return false;
    value = 0;
    for (size_t i = 0; i < count; ++i, ++at_) {
      const auto byte = std::to_integer<uint32_t>(bytes_[at_ / 2]);
      value |= (byte >> (at_ % 2 * 4) & 0xf) << (4 * i);
    }
    return true;
  }
  bool IsAtEnd() const { return (at_ + 1) / 2 == bytes_.size(); }

 private:
  const ConstByteSpan bytes_;
  size_t at_ = 0;
};

class VbzCodec final : public BytesToBytesCodec {
 public:
  explicit VbzCodec(const VbzParameters& parameters) : parameters_(parameters) {}

  std::string_view name() const override { return "vbz"; }
  SizeBound EncodedSize(uint64_t decoded_size) const override {
    return CompressorBound(kVbzHeaderSize + MaxStream(decoded_size));
  }
  model::Result<size_t> Decode(ConstByteSpan encoded, ByteSpan decoded) const override {
    if (encoded.size() < kVbzHeaderSize) return model::Corrupt("{} bytes", encoded.size());
    const auto size = LoadLittle<uint32_t>(encoded.data());
    if (size > decoded.size()) {
      return model::Corrupt("decodes to {} bytes, expected at most {}", size, decoded.size());
    }
    encoded = encoded.subspan(kVbzHeaderSize);
    const ByteSpan out = decoded.first(size);
    if (parameters_.integer_size == 0) {
      NDLFS_RETURN_IF_ERROR(DecodePlain(encoded, out));
    } else {
      NDLFS_RETURN_IF_ERROR(DecodeIntegers(encoded, out));
    }
    return size;
  }

 private:
  // Each integer has two bits and at most four bytes.
  uint64_t MaxStream(uint64_t decoded_size) const {
    if (parameters_.integer_size == 0) return decoded_size;
    const uint64_t count = decoded_size / parameters_.integer_size;
    return count / 4 + 1 + 4 * count;
  }

  model::Result<void> DecodePlain(ConstByteSpan encoded, ByteSpan decoded) const {
    size_t size = encoded.size();
    if (parameters_.is_zstd) {
      NDLFS_TRY(size, DecodeZstd(encoded, decoded));
    } else if (size == decoded.size() && size != 0) {
      std::memcpy(decoded.data(), encoded.data(), size);
    }
    if (size != decoded.size()) {
      return model::Corrupt("{} bytes, expected {}", size, decoded.size());
    }
    return {};
  }

  model::Result<void> DecodeIntegers(ConstByteSpan encoded, ByteSpan decoded) const {
    const size_t width = parameters_.integer_size;
    if (decoded.size() % width != 0) {
      return model::Corrupt("{} bytes, in integers of {}", decoded.size(), width);
    }
    if (!parameters_.is_zstd) return DecodeStream(encoded, decoded);
    Bytes stream(MaxStream(decoded.size()));
    NDLFS_TRY(const size_t size, DecodeZstd(encoded, stream.span()));
    stream.Shrink(size);
    return DecodeStream(std::as_const(stream).span(), decoded);
  }

  model::Result<void> DecodeStream(ConstByteSpan stream, ByteSpan decoded) const {
    switch (parameters_.integer_size) {
      case 1:
        if (parameters_.has_halves) return DecodeValues<uint8_t, DataHalves>(stream, decoded);
        return DecodeValues<uint8_t, DataBytes>(stream, decoded);
      case 2:
        return DecodeValues<uint16_t, DataBytes>(stream, decoded);
      default:
        return DecodeValues<uint32_t, DataBytes>(stream, decoded);
    }
  }

  template <typename T, typename Data>
  model::Result<void> DecodeValues(ConstByteSpan stream, ByteSpan decoded) const {
    const size_t count = decoded.size() / sizeof(T);
    const size_t codes = (count + 3) / 4;
    if (codes > stream.size()) return model::Corrupt("truncated data");
    Data data(stream.subspan(codes));
    uint32_t sum = 0;
    for (size_t i = 0; i < count; ++i) {
      const auto code = std::to_integer<unsigned>(stream[i / 4] >> (i % 4 * 2)) & 3;
      uint32_t value;
      if (!data.Take(code, value)) return model::Corrupt("truncated data");
      if (parameters_.has_differences) {
        sum += (value >> 1) ^ (0 - (value & 1));
        value = sum;
      }
      StoreLittle(static_cast<T>(value), decoded.data() + i * sizeof(T));
    }
    if (!data.IsAtEnd()) return model::Corrupt("more data than {} integers", count);
    return {};
  }

  const VbzParameters parameters_;
};

// Reads the version, the size of the integers, whether they are differences, and the
// level of zstd: 0 for no zstd, 1 if it is missing.
model::Result<AnyCodec> ParseVbz(const CodecConfig& config) {
  NDLFS_TRY(const auto values, ParseClientData(config, 3));
  const uint32_t version = values[0];
  const uint32_t integer_size = values[1];
  if (version > 1) return model::Unsupported("version {}", version);
  if (integer_size > 4 || integer_size == 3) {
    return model::BadInput("integers of {} bytes", integer_size);
  }
  return NewCodec<VbzCodec>(VbzParameters{.integer_size = integer_size,
                                          .has_differences = values[2] != 0,
                                          .is_zstd = values.size() < 4 || values[3] != 0,
                                          .has_halves = version == 1});
}

}  // namespace

static CodecResult MakeVbz(const CodecConfig& config) {
  auto codec = ParseVbz(config);
  if (!codec) return model::Propagate(std::move(codec).error(), "vbz");
  return codec;
}

const CodecEntry kVbzEntry = {"", "", "32020", MakeVbz, "vbz"};

}  // namespace ndlfs::backends
