// SPDX-License-Identifier: MIT
#include "backends/format/icechunk/metadata_file.h"

#include <zstd.h>

#include <algorithm>
#include <array>

#include "backends/codec/stream/zstd_context.h"

namespace ndlfs::backends::icechunk {
namespace {

constexpr std::array<uint8_t, 12> kMagic = {0x49, 0x43, 0x45, 0xF0, 0x9F, 0xA7,
                                            0x8A, 0x43, 0x48, 0x55, 0x4E, 0x4B};
constexpr size_t kVersionAt = 36;
constexpr size_t kKindAt = 37;
constexpr size_t kCompressionAt = 38;

constexpr uint64_t kFirstGuess = uint64_t{64} << 10;

std::string_view NameOf(FileKind kind) {
  switch (kind) {
    case FileKind::kSnapshot:
      return "snapshot";
    case FileKind::kManifest:
      return "manifest";
    case FileKind::kRepo:
      return "repo file";
  }
  return "file";
}

model::Failure PayloadTooLarge(uint64_t limit) {
  return model::Limit("decompressed, it has more than {} bytes", limit);
}

// A frame that does not tell its size. The memory doubles until it is enough.
model::Result<Bytes> DecompressStream(ConstByteSpan frame, uint64_t limit) {
  ZSTD_DCtx* const context = ZstdContext();
  if (context == nullptr) return model::Limit("not enough memory for a decompressor");
  ZSTD_DCtx_reset(context, ZSTD_reset_session_only);
  Bytes bytes(std::min(kFirstGuess, limit));
  ZSTD_inBuffer in = {frame.data(), frame.size(), 0};
  size_t done = 0;
  for (;;) {
    ZSTD_outBuffer out = {bytes.data(), bytes.size(), done};
    const size_t left = ZSTD_decompressStream(context, &out, &in);
    if (ZSTD_isError(left)) return model::Corrupt("zstd: {}", ZSTD_getErrorName(left));
    done = out.pos;
    if (left == 0) break;
    if (done < bytes.size()) return model::Corrupt("zstd: the data end early");
    if (bytes.size() >= limit) return PayloadTooLarge(limit);
    Bytes larger(std::min<uint64_t>(2 * bytes.size(), limit));
    std::copy_n(bytes.data(), done, larger.data());
    bytes = std::move(larger);
  }
  bytes.Shrink(done);
  return bytes;
}

model::Result<Bytes> Decompress(ConstByteSpan frame, uint64_t limit) {
  const unsigned long long size = ZSTD_getFrameContentSize(frame.data(), frame.size());
  if (size == ZSTD_CONTENTSIZE_ERROR) return model::Corrupt("it is no zstd frame");
  if (size == ZSTD_CONTENTSIZE_UNKNOWN) return DecompressStream(frame, limit);
  if (size > limit) return PayloadTooLarge(limit);
  // No more than the frame can hold: a run-length block of a few bytes makes 128 KiB.
  constexpr uint64_t kMostGrowth = uint64_t{128} << 10;
  if (size / kMostGrowth > frame.size()) return model::Corrupt("zstd: the data end early");
  Bytes bytes(size);
  NDLFS_TRY(const size_t done, DecodeZstd(frame, bytes.span()), "zstd");
  if (done != size) return model::Corrupt("zstd: the data end early");
  return bytes;
}

}  // namespace

bool HasMagic(ConstByteSpan head) {
  return head.size() >= kMagic.size() &&
         std::equal(kMagic.begin(), kMagic.end(), head.begin(),
                    [](uint8_t a, std::byte b) { return std::byte{a} == b; });
}

model::Result<Bytes> ReadPayload(ConstByteSpan file, FileKind kind, uint64_t limit) {
  if (!HasMagic(file)) return model::BadInput("it is no file of Icechunk");
  if (file.size() < kHeaderSize) return model::Corrupt("it was cut short");
  const auto field = [&](size_t at) { return std::to_integer<unsigned>(file[at]); };
  if (const unsigned version = field(kVersionAt); version != 1 && version != 2) {
    return model::Unsupported("version {} of Icechunk", version);
  }
  if (field(kKindAt) != static_cast<unsigned>(kind)) {
    return model::BadInput("it is no {}, but a file of kind {}", NameOf(kind), field(kKindAt));
  }
  const ConstByteSpan payload = file.subspan(kHeaderSize);
  const uint64_t most = std::min(limit, kMaxPayload);
  switch (field(kCompressionAt)) {
    case 0:
      if (payload.size() > most) return PayloadTooLarge(most);
      return Bytes::Copy(payload);
    case 1:
      return Decompress(payload, most);
    default:
      return model::Unsupported("the compression {}", field(kCompressionAt));
  }
}

}  // namespace ndlfs::backends::icechunk
