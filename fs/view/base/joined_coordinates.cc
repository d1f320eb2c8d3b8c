// SPDX-License-Identifier: MIT
#include "fs/view/base/joined_coordinates.h"

#include <chrono>
#include <cstring>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "fs/view/elements/deferred_bytes.h"
#include "model/mutex.h"

namespace ndlfs::fs {
namespace {

using backends::ByteSpan;
using model::Result;
using SourcePtr = std::shared_ptr<const backends::ArraySource>;
using KeptBytes = std::shared_ptr<const std::string>;
using KeptClock = std::chrono::steady_clock;

constexpr uint64_t kMostKeptBytes = uint64_t{8} << 20;
constexpr size_t kMostKeptArrays = 8;
// Parts are not looked at again for so long. An answer of the mount holds as long, unless it is
// told otherwise.
constexpr std::chrono::seconds kLookHolds{1};

// Elements by the source that they are of, which a change of the document replaces.
class KeptCoordinates {
 public:
  static KeptCoordinates& Get() {
    static KeptCoordinates kept;
    return kept;
  }

  struct Found {
    KeptBytes bytes;
    uint64_t version = 0;
    bool is_fresh = false;  // no need to look at the parts
  };
  std::optional<Found> Find(const SourcePtr& source) EXCLUDES(mutex_) {
    const model::MutexLock lock(mutex_);
    for (auto entry = entries_.begin(); entry != entries_.end(); ++entry) {
      if (entry->source.lock() != source) continue;
      entries_.splice(entries_.begin(), entries_, entry);
      return Found{entry->bytes, entry->version, KeptClock::now() - entry->looked < kLookHolds};
    }
    return std::nullopt;
  }
  void Keep(const SourcePtr& source, KeptBytes bytes, uint64_t version) EXCLUDES(mutex_) {
    const model::MutexLock lock(mutex_);
    entries_.remove_if([&](const Entry& entry) {
      return entry.source.expired() || entry.source.lock() == source;
    });
    entries_.push_front({source, std::move(bytes), version, KeptClock::now()});
    if (entries_.size() > kMostKeptArrays) entries_.pop_back();
  }

 private:
  struct Entry {
    std::weak_ptr<const backends::ArraySource> source;
    KeptBytes bytes;
    uint64_t version;
    KeptClock::time_point looked;
  };
  model::Mutex mutex_;
  std::list<Entry> entries_ GUARDED_BY(mutex_);  // the one that was used last comes first
};

ArrayInput WithBytes(const ArrayInput& coordinates, const KeptBytes& bytes) {
  ArrayInput kept = coordinates;
  const auto read = [bytes](uint64_t offset, ByteSpan out) -> Result<void> {
    std::memcpy(out.data(), bytes->data() + offset, out.size());
    return {};
  };
  kept.elements = MakeComputedBytes(bytes->size(), read).source;
  return kept;
}

}  // namespace

Result<ArrayInput> WithKeptElements(const ArrayInput& coordinates) {
  const SourcePtr source = coordinates.node->source;
  const backends::JoinedArray* parts = source ? source->joined() : nullptr;
  const bool is_whole = coordinates.part == nullptr && coordinates.elements != nullptr;
  if (parts == nullptr || !is_whole || coordinates.elements->size() > kMostKeptBytes) {
    return coordinates;
  }
  auto& kept = KeptCoordinates::Get();
  const auto found = kept.Find(source);
  if (found && found->is_fresh) return WithBytes(coordinates, found->bytes);
  const auto version = parts->PartsVersion();
  if (!version) return coordinates;
  if (found && found->version == *version) {
    kept.Keep(source, found->bytes, *version);
    return WithBytes(coordinates, found->bytes);
  }
  auto bytes = std::make_shared<std::string>(coordinates.elements->size(), '\0');
  NDLFS_RETURN_IF_ERROR(coordinates.elements->Read(0, std::as_writable_bytes(std::span(*bytes)),
                                                   model::ByteOrder::kLittle,
                                                   cache::ReadHint::kOnward));
  // A part that changed while all were read may belong to either version.
  if (parts->PartsVersion() == version) kept.Keep(source, bytes, *version);
  return WithBytes(coordinates, bytes);
}

}  // namespace ndlfs::fs
