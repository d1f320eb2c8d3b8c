// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "backends/base/bytes.h"
#include "backends/store/generation.h"
#include "backends/store/index_cache.h"
#include "backends/store/store.h"
#include "model/error.h"

namespace ndlfs::backends {

// Where the bytes of a value truly are: a range of a value of another store, or `bytes`.
struct ValuePlace {
  // Set also with `bytes`: for messages, and for the version of the value.
  std::shared_ptr<const Store> store;
  std::string key;
  ByteRange range = {};
  // The version of the value at `key` that the range is about.
  std::optional<Generation> if_match = std::nullopt;
  std::shared_ptr<const Bytes> bytes = nullptr;
  // The value at `key` is written once and never changes: nobody has to look at it again.
  bool never_changes = false;
};

// A capability of a Store (by dynamic_cast) whose values are parts of other stores: references,
// repositories with manifests. Readers of chunks ask the table where a chunk is, and read it
// there. So reading ahead, several requests at once and kept blocks work as for any other
// store.
class ChunkTable {
 public:
  virtual ~ChunkTable() = default;

  // Where the value at `key` is; nullopt if there is no such key. May read the table, but not
  // the value. A place whose value does not exist is damage, and no absent key. Parts of the
  // table that are needed again may stay in `indexes`, which may be null. Thread-safe.
  virtual model::Result<std::optional<ValuePlace>> Resolve(std::string_view key,
                                                           IndexCache* indexes) const = 0;

  // Whether Store::List() lists the keys. If not, keys are the canonical ones: programs have
  // not chosen how they are written.
  virtual bool lists_keys() const { return true; }
};

// Reads the part of a value that `place`, which has no `bytes`, is, as Store::Read() reads a
// value. The part is clipped to the end of the value. kCorrupt if there is no such value.
model::Result<std::optional<ReadResult>> ReadPlace(const ValuePlace& place,
                                                   const ReadOptions& options,
                                                   const Reserve& reserve);

// Bytes of a part of a value of `size` bytes.
uint64_t SizeOfPart(const ByteRange& part, uint64_t size);

// A table refers to a value that is not there.
model::Failure MissingValue(const ValuePlace& place);

}  // namespace ndlfs::backends
