// SPDX-License-Identifier: MIT
#include "backends/codec/codec_chain.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zstd.h>

#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "backends/codec/checksum.h"
#include "backends/codec/registry.h"
#include "tests/backends/codec/codec_testing.h"

namespace ndlfs::backends {
namespace {

using model::ByteOrder;
using model::Datatype;
using model::ErrorCode;
using ::testing::HasSubstr;
using Shape = std::vector<uint64_t>;

const Datatype kUint8 = Datatype::Integer(1, false);
const Datatype kInt16 = Datatype::Integer(2, true);

CodecChain Zarr3(std::string_view codecs, const ChunkForm& form) {
  auto chain = MakeZarr3Chain(*ParseJson(codecs), form);
  if (!chain) {
    ADD_FAILURE() << chain.error().message();
    return {};
  }
  return *std::move(chain);
}

std::string Zarr3Failure(std::string_view codecs, const ChunkForm& form,
                         ErrorCode code = ErrorCode::kBadInput) {
  return FailureOf(MakeZarr3Chain(*ParseJson(codecs), form), code);
}

CodecChain Zarr2(std::string_view filters, std::string_view compressor, bool fortran,
                 const Datatype& stored, const Shape& shape) {
  auto chain =
      MakeZarr2Chain(*ParseJson(filters), *ParseJson(compressor), fortran, stored, shape);
  if (!chain) {
    ADD_FAILURE() << chain.error().message();
    return {};
  }
  return *std::move(chain);
}

// Decodes, and expects it to work without a byte written outside.
std::string Decode(const CodecChain& chain, ConstByteSpan encoded, const Shape& shape,
                   uint32_t skip = 0) {
  GuardedBuffer memory(*ChunkForm{chain.dtype(), shape}.byte_size());
  Scratch scratch;
  const auto result = chain.Decode(encoded, shape, memory.span(), scratch, skip);
  EXPECT_TRUE(memory.IsIntact());
  return result ? ToHex(memory.span()) : result.error().message();
}

std::string DecodeFailure(const CodecChain& chain, ConstByteSpan encoded, const Shape& shape) {
  GuardedBuffer memory(*ChunkForm{chain.dtype(), shape}.byte_size());
  Scratch scratch;
  const auto result = chain.Decode(encoded, shape, memory.span(), scratch);
  EXPECT_TRUE(memory.IsIntact());
  return FailureOf(result, ErrorCode::kCorrupt);
}

Bytes Compress(ConstByteSpan bytes) {
  Bytes compressed(ZSTD_compressBound(bytes.size()));
  compressed.Shrink(
      ZSTD_compress(compressed.data(), compressed.size(), bytes.data(), bytes.size(), 1));
  return compressed;
}

Bytes AppendCrc32c(ConstByteSpan bytes) {
  Bytes out(bytes.size() + 4);
  std::memcpy(out.data(), bytes.data(), bytes.size());
  const uint32_t crc = Crc32c(bytes);
  std::memcpy(out.data() + bytes.size(), &crc, 4);
  return out;
}

TEST(Zarr3ChainTest, LittleEndianBytesAreTheElements) {
  const ChunkForm form{kInt16, {3}};
  const CodecChain chain =
      Zarr3(R"([{"name": "bytes", "configuration": {"endian": "little"}}])", form);
  EXPECT_TRUE(chain.IsIdentity());
  EXPECT_EQ(chain.MaxEncodedSize({3}), 6u);
  EXPECT_EQ(chain.ExactEncodedSize({2}), 4u);
  EXPECT_EQ(Decode(chain, FromHex("010002000300").span(), {3}), "010002000300");
}

TEST(Zarr3ChainTest, BigEndianNumbersOfEveryWidthAreReversed) {
  const std::string codecs = R"([{"name": "bytes", "configuration": {"endian": "big"}}])";
  const Bytes encoded = FromHex("000102030405060708090a0b0c0d0e0f");
  const auto decode = [&](const Datatype& dtype) {
    const ChunkForm form{dtype, {16 / dtype.size()}};
    return Decode(Zarr3(codecs, form), encoded.span(), form.shape);
  };
  EXPECT_EQ(decode(kUint8), "000102030405060708090a0b0c0d0e0f");
  EXPECT_EQ(decode(kInt16), "010003020504070609080b0a0d0c0f0e");
  EXPECT_EQ(decode(Datatype::Float32()), "03020100070605040b0a09080f0e0d0c");
  EXPECT_EQ(decode(Datatype::Float64()), "07060504030201000f0e0d0c0b0a0908");
  EXPECT_EQ(decode(Datatype::Complex(16)), "07060504030201000f0e0d0c0b0a0908");
  EXPECT_EQ(decode(Datatype::Float("float128", 16)), "0f0e0d0c0b0a09080706050403020100");
}

TEST(Zarr3ChainTest, EachMemberOfAStructIsReversed) {
  const Datatype dtype = Datatype::PackedCompound({{"a", kUint8},
                                                   {"b", Datatype::Float32()},
                                                   {"c", kInt16},
                                                   {"d", Datatype::Float("float128", 16)}});
  const CodecChain chain =
      Zarr3(R"([{"name": "bytes", "configuration": {"endian": "big"}}])", {dtype, {2}});
  const std::string element =
      "01"
      "02030405"
      "0607"
      "101112131415161718191a1b1c1d1e1f";
  const std::string swapped =
      "01"
      "05040302"
      "0706"
      "1f1e1d1c1b1a19181716151413121110";
  EXPECT_EQ(Decode(chain, FromHex(element + element).span(), {2}), swapped + swapped);
}

TEST(Zarr3ChainTest, EndianMayBeMissingOnlyWhereItMeansNothing) {
  const std::string codecs = R"([{"name": "bytes"}])";
  EXPECT_TRUE(Zarr3(codecs, {kUint8, {2}}).IsIdentity());
  EXPECT_TRUE(Zarr3(codecs, {Datatype::Bool(), {2}}).IsIdentity());
  EXPECT_TRUE(Zarr3(codecs, {Datatype::Opaque(7), {2}}).IsIdentity());
  EXPECT_THAT(Zarr3Failure(codecs, {kInt16, {2}}),
              HasSubstr("codecs[0]: bytes: endian is missing, and elements of int16 need it"));
  EXPECT_THAT(Zarr3Failure(codecs, {Datatype::Complex(8), {2}}), HasSubstr("endian"));
}

TEST(Zarr3ChainTest, StructsAndTextWithoutEndianAreLittleAsEarlyWritersMeant) {
  const Datatype dtype = Datatype::PackedCompound({{"a", kUint8}, {"b", kInt16}});
  EXPECT_TRUE(Zarr3(R"(["bytes"])", {dtype, {2}}).IsIdentity());
  const Datatype text = Datatype::FixedString(8, model::Charset::kUtf32);
  EXPECT_TRUE(Zarr3(R"(["bytes"])", {text, {2}}).IsIdentity());
}

TEST(Zarr3ChainTest, OtherEndianIsRefused) {
  EXPECT_THAT(Zarr3Failure(R"([{"name": "bytes", "configuration": {"endian": "middle"}}])",
                           {kInt16, {2}}),
              HasSubstr("codecs[0]: bytes: endian: expected \"little\" or \"big\", found "
                        "\"middle\""));
  EXPECT_THAT(
      Zarr3Failure(R"([{"name": "bytes", "configuration": {"endian": 1}}])", {kInt16, {2}}),
      HasSubstr("endian: expected a string, found the number 1"));
}

TEST(Zarr3ChainTest, BytesRefusesElementsOfVariableSize) {
  EXPECT_THAT(Zarr3Failure(R"(["bytes"])", {Datatype::String(), {2}}),
              HasSubstr("codecs[0]: bytes: string has no fixed size"));
}

TEST(Zarr3ChainTest, CodecsInAnImpossibleOrderAreRefused) {
  const ChunkForm form{kUint8, {2, 2}};
  EXPECT_THAT(Zarr3Failure(R"(["zstd", "bytes"])", form),
              HasSubstr("codecs[0]: zstd is a bytes to bytes codec, but no array to bytes "
                        "codec comes before it"));
  EXPECT_THAT(Zarr3Failure(R"(["bytes", "bytes"])", form),
              HasSubstr("codecs[1]: bytes is an array to bytes codec, but comes after the "
                        "array to bytes codec bytes"));
  EXPECT_THAT(
      Zarr3Failure(R"(["bytes", {"name": "transpose", "configuration": {"order": [1, 0]}}])",
                   form),
      HasSubstr("codecs[1]: transpose is an array to array codec, but comes after"));
  EXPECT_THAT(Zarr3Failure("[]", form), HasSubstr("codecs: no array to bytes codec"));
}

TEST(Zarr3ChainTest, MalformedEntriesAreRefused) {
  const ChunkForm form{kUint8, {2}};
  EXPECT_THAT(Zarr3Failure("{}", form), HasSubstr("codecs: expected a list, found an object"));
  EXPECT_THAT(Zarr3Failure("[3]", form),
              HasSubstr("codecs[0]: expected an object, found the number 3"));
  EXPECT_THAT(Zarr3Failure("[{}]", form), HasSubstr("codecs[0]: \"name\" is missing"));
  EXPECT_THAT(Zarr3Failure(R"([{"name": null}])", form),
              HasSubstr("name: expected a string, found null"));
  EXPECT_THAT(Zarr3Failure(R"([{"name": "bytes", "configuration": []}])", form),
              HasSubstr("configuration: expected an object, found a list of 0"));
  EXPECT_THAT(Zarr3Failure(R"([{"name": "bytes", "must_understand": "no"}])", form),
              HasSubstr("must_understand: expected true or false"));
}

TEST(Zarr3ChainTest, UnknownCodecsAreNamed) {
  EXPECT_THAT(Zarr3Failure(R"(["bytes", {"name": "brand\nnew"}])", {kUint8, {2}},
                           ErrorCode::kUnsupported),
              HasSubstr("codecs[1]: unknown codec \"brand\\x0anew\""));
  EXPECT_THAT(Zarr3Failure(R"(["numcodecs."])", {kUint8, {2}}, ErrorCode::kUnsupported),
              HasSubstr("unknown codec \"numcodecs.\""));
}

TEST(Zarr3ChainTest, AnUnknownCodecThatMayBeIgnoredIsIgnored) {
  EXPECT_TRUE(Zarr3(R"([{"name": "round", "must_understand": false}, "bytes"])", {kUint8, {2}})
                  .IsIdentity());
  EXPECT_THAT(Zarr3Failure(R"([{"name": "round", "must_understand": true}, "bytes"])",
                           {kUint8, {2}}, ErrorCode::kUnsupported),
              HasSubstr("codecs[0]: unknown codec \"round\""));
  // A known one is not.
  EXPECT_FALSE(
      Zarr3(R"(["bytes", {"name": "crc32c", "must_understand": false}])", {kUint8, {2}})
          .IsIdentity());
}

TEST(Zarr3ChainTest, TheDraftNameOfBytesIsKnown) {
  EXPECT_EQ(Decode(Zarr3(R"([{"name": "endian", "configuration": {"endian": "big"}}])",
                         {kInt16, {1}}),
                   FromHex("0102").span(), {1}),
            "0201");
}

TEST(Zarr3ChainTest, NumcodecsNamesAreKnown) {
  const Bytes elements = FromHex("01020304");
  EXPECT_EQ(Decode(Zarr3(R"(["bytes", "numcodecs.zstd"])", {kUint8, {4}}),
                   Compress(elements.span()).span(), {4}),
            "01020304");
}

TEST(CodecChainTest, ElementsOfTheWrongLengthAreCorrupt) {
  const CodecChain chain = Zarr3(R"(["bytes"])", {kUint8, {4}});
  EXPECT_EQ(DecodeFailure(chain, FromHex("010203").span(), {4}), "bytes: 3 bytes, expected 4");
  EXPECT_EQ(DecodeFailure(chain, FromHex("0102030405").span(), {4}),
            "bytes: 5 bytes, expected 4");
  EXPECT_EQ(DecodeFailure(chain, {}, {4}), "bytes: 0 bytes, expected 4");
}

TEST(CodecChainTest, SwappedElementsOfTheWrongLengthAreCorrupt) {
  const CodecChain chain =
      Zarr3(R"([{"name": "bytes", "configuration": {"endian": "big"}}])", {kInt16, {2}});
  EXPECT_EQ(DecodeFailure(chain, FromHex("010203").span(), {2}), "bytes: 3 bytes, expected 4");
}

TEST(CodecChainTest, ArrayCodecsGetNoElementsOfTheWrongLength) {
  const CodecChain fortran = Zarr2("null", "null", true, kUint8, {2, 3});
  EXPECT_EQ(DecodeFailure(fortran, AsBytes("abcde"), {2, 3}), "transpose: 5 bytes, expected 6");
  EXPECT_EQ(DecodeFailure(fortran, AsBytes("abcdefg"), {2, 3}),
            "transpose: 7 bytes, expected 6");
  EXPECT_EQ(DecodeFailure(fortran, {}, {2, 3}), "transpose: 0 bytes, expected 6");
  const CodecChain cast = Zarr3(R"([{"name": "cast_value", "configuration":
      {"data_type": "int8"}}, "bytes"])",
                                {kInt16, {2}});
  EXPECT_EQ(DecodeFailure(cast, AsBytes("a"), {2}), "cast_value: 1 bytes, expected 2");
  EXPECT_EQ(DecodeFailure(cast, AsBytes("abc"), {2}), "cast_value: 3 bytes, expected 2");
}

TEST(CodecChainTest, IntegersOfFewBitsHaveNoOtherBits) {
  const auto decode = [](std::string_view codecs, bool is_signed, unsigned bits,
                         std::string_view hex) {
    const ChunkForm form{Datatype::Integer(1, is_signed), {2, 2}};
    const auto chain = MakeZarr3Chain(*ParseJson(codecs), form, bits);
    if (!chain) return chain.error().message();
    return Decode(*chain, FromHex(hex).span(), {2, 2});
  };
  EXPECT_EQ(decode(R"(["bytes"])", true, 4, "17f8a90f"), "07f8f9ff");
  EXPECT_EQ(decode(R"(["bytes"])", false, 4, "17f8a90f"), "0708090f");
  EXPECT_EQ(decode(R"(["bytes"])", true, 2, "0102fdff"), "01fe01ff");
  // The first in the lowest bits.
  EXPECT_EQ(decode(R"(["packbits"])", true, 4, "87f9"), "07f8f9ff");
  EXPECT_EQ(decode(R"(["packbits"])", false, 2, "1b"), "03020100");
  constexpr std::string_view kTransposed =
      R"([{"name": "transpose", "configuration": {"order": [1, 0]}}, "packbits"])";
  EXPECT_EQ(decode(kTransposed, true, 4, "87f9"), "07f9f8ff");
}

TEST(CodecChainTest, AStageThatMakesTooLittleIsNamed) {
  const CodecChain chain = Zarr3(R"(["bytes", "zstd"])", {kUint8, {4}});
  EXPECT_EQ(DecodeFailure(chain, Compress(FromHex("010203").span()).span(), {4}),
            "zstd: 3 bytes, expected 4");
}

TEST(CodecChainTest, AStageThatMakesTooMuchIsNamed) {
  const CodecChain chain = Zarr3(R"(["bytes", "zstd"])", {kUint8, {4}});
  EXPECT_THAT(DecodeFailure(chain, Compress(AsBytes(std::string(1000, 'x'))).span(), {4}),
              HasSubstr("zstd: Destination buffer is too small"));
}

TEST(CodecChainTest, ChecksumsUnderAndOverCompressionAreChecked) {
  const Bytes elements = FromHex("0001020304050607");
  const ChunkForm form{kInt16, {4}};
  const std::string big = R"({"name": "bytes", "configuration": {"endian": "big"}})";
  const CodecChain under = Zarr3("[" + big + R"(, "crc32c", "zstd"])", form);
  const CodecChain over = Zarr3("[" + big + R"(, "zstd", "crc32c"])", form);
  Bytes under_encoded = Compress(AppendCrc32c(elements.span()).span());
  Bytes over_encoded = AppendCrc32c(Compress(elements.span()).span());
  EXPECT_EQ(Decode(under, under_encoded.span(), {4}), "0100030205040706");
  EXPECT_EQ(Decode(over, over_encoded.span(), {4}), "0100030205040706");
  over_encoded.data()[0] ^= std::byte{1};
  EXPECT_THAT(DecodeFailure(over, over_encoded.span(), {4}), HasSubstr("crc32c: stored "));
  EXPECT_FALSE(under.ExactEncodedSize({4}));
  EXPECT_GE(under.MaxEncodedSize({4}), under_encoded.size());
}

TEST(CodecChainTest, ChecksumsAloneHaveAnExactSize) {
  const CodecChain chain = Zarr3(R"(["bytes", "crc32c", "crc32c"])", {kUint8, {4}});
  EXPECT_EQ(chain.ExactEncodedSize({4}), 12u);
  const Bytes encoded = AppendCrc32c(AppendCrc32c(FromHex("01020304").span()).span());
  EXPECT_EQ(Decode(chain, encoded.span(), {4}), "01020304");
  EXPECT_EQ(DecodeFailure(chain, AppendCrc32c(FromHex("01").span()).span(), {4}),
            "crc32c: 1 bytes, expected 8");
}

TEST(CodecChainTest, FilterMaskLeavesOutStages) {
  const CodecChain chain = Zarr3(R"(["bytes", "crc32c", "zstd"])", {kUint8, {4}});
  const Bytes elements = FromHex("01020304");
  EXPECT_EQ(Decode(chain, AppendCrc32c(elements.span()).span(), {4}, 0b10), "01020304");
  EXPECT_EQ(Decode(chain, Compress(elements.span()).span(), {4}, 0b01), "01020304");
  EXPECT_EQ(Decode(chain, elements.span(), {4}, 0b11), "01020304");
  EXPECT_THAT(Decode(chain, elements.span(), {4}, 0b01), HasSubstr("zstd: "));
}

TEST(CodecChainTest, ScratchMemoryIsOnlyNeededBetweenStages) {
  const auto scratch = [](std::string_view codecs, const Datatype& dtype) {
    return Zarr3(codecs, {dtype, {2, 500}}).MaxScratchSize({2, 500});
  };
  EXPECT_EQ(scratch(R"(["bytes"])", kUint8), 0u);
  EXPECT_EQ(scratch(R"(["bytes", "zstd"])", kUint8), 0u);
  // Swapped in place, and not copied because of a checksum.
  EXPECT_EQ(
      scratch(R"([{"name": "bytes", "configuration": {"endian": "big"}}, "zstd", "crc32c"])",
              kInt16),
      0u);
  EXPECT_EQ(scratch(R"(["bytes", "crc32c", "zstd"])", kUint8), 1004u);
  EXPECT_EQ(scratch(R"(["bytes", {"name": "numcodecs.shuffle",
                                  "configuration": {"elementsize": 2}}, "zstd"])",
                    kUint8),
            1000u);
  EXPECT_EQ(scratch(R"([{"name": "transpose", "configuration": {"order": [1, 0]}},
                        {"name": "bytes", "configuration": {"endian": "big"}}, "zstd"])",
                    kInt16),
            2000u);
  EXPECT_EQ(scratch(R"(["vlen-utf8", "zstd"])", Datatype::String()), 0u);
}

TEST(CodecChainTest, SmallerChunksAtTheEdgeAreDecodedToo) {
  const CodecChain chain =
      Zarr3(R"([{"name": "transpose", "configuration": {"order": [1, 0]}}, "bytes", "zstd"])",
            {kUint8, {4, 4}});
  EXPECT_EQ(Decode(chain, Compress(FromHex("010203040506").span()).span(), {3, 2}),
            "010402050306");
  EXPECT_EQ(Decode(chain, Compress(FromHex("010203040506").span()).span(), {2, 3}),
            "010305020406");
}

TEST(CodecChainTest, ChunksOfHugeSizesAreRefused) {
  const uint64_t huge = uint64_t{1} << 62;
  EXPECT_THAT(Zarr3Failure(R"(["bytes"])", {kUint8, {huge}}, ErrorCode::kLimit),
              HasSubstr("more than 2^62 bytes"));
  EXPECT_THAT(Zarr3Failure(R"(["bytes"])", {kUint8, {huge, huge}}, ErrorCode::kLimit),
              HasSubstr("more than 2^62 bytes"));
}

TEST(CodecChainTest, TooManyCodecsAreRefused) {
  std::string codecs = R"(["bytes")";
  for (int i = 0; i < 33; ++i) codecs += R"(, "crc32c")";
  EXPECT_THAT(Zarr3Failure(codecs + "]", {kUint8, {1}}, ErrorCode::kLimit),
              HasSubstr("more than 32 codecs"));
}

TEST(CodecChainTest, AScalarChunkIsOneElement) {
  EXPECT_EQ(Decode(Zarr3(R"([{"name": "transpose", "configuration": {"order": []}}, "bytes"])",
                         {kUint8, {}}),
                   FromHex("2a").span(), {}),
            "2a");
}

TEST(CodecChainTest, IsSharedByThreads) {
  const ChunkForm form{Datatype::Integer(4, true), {64, 64}};
  const CodecChain chain = Zarr3(
      R"([{"name": "transpose", "configuration": {"order": [1, 0]}},
          {"name": "bytes", "configuration": {"endian": "big"}}, "zstd", "crc32c"])",
      form);
  std::vector<uint32_t> elements(64 * 64);
  std::iota(elements.begin(), elements.end(), 0);
  const Bytes encoded = AppendCrc32c(Compress(BytesOf(elements).span()).span());
  const std::string expected = Decode(chain, encoded.span(), form.shape);
  ASSERT_EQ(expected.size(), elements.size() * 8);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int round = 0; round < 20; ++round) {
        EXPECT_EQ(Decode(chain, encoded.span(), form.shape), expected);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(Zarr2ChainTest, NothingButElements) {
  const CodecChain chain = Zarr2("null", "null", false, kInt16, {2, 2});
  EXPECT_TRUE(chain.IsIdentity());
  EXPECT_TRUE(Zarr2("[]", "null", true, kInt16, {4}).IsIdentity());
}

TEST(Zarr2ChainTest, BigEndianElementsBecomeLittle) {
  const CodecChain chain =
      Zarr2("null", "null", false, Datatype::Integer(2, true, ByteOrder::kBig), {2});
  EXPECT_EQ(chain.dtype().order(), ByteOrder::kLittle);
  EXPECT_EQ(Decode(chain, FromHex("01020304").span(), {2}), "02010403");
}

TEST(Zarr2ChainTest, StructsMayMixByteOrders) {
  const Datatype stored =
      Datatype::PackedCompound({{"a", Datatype::Integer(2, true, ByteOrder::kBig)},
                                {"b", Datatype::Integer(2, true)},
                                {"c", Datatype::Float32(ByteOrder::kBig)}});
  const CodecChain chain = Zarr2("null", "null", false, stored, {1});
  EXPECT_EQ(Decode(chain, FromHex("0102030405060708").span(), {1}), "0201030408070605");
}

TEST(Zarr2ChainTest, OrderFIsColumnMajor) {
  // np.arange(6, dtype="u1").reshape(2, 3).tobytes("F")
  const CodecChain chain = Zarr2("null", "null", true, kUint8, {2, 3});
  EXPECT_EQ(Decode(chain, FromHex("000301040205").span(), {2, 3}), "000102030405");
}

TEST(Zarr2ChainTest, FiltersComeBeforeTheCompressor) {
  const CodecChain chain =
      Zarr2(R"([{"id": "crc32c"}])", R"({"id": "zstd", "level": 1})", false, kUint8, {4});
  EXPECT_EQ(
      Decode(chain, Compress(AppendCrc32c(FromHex("01020304").span()).span()).span(), {4}),
      "01020304");
}

TEST(Zarr2ChainTest, ErrorsSayWhichCodec) {
  const auto failure = [](std::string_view filters, std::string_view compressor,
                          const Datatype& stored, ErrorCode code = ErrorCode::kBadInput) {
    return FailureOf(
        MakeZarr2Chain(*ParseJson(filters), *ParseJson(compressor), false, stored, {2}), code);
  };
  EXPECT_THAT(failure("{}", "null", kUint8),
              HasSubstr("filters: expected a list or null, found an object"));
  EXPECT_THAT(
      failure(R"([{"id": "zstd"}, {"id": "x"}])", "null", kUint8, ErrorCode::kUnsupported),
      HasSubstr("filters[1]: unknown codec \"x\""));
  EXPECT_THAT(failure("null", R"("zstd")", kUint8),
              HasSubstr("compressor: expected an object, found the string \"zstd\""));
  EXPECT_THAT(failure("null", R"({"id": 1})", kUint8),
              HasSubstr("compressor: id: expected a string"));
  EXPECT_THAT(failure("null", "null", Datatype::String()),
              HasSubstr("filters: the elements are objects, and no codec encodes them"));
  EXPECT_THAT(failure("null", R"({"id": "zstd"})", Datatype::String()),
              HasSubstr("compressor: zstd: the elements are objects"));
}

TEST(ScratchTest, SlotsAreDistinctAndGrow) {
  Scratch scratch;
  const ByteSpan a = scratch.Get(0, 100);
  const ByteSpan b = scratch.Get(1, 100);
  EXPECT_NE(a.data(), b.data());
  EXPECT_EQ(scratch.Get(0, 50).data(), a.data());
  EXPECT_EQ(scratch.Get(0, 1000).size(), 1000u);
  scratch.Trim(0);
  EXPECT_EQ(scratch.Get(1, 10).size(), 10u);
}

TEST(FlatChainTest, FortranOrderIsColumnMajorAndOneAxisHasNone) {
  const auto decode = [](const FlatEncoding& encoding, const Shape& shape, const char* hex) {
    const auto chain = MakeFlatChain(encoding, shape);
    if (!chain) return chain.error().message();
    return Decode(*chain, FromHex(hex).span(), shape);
  };
  EXPECT_EQ(decode({.stored = kUint8}, {2, 3}, "000102030405"), "000102030405");
  EXPECT_EQ(decode({.stored = kUint8, .fortran_order = true}, {2, 3}, "000301040205"),
            "000102030405");
  EXPECT_EQ(
      decode({.stored = Datatype::Integer(2, true, ByteOrder::kBig), .fortran_order = true},
             {2, 2}, "0001000300020004"),
      "0100020003000400");
  const auto one = MakeFlatChain({.stored = kUint8, .fortran_order = true}, {4});
  ASSERT_TRUE(one) << one.error().message();
  EXPECT_TRUE(one->IsIdentity());
}

TEST(Zarr3ChainTest, CastToANarrowTypeMayNameItByAnObject) {
  // Stored as int4: the highest bits of a byte say nothing.
  for (const std::string_view type : {R"("int4")", R"({"name": "int4"})"}) {
    const auto chain = MakeZarr3Chain(
        *ParseJson(fmt::format(
            R"([{{"name": "cast_value", "configuration": {{"data_type": {}}}}}, "bytes"])",
            type)),
        {kInt16, {2}});
    ASSERT_TRUE(chain) << chain.error().message();
    EXPECT_EQ(Decode(*chain, FromHex("17f8").span(), {2}), "0700f8ff");
  }
}

}  // namespace
}  // namespace ndlfs::backends
