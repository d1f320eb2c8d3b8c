// SPDX-License-Identifier: MIT
//
// Zarr v3 "scale_offset": decoded = encoded / scale + offset, computed with the type
// of the array.
#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "backends/codec/factories.h"
#include "backends/codec/number_type.h"

namespace ndlfs::backends {
namespace {

using Scalar = std::array<std::byte, 8>;

// Rounds towards minus infinity, like NumPy's floor division. Only the smallest
// integer divided by -1 overflows, and wraps around.
int64_t FloorDivide(int64_t a, int64_t b) {
  if (b == -1) return static_cast<int64_t>(-static_cast<uint64_t>(a));
  const int64_t quotient = a / b;
  return quotient * b != a && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

class ScaleOffsetCodec final : public ArrayToArrayCodec {
 public:
  ScaleOffsetCodec(model::Datatype dtype, const Scalar& scale, const Scalar& offset)
      : dtype_(std::move(dtype)), type_(*NumberTypeOf(dtype_)) {
    if (type_.is_float()) {
      LoadReals(type_, scale.data(), 1, &real_scale_);
      LoadReals(type_, offset.data(), 1, &real_offset_);
    } else {
      LoadIntegers(type_, scale.data(), 1, &scale_);
      LoadIntegers(type_, offset.data(), 1, &offset_);
    }
  }

  std::string_view name() const override { return "scale_offset"; }
  model::Result<ChunkForm> EncodedForm(const ChunkForm& decoded) const override {
    if (!decoded.dtype.SameLayout(dtype_)) {
      return model::BadInput("made for elements of {}, not {}", dtype_.keyword(),
                             decoded.dtype.keyword());
    }
    ChunkForm encoded = decoded;
    if (!encoded.fill.empty()) EncodeFill(encoded.fill);
    return encoded;
  }

  model::Result<void> Decode(ConstByteSpan encoded, const ChunkForm&,
                             ByteSpan decoded) const override {
    const size_t count = encoded.size() / type_.size;
    for (size_t done = 0; done < count; done += kNumberBlock) {
      const size_t step = std::min(count - done, kNumberBlock);
      const std::byte* from = encoded.data() + done * type_.size;
      std::byte* to = decoded.data() + done * type_.size;
      if (type_.is_float()) {
        DecodeReals(from, step, to);
      } else {
        DecodeIntegers(from, step, to);
      }
    }
    return {};
  }

 private:
  // Encodes the fill value in place, as the specification requires.
  void EncodeFill(std::vector<std::byte>& fill) const {
    if (type_.is_float()) {
      double value;
      LoadReals(type_, fill.data(), 1, &value);
      value = (value - real_offset_) * real_scale_;
      StoreReals(&value, 1, type_, fill.data());
    } else {
      int64_t value;
      LoadIntegers(type_, fill.data(), 1, &value);
      value =
          static_cast<int64_t>((static_cast<uint64_t>(value) - static_cast<uint64_t>(offset_)) *
                               static_cast<uint64_t>(scale_));
      StoreIntegers(&value, type_.kind == NumberType::Kind::kUnsigned, 1, type_, fill.data());
    }
  }

  void DecodeReals(const std::byte* from, size_t count, std::byte* to) const {
    double block[kNumberBlock];
    LoadReals(type_, from, count, block);
    if (type_.format == nullptr && type_.size == 4) {
      const auto scale = static_cast<float>(real_scale_);
      const auto offset = static_cast<float>(real_offset_);
      for (size_t i = 0; i < count; ++i)
        block[i] = static_cast<float>(block[i]) / scale + offset;
    } else {
      for (size_t i = 0; i < count; ++i) block[i] /= real_scale_;
      if (type_.format != nullptr) {  // rounds the intermediate result, too
        StoreReals(block, count, type_, to);
        LoadReals(type_, to, count, block);
      }
      for (size_t i = 0; i < count; ++i) block[i] += real_offset_;
    }
    StoreReals(block, count, type_, to);
  }

  void DecodeIntegers(const std::byte* from, size_t count, std::byte* to) const {
    int64_t block[kNumberBlock];
    LoadIntegers(type_, from, count, block);
    const bool is_unsigned = type_.kind == NumberType::Kind::kUnsigned;
    for (size_t i = 0; i < count; ++i) {
      const int64_t quotient = is_unsigned
                                   ? static_cast<int64_t>(static_cast<uint64_t>(block[i]) /
                                                          static_cast<uint64_t>(scale_))
                                   : FloorDivide(block[i], scale_);
      block[i] = static_cast<int64_t>(static_cast<uint64_t>(quotient) +
                                      static_cast<uint64_t>(offset_));
    }
    StoreIntegers(block, is_unsigned, count, type_, to);
  }

  const model::Datatype dtype_;
  const NumberType type_;
  double real_scale_ = 1;
  double real_offset_ = 0;
  int64_t scale_ = 1;
  int64_t offset_ = 0;
};

model::Result<Scalar> ScalarMember(const CodecConfig& config, const char* key,
                                   const NumberType& type, const Json& otherwise) {
  const auto it = config.configuration->find(key);
  const Json& json = it == config.configuration->end() ? otherwise : *it;
  Scalar scalar{};
  NDLFS_RETURN_IF_ERROR(StoreJsonNumber(json, type, scalar.data()), key);
  return scalar;
}

model::Result<AnyCodec> ParseScaleOffset(const CodecConfig& config) {
  NDLFS_RETURN_IF_ERROR(RefuseOtherMembers(config, {"scale", "offset"}));
  const auto type = NumberTypeOf(config.form->dtype);
  if (!type || type->kind == NumberType::Kind::kBool) {
    return model::BadInput("does not apply to elements of {}", config.form->dtype.keyword());
  }
  NDLFS_TRY(const Scalar scale, ScalarMember(config, "scale", *type, Json(1)));
  NDLFS_TRY(const Scalar offset, ScalarMember(config, "offset", *type, Json(0)));
  if (!type->is_float() && scale == Scalar{}) return model::BadInput("scale: division by 0");
  return NewCodec<ScaleOffsetCodec>(config.form->dtype, scale, offset);
}

}  // namespace

static CodecResult MakeScaleOffset(const CodecConfig& config) {
  auto codec = ParseScaleOffset(config);
  if (!codec) return model::Propagate(std::move(codec).error(), "scale_offset");
  return codec;
}

const CodecEntry kScaleOffsetEntry = {"scale_offset", "", "", MakeScaleOffset};

}  // namespace ndlfs::backends
