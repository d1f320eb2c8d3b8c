// SPDX-License-Identifier: MIT
//
// Arrays of elements that lie in a file one after the other: the array of an NPY file, a flat
// binary file, a file with a foreign header.
//
// In C order the elements are a range of the file. In Fortran order they are transposed in
// tiles: a tile is a box of the index space, and is read from the file in pieces of elements
// that are neighbours there. In compressed files chunks consist of elements that are neighbours
// in the file, in either order.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backends/codec/registry.h"
#include "backends/format/array_source.h"
#include "backends/store/store.h"
#include "model/datatype.h"
#include "model/error.h"

namespace ndlfs::backends {

// The cost of reading parts of the value.
enum class FlatAccess : uint8_t {
  kRandom,      // a part costs as much as its size
  kSequential,  // compressed: large parts in ascending order are cheapest
};

// Where the elements of an array lie in the value at `key`.
struct FlatLayout {
  std::shared_ptr<const Store> store;
  std::string key;
  // Bytes before the first element; with records, before the first marker.
  uint64_t offset = 0;
  model::Datatype stored;  // with the byte order of the file
  std::vector<uint64_t> shape;
  // The first dimension varies fastest in the file.
  bool fortran_order = false;
  FlatAccess access = FlatAccess::kRandom;
  // The file consists of records with Fortran's markers, in the byte order of `stored`. All
  // have the length in the first marker. A record is one index, or all indexes, of some slowest
  // dimensions of the file. Readers check the markers of each record.
  bool has_records = false;
  FlatEncoding::Bits bits = FlatEncoding::Bits::kNone;
  // If set, exactly so many bytes follow the elements.
  std::optional<uint64_t> trailer = std::nullopt;
};

// Makes the source of such an array. Looks at the size of the value, and at the first marker.
// kCorrupt if the value is too short. kNotFound if there is none. kLimit if it is too large to
// be decoded in chunks of `max_chunk_bytes`.
model::Result<std::shared_ptr<const ArraySource>> MakeFlatSource(FlatLayout layout,
                                                                 uint64_t max_chunk_bytes);

// The extent that the dimension which varies slowest must have, so that the elements end
// `trailer` bytes before the end of the value; the other extents are those of layout.shape.
// kCorrupt if these bytes are no whole number of indexes.
model::Result<uint64_t> FindFlatExtent(const FlatLayout& layout);

// The shape of the tiles in which an array in Fortran order is read. All tiles that a
// row in C order crosses take a few MiB, so that they stay in memory and each is read
// once. The runs of a tile are long enough to be worth a system call.
std::vector<uint64_t> FortranTileShape(const std::vector<uint64_t>& shape, uint64_t item_size);

}  // namespace ndlfs::backends
