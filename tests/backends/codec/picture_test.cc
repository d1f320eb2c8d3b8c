// SPDX-License-Identifier: MIT
//
// Chunks that are pictures: those of other programs, under the names that Zarr metadata give
// them and as TIFF has them, and pictures that are not what they are said to be.
#include "backends/codec/picture/picture.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <span>
#include <string>
#include <vector>

#include "backends/codec/registry.h"
#include "model/base64.h"
#include "tests/backends/codec/codec_testing.h"
#include "tests/backends/codec/picture_goldens.h"

namespace ndlfs::backends {
namespace {

using model::Datatype;
using model::ErrorCode;
using ::testing::AnyOf;
using ::testing::HasSubstr;

std::vector<std::byte> FromBase64(const char* text) {
  return model::DecodeBase64(text).value();
}

PictureKind KindOf(std::string_view codec) {
  if (codec == "imagecodecs_jpeg") return PictureKind::kJpeg;
  if (codec == "imagecodecs_jpeg2k") return PictureKind::kJpeg2000;
  if (codec == "imagecodecs_jpegxl") return PictureKind::kJpegXl;
  if (codec == "imagecodecs_lerc") return PictureKind::kLerc;
  if (codec == "imagecodecs_png") return PictureKind::kPng;
  return PictureKind::kWebp;
}

Datatype TypeOf(const PictureGolden& golden) { return *Datatype::FromKeyword(golden.type); }

const PictureGolden& Golden(std::string_view name) {
  for (const PictureGolden& golden : kPictureGoldens) {
    if (golden.test_name == name) return golden;
  }
  std::abort();
}

// Decodes to `shape`; the error if that fails.
std::string Decode(const PictureRule& rule, ConstByteSpan picture, const Datatype& type,
                   const std::vector<uint64_t>& shape,
                   PictureLayout layout = PictureLayout::kPixels, uint64_t most_rows = 0) {
  const auto codec = MakePictureCodec(rule, layout, most_rows);
  if (!codec) return codec.error().message();
  const ChunkForm form{type, shape};
  GuardedBuffer decoded(form.byte_size().value());
  const auto result = (*codec)->Decode(picture, form, decoded.span());
  EXPECT_TRUE(decoded.IsIntact());
  if (!result) return "error: " + result.error().message();
  return std::string(AsText(decoded.span()));
}

// 2100 x 2100 bytes that GDAL has written: rows of 0, and from row 2048 on of 50.
constexpr char kTallJpeg2000[] =
    "/0//UQApAAIAAAg0AAAINAAAAAAAAAAAAAAINAAACDQAAAAAAAAAAAABBwEB/1IAEgEAAAEABQQEAAGUlZaXmJn/"
    "XAATQEBISFBISFBISFBISFBISFD/ZAA9AAFDcmVhdGVkIGJ5IE9wZW5KUEVHIHZlcnNpb24gMi41LjAuIExPU1NM"
    "RVNTIHNldHRpbmdzIHVzZWT/kAAKAAAAAATUAAH/k+/gQX2jIBFQVK//b35K/0QN7JaaSGrhG8E7R+8jjJaaSGrh"
    "G8DPCJES4wEAAS6PobIwzIAKAAKgCAAAAAAAA+/gQX2jIBFQVK//b35K/0QN7JaaSGrhG8E7R+8jjJaaSGrhG8DP"
    "CJES4wEAAS6PobIwzIAKAAKgCAAAAAAAA+/gQX2jIBFQVK//b35K/0QN7JaaSGrhG8E7R+8jjJaaSGrhG8DPCJES"
    "4wEAAS6PobIwzIAKAAKgCAAAAAAAA+/gQX2jIBFQVK//b35K/0QN7JaaSGrhG8E7R+8jjJaaSGrhG8DPCJES4wEA"
    "AS6PobIwzIAKAAKgCAAAAAAAA+/gFX2goBFQVKth1OUA728IfR8QD7B+cVfIGOKWCpAQBgiAYSAEB4ROvwewfnFX"
    "yBjilgqQEAYIgGEgBAeETr8HsH5xV8gY4pYKkBAGCIBhIAQHhE6/B7B+cVfIGOKWCpAQBgiAYSAEB4ROvwewfnCX"
    "yAyKbVHiA8x/tB/OM35AoPChqqjf3ELugAAMIwT4EfovtB/OM35AoPChqqjf3ELugAAMIwT4EfovtB/OM35AoPCh"
    "qqjf3ELugAAMIwT4EfovtB/OM35AoPChqqjf3ELugAAMIwT4EfovtB/OF35AYKpcgYwzBPc/qg/nJvhQKqpOYgHL"
    "PwAAGEhJzIBhIS+qD+cm+FAqqk5iAcs/AAAYSEnMgGEhL6oP5yb4UCqqTmIByz8AABhIScyAYSEvqg/nJvhQKqpO"
    "YgHLPwAAGEhJzIBhIS+qD+cOxpcnuGBKF6A+EUAVPsK6L6A+EUAVPsK6L6A+EUAVPsK6L6A+EUAVPsK6L6A+EMAV"
    "Pa+AgICAgKkH85D85AD4UCqqTmHnshkAABhIS/9/+FAqqk5h57IZAAAYSEv/f6kH85D85AD4UCqqTmHnshkAABhI"
    "S/9/+FAqqk5h57IZAAAYSEv/f6kH85D85AD4UCqqTmHnshkAABhIS/9/+FAqqk5h57IZAAAYSEv/f6kH85D85AD4"
    "UCqqTmHnshkAABhIS/9/+FAqqk5h57IZAAAYSEv/f6oP5xTelaoKp84eEf9/sA9G9GAVPsL/Vr8VPsL/Vr+wD0b0"
    "YBU+wv9WvxU+wv9Wv7APRvRgFT7C/1a/FT7C/1a/sA9G9GAVPsL/Vr8VPsL/Vr+gHRQVPsL/f4CAgICAgICAgICA"
    "gICAgKSQfzkPzkP5yH5yAPhQKqpOYgImi2AAAADCQl/4UCqqTmICJotgAAAAwkJf+FAqqk5iAiaLYAAAAMJCX/hQ"
    "KqpOYgImi2AAAADCQl+kkH85D85D+ch+cgD4UCqqTmICJotgAAAAwkJf+FAqqk5iAiaLYAAAAMJCX/hQKqpOYgIm"
    "i2AAAADCQl/4UCqqTmICJotgAAAAwkJfpJB/OQ/OQ/nIfnIA+FAqqk5iAiaLYAAAAMJCX/hQKqpOYgImi2AAAADC"
    "Ql/4UCqqTmICJotgAAAAwkJf+FAqqk5iAiaLYAAAAMJCX6SQfzkPzkP5yH5yAPhQKqpOYgImi2AAAADCQl/4UCqq"
    "TmICJotgAAAAwkJf+FAqqk5iAiaLYAAAAMJCX/hQKqpOYgImi2AAAADCQl+qD+cY7FPKoYsGFbkAADCPgICAgID/"
    "2Q==";

// Few rows are decoded at once.
TEST(PictureRowsTest, LargeJpeg2000IsDecodedInParts) {
  if (!HasPictures(PictureKind::kJpeg2000)) GTEST_SKIP() << "not built in";
  constexpr size_t kSide = 2100, kRow = 2048;
  const std::string expected =
      std::string(kRow * kSide, '\0') + std::string((kSide - kRow) * kSide, 50);
  const PictureRule rule{.kind = PictureKind::kJpeg2000};
  const auto picture = FromBase64(kTallJpeg2000);
  const Datatype byte = Datatype::Integer(1, false);
  EXPECT_TRUE(Decode(rule, picture, byte, {kSide, kSide, 1}) == expected);
  EXPECT_TRUE(Decode(rule, picture, byte, {2050, kSide, 1}, PictureLayout::kPixels, kSide) ==
              expected.substr(0, 2050 * kSide));
}

class PictureGoldenTest : public testing::TestWithParam<PictureGolden> {
 protected:
  void SetUp() override {
    if (!HasPictures(rule_.kind)) GTEST_SKIP() << "not built in";
  }
  const PictureRule rule_{.kind = KindOf(GetParam().codec), .has_masks = true};
  const Datatype type_ = TypeOf(GetParam());
  const std::vector<uint64_t> shape_ = {kPictureHeight, kPictureWidth, GetParam().samples};
  const std::vector<std::byte> picture_ = FromBase64(GetParam().picture);
  const std::vector<std::byte> elements_ = FromBase64(GetParam().elements);
};

TEST_P(PictureGoldenTest, HasTheSamplesThatOtherProgramsRead) {
  EXPECT_EQ(Decode(rule_, picture_, type_, shape_), AsText(elements_));
  EXPECT_EQ(Decode(rule_, picture_, type_, {1, shape_[0] - 4, shape_[1], shape_[2]},
                   PictureLayout::kPixels, shape_[0]),
            AsText(elements_).substr(0, elements_.size() / shape_[0] * (shape_[0] - 4)))
      << "a strip at the end that was filled up";
}

TEST_P(PictureGoldenTest, IsACodecOfZarr) {
  const bool has_mask =
      std::string_view(GetParam().test_name).find("Mask") != std::string::npos;
  for (const auto dialect : {CodecDialect::kZarr3, CodecDialect::kNumcodecs}) {
    const auto codec = MakeBytesToBytes(dialect, GetParam().codec, "{}", {type_, shape_});
    Bytes decoded(elements_.size());
    const auto count = codec->Decode(picture_, decoded.span());
    if (has_mask) {
      ASSERT_FALSE(count) << "whose decoder says nothing about pixels without a value";
      EXPECT_THAT(count.error().message(), HasSubstr("LERC picture"));
      continue;
    }
    ASSERT_TRUE(count) << count.error().message();
    EXPECT_EQ(AsText(decoded.span().first(*count)), AsText(elements_));
  }
}

// imagecodecs itself has pictures as codecs of elements, without another one before them.
TEST_P(PictureGoldenTest, IsACodecOfElementsOfZarr) {
  if (std::string_view(GetParam().test_name).find("Mask") != std::string::npos) return;
  const auto codecs = ParseJson(fmt::format(R"([{{"name": "{}"}}])", GetParam().codec));
  const auto chain = MakeZarr3Chain(*codecs, {type_, shape_});
  ASSERT_TRUE(chain) << chain.error().message();
  Bytes decoded(elements_.size());
  Scratch scratch;
  const auto result = chain->Decode(picture_, shape_, decoded.span(), scratch);
  ASSERT_TRUE(result) << result.error().message();
  EXPECT_EQ(AsText(decoded.span()), AsText(elements_));
}

TEST_P(PictureGoldenTest, OtherSizesAreErrors) {
  const std::vector<std::vector<uint64_t>> shapes = {{shape_[0], shape_[1] + 1, shape_[2]},
                                                     {shape_[0] + 1, shape_[1], shape_[2]},
                                                     {shape_[0] - 1, shape_[1], shape_[2]},
                                                     {shape_[1], shape_[0], shape_[2]},
                                                     {shape_[0], shape_[1], shape_[2] + 2}};
  for (const auto& shape : shapes) {
    EXPECT_THAT(Decode(rule_, picture_, type_, shape), HasSubstr("error: "));
  }
  EXPECT_THAT(Decode(rule_, picture_, Datatype::Integer(8, false), shape_),
              AnyOf(HasSubstr("expected uint64"), HasSubstr("has no uint64")));
}

// A picture that ends early is an error, or lacks nothing but its end.
TEST_P(PictureGoldenTest, PicturesThatAreCutAreErrors) {
  for (size_t size = 0; size < picture_.size(); size += 3) {
    const std::string made = Decode(rule_, std::span(picture_).first(size), type_, shape_);
    if (size + 16 < picture_.size()) {
      EXPECT_THAT(made, HasSubstr("error: ")) << size;
    }
  }
}

TEST_P(PictureGoldenTest, BitsThatFlipAreErrorsOrOtherSamples) {
  for (size_t i = 0; i < picture_.size(); ++i) {
    std::vector<std::byte> changed = picture_;
    changed[i] ^= std::byte{1} << i % 8;
    (void)Decode(rule_, changed, type_, shape_);
  }
}

INSTANTIATE_TEST_SUITE_P(OfOtherPrograms, PictureGoldenTest, testing::ValuesIn(kPictureGoldens),
                         [](const auto& info) { return std::string(info.param.test_name); });

// JPEG XL as imagecodecs returns it.
class JpegXlGoldenTest : public testing::TestWithParam<JpegXlGolden> {
 protected:
  void SetUp() override {
    if (!HasPictures(PictureKind::kJpegXl)) GTEST_SKIP() << "not built in";
  }
};

std::string DecodeJpegXlAs(std::string_view configuration, const JpegXlGolden& golden,
                           size_t size) {
  const ChunkForm form{Datatype::Integer(1, false), {size}};
  const auto codec =
      MakeBytesToBytes(CodecDialect::kZarr3, "imagecodecs_jpegxl", configuration, form);
  Bytes decoded(size);
  const auto count = codec->Decode(FromBase64(golden.picture), decoded.span());
  if (!count) return "error: " + count.error().message();
  return std::string(AsText(decoded.span().first(*count)));
}

TEST_P(JpegXlGoldenTest, HasTheSamplesThatImagecodecsReturns) {
  const auto elements = FromBase64(GetParam().elements);
  for (const char* configuration :
       {"{}", R"({"keeporientation": false, "index": 0, "planar": true, "lossless": true})"}) {
    EXPECT_EQ(DecodeJpegXlAs(configuration, GetParam(), elements.size()), AsText(elements));
  }
  EXPECT_THAT(
      DecodeJpegXlAs("{}", GetParam(), elements.size() + kPictureHeight * kPictureWidth),
      HasSubstr("error: a picture of"))
      << "samples in addition";
}

INSTANTIATE_TEST_SUITE_P(OfImagecodecs, JpegXlGoldenTest, testing::ValuesIn(kJpegXlGoldens),
                         [](const auto& info) { return std::string(info.param.test_name); });

const JpegXlGolden& JpegXlOf(std::string_view name) {
  for (const JpegXlGolden& golden : kJpegXlGoldens) {
    if (golden.test_name == name) return golden;
  }
  std::abort();
}

TEST(JpegXlTest, OrientationIsKeptIfTheCodecSaysSo) {
  if (!HasPictures(PictureKind::kJpegXl)) GTEST_SKIP() << "not built in";
  const JpegXlGolden& golden = JpegXlOf("HalfTurn");
  const auto turned = FromBase64(golden.elements);
  std::string stored;
  for (size_t i = turned.size(); i > 0; i -= 3) stored += AsText(turned).substr(i - 3, 3);
  EXPECT_EQ(DecodeJpegXlAs(R"({"keeporientation": true})", golden, stored.size()), stored);
  const ChunkForm form{Datatype::Integer(1, false), {3}};
  for (const char* wrong : {R"({"keeporientation": 1})", R"({"index": 1})"}) {
    EXPECT_FALSE(MakeCodecFrom(CodecDialect::kNumcodecs, "imagecodecs_jpegxl", wrong, form));
  }
}

TEST(JpegXlTest, TilesHaveAllChannelsAsTheyAreStored) {
  if (!HasPictures(PictureKind::kJpegXl)) GTEST_SKIP() << "not built in";
  const PictureRule rule{.kind = PictureKind::kJpegXl};
  const auto planes = FromBase64(JpegXlOf("GreyWithPlanes").elements);
  const size_t pixels = planes.size() / 3;
  std::string interleaved;
  for (size_t i = 0; i < pixels; ++i) {
    for (size_t c = 0; c < 3; ++c) interleaved += static_cast<char>(planes[c * pixels + i]);
  }
  EXPECT_EQ(Decode(rule, FromBase64(JpegXlOf("GreyWithPlanes").picture),
                   Datatype::Integer(1, false), {kPictureHeight, kPictureWidth, 3}),
            interleaved);
  const auto turned = FromBase64(JpegXlOf("HalfTurn").elements);
  const std::string stored =
      Decode(rule, FromBase64(JpegXlOf("HalfTurn").picture), Datatype::Integer(1, false),
             {kPictureHeight, kPictureWidth, 3});
  EXPECT_EQ(stored.substr(0, 3), AsText(turned).substr(turned.size() - 3));
}

class PictureTest : public testing::Test {
 protected:
  void SetUp() override {
    for (const PictureKind kind : {PictureKind::kJpeg, PictureKind::kLerc}) {
      if (!HasPictures(kind)) GTEST_SKIP() << "not built in";
    }
  }
};

TEST_F(PictureTest, JpegOfManyPixelsIsRefusedBeforeItTakesMemory) {
  auto picture = FromBase64(Golden("JpegGrey").picture);
  // The start of the frame: height and width follow the bits.
  const std::string_view text = AsText(picture);
  const size_t frame = text.find("\xFF\xC0");
  ASSERT_NE(frame, std::string_view::npos);
  for (const size_t at : {frame + 5, frame + 7}) {
    picture[at] = std::byte{0xFF};
    picture[at + 1] = std::byte{0xDC};
  }
  EXPECT_EQ(
      Decode({.kind = PictureKind::kJpeg}, picture, Datatype::Integer(1, false), {256, 256},
             PictureLayout::kRows, 256),
      "error: a picture of 65500 x 65500 pixels with 1 samples, expected 256 x 256 with 1");
}

TEST_F(PictureTest, JpegWithoutTablesNeedsThoseOfTheFile) {
  const auto picture = FromBase64(Golden("JpegGrey").picture);
  const std::string text(AsText(picture));
  const size_t frame = text.find("\xFF\xC0"), scan = text.find("\xFF\xDA");
  const size_t codes = text.find("\xFF\xC4"), quantizers = text.find("\xFF\xDB");
  ASSERT_LT(quantizers, frame);
  ASSERT_LT(frame, codes);
  const std::string start = "\xFF\xD8";
  const std::string tables = start + text.substr(quantizers, frame - quantizers) +
                             text.substr(codes, scan - codes) + "\xFF\xD9";
  const std::string rest = start + text.substr(frame, codes - frame) + text.substr(scan);
  const std::vector<uint64_t> shape = {kPictureHeight, kPictureWidth};
  const auto decode = [&](const std::string& with) {
    return Decode({.kind = PictureKind::kJpeg, .tables = with}, AsBytes(rest),
                  Datatype::Integer(1, false), shape, PictureLayout::kRows);
  };
  EXPECT_EQ(decode(tables), AsText(FromBase64(Golden("JpegGrey").elements)));
  EXPECT_THAT(decode(""), HasSubstr("error: a JPEG picture that is invalid or cut"));
  EXPECT_THAT(decode("no tables"), HasSubstr("error: a JPEG picture that is invalid or cut"));
  EXPECT_THAT(decode(text), HasSubstr("error: a JPEG picture that is invalid or cut"))
      << "a picture is no stream of tables";
}

TEST_F(PictureTest, ColoursStayAsStoredOnlyIfTheyHaveAllPixels) {
  const auto picture = FromBase64(Golden("JpegColours").picture);
  EXPECT_THAT(Decode({.kind = PictureKind::kJpeg, .colours = PictureRule::Colours::kAsStored},
                     picture, Datatype::Integer(1, false), {kPictureHeight, kPictureWidth, 3}),
              HasSubstr("fewer samples than pixels"));
}

TEST_F(PictureTest, VolumesAreAnyPictureOfAsManyPixels) {
  const auto picture = FromBase64(Golden("JpegGrey").picture);
  const auto elements = FromBase64(Golden("JpegGrey").elements);
  const PictureRule rule{.kind = PictureKind::kJpeg};
  const Datatype bytes = Datatype::Integer(1, false);
  EXPECT_EQ(
      Decode(rule, picture, bytes, {kPictureWidth, 1, kPictureHeight}, PictureLayout::kVolume),
      AsText(elements));
  EXPECT_THAT(
      Decode(rule, picture, bytes, {kPictureWidth, 2, kPictureHeight}, PictureLayout::kVolume),
      HasSubstr("expected 374 pixels with 1"));
  const auto colours = FromBase64(Golden("JpegColours").elements);
  std::string planes;
  for (size_t c = 0; c < 3; ++c) {
    for (size_t i = c; i < colours.size(); i += 3) planes += static_cast<char>(colours[i]);
  }
  EXPECT_EQ(Decode(rule, FromBase64(Golden("JpegColours").picture), bytes,
                   {3, 1, kPictureHeight, kPictureWidth}, PictureLayout::kChannelsOfVolume),
            planes);
}

TEST_F(PictureTest, PixelsWithoutAValueAreRefusedWhereNothingSaysWhatTheyAre) {
  const PictureGolden& golden = Golden("LercMask");
  EXPECT_THAT(Decode({.kind = PictureKind::kLerc}, FromBase64(golden.picture), TypeOf(golden),
                     {kPictureHeight, kPictureWidth, 2}),
              HasSubstr("pixels that have no value"));
}

TEST_F(PictureTest, ColoursOfJpegAreThoseThatTheCodecSays) {
  const PictureGolden& golden = Golden("JpegColours");
  const auto picture = FromBase64(golden.picture);
  const ChunkForm form{Datatype::Integer(1, false), {kPictureHeight, kPictureWidth, 3}};
  const auto decode = [&](std::string_view configuration) {
    const auto codec =
        MakeBytesToBytes(CodecDialect::kNumcodecs, "imagecodecs_jpeg", configuration, form);
    Bytes decoded(form.byte_size().value());
    const auto count = codec->Decode(picture, decoded.span());
    if (!count) return "error: " + count.error().message();
    return std::string(AsText(decoded.span()));
  };
  const auto elements = FromBase64(golden.elements);
  EXPECT_EQ(decode(R"({"colorspace_jpeg": 3, "colorspace_data": 2, "bitspersample": 8})"),
            AsText(elements));
  EXPECT_EQ(decode(R"({"colorspace_jpeg": "YCbCr", "colorspace_data": "rgb"})"),
            AsText(elements));
  EXPECT_THAT(decode(R"({"colorspace_jpeg": 2, "colorspace_data": 2})"),
              HasSubstr("fewer samples than pixels"));
}

TEST_F(PictureTest, MembersThatChangeSamplesAreRefused) {
  const ChunkForm form{Datatype::Integer(1, false), {kPictureHeight, kPictureWidth}};
  const auto failure = [&](std::string_view name, std::string_view configuration) {
    return FailureOf(MakeCodecFrom(CodecDialect::kNumcodecs, name, configuration, form),
                     ErrorCode::kUnsupported);
  };
  EXPECT_THAT(failure("imagecodecs_jpeg", R"({"colorspace_data": "YCBCR"})"),
              HasSubstr("colorspace_data"));
  EXPECT_THAT(failure("imagecodecs_jpeg", R"({"colorspace_jpeg": 9})"),
              HasSubstr("colorspace_jpeg: the number 9 is not supported"));
  EXPECT_THAT(failure("imagecodecs_lerc", R"({"compression": "zstd"})"),
              HasSubstr("compression"));
  const ChunkForm big{Datatype::Integer(2, false).WithOrder(model::ByteOrder::kBig), {3, 3}};
  EXPECT_THAT(FailureOf(MakeCodecFrom(CodecDialect::kNumcodecs, "imagecodecs_lerc", "{}", big),
                        ErrorCode::kUnsupported),
              HasSubstr("big-endian"));
}

// Two bands of 5 x 3 pixels, which Lerc 4.0 wrote with a mask for each band or without any.
TEST_F(PictureTest, BandsOfLercBecomeSamplesOfPixels) {
  constexpr const char* kPlain =
      "TGVyYzIgBQAAADc2WlEDAAAABQAAAAEAAAAPAAAACAAAAF0AAAADAAAAAAAAAAAA4D8AAAAAAAAAAAAAAAAAgFdA"
      "AAAAAAAAXgAAQQCHD4CSUvGiUnJez3CAajYATGVyYzIgBQAAAEBNGPEDAAAABQAAAAEAAAAPAAAACAAAAF4AAAAD"
      "AAAAAAAAAAAA4D8AAAAAAHCPQAAAAAAAJJFAAAAAAO4DSQQAAe4Dhw+saMS23QABJaXiRaXkAA==";
  constexpr const char* kMasked =
      "TGVyYzIgBQAAAJ7pRcMDAAAABQAAAAEAAAAOAAAACAAAAI0AAAAGAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAgFdA"
      "BgAAAAIAv/8AgAAAAAAAALxCAQAAAAAAAJRCAAAgQQAAPEIAAKhCAACgQQAAZEIAALxCAADwQQAAhkIAAEBAAAAg"
      "QgAAmkIAAFBBTGVyYzIgBQAAAO8AkgYDAAAABQAAAAEAAAAOAAAACAAAAI0AAAAGAAAAAAAAAAAAAAAAAAAAAHCP"
      "QAAAAAAAJJFABgAAAAIA//0AgACAe0QAIIlEAQBAg0QA4IdEAMB/RACAhEQAIIlEACCBRADAhUQAgHtEAGCCRAAA"
      "h0QAAH5EAKCDRABAiEQAQIBE";
  constexpr size_t kPixels = 15, kBands = 2;
  std::vector<uint16_t> expected;
  for (size_t pixel = 0; pixel < kPixels; ++pixel) {
    for (size_t band = 0; band < kBands; ++band) {
      expected.push_back(
          static_cast<uint16_t>((band * kPixels + pixel) * 37 % 101 + 1000 * band));
    }
  }
  const std::vector<uint64_t> shape = {3, 5, kBands};
  const auto plain = FromBase64(kPlain);
  const Datatype numbers = Datatype::Integer(2, false);
  EXPECT_EQ(Decode({.kind = PictureKind::kLerc}, plain, numbers, shape),
            AsText(std::as_bytes(std::span(expected))));
  EXPECT_THAT(Decode({.kind = PictureKind::kLerc, .has_bands = false}, plain, numbers, shape),
              HasSubstr("a LERC picture of 2 bands"));
  std::vector<float> floats(expected.begin(), expected.end());
  floats[1 * kBands] = floats[14 * kBands + 1] = std::numeric_limits<float>::quiet_NaN();
  const std::string made = Decode({.kind = PictureKind::kLerc, .has_masks = true},
                                  FromBase64(kMasked), Datatype::Float32(), shape);
  EXPECT_THAT(ValuesOf<float>(AsBytes(made)),
              testing::Pointwise(testing::NanSensitiveFloatEq(), floats));
}

}  // namespace
}  // namespace ndlfs::backends
