// SPDX-License-Identifier: MIT
//
// RFC 1950, 1951 and 1952 (zlib, deflate, gzip), RFC 8878 (Zstandard), and the header of
// Blosc 1.
#include "backends/codec/plain_frame.h"

#include <libdeflate.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <string>

#include "backends/base/checked.h"

namespace ndlfs::backends {
namespace {

using model::Datatype;

constexpr uint64_t kDeflateBlock = 65535;
constexpr uint64_t kZstdBlock = uint64_t{128} << 10;

void PutLittle(uint64_t value, size_t width, std::byte* out) {
  for (size_t i = 0; i < width; ++i) out[i] = static_cast<std::byte>(value >> (8 * i));
}
void PutBig(uint64_t value, size_t width, std::byte* out) {
  for (size_t i = 0; i < width; ++i) {
    out[i] = static_cast<std::byte>(value >> (8 * (width - 1 - i)));
  }
}

// Copies to `out` what of [begin, begin + part.size()) is from `offset` on. Returns how many
// bytes; 0 if `offset` is not inside.
size_t CopyPart(ConstByteSpan part, uint64_t begin, uint64_t offset, ByteSpan out) {
  if (offset < begin || offset - begin >= part.size()) return 0;
  const size_t count = std::min<uint64_t>(out.size(), part.size() - (offset - begin));
  std::memcpy(out.data(), part.data() + (offset - begin), count);
  return count;
}

std::string IdOf(const Json& codec) {
  const auto id = codec.is_object() ? codec.find("id") : codec.end();
  return id != codec.end() && id->is_string() ? id->get<std::string>() : "";
}

}  // namespace

std::optional<PlainFrame::Form> PlainFrame::FormOf(const Json& codec) {
  const std::string id = IdOf(codec);
  if (id == "zlib") return Form::kZlib;
  if (id == "gzip") return Form::kGzip;
  if (id == "zstd") return Form::kZstd;
  if (id == "blosc") return Form::kBlosc;
  return std::nullopt;
}

PlainFrame::Shape PlainFrame::ShapeOf(Form form, uint64_t bytes) {
  switch (form) {
    case Form::kZlib:
      return {2, kDeflateBlock, 5, 4};
    case Form::kGzip:
      return {10, kDeflateBlock, 5, 8};
    case Form::kZstd:
      return {13, kZstdBlock, 3, 0};
    case Form::kBlosc:
      return {16, bytes, 0, 0};
    default:
      return {0, bytes, 0, 0};
  }
}

std::optional<PlainFrame> PlainFrame::Make(const Json& codecs, const Datatype& stored,
                                           uint64_t count) {
  PlainFrame frame;
  Datatype item = stored;
  while (item.kind() == Datatype::Kind::kArray) item = Datatype(item.base());
  frame.count_ = count;
  frame.element_ = stored.size();
  frame.number_ = item.is_complex() ? item.size() / 2 : item.size();
  frame.is_swapped_ = item.uniform_order() == model::ByteOrder::kBig;
  const auto bytes = CheckedMultiply(count, frame.element_);
  if (!bytes || *bytes == 0 || *bytes > kMaxViewSize / 2) return std::nullopt;
  frame.bytes_ = *bytes;
  size_t next = 0;
  if (next < codecs.size() && IdOf(codecs[next]) == "shuffle") {
    const auto size = codecs[next].find("elementsize");
    const bool is_of_elements = size != codecs[next].end() && *size == frame.element_;
    if (!is_of_elements) return std::nullopt;
    frame.is_shuffled_ = frame.element_ > 1;
    ++next;
  }
  if (next < codecs.size()) {
    const auto form = FormOf(codecs[next++]);
    if (!form) return std::nullopt;
    frame.form_ = *form;
  }
  const bool is_too_large =
      frame.form_ == Form::kBlosc && frame.bytes_ > std::numeric_limits<int32_t>::max() - 16;
  if (next != codecs.size() || is_too_large) return std::nullopt;
  frame.shape_ = ShapeOf(frame.form_, frame.bytes_);
  return frame;
}

uint64_t PlainFrame::blocks() const { return (bytes_ - 1) / shape_.block + 1; }

uint64_t PlainFrame::size() const {
  return shape_.header + blocks() * shape_.block_header + bytes_ + shape_.trailer;
}

void PlainFrame::Header(std::byte* out) const {
  switch (form_) {
    case Form::kZlib:
      return PutBig(0x7801, 2, out);
    case Form::kGzip:
      std::fill_n(out, shape_.header, std::byte{0});
      PutBig(0x1f8b08, 3, out);
      return PutLittle(0xff, 1, out + 9);  // no system is named
    case Form::kZstd:
      PutLittle(0xfd2fb528, 4, out);
      PutLittle(0xe0, 1, out + 4);  // one segment, whose size has 8 bytes
      return PutLittle(bytes_, 8, out + 5);
    case Form::kBlosc:
      PutLittle(2, 1, out);      // the version of the form
      PutLittle(1, 1, out + 1);  // and that of its blocks
      PutLittle(2, 1, out + 2);  // the bytes were copied
      PutLittle(std::min<uint64_t>(element_, 255), 1, out + 3);
      PutLittle(bytes_, 4, out + 4);
      PutLittle(bytes_, 4, out + 8);
      return PutLittle(bytes_ + shape_.header, 4, out + 12);
    default:
      return;
  }
}

void PlainFrame::BlockHeader(uint64_t number, std::byte* out) const {
  const bool is_last = number + 1 == blocks();
  const uint64_t size = is_last ? bytes_ - number * shape_.block : shape_.block;
  if (form_ == Form::kZstd) return PutLittle(size << 3 | (is_last ? 1 : 0), 3, out);
  PutLittle(is_last ? 1 : 0, 1, out);
  PutLittle(size, 2, out + 1);
  PutLittle(~size, 2, out + 3);
}

void PlainFrame::Trailer(ConstByteSpan decoded, std::byte* out) const {
  std::array<std::byte, 16384> part;
  uint32_t adler = 1;
  uint32_t crc = 0;
  for (uint64_t at = 0; at < bytes_; at += part.size()) {
    const auto bytes = std::span(part).first(std::min<uint64_t>(part.size(), bytes_ - at));
    Payload(decoded, at, bytes);
    if (form_ == Form::kZlib) adler = libdeflate_adler32(adler, bytes.data(), bytes.size());
    if (form_ == Form::kGzip) crc = libdeflate_crc32(crc, bytes.data(), bytes.size());
  }
  if (form_ == Form::kZlib) return PutBig(adler, 4, out);
  PutLittle(crc, 4, out);
  PutLittle(bytes_ & 0xffffffff, 4, out + 4);
}

// Byte b of all elements, for each b: runs of `count_`.
void PlainFrame::Shuffled(ConstByteSpan decoded, uint64_t offset, ByteSpan out) const {
  const bool is_one = decoded.size() == element_ && count_ > 1;
  for (size_t done = 0; done < out.size();) {
    const uint64_t byte = (offset + done) / count_;
    const uint64_t first = (offset + done) % count_;
    const size_t run = std::min<uint64_t>(out.size() - done, count_ - first);
    const uint64_t in_number = byte % number_;
    const uint64_t from = is_swapped_ ? byte - in_number + (number_ - 1 - in_number) : byte;
    const std::byte* next = decoded.data() + from + (is_one ? 0 : first * element_);
    const uint64_t step = is_one ? 0 : element_;
    for (size_t i = 0; i < run; ++i, next += step) out[done + i] = *next;
    done += run;
  }
}

void PlainFrame::Payload(ConstByteSpan decoded, uint64_t offset, ByteSpan out) const {
  if (is_shuffled_) return Shuffled(decoded, offset, out);
  const bool is_whole = decoded.size() == bytes_;
  if (is_whole && !is_swapped_) {
    std::memcpy(out.data(), decoded.data() + offset, out.size());
    return;
  }
  for (size_t i = 0; i < out.size(); ++i) {
    const uint64_t at = is_whole ? offset + i : (offset + i) % decoded.size();
    const uint64_t in_number = at % number_;
    out[i] = decoded[is_swapped_ ? at - in_number + (number_ - 1 - in_number) : at];
  }
}

void PlainFrame::Read(ConstByteSpan decoded, uint64_t offset, ByteSpan out) const {
  std::array<std::byte, 16> own;
  const uint64_t end = size() - shape_.trailer;
  const uint64_t stride = shape_.block_header + shape_.block;
  while (!out.empty()) {
    size_t count = 0;
    if (offset < shape_.header) {
      Header(own.data());
      count = CopyPart(std::span(own).first(shape_.header), 0, offset, out);
    } else if (offset >= end) {
      Trailer(decoded, own.data());
      count = CopyPart(std::span(own).first(shape_.trailer), end, offset, out);
    } else {
      const uint64_t number = (offset - shape_.header) / stride;
      const uint64_t begin = shape_.header + number * stride;
      BlockHeader(number, own.data());
      count = CopyPart(std::span(own).first(shape_.block_header), begin, offset, out);
      if (count == 0) {
        const uint64_t in_block = offset - begin - shape_.block_header;
        const uint64_t from = number * shape_.block + in_block;
        count = std::min({uint64_t{out.size()}, shape_.block - in_block, bytes_ - from});
        Payload(decoded, from, out.first(count));
      }
    }
    offset += count;
    out = out.subspan(count);
  }
}

}  // namespace ndlfs::backends
