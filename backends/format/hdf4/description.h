// SPDX-License-Identifier: MIT
//
// What an HDF4 file has in it, as plain values. libhdf4 tells them in a process of its own, so
// nothing here can be trusted more than the file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ndlfs::backends::hdf4 {

struct AttributeInfo {
  std::string name;
  int32_t number_type = 0;  // DFNT_... of hntdefs.h
  uint64_t count = 0;
  std::string values;  // little-endian
};

// Bytes of the file.
struct Piece {
  uint64_t offset = 0;
  uint64_t bytes = 0;
};

struct StoredChunk {
  uint64_t number = 0;  // in C order of the grid
  // What is stored of it, one piece after the other.
  std::vector<Piece> pieces;
  // Or where the file says in what way the chunk is encoded, and which element has the encoded
  // bytes; see chunk_header.h. No bytes: there is no such place.
  Piece header = {};
};

struct ArrayInfo {
  enum class Kind : uint8_t { kDataSet, kImage };
  enum class Coding : uint8_t {
    kNone,       // the pieces are the elements
    kDeflate,    // the pieces are a zlib stream
    kByLibrary,  // only libhdf4 reads them
  };

  Kind kind = Kind::kDataSet;
  int32_t index = 0;  // of SDselect() or GRselect()
  std::string name;
  int32_t number_type = 0;
  std::vector<uint64_t>
      shape;                  // of an image: rows, columns, and components if there are several
  bool is_unlimited = false;  // the first dimension
  bool is_coordinate = false;           // the scale of the dimension with its name
  std::vector<std::string> dimensions;  // a name for each, or none at all
  std::vector<uint64_t> chunk;          // empty: one chunk has all elements
  Coding coding = Coding::kNone;
  std::string coding_name;  // "szip": for people
  std::vector<StoredChunk> chunks;
  std::string fill;  // an element, little-endian; empty: zeros
  std::vector<AttributeInfo> attributes;
  std::string problem;  // why its elements cannot be read
};

struct GroupInfo {
  std::string name;
  std::string class_name;
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

// Elements that the library is to read.
struct BlockRequest {
  ArrayInfo::Kind kind = ArrayInfo::Kind::kDataSet;
  int32_t index = 0;
  std::vector<uint64_t> start;
  std::vector<uint64_t> count;
  uint64_t bytes = 0;  // of all these elements
};

// What the process of libhdf4 is asked: about the whole file, or for some elements.
struct Question {
  std::optional<BlockRequest> block;
  // Whether the headers of chunks are left for later: the skeleton does not have them.
  bool leaves_headers = false;
};

}  // namespace ndlfs::backends::hdf4
