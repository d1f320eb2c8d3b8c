// SPDX-License-Identifier: MIT
//
// What an HDF4 file has in it, as plain values. Nothing here can be trusted more than the file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "backends/format/hdf4/coding.h"
#include "backends/format/hdf4/elements.h"
#include "backends/store/store.h"
#include "model/error.h"

namespace ndlfs::backends::hdf4 {

struct AttributeInfo {
  std::string name;
  int32_t number_type = 0;  // DFNT_... of hntdefs.h
  uint64_t count = 0;
  std::string values;  // little-endian
};

struct StoredChunk {
  uint64_t number = 0;  // in C order of the grid
  ElementId element = {};
};

struct ArrayInfo {
  std::string name;
  uint16_t reference = 0;  // by which groups have it; 0: none
  int32_t number_type = 0;
  std::vector<uint64_t>
      shape;                  // of an image: rows, columns, and components if there are several
  bool is_unlimited = false;  // the first dimension
  bool is_coordinate = false;           // the scale of the dimension with its name
  std::vector<std::string> dimensions;  // a name for each, or none at all

  // Where its elements are: in pieces, which are one chunk; or in chunks. None of both: nothing
  // was written. The pieces are in the file itself, unless another one has a name. It is opened
  // by whoever knows the source.
  std::string external_name;
  std::shared_ptr<const Store> external;
  std::vector<Piece> pieces;
  uint64_t skipped_bytes = 0;   // of the pieces, before the first element
  std::vector<uint64_t> chunk;  // empty: no chunks
  std::vector<StoredChunk> chunks;
  Coding coding;
  // If not empty: dimension d of what is stored is this dimension of the array.
  std::vector<size_t> order;

  std::string fill;  // an element, little-endian; empty: zeros
  std::vector<AttributeInfo> attributes;
  std::string problem;  // why its elements cannot be read
};

struct GroupInfo {
  std::string name;
  std::vector<AttributeInfo> attributes;
  std::vector<uint64_t> groups;  // indexes of FileInfo::groups
  std::vector<uint64_t> arrays;  // indexes of FileInfo::arrays
};

struct FileInfo {
  std::vector<AttributeInfo> attributes;
  std::vector<ArrayInfo> arrays;
  std::vector<GroupInfo> groups;
  std::vector<std::string> tables;  // names of Vdata, which are not shown
};

// What is in the file. Objects that make no sense are left out, or have a problem.
model::Result<FileInfo> Describe(const Elements& elements);

// Parts of Describe().
class Vset;
model::Result<void> FindSets(const Vset& vset, FileInfo& file);
model::Result<void> FindImages(const Vset& vset, FileInfo& file);

// Finds what is stored of an array with this element.
model::Result<void> FindElements(const Vset& vset, ElementId data, ArrayInfo& array);

}  // namespace ndlfs::backends::hdf4
