// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace ndlfs::cache {

// One dimension of a box of bytes that is copied: how often, and how far apart
// the pieces lie at either side.
struct CopyAxis {
  size_t count;
  size_t from_stride;
  size_t to_stride;
};

// Copies a box of `axes` (slowest first) of pieces of `run` bytes each. Axes
// that are contiguous at both sides are joined into longer pieces first.
void CopyStrided(const std::byte* from, std::byte* to, std::vector<CopyAxis> axes, size_t run);

// Copies such a box out of something that is read by offsets, as few pieces as
// make sense. `read` fills its span; the first false ends it. May read, but not
// keep, what lies between the pieces.
using ReadAtOffset = std::function<bool(uint64_t offset, std::span<std::byte> out)>;
bool ReadStrided(const ReadAtOffset& read, uint64_t from, std::byte* to,
                 std::vector<CopyAxis> axes, size_t run);

// Fills such a box with copies of `element`: each piece begins at byte `phase`
// of an element. An empty element means zeros.
void FillStrided(std::span<const std::byte> element, size_t phase, std::byte* to,
                 std::span<const CopyAxis> axes, size_t run);

}  // namespace ndlfs::cache
