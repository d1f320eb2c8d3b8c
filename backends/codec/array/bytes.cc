// SPDX-License-Identifier: MIT
//
// Zarr v3 "bytes": the elements in C order, with numbers in one byte order. Also
// the byte order of Zarr v2, which is part of the dtype and has no codec.
#include <memory>
#include <utility>
#include <vector>

#include "backends/codec/byte_swap.h"
#include "backends/codec/factories.h"

namespace ndlfs::backends {
namespace {

using model::ByteOrder;

class BytesCodec final : public ArrayToBytesCodec {
 public:
  explicit BytesCodec(std::vector<model::SwapRun> runs) : runs_(std::move(runs)) {}

  std::string_view name() const override { return "bytes"; }
  std::optional<uint64_t> EncodedSize(const ChunkForm& form) const override {
    return form.byte_size();
  }
  bool IsIdentity(const ChunkForm&) const override { return runs_.empty(); }
  bool DecodesInPlace(const ChunkForm&) const override { return true; }

  model::Result<void> Decode(ConstByteSpan encoded, const ChunkForm& form,
                             ByteSpan decoded) const override {
    if (encoded.size() != decoded.size()) {
      return model::Corrupt("{} bytes, expected {}", encoded.size(), decoded.size());
    }
    SwapElements(runs_, form.dtype.size(), encoded, decoded);
    return {};
  }

 private:
  const std::vector<model::SwapRun> runs_;  // reversing them gives little-endian elements
};

model::Result<std::vector<model::SwapRun>> PlanFrom(const model::Datatype& stored) {
  return model::PlanByteSwap(stored, ByteOrder::kLittle);
}

// Whether `endian` may be absent: "for data types for which endianness is not
// applicable". Early versions of zarr-python left it out for structs ("structured")
// and UTF-32 text, too, which are little-endian then.
model::Result<bool> MayOmitEndian(const model::Datatype& dtype) {
  if (dtype.kind() == model::Datatype::Kind::kCompound && !dtype.is_complex()) return true;
  if (dtype.kind() == model::Datatype::Kind::kString) return true;
  NDLFS_TRY(const auto runs, PlanFrom(dtype.WithOrder(ByteOrder::kBig)));
  return runs.empty();
}

model::Result<ByteOrder> ParseEndian(const CodecConfig& config) {
  NDLFS_TRY(const auto endian, TextMember(config, "endian"));
  if (endian == "little") return ByteOrder::kLittle;
  if (endian == "big") return ByteOrder::kBig;
  if (endian) {
    return model::BadInput(R"(endian: expected "little" or "big", found {})",
                           model::Quote(*endian));
  }
  NDLFS_TRY(const bool may_omit, MayOmitEndian(config.form->dtype));
  if (may_omit) return ByteOrder::kLittle;
  return model::BadInput("endian is missing, and elements of {} need it",
                         config.form->dtype.keyword());
}

}  // namespace

static CodecResult MakeBytes(const CodecConfig& config) {
  const model::Datatype& dtype = config.form->dtype;
  if (!dtype.is_fixed_size()) {
    return model::BadInput("bytes: {} has no fixed size", dtype.keyword());
  }
  NDLFS_TRY(const ByteOrder order, ParseEndian(config), "bytes");
  NDLFS_TRY(auto runs, PlanFrom(dtype.WithOrder(order)), "bytes");
  return NewCodec<BytesCodec>(std::move(runs));
}

model::Result<std::shared_ptr<const ArrayToBytesCodec>> MakeStoredBytes(
    const model::Datatype& stored) {
  NDLFS_TRY(auto runs, PlanFrom(stored));
  return std::make_shared<const BytesCodec>(std::move(runs));
}

const CodecEntry kBytesEntry = {"bytes", "", "", MakeBytes};
// The name in drafts of Zarr v3.
const CodecEntry kEndianEntry = {"endian", "", "", MakeBytes, ""};

}  // namespace ndlfs::backends
