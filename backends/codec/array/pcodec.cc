// SPDX-License-Identifier: MIT
//
// pcodec, which compresses sequences of numbers without loss: numcodecs "pcodec" (Zarr v2), and
// as "numcodecs.pcodec" in Zarr v3. Each chunk is a file of pcodec; the configuration is for
// those who write.
#include <optional>
#include <string_view>

#include "backends/codec/factories.h"
#include "backends/codec/number_type.h"
#include "backends/codec/stream/pco_stream.h"

namespace ndlfs::backends {
namespace {

// Pages of few numbers, each with bins of its own, may take more than the numbers do.
uint64_t MaxPcoSize(uint64_t decoded_size) {
  return decoded_size > kMaxViewSize / 8 ? kMaxViewSize
                                         : 2 * decoded_size + (uint64_t{1} << 20);
}

class PcodecBytesCodec final : public BytesToBytesCodec {
 public:
  std::string_view name() const override { return "pcodec"; }
  SizeBound EncodedSize(uint64_t decoded_size) const override {
    return {MaxPcoSize(decoded_size), false};
  }
  // Filters before it may have made numbers of another type than the array has.
  model::Result<size_t> Decode(ConstByteSpan encoded, ByteSpan decoded) const override {
    return DecodePco(encoded, std::nullopt, decoded);
  }
};

class PcodecCodec final : public ArrayToBytesCodec {
 public:
  explicit PcodecCodec(const PcoType& type) : type_(type) {}

  std::string_view name() const override { return "pcodec"; }
  std::optional<uint64_t> EncodedSize(const ChunkForm&) const override { return std::nullopt; }
  uint64_t MaxEncodedSize(const ChunkForm& form) const override {
    return MaxPcoSize(form.byte_size().value_or(kMaxViewSize));
  }
  model::Result<void> Decode(ConstByteSpan encoded, const ChunkForm&,
                             ByteSpan decoded) const override {
    NDLFS_TRY(const size_t size, DecodePco(encoded, type_, decoded));
    if (size == decoded.size()) return {};
    return model::Corrupt("{} bytes, expected {}", size, decoded.size());
  }

 private:
  const PcoType type_;
};

// The type that the elements are stored as; nullopt for those that pcodec does not have.
std::optional<PcoType> PcoTypeOf(const model::Datatype& dtype) {
  const auto number = NumberTypeOf(dtype);
  if (!number) return std::nullopt;
  PcoType type{PcoType::Kind::kUnsigned, static_cast<uint8_t>(number->size)};
  if (number->kind == NumberType::Kind::kSigned) type.kind = PcoType::Kind::kSigned;
  if (number->kind == NumberType::Kind::kFloat) type.kind = PcoType::Kind::kFloat;
  const bool is_other = number->kind == NumberType::Kind::kBool ||
                        (number->format && number->format->keyword != "float16");
  return is_other || !IsPcoType(type) ? std::nullopt : std::optional(type);
}

}  // namespace

static CodecResult MakePcodec(const CodecConfig& config) {
  if (config.dialect == CodecDialect::kNumcodecs) return NewCodec<PcodecBytesCodec>();
  const auto type = PcoTypeOf(config.form->dtype);
  if (!type) return model::Unsupported("pcodec: elements of {}", config.form->dtype.keyword());
  return NewCodec<PcodecCodec>(*type);
}

const CodecEntry kPcodecEntry = {"", "pcodec", "", MakePcodec};

}  // namespace ndlfs::backends
