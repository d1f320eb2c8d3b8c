// SPDX-License-Identifier: MIT
//
// Zarr v3 "conditional" of the extension registry: a chunk begins with a field of bits, which
// say which of the configured codecs were applied to it. Bit 0 of the first byte is the first
// codec.
#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "backends/codec/factories.h"

namespace ndlfs::backends {
namespace {

using InnerCodec = std::shared_ptr<const BytesToBytesCodec>;

constexpr size_t kMaxInnerCodecs = 32;
constexpr uint64_t kMaxHeaderBits = 1024;

class ConditionalCodec final : public BytesToBytesCodec {
 public:
  ConditionalCodec(std::vector<InnerCodec> codecs, size_t header_bytes)
      : codecs_(std::move(codecs)), header_bytes_(header_bytes) {}

  std::string_view name() const override { return "conditional"; }

  SizeBound EncodedSize(uint64_t decoded_size) const override {
    uint64_t size = decoded_size;
    for (const auto& codec : codecs_) size = std::max(size, Larger(*codec, size));
    return {size + header_bytes_, false};
  }

  model::Result<size_t> Decode(ConstByteSpan encoded, ByteSpan decoded) const override {
    NDLFS_TRY(const auto applied, ReadHeader(encoded));
    encoded = encoded.subspan(header_bytes_);
    if (applied.empty()) {
      if (encoded.size() > decoded.size()) {
        return model::Corrupt("{} bytes, expected at most {}", encoded.size(), decoded.size());
      }
      if (!encoded.empty()) std::memcpy(decoded.data(), encoded.data(), encoded.size());
      return encoded.size();
    }
    // sizes[i] is the most that codec i decodes to.
    std::vector<uint64_t> sizes = {decoded.size()};
    for (const auto* codec : applied) sizes.push_back(Larger(*codec, sizes.back()));
    if (encoded.size() > sizes.back()) {
      return model::Corrupt("{} bytes, expected at most {}", encoded.size(), sizes.back());
    }
    Bytes memory;  // the bytes that `encoded` refers to
    for (size_t i = applied.size(); i-- > 0;) {
      Bytes next(i == 0 ? 0 : sizes[i]);
      const ByteSpan out = i == 0 ? decoded : next.span();
      NDLFS_TRY(const size_t size, applied[i]->Decode(encoded, out), applied[i]->name());
      if (i == 0) return size;
      memory = std::move(next);
      encoded = std::as_const(memory).span().first(size);
    }
    return model::Internal("no codec");
  }

 private:
  static uint64_t Larger(const BytesToBytesCodec& codec, uint64_t size) {
    return std::min(codec.EncodedSize(size).size, kMaxViewSize);
  }

  // The codecs that the chunk went through, in the order of encoding.
  model::Result<std::vector<const BytesToBytesCodec*>> ReadHeader(ConstByteSpan encoded) const {
    if (encoded.size() < header_bytes_) {
      return model::Corrupt("{} bytes, a header has {}", encoded.size(), header_bytes_);
    }
    std::vector<const BytesToBytesCodec*> applied;
    for (size_t bit = 0; bit < 8 * header_bytes_; ++bit) {
      if ((std::to_integer<unsigned>(encoded[bit / 8]) >> (bit % 8) & 1) == 0) continue;
      if (bit >= codecs_.size()) {
        return model::Corrupt("codec {} of {} was applied", bit, codecs_.size());
      }
      applied.push_back(codecs_[bit].get());
    }
    return applied;
  }

  const std::vector<InnerCodec> codecs_;
  const size_t header_bytes_;
};

model::Result<std::vector<InnerCodec>> MakeInnerCodecs(const CodecConfig& config) {
  const Json* list = FindMember(config, "codecs");
  if (!list || !list->is_array()) {
    return model::BadInput("codecs: expected a list, found {}",
                           list ? DescribeJson(*list) : "none");
  }
  if (list->size() > kMaxInnerCodecs) {
    return model::Limit("{} codecs, more than {}", list->size(), kMaxInnerCodecs);
  }
  std::vector<InnerCodec> codecs;
  for (size_t i = 0; i < list->size(); ++i) {
    const auto place = fmt::format("codecs[{}]", i);
    NDLFS_TRY(const AnyCodec codec, MakeZarr3Codec((*list)[i], *config.form, config.bits),
              place);
    const auto* bytes = std::get_if<InnerCodec>(&codec);
    if (!bytes) return model::BadInput("{}: not a bytes to bytes codec", place);
    if ((*bytes)->name() == "conditional") {
      return model::Unsupported("{}: conditional within conditional", place);
    }
    codecs.push_back(*bytes);
  }
  return codecs;
}

CodecResult ParseConditional(const CodecConfig& config) {
  NDLFS_RETURN_IF_ERROR(RefuseOtherMembers(config, {"codecs", "header_bits"}));
  NDLFS_TRY(auto codecs, MakeInnerCodecs(config));
  NDLFS_TRY(const auto given, SizeMember(config, "header_bits"));
  const uint64_t bits = given.value_or((codecs.size() + 7) / 8 * 8);
  if (bits % 8 != 0 || bits < codecs.size() || bits > kMaxHeaderBits) {
    return model::BadInput("header_bits: {} for {} codecs", bits, codecs.size());
  }
  return NewCodec<ConditionalCodec>(std::move(codecs), static_cast<size_t>(bits / 8));
}

}  // namespace

static CodecResult MakeConditional(const CodecConfig& config) {
  auto codec = ParseConditional(config);
  if (!codec) return model::Propagate(std::move(codec).error(), "conditional");
  return codec;
}

const CodecEntry kConditionalEntry = {"conditional", "", "", MakeConditional};

}  // namespace ndlfs::backends
