// SPDX-License-Identifier: MIT
//
// LERC by Esri's library. Pixels without a value are what libtiff makes of them.
#include <Lerc_c_api.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <string_view>
#include <vector>

#include "backends/base/checked.h"
#include "backends/codec/byte_swap.h"
#include "backends/codec/picture/decoders.h"

namespace ndlfs::backends {
namespace {

// What lerc_getBlobInfo tells, in its order.
struct LercInfo {
  unsigned version = 0, type = 0, depth = 0, columns = 0, rows = 0, bands = 0, valid = 0,
           size = 0, masks = 0, depth_again = 0, no_data = 0;
};
static_assert(sizeof(LercInfo) == 11 * sizeof(unsigned));

std::optional<model::Datatype> TypeOfLerc(unsigned type) {
  if (type < 6) return model::Datatype::Integer(size_t{1} << type / 2, type % 2 == 0);
  if (type == 6) return model::Datatype::Float32();
  if (type == 7) return model::Datatype::Float64();
  return std::nullopt;
}

template <typename T>
void PutNotANumber(size_t samples, ConstByteSpan mask, ByteSpan out) {
  constexpr T kNan = std::numeric_limits<T>::quiet_NaN();
  for (size_t i = 0; i < mask.size(); ++i) {
    if (mask[i] != std::byte{0}) continue;
    for (size_t s = 0; s < samples; ++s) {
      std::memcpy(out.data() + (i * samples + s) * sizeof(T), &kNan, sizeof(T));
    }
  }
}

// Adds a last sample to each pixel: 255 where it has a value.
Bytes WithMask(ConstByteSpan pixels, size_t samples, ConstByteSpan mask) {
  Bytes made(mask.size() * (samples + 1));
  for (size_t i = 0; i < mask.size(); ++i) {
    std::memcpy(made.data() + i * (samples + 1), pixels.data() + i * samples, samples);
    made.data()[i * (samples + 1) + samples] =
        mask[i] != std::byte{0} ? std::byte{255} : std::byte{0};
  }
  return made;
}

// Whether a part of a picture may be of version 6. That compresses floats in a way for which
// the library ends the process if the bytes are damaged.
bool HasVersion6(ConstByteSpan picture) {
  constexpr std::string_view kBegin = "Lerc2 ";
  const std::string_view text = AsText(picture);
  for (size_t at = text.find(kBegin); at != text.npos; at = text.find(kBegin, at + 1)) {
    const std::string_view version = text.substr(at + kBegin.size(), 4);
    if (version.size() < 4 || version.substr(1) != std::string_view("\0\0\0", 3) ||
        version[0] < 1 || version[0] > 5) {
      return true;
    }
  }
  return false;
}

// Puts the samples of pixels together that are stored band by band.
Bytes Interleaved(ConstByteSpan bands, size_t count, size_t size) {
  Bytes made(bands.size());
  const size_t pixels = bands.size() / size / count;
  for (size_t b = 0; b < count; ++b) {
    for (size_t i = 0; i < pixels; ++i) {
      std::memcpy(made.data() + (i * count + b) * size, bands.data() + (b * pixels + i) * size,
                  size);
    }
  }
  return made;
}

model::Result<LercInfo> InfoOf(ConstByteSpan picture) {
  LercInfo info;
  const auto* data = reinterpret_cast<const unsigned char*>(picture.data());
  if (picture.size() > std::numeric_limits<int32_t>::max() ||
      lerc_getBlobInfo(data, static_cast<unsigned>(picture.size()), &info.version, nullptr, 11,
                       0) != 0) {
    return model::Corrupt("no LERC picture");
  }
  if (info.no_data != 0) {
    return model::Unsupported("a LERC picture with a number for absent samples");
  }
  return info;
}

}  // namespace

model::Result<void> DecodeLerc(const PictureRule& rule, ConstByteSpan picture,
                               const PictureForm& form, ByteSpan out) {
  NDLFS_TRY(const LercInfo info, InfoOf(picture));
  const auto type = TypeOfLerc(info.type);
  if (!type) return model::Unsupported("a LERC picture of type {}", info.type);
  NDLFS_RETURN_IF_ERROR(CheckPictureType(form, *type));
  // Samples of a pixel are its depth, or bands with masks of their own.
  if (info.depth == 0 || info.bands == 0 || (info.depth > 1 && info.bands > 1)) {
    return model::Unsupported("a LERC picture of {} bands of {} samples", info.bands,
                              info.depth);
  }
  if (info.type >= 6 && HasVersion6(picture)) {
    return model::Unsupported("floats of LERC 2.6");
  }
  if (info.bands > 1 && !rule.has_bands) {
    return model::Unsupported("a LERC picture of {} bands", info.bands);
  }
  const uint64_t stored = uint64_t{info.depth} * info.bands;
  const bool is_float = info.type >= 6;
  const bool has_alpha = rule.has_masks && info.type == 1 && info.bands == 1 && form.samples &&
                         *form.samples == stored + 1;
  if (info.masks > 1 && info.masks != info.bands) {
    return model::Corrupt("a LERC picture of {} bands with {} masks", info.bands, info.masks);
  }
  if (info.masks != 0 && !has_alpha && !(rule.has_masks && is_float)) {
    return model::Unsupported("a LERC picture with pixels that have no value");
  }
  const uint64_t samples = stored + (has_alpha ? 1 : 0);
  NDLFS_TRY(const uint64_t row_bytes,
            CheckPictureSize(form, {info.columns, info.rows, samples}, out.size()));
  const uint64_t pixels = row_bytes / samples / form.type.size() * info.rows;
  const uint64_t bytes = pixels * stored * form.type.size();
  // These need the pixels twice.
  const bool is_rewritten = has_alpha || info.bands > 1;
  const WholePicture memory(bytes, is_rewritten ? ByteSpan() : out);
  ByteSpan whole = memory.span();
  const unsigned masks = has_alpha ? 1 : info.masks;
  Bytes mask(pixels * masks);
  if (lerc_decode(reinterpret_cast<const unsigned char*>(picture.data()),
                  static_cast<unsigned>(picture.size()), static_cast<int>(masks),
                  masks == 0 ? nullptr : reinterpret_cast<unsigned char*>(mask.data()),
                  static_cast<int>(info.depth), static_cast<int>(info.columns),
                  static_cast<int>(info.rows), static_cast<int>(info.bands), info.type,
                  whole.data()) != 0) {
    return model::Corrupt("a LERC picture that is invalid or cut");
  }
  Bytes rewritten;
  if (has_alpha) {
    rewritten = WithMask(whole, stored, mask.span());
    whole = rewritten.span();
  } else if (masks != 0) {
    // A mask for each band, or one for all of them.
    const size_t each = masks > 1 ? 1 : stored;
    if (form.type.size() == sizeof(float)) {
      PutNotANumber<float>(each, mask.span(), whole);
    } else {
      PutNotANumber<double>(each, mask.span(), whole);
    }
  }
  if (info.bands > 1) {
    rewritten = Interleaved(whole, info.bands, form.type.size());
    whole = rewritten.span();
  }
  SwapNumbers(rule.swaps_bytes ? form.type.size() : 1, whole.first(out.size()), out);
  return {};
}

}  // namespace ndlfs::backends
