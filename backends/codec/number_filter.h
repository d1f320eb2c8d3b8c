// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <string_view>

#include "backends/codec/factories.h"
#include "backends/codec/number_type.h"

namespace ndlfs::backends {

// A filter of numcodecs that makes each number of one type into one of another.
// In Zarr v2 it works on bytes, in v3 ("numcodecs.delta") on arrays.
class NumberFilter {
 public:
  NumberFilter(model::Datatype encoded, model::Datatype decoded)
      : encoded_dtype_(std::move(encoded)),
        decoded_dtype_(std::move(decoded)),
        encoded_type_(*NumberTypeOf(encoded_dtype_)),
        decoded_type_(*NumberTypeOf(decoded_dtype_)) {}
  virtual ~NumberFilter() = default;
  virtual std::string_view name() const = 0;
  // `count` numbers; `from` and `to` do not overlap.
  virtual void Decode(const std::byte* from, std::byte* to, size_t count) const = 0;
  // What encoding makes of a fill value; numcodecs leaves the number as it is.
  virtual void EncodeFill(const std::byte* from, std::byte* to) const {
    ConvertNumbers(decoded_type_, from, encoded_type_, to, 1);
  }

  const model::Datatype& encoded_dtype() const { return encoded_dtype_; }
  const model::Datatype& decoded_dtype() const { return decoded_dtype_; }
  const NumberType& encoded_type() const { return encoded_type_; }
  const NumberType& decoded_type() const { return decoded_type_; }

 private:
  const model::Datatype encoded_dtype_;
  const model::Datatype decoded_dtype_;
  const NumberType encoded_type_;
  const NumberType decoded_type_;
};

// The codec of the kind that the dialect calls for.
CodecResult MakeNumberCodec(const CodecConfig& config,
                            std::shared_ptr<const NumberFilter> filter);

// The type in member `key`; `otherwise` where it is absent.
model::Result<model::Datatype> NumberDtypeMember(const CodecConfig& config, const char* key,
                                                 const model::Datatype& otherwise);
// The types that most filters have: "dtype", by default that of the array (in
// Zarr v3; v2 requires it), and "astype", by default the same.
struct NumberDtypes {
  model::Datatype encoded;
  model::Datatype decoded;
};
model::Result<NumberDtypes> ParseNumberDtypes(const CodecConfig& config);

}  // namespace ndlfs::backends
