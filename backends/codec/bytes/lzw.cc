// SPDX-License-Identifier: MIT
//
// LZW as TIFF has it (TIFF 6.0, section 13): codes of 9 to 12 bits with the highest bit first,
// which grow one code early. "imagecodecs_lzw".
#include <algorithm>
#include <array>
#include <cstring>

#include "backends/codec/factories.h"

namespace ndlfs::backends {
namespace {

constexpr uint32_t kClear = 256, kEnd = 257, kFirstFree = 258, kMostCodes = 4096;
constexpr unsigned kLeastWidth = 9, kMostWidth = 12;

// Takes codes from the bytes, the highest bit first.
class CodeReader {
 public:
  explicit CodeReader(ConstByteSpan bytes) : at_(bytes.data()), end_(at_ + bytes.size()) {}

  // kEnd if fewer bits than that are left.
  uint32_t Take(unsigned width) {
    if (have_ < width) Fill();
    if (have_ < width) return kEnd;
    have_ -= width;
    return static_cast<uint32_t>(bits_ >> have_) & ((1u << width) - 1);
  }

 private:
  void Fill() {
    if (end_ - at_ >= 4) {
      uint32_t next;
      std::memcpy(&next, at_, sizeof(next));
      bits_ = bits_ << 32 | __builtin_bswap32(next);
      have_ += 32;
      at_ += 4;
      return;
    }
    while (at_ != end_) {
      bits_ = bits_ << 8 | std::to_integer<uint64_t>(*at_++);
      have_ += 8;
    }
  }

  const std::byte* at_;
  const std::byte* const end_;
  uint64_t bits_ = 0;
  unsigned have_ = 0;
};

// The string of a code is a part of the output: that of the code before it was added, and the
// byte that follows there.
struct LzwString {
  size_t begin = 0;
  size_t length = 0;
};

// Appends a string of the output to the output, of which it may be the end.
void CopyWithin(std::byte* output, size_t from, size_t length, size_t to, size_t room) {
  constexpr size_t kWord = 16;
  if (length <= kWord && to - from >= kWord && room >= kWord) {
    std::memcpy(output + to, output + from, kWord);
  } else if (to - from >= length) {
    std::memcpy(output + to, output + from, length);
  } else {
    for (size_t i = 0; i < length; ++i) output[to + i] = output[from + i];
  }
}

class LzwCodec final : public BytesToBytesCodec {
 public:
  std::string_view name() const override { return "imagecodecs_lzw"; }

  // A code of 12 bits for each byte at most, and those that clear the table.
  SizeBound EncodedSize(uint64_t decoded_size) const override {
    return {CheckedAdd(CheckedMultiply(decoded_size, 2).value_or(kMaxViewSize), 65536)
                .value_or(kMaxViewSize),
            false};
  }

  model::Result<size_t> Decode(ConstByteSpan encoded, ByteSpan decoded) const override {
    bool is_cut = false;
    NDLFS_TRY(const size_t size, DecodeLzw(encoded, decoded, is_cut));
    if (is_cut) return model::Corrupt("decodes to more than expected");
    return size;
  }
};

}  // namespace

model::Result<size_t> DecodeLzw(ConstByteSpan encoded, ByteSpan decoded, bool& is_cut) {
  if (encoded.size() >= 2 && encoded[0] == std::byte{0} &&
      (encoded[1] & std::byte{1}) != std::byte{0}) {
    return model::Unsupported("LZW with the lowest bit first, as before TIFF 5");
  }
  std::array<LzwString, kMostCodes> table;
  CodeReader codes(encoded);
  uint32_t next = kFirstFree;
  unsigned width = kLeastWidth;
  LzwString before;
  size_t out = 0;
  for (uint32_t code = codes.Take(width); code != kEnd; code = codes.Take(width)) {
    if (code == kClear) {
      next = kFirstFree;
      width = kLeastWidth;
      before = {};
      continue;
    }
    if (before.length != 0 && next < kMostCodes) {
      table[next++] = {before.begin, before.length + 1};
      if (next == (1u << width) - 1 && width < kMostWidth) ++width;
    }
    const size_t room = decoded.size() - out;
    if (code < kClear) {
      is_cut = room == 0;
      if (is_cut) return out;
      decoded[out] = static_cast<std::byte>(code);
      before = {out++, 1};
      continue;
    }
    if (code >= next) return model::Corrupt("a code that is not in the table");
    LzwString string = table[code];
    is_cut = string.length > room;
    string.length = std::min(string.length, room);
    CopyWithin(decoded.data(), string.begin, string.length, out, room);
    before = {out, string.length};
    out += string.length;
    if (is_cut) return out;
  }
  return out;
}

static CodecResult MakeLzw(const CodecConfig&) { return NewCodec<LzwCodec>(); }

const CodecEntry kLzwEntry = {"imagecodecs_lzw", "imagecodecs_lzw", "", MakeLzw};

}  // namespace ndlfs::backends
