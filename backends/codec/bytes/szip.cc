// SPDX-License-Identifier: MIT
//
// HDF5 filter 4 (szip): the decoded size as a little-endian uint32, then data of the
// szip library. libaec decodes them. Its replacements for szip's own functions are not
// used, because they fill a last scanline that was cut short with uninitialized memory.
#include "backends/codec/factories.h"

#if NDLFS_WITH_SZIP

#include <libaec.h>

#include <algorithm>
#include <cstring>

#include "backends/codec/hdf5_config.h"
#include "backends/codec/little_endian.h"

namespace ndlfs::backends {
namespace {

constexpr size_t kSzipHeaderSize = 4;

// Bits of the options mask.
constexpr uint32_t kMostSignificantFirst = 16;
constexpr uint32_t kNearestNeighbour = 32;

constexpr uint32_t kMaxBlock = 32;
constexpr uint32_t kMaxScanline = 4096;

struct SzipParameters {
  uint32_t options;
  uint32_t block;
  uint32_t bits;
  uint32_t scanline;

  // Whether pixels are byte-shuffled: those of 32 and 64 bits are encoded as all first
  // bytes, then all second bytes, and so on.
  bool is_interleaved() const { return bits == 32 || bits == 64; }
  size_t word() const { return is_interleaved() ? bits / 8 : sample(); }
  // The bytes that are encoded as one number.
  size_t sample() const {
    if (is_interleaved() || bits <= 8) return 1;
    return bits <= 16 ? 2 : 4;
  }
  // Each scanline is encoded in whole blocks.
  uint32_t blocks() const { return (scanline + block - 1) / block; }
  size_t line_bytes() const { return scanline * sample(); }
  size_t padded_line_bytes() const { return size_t{blocks()} * block * sample(); }
};

class SzipCodec final : public BytesToBytesCodec {
 public:
  explicit SzipCodec(const SzipParameters& parameters) : parameters_(parameters) {}

  std::string_view name() const override { return "szip"; }
  SizeBound EncodedSize(uint64_t decoded_size) const override {
    return CompressorBound(decoded_size);
  }
  model::Result<size_t> Decode(ConstByteSpan encoded, ByteSpan decoded) const override {
    if (encoded.size() <= kSzipHeaderSize) return model::Corrupt("{} bytes", encoded.size());
    const auto size = LoadLittle<uint32_t>(encoded.data());
    if (size > decoded.size()) {
      return model::Corrupt("decodes to {} bytes, expected at most {}", size, decoded.size());
    }
    if (size % parameters_.word() != 0) {
      // libhdf5's szip behind scale-offset writes none of the bytes behind the last word, and
      // what it reads there is memory that nobody has set.
      return model::Corrupt(
          "{} bytes, in words of {}; those behind the last word are not stored", size,
          parameters_.word());
    }
    const ConstByteSpan input = encoded.subspan(kSzipHeaderSize);
    const ByteSpan out = decoded.first(size);
    const bool padded = parameters_.line_bytes() != parameters_.padded_line_bytes();
    if (!padded && !parameters_.is_interleaved()) {
      NDLFS_RETURN_IF_ERROR(DecodeSamples(input, out));
    } else {
      NDLFS_TRY(const Bytes lines, DecodeLines(input, size));
      Deinterleave(lines, out);
    }
    return size;
  }

 private:
  // Fills `out` with samples. Fails if there are too few.
  model::Result<void> DecodeSamples(ConstByteSpan encoded, ByteSpan out) const {
    aec_stream stream = {};
    stream.next_in = reinterpret_cast<const unsigned char*>(encoded.data());
    stream.avail_in = encoded.size();
    stream.next_out = reinterpret_cast<unsigned char*>(out.data());
    stream.avail_out = out.size();
    stream.bits_per_sample = parameters_.is_interleaved() ? 8 : parameters_.bits;
    stream.block_size = parameters_.block;
    stream.rsi = parameters_.blocks();
    if ((parameters_.options & kMostSignificantFirst) != 0) stream.flags |= AEC_DATA_MSB;
    if ((parameters_.options & kNearestNeighbour) != 0) stream.flags |= AEC_DATA_PREPROCESS;
    const int status = ::aec_buffer_decode(&stream);
    if (status == AEC_MEM_ERROR) return model::Limit("not enough memory for a decompressor");
    if (status != AEC_OK || stream.total_out != out.size()) {
      return model::Corrupt("invalid or truncated data");
    }
    return {};
  }

  // Decodes `size` bytes of samples, and drops the padding at the end of each line. The
  // padding of the last line may be missing.
  model::Result<Bytes> DecodeLines(ConstByteSpan encoded, size_t size) const {
    const size_t line = parameters_.line_bytes();
    const size_t padded = parameters_.padded_line_bytes();
    Bytes lines(size / line * padded + size % line);
    NDLFS_RETURN_IF_ERROR(DecodeSamples(encoded, lines.span()));
    for (size_t from = 0, to = 0; to < size; from += padded, to += line) {
      std::memmove(lines.data() + to, lines.data() + from, std::min(line, size - to));
    }
    lines.Shrink(size);
    return lines;
  }

  void Deinterleave(const Bytes& samples, ByteSpan out) const {
    const size_t word = parameters_.is_interleaved() ? parameters_.word() : 1;
    const size_t words = out.size() / word;
    for (size_t byte = 0; byte < word; ++byte) {
      const std::byte* const from = samples.data() + byte * words;
      for (size_t i = 0; i < words; ++i) out[i * word + byte] = from[i];
    }
  }

  const SzipParameters parameters_;
};

// Reads options, pixels per block, bits per pixel, and pixels per scanline. Refuses
// scanlines shorter than a block: padding would make them many times as long, and
// libhdf5 never writes them.
model::Result<AnyCodec> ParseSzip(const CodecConfig& config) {
  NDLFS_TRY(const auto values, ParseClientData(config, 4));
  const SzipParameters given = {values[0], values[1], values[2], values[3]};
  if (given.block < 2 || given.block > kMaxBlock || given.block % 2 != 0 || given.bits == 0 ||
      (given.bits > 32 && given.bits != 64) || given.scanline < given.block ||
      given.scanline > kMaxScanline) {
    return model::BadInput("{} pixels per block, {} bits per pixel, {} pixels per scanline",
                           given.block, given.bits, given.scanline);
  }
  return NewCodec<SzipCodec>(given);
}

}  // namespace

static CodecResult MakeSzip(const CodecConfig& config) {
  auto codec = ParseSzip(config);
  if (!codec) return model::Propagate(std::move(codec).error(), "szip");
  return codec;
}

}  // namespace ndlfs::backends

#else

namespace ndlfs::backends {
static constexpr CodecFactory MakeSzip = nullptr;
}  // namespace ndlfs::backends

#endif

namespace ndlfs::backends {

const CodecEntry kSzipEntry = {"", "", "4", MakeSzip, "szip"};

}  // namespace ndlfs::backends
