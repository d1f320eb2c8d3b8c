// SPDX-License-Identifier: MIT
//
// What the tests of codecs in chains share: a chain made of its JSON, and what
// it decodes.
#pragma once

#include <gtest/gtest.h>

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backends/codec/codec_chain.h"
#include "backends/codec/registry.h"
#include "tests/backends/codec/codec_testing.h"

namespace ndlfs::backends {

inline constexpr auto kZarr3 = CodecDialect::kZarr3;

inline const model::Datatype kInt8 = model::Datatype::Integer(1, true);
inline const model::Datatype kUint8 = model::Datatype::Integer(1, false);
inline const model::Datatype kInt16 = model::Datatype::Integer(2, true);
inline const model::Datatype kInt32 = model::Datatype::Integer(4, true);
inline const model::Datatype kInt64 = model::Datatype::Integer(8, true);

inline CodecChain MakeChain(std::string_view codecs, const ChunkForm& form) {
  auto chain = MakeZarr3Chain(*ParseJson(codecs), form);
  if (!chain) {
    ADD_FAILURE() << chain.error().message();
    return {};
  }
  return *std::move(chain);
}

// A chain of one codec before the bytes.
inline CodecChain MakeFilterChain(std::string_view codec, const ChunkForm& form) {
  return MakeChain(
      fmt::format(R"([{}, {{"name": "bytes", "configuration": {{"endian": "little"}}}}])",
                  codec),
      form);
}

template <typename T>
model::Result<std::vector<T>> Decode(const CodecChain& chain, ConstByteSpan encoded,
                                     const std::vector<uint64_t>& shape) {
  GuardedBuffer memory(*ChunkForm{chain.dtype(), shape}.byte_size());
  Scratch scratch;
  NDLFS_RETURN_IF_ERROR(chain.Decode(encoded, shape, memory.span(), scratch));
  EXPECT_TRUE(memory.IsIntact());
  return ValuesOf<T>(memory.span());
}

// Decodes `encoded` as elements of `dtype` through one array to array codec.
template <typename T, typename From>
std::vector<T> DecodeFilter(std::string_view codec, const model::Datatype& dtype,
                            const std::vector<From>& encoded) {
  const ChunkForm form{dtype, {encoded.size()}};
  const auto values =
      Decode<T>(MakeFilterChain(codec, form), BytesOf(encoded).span(), form.shape);
  if (!values) {
    ADD_FAILURE() << values.error().message();
    return {};
  }
  return *values;
}

template <typename From>
inline std::string FilterFailure(std::string_view codec, const model::Datatype& dtype,
                                 const std::vector<From>& encoded) {
  const ChunkForm form{dtype, {encoded.size()}};
  return FailureOf(
      Decode<std::byte>(MakeFilterChain(codec, form), BytesOf(encoded).span(), form.shape),
      model::ErrorCode::kCorrupt);
}

inline std::string ConfigFailure(std::string_view name, std::string_view configuration,
                                 const ChunkForm& form,
                                 model::ErrorCode code = model::ErrorCode::kBadInput) {
  return MakeFailure(kZarr3, name, configuration, form, code);
}

// The fill value that a codec hands on to the next.
template <typename T, typename From>
std::vector<T> EncodedFill(std::string_view name, std::string_view configuration,
                           const model::Datatype& dtype, From fill) {
  const auto bytes = std::as_bytes(std::span(&fill, 1));
  const ChunkForm form{dtype, {4}, {bytes.begin(), bytes.end()}};
  auto codec = MakeCodecFrom(kZarr3, name, configuration, form);
  if (!codec) {
    ADD_FAILURE() << codec.error().message();
    return {};
  }
  const auto encoded =
      std::get<std::shared_ptr<const ArrayToArrayCodec>>(*codec)->EncodedForm(form);
  if (!encoded) {
    ADD_FAILURE() << encoded.error().message();
    return {};
  }
  return ValuesOf<T>(encoded->fill);
}

}  // namespace ndlfs::backends
