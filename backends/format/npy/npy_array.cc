// SPDX-License-Identifier: MIT
#include "backends/format/npy/npy_array.h"

#include <algorithm>
#include <utility>

#include "backends/base/numpy_dtype.h"
#include "backends/format/text_rule.h"

namespace ndlfs::backends {
namespace {

using model::ByteOrder;

// How many bytes of the first elements to read to find out how text is encoded.
constexpr uint64_t kInspectedBytes = 64 << 10;

model::Ndarray Describe(const NpyHeader& header, std::string name) {
  model::Ndarray array;
  array.name = std::move(name);
  for (const uint64_t extent : header.shape) array.shape.push_back({extent, {}});
  array.type = model::Datatype::Opaque(0, "application/python-pickle");
  if (header.dtype) {
    array.type = header.dtype->WithOrder(ByteOrder::kLittle);
    array.storage = NumpyStorage(*header.dtype);
  }
  return array;
}

// The data of an array whose header is sound, or why there are none.
model::Result<std::shared_ptr<const ArraySource>> OpenData(const NpyHeader& header,
                                                           std::shared_ptr<const Store> store,
                                                           std::string key, FlatAccess access,
                                                           const OpenOptions& options) {
  if (!header.dtype) return model::Propagate(header.dtype.error());
  return MakeFlatSource({.store = std::move(store),
                         .key = std::move(key),
                         .offset = header.data_offset,
                         .stored = *header.dtype,
                         .shape = header.shape,
                         .fortran_order = header.fortran_order,
                         .access = access},
                        options.max_chunk_size);
}

// Bytes of text (NumPy's `S`) have no charset: the first elements say how they
// are read.
model::Result<void> SettleText(const Store& store, const std::string& key, NpyHeader& header) {
  if (!header.dtype) return {};
  TextRule rule(*header.dtype);
  const uint64_t item = header.dtype->size();
  if (!rule.applies() || item == 0 || item > kInspectedBytes) return {};
  const uint64_t bytes = std::min(header.data_size, kInspectedBytes / item * item);
  const auto elements = store.Read(key, bytes, {header.data_offset, bytes});
  if (!elements) {
    // Data that are damaged or too large say so when they are read; the
    // header is sound all the same.
    if (!elements.error().is_transient()) return {};
    return model::Propagate(elements.error());
  }
  if (*elements) rule.Look((*elements)->span());
  header.dtype = rule.Apply(*header.dtype);
  return {};
}

}  // namespace

model::Result<std::shared_ptr<const Node>> LoadNpyArray(std::shared_ptr<const Store> store,
                                                        std::string key, std::string name,
                                                        FlatAccess access,
                                                        const OpenOptions& options) {
  NDLFS_TRY(const auto stamp, store->Stat(key));
  NDLFS_TRY(NpyHeader header, ReadNpyHeader(*store, key));
  NDLFS_RETURN_IF_ERROR(SettleText(*store, key, header));
  auto node = std::make_shared<Node>();
  node->mtime_ns = stamp ? stamp->modified_ns : 0;
  node->entity = Describe(header, std::move(name));
  auto source = OpenData(header, std::move(store), std::move(key), access, options);
  if (source) {
    node->source = *std::move(source);
  } else {
    node->error = std::move(source).error();
  }
  return node;
}

}  // namespace ndlfs::backends
