// SPDX-License-Identifier: MIT
#include "backends/format/precomputed/segmentation_codec.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <string_view>

#include "backends/base/checked.h"
#include "backends/codec/little_endian.h"

namespace ndlfs::backends::precomputed {
namespace {

using model::Corrupt;
using model::Result;

constexpr uint64_t kWord = 4;  // offsets count words of 32 bits

// The extents of a chunk.
struct Extents {
  uint64_t channels = 1;
  Triple size{};  // along x, y and z
};

Extents ExtentsOf(const ChunkForm& form) {
  const auto& shape = form.shape;
  const size_t rank = shape.size();
  return {rank > 3 ? shape[0] : 1, {shape[rank - 1], shape[rank - 2], shape[rank - 3]}};
}

class SegmentationCodec final : public ArrayToBytesCodec {
 public:
  explicit SegmentationCodec(const Triple& block) : block_(block) {}

  std::string_view name() const override { return "compressed_segmentation"; }
  std::optional<uint64_t> EncodedSize(const ChunkForm&) const override { return std::nullopt; }
  // A block has a header, a number for each voxel, and a table with an entry for each.
  uint64_t MaxEncodedSize(const ChunkForm& form) const override {
    const Extents extents = ExtentsOf(form);
    std::optional<uint64_t> size = extents.channels;
    for (size_t i = 0; i < 3; ++i) {
      const uint64_t blocks = extents.size[i] / block_[i] + (extents.size[i] % block_[i] != 0);
      size = size ? CheckedMultiply(*size, blocks) : std::nullopt;
      size = size ? CheckedMultiply(*size, block_[i]) : std::nullopt;
    }
    size = size ? CheckedMultiply(*size, kWord + form.dtype.size()) : std::nullopt;
    size = size ? CheckedMultiply(*size, 3) : std::nullopt;
    return size ? std::min(*size + 65536, kMaxViewSize) : kMaxViewSize;
  }

  Result<void> Decode(ConstByteSpan encoded, const ChunkForm& form,
                      ByteSpan decoded) const override {
    const Extents extents = ExtentsOf(form);
    if (encoded.size() / kWord < extents.channels) return Corrupt("no offsets of channels");
    const uint64_t channel_bytes = decoded.size() / std::max<uint64_t>(1, extents.channels);
    for (uint64_t c = 0; c < extents.channels; ++c) {
      const uint64_t begin = uint64_t{LoadLittle<uint32_t>(encoded.data() + c * kWord)} * kWord;
      if (begin > encoded.size()) return Corrupt("channel {} begins behind the end", c);
      const ConstByteSpan channel = encoded.subspan(begin);
      std::byte* out = decoded.data() + c * channel_bytes;
      NDLFS_RETURN_IF_ERROR(form.dtype.size() == sizeof(uint64_t)
                                ? DecodeChannel<uint64_t>(channel, extents.size, out)
                                : DecodeChannel<uint32_t>(channel, extents.size, out));
    }
    return {};
  }

 private:
  template <typename Label>
  Result<void> DecodeChannel(ConstByteSpan channel, const Triple& size, std::byte* out) const {
    uint64_t header = 0;
    for (uint64_t z = 0; z < size[2]; z += block_[2]) {
      for (uint64_t y = 0; y < size[1]; y += block_[1]) {
        for (uint64_t x = 0; x < size[0]; x += block_[0], header += 2 * kWord) {
          if (header + 2 * kWord > channel.size())
            return Corrupt("headers of blocks are missing");
          NDLFS_RETURN_IF_ERROR(DecodeBlock<Label>(channel, header, {x, y, z}, size, out));
        }
      }
    }
    return {};
  }

  template <typename Label>
  Result<void> DecodeBlock(ConstByteSpan channel, uint64_t header, const Triple& at,
                           const Triple& size, std::byte* out) const {
    const auto first = LoadLittle<uint32_t>(channel.data() + header);
    const uint64_t table = uint64_t{first & 0xFFFFFF} * kWord;
    const uint64_t values =
        uint64_t{LoadLittle<uint32_t>(channel.data() + header + kWord)} * kWord;
    const unsigned bits = first >> 24;
    if (bits > 32 || (bits & (bits - 1)) != 0) return Corrupt("labels of {} bits", bits);
    const uint64_t width = std::min(block_[0], size[0] - at[0]);
    const uint64_t height = std::min(block_[1], size[1] - at[1]);
    const uint64_t depth = std::min(block_[2], size[2] - at[2]);
    const uint64_t mask = (uint64_t{1} << bits) - 1;
    for (uint64_t z = 0; z < depth; ++z) {
      for (uint64_t y = 0; y < height; ++y) {
        std::byte* row =
            out + (((at[2] + z) * size[1] + at[1] + y) * size[0] + at[0]) * sizeof(Label);
        for (uint64_t x = 0; x < width; ++x) {
          uint64_t index = 0;
          if (bits != 0) {
            const uint64_t bit = (x + block_[0] * (y + block_[1] * z)) * bits;
            const uint64_t word = values + bit / 32 * kWord;
            if (word + kWord > channel.size()) return Corrupt("labels behind the end");
            index = LoadLittle<uint32_t>(channel.data() + word) >> bit % 32 & mask;
          }
          const uint64_t entry = table + index * sizeof(Label);
          if (entry + sizeof(Label) > channel.size()) return Corrupt("a label behind the end");
          std::memcpy(row + x * sizeof(Label), channel.data() + entry, sizeof(Label));
        }
      }
    }
    return {};
  }

  const Triple block_;
};

}  // namespace

std::shared_ptr<const ArrayToBytesCodec> MakeSegmentationCodec(const Triple& block) {
  return std::make_shared<const SegmentationCodec>(block);
}

}  // namespace ndlfs::backends::precomputed
