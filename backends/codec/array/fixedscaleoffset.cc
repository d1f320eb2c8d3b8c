// SPDX-License-Identifier: MIT
//
// numcodecs "fixedscaleoffset": decoded = encoded / scale + offset.
#include <algorithm>

#include "backends/base/json_scan.h"
#include "backends/codec/number_filter.h"

namespace ndlfs::backends {
namespace {

// Computes like NumPy, with the precision of the encoded type: float32 and float16
// as such, integers as float64.
class FixedScaleOffsetFilter final : public NumberFilter {
 public:
  FixedScaleOffsetFilter(NumberDtypes dtypes, double scale, double offset)
      : NumberFilter(std::move(dtypes.encoded), std::move(dtypes.decoded)),
        scale_(scale),
        offset_(offset) {}

  std::string_view name() const override { return "fixedscaleoffset"; }

  void Decode(const std::byte* from, std::byte* to, size_t count) const override {
    double block[kNumberBlock];
    for (size_t done = 0; done < count; done += kNumberBlock) {
      const size_t step = std::min(count - done, kNumberBlock);
      LoadReals(encoded_type(), from + done * encoded_type().size, step, block);
      Compute(block, step);
      StoreReals(block, step, decoded_type(), to + done * decoded_type().size);
    }
  }

 private:
  void Compute(double* block, size_t count) const {
    if (encoded_type().is_float() && encoded_type().size == 4) {
      const auto scale = static_cast<float>(scale_);
      const auto offset = static_cast<float>(offset_);
      for (size_t i = 0; i < count; ++i) {
        block[i] = static_cast<float>(block[i]) / scale + offset;
      }
    } else if (encoded_type().format) {
      const auto round = [this](double value) {
        std::byte code[8];
        StoreReals(&value, 1, encoded_type(), code);
        LoadReals(encoded_type(), code, 1, &value);
        return value;
      };
      const double scale = round(scale_);
      const double offset = round(offset_);
      for (size_t i = 0; i < count; ++i) block[i] = round(round(block[i] / scale) + offset);
    } else {
      for (size_t i = 0; i < count; ++i) block[i] = block[i] / scale_ + offset_;
    }
  }

  const double scale_;
  const double offset_;
};

model::Result<double> RealMember(const CodecConfig& config, const char* key) {
  NDLFS_TRY(const Json* json, RequireMember(*config.configuration, key));
  if (const auto number = JsonToReal(*json)) return *number;
  return model::BadInput("{}: expected a number, found {}", key, DescribeJson(*json));
}

}  // namespace

static CodecResult MakeFixedScaleOffset(const CodecConfig& config) {
  NDLFS_TRY(NumberDtypes dtypes, ParseNumberDtypes(config), "fixedscaleoffset");
  NDLFS_TRY(const double scale, RealMember(config, "scale"), "fixedscaleoffset");
  NDLFS_TRY(const double offset, RealMember(config, "offset"), "fixedscaleoffset");
  return MakeNumberCodec(
      config, std::make_shared<const FixedScaleOffsetFilter>(std::move(dtypes), scale, offset));
}

const CodecEntry kFixedScaleOffsetEntry = {"", "fixedscaleoffset", "", MakeFixedScaleOffset};

}  // namespace ndlfs::backends
