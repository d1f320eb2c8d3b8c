// SPDX-License-Identifier: MIT
//
// Trees and heaps of a file that is written (HDF5 File Format Specification, III). How many
// bytes something takes never depends on addresses in it.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "backends/base/bytes.h"
#include "model/error.h"

namespace ndlfs::backends::hdf5 {

// Bytes that are written one after the other; numbers are little-endian.
class ByteWriter {
 public:
  ByteWriter& Number(uint64_t value, size_t width);
  ByteWriter& Address(uint64_t address) { return Number(address, 8); }
  ByteWriter& Append(ConstByteSpan bytes);
  ByteWriter& Text(std::string_view text) { return Append(AsBytes(text)); }
  ByteWriter& Zeros(size_t count);
  // Goes on at a multiple of `alignment`.
  ByteWriter& Align(size_t alignment);
  // The checksum of all from `begin` on.
  ByteWriter& Sum(size_t begin);

  size_t size() const { return bytes_.size(); }
  const std::vector<std::byte>& bytes() const { return bytes_; }
  // Writes over the bytes at `offset`.
  void Set(size_t offset, ConstByteSpan bytes);
  void CutTo(size_t size) { bytes_.resize(size); }
  std::vector<std::byte> Take() { return std::move(bytes_); }

 private:
  std::vector<std::byte> bytes_;
};

// What a dense group or object keeps in a heap: a link or an attribute.
struct DenseEntry {
  std::string_view name;
  ConstByteSpan message;
};
// The addresses of the heap, and of the tree with all names.
struct DensePlace {
  uint64_t heap;
  uint64_t by_name;
};
// Appends both to `file`.
model::Result<DensePlace> AppendDenseLinks(ByteWriter& file,
                                           const std::vector<DenseEntry>& links);
model::Result<DensePlace> AppendDenseAttributes(ByteWriter& file,
                                                const std::vector<DenseEntry>& attributes);

// The tree with the one chunk at `address`, of a dataset of chunks of this extent.
void AppendChunkTree(ByteWriter& file, uint64_t address, const std::vector<uint64_t>& chunk,
                     uint64_t element_bytes);

// The global heap: elements of variable size, and regions.
class NewGlobalHeap {
 public:
  explicit NewGlobalHeap(uint64_t address) : address_(address) {}

  // An address and a number, by which elements name the object.
  std::vector<std::byte> Put(ConstByteSpan object);
  // The bytes of the heap, which begin at its address.
  std::vector<std::byte> Finish();
  size_t size() const { return heap_.size(); }

 private:
  void Close();

  const uint64_t address_;
  ByteWriter heap_;
  size_t begin_ = 0;      // of the last collection
  uint64_t objects_ = 0;  // in it; 0: there is none
};

}  // namespace ndlfs::backends::hdf5
