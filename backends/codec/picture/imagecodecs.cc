// SPDX-License-Identifier: MIT
//
// Pictures under the names of Python's imagecodecs: bytes that become the bytes of the
// elements, as `imagecodecs.numcodecs` has them.
#include <algorithm>
#include <iterator>
#include <limits>
#include <string>
#include <utility>

#include "backends/codec/factories.h"
#include "backends/codec/picture/picture.h"
#include "model/base64.h"

namespace ndlfs::backends {
namespace {

class ImagecodecsPicture final : public BytesToBytesCodec {
 public:
  ImagecodecsPicture(PictureRule rule, model::Datatype type)
      : rule_(std::move(rule)), type_(std::move(type)) {}

  std::string_view name() const override { return NameOfPicture(rule_.kind); }
  SizeBound EncodedSize(uint64_t decoded_size) const override {
    return {CompressorBound(decoded_size).size * 2, false};
  }
  // A picture has no size that other bytes could follow: it is the whole chunk.
  model::Result<size_t> Decode(ConstByteSpan encoded, ByteSpan decoded) const override {
    const PictureForm form{type_, std::nullopt, 0, std::nullopt};
    NDLFS_RETURN_IF_ERROR(DecodePicture(rule_, encoded, form, decoded));
    return decoded.size();
  }

 private:
  const PictureRule rule_;
  const model::Datatype type_;
};

// Fails for members that change what a decoder makes; null and false are their defaults.
model::Result<void> RefuseMembers(const CodecConfig& config,
                                  std::initializer_list<const char*> names) {
  for (const char* name : names) {
    const Json* member = FindMember(config, name);
    if (member && *member != false) {
      return model::Unsupported("{}: {} is not supported", name, DescribeJson(*member));
    }
  }
  return {};
}

// Colour spaces of libjpeg, by which imagecodecs names them, too.
enum class JpegSpace : uint8_t { kUnknown, kGrey, kRgb, kYCbCr, kCmyk, kYcck };

model::Result<std::optional<JpegSpace>> SpaceMember(const CodecConfig& config,
                                                    const char* name) {
  constexpr std::string_view kNames[] = {"UNKNOWN", "GRAYSCALE", "RGB",
                                         "YCBCR",   "CMYK",      "YCCK"};
  const Json* member = FindMember(config, name);
  if (!member) return std::nullopt;
  for (size_t i = 0; i < std::size(kNames); ++i) {
    std::string text = member->is_string() ? member->get<std::string>() : "";
    for (char& c : text) c = static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
    if (text == kNames[i] || (member->is_number_unsigned() && *member == i)) {
      return static_cast<JpegSpace>(i);
    }
  }
  return model::Unsupported("{}: {} is not supported", name, DescribeJson(*member));
}

// What becomes of the colours of a JPEG picture that has those of `colorspace_jpeg` (its
// markers say which, if this is absent), and shall have those of `colorspace_data`.
model::Result<PictureRule::Colours> JpegColours(const CodecConfig& config) {
  using Colours = PictureRule::Colours;
  NDLFS_TRY(const auto from, SpaceMember(config, "colorspace_jpeg"));
  NDLFS_TRY(const auto to, SpaceMember(config, "colorspace_data"));
  const bool becomes_rgb = !to || to == JpegSpace::kRgb;
  if (!from && becomes_rgb) return Colours::kAsMarked;
  if (from == JpegSpace::kYCbCr && becomes_rgb) return Colours::kFromYCbCr;
  if (from && to == from) return Colours::kAsStored;
  return model::Unsupported(
      "colorspace_data: colours that become others than RGB are not supported");
}

// Fails for a picture other than the first one of a file.
model::Result<void> RefuseOtherFrames(const CodecConfig& config) {
  const Json* index = FindMember(config, "index");
  if (index == nullptr || *index == 0) return {};
  return model::Unsupported("index: {} is not supported", DescribeJson(*index));
}

CodecResult MakePicture(const CodecConfig& config, PictureRule rule) {
  if (!HasPictures(rule.kind)) {
    return model::Unsupported("{} is not built in", NameOfPicture(rule.kind));
  }
  if (!config.form || !config.form->dtype.is_fixed_size()) {
    return model::Unsupported("{} of elements of variable size", NameOfPicture(rule.kind));
  }
  const model::Datatype& type = config.form->dtype;
  // imagecodecs makes numbers in the order of the processor.
  if (!type.SameLayout(type.WithOrder(model::ByteOrder::kLittle))) {
    return model::Unsupported("{} of big-endian elements", NameOfPicture(rule.kind));
  }
  return NewCodec<ImagecodecsPicture>(std::move(rule), type);
}

}  // namespace

bool IsImagecodecsPicture(std::string_view name) {
  constexpr std::string_view kNames[] = {
      "imagecodecs_jpeg", "imagecodecs_jpeg8", "imagecodecs_jpeg2k", "imagecodecs_jpegxl",
      "imagecodecs_lerc", "imagecodecs_png",   "imagecodecs_spng",   "imagecodecs_webp"};
  return std::ranges::find(kNames, name) != std::end(kNames);
}

static CodecResult MakeImagecodecsDeflate(const CodecConfig& config) {
  NDLFS_RETURN_IF_ERROR(RefuseMembers(config, {"raw"}));
  return kZlibEntry.make(config);
}

static CodecResult MakeImagecodecsJpeg(const CodecConfig& config) {
  NDLFS_RETURN_IF_ERROR(RefuseMembers(config, {"header", "lossless"}));
  PictureRule rule{.kind = PictureKind::kJpeg};
  NDLFS_TRY(rule.colours, JpegColours(config));
  NDLFS_TRY(const auto tables, TextMember(config, "tables"));
  if (tables) {
    auto bytes = model::DecodeBase64(*tables);
    if (!bytes) return model::BadInput("tables: expected base64");
    rule.tables.assign(reinterpret_cast<const char*>(bytes->data()), bytes->size());
  }
  return MakePicture(config, std::move(rule));
}

static CodecResult MakeImagecodecsJpeg2k(const CodecConfig& config) {
  NDLFS_RETURN_IF_ERROR(RefuseMembers(config, {"planar"}));
  return MakePicture(config, {.kind = PictureKind::kJpeg2000});
}

static CodecResult MakeImagecodecsJpegXl(const CodecConfig& config) {
  NDLFS_RETURN_IF_ERROR(RefuseOtherFrames(config));
  const Json* keeps = FindMember(config, "keeporientation");
  if (keeps && !keeps->is_boolean()) {
    return model::BadInput("keeporientation: expected a boolean, found {}",
                           DescribeJson(*keeps));
  }
  return MakePicture(config, {.kind = PictureKind::kJpegXl,
                              .keeps_orientation = keeps && *keeps == true,
                              .extras = PictureRule::Extras::kAsImagecodecs});
}

static CodecResult MakeImagecodecsLerc(const CodecConfig& config) {
  NDLFS_RETURN_IF_ERROR(RefuseMembers(config, {"planar", "compression"}));
  // The library puts the bands of a picture one after the other.
  return MakePicture(config, {.kind = PictureKind::kLerc, .has_bands = false});
}

static CodecResult MakeImagecodecsPng(const CodecConfig& config) {
  return MakePicture(config, {.kind = PictureKind::kPng});
}

static CodecResult MakeImagecodecsBitorder(const CodecConfig&) {
  return AnyCodec(MakeReverseBits());
}

static CodecResult MakeImagecodecsLz4(const CodecConfig& config) {
  const Json* header = FindMember(config, "header");
  if (header != nullptr && *header != true) {
    return model::Unsupported("header: {} is not supported", DescribeJson(*header));
  }
  return kLz4Entry.make(config);
}

static CodecResult MakeImagecodecsWebp(const CodecConfig& config) {
  NDLFS_RETURN_IF_ERROR(RefuseOtherFrames(config));
  NDLFS_RETURN_IF_ERROR(RefuseMembers(config, {"hasalpha"}));
  return MakePicture(config, {.kind = PictureKind::kWebp});
}

const CodecEntry kImagecodecsBitorderEntry = {"imagecodecs_bitorder", "imagecodecs_bitorder",
                                              "", MakeImagecodecsBitorder};
const CodecEntry kImagecodecsDeflateEntry = {"imagecodecs_deflate", "imagecodecs_deflate", "",
                                             MakeImagecodecsDeflate, ""};
const CodecEntry kImagecodecsJpegEntry = {"imagecodecs_jpeg", "imagecodecs_jpeg", "",
                                          IfBuilt(NDLFS_WITH_JPEG, MakeImagecodecsJpeg)};
const CodecEntry kImagecodecsJpeg2kEntry = {
    "imagecodecs_jpeg2k", "imagecodecs_jpeg2k", "",
    IfBuilt(NDLFS_WITH_OPENJPEG, MakeImagecodecsJpeg2k)};
const CodecEntry kImagecodecsJpeg8Entry = {"imagecodecs_jpeg8", "imagecodecs_jpeg8", "",
                                           IfBuilt(NDLFS_WITH_JPEG, MakeImagecodecsJpeg), ""};
const CodecEntry kImagecodecsJpegXlEntry = {"imagecodecs_jpegxl", "imagecodecs_jpegxl", "",
                                            IfBuilt(NDLFS_WITH_JXL, MakeImagecodecsJpegXl)};
const CodecEntry kImagecodecsLercEntry = {"imagecodecs_lerc", "imagecodecs_lerc", "",
                                          IfBuilt(NDLFS_WITH_LERC, MakeImagecodecsLerc)};
const CodecEntry kImagecodecsLz4Entry = {"imagecodecs_lz4", "imagecodecs_lz4", "",
                                         MakeImagecodecsLz4, ""};
const CodecEntry kImagecodecsPngEntry = {"imagecodecs_png", "imagecodecs_png", "",
                                         IfBuilt(NDLFS_WITH_LIBPNG, MakeImagecodecsPng)};
const CodecEntry kImagecodecsSpngEntry = {"imagecodecs_spng", "imagecodecs_spng", "",
                                          IfBuilt(NDLFS_WITH_LIBPNG, MakeImagecodecsPng), ""};
const CodecEntry kImagecodecsWebpEntry = {"imagecodecs_webp", "imagecodecs_webp", "",
                                          IfBuilt(NDLFS_WITH_WEBP, MakeImagecodecsWebp)};

}  // namespace ndlfs::backends
