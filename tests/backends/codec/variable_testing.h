// SPDX-License-Identifier: MIT
//
// What the tests of codecs for elements of variable size share.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "tests/backends/codec/chain_testing.h"

namespace ndlfs::backends {

// The elements of a stream, without their table.
inline std::vector<std::string> ElementsOf(const Bytes& stream, size_t count) {
  const size_t table = (count + 1) * 8;
  if (stream.size() < table) {
    ADD_FAILURE() << "a stream of " << stream.size() << " bytes";
    return {};
  }
  const auto offsets = ValuesOf<uint64_t>(stream.span().first(table));
  EXPECT_EQ(offsets[0], 0u);
  EXPECT_EQ(offsets[count], stream.size() - table);
  std::vector<std::string> elements;
  for (size_t i = 0; i < count; ++i) {
    elements.emplace_back(
        AsText(stream.span().subspan(table + offsets[i], offsets[i + 1] - offsets[i])));
  }
  return elements;
}

inline std::string Text(std::string_view text) {
  const auto size = static_cast<uint32_t>(text.size());
  std::string bytes(4, '\0');
  std::memcpy(bytes.data(), &size, 4);
  return bytes += text;
}

inline model::Result<Bytes> DecodeVariable(const CodecChain& chain, ConstByteSpan encoded,
                                           const std::vector<uint64_t>& shape,
                                           uint64_t limit = 1 << 20) {
  Scratch scratch;
  return chain.DecodeVariable(encoded, shape, limit, scratch);
}

inline std::string VariableFailure(const CodecChain& chain, ConstByteSpan encoded,
                                   const std::vector<uint64_t>& shape, uint64_t limit = 1 << 20,
                                   model::ErrorCode code = model::ErrorCode::kCorrupt) {
  return FailureOf(DecodeVariable(chain, encoded, shape, limit), code);
}

inline CodecChain MakeZarr2(std::string_view filters, const model::Datatype& dtype,
                            const std::vector<uint64_t>& shape, bool fortran = false,
                            std::string_view compressor = "null") {
  auto chain =
      MakeZarr2Chain(*ParseJson(filters), *ParseJson(compressor), fortran, dtype, shape);
  if (!chain) {
    ADD_FAILURE() << chain.error().message();
    return {};
  }
  return *std::move(chain);
}

}  // namespace ndlfs::backends
