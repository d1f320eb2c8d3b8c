// SPDX-License-Identifier: MIT
//
// numcodecs "delta": each number is stored as its difference from the one before.
#include <algorithm>

#include "backends/codec/number_filter.h"

namespace ndlfs::backends {
namespace {

// Sums have the decoded type: integers wrap around, floats are rounded each time.
class DeltaFilter final : public NumberFilter {
 public:
  using NumberFilter::NumberFilter;
  std::string_view name() const override { return "delta"; }

  void Decode(const std::byte* from, std::byte* to, size_t count) const override {
    if (!decoded_type().is_float()) return SumIntegers(from, to, count);
    if (decoded_type().format) {
      return SumReals(from, to, count, [this](double a, double b) { return AddHalves(a, b); });
    }
    if (decoded_type().size == 4) return SumReals(from, to, count, AddAs<float>);
    SumReals(from, to, count, AddAs<double>);
  }

 private:
  // Sums modulo 2^64 are right for any smaller width, too.
  void SumIntegers(const std::byte* from, std::byte* to, size_t count) const {
    int64_t block[kNumberBlock];
    uint64_t sum = 0;
    for (size_t done = 0; done < count; done += kNumberBlock) {
      const size_t step = std::min(count - done, kNumberBlock);
      LoadIntegers(encoded_type(), from + done * encoded_type().size, step, block);
      for (size_t i = 0; i < step; ++i) {
        sum += static_cast<uint64_t>(block[i]);
        block[i] = static_cast<int64_t>(sum);
      }
      StoreIntegers(block, false, step, decoded_type(), to + done * decoded_type().size);
    }
  }

  // `add` returns a sum, rounded to the decoded type.
  template <typename Add>
  void SumReals(const std::byte* from, std::byte* to, size_t count, Add add) const {
    double block[kNumberBlock];
    double sum = -0.0;  // unlike 0.0, it leaves a first number of -0.0 unchanged
    for (size_t done = 0; done < count; done += kNumberBlock) {
      const size_t step = std::min(count - done, kNumberBlock);
      LoadReals(encoded_type(), from + done * encoded_type().size, step, block);
      for (size_t i = 0; i < step; ++i) block[i] = sum = add(sum, block[i]);
      StoreReals(block, step, decoded_type(), to + done * decoded_type().size);
    }
  }

  template <typename Real>
  static double AddAs(double a, double b) {
    return static_cast<Real>(a) + static_cast<Real>(b);
  }

  // The sum of two float16 is exact as a double.
  double AddHalves(double a, double b) const {
    std::byte half[2];
    double sum = a + b;
    StoreReals(&sum, 1, decoded_type(), half);
    LoadReals(decoded_type(), half, 1, &sum);
    return sum;
  }
};

model::Result<NumberDtypes> ParseDelta(const CodecConfig& config) {
  NDLFS_TRY(NumberDtypes dtypes, ParseNumberDtypes(config));
  for (const model::Datatype& dtype : {dtypes.encoded, dtypes.decoded}) {
    const NumberType type = *NumberTypeOf(dtype);
    const bool is_other_float = type.format && type.format->keyword != "float16";
    if (type.kind == NumberType::Kind::kBool || is_other_float) {
      return model::Unsupported("differences of {}", dtype.keyword());
    }
  }
  if (NumberTypeOf(dtypes.encoded)->is_float() && !NumberTypeOf(dtypes.decoded)->is_float()) {
    return model::BadInput("differences of {} for elements of {}", dtypes.encoded.keyword(),
                           dtypes.decoded.keyword());
  }
  return dtypes;
}

}  // namespace

static CodecResult MakeDelta(const CodecConfig& config) {
  NDLFS_TRY(NumberDtypes dtypes, ParseDelta(config), "delta");
  return MakeNumberCodec(config, std::make_shared<const DeltaFilter>(
                                     std::move(dtypes.encoded), std::move(dtypes.decoded)));
}

const CodecEntry kDeltaEntry = {"", "delta", "", MakeDelta};

}  // namespace ndlfs::backends
