// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
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

// The facts about a value, which a store knows without reading it.
struct ValueInfo {
  Generation generation;
  uint64_t size = 0;        // bytes
  int64_t modified_ns = 0;  // time of the last write, since 1970; 0: unknown
  // When the value came to its place, if it was written earlier; 0: unknown.
  int64_t placed_ns = 0;
  // When the source told these facts, if a store answers from memory; nullopt: just now. This
  // is no fact about the value, and so is not compared.
  std::optional<std::chrono::steady_clock::time_point> told_at = std::nullopt;
  // False if a later version may get the same generation, because the source cannot tell its
  // versions apart, or the value is too young. Such a value is not kept on disk. This is no
  // fact about the value either, and so is not compared.
  bool is_settled = true;

  // The facts about a part of the value, which has `part_size` bytes.
  ValueInfo OfPart(uint64_t part_size) const {
    ValueInfo part = *this;
    part.size = part_size;
    return part;
  }
  bool operator==(const ValueInfo& other) const {
    return generation == other.generation && size == other.size &&
           modified_ns == other.modified_ns && placed_ns == other.placed_ns;
  }
};

// Some bytes of a value.
struct ByteRange {
  static constexpr uint64_t kToEnd = std::numeric_limits<uint64_t>::max();
  uint64_t offset = 0;
  uint64_t length = kToEnd;  // bytes; kToEnd: up to the end of the value
};

// Which bytes of a value to read.
struct ReadOptions {
  ByteRange range = {};  // clipped to the end of the value
  // `range.offset` counts back from the end of the value: {8, 8} is its last eight
  // bytes. A value with fewer bytes is read from its beginning.
  bool from_end = false;
  // If set, a value of another generation is refused (kStale).
  std::optional<Generation> if_match = std::nullopt;
  // May be null. A store that usually waits for its bytes calls it if it has these bytes at
  // hand: at most once, before `reserve`. The call may wait until there is memory for the
  // bytes.
  const std::function<void()>* at_hand = nullptr;
  // The format guarantees that the value never changes once it is written, so an old copy of it
  // is as good as the value.
  bool never_changes = false;

  // The range of these bytes in a value of `total_size` bytes.
  ByteRange Clip(uint64_t total_size) const;
};

// The result of one read, all of it about one version of the value.
struct ReadResult {
  size_t count = 0;  // bytes read
  ValueInfo info;    // of the whole value
};

// Gets the size of the value, before any byte of it is read, and returns the memory to read
// into. The store reads no more bytes than have room there. An error ends the read.
using Reserve = std::function<model::Result<ByteSpan>(uint64_t total_size)>;

// Bytes of a value, and facts about the whole value.
struct Value {
  Bytes bytes;
  ValueInfo info;
};

// One read of Store::ReadMany().
struct ReadRequest {
  std::string key;
  ReadOptions options = {};
  // The most bytes to read. A read of more bytes is refused (kLimit) before it
  // begins.
  uint64_t limit = std::numeric_limits<uint64_t>::max();
};

// One child in a listing.
struct StoreEntry {
  std::string name;
  bool is_prefix;  // has children (a directory); otherwise a value
  // The entry is a link, or may be one, so that `is_prefix` is not known for sure.
  bool is_link = false;
};

// The facts about a store by which readers choose how to ask it. A store that reads through
// another one passes them on (forwarding_store.h).
struct StoreTraits {
  // Each read of a value is a request to a server: several at once take no longer than one. The
  // times of values are those of the server, in whole seconds.
  bool is_remote = false;
  // Each look at a key is such a request, too.
  bool looks_are_requests = false;
  // Reading a value in several parts costs no more than reading all of it at once.
  bool reads_in_parts = false;

  // The traits of a store that reads its values from a store with these traits, and has the
  // facts about its keys in memory.
  StoreTraits WithKnownKeys() const {
    StoreTraits traits = *this;
    traits.looks_are_requests = false;
    return traits;
  }
};

// A Store maps keys to bytes: a directory, a zip archive, a single file. Keys
// are relative and '/'-separated ("temp/c/0/3"); a store that is one file has
// the single key "". Thread-safe and immutable; but the values that it reads may
// change at any time, and then have another generation. An absent key is an
// answer (nullopt), not an error.
class Store {
 public:
  virtual ~Store() = default;

  // Reads some bytes of the value at `key`, into memory that `reserve` provides. The result
  // tells how many bytes were read, the size of the whole value, and the generation to which
  // they belong. kStale if the value changes during the read. Without `if_match`, reads the
  // present value. Returns nullopt without a call of `reserve` if there is no such key. Fails
  // if the result of DoRead() contradicts itself.
  model::Result<std::optional<ReadResult>> Read(std::string_view key,
                                                const ReadOptions& options,
                                                const Reserve& reserve) const;

  // The same into new memory. A read of more than `limit` bytes is refused
  // (kLimit) before it begins.
  model::Result<std::optional<Value>> Get(std::string_view key, uint64_t limit,
                                          const ReadOptions& options = {}) const;

  // The same, without the facts about the value.
  model::Result<std::optional<Bytes>> Read(std::string_view key, uint64_t limit,
                                           ByteRange range = {}) const;

  // Fills `out` from `offset` of the value. Returns the number of bytes read, which
  // is less than out.size() only at the end of the value.
  model::Result<std::optional<size_t>> ReadInto(std::string_view key, uint64_t offset,
                                                ByteSpan out) const;

  // The size of the value in bytes, as Read() would find it.
  model::Result<std::optional<uint64_t>> Size(std::string_view key) const;

  // Answers several requests, in their order. If requests for one key follow each other, all
  // their answers are from one version of its value, or are kStale; ranges that adjoin or
  // overlap take one read. A request that fails does not make others fail.
  virtual std::vector<model::Result<std::optional<Value>>> ReadMany(
      std::span<const ReadRequest> requests) const;

  virtual StoreTraits traits() const { return {}; }
  bool looks_are_requests() const { return traits().looks_are_requests; }

  // The facts about the value at `key`; nullopt if there is no such key. Costs
  // no more than a stat().
  virtual model::Result<std::optional<ValueInfo>> Stat(std::string_view key) const = 0;

  // Stat() of several keys. Costs least if keys of one folder follow each other.
  virtual std::vector<model::Result<std::optional<ValueInfo>>> StatMany(
      std::span<const std::string_view> keys) const;

  // For each of `entries`, which List() returned for `prefix`: true if it surely holds a value
  // with one of `names`. False says nothing; call Stat() to find out. Only a store that knows
  // this without looking at each entry returns true.
  virtual std::vector<bool> KnownToHold(std::string_view /*prefix*/,
                                        std::span<const StoreEntry> entries,
                                        std::span<const std::string_view> /*names*/) const {
    return std::vector<bool>(entries.size());
  }

  // Announces looks: the caller will look at the values called `names` below `prefix`, and at
  // those called `names_below` in each child of `prefix`. It will read the values that exist.
  // If looks are requests, the store sends all those together whose answers it does not know.
  // It leaves out the children if they are many, or not known yet.
  virtual void LookAhead(std::string_view /*prefix*/,
                         std::span<const std::string_view> /*names*/,
                         std::span<const std::string_view> /*names_below*/) const {}

  // Children of `prefix` ("" is the root) sorted by name; empty if there is no
  // such prefix.
  virtual model::Result<std::vector<StoreEntry>> List(std::string_view prefix) const = 0;

  // The present time by the clock that gives the values their times, in nanoseconds since 1970;
  // nullopt if nobody knows that clock. It may be a little behind, and is never ahead. Compare
  // times of values with this clock, and not with that of this machine.
  virtual std::optional<int64_t> ClockNs() const;

  // About how many bytes of memory the store takes for indexes of its keys, in
  // addition to a few KiB.
  virtual uint64_t held_bytes() const { return 0; }

  // How to name `key` to a person: "sst.zarr/temp/c/0/3".
  virtual std::string Describe(std::string_view key) const = 0;

 private:
  // Read() for one kind of store. Calls `reserve` once, with the size of the value in the
  // result. Reads the range of options.Clip(), as far as the memory has room.
  virtual model::Result<std::optional<ReadResult>> DoRead(std::string_view key,
                                                          const ReadOptions& options,
                                                          const Reserve& reserve) const = 0;
};

}  // namespace ndlfs::backends
