// SPDX-License-Identifier: MIT
//
// Apple's PackBits, the run lengths of TIFF (TIFF 6.0, section 9): "imagecodecs_packbits".
#include <algorithm>
#include <cstring>

#include "backends/codec/factories.h"

namespace ndlfs::backends {
namespace {

class ByteRunsCodec final : public BytesToBytesCodec {
 public:
  std::string_view name() const override { return "imagecodecs_packbits"; }

  // An encoder may spend two bytes on each.
  SizeBound EncodedSize(uint64_t decoded_size) const override {
    return {CheckedAdd(CheckedMultiply(decoded_size, 2).value_or(kMaxViewSize), 65536)
                .value_or(kMaxViewSize),
            false};
  }

  model::Result<size_t> Decode(ConstByteSpan encoded, ByteSpan decoded) const override {
    bool is_cut = false;
    NDLFS_TRY(const size_t size, DecodeByteRuns(encoded, decoded, is_cut));
    if (is_cut) return model::Corrupt("decodes to more than expected");
    return size;
  }
};

}  // namespace

model::Result<size_t> DecodeByteRuns(ConstByteSpan encoded, ByteSpan decoded, bool& is_cut) {
  constexpr int8_t kNothing = -128;
  size_t out = 0;
  for (size_t in = 0; in < encoded.size();) {
    const auto head = static_cast<int8_t>(encoded[in++]);
    if (head == kNothing) continue;
    const bool is_run = head < 0;
    size_t count = static_cast<size_t>(is_run ? 1 - int{head} : int{head} + 1);
    const size_t stored = is_run ? 1 : count;
    // Encoders may append a byte to make the length even.
    if (in == encoded.size() && out == decoded.size()) break;
    if (stored > encoded.size() - in) return model::Corrupt("a run without its bytes");
    is_cut = count > decoded.size() - out;
    count = std::min(count, decoded.size() - out);
    if (is_run) {
      std::memset(decoded.data() + out, std::to_integer<int>(encoded[in]), count);
    } else {
      std::memcpy(decoded.data() + out, encoded.data() + in, count);
    }
    if (is_cut) return decoded.size();
    in += stored;
    out += count;
  }
  return out;
}

static CodecResult MakeByteRuns(const CodecConfig&) { return NewCodec<ByteRunsCodec>(); }

const CodecEntry kByteRunsEntry = {"imagecodecs_packbits", "imagecodecs_packbits", "",
                                   MakeByteRuns};

}  // namespace ndlfs::backends
