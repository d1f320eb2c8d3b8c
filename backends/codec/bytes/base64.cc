// SPDX-License-Identifier: MIT
//
// numcodecs "base64": RFC 4648, section 4, with padding.

#include "model/base64.h"

#include <algorithm>

#include "backends/codec/factories.h"

namespace ndlfs::backends {
namespace {

class Base64Codec final : public BytesToBytesCodec {
 public:
  std::string_view name() const override { return "base64"; }
  SizeBound EncodedSize(uint64_t decoded_size) const override {
    return {decoded_size / 3 * 4 + (decoded_size % 3 ? 4 : 0), true};
  }
  model::Result<size_t> Decode(ConstByteSpan encoded, ByteSpan decoded) const override {
    if (encoded.size() % 4 != 0) return model::Corrupt("{} characters", encoded.size());
    const auto bytes = model::DecodeBase64(AsText(encoded));
    if (!bytes) return model::Corrupt("invalid characters");
    if (bytes->size() > decoded.size()) return model::Corrupt("decodes to more than expected");
    std::copy(bytes->begin(), bytes->end(), decoded.begin());
    return bytes->size();
  }
};

}  // namespace

static CodecResult MakeBase64(const CodecConfig&) { return NewCodec<Base64Codec>(); }

const CodecEntry kBase64Entry = {"", "base64", "", MakeBase64};

}  // namespace ndlfs::backends
