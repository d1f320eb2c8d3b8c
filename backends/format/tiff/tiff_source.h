// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backends/format/array_source.h"
#include "backends/format/tiff/image.h"
#include "model/error.h"

namespace ndlfs::backends::tiff {

// Dimensions before those of a page, along which pages follow each other.
struct PageDimension {
  std::string name;
  uint64_t size = 0;
};

// An array of pages of one form.
struct PageStack {
  ImageForm form;
  std::vector<PageDimension> dims;
  // In C order of `dims`; one page if there are none.
  std::vector<PageChunks> pages;
  // Files that have pages, in addition to the one that was opened.
  std::vector<std::shared_ptr<const Store>> others;
};

// The file that has the pages.
struct TiffFile {
  std::shared_ptr<const Store> store;
  std::shared_ptr<const Bytes> head;  // its first bytes
  uint64_t size = 0;
  model::ByteOrder order = model::ByteOrder::kLittle;
  // If set, all reads are about this version. Another version of the file that was opened makes
  // another store, but those of other files may come and go.
  std::optional<Generation> generation = std::nullopt;
};

// The names of the dimensions, the slowest first. The dimensions of the pages come first. Then
// follow those of an image: "band" if samples are stored apart; "z" if the image is a volume;
// "y" and "x"; and "band" if the samples of a pixel follow each other.
std::vector<std::string> DimensionsOf(const PageStack& stack);
std::vector<uint64_t> ShapeOf(const PageStack& stack);

// Makes the source of the array. Strips or tiles that are not stored have the value `fill`, one
// element. kUnsupported names what this reader does not know; kCorrupt if the lists of strips
// or tiles are too short.
model::Result<std::shared_ptr<const ArraySource>> MakeTiffSource(const TiffFile& file,
                                                                 PageStack stack,
                                                                 std::vector<std::byte> fill,
                                                                 uint64_t max_chunk_size);

// The same for pages without directories of their own: they follow the first page in the file
// without gaps, uncompressed, as ImageJ writes them.
model::Result<std::shared_ptr<const ArraySource>> MakeContiguousSource(const TiffFile& file,
                                                                       const PageStack& stack,
                                                                       uint64_t max_chunk_size);

}  // namespace ndlfs::backends::tiff
