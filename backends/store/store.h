// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backends/base/bytes.h"
#include "model/error.h"

namespace ndlfs::backends {

// What identifies one version of a file: any rewrite changes it.
struct FileStamp {
  uint64_t device = 0;
  uint64_t inode = 0;
  uint64_t size = 0;
  int64_t mtime_ns = 0;
  int64_t ctime_ns = 0;
  bool operator==(const FileStamp&) const = default;
};

struct ByteRange {
  static constexpr uint64_t kToEnd = std::numeric_limits<uint64_t>::max();
  uint64_t offset = 0;
  uint64_t length = kToEnd;
};

// What one read of a value found, all of it in one version.
struct ReadResult {
  size_t count = 0;         // bytes read: fewer than asked for only at the end of the value
  uint64_t total_size = 0;  // bytes that the value has
  FileStamp version;
};

// Gives the memory to read into, once the size of the value is known and before
// a byte of it is read. An error ends the read.
using Reserve = std::function<model::Result<ByteSpan>(uint64_t total_size)>;

struct StoreEntry {
  std::string name;
  bool is_prefix;  // has children (a directory); otherwise a value
};

// A Store maps keys to bytes: a directory, a zip archive, a single file. Keys
// are relative and '/'-separated ("temp/c/0/3"); a store that is one file has
// the single key "". Immutable as an object and safe to call concurrently;
// what it reads may change underneath, which Stat() tells.
class Store {
 public:
  virtual ~Store() = default;

  // Size of the value at `key`, or nullopt where there is none. An absent key
  // is an answer, not an error.
  virtual model::Result<std::optional<uint64_t>> Size(std::string_view key) const = 0;

  // Fills `out` from `offset` of the value at `key`; returns how many bytes
  // there were, less than out.size() only at the end of the value, or nullopt
  // where there is no such key.
  virtual model::Result<std::optional<size_t>> ReadInto(std::string_view key, uint64_t offset,
                                                        ByteSpan out) const = 0;

  // Reads from `offset` of the value at `key`, and says how large the value is
  // and which version the bytes are of: one question where Stat(), Size() and
  // ReadInto() are three, between which the value may change. A value that
  // changes while it is read is ESTALE. nullopt, without a call of `reserve`,
  // where there is no such key. The default asks the three one after the
  // other, and the first once more.
  virtual model::Result<std::optional<ReadResult>> ReadOnce(std::string_view key,
                                                            uint64_t offset,
                                                            const Reserve& reserve) const;

  // Whether reading a value in parts takes no more than reading it at once.
  virtual bool ReadsInParts() const { return false; }

  // Version of the value at `key`; nullopt where there is none. Costs no
  // more than a stat().
  virtual model::Result<std::optional<FileStamp>> Stat(std::string_view key) const = 0;

  // Children of `prefix` ("" is the root) sorted by name; empty where there
  // is no such prefix.
  virtual model::Result<std::vector<StoreEntry>> List(std::string_view prefix) const = 0;

  // About how many bytes of memory it takes as long as it is there, beside a few
  // KiB: for indexes of what there is.
  virtual uint64_t held_bytes() const { return 0; }

  // How to name `key` to a person: "sst.zarr/temp/c/0/3".
  virtual std::string Describe(std::string_view key) const = 0;

  // The whole value, or `range` of it clipped to its end; refuses (kLimit)
  // more than `limit` bytes without reading them.
  model::Result<std::optional<Bytes>> Read(std::string_view key, uint64_t limit,
                                           ByteRange range = {}) const;
};

}  // namespace ndlfs::backends
