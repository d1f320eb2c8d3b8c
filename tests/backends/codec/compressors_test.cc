// SPDX-License-Identifier: MIT
//
// What is particular to single compressors and checksums; what holds for all
// is in conformance_test.cc.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zstd.h>

#include <string>

#include "backends/codec/checksum.h"
#include "backends/codec/registry.h"
#include "backends/store/cancellation.h"
#include "tests/backends/codec/codec_testing.h"
#include "tests/support/little_endian.h"

namespace ndlfs::backends {
namespace {

using model::ErrorCode;
using ::testing::HasSubstr;

constexpr auto kNumcodecs = CodecDialect::kNumcodecs;

std::string DecodeText(const BytesToBytesCodec& codec, ConstByteSpan encoded,
                       size_t size = 1000) {
  Bytes decoded(size);
  const auto produced = codec.Decode(encoded, decoded.span());
  if (!produced) return "error: " + produced.error().message();
  return std::string(AsText(decoded.span().first(*produced)));
}

// python3 -c 'import gzip; print(gzip.compress(b"abc", mtime=0).hex())'
constexpr std::string_view kGzipAbc = "1f8b08000000000002ff4b4c4a0600c241243503000000";

TEST(GzipCodecTest, ZerosAfterTheLastMemberAreIgnored) {
  const auto codec = MakeBytesToBytes(CodecDialect::kZarr3, "gzip");
  EXPECT_EQ(DecodeText(*codec, FromHex(std::string(kGzipAbc) + "00000000").span()), "abc");
}

TEST(GzipCodecTest, OtherBytesAfterAMemberAreCorrupt) {
  const auto codec = MakeBytesToBytes(CodecDialect::kZarr3, "gzip");
  EXPECT_THAT(DecodeText(*codec, FromHex(std::string(kGzipAbc) + "01").span()),
              HasSubstr("error: invalid or truncated data"));
}

TEST(GzipCodecTest, WrongChecksumIsCorrupt) {
  Bytes damaged = FromHex(kGzipAbc);
  damaged.data()[damaged.size() - 8] ^= std::byte{1};
  EXPECT_THAT(DecodeText(*MakeBytesToBytes(CodecDialect::kZarr3, "gzip"), damaged.span()),
              HasSubstr("wrong checksum"));
}

TEST(ZlibCodecTest, BytesAfterTheStreamAreIgnored) {
  // zlib.compress(b"abc")
  const auto codec = MakeBytesToBytes(kNumcodecs, "zlib");
  EXPECT_EQ(DecodeText(*codec, FromHex("789c4b4c4a0600024d0127ffff").span()), "abc");
}

TEST(ZlibCodecTest, SaysThatThereIsMoreThanExpected) {
  const auto codec = MakeBytesToBytes(kNumcodecs, "zlib");
  EXPECT_EQ(DecodeText(*codec, FromHex("789c4b4c4a0600024d0127").span(), 2),
            "error: decodes to more than expected");
}

TEST(ZstdCodecTest, FramesWithoutTheirSizeAreDecoded) {
  ZSTD_CCtx* context = ZSTD_createCCtx();
  ZSTD_CCtx_setParameter(context, ZSTD_c_contentSizeFlag, 0);
  const std::string text(500, 'x');
  Bytes encoded(1000);
  encoded.Shrink(
      ZSTD_compress2(context, encoded.data(), encoded.size(), text.data(), text.size()));
  ZSTD_freeCCtx(context);
  ASSERT_EQ(ZSTD_getFrameContentSize(encoded.data(), encoded.size()), ZSTD_CONTENTSIZE_UNKNOWN);
  EXPECT_EQ(DecodeText(*MakeBytesToBytes(CodecDialect::kZarr3, "zstd"), encoded.span()), text);
}

TEST(ZstdCodecTest, ChecksumsOfFramesAreVerified) {
  ZSTD_CCtx* context = ZSTD_createCCtx();
  ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
  const std::string text = "abcdefgh";
  Bytes encoded(1000);
  encoded.Shrink(
      ZSTD_compress2(context, encoded.data(), encoded.size(), text.data(), text.size()));
  ZSTD_freeCCtx(context);
  encoded.data()[encoded.size() - 1] ^= std::byte{1};
  EXPECT_THAT(DecodeText(*MakeBytesToBytes(CodecDialect::kZarr3, "zstd"), encoded.span()),
              HasSubstr("error: Restored data doesn't match checksum"));
}

TEST(Lz4CodecTest, NeverTrustsItsHeader) {
  const auto codec = MakeBytesToBytes(kNumcodecs, "lz4");
  // 0x30: three literals.
  EXPECT_EQ(DecodeText(*codec, FromHex("0300000030616263").span()), "abc");
  EXPECT_EQ(DecodeText(*codec, FromHex("0400000030616263").span()),
            "error: decodes to 3 bytes, its header says 4");
  EXPECT_THAT(DecodeText(*codec, FromHex("ffffffff30616263").span()),
              HasSubstr("error: decodes to 4294967295 bytes, expected at most 1000"));
  EXPECT_EQ(DecodeText(*codec, FromHex("030000").span()), "error: 3 bytes, no header");
}

TEST(BloscCodecTest, HeadersThatLieAboutTheirSizeAreCorrupt) {
  const auto codec = MakeBytesToBytes(kNumcodecs, "blosc");
  // Version 2, LZ4 version 1, stored, type size 1; 3 bytes in blocks of 3.
  const std::string stored =
      "02012301"
      "03000000"
      "03000000"
      "13000000"
      "616263";
  EXPECT_EQ(DecodeText(*codec, FromHex(stored).span()), "abc");
  EXPECT_EQ(DecodeText(*codec, FromHex(stored).span(), 2),
            "error: decodes to 3 bytes, expected at most 2");
  const std::string decoded_lie =
      "02012301"
      "ffffff7f"
      "03000000"
      "13000000"
      "616263";
  EXPECT_THAT(DecodeText(*codec, FromHex(decoded_lie).span()), HasSubstr("error: "));
  const std::string encoded_lie =
      "02012301"
      "03000000"
      "03000000"
      "ffffff7f"
      "616263";
  EXPECT_EQ(DecodeText(*codec, FromHex(encoded_lie).span()),
            "error: 19 bytes, the header says 2147483647");
  EXPECT_EQ(DecodeText(*codec, FromHex("0201").span()), "error: 2 bytes, a header has 16");
}

// bz2.compress(b"abc"), lzma.compress(b"abc")
constexpr std::string_view kBz2Abc =
    "425a6839314159265359648cbb73000000010038002000219819846177245385090648cbb730";
constexpr std::string_view kXzAbc =
    "fd377a585a000004e6d6b4460200210116000000742fe5a301000261626300002776271a4a09d82c00011b030b"
    "2fb9101fb6f37d010000000004595a";

TEST(Bz2CodecTest, BytesAfterTheStreamsAreIgnored) {
  EXPECT_EQ(DecodeText(*MakeBytesToBytes(kNumcodecs, "bz2"),
                       FromHex(std::string(kBz2Abc) + "ff").span()),
            "abc");
}

TEST(SlowCodecsTest, StopWithinAChunkOnlyWhenTheRequestIsAbandoned) {
  for (const auto& [name, encoded] : {std::pair("bz2", kBz2Abc), std::pair("lzma", kXzAbc)}) {
    const auto codec = MakeBytesToBytes(kNumcodecs, name);
    const auto request = std::make_shared<Cancellation>();
    const CancellationScope scope(request);
    request->Cancel();
    EXPECT_EQ(DecodeText(*codec, FromHex(encoded).span()), "abc");
    request->Abandon();
    Bytes decoded(100);
    const auto produced = codec->Decode(FromHex(encoded).span(), decoded.span());
    ASSERT_FALSE(produced) << name;
    EXPECT_EQ(produced.error().code(), model::ErrorCode::kCancelled)
        << produced.error().message();
  }
}

TEST(LzmaCodecTest, DictionariesLargerThanTheDataJustifyAreRefused) {
  // An .lzma header that asks for 4 GiB.
  const auto codec = MakeBytesToBytes(kNumcodecs, "lzma", R"({"format": 2})");
  EXPECT_EQ(DecodeText(*codec, FromHex("5dffffffff030000000000000000").span()),
            "error: needs more memory than its size justifies");
}

TEST(LzmaCodecTest, ConfigurationsThatCannotBeAreRefused) {
  const auto failure = [](std::string_view configuration,
                          ErrorCode code = ErrorCode::kBadInput) {
    return MakeFailure(kNumcodecs, "lzma", configuration, ByteForm(1), code);
  };
  EXPECT_EQ(failure(R"({"format": 4})"),
            "lzma: format: expected an integer from 0 to 3, found 4");
  EXPECT_EQ(failure(R"({"format": 3})"), "lzma: a raw stream needs a list of filters");
  EXPECT_EQ(failure(R"({"format": 3, "filters": []})"), "lzma: filters: not a valid chain");
  EXPECT_EQ(failure(R"({"format": 3, "filters": [{"id": 99}]})", ErrorCode::kUnsupported),
            "lzma: filters[0]: id: there is no filter 99");
  EXPECT_EQ(failure(R"({"format": 3, "filters": [{"id": 33, "preset": 77}]})"),
            "lzma: filters[0]: preset: there is no preset 77");
  EXPECT_THAT(failure(R"({"format": 3, "filters": [{"id": 33, "lc": -1}]})"),
              HasSubstr("lzma: filters[0]: lc: expected a non-negative integer"));
  EXPECT_EQ(
      failure(R"({"format": 3, "filters": [{"id":3},{"id":3},{"id":3},{"id":3},{"id":3}]})"),
      "lzma: filters[4]: more than 4 filters");
}

TEST(Crc32cCodecTest, HasThePublishedCheckValue) {
  EXPECT_EQ(Crc32c(AsBytes("123456789")), 0xe3069283u);
  EXPECT_EQ(Crc32cPortable(AsBytes("123456789")), 0xe3069283u);
  EXPECT_EQ(Crc32c({}), 0u);
}

TEST(Crc32cCodecTest, TheProcessorsInstructionsAgreeWithTheTables) {
  std::vector<std::byte> bytes(40'000);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i * 7 + i / 256);
  // Wherever the lanes begin and end.
  for (size_t size = 0; size < bytes.size(); size += size < 300 ? 1 : 61) {
    const ConstByteSpan part = std::span(bytes).last(size);
    ASSERT_EQ(Crc32c(part), Crc32cPortable(part)) << size;
  }
}

TEST(Crc32cCodecTest, NamesBothChecksumsWhenTheyDiffer) {
  Bytes encoded = Bytes::Copy(AsBytes("123456789\x83\x92\x06\xe3"));
  const auto codec = MakeBytesToBytes(CodecDialect::kZarr3, "crc32c");
  EXPECT_EQ(DecodeText(*codec, encoded.span()), "123456789");
  encoded.data()[0] ^= std::byte{1};
  EXPECT_THAT(DecodeText(*codec, encoded.span()), HasSubstr("error: stored e3069283, found "));
  EXPECT_EQ(DecodeText(*codec, encoded.span().first(3)), "error: 3 bytes, no checksum");
}

TEST(Crc32cCodecTest, NumcodecsMayPutItFirst) {
  const auto codec = MakeBytesToBytes(kNumcodecs, "crc32c", R"({"location": "start"})");
  EXPECT_EQ(DecodeText(*codec, AsBytes("\x83\x92\x06\xe3"
                                       "123456789")),
            "123456789");
  EXPECT_EQ(MakeFailure(kNumcodecs, "crc32c", R"({"location": "middle"})", ByteForm(1)),
            "crc32c: location: expected \"start\" or \"end\", found \"middle\"");
}

TEST(RegistryTest, NamesAreSortedAndUnique) {
  const auto names = CodecNames();
  EXPECT_TRUE(std::is_sorted(names.begin(), names.end()));
  EXPECT_EQ(std::adjacent_find(names.begin(), names.end()), names.end());
  EXPECT_THAT(names, ::testing::Contains("zstd"));
  EXPECT_THAT(names, ::testing::Contains("pcodec"));
  EXPECT_THAT(names, ::testing::Not(::testing::Contains("pickle")));
  EXPECT_THAT(names, ::testing::IsSupersetOf({"bitshuffle", "lzf", "nbit", "scaleoffset"}));
  EXPECT_THAT(names, ::testing::Each(::testing::Not(::testing::StartsWith("3"))));
}

TEST(RegistryTest, HdfFiltersAreCalledFilters) {
  EXPECT_EQ(
      MakeFailure(CodecDialect::kHdf5, "4711", "{}", ByteForm(1), ErrorCode::kUnsupported),
      "unknown filter \"4711\"");
}

// Fletcher's sums of big-endian words modulo 65535, in which 65535 stands for 0, as HDF5 has
// it.
uint32_t SlowFletcher32(ConstByteSpan data) {
  uint64_t first = 0;
  uint64_t second = 0;
  for (size_t i = 0; i < data.size(); i += 2) {
    first += std::to_integer<uint64_t>(data[i]) << 8;
    if (i + 1 < data.size()) first += std::to_integer<uint64_t>(data[i + 1]);
    second += first;
  }
  const auto reduced = [](uint64_t sum) {
    return static_cast<uint32_t>(sum == 0 ? 0 : (sum - 1) % 65535 + 1);
  };
  return reduced(second) << 16 | reduced(first);
}

TEST(Fletcher32CodecTest, HasTheSumsOfAnyLengthAndTheLargestWordsDoNotOverflow) {
  const auto codec = MakeBytesToBytes(CodecDialect::kHdf5, "3");
  for (const bool is_largest : {false, true}) {
    std::vector<std::byte> bytes(3000, std::byte{0xff});
    for (size_t i = 0; i < bytes.size() && !is_largest; ++i) {
      bytes[i] = static_cast<std::byte>(i * 7 + i / 256);
    }
    for (size_t size = 0; size <= bytes.size(); ++size) {
      const ConstByteSpan part = std::span(bytes).first(size);
      std::string stored(AsText(part));
      stored += test::LittleEndian(SlowFletcher32(part), 4);
      ASSERT_TRUE(codec->DecodePart(AsBytes(stored))) << size;
    }
  }
}

TEST(LzmaCodecTest, FiltersOfProgramsAreKnown) {
  for (const int id : {4, 5, 6, 7, 8, 9}) {
    EXPECT_NE(MakeBytesToBytes(kNumcodecs, "lzma",
                               fmt::format(R"({{"format": 3, "filters":
                                   [{{"id": {}, "start_offset": null}}, {{"id": 33}}]}})",
                                           id)),
              nullptr)
        << id;
  }
  EXPECT_THAT(
      MakeFailure(kNumcodecs, "lzma",
                  R"({"format": 3, "filters": [{"id": 4, "start_offset": 4294967296}]})",
                  ByteForm(1)),
      HasSubstr("start_offset: 4294967296 is too large"));
  EXPECT_EQ(MakeFailure(kNumcodecs, "lzma", R"({"format": 3, "filters": {}})", ByteForm(1)),
            "lzma: a raw stream needs a list of filters");
}

TEST(LzmaCodecTest, RawStreamsMayNotTakeAllMemory) {
  const auto codec = MakeBytesToBytes(
      kNumcodecs, "lzma", R"({"format": 3, "filters": [{"id": 33, "dict_size": 1610612736}]})");
  Bytes decoded(3);
  EXPECT_FALSE(codec->Decode(FromHex("0100").span(), decoded.span()));
}

TEST(LzmaCodecTest, TheFormatMayBeFound) {
  const auto codec = MakeBytesToBytes(kNumcodecs, "lzma", R"({"format": 0})");
  const Bytes twice = FromHex(std::string(kXzAbc) + std::string(kXzAbc));
  Bytes decoded(6);
  const auto size = codec->Decode(twice.span(), decoded.span());
  ASSERT_TRUE(size) << size.error().message();
  EXPECT_EQ(AsText(decoded.span()), "abcabc") << "streams follow each other";
}

}  // namespace
}  // namespace ndlfs::backends
