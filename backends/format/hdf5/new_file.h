// SPDX-License-Identifier: MIT
//
// Writes the metadata of a new file, in the forms that all readers since HDF5 1.8 know. Most
// elements are not written: the file only has room for them, and the answer says where.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/datatype.h"
#include "model/error.h"

namespace ndlfs::backends::hdf5 {

struct NewAttribute {
  std::string name;
  model::Datatype type;
  std::vector<uint64_t> shape;  // empty: scalar
  // One after the other: type.size() bytes each, or as an element stream has them.
  std::vector<std::byte> data;
};

// An object of the file. Names are not empty, without `/` and NUL, and not ".".
struct NewObject {
  enum class Kind : uint8_t {
    kGroup,
    kDataset,
    kDatatype,   // a committed datatype
    kDimension,  // a dimension of netCDF-4 without a variable
    kSoftLink,
  };
  Kind kind = Kind::kGroup;
  uint32_t parent = 0;  // a group before this one in the list
  std::string name;
  std::string path;  // its NDL path name, which references use; may be empty
  std::vector<NewAttribute> attributes;
  model::Datatype type;         // kDataset, kDatatype
  std::vector<uint64_t> shape;  // kDataset; kDimension: its one length
  // kDataset: the fill value, one element of fixed size.
  std::optional<std::vector<std::byte>> fill;
  // kDataset: the elements, as in NewAttribute::data. Without them there is only room for
  // elements, which must be of fixed size.
  std::optional<std::vector<std::byte>> data;
  // kDataset: a dimension scale. If it has several dimensions, it is the scale of the first.
  bool is_scale = false;
  // kDimension, and kDataset of fixed size that is a scale: the first dimension may grow, which
  // netCDF-4 calls unlimited. If HDF5 cannot have that, because the elements are no single
  // chunk, the dimension has its fixed length.
  bool is_unlimited = false;
  // kDataset: for each dimension a scale before this object in the list; or empty, if the
  // dimensions have no scales. A scale may be its own scale, and may refer to later ones.
  std::vector<uint32_t> scales;
  std::string target;  // kSoftLink: a path in the new file
};

struct NewFile {
  std::vector<NewObject> objects;  // the first one is the root group
  // Objects that the file lacks, and the reasons: one line each. Becomes an attribute of the
  // root, with a line for every object that HDF5 cannot have.
  std::string left_out;
  std::string properties;  // the attribute _NCProperties
};

// The name of the attribute with NewFile::left_out.
inline constexpr const char* kLeftOutAttribute = "ndlfs_left_out";

struct WrittenFile {
  struct Block {
    uint64_t offset = 0;
    std::vector<std::byte> bytes;
  };
  static constexpr uint64_t kNowhere = UINT64_MAX;
  uint64_t size = 0;          // of the file
  std::vector<Block> blocks;  // ascending; between them are elements and zeros
  // For each object, where its elements go; kNowhere if they are in `blocks`, or there are
  // none, or the object was left out.
  std::vector<uint64_t> offsets;
};

// Writes the file in memory. Equal descriptions give equal files. kBadInput for a
// description that contradicts itself, kLimit for more than 240 MiB of metadata.
model::Result<WrittenFile> WriteNewFile(const NewFile& file);

// The elements of a dataset begin at a multiple of this.
inline constexpr uint64_t kDataAlignment = 64;

}  // namespace ndlfs::backends::hdf5
