// SPDX-License-Identifier: MIT
//
// numcodecs "astype" and "quantize": numbers stored as another type. Decoding
// cannot restore what quantizing lost, so that it only converts.
#include "backends/codec/number_filter.h"

namespace ndlfs::backends {
namespace {

class ConversionFilter final : public NumberFilter {
 public:
  ConversionFilter(std::string_view name, model::Datatype encoded, model::Datatype decoded)
      : NumberFilter(std::move(encoded), std::move(decoded)), name_(name) {}
  std::string_view name() const override { return name_; }
  void Decode(const std::byte* from, std::byte* to, size_t count) const override {
    ConvertNumbers(encoded_type(), from, decoded_type(), to, count);
  }

 private:
  const std::string_view name_;
};

model::Result<NumberDtypes> ParseAsType(const CodecConfig& config) {
  NDLFS_TRY(const Json* json, RequireMember(*config.configuration, "encode_dtype"));
  NDLFS_TRY(model::Datatype encoded, ParseNumberDtype(*json), "encode_dtype");
  if (!FindMember(config, "decode_dtype") && !NumberTypeOf(config.form->dtype)) {
    return model::BadInput("does not apply to elements of {}", config.form->dtype.keyword());
  }
  NDLFS_TRY(model::Datatype decoded,
            NumberDtypeMember(config, "decode_dtype", config.form->dtype));
  return NumberDtypes{std::move(encoded), std::move(decoded)};
}

}  // namespace

static CodecResult MakeAsType(const CodecConfig& config) {
  NDLFS_TRY(NumberDtypes dtypes, ParseAsType(config), "astype");
  return MakeNumberCodec(
      config, std::make_shared<const ConversionFilter>("astype", std::move(dtypes.encoded),
                                                       std::move(dtypes.decoded)));
}

static CodecResult MakeQuantize(const CodecConfig& config) {
  NDLFS_TRY(NumberDtypes dtypes, ParseNumberDtypes(config), "quantize");
  if (!NumberTypeOf(dtypes.encoded)->is_float() || !NumberTypeOf(dtypes.decoded)->is_float()) {
    return model::BadInput("quantize: only floats can be quantized");
  }
  return MakeNumberCodec(
      config, std::make_shared<const ConversionFilter>("quantize", std::move(dtypes.encoded),
                                                       std::move(dtypes.decoded)));
}

const CodecEntry kAsTypeEntry = {"", "astype", "", MakeAsType};
const CodecEntry kQuantizeEntry = {"", "quantize", "", MakeQuantize};

}  // namespace ndlfs::backends
