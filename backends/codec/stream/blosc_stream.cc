// SPDX-License-Identifier: MIT
#include "backends/codec/stream/blosc_stream.h"

#include <blosc.h>
#include <libdeflate.h>
#include <lz4.h>

#include <climits>
#include <cstring>

#include "backends/codec/little_endian.h"
#include "backends/codec/stream/deflate.h"
#include "backends/codec/stream/zstd_context.h"

namespace ndlfs::backends {
namespace {

bool DecodeLz4Stream(ConstByteSpan encoded, ByteSpan stream) {
  if (encoded.size() > INT_MAX || stream.size() > INT_MAX) return false;
  const int size = LZ4_decompress_safe(
      reinterpret_cast<const char*>(encoded.data()), reinterpret_cast<char*>(stream.data()),
      static_cast<int>(encoded.size()), static_cast<int>(stream.size()));
  return size >= 0 && static_cast<size_t>(size) == stream.size();
}

bool DecodeZlibStream(ConstByteSpan encoded, ByteSpan stream) {
  libdeflate_decompressor* context = DeflateContext();
  return context &&
         libdeflate_zlib_decompress(context, encoded.data(), encoded.size(), stream.data(),
                                    stream.size(), nullptr) == LIBDEFLATE_SUCCESS;
}

// c-blosc has no function for a stream of its own compressor. So this makes a container of
// Blosc 1 with one block of one stream.
bool DecodeBloscLzStream(ConstByteSpan encoded, ByteSpan stream) {
  constexpr size_t kBefore = BLOSC_MIN_HEADER_LENGTH + 2 * sizeof(uint32_t);
  constexpr uint8_t kOneStream = 0x10;
  if (encoded.size() > BLOSC_MAX_BUFFERSIZE - kBefore || stream.size() > BLOSC_MAX_BUFFERSIZE) {
    return false;
  }
  Bytes container(kBefore + encoded.size());
  std::byte* const at = container.data();
  const uint8_t head[] = {BLOSC_VERSION_FORMAT, BLOSC_BLOSCLZ_VERSION_FORMAT, kOneStream, 1};
  std::memcpy(at, head, sizeof(head));
  StoreLittle(static_cast<uint32_t>(stream.size()), at + 4);
  StoreLittle(static_cast<uint32_t>(stream.size()), at + 8);  // of a block
  StoreLittle(static_cast<uint32_t>(container.size()), at + 12);
  StoreLittle(static_cast<uint32_t>(BLOSC_MIN_HEADER_LENGTH + sizeof(uint32_t)), at + 16);
  StoreLittle(static_cast<uint32_t>(encoded.size()), at + 20);
  std::memcpy(at + kBefore, encoded.data(), encoded.size());
  const int size = blosc_decompress_ctx(at, stream.data(), stream.size(), 1);
  return size >= 0 && static_cast<size_t>(size) == stream.size();
}

}  // namespace

bool DecodeBloscStream(BloscCompressor compressor, ConstByteSpan encoded, ByteSpan stream) {
  switch (compressor) {
    case BloscCompressor::kBloscLz:
      return DecodeBloscLzStream(encoded, stream);
    case BloscCompressor::kLz4:
      return DecodeLz4Stream(encoded, stream);
    case BloscCompressor::kZlib:
      return DecodeZlibStream(encoded, stream);
    case BloscCompressor::kZstd: {
      const auto size = DecodeZstd(encoded, stream);
      return size && *size == stream.size();
    }
  }
  return false;
}

}  // namespace ndlfs::backends
