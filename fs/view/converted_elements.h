// SPDX-License-Identifier: MIT
//
// Elements as other formats have them: floats that C has no type for as float32, and UTF-32 as
// UTF-8.
#pragma once

#include <cstddef>
#include <memory>

#include "fs/view/element_source.h"
#include "model/datatype.h"

namespace ndlfs::fs {

// What becomes of each element of an array.
struct ElementConversion {
  // `count` elements of `from_size` bytes, little-endian, to as many of `to_size` bytes,
  // numbers in `order`. `type` is the type of the elements in the source.
  using Convert = void (*)(const model::Datatype& type, const std::byte* from, std::byte* to,
                           size_t count, model::ByteOrder order);
  model::Datatype type;  // of the source
  size_t to_size = 0;    // bytes of a converted element
  Convert convert = nullptr;
};

// float16, bfloat16 and smaller floats as float32, which holds all their values. `convert` is
// null for other types.
ElementConversion ToFloat32(const model::Datatype& type);

// Text of fixed length in UTF-32 as UTF-8 that zeros fill up. It has as many bytes as before,
// which is the most that it can need; U+FFFD stands for what is no character. `convert` is null
// for other types.
ElementConversion ToUtf8(const model::Datatype& type);

// The elements of `source`, which are of `conversion.type`, converted. null where `source` is,
// or where they would be more bytes than a file can have.
std::shared_ptr<const ElementSource> ConvertElements(
    std::shared_ptr<const ElementSource> source, ElementConversion conversion);

}  // namespace ndlfs::fs
