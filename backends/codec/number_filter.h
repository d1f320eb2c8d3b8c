// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <string_view>

#include "backends/codec/factories.h"
#include "backends/codec/number_type.h"

namespace ndlfs::backends {

// A numcodecs filter that turns each number into a number of another type. It is
// a bytes to bytes codec in Zarr v2, and an array to array codec in v3
// ("numcodecs.delta").
class NumberFilter {
 public:
  NumberFilter(model::Datatype encoded, model::Datatype decoded)
      : encoded_dtype_(std::move(encoded)),
        decoded_dtype_(std::move(decoded)),
        encoded_type_(*NumberTypeOf(encoded_dtype_)),
        decoded_type_(*NumberTypeOf(decoded_dtype_)) {}
  virtual ~NumberFilter() = default;
  virtual std::string_view name() const = 0;
  // Decodes `count` numbers. `from` and `to` do not overlap.
  virtual void Decode(const std::byte* from, std::byte* to, size_t count) const = 0;
  // Encodes a fill value. The default keeps the number, as numcodecs does.
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

// Makes a codec of the kind that the dialect requires.
CodecResult MakeNumberCodec(const CodecConfig& config,
                            std::shared_ptr<const NumberFilter> filter);

// The type in member `key`; `otherwise` if it is absent.
model::Result<model::Datatype> NumberDtypeMember(const CodecConfig& config, const char* key,
                                                 const model::Datatype& otherwise);
// The two types that most filters have. "dtype" is the decoded one: v2 requires
// it; in v3 the default is the type of the array. "astype" is the encoded one: the
// default is "dtype".
struct NumberDtypes {
  model::Datatype encoded;
  model::Datatype decoded;
};
model::Result<NumberDtypes> ParseNumberDtypes(const CodecConfig& config);

}  // namespace ndlfs::backends
