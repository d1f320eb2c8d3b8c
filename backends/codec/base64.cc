// SPDX-License-Identifier: MIT
//
// numcodecs "base64": RFC 4648, section 4, with padding.
#include <array>

#include "backends/codec/factories.h"

namespace ndlfs::backends {
namespace {

constexpr std::string_view kAlphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr uint8_t kInvalid = 64;

constexpr std::array<uint8_t, 256> MakeValues() {
  std::array<uint8_t, 256> values{};
  values.fill(kInvalid);
  for (size_t i = 0; i < kAlphabet.size(); ++i) {
    values[static_cast<unsigned char>(kAlphabet[i])] = static_cast<uint8_t>(i);
  }
  return values;
}
constexpr auto kValues = MakeValues();

class Base64Codec final : public BytesToBytesCodec {
 public:
  std::string_view name() const override { return "base64"; }
  SizeBound EncodedSize(uint64_t decoded_size) const override {
    return {decoded_size / 3 * 4 + (decoded_size % 3 ? 4 : 0), true};
  }

  model::Result<size_t> Decode(ConstByteSpan encoded, ByteSpan decoded) const override {
    const std::string_view text = AsText(encoded);
    if (text.size() % 4 != 0) return model::Corrupt("{} characters", text.size());
    const size_t padding = text.ends_with("==") ? 2 : text.ends_with("=") ? 1 : 0;
    const size_t size = text.size() / 4 * 3 - padding;
    if (size > decoded.size()) return model::Corrupt("decodes to more than expected");
    for (size_t group = 0; group < text.size() / 4; ++group) {
      const bool is_last = (group + 1) * 4 == text.size();
      const size_t bytes = is_last ? 3 - padding : 3;
      NDLFS_TRY(const uint32_t bits, DecodeGroup(text.substr(group * 4, bytes + 1)));
      for (size_t i = 0; i < bytes; ++i) {
        decoded[group * 3 + i] = static_cast<std::byte>(bits >> (16 - 8 * i));
      }
    }
    return size;
  }

 private:
  // The characters, without padding, as the upper bits of 24.
  static model::Result<uint32_t> DecodeGroup(std::string_view characters) {
    uint32_t bits = 0;
    int shift = 18;
    for (const char character : characters) {
      const uint8_t value = kValues[static_cast<unsigned char>(character)];
      if (value == kInvalid) return model::Corrupt("invalid character");
      bits |= static_cast<uint32_t>(value) << shift;
      shift -= 6;
    }
    return bits;
  }
};

}  // namespace

CodecResult MakeBase64(const CodecConfig&) { return NewCodec<Base64Codec>(); }

}  // namespace ndlfs::backends
