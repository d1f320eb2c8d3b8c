// SPDX-License-Identifier: MIT
//
// Zarr v3 "transpose": dimension i of the encoded array is dimension order[i]
// of the decoded one. Also Zarr v2's order "F".
#include <algorithm>
#include <cstring>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "backends/codec/factories.h"
#include "backends/codec/gather.h"

namespace ndlfs::backends {
namespace {

using Order = std::vector<size_t>;

// The strides of the decoded array's dimensions in the encoded array, in elements.
std::vector<uint64_t> EncodedStrides(const Order& order, const std::vector<uint64_t>& shape) {
  std::vector<uint64_t> strides(shape.size());
  uint64_t stride = 1;
  for (size_t i = order.size(); i-- > 0;) {
    strides[order[i]] = stride;
    stride *= shape[order[i]];
  }
  return strides;
}

class TransposeCodec final : public ArrayToArrayCodec {
 public:
  explicit TransposeCodec(Order order) : order_(std::move(order)) {}

  std::string_view name() const override { return "transpose"; }

  model::Result<ChunkForm> EncodedForm(const ChunkForm& decoded) const override {
    if (decoded.shape.size() != order_.size()) {
      return model::BadInput("an order of {} dimensions for an array of {}", order_.size(),
                             decoded.shape.size());
    }
    ChunkForm encoded{decoded.dtype, {}, decoded.fill};
    for (const size_t dim : order_) encoded.shape.push_back(decoded.shape[dim]);
    return encoded;
  }

  // The position of dimensions with an extent of 1 does not matter.
  bool IsIdentity(const ChunkForm& form) const override {
    size_t next = 0;
    for (const size_t dim : order_) {
      if (form.shape[dim] <= 1) continue;
      if (dim < next) return false;
      next = dim;
    }
    return true;
  }

  model::Result<void> Decode(ConstByteSpan encoded, const ChunkForm& form,
                             ByteSpan decoded) const override {
    GatherStrided(encoded.data(), EncodedStrides(order_, form.shape), form.shape,
                  form.dtype.size(), decoded.data());
    return {};
  }

  model::Result<Bytes> DecodeVariable(ConstByteSpan encoded, const ChunkForm& form,
                                      uint64_t limit) const override;

 private:
  const Order order_;
};

// Transposes an array of the elements' numbers (8 bytes each), and then copies the
// elements in that order.
model::Result<Bytes> TransposeCodec::DecodeVariable(ConstByteSpan encoded,
                                                    const ChunkForm& form,
                                                    uint64_t limit) const {
  const uint64_t count = *form.element_count();
  if (encoded.size() > limit) return model::Limit("more than {} bytes", limit);
  std::vector<uint64_t> numbers(count), moved(count), begins(count + 1), out_begins(count + 1);
  std::memcpy(begins.data(), encoded.data(), (count + 1) * sizeof(uint64_t));
  std::iota(numbers.begin(), numbers.end(), 0);
  GatherStrided(reinterpret_cast<const std::byte*>(numbers.data()),
                EncodedStrides(order_, form.shape), form.shape, sizeof(uint64_t),
                reinterpret_cast<std::byte*>(moved.data()));

  Bytes stream(encoded.size());
  const size_t table = (count + 1) * sizeof(uint64_t);
  const std::byte* from = encoded.data() + table;
  std::byte* to = stream.data() + table;
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t begin = begins[moved[i]];
    const uint64_t size = begins[moved[i] + 1] - begin;
    if (size != 0) std::memcpy(to + out_begins[i], from + begin, size);
    out_begins[i + 1] = out_begins[i] + size;
  }
  std::memcpy(stream.data(), out_begins.data(), table);
  return stream;
}

Order ReversedOrder(size_t rank) {
  Order order(rank);
  std::iota(order.rbegin(), order.rend(), 0);
  return order;
}

// Reads a permutation, or the "C" or "F" of drafts of Zarr v3.
model::Result<Order> ParseOrder(const Json& json, size_t rank) {
  if (json == "C" || json == "F") {
    Order order = ReversedOrder(rank);
    if (json == "C") std::reverse(order.begin(), order.end());
    return order;
  }
  NDLFS_TRY(const std::vector<uint64_t> order, JsonToSizes(json));
  std::vector<bool> seen(order.size());
  for (const uint64_t dim : order) {
    if (dim >= order.size() || seen[dim]) {
      return model::BadInput("{} is not a permutation of 0 to {}", json.dump(),
                             order.size() - 1);
    }
    seen[dim] = true;
  }
  if (order.size() != rank) {
    return model::BadInput("{} numbers for {} dimensions", order.size(), rank);
  }
  return Order(order.begin(), order.end());
}

}  // namespace

static CodecResult MakeTranspose(const CodecConfig& config) {
  NDLFS_TRY(const Json* json, RequireMember(*config.configuration, "order"), "transpose");
  NDLFS_TRY(Order order, ParseOrder(*json, config.form->shape.size()), "transpose: order");
  return NewCodec<TransposeCodec>(std::move(order));
}

std::shared_ptr<const ArrayToArrayCodec> MakeFortranOrder(size_t rank) {
  return std::make_shared<const TransposeCodec>(ReversedOrder(rank));
}

const CodecEntry kTransposeEntry = {"transpose", "", "", MakeTranspose};

}  // namespace ndlfs::backends
