// SPDX-License-Identifier: MIT
//
// The chunks of an array in a Zarr hierarchy, made of an array of any store.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "backends/codec/plain_frame.h"
#include "fs/view/container/zarr_types.h"
#include "fs/view/elements/box_source.h"
#include "fs/view/elements/chunk_need.h"
#include "fs/view/elements/element_source.h"
#include "fs/view/elements/view_node.h"
#include "model/error.h"
#include "model/mutex.h"

namespace ndlfs::cache {
class ArrayReader;
}

namespace ndlfs::fs::zarr {

// A file with metadata; its text is shared.
struct Document {
  std::string name;
  std::shared_ptr<const std::string> text;
};

// Chunks whose making was interrupted, so that it goes on when somebody reads them again: the
// last few of an array. Thread-safe.
class BegunChunks {
 public:
  struct Begun {
    backends::Bytes box;
    uint64_t done = 0;  // pieces of it: see BoxSource
  };

  // Nothing if that chunk was not begun.
  Begun Take(const std::vector<uint64_t>& index) EXCLUDES(mutex_);
  void Keep(std::vector<uint64_t> index, Begun begun) EXCLUDES(mutex_);
  uint64_t held_bytes() const EXCLUDES(mutex_);

 private:
  static constexpr size_t kMost = 4;
  mutable model::Mutex mutex_;
  std::deque<std::pair<std::vector<uint64_t>, Begun>> chunks_ GUARDED_BY(mutex_);
};

// How the chunks of a hierarchy are made of those of the source.
struct ChunkSource {
  size_t rank = 0;  // of the array in the source: the other dimensions are inside of elements
  bool has_same_chunks = false;  // each chunk is the chunk of the source at the same index
  // A chunk that the source does not have is absent. Needs `has_same_chunks`.
  bool may_be_absent = false;
  // Chunks are shown as they are stored, and `frame` is the form of those that are not encoded
  // as the documents say. Needs `has_same_chunks`.
  bool is_stored = false;
  std::optional<backends::PlainFrame> frame = std::nullopt;
  bool is_converted = false;  // `elements` are converted from those of the source
  // The elements as the source has them; null if they are of variable size.
  std::shared_ptr<const ElementSource> stored;
  // The elements, if they are best made a whole chunk at once; may be null.
  std::shared_ptr<const BoxSource> boxes;
  // Only if they are of variable size.
  std::shared_ptr<const cache::ArrayReader> reader;
  // Reads the whole array, if only a part of it is shown.
  std::shared_ptr<const cache::ArrayReader> whole;
};

// What the directory of an array is made of. Chunks hold little-endian elements in C order; if
// these are of variable size, as the codecs vlen-utf8 and vlen-bytes write them.
struct StoredArray {
  Version version = Version::kV3;
  std::vector<Document> documents;
  std::vector<uint64_t> shape;
  // Has the same rank as `shape`, and no zeros. A chunk has no more bytes than a file can have.
  std::vector<uint64_t> chunk_shape;
  std::vector<std::byte> fill;  // one element, for what is outside of the array
  std::shared_ptr<const ElementSource> elements;  // all of the array; null: of variable size
  std::string name;                               // what errors begin with; may be empty
  ChunkSource source;
  // If the chunks are not those of the source, each of them may need all of these. Null if none
  // of the source is needed by several.
  std::shared_ptr<ChunkKeeper> keeper = std::make_shared<ChunkKeeper>();
  std::shared_ptr<BegunChunks> begun = std::make_shared<BegunChunks>();
};

// The number of chunks along each dimension.
std::vector<uint64_t> ChunkCounts(const StoredArray& array);
// The number of the chunk at `index` among those of the source, in C order.
uint64_t SourceNumber(const StoredArray& array, std::span<const uint64_t> index);

// Whether there is a chunk at `index`, which is inside the array. May look at the source.
model::Result<bool> HasChunk(const StoredArray& array, std::span<const uint64_t> index);
// The numbers of SourceNumber() of all chunks that there may be, ascending, if the source can
// list them and there are not very many; otherwise nullopt.
model::Result<std::optional<std::vector<uint64_t>>> ListSourceChunks(const StoredArray& array);

// The file with the chunk at `index`; kNotFound if there is none, although HasChunk() was true
// or was not asked. What is outside of the array is filled up.
model::Result<ViewPtr> MakeChunk(const std::shared_ptr<const StoredArray>& array,
                                 std::span<const uint64_t> index);

}  // namespace ndlfs::fs::zarr
