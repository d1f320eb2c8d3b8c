// SPDX-License-Identifier: MIT
//
// zfp compresses numbers in blocks of 4 by 4 by ... Its parameters are in the configuration for
// Zarr v3 "zfp", in a header before each chunk for numcodecs "zfpy", and in a header in the
// client data for HDF5 filter 32013 (H5Z-ZFP).
#include "backends/codec/factories.h"

#if NDLFS_WITH_ZFP

#include <algorithm>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>

#include "backends/codec/byte_swap.h"
#include "backends/codec/hdf5_config.h"
#include "backends/codec/number_type.h"
#include "backends/codec/stream/zfp_stream.h"

namespace ndlfs::backends {
namespace {

// --- Bytes to bytes: numcodecs and HDF5 ---

// Decodes the elements that `header` describes into the beginning of `decoded`.
model::Result<size_t> DecodeField(const ZfpHeader& header, ConstByteSpan encoded,
                                  uint64_t first_bit, ByteSpan decoded) {
  const uint64_t size = ZfpFieldBytes(header.field);
  if (size > decoded.size()) {
    return model::Corrupt("decodes to {} bytes, expected at most {}", size, decoded.size());
  }
  NDLFS_RETURN_IF_ERROR(DecodeZfpBlocks(header.field, header.parameters, encoded, first_bit,
                                        decoded.first(size)));
  return size;
}

class ZfpyCodec final : public BytesToBytesCodec {
 public:
  explicit ZfpyCodec(const ChunkForm& form) : shape_(form.shape) {}

  std::string_view name() const override { return "zfpy"; }
  // Allows for filters before it that turn the chunk into a list, and its elements
  // into numbers of another size.
  SizeBound EncodedSize(uint64_t decoded_size) const override {
    zfp_stream parameters = DefaultZfpParameters();
    zfp_stream_set_reversible(&parameters);
    const zfp_field chunk = MakeZfpField(zfp_type_double, shape_);
    const zfp_field list = MakeZfpField(zfp_type_double, {{decoded_size / 4 + 1}});
    return {std::max(MaxZfpSize(chunk, parameters), MaxZfpSize(list, parameters)), false};
  }
  model::Result<size_t> Decode(ConstByteSpan encoded, ByteSpan decoded) const override {
    NDLFS_TRY(const ZfpHeader header, ReadZfpHeader(encoded));
    return DecodeField(header, encoded, header.bits, decoded);
  }

 private:
  const std::vector<uint64_t> shape_;
};

class Hdf5ZfpCodec final : public BytesToBytesCodec {
 public:
  // `swapped`: reverse the bytes of each decoded number.
  Hdf5ZfpCodec(const ZfpHeader& header, bool swapped) : header_(header), swapped_(swapped) {}

  std::string_view name() const override { return "zfp"; }
  SizeBound EncodedSize(uint64_t decoded_size) const override {
    if (ZfpFieldBytes(header_.field) > decoded_size) return CompressorBound(decoded_size);
    return {MaxZfpSize(header_.field, header_.parameters), false};
  }
  model::Result<size_t> Decode(ConstByteSpan encoded, ByteSpan decoded) const override {
    NDLFS_TRY(const size_t size, DecodeField(header_, encoded, 0, decoded));
    if (swapped_) {
      const size_t width = zfp_type_size(header_.field.type);
      SwapNumbers(width, decoded.first(size), decoded.first(size));
    }
    return size;
  }

 private:
  const ZfpHeader header_;
  const bool swapped_;
};

// Reads the client data: versions, then the words of a header. On a big-endian
// machine H5Z-ZFP writes these words and the numbers in big-endian order.
model::Result<AnyCodec> ParseHdf5(const CodecConfig& config) {
  NDLFS_TRY(auto words, ParseClientData(config, 2));
  words.erase(words.begin());
  if (const auto header = ReadZfpHeader(std::as_bytes(std::span(words)))) {
    return NewCodec<Hdf5ZfpCodec>(*header, false);
  }
  for (uint32_t& word : words) word = __builtin_bswap32(word);
  if (const auto header = ReadZfpHeader(std::as_bytes(std::span(words)))) {
    return NewCodec<Hdf5ZfpCodec>(*header, true);
  }
  return model::Unsupported("the parameters hold no zfp header of version {}", ZFP_CODEC);
}

// --- Array to bytes: Zarr v3 ---

// The type that zfp sees. Integers of less than 32 bits are scaled up to an int32;
// unsigned ones are shifted by half their range first. Floats of less than 32 bits
// become float32. Unsigned integers of 32 and 64 bits count as signed ones; numbers
// below 0, which lossy modes can decode to, become 0.
struct ZfpNumber {
  zfp_type type;
  NumberType number;
  unsigned bits;  // of an integer with less than 32, otherwise 0

  bool is_direct() const { return zfp_type_size(type) == number.size; }
};

model::Result<ZfpNumber> NumberOf(const CodecConfig& config) {
  const model::Datatype& dtype = config.form->dtype;
  const auto number = NumberTypeOf(dtype);
  if (!number || number->kind == NumberType::Kind::kBool || number->size > 8) {
    return model::Unsupported("elements of {}", dtype.keyword());
  }
  if (number->is_float()) {
    return ZfpNumber{number->size == 8 ? zfp_type_double : zfp_type_float, *number, 0};
  }
  if (number->size == 8) return ZfpNumber{zfp_type_int64, *number, 0};
  const auto width = static_cast<unsigned>(8 * number->size);
  const unsigned bits = config.bits != 0 ? config.bits : width;
  return ZfpNumber{zfp_type_int32, *number, bits < 32 ? bits : 0};
}

template <typename T>
void RaiseToZero(ByteSpan numbers) {
  for (size_t at = 0; at < numbers.size(); at += sizeof(T)) {
    T value;
    std::memcpy(&value, numbers.data() + at, sizeof(T));
    value = std::max<T>(value, 0);
    std::memcpy(numbers.data() + at, &value, sizeof(T));
  }
}

// zfp_demote_int32_to_int8() and its like, for any number of bits.
void Demote(ConstByteSpan wide, const ZfpNumber& to, ByteSpan decoded) {
  const bool is_signed = to.number.kind == NumberType::Kind::kSigned;
  const int32_t half = int32_t{1} << (to.bits - 1);
  const int32_t least = is_signed ? -half : 0;
  const int32_t most = is_signed ? half - 1 : 2 * half - 1;
  const size_t count = wide.size() / sizeof(int32_t);
  for (size_t i = 0; i < count; ++i) {
    int32_t value;
    std::memcpy(&value, wide.data() + i * sizeof(int32_t), sizeof(int32_t));
    value = (value >> (31 - to.bits)) + (is_signed ? 0 : half);
    value = std::clamp(value, least, most);
    std::memcpy(decoded.data() + i * to.number.size, &value, to.number.size);
  }
}

class ZfpCodec final : public ArrayToBytesCodec {
 public:
  // Without `parameters` each chunk begins with a header.
  ZfpCodec(std::string_view name, const ZfpNumber& number, std::optional<zfp_stream> parameters)
      : name_(name), number_(number), parameters_(parameters) {}

  std::string_view name() const override { return name_; }
  std::optional<uint64_t> EncodedSize(const ChunkForm&) const override { return std::nullopt; }
  uint64_t MaxEncodedSize(const ChunkForm& form) const override {
    zfp_stream parameters = DefaultZfpParameters();
    zfp_stream_set_reversible(&parameters);
    return MaxZfpSize(MakeZfpField(number_.type, form.shape), parameters_.value_or(parameters));
  }

  model::Result<void> Decode(ConstByteSpan encoded, const ChunkForm& form,
                             ByteSpan decoded) const override {
    ZfpHeader header = {MakeZfpField(number_.type, form.shape), {}, 0};
    if (parameters_) {
      header.parameters = *parameters_;
    } else {
      NDLFS_TRY(header, ReadFor(header.field, encoded));
    }
    if (!number_.is_direct()) return DecodeNarrow(header, encoded, decoded);
    NDLFS_RETURN_IF_ERROR(
        DecodeZfpBlocks(header.field, header.parameters, encoded, header.bits, decoded));
    if (number_.number.kind == NumberType::Kind::kUnsigned) {
      if (number_.type == zfp_type_int32) RaiseToZero<int32_t>(decoded);
      if (number_.type == zfp_type_int64) RaiseToZero<int64_t>(decoded);
    }
    return {};
  }

 private:
  // Reads a header. Its shape may differ from that of the chunk, but not the number
  // of elements.
  static model::Result<ZfpHeader> ReadFor(const zfp_field& chunk, ConstByteSpan encoded) {
    NDLFS_TRY(const ZfpHeader header, ReadZfpHeader(encoded));
    if (header.field.type != chunk.type) {
      return model::Corrupt("the type in the header is not that of the array");
    }
    const size_t found = zfp_field_size(&header.field, nullptr);
    const size_t expected = zfp_field_size(&chunk, nullptr);
    if (found != expected) return model::Corrupt("{} elements, expected {}", found, expected);
    return header;
  }

  model::Result<void> DecodeNarrow(const ZfpHeader& header, ConstByteSpan encoded,
                                   ByteSpan decoded) const {
    Bytes wide(ZfpFieldBytes(header.field));
    NDLFS_RETURN_IF_ERROR(
        DecodeZfpBlocks(header.field, header.parameters, encoded, header.bits, wide.span()));
    if (number_.bits != 0) {
      Demote(std::as_const(wide).span(), number_, decoded);
    } else {
      const NumberType float32{NumberType::Kind::kFloat, 4};
      ConvertNumbers(float32, wide.data(), number_.number, decoded.data(),
                     decoded.size() / number_.number.size);
    }
    return {};
  }

  const std::string_view name_;  // a literal
  const ZfpNumber number_;
  const std::optional<zfp_stream> parameters_;
};

model::Result<double> RequireNumber(const CodecConfig& config, const char* key) {
  NDLFS_TRY(const Json* member, RequireMember(*config.configuration, key));
  if (member->is_number()) return member->get<double>();
  return model::BadInput("{}: expected a number, found {}", key, DescribeJson(*member));
}

// Reads an integer from `least` to `most`, the range of a field in zfp's header.
model::Result<int> RequireInteger(const CodecConfig& config, const char* key, int least,
                                  int most) {
  NDLFS_TRY(const Json* member, RequireMember(*config.configuration, key));
  if (member->is_number_integer()) {
    const auto value = member->get<double>();
    if (value >= least && value <= most) return static_cast<int>(value);
  }
  return model::BadInput("{}: expected an integer from {} to {}, found {}", key, least, most,
                         DescribeJson(*member));
}

model::Result<zfp_stream> ParseExpert(const CodecConfig& config) {
  NDLFS_RETURN_IF_ERROR(
      RefuseOtherMembers(config, {"mode", "minbits", "maxbits", "maxprec", "minexp"}));
  NDLFS_TRY(const int min_bits, RequireInteger(config, "minbits", 0, 0x8000));
  NDLFS_TRY(const int max_bits, RequireInteger(config, "maxbits", 0, INT32_MAX));
  NDLFS_TRY(const int precision, RequireInteger(config, "maxprec", 1, ZFP_MAX_PREC));
  NDLFS_TRY(const int exponent, RequireInteger(config, "minexp", -16495, 16272));
  zfp_stream parameters = DefaultZfpParameters();
  if (!zfp_stream_set_params(&parameters, static_cast<unsigned>(min_bits),
                             static_cast<unsigned>(max_bits), static_cast<unsigned>(precision),
                             exponent)) {
    return model::BadInput("minbits: {}, but maxbits is {}", min_bits, max_bits);
  }
  return parameters;
}

model::Result<zfp_stream> ParseRate(const CodecConfig& config, zfp_type type) {
  NDLFS_RETURN_IF_ERROR(RefuseOtherMembers(config, {"mode", "rate"}));
  NDLFS_TRY(const double rate, RequireNumber(config, "rate"));
  if (!(rate > 0 && rate <= 2 * ZFP_MAX_PREC)) {
    return model::BadInput("rate: expected a number of bits up to {}, found {}",
                           2 * ZFP_MAX_PREC, rate);
  }
  zfp_stream parameters = DefaultZfpParameters();
  const size_t rank = std::max<size_t>(config.form->shape.size(), 1);
  zfp_stream_set_rate(&parameters, rate, type, static_cast<unsigned>(rank), zfp_false);
  return parameters;
}

model::Result<zfp_stream> ParseParameters(const CodecConfig& config, zfp_type type) {
  NDLFS_TRY(const auto mode, TextMember(config, "mode"));
  if (!mode) return model::BadInput("mode is missing");
  if (*mode == "fixed_rate") return ParseRate(config, type);
  if (*mode == "expert") return ParseExpert(config);
  zfp_stream parameters = DefaultZfpParameters();
  if (*mode == "reversible") {
    NDLFS_RETURN_IF_ERROR(RefuseOtherMembers(config, {"mode"}));
    zfp_stream_set_reversible(&parameters);
  } else if (*mode == "fixed_precision") {
    NDLFS_RETURN_IF_ERROR(RefuseOtherMembers(config, {"mode", "precision"}));
    NDLFS_TRY(const int precision, RequireInteger(config, "precision", 0, INT32_MAX));
    zfp_stream_set_precision(&parameters, static_cast<unsigned>(precision));
  } else if (*mode == "fixed_accuracy") {
    NDLFS_RETURN_IF_ERROR(RefuseOtherMembers(config, {"mode", "tolerance"}));
    NDLFS_TRY(const double tolerance, RequireNumber(config, "tolerance"));
    zfp_stream_set_accuracy(&parameters, tolerance);
  } else {
    return model::Unsupported("mode {}", model::Quote(*mode));
  }
  return parameters;
}

model::Result<AnyCodec> ParseZarr3(const CodecConfig& config) {
  if (config.form->shape.size() > 4) {
    return model::BadInput("a chunk of {} dimensions, at most 4 can be encoded",
                           config.form->shape.size());
  }
  NDLFS_TRY(const ZfpNumber number, NumberOf(config));
  if (config.name != "zfp") return NewCodec<ZfpCodec>("zfpy", number, std::nullopt);
  NDLFS_TRY(const zfp_stream parameters, ParseParameters(config, number.type));
  NDLFS_RETURN_IF_ERROR(CheckZfpParameters(parameters, number.type));
  return NewCodec<ZfpCodec>("zfp", number, parameters);
}

}  // namespace

static CodecResult MakeZfp(const CodecConfig& config) {
  if (config.dialect == CodecDialect::kNumcodecs) return NewCodec<ZfpyCodec>(*config.form);
  auto codec = config.dialect == CodecDialect::kHdf5 ? ParseHdf5(config) : ParseZarr3(config);
  if (!codec) return model::Propagate(std::move(codec).error(), "zfp");
  return codec;
}

}  // namespace ndlfs::backends

#else

namespace ndlfs::backends {
static constexpr CodecFactory MakeZfp = nullptr;
}  // namespace ndlfs::backends

#endif

namespace ndlfs::backends {

const CodecEntry kZfpEntry = {"zfp", "zfpy", "32013", MakeZfp};

}  // namespace ndlfs::backends
