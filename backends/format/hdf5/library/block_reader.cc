// SPDX-License-Identifier: MIT
#include "backends/format/hdf5/library/block_reader.h"

#include <cstring>
#include <memory>
#include <optional>
#include <vector>

#include "backends/base/checked.h"

namespace ndlfs::backends::hdf5 {
namespace {

using model::Result;

// Where the library puts text and vlens: all of it goes at once, and there is
// a limit, as lengths come from the file.
class Arena {
 public:
  explicit Arena(uint64_t limit) : left_(limit) {}

  static void* Allocate(size_t size, void* arena) noexcept {
    return static_cast<Arena*>(arena)->Allocate(size);
  }
  static void Free(void*, void*) noexcept {}

  bool exhausted() const { return exhausted_; }

 private:
  void* Allocate(size_t size) noexcept {
    if (size > left_) {
      exhausted_ = true;
      return nullptr;
    }
    try {
      blocks_.push_back(std::make_unique<std::byte[]>(size));
    } catch (...) {
      exhausted_ = true;
      return nullptr;
    }
    left_ -= size;
    return blocks_.back().get();
  }

  uint64_t left_;
  bool exhausted_ = false;
  std::vector<std::unique_ptr<std::byte[]>> blocks_;
};

struct Selection {
  Handle file;
  Handle memory;
};

Result<Selection> Select(hid_t dataset, const Block& block) {
  Selection selection;
  NDLFS_TRY(selection.file, Checked(H5Dget_space(dataset), "cannot read the shape"));
  const int rank = static_cast<int>(block.count.size());
  if (H5Sget_simple_extent_ndims(selection.file.get()) != rank) {
    return model::Internal("a block of another rank than its dataset");
  }
  if (rank == 0) {
    NDLFS_TRY(selection.memory, Checked(H5Screate(H5S_SCALAR), "scalar dataspace"));
    return selection;
  }
  const std::vector<hsize_t> start(block.start.begin(), block.start.end());
  const std::vector<hsize_t> count(block.count.begin(), block.count.end());
  NDLFS_RETURN_IF_ERROR(
      CheckStatus(H5Sselect_hyperslab(selection.file.get(), H5S_SELECT_SET, start.data(),
                                      nullptr, count.data(), nullptr),
                  "cannot select a block"));
  if (H5Sselect_valid(selection.file.get()) <= 0) {
    return model::Internal("a block outside of its dataset");
  }
  NDLFS_TRY(selection.memory,
            Checked(H5Screate_simple(rank, count.data(), nullptr), "cannot make a dataspace"));
  return selection;
}

// Whether nothing is stored of the dataset, and no fill value stands for it.
bool IsUndefined(hid_t dataset) {
  H5D_space_status_t space;
  if (H5Dget_space_status(dataset, &space) < 0) return false;
  const Handle properties(H5Dget_create_plist(dataset));
  H5D_fill_value_t fill;
  return space == H5D_SPACE_STATUS_NOT_ALLOCATED && properties &&
         H5Pfill_value_defined(properties.get(), &fill) >= 0 &&
         fill == H5D_FILL_VALUE_UNDEFINED;
}

// How many checksums of four bytes a chunk has, if no other filter changes its size.
std::optional<unsigned> CountChecksums(hid_t properties, uint32_t filter_mask) {
  const int filters = H5Pget_nfilters(properties);
  unsigned checksums = 0;
  for (int i = 0; i < filters; ++i) {
    size_t parameters = 0;
    unsigned flags = 0;
    const auto filter = H5Pget_filter2(properties, static_cast<unsigned>(i), &flags,
                                       &parameters, nullptr, 0, nullptr, nullptr);
    if ((filter_mask >> i & 1) != 0 || filter == H5Z_FILTER_SHUFFLE) continue;
    if (filter != H5Z_FILTER_FLETCHER32) return std::nullopt;
    ++checksums;
  }
  return checksums;
}

// The library goes by the type of the dataset, and reads beyond the end of a chunk whose
// elements are smaller. It looks at the chunk at `offset`, of `bytes` bytes when decoded.
Result<void> CheckSizeOfChunk(hid_t dataset, hid_t properties, const hsize_t* offset,
                              uint64_t bytes) {
  uint32_t filter_mask = 0;
  haddr_t address = HADDR_UNDEF;
  hsize_t stored = 0;
  NDLFS_RETURN_IF_ERROR(
      CheckStatus(H5Dget_chunk_info_by_coord(dataset, offset, &filter_mask, &address, &stored),
                  "cannot find a chunk"));
  const auto checksums = CountChecksums(properties, filter_mask);
  if (address == HADDR_UNDEF || !checksums) return {};
  const uint64_t expected = bytes + 4 * *checksums;
  if (stored == expected) return {};
  return model::Corrupt("a chunk of {} bytes, expected {}", stored, expected);
}

// The same for all chunks that a block touches, of elements of fixed size.
Result<void> CheckSizesOfChunks(hid_t dataset, const Block& block) {
  const Handle properties(H5Dget_create_plist(dataset));
  if (!properties || H5Pget_layout(properties.get()) != H5D_CHUNKED) return {};
  const size_t rank = block.count.size();
  std::vector<hsize_t> shape(rank);
  const int found = H5Pget_chunk(properties.get(), static_cast<int>(rank), shape.data());
  const Handle type(H5Dget_type(dataset));
  if (found != static_cast<int>(rank) || !type) return model::Internal("a chunk without shape");
  const auto bytes = CheckedProduct(std::vector<uint64_t>(shape.begin(), shape.end()),
                                    H5Tget_size(type.get()));
  if (!bytes) return model::Corrupt("a chunk of more than 2^64 bytes");
  std::vector<hsize_t> first(rank);
  for (size_t d = 0; d < rank; ++d) first[d] = block.start[d] / shape[d] * shape[d];
  std::vector<hsize_t> offset = first;
  for (;;) {
    NDLFS_RETURN_IF_ERROR(CheckSizeOfChunk(dataset, properties.get(), offset.data(), *bytes));
    size_t d = rank;
    for (; d > 0; --d) {
      offset[d - 1] += shape[d - 1];
      if (offset[d - 1] < block.start[d - 1] + block.count[d - 1]) break;
      offset[d - 1] = first[d - 1];
    }
    if (d == 0) return {};
  }
}

Result<void> ReadInto(hid_t dataset, const ElementType& type, const Block& block, Arena& arena,
                      void* out) {
  if (type.type.is_fixed_size()) NDLFS_RETURN_IF_ERROR(CheckSizesOfChunks(dataset, block));
  NDLFS_TRY(const auto selection, Select(dataset, block));
  NDLFS_TRY(const auto transfer,
            Checked(H5Pcreate(H5P_DATASET_XFER), "cannot make transfer properties"));
  NDLFS_RETURN_IF_ERROR(CheckStatus(
      H5Pset_vlen_mem_manager(transfer.get(), &Arena::Allocate, &arena, &Arena::Free, &arena),
      "cannot make transfer properties"));
  auto read = CheckStatus(H5Dread(dataset, type.memory.get(), selection.memory.get(),
                                  selection.file.get(), transfer.get(), out),
                          "cannot read the elements");
  // The library refuses to read what nothing is stored of and has no fill
  // value; it is shown as zeros, which is what `out` holds.
  if (!read && IsUndefined(dataset)) return {};
  return read;
}

}  // namespace

model::Result<Bytes> ReadElements(hid_t dataset, const ElementType& type, const Block& block,
                                  uint64_t limit, References& references) {
  const auto count = CheckedProduct(block.count);
  const auto size = count ? CheckedMultiply(*count, type.form.size) : std::nullopt;
  if (!size || *size > limit) return model::Limit("elements of more than {} bytes", limit);
  Bytes memory(*size);
  if (*size != 0) std::memset(memory.data(), 0, *size);
  Arena arena(limit);
  auto read =
      *count == 0 ? Result<void>() : ReadInto(dataset, type, block, arena, memory.data());
  if (!read) {
    if (arena.exhausted()) return model::Limit("elements of more than {} bytes", limit);
    return model::Propagate(std::move(read).error());
  }
  ReverseNumbers(type.form, memory.data(), *count);
  if (type.type.is_fixed_size()) return memory;
  std::vector<uint64_t> offsets;
  std::vector<std::byte> elements;
  NDLFS_RETURN_IF_ERROR(
      AppendElements(type.form, memory.data(), *count, limit, references, elements, &offsets));
  return MakeElementStream(offsets, elements);
}

}  // namespace ndlfs::backends::hdf5
