// SPDX-License-Identifier: MIT
//
// numcodecs "shuffle", HDF5 filter 2: stores the first bytes of all elements, then
// their second bytes, and so on.
#include "backends/codec/factories.h"
#include "backends/codec/hdf5_config.h"
#include "backends/codec/unshuffle.h"

namespace ndlfs::backends {
namespace {

class ShuffleCodec final : public BytesToBytesCodec {
 public:
  explicit ShuffleCodec(size_t element_size) : element_size_(element_size) {}

  std::string_view name() const override { return "shuffle"; }
  SizeBound EncodedSize(uint64_t decoded_size) const override { return {decoded_size, true}; }
  bool DecodesToPart() const override { return element_size_ <= 1; }
  model::Result<ConstByteSpan> DecodePart(ConstByteSpan encoded) const override {
    if (DecodesToPart()) return encoded;
    return BytesToBytesCodec::DecodePart(encoded);
  }
  model::Result<size_t> Decode(ConstByteSpan encoded, ByteSpan decoded) const override {
    if (encoded.size() > decoded.size()) return model::Corrupt("decodes to more than expected");
    Unshuffle(encoded, element_size_, decoded.data());
    return encoded.size();
  }

 private:
  const size_t element_size_;
};

model::Result<uint64_t> ParseElementSize(const CodecConfig& config) {
  if (config.dialect == CodecDialect::kHdf5) {
    NDLFS_TRY(const auto values, ParseClientData(config, 1));
    return values[0];
  }
  NDLFS_TRY(const auto size, SizeMember(config, "elementsize"));
  // 4 is the default of numcodecs. In Zarr v3 it is the element size of the array.
  if (size) return *size;
  return config.dialect == CodecDialect::kZarr3 ? config.form->dtype.size() : 4;
}

}  // namespace

static CodecResult MakeShuffle(const CodecConfig& config) {
  NDLFS_TRY(const uint64_t size, ParseElementSize(config), "shuffle");
  return NewCodec<ShuffleCodec>(size);
}

const CodecEntry kShuffleEntry = {"", "shuffle", "2", MakeShuffle};

}  // namespace ndlfs::backends
