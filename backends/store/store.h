// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backends/base/bytes.h"
#include "backends/store/generation.h"
#include "model/error.h"

namespace ndlfs::backends {

// What is known of a value without reading it.
struct ValueInfo {
  Generation generation;
  uint64_t size = 0;        // bytes
  int64_t modified_ns = 0;  // when it was written last, since 1970; 0: unknown
  bool operator==(const ValueInfo&) const = default;
};

struct ByteRange {
  static constexpr uint64_t kToEnd = std::numeric_limits<uint64_t>::max();
  uint64_t offset = 0;
  uint64_t length = kToEnd;
};

// Which bytes of a value are wanted.
struct ReadOptions {
  ByteRange range = {};  // what lies beyond the end of the value is left out
  // `range.offset` counts back from the end of the value: {8, 8} is its last eight
  // bytes. A value with fewer bytes is read from its beginning.
  bool from_end = false;
  // Refuses (kStale) a value of another generation.
  std::optional<Generation> if_match = std::nullopt;

  // Where the wanted bytes are in a value of `total_size` bytes.
  ByteRange Clip(uint64_t total_size) const;
};

// What one read of a value found, all of it in one version.
struct ReadResult {
  size_t count = 0;  // bytes read
  ValueInfo info;    // of the whole value
};

// Gives the memory to read into, once the size of the value is known and before
// a byte of it is read. No more is read than has room there. An error ends the
// read.
using Reserve = std::function<model::Result<ByteSpan>(uint64_t total_size)>;

// Bytes of a value, and what is known of all of it.
struct Value {
  Bytes bytes;
  ValueInfo info;
};

// One of several reads.
struct ReadRequest {
  std::string key;
  ReadOptions options = {};
  // More bytes than that are refused (kLimit) without reading them.
  uint64_t limit = std::numeric_limits<uint64_t>::max();
};

struct StoreEntry {
  std::string name;
  bool is_prefix;  // has children (a directory); otherwise a value
};

// A Store maps keys to bytes: a directory, a zip archive, a single file. Keys
// are relative and '/'-separated ("temp/c/0/3"); a store that is one file has
// the single key "". Immutable as an object and safe to call concurrently;
// what it reads may change underneath, which the generations tell. An absent key
// is an answer (nullopt), not an error.
class Store {
 public:
  virtual ~Store() = default;

  // Reads some bytes of the value at `key`. One question has one answer: the
  // bytes, how many the whole value has, and which version of it they are of. A
  // value that changes while it is read is kStale. Without `if_match` the answer
  // is about the value as it is now. nullopt, without a call of `reserve`, where
  // there is no such key. Checks what the store answers: an answer that contradicts
  // itself is an error.
  model::Result<std::optional<ReadResult>> Read(std::string_view key,
                                                const ReadOptions& options,
                                                const Reserve& reserve) const;

  // The same into memory of its own; more than `limit` bytes are refused (kLimit)
  // without reading them.
  model::Result<std::optional<Value>> Get(std::string_view key, uint64_t limit,
                                          const ReadOptions& options = {}) const;

  // The bytes alone.
  model::Result<std::optional<Bytes>> Read(std::string_view key, uint64_t limit,
                                           ByteRange range = {}) const;

  // Fills `out` from `offset` of the value; returns how many bytes there were, less
  // than out.size() only at the end of the value.
  model::Result<std::optional<size_t>> ReadInto(std::string_view key, uint64_t offset,
                                                ByteSpan out) const;

  // Bytes of the value, as Read() would find it.
  model::Result<std::optional<uint64_t>> Size(std::string_view key) const;

  // Answers several reads, one answer for each request, in their order. Requests
  // for one key, if they follow each other, are answered from one version of its
  // value, or with kStale; those whose ranges adjoin or overlap are one read. One
  // that fails makes no other fail.
  virtual std::vector<model::Result<std::optional<Value>>> ReadMany(
      std::span<const ReadRequest> requests) const;

  // Whether reading a value in parts takes no more than reading it at once.
  virtual bool ReadsInParts() const { return false; }

  // What is known of the value at `key` without reading it. Costs no more than a
  // stat().
  virtual model::Result<std::optional<ValueInfo>> Stat(std::string_view key) const = 0;

  // Stat() of several keys. Cheapest where keys of one folder follow each other.
  virtual std::vector<model::Result<std::optional<ValueInfo>>> StatMany(
      std::span<const std::string_view> keys) const;

  // Children of `prefix` ("" is the root) sorted by name; empty where there
  // is no such prefix.
  virtual model::Result<std::vector<StoreEntry>> List(std::string_view prefix) const = 0;

  // About how many bytes of memory the store takes in addition to a few KiB: for
  // indexes of its keys.
  virtual uint64_t held_bytes() const { return 0; }

  // How to name `key` to a person: "sst.zarr/temp/c/0/3".
  virtual std::string Describe(std::string_view key) const = 0;

 private:
  // Read() of a kind of store. Calls `reserve` once, with the size that its answer
  // has, and reads what options.Clip() says, as far as it has room.
  virtual model::Result<std::optional<ReadResult>> DoRead(std::string_view key,
                                                          const ReadOptions& options,
                                                          const Reserve& reserve) const = 0;
};

}  // namespace ndlfs::backends
