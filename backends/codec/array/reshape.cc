// SPDX-License-Identifier: MIT
//
// Zarr v3 "reshape": the same elements in the same order, with another shape.
#include <cstring>
#include <utility>
#include <vector>

#include "backends/codec/factories.h"

namespace ndlfs::backends {
namespace {

// One dimension of the encoded array.
struct Extent {
  enum class Kind : uint8_t { kSize, kDimensions, kAutomatic };
  Kind kind = Kind::kSize;
  uint64_t size = 1;
  std::vector<uint64_t> dimensions;  // of the decoded array; the extent is their product
};

// The product of dimensions [begin, end) of `shape`; 0 on overflow.
uint64_t Product(const std::vector<uint64_t>& shape, size_t begin, size_t end) {
  return CheckedProduct(std::span(shape).subspan(begin, end - begin)).value_or(0);
}

class ReshapeCodec final : public ArrayToArrayCodec {
 public:
  explicit ReshapeCodec(std::vector<Extent> extents) : extents_(std::move(extents)) {}

  std::string_view name() const override { return "reshape"; }

  model::Result<ChunkForm> EncodedForm(const ChunkForm& decoded) const override {
    ChunkForm encoded{decoded.dtype, {}, decoded.fill};
    NDLFS_TRY(encoded.shape, EncodedShape(decoded));
    if (encoded.element_count() != decoded.element_count()) {
      return model::BadInput("a chunk of {} elements cannot have the shape {}",
                             decoded.element_count().value_or(0), Json(encoded.shape).dump());
    }
    NDLFS_RETURN_IF_ERROR(CheckInputDimensions(decoded.shape, encoded.shape));
    return encoded;
  }

  bool IsIdentity(const ChunkForm&) const override { return true; }
  model::Result<void> Decode(ConstByteSpan encoded, const ChunkForm&,
                             ByteSpan decoded) const override {
    if (!encoded.empty()) std::memcpy(decoded.data(), encoded.data(), encoded.size());
    return {};
  }
  model::Result<Bytes> DecodeVariable(ConstByteSpan encoded, const ChunkForm&,
                                      uint64_t) const override {
    return Bytes::Copy(encoded);
  }

 private:
  model::Result<std::vector<uint64_t>> EncodedShape(const ChunkForm& decoded) const {
    std::vector<uint64_t> shape;
    size_t automatic = extents_.size();
    for (size_t i = 0; i < extents_.size(); ++i) {
      shape.push_back(1);
      if (extents_[i].kind == Extent::Kind::kAutomatic) automatic = i;
      if (extents_[i].kind == Extent::Kind::kSize) shape.back() = extents_[i].size;
      for (const uint64_t dim : extents_[i].dimensions) {
        if (dim >= decoded.shape.size()) {
          return model::BadInput("shape[{}]: there is no dimension {}", i, dim);
        }
        const auto product = CheckedMultiply(shape.back(), decoded.shape[dim]);
        if (!product) return model::Limit("shape[{}]: too large", i);
        shape.back() = *product;
      }
    }
    if (automatic < shape.size()) {
      const uint64_t others = CheckedProduct(shape).value_or(0);
      shape[automatic] = others == 0 ? 0 : decoded.element_count().value_or(0) / others;
    }
    return shape;
  }

  // An extent that is given by dimensions must have as many elements before it as
  // these dimensions have in the decoded array, and as many after it. Otherwise its
  // indices would not be theirs.
  model::Result<void> CheckInputDimensions(const std::vector<uint64_t>& decoded,
                                           const std::vector<uint64_t>& encoded) const {
    for (size_t i = 0; i < extents_.size(); ++i) {
      const std::vector<uint64_t>& dims = extents_[i].dimensions;
      if (dims.empty()) continue;
      if (Product(encoded, 0, i) != Product(decoded, 0, dims.front()) ||
          Product(encoded, i + 1, encoded.size()) !=
              Product(decoded, dims.back() + 1, decoded.size())) {
        return model::BadInput("shape[{}]: not at the position of its dimensions", i);
      }
    }
    return {};
  }

  const std::vector<Extent> extents_;
};

// Reads the extents. They must name dimensions in ascending order.
class ExtentParser {
 public:
  model::Result<Extent> Parse(const Json& json) {
    if (json.is_array()) return ParseDimensions(json);
    if (json == -1) {
      if (has_automatic_) return model::BadInput("a second -1");
      has_automatic_ = true;
      return Extent{Extent::Kind::kAutomatic, 1, {}};
    }
    NDLFS_TRY(const uint64_t size, JsonToSize(json));
    if (size == 0) return model::BadInput("an extent of 0");
    return Extent{Extent::Kind::kSize, size, {}};
  }

 private:
  model::Result<Extent> ParseDimensions(const Json& json) {
    NDLFS_TRY(auto dims, JsonToSizes(json));
    for (const uint64_t dim : dims) {
      if (dim < next_) return model::BadInput("the dimensions are not in ascending order");
      next_ = dim + 1;
    }
    return Extent{Extent::Kind::kDimensions, 1, std::move(dims)};
  }

  bool has_automatic_ = false;
  uint64_t next_ = 0;
};

}  // namespace

static CodecResult MakeReshape(const CodecConfig& config) {
  NDLFS_TRY(const Json* json, RequireMember(*config.configuration, "shape"), "reshape");
  if (!json->is_array() || json->size() > 64) {
    return model::BadInput("reshape: shape: expected a list of at most 64, found {}",
                           DescribeJson(*json));
  }
  ExtentParser parser;
  std::vector<Extent> extents;
  for (size_t i = 0; i < json->size(); ++i) {
    NDLFS_TRY(Extent extent, parser.Parse((*json)[i]), fmt::format("reshape: shape[{}]", i));
    extents.push_back(std::move(extent));
  }
  return NewCodec<ReshapeCodec>(std::move(extents));
}

const CodecEntry kReshapeEntry = {"reshape", "", "", MakeReshape};

}  // namespace ndlfs::backends
