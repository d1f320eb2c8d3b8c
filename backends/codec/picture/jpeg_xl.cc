// SPDX-License-Identifier: MIT
#include <jxl/decode.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <vector>

#include "backends/base/checked.h"
#include "backends/codec/picture/decoders.h"

namespace ndlfs::backends {
namespace {

// The memory that libjxl may take: several floats for each sample, and tables.
constexpr uint64_t kJxlTables = uint64_t{64} << 20;
constexpr uint64_t kJxlBytesOfSample = 128;

// Counts what libjxl allocates. It has one thread.
class JxlMemory {
 public:
  explicit JxlMemory(uint64_t most) : left_(most) {}

  JxlMemoryManager manager() { return {this, Allocate, Free}; }

 private:
  // Before each block, whose alignment it keeps: its size.
  static constexpr size_t kBefore = 64;

  static void* Allocate(void* memory, size_t size) {
    auto* self = static_cast<JxlMemory*>(memory);
    if (size > self->left_) return nullptr;
    auto* block = static_cast<std::byte*>(std::malloc(size + kBefore));
    if (block == nullptr) return nullptr;
    self->left_ -= size;
    std::memcpy(block, &size, sizeof(size));
    return block + kBefore;
  }
  static void Free(void* memory, void* address) {
    if (address == nullptr) return;
    auto* block = static_cast<std::byte*>(address) - kBefore;
    size_t size = 0;
    std::memcpy(&size, block, sizeof(size));
    static_cast<JxlMemory*>(memory)->left_ += size;
    std::free(block);
  }

  uint64_t left_;
};

std::optional<JxlDataType> JxlTypeOf(const model::Datatype& type) {
  if (type == model::Datatype::Integer(1, false)) return JXL_TYPE_UINT8;
  if (type == model::Datatype::Integer(2, false)) return JXL_TYPE_UINT16;
  if (type == model::Datatype::Float("float16", 2)) return JXL_TYPE_FLOAT16;
  if (type == model::Datatype::Float32()) return JXL_TYPE_FLOAT;
  return std::nullopt;
}

// The samples of a picture: colours, and extra channels that are planes of their own.
class JxlPicture {
 public:
  JxlPicture(JxlDecoder* decoder, const PictureRule& rule, const PictureForm& form,
             JxlDataType type)
      : decoder_(decoder), rule_(rule), form_(form), format_{1, type, JXL_LITTLE_ENDIAN, 0} {}

  // `bytes`: of the samples that are wanted.
  model::Result<void> ReadInfo(uint64_t bytes) {
    JxlBasicInfo info;
    if (JxlDecoderGetBasicInfo(decoder_, &info) != JXL_DEC_SUCCESS) return Invalid();
    if (info.have_animation != JXL_FALSE) {
      return model::Unsupported("a JPEG XL picture that moves");
    }
    NDLFS_RETURN_IF_ERROR(CheckType(info.bits_per_sample, info.exponent_bits_per_sample));
    NDLFS_RETURN_IF_ERROR(ChooseExtras(info));
    const uint64_t samples = info.num_color_channels + extras_.size();
    NDLFS_TRY(row_bytes_, CheckPictureSize(form_, {info.xsize, info.ysize, samples}, bytes));
    format_.num_channels = info.num_color_channels;
    pixels_ = uint64_t{info.xsize} * info.ysize;
    return {};
  }

  // Colours go to `out` if nothing else does.
  model::Result<void> SetBuffers(ByteSpan out) {
    if (pixels_ == 0) return Invalid();
    const size_t size = form_.type.size();
    const size_t bytes = pixels_ * format_.num_channels * size;
    const bool is_alone = extras_.empty() && bytes == out.size();
    if (!is_alone) colours_ = Bytes(bytes);
    bool is_good =
        JxlDecoderSetImageOutBuffer(decoder_, &format_, is_alone ? out.data() : colours_.data(),
                                    bytes) == JXL_DEC_SUCCESS;
    JxlPixelFormat plane = format_;
    plane.num_channels = 1;
    for (size_t i = 0; i < extras_.size() && is_good; ++i) {
      planes_.emplace_back(pixels_ * size);
      is_good =
          JxlDecoderSetExtraChannelBuffer(decoder_, &plane, planes_.back().data(),
                                          planes_.back().size(), extras_[i]) == JXL_DEC_SUCCESS;
    }
    if (!is_good) return Invalid();
    return {};
  }

  void Copy(ByteSpan out) const {
    if (colours_.empty()) return;
    if (extras_.empty()) {
      std::memcpy(out.data(), colours_.data(), out.size());
    } else if (is_planar_) {
      CopyPlanes(out);
    } else {
      CopyPixels(out);
    }
  }

  static model::Failure Invalid() {
    return model::Corrupt("a JPEG XL picture that is invalid or cut");
  }

 private:
  // The library would stretch samples of other bits to the whole type.
  model::Result<void> CheckType(uint32_t bits, uint32_t exponent) const {
    const bool is_float =
        format_.data_type == JXL_TYPE_FLOAT || format_.data_type == JXL_TYPE_FLOAT16;
    if (bits == form_.type.size() * 8 && (exponent != 0) == is_float) return {};
    return model::Unsupported("a JPEG XL picture of {} bits, expected {}", bits,
                              form_.type.keyword());
  }

  // Which extra channels are wanted, in their order.
  model::Result<void> ChooseExtras(const JxlBasicInfo& info) {
    std::optional<uint32_t> alpha;
    for (uint32_t i = 0; i < info.num_extra_channels; ++i) {
      JxlExtraChannelInfo extra;
      if (JxlDecoderGetExtraChannelInfo(decoder_, i, &extra) != JXL_DEC_SUCCESS) {
        return Invalid();
      }
      if (extra.type == JXL_CHANNEL_ALPHA && !alpha) alpha = i;
      extras_.push_back(i);
    }
    if (rule_.extras == PictureRule::Extras::kAsImagecodecs) {
      is_planar_ = !alpha && info.num_color_channels == 1;
      if (!is_planar_) extras_.clear();
      if (alpha) extras_ = {*alpha};
    }
    for (const uint32_t i : extras_) {
      JxlExtraChannelInfo extra;
      if (JxlDecoderGetExtraChannelInfo(decoder_, i, &extra) != JXL_DEC_SUCCESS) {
        return Invalid();
      }
      NDLFS_RETURN_IF_ERROR(CheckType(extra.bits_per_sample, extra.exponent_bits_per_sample));
    }
    return {};
  }

  // `out` has all rows of the picture: kAsImagecodecs goes with a form without a width.
  void CopyPlanes(ByteSpan out) const {
    std::memcpy(out.data(), colours_.data(), colours_.size());
    size_t at = colours_.size();
    for (const Bytes& plane : planes_) {
      std::memcpy(out.data() + at, plane.data(), plane.size());
      at += plane.size();
    }
  }
  void CopyPixels(ByteSpan out) const {
    const size_t size = form_.type.size();
    const size_t colours = format_.num_channels * size;
    const size_t pixel = colours + extras_.size() * size;
    for (size_t i = 0; i < out.size() / pixel; ++i) {
      std::byte* to = out.data() + i * pixel;
      std::memcpy(to, colours_.data() + i * colours, colours);
      for (size_t e = 0; e < planes_.size(); ++e) {
        std::memcpy(to + colours + e * size, planes_[e].data() + i * size, size);
      }
    }
  }

  JxlDecoder* const decoder_;
  const PictureRule& rule_;
  const PictureForm& form_;
  JxlPixelFormat format_;
  std::vector<uint32_t> extras_;  // which are samples
  bool is_planar_ = false;        // they lie behind the colours, not between them
  uint64_t row_bytes_ = 0;
  uint64_t pixels_ = 0;
  Bytes colours_;
  std::vector<Bytes> planes_;
};

}  // namespace

model::Result<void> DecodeJpegXl(const PictureRule& rule, ConstByteSpan picture,
                                 const PictureForm& form, ByteSpan out) {
  const auto type = JxlTypeOf(form.type);
  if (!type) return model::Unsupported("JPEG XL has no {}", form.type.keyword());
  const auto most = CheckedMultiply(out.size(), kJxlBytesOfSample);
  if (!most) return model::Limit("a picture that is too large");
  JxlMemory memory(*most + kJxlTables);
  const JxlMemoryManager manager = memory.manager();
  const std::unique_ptr<JxlDecoder, decltype(&JxlDecoderDestroy)> decoder(
      JxlDecoderCreate(&manager), JxlDecoderDestroy);
  if (!decoder) return model::Limit("not enough memory to decode a picture");
  JxlPicture read(decoder.get(), rule, form, *type);
  const bool is_ready =
      JxlDecoderSubscribeEvents(decoder.get(), JXL_DEC_BASIC_INFO | JXL_DEC_FULL_IMAGE) ==
          JXL_DEC_SUCCESS &&
      JxlDecoderSetKeepOrientation(
          decoder.get(), rule.keeps_orientation ? JXL_TRUE : JXL_FALSE) == JXL_DEC_SUCCESS &&
      JxlDecoderSetInput(decoder.get(), reinterpret_cast<const uint8_t*>(picture.data()),
                         picture.size()) == JXL_DEC_SUCCESS;
  if (!is_ready) return JxlPicture::Invalid();
  JxlDecoderCloseInput(decoder.get());
  for (;;) {
    switch (JxlDecoderProcessInput(decoder.get())) {
      case JXL_DEC_BASIC_INFO:
        NDLFS_RETURN_IF_ERROR(read.ReadInfo(out.size()));
        break;
      case JXL_DEC_NEED_IMAGE_OUT_BUFFER:
        NDLFS_RETURN_IF_ERROR(read.SetBuffers(out));
        break;
      case JXL_DEC_FULL_IMAGE:
        read.Copy(out);
        return {};
      default:
        return JxlPicture::Invalid();
    }
  }
}

}  // namespace ndlfs::backends
