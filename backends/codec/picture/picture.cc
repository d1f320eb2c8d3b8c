// SPDX-License-Identifier: MIT
#include "backends/codec/picture/picture.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "backends/base/checked.h"
#include "backends/codec/picture/decoders.h"

namespace ndlfs::backends {
namespace {

using model::Result;

class PictureCodec final : public ArrayToBytesCodec {
 public:
  PictureCodec(PictureRule rule, PictureLayout layout, uint64_t most_rows)
      : rule_(std::move(rule)), layout_(layout), most_rows_(most_rows) {}

  std::string_view name() const override { return NameOfPicture(rule_.kind); }
  std::optional<uint64_t> EncodedSize(const ChunkForm&) const override { return std::nullopt; }
  // No encoder makes a picture this large of so many samples; metadata may go with it.
  uint64_t MaxEncodedSize(const ChunkForm& form) const override {
    constexpr uint64_t kMetadata = uint64_t{1} << 20;
    const auto size = form.byte_size();
    const auto most = size ? CheckedMultiply(*size, 3) : std::nullopt;
    return most ? std::min(*most + kMetadata, kMaxViewSize) : kMaxViewSize;
  }

  Result<void> Decode(ConstByteSpan encoded, const ChunkForm& form,
                      ByteSpan decoded) const override {
    if (decoded.empty()) return {};
    PictureForm picture{form.dtype, std::nullopt, most_rows_, 1};
    const size_t rank = form.shape.size();
    switch (layout_) {
      case PictureLayout::kRows:
        picture.width = form.shape[rank - 1];
        break;
      case PictureLayout::kPixels:
        picture.width = form.shape[rank - 2];
        picture.samples = form.shape[rank - 1];
        break;
      case PictureLayout::kVolume:
        break;
      case PictureLayout::kChannelsOfVolume:
        picture.samples = form.shape[0];
        return DecodeChannels(encoded, picture, decoded);
    }
    return DecodePicture(rule_, encoded, picture, decoded);
  }

 private:
  Result<void> DecodeChannels(ConstByteSpan encoded, const PictureForm& form,
                              ByteSpan decoded) const {
    Bytes pixels(decoded.size());
    NDLFS_RETURN_IF_ERROR(DecodePicture(rule_, encoded, form, pixels.span()));
    const size_t size = form.type.size();
    const size_t channels = *form.samples;
    const size_t count = decoded.size() / size / channels;
    for (size_t c = 0; c < channels; ++c) {
      for (size_t i = 0; i < count; ++i) {
        std::memcpy(decoded.data() + (c * count + i) * size,
                    pixels.data() + (i * channels + c) * size, size);
      }
    }
    return {};
  }

  const PictureRule rule_;
  const PictureLayout layout_;
  const uint64_t most_rows_;
};

}  // namespace

std::string_view NameOfPicture(PictureKind kind) {
  switch (kind) {
    case PictureKind::kJpeg:
      return "JPEG";
    case PictureKind::kJpeg2000:
      return "JPEG 2000";
    case PictureKind::kJpegXl:
      return "JPEG XL";
    case PictureKind::kLerc:
      return "LERC";
    case PictureKind::kPng:
      return "PNG";
    default:
      return "WebP";
  }
}

bool HasPictures(PictureKind kind) {
  switch (kind) {
    case PictureKind::kJpeg:
      return NDLFS_WITH_JPEG != 0;
    case PictureKind::kJpeg2000:
      return NDLFS_WITH_OPENJPEG != 0;
    case PictureKind::kJpegXl:
      return NDLFS_WITH_JXL != 0;
    case PictureKind::kLerc:
      return NDLFS_WITH_LERC != 0;
    case PictureKind::kPng:
      return NDLFS_WITH_LIBPNG != 0;
    default:
      return NDLFS_WITH_WEBP != 0;
  }
}

Result<std::shared_ptr<const ArrayToBytesCodec>> MakePictureCodec(const PictureRule& rule,
                                                                  PictureLayout layout,
                                                                  uint64_t most_rows) {
  if (!HasPictures(rule.kind)) {
    return model::Unsupported("{} is not built in", NameOfPicture(rule.kind));
  }
  return std::make_shared<const PictureCodec>(rule, layout, most_rows);
}

Result<uint64_t> CheckPictureSize(const PictureForm& form, const PictureSize& found,
                                  uint64_t bytes) {
  const uint64_t item = form.type.size();
  const uint64_t samples = form.samples.value_or(found.samples);
  const auto row = CheckedProduct(std::array{found.width, found.samples, item});
  const auto all = row ? CheckedMultiply(*row, found.height) : std::nullopt;
  const bool has_size =
      all && *all != 0 && found.samples == samples &&
      (form.width ? found.width == *form.width && bytes % *row == 0 && *all >= bytes &&
                        (*all == bytes || found.height <= form.most_rows)
                  : *all == bytes);
  if (has_size) return *row;
  const uint64_t pixels = bytes / item / std::max<uint64_t>(1, samples);
  if (form.width) {
    return model::Corrupt(
        "a picture of {} x {} pixels with {} samples, expected {} x {} with {}", found.width,
        found.height, found.samples, *form.width, pixels / std::max<uint64_t>(1, *form.width),
        samples);
  }
  return model::Corrupt(
      "a picture of {} x {} pixels with {} samples, expected {} pixels with {}", found.width,
      found.height, found.samples, pixels, samples);
}

Result<void> CheckPictureType(const PictureForm& form, const model::Datatype& found) {
  if (form.type == found) return {};
  return model::Unsupported("a picture of {}, expected {}", found.keyword(),
                            form.type.keyword());
}

Result<void> DecodePicture(const PictureRule& rule, [[maybe_unused]] ConstByteSpan picture,
                           [[maybe_unused]] const PictureForm& form, ByteSpan out) {
  if (out.empty()) return {};
  switch (rule.kind) {
#if NDLFS_WITH_JPEG
    case PictureKind::kJpeg:
      return DecodeJpeg(rule, picture, form, out);
#endif
#if NDLFS_WITH_OPENJPEG
    case PictureKind::kJpeg2000:
      return DecodeJpeg2000(picture, form, out);
#endif
#if NDLFS_WITH_JXL
    case PictureKind::kJpegXl:
      return DecodeJpegXl(rule, picture, form, out);
#endif
#if NDLFS_WITH_LERC
    case PictureKind::kLerc:
      return DecodeLerc(rule, picture, form, out);
#endif
#if NDLFS_WITH_LIBPNG
    case PictureKind::kPng:
      return DecodePngPicture(picture, form, out);
#endif
#if NDLFS_WITH_WEBP
    case PictureKind::kWebp:
      return DecodeWebp(picture, form, out);
#endif
    default:
      return model::Unsupported("{} is not built in", NameOfPicture(rule.kind));
  }
}

}  // namespace ndlfs::backends
