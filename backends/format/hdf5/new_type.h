// SPDX-License-Identifier: MIT
//
// NDL datatypes as datatypes of a file that is written, and element streams as its elements.
// The inverse of element_type.h.
#pragma once

#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "backends/base/bytes.h"
#include "model/datatype.h"
#include "model/error.h"
#include "model/value.h"

namespace ndlfs::backends::hdf5 {

struct NewType {
  model::Datatype type;
  std::vector<std::byte> message;  // that describes it
  size_t size = 0;                 // of an element in the file
  size_t least = 0;                // the fewest bytes of an element in a stream
  std::vector<size_t> offsets;     // of the members of a compound
  // The members; or the base of an array or a vlen.
  std::vector<std::shared_ptr<const NewType>> parts;
  size_t committed = 0;  // the object that is this type; 0: none
};
using NewTypePtr = std::shared_ptr<const NewType>;

// Makes the type. Text of fixed length becomes an array of characters, which netCDF-C reads
// correctly; of a longer string it would read the first character, or past the end. float8
// becomes opaque. `known` are committed datatypes; one of them is used if the type is the same.
// kUnsupported if HDF5 has no such type.
model::Result<NewTypePtr> MakeNewType(const model::Datatype& type,
                                      const std::vector<NewTypePtr>& known = {});

// The datatypes of `text` in attributes, which ends at its only NUL if that is its last byte;
// of references to objects; of a compound of such a reference, "dataset", and an int32,
// "dimension", in 16 bytes; of vlens of `base`.
std::vector<std::byte> TextTypeMessage(std::string_view text, bool is_utf8);
std::vector<std::byte> ObjectReferenceMessage();
std::vector<std::byte> ScaleUserMessage();
std::vector<std::byte> VlenMessage(ConstByteSpan base);
// And of a big-endian float32, an int32.
std::vector<std::byte> BigFloat32Message();
std::vector<std::byte> Int32Message();

// Where elements go that are of variable size.
struct NewReferences {
  // The address of the object at a path, 0 for none.
  std::function<uint64_t(std::string_view path)> object;
  // The object of the global heap that stands for a region; empty for none.
  std::function<std::vector<std::byte>(const model::Region& region)> region;
  // Puts an object into the global heap, and gives its place there.
  std::function<std::vector<std::byte>(ConstByteSpan object)> put;
};

// Takes an element off the front of `stream`, and writes it to `out`, which is `type.size`
// bytes of zeros.
model::Result<void> TakeNewElement(const NewType& type, ConstByteSpan& stream, std::byte* out,
                                   const NewReferences& references);

}  // namespace ndlfs::backends::hdf5
