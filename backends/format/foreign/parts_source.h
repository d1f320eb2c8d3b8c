// SPDX-License-Identifier: MIT
//
// Arrays whose elements lie in several flat files, or in one with gaps between them, or need
// more decoding than others. MakeFlatSource() reads all other flat files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backends/codec/codec.h"
#include "backends/format/array_source.h"
#include "backends/store/store.h"
#include "model/datatype.h"
#include "model/error.h"

namespace ndlfs::backends::foreign {

// Some indexes of the first dimension, in one file.
struct Part {
  std::string key;         // in PartsLayout::store
  uint64_t first_row = 0;  // index of the first dimension
  uint64_t rows = 0;
};
using Parts = std::vector<Part>;

struct PartsLayout {
  std::shared_ptr<const Store> store;
  // In the order of the first dimension, whose extent is the sum of their rows. A scalar has
  // one part.
  std::shared_ptr<const Parts> parts;
  uint64_t offset = 0;     // of the first element in each part, in bytes
  model::Datatype stored;  // with the byte order of the file
  std::vector<uint64_t> shape;
  // The number of bytes from an element of a part to the next along each dimension; a later
  // dimension never has a larger one. Empty: C order without gaps.
  std::vector<uint64_t> strides = {};
  // The elements of parts whose file is absent, as decoded; empty: zeros.
  std::vector<std::byte> fill = {};
  // Decodes stored elements to those of `dtype`; null: only their byte order differs.
  std::shared_ptr<const ArrayToBytesCodec> codec = nullptr;
  std::optional<model::Datatype> dtype = std::nullopt;
};

// A list of one part: a file with all of an array of this shape.
std::shared_ptr<const Parts> OnePart(const std::vector<uint64_t>& shape);

// The bytes that a file must have to hold a part of `rows` indexes; nullopt if these are more
// than any file has.
std::optional<uint64_t> EndOfPart(const PartsLayout& layout, uint64_t rows);

// Makes the source of such an array. Does not look at the files. kLimit for arrays that no file
// holds.
model::Result<std::shared_ptr<const ArraySource>> MakePartsSource(PartsLayout layout);

// The same for elements that are compressed as a whole, in one file: `compressor` is the name
// of a codec of numcodecs. Every read of any part decodes all elements, so more than
// `max_bytes` are kLimit.
model::Result<std::shared_ptr<const ArraySource>> MakeCompressedSource(
    PartsLayout layout, std::string_view compressor, uint64_t max_bytes);

}  // namespace ndlfs::backends::foreign
