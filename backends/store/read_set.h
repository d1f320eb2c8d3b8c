// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "backends/store/store.h"
#include "model/error.h"
#include "model/hash.h"

namespace ndlfs::backends {

// A list of questions to stores and their answers: the version of each value, or that there is
// none. Something that was made from these answers is up to date while the stores still give
// the same answers.
//
// Not thread-safe.
class ReadSet {
 public:
  using Version = std::optional<Generation>;  // nullopt: no value
  struct Read {
    std::shared_ptr<const Store> store;
    std::string key;
    Version version;
  };
  // The version of a value that nobody has asked for yet: it differs from all others.
  static Version Unknown() { return Generation(); }

  ReadSet() = default;
  ~ReadSet();
  ReadSet(ReadSet&& other) noexcept;
  ReadSet& operator=(ReadSet&&) = delete;

  // Notes an answer, unless one is noted for `key` already.
  void Add(const std::shared_ptr<const Store>& store, std::string_view key, Version version);
  // Adds all of `other`.
  void Merge(const ReadSet& other);
  // Whether one more answer may be added. All sets of the process share room for 131,072
  // answers; a set may always have 64. Code that may add very many answers asks this before
  // each Add().
  bool has_room() const;

  // The noted version of a value; null if there is none.
  const Version* Find(const std::shared_ptr<const Store>& store, std::string_view key) const;
  size_t size() const { return versions_.size(); }
  bool empty() const { return versions_.empty(); }
  // Ordered by store, in the order in which the stores were added, and then by key.
  std::vector<Read> reads() const;
  // `count` reads, half from the beginning of reads(), half from its end. `count` must not be
  // more than size().
  std::vector<Read> Ends(size_t count) const;

  // A hash of all reads. Two sets have the same hash if the same answers were added to both,
  // and the stores in the same order.
  uint64_t Fingerprint() const;

 private:
  using Key = std::pair<size_t, std::string>;  // the store, and its key
  using Versions = std::map<Key, Version>;

  Read ReadOf(const Versions::value_type& noted) const;

  std::vector<std::shared_ptr<const Store>> stores_;
  std::map<const Store*, size_t> places_;  // in stores_
  Versions versions_;
};

// FindChange() asks stores for the versions of this many values in one call, and returns at the
// first change. With more reads than that, it looks at a sample first: a program that writes a
// store again changes many values, and a few looks find that out.
inline constexpr size_t kReadsAtOnce = 1024;
inline constexpr size_t kReadSample = 64;

// How an answer differs from the noted one.
struct ReadChange {
  int64_t modified_ns = 0;  // ValueInfo::modified_ns of the value now; 0 if it is gone
};

// Asks the stores again, and ends with the first answer that has changed. nullopt if none has.
// Fails if a store cannot answer.
model::Result<std::optional<ReadChange>> FindChange(std::span<const ReadSet::Read> reads);

// The Fingerprint() of `set` with the answers that the stores give now.
model::Result<uint64_t> FingerprintNow(const ReadSet& set);

// A number for versions, one after the other: FNV-1a over 64-bit words, with a final mix. Equal
// versions give equal numbers; different versions practically never do.
class VersionHash {
 public:
  void Add(uint64_t word) { hash_ = model::AddFnv(hash_, word) + (hash_ >> 29); }
  void Add(const ReadSet::Version& version) {
    Add(uint64_t{version.has_value()});
    if (version) Add(version->hash());
  }
  uint64_t value() const { return hash_ ^ (hash_ >> 32); }

 private:
  uint64_t hash_ = model::kFnvBegin;
};

inline ReadSet::Version VersionOf(const std::optional<ValueInfo>& info) {
  return info ? ReadSet::Version(info->generation) : std::nullopt;
}

}  // namespace ndlfs::backends
