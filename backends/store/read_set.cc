// SPDX-License-Identifier: MIT
#include "backends/store/read_set.h"

#include <algorithm>
#include <atomic>
#include <functional>
#include <iterator>
#include <utility>

namespace ndlfs::backends {
namespace {

using model::Result;
using Read = ReadSet::Read;
using Info = std::optional<ValueInfo>;

// Answers that all sets of the process note; each may note a few anyhow.
constexpr size_t kMostReads = size_t{1} << 17;
constexpr size_t kOwnReads = 64;
std::atomic<size_t> all_reads{0};

// The first of `reads` and those after it that one question to their store can answer.
std::span<const Read> Together(std::span<const Read> reads) {
  size_t count = 1;
  while (count < std::min(reads.size(), kReadsAtOnce) && reads[count].store == reads[0].store) {
    ++count;
  }
  return reads.first(count);
}

std::vector<Result<Info>> AskFor(std::span<const Read> reads) {
  std::vector<std::string_view> keys;
  for (const Read& read : reads) keys.push_back(read.key);
  return reads[0].store->StatMany(keys);
}

// Calls `tell` with each read and its present answer, in their order, until it returns false.
Result<void> AskAgain(std::span<const Read> reads,
                      const std::function<bool(const Read&, const Info&)>& tell) {
  while (!reads.empty()) {
    const auto asked = Together(reads);
    auto answers = AskFor(asked);
    answers.resize(asked.size(), Info());
    for (size_t i = 0; i < asked.size(); ++i) {
      NDLFS_TRY(const Info now, std::move(answers[i]), asked[i].store->Describe(asked[i].key));
      if (!tell(asked[i], now)) return {};
    }
    reads = reads.subspan(asked.size());
  }
  return {};
}

}  // namespace

ReadSet::~ReadSet() { all_reads -= versions_.size(); }

ReadSet::ReadSet(ReadSet&& other) noexcept
    : stores_(std::exchange(other.stores_, {})),
      places_(std::exchange(other.places_, {})),
      versions_(std::exchange(other.versions_, {})) {}

bool ReadSet::has_room() const { return size() < kOwnReads || all_reads < kMostReads; }

void ReadSet::Add(const std::shared_ptr<const Store>& store, std::string_view key,
                  Version version) {
  const auto [place, is_new] = places_.try_emplace(store.get(), stores_.size());
  if (is_new) stores_.push_back(store);
  Key noted(place->second, key);
  all_reads += versions_.try_emplace(std::move(noted), std::move(version)).second ? 1 : 0;
}

void ReadSet::Merge(const ReadSet& other) {
  for (const auto& [key, version] : other.versions_) {
    Add(other.stores_[key.first], key.second, version);
  }
}

const ReadSet::Version* ReadSet::Find(const std::shared_ptr<const Store>& store,
                                      std::string_view key) const {
  const auto place = places_.find(store.get());
  if (place == places_.end()) return nullptr;
  const auto found = versions_.find(Key(place->second, key));
  return found == versions_.end() ? nullptr : &found->second;
}

Read ReadSet::ReadOf(const Versions::value_type& noted) const {
  const auto& [place, key] = noted.first;
  return {stores_[place], key, noted.second};
}

std::vector<Read> ReadSet::reads() const {
  std::vector<Read> reads;
  reads.reserve(size());
  for (const auto& noted : versions_) reads.push_back(ReadOf(noted));
  return reads;
}

std::vector<Read> ReadSet::Ends(size_t count) const {
  std::vector<Read> reads;
  const size_t last = count / 2;
  auto at = versions_.begin();
  for (size_t i = 0; i < count - last; ++i) reads.push_back(ReadOf(*at++));
  at = std::prev(versions_.end(), static_cast<ptrdiff_t>(last));
  while (at != versions_.end()) reads.push_back(ReadOf(*at++));
  return reads;
}

uint64_t ReadSet::Fingerprint() const {
  VersionHash hash;
  for (const auto& [key, version] : versions_) {
    hash.Add(std::hash<std::string>()(key.second));
    hash.Add(version);
  }
  return hash.value();
}

Result<std::optional<ReadChange>> FindChange(std::span<const Read> reads) {
  std::optional<ReadChange> change;
  const auto is_same = [&](const Read& read, const Info& now) {
    if (VersionOf(now) != read.version) change = {now ? now->modified_ns : 0};
    return !change;
  };
  const bool samples = reads.size() > kReadsAtOnce;
  for (size_t i = 0; samples && !change && i < reads.size(); i += reads.size() / kReadSample) {
    NDLFS_RETURN_IF_ERROR(AskAgain(reads.subspan(i, 1), is_same));
  }
  if (!change) NDLFS_RETURN_IF_ERROR(AskAgain(reads, is_same));
  return change;
}

Result<uint64_t> FingerprintNow(const ReadSet& set) {
  VersionHash hash;
  NDLFS_RETURN_IF_ERROR(AskAgain(set.reads(), [&](const Read& read, const Info& now) {
    hash.Add(std::hash<std::string>()(read.key));
    hash.Add(VersionOf(now));
    return true;
  }));
  return hash.value();
}

}  // namespace ndlfs::backends
