// SPDX-License-Identifier: MIT
#include "fs/view/base/kept_coordinates.h"

#include <algorithm>
#include <cstring>
#include <list>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "backends/format/part_names.h"
#include "backends/store/read_set.h"
#include "cache/array_reader.h"
#include "cache/chunk_ledger.h"
#include "fs/view/elements/deferred_bytes.h"
#include "model/mutex.h"

namespace ndlfs::fs {

using backends::ByteSpan;
using model::Result;
using PartReads = std::vector<backends::ReadSet::Read>;
using ReaderPtr = std::shared_ptr<const cache::ArrayReader>;

// Little-endian, with the version of the file of each part.
struct ReadCoordinates {
  std::string bytes;
  PartReads parts;
  size_t item = 1;
};

namespace {

using ReadPtr = std::shared_ptr<const ReadCoordinates>;

constexpr uint64_t kMostBytesInMemory = uint64_t{4} << 20;
constexpr size_t kMostParts = 50'000;
constexpr size_t kMostInMemory = 4;  // joined coordinates in memory
constexpr size_t kMostKnown = 256;

// Facts by the reader of the coordinates: a change that is noticed leads to another reader.
class KnownCoordinates {
 public:
  struct Entry {
    std::weak_ptr<const cache::ArrayReader> reader;
    ReadPtr read;  // null: they are not kept in memory
    std::optional<bool> is_descending;
  };
  static KnownCoordinates& Get() {
    static KnownCoordinates known;
    return known;
  }

  std::optional<Entry> Find(const ReaderPtr& reader) EXCLUDES(mutex_) {
    const model::MutexLock lock(mutex_);
    const auto entry = PlaceOf(reader);
    if (entry == entries_.end()) return std::nullopt;
    entries_.splice(entries_.begin(), entries_, entry);
    return entries_.front();
  }
  void Keep(const ReaderPtr& reader, ReadPtr read, std::optional<bool> is_descending)
      EXCLUDES(mutex_) {
    const model::MutexLock lock(mutex_);
    entries_.remove_if([&](const Entry& entry) {
      return entry.reader.expired() || entry.reader.lock() == reader;
    });
    entries_.push_front({reader, std::move(read), is_descending});
    if (entries_.size() > kMostKnown) entries_.pop_back();
    size_t in_memory = 0;
    for (auto entry = entries_.begin(); entry != entries_.end();) {
      const bool is_much = entry->read != nullptr && ++in_memory > kMostInMemory;
      entry = is_much ? entries_.erase(entry) : std::next(entry);
    }
  }
  void Forget(const ReaderPtr& reader) EXCLUDES(mutex_) {
    const model::MutexLock lock(mutex_);
    entries_.remove_if([&](const Entry& entry) { return entry.reader.lock() == reader; });
  }

 private:
  std::list<Entry>::iterator PlaceOf(const ReaderPtr& reader) REQUIRES(mutex_) {
    return std::ranges::find_if(
        entries_, [&](const Entry& entry) { return entry.reader.lock() == reader; });
  }

  model::Mutex mutex_;
  std::list<Entry> entries_ GUARDED_BY(mutex_);  // the one that was used last comes first
};

// What was read of each part, by its file; nullopt unless every part with elements is one file,
// of which one read was noted.
std::optional<PartReads> ReadsOfParts(const backends::JoinedArray& joined,
                                      const cache::ChunkLedger& ledger) {
  const auto* names = dynamic_cast<const backends::NamesParts*>(&joined);
  auto all = ledger.AllReads();
  if (names == nullptr || !all) return std::nullopt;
  std::unordered_map<std::string, backends::ReadSet::Read> by_name;
  for (auto& read : *all) {
    by_name.emplace(read.store->Describe(read.key), std::move(read));
  }
  PartReads reads(joined.bounds().size() - 1);
  size_t found = 0;
  for (size_t i = 0; i < reads.size(); ++i) {
    if (joined.bounds()[i] == joined.bounds()[i + 1]) continue;
    const auto read = by_name.find(names->PartFile(i));
    if (read == by_name.end() || !read->second.version) return std::nullopt;
    reads[i] = read->second;
    ++found;
  }
  // Others were read as well: files that parts refer to.
  if (found < by_name.size()) return std::nullopt;
  return reads;
}

// Notes nothing in the ledger of the array: it would look at all files each time that somebody
// asks for the array.
Result<ReadPtr> ReadAll(const ArrayInput& coordinates, const backends::JoinedArray& joined) {
  const auto ledger = std::make_shared<cache::ChunkLedger>();
  const auto reader = coordinates.reader->WithLedger(ledger);
  auto read = std::make_shared<ReadCoordinates>();
  read->bytes.resize(coordinates.elements->size());
  read->item = coordinates.dtype.size();
  NDLFS_RETURN_IF_ERROR(reader->Read(0, std::as_writable_bytes(std::span(read->bytes))));
  auto parts = ReadsOfParts(joined, *ledger);
  if (!parts) return nullptr;
  read->parts = *std::move(parts);
  return read;
}

}  // namespace

Result<KeptCoordinates> KeptCoordinates::Of(const ArrayInput& coordinates) {
  KeptCoordinates kept(coordinates);
  if (coordinates.reader == nullptr || coordinates.part != nullptr) return kept;
  if (const auto known = KnownCoordinates::Get().Find(coordinates.reader)) {
    kept.is_descending_ = known->is_descending;
    kept.Use(known->read);
    return kept;
  }
  const backends::JoinedArray* joined = coordinates.reader->source().joined();
  const bool is_kept = joined != nullptr && coordinates.elements != nullptr &&
                       coordinates.elements->size() <= kMostBytesInMemory &&
                       joined->bounds().size() <= kMostParts;
  if (!is_kept) return kept;
  auto read = ReadAll(coordinates, *joined);
  if (!read && read.error().code() != model::ErrorCode::kStale) {
    return model::Propagate(std::move(read).error());
  }
  if (!read || *read == nullptr) return kept;
  KnownCoordinates::Get().Keep(coordinates.reader, *read, std::nullopt);
  kept.Use(*std::move(read));
  return kept;
}

void KeptCoordinates::Use(ReadPtr read) {
  read_ = std::move(read);
  if (read_ == nullptr) return;
  const auto copy = [read = read_](uint64_t offset, ByteSpan out) -> Result<void> {
    std::memcpy(out.data(), read->bytes.data() + offset, out.size());
    return {};
  };
  input_.elements = MakeComputedBytes(read_->bytes.size(), copy).source;
}

void KeptCoordinates::NoteOrder(bool is_descending) const {
  if (input_.reader == nullptr || input_.part != nullptr) return;
  KnownCoordinates::Get().Keep(input_.reader, read_, is_descending);
}

Result<bool> KeptCoordinates::Hold(std::span<const uint64_t> indices) const {
  if (read_ == nullptr) return true;
  const std::vector<uint64_t>& bounds = input_.reader->source().joined()->bounds();
  std::vector<size_t> parts;
  for (const uint64_t index : indices) {
    const auto behind = std::ranges::upper_bound(bounds, index);
    parts.push_back(static_cast<size_t>(behind - bounds.begin()) - 1);
  }
  std::ranges::sort(parts);
  parts.erase(std::unique(parts.begin(), parts.end()), parts.end());
  PartReads reads;
  for (const size_t part : parts) reads.push_back(read_->parts[part]);
  NDLFS_TRY(const auto change, backends::FindChange(reads));
  return !change;
}

void KeptCoordinates::Forget() const { KnownCoordinates::Get().Forget(input_.reader); }

}  // namespace ndlfs::fs
