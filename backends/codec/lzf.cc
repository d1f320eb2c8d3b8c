// SPDX-License-Identifier: MIT
//
// HDF5 filter 32000 (h5py's "lzf"): one LZF stream. Of control bytes below 32
// each is followed by one more literal byte than it says; the others hold the
// length of a repetition in their upper three bits (7: one more byte adds to
// it) and, with the byte after them, how far back it begins.
#include <cstring>

#include "backends/codec/factories.h"

namespace ndlfs::backends {
namespace {

class LzfDecoder {
 public:
  LzfDecoder(ConstByteSpan encoded, ByteSpan decoded) : in_(encoded), out_(decoded) {}

  model::Result<size_t> Decode() {
    while (in_at_ < in_.size()) {
      const unsigned control = TakeByte();
      const bool ok = control < kFirstRepetition ? CopyLiterals(control + 1) : Repeat(control);
      if (!ok) {
        return model::Corrupt("invalid data at byte {}, or more than {} bytes decoded", in_at_,
                              out_.size());
      }
    }
    return out_at_;
  }

 private:
  static constexpr unsigned kFirstRepetition = 32;

  unsigned TakeByte() { return std::to_integer<unsigned>(in_[in_at_++]); }

  bool CopyLiterals(size_t count) {
    if (count > in_.size() - in_at_ || count > out_.size() - out_at_) return false;
    std::memcpy(out_.data() + out_at_, in_.data() + in_at_, count);
    in_at_ += count;
    out_at_ += count;
    return true;
  }

  bool Repeat(unsigned control) {
    size_t length = control >> 5;
    if (length == 7) {
      if (in_at_ == in_.size()) return false;
      length += TakeByte();
    }
    length += 2;
    if (in_at_ == in_.size()) return false;
    const size_t distance = ((control & 31) << 8 | TakeByte()) + 1;
    if (distance > out_at_ || length > out_.size() - out_at_) return false;
    // Byte by byte: what is repeated may be what is being written.
    std::byte* to = out_.data() + out_at_;
    const std::byte* from = to - distance;
    if (distance >= length) {
      std::memcpy(to, from, length);
    } else {
      for (size_t i = 0; i < length; ++i) to[i] = from[i];
    }
    out_at_ += length;
    return true;
  }

  const ConstByteSpan in_;
  const ByteSpan out_;
  size_t in_at_ = 0;
  size_t out_at_ = 0;
};

class LzfCodec final : public BytesToBytesCodec {
 public:
  std::string_view name() const override { return "lzf"; }
  SizeBound EncodedSize(uint64_t decoded_size) const override {
    return CompressorBound(decoded_size);
  }
  model::Result<size_t> Decode(ConstByteSpan encoded, ByteSpan decoded) const override {
    if (encoded.empty()) return model::Corrupt("no data");
    return LzfDecoder(encoded, decoded).Decode();
  }
};

}  // namespace

CodecResult MakeLzf(const CodecConfig&) { return NewCodec<LzfCodec>(); }

}  // namespace ndlfs::backends
