// SPDX-License-Identifier: MIT
//
// What every bytes to bytes codec promises, checked for each of them with
// chunks that other software encoded, as far as the build has the codec.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <malloc.h>

#include <ostream>
#include <string>
#include <vector>

#include "backends/codec/registry.h"
#include "tests/backends/codec/codec_testing.h"
#include "tests/backends/codec/goldens.h"

namespace ndlfs::backends {

void PrintTo(const Golden& golden, std::ostream* out) { *out << golden.test_name; }

namespace {

// Of floats of `size` bytes: each NaN without its sign.
[[maybe_unused]] void DropSignsOfNans(Bytes& bytes, size_t size, bool is_big) {
  for (size_t begin = 0; begin + size <= bytes.size(); begin += size) {
    const auto byte = [&](size_t significance) -> std::byte& {
      return bytes.data()[begin + (is_big ? size - 1 - significance : significance)];
    };
    uint64_t bits = 0;
    for (size_t i = 0; i < size; ++i) bits |= std::to_integer<uint64_t>(byte(i)) << 8 * i;
    const int mantissa = size == 2 ? 10 : size == 4 ? 23 : 52;
    const uint64_t magnitude = bits & ~(uint64_t{1} << (8 * size - 1));
    const uint64_t infinity = ((uint64_t{1} << (8 * size - 1)) - 1) >> mantissa << mantissa;
    if (magnitude > infinity) byte(size - 1) &= std::byte{0x7f};
  }
}

// The elements of a golden as far as all processors agree: inf - inf is -NaN on x86, and NaN on
// ARM.
std::string Comparable(const Golden& golden, const std::string& hex) {
#if defined(__x86_64__)
  (void)golden;
  return hex;
#else
  const std::string_view configuration = golden.configuration;
  constexpr std::string_view kKey = R"("dtype": ")";
  const size_t type = configuration.find(kKey);
  if (std::string_view(golden.codec) != "delta" || type == configuration.npos ||
      configuration.substr(type + kKey.size()).at(1) != 'f') {
    return hex;
  }
  const std::string_view name = configuration.substr(type + kKey.size(), 3);
  Bytes bytes = FromHex(hex);
  DropSignsOfNans(bytes, static_cast<size_t>(name[2] - '0'), name[0] == '>');
  return ToHex(bytes.span());
#endif
}

class CodecConformanceTest : public testing::TestWithParam<Golden> {
 protected:
  CodecConformanceTest()
      : decoded_(FromHex(GetParam().decoded)),
        encoded_(FromHex(GetParam().encoded)),
        codec_(MakeBytesToBytes(GetParam().dialect, GetParam().codec, GetParam().configuration,
                                Form())) {}

  ChunkForm Form() const { return {model::Datatype::Integer(4, true), {decoded_.size() / 4}}; }
  // Decodes into memory of exactly `size` bytes, and checks what holds always.
  model::Result<std::string> Decode(ConstByteSpan encoded, size_t size,
                                    std::byte pattern = std::byte{0xa5}) {
    GuardedBuffer memory(size, pattern);
    // A copy of its own, so that address sanitizers see a read past its end.
    const Bytes input = Bytes::Copy(encoded);
    const auto produced = codec_->Decode(input.span(), memory.span());
    EXPECT_TRUE(memory.IsIntact());
    if (!produced) {
      EXPECT_THAT(produced.error().code(),
                  testing::AnyOf(model::ErrorCode::kCorrupt, model::ErrorCode::kUnsupported))
          << produced.error().message();
      return model::Propagate(produced.error());
    }
    EXPECT_LE(*produced, size);
    return ToHex(memory.span().first(*produced));
  }

  const Bytes decoded_;
  const Bytes encoded_;
  const std::shared_ptr<const BytesToBytesCodec> codec_;
};

TEST_P(CodecConformanceTest, DecodesWhatOthersEncoded) {
  const auto decoded = Decode(encoded_.span(), decoded_.size());
  ASSERT_TRUE(decoded) << decoded.error().message();
  EXPECT_EQ(Comparable(GetParam(), *decoded), Comparable(GetParam(), GetParam().decoded));
}

TEST_P(CodecConformanceTest, RoomToSpareIsLeftAlone) {
  const auto decoded = Decode(encoded_.span(), decoded_.size() + 100);
  ASSERT_TRUE(decoded) << decoded.error().message();
  EXPECT_EQ(Comparable(GetParam(), *decoded), Comparable(GetParam(), GetParam().decoded));
}

TEST_P(CodecConformanceTest, EncodedSizeCoversWhatOthersEncoded) {
  const auto bound = codec_->EncodedSize(decoded_.size());
  EXPECT_GE(bound.size, encoded_.size());
  EXPECT_TRUE(!bound.exact || bound.size == encoded_.size());
}

TEST_P(CodecConformanceTest, MoreThanTheDestinationHoldsIsCorrupt) {
  for (size_t size = 0; size < decoded_.size(); ++size) {
    EXPECT_FALSE(Decode(encoded_.span(), size)) << "into " << size << " bytes";
  }
}

TEST_P(CodecConformanceTest, TruncatedInputNeverDecodesToTheWhole) {
  for (size_t size = 0; size + GetParam().spare < encoded_.size(); ++size) {
    const auto decoded = Decode(encoded_.span().first(size), decoded_.size());
    EXPECT_TRUE(!decoded || *decoded != GetParam().decoded) << "from " << size << " bytes";
  }
}

TEST_P(CodecConformanceTest, AnyFlippedBitIsSurvived) {
  Bytes damaged = Bytes::Copy(encoded_.span());
  for (size_t bit = 0; bit < damaged.size() * 8; ++bit) {
    const auto mask = static_cast<std::byte>(1 << bit % 8);
    damaged.data()[bit / 8] ^= mask;
    (void)Decode(damaged.span(), decoded_.size());
    damaged.data()[bit / 8] ^= mask;
  }
}

TEST_P(CodecConformanceTest, AnyByteSetToAllOnesIsSurvived) {
  Bytes damaged = Bytes::Copy(encoded_.span());
  for (size_t i = 0; i < damaged.size(); ++i) {
    const std::byte before = std::exchange(damaged.data()[i], std::byte{0xff});
    (void)Decode(damaged.span(), decoded_.size());
    damaged.data()[i] = before;
  }
}

// What is shown has been decoded; it is never what memory happened to hold.
TEST_P(CodecConformanceTest, WhatTruncatedInputDecodesToIsAlwaysTheSame) {
  const auto decode = [&](size_t size, unsigned char memory) {
    ::mallopt(M_PERTURB, memory);  // what is in memory that is new, or was freed
    auto decoded =
        Decode(encoded_.span().first(size), decoded_.size(), static_cast<std::byte>(memory));
    ::mallopt(M_PERTURB, 0);
    return decoded.value_or("an error");
  };
  for (size_t size = 0; size < encoded_.size(); ++size) {
    EXPECT_EQ(decode(size, 0x11), decode(size, 0x66)) << "from " << size << " bytes";
  }
}

TEST_P(CodecConformanceTest, DecodePartAgreesWithDecode) {
  if (!codec_->DecodesToPart()) {
    EXPECT_FALSE(codec_->DecodePart(encoded_.span()));
    return;
  }
  const auto part = codec_->DecodePart(encoded_.span());
  ASSERT_TRUE(part);
  EXPECT_EQ(Comparable(GetParam(), ToHex(*part)), Comparable(GetParam(), GetParam().decoded));
}

class RangeConformanceTest : public CodecConformanceTest {
 protected:
  void SetUp() override {
    if (codec_->DecodesRanges()) return;
    EXPECT_FALSE(codec_->BlockSize(EncodedBytes(encoded_.span()), decoded_.size()));
    EXPECT_FALSE(DecodeRange(encoded_.span(), 0, 1));
  }
  // Bytes [offset, offset + size) of what `encoded` decodes to, in hexadecimal.
  model::Result<std::string> DecodeRange(ConstByteSpan encoded, size_t offset, size_t size,
                                         std::byte pattern = std::byte{0xa5}) {
    GuardedBuffer memory(size, pattern);
    const auto status = codec_->DecodeRange(EncodedBytes(encoded), decoded_.size(), offset,
                                            decoded_.size(), memory.span());
    EXPECT_TRUE(memory.IsIntact());
    NDLFS_RETURN_IF_ERROR(status);
    return ToHex(memory.span());
  }
  std::string Slice(const std::string& hex, size_t offset, size_t size) const {
    return hex.substr(2 * offset, 2 * size);
  }
  // Calls `visit` with ranges that begin and end within blocks and between.
  template <typename Visit>
  void ForRanges(const Visit& visit, size_t steps = 3) const {
    if (!codec_->DecodesRanges()) return;
    const size_t step = decoded_.size() / steps + 1;
    for (size_t begin = 0; begin < decoded_.size(); begin += step) {
      for (size_t end = begin; end < decoded_.size(); end += step) visit(begin, end - begin);
      visit(begin, decoded_.size() - begin);
    }
  }
  // What holds for damaged chunks: a range either fails or is that of the
  // whole, if that can be decoded at all.
  void ExpectAgreement(ConstByteSpan damaged) {
    const auto whole = Decode(damaged, decoded_.size());
    ForRanges([&](size_t offset, size_t size) {
      const auto part = DecodeRange(damaged, offset, size);
      if (!whole || !part || whole->size() != 2 * decoded_.size()) return;
      EXPECT_EQ(*part, Slice(*whole, offset, size)) << offset << " + " << size;
    });
  }
};

TEST_P(RangeConformanceTest, AnyRangeIsThatOfTheWhole) {
  const auto visit = [&](size_t offset, size_t size) {
    const auto part = DecodeRange(encoded_.span(), offset, size);
    ASSERT_TRUE(part) << part.error().message();
    EXPECT_EQ(*part, Slice(GetParam().decoded, offset, size)) << offset << " + " << size;
  };
  ForRanges(visit, 31);
}

TEST_P(RangeConformanceTest, BlocksAreNoLargerThanTheWhole) {
  if (!codec_->DecodesRanges()) return;
  const auto block = codec_->BlockSize(EncodedBytes(encoded_.span()), decoded_.size());
  ASSERT_TRUE(block) << block.error().message();
  EXPECT_GE(*block, 1u);
  EXPECT_LE(*block, decoded_.size());
}

TEST_P(RangeConformanceTest, TruncatedInputGivesNoOtherBytes) {
  for (size_t size = 0; size < encoded_.size(); ++size) {
    ForRanges([&](size_t offset, size_t count) {
      const auto part = DecodeRange(encoded_.span().first(size), offset, count);
      if (!part || count == 0) return;
      EXPECT_EQ(*part, Slice(GetParam().decoded, offset, count)) << "from " << size << " bytes";
    });
  }
}

TEST_P(RangeConformanceTest, AnyFlippedBitGivesNothingThatTheWholeDoesNot) {
  Bytes damaged = Bytes::Copy(encoded_.span());
  for (size_t bit = 0; bit < damaged.size() * 8; ++bit) {
    const auto mask = static_cast<std::byte>(1 << bit % 8);
    damaged.data()[bit / 8] ^= mask;
    ExpectAgreement(damaged.span());
    damaged.data()[bit / 8] ^= mask;
  }
}

TEST_P(RangeConformanceTest, AnyByteSetToAllOnesGivesNothingThatTheWholeDoesNot) {
  Bytes damaged = Bytes::Copy(encoded_.span());
  for (size_t i = 0; i < damaged.size(); ++i) {
    const std::byte before = std::exchange(damaged.data()[i], std::byte{0xff});
    ExpectAgreement(damaged.span());
    damaged.data()[i] = before;
  }
}

TEST_P(RangeConformanceTest, WhatDamagedInputDecodesToIsAlwaysTheSame) {
  Bytes damaged = Bytes::Copy(encoded_.span());
  const auto decode = [&](size_t offset, size_t size, unsigned char memory) {
    ::mallopt(M_PERTURB, memory);
    auto part = DecodeRange(damaged.span(), offset, size, static_cast<std::byte>(memory));
    ::mallopt(M_PERTURB, 0);
    return part.value_or("an error");
  };
  for (size_t i = 0; i < damaged.size(); ++i) {
    damaged.data()[i] ^= std::byte{0x05};
    ForRanges([&](size_t offset, size_t size) {
      EXPECT_EQ(decode(offset, size, 0x11), decode(offset, size, 0x66)) << "byte " << i;
    });
    damaged.data()[i] ^= std::byte{0x05};
  }
}

std::vector<Golden> GoldensOfThisBuild() {
  std::vector<Golden> goldens;
  for (const Golden& golden : kGoldens) {
    if (IsBuiltIn(golden.dialect, golden.codec)) goldens.push_back(golden);
  }
  return goldens;
}

INSTANTIATE_TEST_SUITE_P(Goldens, RangeConformanceTest, testing::ValuesIn(GoldensOfThisBuild()),
                         [](const auto& info) { return std::string(info.param.test_name); });

INSTANTIATE_TEST_SUITE_P(Goldens, CodecConformanceTest, testing::ValuesIn(GoldensOfThisBuild()),
                         [](const auto& info) { return std::string(info.param.test_name); });

}  // namespace
}  // namespace ndlfs::backends
