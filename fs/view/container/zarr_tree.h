// SPDX-License-Identifier: MIT
//
// The files of a Zarr v3 hierarchy, made of arrays of any store (Zarr core specification 3.0,
// "Stored metadata documents" and "Regular grids").
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "fs/view/base/view_input.h"
#include "fs/view/elements/element_source.h"
#include "fs/view/elements/view_node.h"
#include "model/error.h"

namespace ndlfs::fs::zarr {

// What the directory of an array is made of. Its chunks have no codec but "bytes": they are
// little-endian elements in C order.
struct StoredArray {
  std::string metadata;  // zarr.json
  std::vector<uint64_t> shape;
  // Of the same rank, without zeros. A chunk has no more bytes than a file can have.
  std::vector<uint64_t> chunk_shape;
  std::vector<std::byte> fill;  // one element, for what is outside of the array
  std::shared_ptr<const ElementSource> elements;  // all of the array
};

// Whether Zarr v3 has the type of the elements: bool, int8 to uint64, float16, float32,
// float64, complex64 and complex128.
bool HasType(const model::Datatype& type);
// `input`, which HasType() and has elements, in chunks of the grid of the source if all of
// these are equal; otherwise, and if only a part of the array is shown, in one chunk. Reads
// nothing. kLimit if a chunk would be larger than a file can be.
model::Result<StoredArray> DescribeArray(const ArrayInput& input);
// The zarr.json of a group with these attributes. `left_out` says what is not in the group, and
// why, a line each; it becomes the attribute `ndlfs_left_out`.
std::string DescribeGroup(const std::vector<model::Attribute>& attributes,
                          const std::vector<std::string>& left_out);

// zarr.json and the chunks: c/0/1, or the file c for rank 0. All chunks are there, also those
// that hold nothing but the fill value.
ViewDirectoryPtr MakeArrayDirectory(StoredArray array);
// zarr.json with the text `metadata`, and `children` by their names, which are sorted by bytes
// and differ from "zarr.json".
using Children = std::vector<std::pair<std::string, ViewDirectoryPtr>>;
ViewDirectoryPtr MakeGroupDirectory(std::string metadata, Children children);

}  // namespace ndlfs::fs::zarr
