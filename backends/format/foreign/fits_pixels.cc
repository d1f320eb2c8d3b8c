// SPDX-License-Identifier: MIT
#include "backends/format/foreign/fits_pixels.h"

#include <algorithm>
#include <bit>

namespace ndlfs::backends::foreign {
namespace {

using model::Corrupt;
using model::Result;

// Fields of bits, each with its highest bit first. Zeros follow the end.
class Bits {
 public:
  explicit Bits(ConstByteSpan bytes) : bytes_(bytes) {}

  // Whether more than all bits were taken.
  bool is_beyond() const { return taken_ > bytes_.size() * 8; }

  // A field of 1 to 32 bits.
  uint32_t Take(unsigned bits) {
    Fill();
    const auto field = static_cast<uint32_t>(buffer_ >> (64 - bits));
    Drop(bits);
    return field;
  }

  // The number of zeros before the next one, which is taken, too.
  uint64_t TakeZeros() {
    uint64_t zeros = 0;
    for (;;) {
      Fill();
      const auto leading = static_cast<unsigned>(std::countl_zero(buffer_));
      if (leading < filled_) {
        Drop(leading + 1);
        return zeros + leading;
      }
      zeros += filled_;
      Drop(filled_);
      if (is_beyond()) return zeros;
    }
  }

 private:
  // At least 33 bits are in the buffer after this.
  void Fill() {
    while (filled_ <= 56) {
      const uint64_t byte =
          next_ < bytes_.size() ? std::to_integer<uint64_t>(bytes_[next_]) : 0;
      ++next_;
      buffer_ |= byte << (56 - filled_);
      filled_ += 8;
    }
  }
  void Drop(unsigned bits) {
    buffer_ = bits == 64 ? 0 : buffer_ << bits;
    filled_ -= bits;
    taken_ += bits;
  }

  const ConstByteSpan bytes_;
  size_t next_ = 0;
  uint64_t buffer_ = 0;  // the next bit is the highest one
  unsigned filled_ = 0;
  uint64_t taken_ = 0;
};

struct RiceForm {
  unsigned selector_bits;  // of the field before each block
  uint32_t verbatim;       // the selector of differences that are not coded
};

RiceForm FormOf(unsigned pixel_bytes) {
  if (pixel_bytes == 1) return {3, 6};
  if (pixel_bytes == 2) return {4, 14};
  return {5, 25};
}

int32_t AsPixel(uint32_t value, unsigned pixel_bytes) {
  if (pixel_bytes == 1) return static_cast<uint8_t>(value);
  if (pixel_bytes == 2) return static_cast<int16_t>(value);
  return static_cast<int32_t>(value);
}

}  // namespace

// Each block begins with a selector: 0 for pixels that are all like the one before, and the
// number of low bits that each difference has, plus one, for others. The sign of a difference
// is its lowest bit.
Result<std::vector<int32_t>> DecodeRice(ConstByteSpan encoded, uint64_t count,
                                        unsigned pixel_bytes, uint64_t block_size) {
  const RiceForm form = FormOf(pixel_bytes);
  const unsigned pixel_bits = 8 * pixel_bytes;
  Bits bits(encoded);
  std::vector<int32_t> pixels(count);
  uint32_t last = bits.Take(pixel_bits);
  for (uint64_t begin = 0; begin < count; begin += block_size) {
    const uint64_t end = begin + std::min(block_size, count - begin);
    const uint32_t selector = bits.Take(form.selector_bits);
    if (bits.is_beyond()) {
      return Corrupt("RICE_1: the data end at pixel {} of {}", begin, count);
    }
    if (selector > form.verbatim + 1) return Corrupt("RICE_1: unknown block type {}", selector);
    for (uint64_t i = begin; i < end; ++i) {
      uint32_t difference = 0;
      if (selector == form.verbatim + 1) {
        difference = bits.Take(pixel_bits);
      } else if (selector != 0) {
        const unsigned low = selector - 1;
        const uint64_t high = bits.TakeZeros();
        if (high > UINT32_MAX >> low) return Corrupt("RICE_1: a difference of too many bits");
        difference = static_cast<uint32_t>(high) << low | (low == 0 ? 0 : bits.Take(low));
      }
      last += (difference & 1) != 0 ? ~(difference >> 1) : difference >> 1;
      pixels[i] = AsPixel(last, pixel_bytes);
    }
  }
  if (bits.is_beyond()) return Corrupt("RICE_1: the data end before pixel {}", count);
  return pixels;
}

// Words of 16 bits: an operation in the highest 4, and a number.
Result<std::vector<int32_t>> DecodePlio(ConstByteSpan encoded, uint64_t count) {
  const auto word = [&](size_t i) {
    return std::to_integer<uint32_t>(encoded[2 * i]) << 8 |
           std::to_integer<uint32_t>(encoded[2 * i + 1]);
  };
  const size_t words = encoded.size() / 2;
  if (words < 3) return Corrupt("PLIO_1: {} bytes are too few for a header", encoded.size());
  // Lists of the old form have their length in the third word.
  const bool is_old = word(2) != 0 && word(2) < 0x8000;
  if (!is_old && words < 5) {
    return Corrupt("PLIO_1: {} bytes are too few for a header", encoded.size());
  }
  const size_t length = is_old ? word(2) : (size_t{word(4)} << 15) + word(3);
  const size_t begin = is_old ? 3 : word(1);
  if (length > words) {
    return Corrupt("PLIO_1: the header says {} words, but there are {}", length, words);
  }
  std::vector<int32_t> pixels;
  pixels.reserve(count);
  uint32_t high = 1;
  const auto add = [&](uint64_t n, uint32_t value) {
    if (n > count - pixels.size()) return false;
    pixels.insert(pixels.end(), n, static_cast<int32_t>(value));
    return true;
  };
  for (size_t i = begin; i < length; ++i) {
    const uint32_t number = word(i) & 0xfff;
    bool fits = true;
    switch (word(i) >> 12) {
      case 0:
        fits = add(number, 0);
        break;
      case 1:
        if (++i == length) return Corrupt("PLIO_1: the data end inside a value");
        high = word(i) << 12 | number;
        break;
      case 2:
        high += number;
        break;
      case 3:
        high -= number;
        break;
      case 4:
        fits = add(number, high);
        break;
      case 5:
        fits = number == 0 || (add(number - 1, 0) && add(1, high));
        break;
      case 6:
        high += number;
        fits = add(1, high);
        break;
      case 7:
        high -= number;
        fits = add(1, high);
        break;
      default:
        return Corrupt("PLIO_1: unknown operation {}", word(i) >> 12);
    }
    if (!fits) return Corrupt("PLIO_1: more than {} pixels", count);
  }
  add(count - pixels.size(), 0);
  return pixels;
}

}  // namespace ndlfs::backends::foreign
