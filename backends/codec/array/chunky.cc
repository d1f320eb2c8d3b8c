// SPDX-License-Identifier: MIT
//
// virtual-tiff's "ChunkyCodec": the elements in Fortran order of the chunk's shape, as TIFF has
// samples that follow each other in a pixel.
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "backends/codec/factories.h"
#include "backends/codec/gather.h"

namespace ndlfs::backends {
namespace {

class ChunkyCodec final : public ArrayToBytesCodec {
 public:
  explicit ChunkyCodec(std::shared_ptr<const ArrayToBytesCodec> bytes)
      : bytes_(std::move(bytes)) {}

  std::string_view name() const override { return "ChunkyCodec"; }
  std::optional<uint64_t> EncodedSize(const ChunkForm& form) const override {
    return form.byte_size();
  }
  model::Result<void> Decode(ConstByteSpan encoded, const ChunkForm& form,
                             ByteSpan decoded) const override {
    Bytes swapped(decoded.size());
    NDLFS_RETURN_IF_ERROR(bytes_->Decode(encoded, form, swapped.span()));
    std::vector<uint64_t> strides;
    uint64_t stride = 1;
    for (const uint64_t extent : form.shape) {
      strides.push_back(stride);
      stride *= extent;
    }
    GatherStrided(swapped.data(), strides, form.shape, form.dtype.size(), decoded.data());
    return {};
  }

 private:
  const std::shared_ptr<const ArrayToBytesCodec> bytes_;  // of the elements in that order
};

model::Result<model::ByteOrder> ParseChunkyEndian(const CodecConfig& config) {
  // virtual-tiff leaves it out of metadata, and then reads little-endian numbers.
  if (!config.configuration->contains("endian")) return model::ByteOrder::kLittle;
  NDLFS_TRY(const auto endian, TextMember(config, "endian"));
  if (endian == "little") return model::ByteOrder::kLittle;
  if (endian == "big") return model::ByteOrder::kBig;
  return model::BadInput(R"(endian: expected "little" or "big", found {})",
                         DescribeJson(config.configuration->at("endian")));
}

}  // namespace

static CodecResult MakeChunky(const CodecConfig& config) {
  constexpr std::string_view kName = "ChunkyCodec";
  NDLFS_RETURN_IF_ERROR(RefuseOtherMembers(config, {"endian"}), kName);
  const model::Datatype& dtype = config.form->dtype;
  if (!dtype.is_fixed_size()) {
    return model::BadInput("ChunkyCodec: {} has no fixed size", dtype.keyword());
  }
  NDLFS_TRY(const model::ByteOrder order, ParseChunkyEndian(config), kName);
  NDLFS_TRY(auto bytes, MakeStoredBytes(dtype.WithOrder(order)), kName);
  return NewCodec<ChunkyCodec>(std::move(bytes));
}

const CodecEntry kChunkyEntry = {"ChunkyCodec", "", "", MakeChunky};

}  // namespace ndlfs::backends
