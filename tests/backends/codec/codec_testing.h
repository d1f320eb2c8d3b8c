// SPDX-License-Identifier: MIT
//
// What the tests of codecs share.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "backends/base/bytes.h"
#include "backends/base/json.h"
#include "backends/codec/registry.h"

namespace ndlfs::backends {

inline Bytes FromHex(std::string_view hex) {
  Bytes bytes(hex.size() / 2);
  for (size_t i = 0; i < bytes.size(); ++i) {
    unsigned value = 0;
    std::from_chars(hex.data() + 2 * i, hex.data() + 2 * i + 2, value, 16);
    bytes.data()[i] = static_cast<std::byte>(value);
  }
  return bytes;
}

inline std::string ToHex(ConstByteSpan bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string hex(2 * bytes.size(), '0');
  char* out = hex.data();
  for (const std::byte byte : bytes) {
    *out++ = kDigits[std::to_integer<unsigned>(byte >> 4)];
    *out++ = kDigits[std::to_integer<unsigned>(byte & std::byte{15})];
  }
  return hex;
}

template <typename T>
Bytes BytesOf(const std::vector<T>& values) {
  return Bytes::Copy(std::as_bytes(std::span(values)));
}

template <typename T>
std::vector<T> ValuesOf(ConstByteSpan bytes) {
  std::vector<T> values(bytes.size() / sizeof(T));
  if (!values.empty()) std::memcpy(values.data(), bytes.data(), values.size() * sizeof(T));
  return values;
}

// Memory of an exact size with guards on both sides, which must stay as they
// are whatever is decoded.
class GuardedBuffer {
 public:
  explicit GuardedBuffer(size_t size, std::byte pattern = std::byte{0xa5})
      : memory_(size + 2 * kGuard), pattern_(pattern) {
    std::fill_n(memory_.data(), memory_.size(), pattern);
  }
  ByteSpan span() { return memory_.span().subspan(kGuard, memory_.size() - 2 * kGuard); }
  bool IsIntact() const {
    const auto is_pattern = [this](std::byte b) { return b == pattern_; };
    const ConstByteSpan all = memory_.span();
    return std::all_of(all.begin(), all.begin() + kGuard, is_pattern) &&
           std::all_of(all.end() - kGuard, all.end(), is_pattern);
  }

 private:
  static constexpr size_t kGuard = 64;
  Bytes memory_;
  const std::byte pattern_;
};

// An encoded chunk in memory that notes how much of it is read, and fails the
// test for what is read beyond its end.
class EncodedBytes final : public EncodedChunk {
 public:
  explicit EncodedBytes(ConstByteSpan bytes) : bytes_(Bytes::Copy(bytes)) {}
  uint64_t size() const override { return bytes_.size(); }
  model::Result<void> Read(uint64_t offset, ByteSpan out) const override {
    if (offset > size() || out.size() > size() - offset) {
      ADD_FAILURE() << "bytes " << offset << " + " << out.size() << " of " << size();
      return model::Internal("beyond the end");
    }
    read_ += out.size();
    std::copy_n(bytes_.data() + offset, out.size(), out.data());
    return {};
  }
  uint64_t bytes_read() const { return read_; }

 private:
  const Bytes bytes_;
  mutable uint64_t read_ = 0;
};

inline ChunkForm ByteForm(uint64_t size) {
  return {model::Datatype::Integer(1, false), {size}};
}

inline model::Result<AnyCodec> MakeCodecFrom(CodecDialect dialect, std::string_view name,
                                             std::string_view configuration,
                                             const ChunkForm& form) {
  NDLFS_TRY(const Json json, ParseJson(configuration));
  return MakeCodec({dialect, name, &json, &form});
}

// False for a codec that the build left out.
inline bool IsBuiltIn(CodecDialect dialect, std::string_view name) {
  const auto codec = MakeCodecFrom(dialect, name, "{}", ByteForm(1));
  return codec || !codec.error().message().ends_with(" is not built in");
}

inline std::shared_ptr<const BytesToBytesCodec> MakeBytesToBytes(
    CodecDialect dialect, std::string_view name, std::string_view configuration = "{}",
    const ChunkForm& form = ByteForm(1)) {
  auto codec = MakeCodecFrom(dialect, name, configuration, form);
  if (!codec) {
    ADD_FAILURE() << codec.error().message();
    return nullptr;
  }
  return std::get<std::shared_ptr<const BytesToBytesCodec>>(*codec);
}

// The message of a result that must have failed with `code`.
template <typename T>
std::string FailureOf(const model::Result<T>& result, model::ErrorCode code) {
  if (result) {
    ADD_FAILURE() << "succeeded";
    return "";
  }
  EXPECT_EQ(static_cast<int>(result.error().code()), static_cast<int>(code))
      << result.error().message();
  return result.error().message();
}

inline std::string MakeFailure(CodecDialect dialect, std::string_view name,
                               std::string_view configuration, const ChunkForm& form,
                               model::ErrorCode code = model::ErrorCode::kBadInput) {
  return FailureOf(MakeCodecFrom(dialect, name, configuration, form), code);
}

}  // namespace ndlfs::backends
