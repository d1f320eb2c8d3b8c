// SPDX-License-Identifier: MIT
#include "backends/codec/number_filter.h"

#include <utility>

namespace ndlfs::backends {
namespace {

class NumberFilterOfBytes final : public BytesToBytesCodec {
 public:
  explicit NumberFilterOfBytes(std::shared_ptr<const NumberFilter> filter)
      : filter_(std::move(filter)) {}

  std::string_view name() const override { return filter_->name(); }
  SizeBound EncodedSize(uint64_t decoded_size) const override {
    return {decoded_size / filter_->decoded_type().size * filter_->encoded_type().size, true};
  }
  model::Result<size_t> Decode(ConstByteSpan encoded, ByteSpan decoded) const override {
    const size_t count = encoded.size() / filter_->encoded_type().size;
    if (encoded.size() % filter_->encoded_type().size != 0) {
      return model::Corrupt("{} bytes are not a whole number of {}", encoded.size(),
                            filter_->encoded_dtype().keyword());
    }
    if (count > decoded.size() / filter_->decoded_type().size) {
      return model::Corrupt("decodes to more than expected");
    }
    filter_->Decode(encoded.data(), decoded.data(), count);
    return count * filter_->decoded_type().size;
  }

 private:
  const std::shared_ptr<const NumberFilter> filter_;
};

class NumberFilterOfArrays final : public ArrayToArrayCodec {
 public:
  explicit NumberFilterOfArrays(std::shared_ptr<const NumberFilter> filter)
      : filter_(std::move(filter)) {}

  std::string_view name() const override { return filter_->name(); }
  model::Result<ChunkForm> EncodedForm(const ChunkForm& decoded) const override {
    if (!decoded.dtype.SameLayout(filter_->decoded_dtype())) {
      return model::BadInput("made for elements of {}, not {}",
                             filter_->decoded_dtype().keyword(), decoded.dtype.keyword());
    }
    ChunkForm encoded{filter_->encoded_dtype(), decoded.shape};
    if (!decoded.fill.empty()) {
      encoded.fill.resize(filter_->encoded_type().size);
      filter_->EncodeFill(decoded.fill.data(), encoded.fill.data());
    }
    return encoded;
  }
  model::Result<void> Decode(ConstByteSpan encoded, const ChunkForm&,
                             ByteSpan decoded) const override {
    filter_->Decode(encoded.data(), decoded.data(),
                    encoded.size() / filter_->encoded_type().size);
    return {};
  }

 private:
  const std::shared_ptr<const NumberFilter> filter_;
};

}  // namespace

CodecResult MakeNumberCodec(const CodecConfig& config,
                            std::shared_ptr<const NumberFilter> filter) {
  if (config.dialect == CodecDialect::kNumcodecs) {
    return NewCodec<NumberFilterOfBytes>(std::move(filter));
  }
  if (filter->encoded_type().swapped || filter->decoded_type().swapped) {
    return model::Unsupported(
        "{}: a big-endian dtype, although the bytes codec determines the byte order",
        filter->name());
  }
  return NewCodec<NumberFilterOfArrays>(std::move(filter));
}

model::Result<model::Datatype> NumberDtypeMember(const CodecConfig& config, const char* key,
                                                 const model::Datatype& otherwise) {
  const Json* member = FindMember(config, key);
  if (!member) return otherwise;
  NDLFS_TRY(model::Datatype dtype, ParseNumberDtype(*member), key);
  return dtype;
}

model::Result<NumberDtypes> ParseNumberDtypes(const CodecConfig& config) {
  if (!FindMember(config, "dtype")) {
    if (config.dialect == CodecDialect::kNumcodecs) {
      return model::BadInput("\"dtype\" is missing");
    }
    if (!NumberTypeOf(config.form->dtype)) {
      return model::BadInput("does not apply to elements of {}", config.form->dtype.keyword());
    }
  }
  NDLFS_TRY(model::Datatype decoded, NumberDtypeMember(config, "dtype", config.form->dtype));
  NDLFS_TRY(model::Datatype encoded, NumberDtypeMember(config, "astype", decoded));
  return NumberDtypes{std::move(encoded), std::move(decoded)};
}

}  // namespace ndlfs::backends
