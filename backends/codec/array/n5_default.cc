// SPDX-License-Identifier: MIT
//
// Zarr v3 "n5_default": a block of N5 in mode 0. It consists of a header (mode and
// number of dimensions as big-endian uint16, then the extents as uint32) and the
// elements, encoded by a chain of their own.
#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "backends/codec/factories.h"
#include "backends/codec/little_endian.h"

namespace ndlfs::backends {
namespace {

constexpr size_t kModeSize = 2;
constexpr size_t kRankSize = 2;
constexpr size_t kExtentSize = 4;

// Copies the part that two arrays share, row by row.
class Cropper {
 public:
  Cropper(const std::vector<uint64_t>& from_shape, const std::vector<uint64_t>& to_shape,
          size_t element_size)
      : from_shape_(from_shape), to_shape_(to_shape), element_size_(element_size) {}

  void Copy(const std::byte* from, std::byte* to) const { CopyFrom(0, from, to); }

 private:
  static size_t Stride(const std::vector<uint64_t>& shape, size_t dim, size_t element_size) {
    for (size_t i = dim + 1; i < shape.size(); ++i) element_size *= shape[i];
    return element_size;
  }
  void CopyFrom(size_t dim, const std::byte* from, std::byte* to) const {
    if (dim == from_shape_.size()) {
      std::memcpy(to, from, element_size_);
      return;
    }
    const uint64_t count = std::min(from_shape_[dim], to_shape_[dim]);
    if (dim + 1 == from_shape_.size()) {
      std::memcpy(to, from, count * element_size_);
      return;
    }
    for (uint64_t i = 0; i < count; ++i) {
      CopyFrom(dim + 1, from + i * Stride(from_shape_, dim, element_size_),
               to + i * Stride(to_shape_, dim, element_size_));
    }
  }

  const std::vector<uint64_t>& from_shape_;
  const std::vector<uint64_t>& to_shape_;
  const size_t element_size_;
};

class N5DefaultCodec final : public ArrayToBytesCodec {
 public:
  N5DefaultCodec(CodecChain chain, std::vector<uint64_t> full_shape)
      : chain_(std::move(chain)), full_shape_(std::move(full_shape)) {}

  std::string_view name() const override { return "n5_default"; }
  std::optional<uint64_t> EncodedSize(const ChunkForm&) const override { return std::nullopt; }
  // Blocks at the edge of an array may have their full size, whatever `form` is.
  uint64_t MaxEncodedSize(const ChunkForm&) const override {
    return std::min(HeaderSize() + chain_.MaxEncodedSize(full_shape_), kMaxViewSize);
  }

  model::Result<void> Decode(ConstByteSpan encoded, const ChunkForm& form,
                             ByteSpan decoded) const override {
    NDLFS_TRY(const std::vector<uint64_t> shape, TakeHeader(encoded));
    Scratch scratch;
    if (shape == form.shape) return chain_.Decode(encoded, shape, decoded, scratch);
    Bytes block(*ChunkForm{form.dtype, shape}.byte_size());
    NDLFS_RETURN_IF_ERROR(chain_.Decode(encoded, shape, block.span(), scratch));
    // N5 has no fill value. By convention elements outside the block are 0.
    std::memset(decoded.data(), 0, decoded.size());
    Cropper(shape, form.shape, form.dtype.size()).Copy(block.data(), decoded.data());
    return {};
  }

 private:
  size_t HeaderSize() const { return kModeSize + kRankSize + kExtentSize * full_shape_.size(); }

  // Removes the header from `encoded`, and returns the extents of the block.
  model::Result<std::vector<uint64_t>> TakeHeader(ConstByteSpan& encoded) const {
    if (encoded.size() < HeaderSize()) {
      return model::Corrupt("{} bytes, a header has {}", encoded.size(), HeaderSize());
    }
    const auto mode = LoadBig<uint16_t>(encoded.data());
    const auto rank = LoadBig<uint16_t>(encoded.data() + kModeSize);
    if (mode != 0) return model::Corrupt("a block of mode {}", mode);
    if (rank != full_shape_.size()) {
      return model::Corrupt("a block of {} dimensions, expected {}", rank, full_shape_.size());
    }
    std::vector<uint64_t> shape;
    for (size_t i = 0; i < rank; ++i) {
      shape.push_back(
          LoadBig<uint32_t>(encoded.data() + kModeSize + kRankSize + i * kExtentSize));
      if (shape.back() == 0 || shape.back() > full_shape_[i]) {
        return model::Corrupt("extent {} of a block along dimension {}, expected 1 to {}",
                              shape.back(), i, full_shape_[i]);
      }
    }
    encoded = encoded.subspan(HeaderSize());
    return shape;
  }

  const CodecChain chain_;
  const std::vector<uint64_t> full_shape_;
};

// The name of codec `i` of a chain; "" if it has none.
std::string NameOf(const Json& codecs, size_t i) {
  if (!codecs.is_array() || i >= codecs.size()) return "";
  const Json& entry = codecs[i];
  if (entry.is_string()) return entry.get<std::string>();
  if (!entry.is_object()) return "";
  const auto name = entry.find("name");
  return name != entry.end() && name->is_string() ? name->get<std::string>() : "";
}

}  // namespace

static CodecResult MakeN5Default(const CodecConfig& config) {
  if (!config.form->dtype.is_fixed_size()) {
    return model::BadInput("n5_default: {} has no fixed size", config.form->dtype.keyword());
  }
  NDLFS_TRY(const Json* codecs, RequireMember(*config.configuration, "codecs"), "n5_default");
  // The specification allows no other codecs, and so no blocks inside of blocks.
  if (NameOf(*codecs, 0) != "transpose" || NameOf(*codecs, 1) != "bytes") {
    return model::BadInput("n5_default: codecs: expected transpose, bytes and a compressor");
  }
  NDLFS_TRY(CodecChain chain, MakeZarr3Chain(*codecs, *config.form, config.bits), "n5_default");
  return NewCodec<N5DefaultCodec>(std::move(chain), config.form->shape);
}

const CodecEntry kN5DefaultEntry = {"n5_default", "", "", MakeN5Default};

}  // namespace ndlfs::backends
