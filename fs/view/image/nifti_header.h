// SPDX-License-Identifier: MIT
//
// A header of NIfTI that a store keeps with its elements, and the one of a file of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/error.h"

namespace ndlfs::fs {

inline constexpr size_t kNiftiFirstSize = 348;
inline constexpr size_t kNiftiSecondSize = 540;
// Behind the header are four bytes that say whether extensions follow.
inline constexpr size_t kNiftiExtension = 4;

struct KeptNiftiHeader {
  std::string bytes;  // little-endian
  bool is_second = false;
  int16_t code = 0;              // of the elements
  std::vector<int64_t> lengths;  // the fastest first
  std::string extensions;        // what follows the header; may be empty
};

// The header in `bytes`, of either byte order; nullopt if there is none. Extensions of
// big-endian headers are left out.
std::optional<KeptNiftiHeader> ReadKeptNiftiHeader(std::string_view bytes);

// Where the elements of a file with such a header begin, if `stored` bytes of it are kept.
// Known without reading them, and a multiple of 16, as NIfTI asks for.
size_t NiftiOffset(uint64_t stored);

// The header with its extensions, up to `offset`, where the elements are: all fields are as
// kept but the magic word and vox_offset. nullopt unless the header is one of elements of
// `code` with `lengths`, whose order in a file is the same, and there is room.
std::optional<std::string> WholeNiftiHeader(const KeptNiftiHeader& kept, int16_t code,
                                            const std::vector<uint64_t>& lengths,
                                            size_t offset);

// Copies the fields that hold for every part of the elements into `header`, of a part: what
// numbers mean, and, unless they are converted, how they are scaled and shown. Both headers may
// have different versions; an error if a scale does not fit into the other one. Nothing is
// copied if the elements have another code.
model::Result<void> CopyNiftiMeaning(const KeptNiftiHeader& kept, int16_t code, bool is_second,
                                     bool is_converted, std::string& header);

}  // namespace ndlfs::fs
