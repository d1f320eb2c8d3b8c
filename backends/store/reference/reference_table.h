// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "backends/base/bytes.h"
#include "backends/parquet/table.h"
#include "backends/store/store.h"
#include "model/error.h"
#include "model/mutex.h"

namespace ndlfs::backends::kerchunk {

// One file of references in Parquet ("t/refs.0.parq"): a row for each chunk. Immutable.
class ReferenceTable {
 public:
  // What a row says of a chunk.
  struct Row {
    // If set, the bytes themselves, which the table has. Otherwise a part of a file.
    std::optional<ConstByteSpan> bytes;
    std::string_view path;
    ByteRange range;
  };

  // Reads the columns "path", "offset", "size" and "raw" of a file, which may lack some of
  // them. kLimit for more than `max_rows` rows.
  static model::Result<ReferenceTable> Read(ConstByteSpan file, const ValueInfo& info,
                                            uint64_t max_rows);

  // The facts about the file that the table was read from.
  const ValueInfo& info() const { return info_; }
  uint64_t rows() const { return rows_; }
  uint64_t held_bytes() const;
  // nullopt for a chunk that is absent, also behind the last row. kCorrupt for numbers below 0.
  model::Result<std::optional<Row>> Find(uint64_t row) const;

 private:
  ValueInfo info_;
  uint64_t rows_ = 0;
  parquet::Values path_, offset_, size_, raw_;  // empty if the file has no such column
};

// The tables that were used last, up to a fixed number of bytes. Thread-safe.
class TableCache {
 public:
  using Pointer = std::shared_ptr<const ReferenceTable>;

  // The table of the file at `key`; null if it is not kept.
  Pointer Find(std::string_view key) const EXCLUDES(mutex_);
  // Keeps a table, and drops others, or one of another version of the same file.
  void Keep(std::string_view key, Pointer table) const EXCLUDES(mutex_);
  uint64_t held_bytes() const EXCLUDES(mutex_);

 private:
  mutable model::Mutex mutex_;
  mutable std::list<std::pair<std::string, Pointer>> tables_
      GUARDED_BY(mutex_);  // newest first
  mutable uint64_t held_bytes_ GUARDED_BY(mutex_) = 0;
};

}  // namespace ndlfs::backends::kerchunk
