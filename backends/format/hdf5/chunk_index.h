// SPDX-License-Identifier: MIT
//
// Where the chunks of a dataset lie: the five indexes of the data layout message, and the
// B-tree of version 1 (HDF5 File Format Specification, IV.A.2.i and VII).
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "backends/format/hdf5/metadata.h"
#include "model/error.h"

namespace ndlfs::backends::hdf5 {

// Where a chunk lies. `bytes` is 0 for one that is absent.
struct ChunkRecord {
  uint64_t offset = 0;  // in the file, user block included
  uint64_t bytes = 0;
  uint64_t filter_mask = 0;  // bit i: filter i was not applied
};

// What the index and the layout message say.
struct ChunkLayout {
  enum class Index : uint8_t {
    kTree1 = 0,
    kSingle = 1,
    kImplicit = 2,
    kFixedArray = 3,
    kExtensibleArray = 4,
    kTree2 = 5,
  };
  Index index = Index::kTree1;
  uint64_t address = kNowhere;
  std::vector<uint64_t> shape;      // of the dataset
  std::vector<uint64_t> max_shape;  // kNowhere: no limit
  std::vector<uint64_t> chunk;
  uint64_t chunk_bytes = 0;  // without filters
  bool is_filtered = false;
  ChunkRecord single = {};  // kSingle, if it is filtered: without an offset
  uint64_t page_bits = 0;   // kFixedArray
};

class ChunkIndex {
 public:
  ChunkIndex(std::shared_ptr<const Metadata> file, ChunkLayout layout)
      : file_(std::move(file)), layout_(std::move(layout)) {}

  // The chunks `first` to `first + count - 1`, counted in C order over the chunks of the
  // dataset's shape; fewer at the end.
  model::Result<std::vector<ChunkRecord>> Locate(uint64_t first, uint64_t count) const;

 private:
  const std::shared_ptr<const Metadata> file_;
  const ChunkLayout layout_;
};

}  // namespace ndlfs::backends::hdf5
