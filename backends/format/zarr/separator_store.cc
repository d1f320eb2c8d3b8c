// SPDX-License-Identifier: MIT
#include "backends/format/zarr/separator_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <string_view>
#include <utility>

#include "backends/store/chunk_table.h"
#include "backends/store/forwarding_store.h"
#include "backends/store/kept_values.h"
#include "backends/store/partial_listing.h"
#include "model/mutex.h"

namespace ndlfs::backends::zarr {
namespace {

using model::Result;
using Clock = std::chrono::steady_clock;

// Children of the array's folder that one look goes through.
constexpr size_t kLookedThrough = 256;
// While an array has no chunk at all, somebody may be about to write the first one.
constexpr auto kBetweenLooks = std::chrono::seconds(1);

bool IsNumber(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == text.npos;
}

class FindingStore : public ForwardingStore, public SeparatorStore {
 public:
  FindingStore(std::shared_ptr<const Store> store, std::string prefix, std::string_view lead,
               char separator, size_t rank)
      : ForwardingStore(std::move(store)),
        prefix_(std::move(prefix)),
        lead_(lead),
        separator_(separator),
        rank_(rank) {}

  std::vector<std::string> notes() const override {
    if (state_ != State::kOther) return {};
    return {
        fmt::format("chunks are read under keys with the separator \"{}\"; the metadata "
                    "say \"{}\", and there are none",
                    OtherSeparator(), separator_)};
  }

  Result<std::optional<ValueInfo>> Stat(std::string_view key) const override {
    if (state_ == State::kOther) {
      NDLFS_TRY(auto other, inner().Stat(Other(key)));
      if (other) return other;
    }
    NDLFS_TRY(auto info, inner().Stat(key));
    if (info || state_ == State::kOther) return info;
    NDLFS_TRY(const bool is_other, IsUnderOther(key));
    if (!is_other) return info;
    return inner().Stat(Other(key));
  }
  std::vector<Result<std::optional<ValueInfo>>> StatMany(
      std::span<const std::string_view> keys) const override {
    return state_ == State::kOther ? Store::StatMany(keys) : inner().StatMany(keys);
  }
  std::vector<Result<std::optional<backends::Value>>> ReadMany(
      std::span<const ReadRequest> requests) const override {
    return state_ == State::kOwn ? inner().ReadMany(requests) : Store::ReadMany(requests);
  }
  std::string Describe(std::string_view key) const override {
    return inner().Describe(state_ == State::kOther ? Other(key) : std::string(key));
  }
  bool IsKept(std::string_view key, const ByteRange& range) const override {
    return backends::IsKept(inner(), state_ == State::kOther ? Other(key) : std::string(key),
                            range);
  }

 protected:
  // The same of `table`, which the store is.
  Result<std::optional<ValuePlace>> ResolveIn(const ChunkTable& table, std::string_view key,
                                              IndexCache* indexes) const {
    if (state_ == State::kOther) {
      NDLFS_TRY(auto other, table.Resolve(Other(key), indexes));
      if (other) return other;
    }
    NDLFS_TRY(auto place, table.Resolve(key, indexes));
    if (place) {
      if (state_ == State::kUndecided) state_ = State::kOwn;
      return place;
    }
    if (state_ == State::kOther) return place;
    NDLFS_TRY(const bool is_other, IsUnderOther(key));
    if (!is_other) return place;
    return table.Resolve(Other(key), indexes);
  }

 private:
  enum class State : uint8_t { kUndecided, kOwn, kOther };

  Result<std::optional<ReadResult>> DoRead(std::string_view key, const ReadOptions& options,
                                           const Reserve& reserve) const override {
    if (state_ == State::kOther) {
      NDLFS_TRY(auto other, inner().Read(Other(key), options, reserve));
      if (other) return other;
    }
    NDLFS_TRY(auto read, inner().Read(key, options, reserve));
    if (read) {
      if (state_ == State::kUndecided) state_ = State::kOwn;
      return read;
    }
    if (state_ == State::kOther) return read;
    NDLFS_TRY(const bool is_other, IsUnderOther(key));
    if (!is_other) return read;
    return inner().Read(Other(key), options, reserve);
  }

  char OtherSeparator() const { return separator_ == '.' ? '/' : '.'; }

  std::string Other(std::string_view key) const {
    std::string other(key);
    if (!key.starts_with(prefix_)) return other;
    std::replace(other.begin() + static_cast<ptrdiff_t>(prefix_.size()), other.end(),
                 separator_, OtherSeparator());
    return other;
  }

  // Whether the chunks of the array are under the other separator. The chunk at `key` is
  // absent. An error says that nobody can tell now: what is absent must not be shown as fill
  // values then.
  Result<bool> IsUnderOther(std::string_view key) const EXCLUDES(mutex_) {
    if (state_ != State::kUndecided) return state_ == State::kOther;
    const model::MutexLock lock(mutex_);
    if (state_ != State::kUndecided) return state_ == State::kOther;
    NDLFS_TRY(state_, traits().looks_are_requests ? Ask(key) : LookThrough(key));
    return state_ == State::kOther;
  }

  // A chunk that is absent under both keys decides nothing.
  Result<State> Ask(std::string_view key) const {
    NDLFS_TRY(const auto info, inner().Stat(Other(key)));
    return info ? State::kOther : State::kUndecided;
  }

  Result<State> LookThrough(std::string_view key) const REQUIRES(mutex_) {
    const auto now = Clock::now();
    if (last_look_ && now - *last_look_ < kBetweenLooks) return State::kUndecided;
    std::string_view folder = prefix_;
    if (folder.ends_with('/')) folder.remove_suffix(1);
    const auto entries = backends::ListSome(inner(), folder, kLookedThrough);
    // A folder whose files may be read need not be one that may be listed.
    if (!entries && entries.error().code() == model::ErrorCode::kDenied) return Ask(key);
    if (!entries) return model::Propagate(entries.error());
    last_look_ = now;
    bool has_other = false;
    for (const StoreEntry& entry : *entries) {
      const char separator = SeparatorOf(entry);
      if (separator == separator_) return State::kOwn;
      has_other = has_other || separator == OtherSeparator();
    }
    return has_other ? State::kOther : State::kUndecided;
  }

  // The separator of the keys of chunks, if a child of the array's folder belongs to such;
  // otherwise 0.
  char SeparatorOf(const StoreEntry& entry) const {
    if (entry.is_prefix) {
      const bool is_first = lead_.empty() ? IsNumber(entry.name) : entry.name == lead_;
      return is_first ? '/' : '\0';
    }
    std::string_view rest = entry.name;
    size_t parts = 0;
    if (!lead_.empty()) {
      if (!rest.starts_with(lead_) || rest.substr(lead_.size(), 1) != ".") return '\0';
      rest.remove_prefix(lead_.size() + 1);
    }
    for (bool is_last = false; !is_last; ++parts) {
      const size_t dot = rest.find('.');
      is_last = dot == rest.npos;
      if (!IsNumber(rest.substr(0, dot))) return '\0';
      rest.remove_prefix(is_last ? rest.size() : dot + 1);
    }
    return parts == rank_ ? '.' : '\0';
  }

  const std::string prefix_;
  const std::string_view lead_;  // "c", or nothing
  const char separator_;
  const size_t rank_;
  mutable std::atomic<State> state_ = State::kUndecided;
  mutable model::Mutex mutex_;
  mutable std::optional<Clock::time_point> last_look_ GUARDED_BY(mutex_);
};

// The same of a store whose values are in other ones.
class FindingTable final : public FindingStore, public ChunkTable {
 public:
  FindingTable(const std::shared_ptr<const Store>& store, const ChunkTable& table,
               std::string prefix, std::string_view lead, char separator, size_t rank)
      : FindingStore(store, std::move(prefix), lead, separator, rank), table_(table) {}

  Result<std::optional<ValuePlace>> Resolve(std::string_view key,
                                            IndexCache* indexes) const override {
    return ResolveIn(table_, key, indexes);
  }

 private:
  const ChunkTable& table_;  // the store of the base
};

}  // namespace

std::shared_ptr<const Store> WithOtherSeparator(std::shared_ptr<const Store> store,
                                                const std::string& prefix,
                                                const ArrayLayout& layout) {
  const std::string_view lead = layout.keys.prefix();
  const size_t rank = layout.objects.rank();
  const size_t parts = rank + (lead.empty() ? 0 : 1);
  if (layout.keys.is_reversed() || !layout.shards.empty() || rank == 0 || parts < 2)
    return store;
  const char separator = layout.keys.separator();
  if (const auto* table = dynamic_cast<const ChunkTable*>(store.get())) {
    if (!table->lists_keys()) return store;
    return std::make_shared<FindingTable>(store, *table, prefix, lead, separator, rank);
  }
  return std::make_shared<FindingStore>(std::move(store), prefix, lead, separator, rank);
}

}  // namespace ndlfs::backends::zarr
