// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace ndlfs::cache {

// One dimension of a box of bytes that is copied: the number of pieces, and the distance in
// bytes from one to the next in the source and in the target.
struct CopyAxis {
  size_t count;
  size_t from_stride;
  size_t to_stride;
};

// Copies a box with the dimensions `axes`, slowest first, whose pieces have
// `run` bytes each. First joins axes that are contiguous at both sides into
// longer pieces.
void CopyStrided(const std::byte* from, std::byte* to, std::vector<CopyAxis> axes, size_t run);

// Copies a box of elements, which have `item` bytes each, to the place `low` in an array with
// the extents `shape`. `from` has nothing but the box, with the extents `extents`; both are in
// C order.
void CopyBox(const std::byte* from, std::span<const uint64_t> extents, std::byte* to,
             std::span<const uint64_t> shape, std::span<const uint64_t> low, size_t item);

// Copies such a box from a source that `read` reads at an offset, in few calls.
// `read` fills its span; when it returns false, ReadStrided() stops and returns
// false. `read` may also be asked for the bytes between the pieces, which are
// not kept.
using ReadAtOffset = std::function<bool(uint64_t offset, std::span<std::byte> out)>;
bool ReadStrided(const ReadAtOffset& read, uint64_t from, std::byte* to,
                 std::vector<CopyAxis> axes, size_t run);

// Fills such a box with copies of `element`: each piece begins at byte `phase`
// of an element. An empty element means zeros.
void FillStrided(std::span<const std::byte> element, size_t phase, std::byte* to,
                 std::span<const CopyAxis> axes, size_t run);

}  // namespace ndlfs::cache
