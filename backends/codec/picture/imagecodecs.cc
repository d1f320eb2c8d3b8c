// SPDX-License-Identifier: MIT
//
// Pictures under the names of Python's imagecodecs: bytes that become the bytes of the
// elements, as `imagecodecs.numcodecs` has them.
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

CodecResult MakeImagecodecsJpeg(const CodecConfig& config) {
  NDLFS_RETURN_IF_ERROR(
      RefuseMembers(config, {"header", "colorspace_data", "colorspace_jpeg", "lossless"}));
  PictureRule rule{.kind = PictureKind::kJpeg};
  NDLFS_TRY(const auto tables, TextMember(config, "tables"));
  if (tables) {
    auto bytes = model::DecodeBase64(*tables);
    if (!bytes) return model::BadInput("tables: expected base64");
    rule.tables.assign(reinterpret_cast<const char*>(bytes->data()), bytes->size());
  }
  return MakePicture(config, std::move(rule));
}

CodecResult MakeImagecodecsJpeg2k(const CodecConfig& config) {
  NDLFS_RETURN_IF_ERROR(RefuseMembers(config, {"planar"}));
  return MakePicture(config, {.kind = PictureKind::kJpeg2000});
}

CodecResult MakeImagecodecsJpegXl(const CodecConfig& config) {
  NDLFS_RETURN_IF_ERROR(RefuseMembers(config, {"planar", "index", "keeporientation"}));
  return MakePicture(config, {.kind = PictureKind::kJpegXl});
}

CodecResult MakeImagecodecsLerc(const CodecConfig& config) {
  NDLFS_RETURN_IF_ERROR(RefuseMembers(config, {"planar", "compression"}));
  // The library puts the bands of a picture one after the other.
  return MakePicture(config, {.kind = PictureKind::kLerc, .has_bands = false});
}

CodecResult MakeImagecodecsWebp(const CodecConfig& config) {
  NDLFS_RETURN_IF_ERROR(RefuseMembers(config, {"index", "hasalpha"}));
  return MakePicture(config, {.kind = PictureKind::kWebp});
}

}  // namespace ndlfs::backends
