// SPDX-License-Identifier: MIT
#include "backends/store/block_cache/cached_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "backends/store/answer_age.h"
#include "backends/store/forwarding_source.h"
#include "backends/store/forwarding_store.h"
#include "backends/store/kept_values.h"
#include "backends/store/keys.h"
#include "backends/store/source_clock.h"
#include "model/bounded_map.h"
#include "model/mutex.h"
#include "model/number_text.h"

namespace ndlfs::backends {
namespace {

using Clock = std::chrono::steady_clock;
using Answer = model::Result<std::optional<Value>>;
using Info = model::Result<std::optional<ValueInfo>>;

// Large enough that a chunk is a few files, and small enough that a read of a few bytes does
// not take much longer because of it.
constexpr uint64_t kBlock = 512 << 10;
constexpr size_t kLongestRecord = 8 << 10;
// A value that was written so recently may be written again, and have the same times and size.
constexpr std::chrono::seconds kYoung{3};
constexpr uint64_t kKnownBytes = 16 << 20;

uint64_t BlockBegin(uint64_t offset) { return offset / kBlock * kBlock; }
uint64_t BlockEnd(uint64_t offset) {
  return offset > UINT64_MAX - kBlock ? UINT64_MAX : (offset + kBlock - 1) / kBlock * kBlock;
}

// The state that the blocks and versions of all files of a source share.
class FileCache {
 public:
  FileCache(std::shared_ptr<BlockCache> cache, CachedSourceOptions options)
      : cache_(std::move(cache)), options_(std::move(options)), known_(kKnownBytes) {}

  struct Known {
    ValueInfo info;
    bool is_fresh = false;  // the source need not be asked whether it is still the present one
    // The source has told this in an earlier mount. Even if the present version has the same
    // generation, it may have another time, by which a server tells that it is another version.
    bool is_of_record = false;
  };

  // The version of the file that was seen last, in this mount or another one.
  std::optional<Known> Find(const std::string& path) const EXCLUDES(mutex_) {
    {
      model::MutexLock lock(mutex_);
      if (const Seen* seen = known_.Find(path)) {
        const bool is_fresh = IsFresh(seen->when);
        if (is_fresh && options_.trust_for) AnswerAge::Note(seen->when);
        return Known{ToldAt(seen->info, seen->when), is_fresh};
      }
    }
    const auto record = ReadRecord(path);
    auto info = record ? ParseRecord(AsText(record->span())) : std::nullopt;
    if (!info) return std::nullopt;
    return Known{ToldAt(*std::move(info), Clock::time_point::min()), !options_.trust_for,
                 options_.trust_for.has_value()};
  }

  // The source has told that this is the present version; it was asked at `asked`. `store` is
  // the store of the file. Does not replace the answer to a later question.
  void Note(const Store& store, const std::string& path, const ValueInfo& info,
            Clock::time_point asked) const EXCLUDES(mutex_) {
    bool is_recorded = false;
    {
      model::MutexLock lock(mutex_);
      const Seen* seen = known_.Find(path);
      const auto when = info.told_at.value_or(asked);
      if (seen && when < seen->when) return;
      is_recorded = seen && seen->is_recorded && seen->info == info;
      known_.Put(path, {info, when, is_recorded}, 300 + 2 * path.size());
    }
    if (is_recorded || !IsSettled(store, info)) return;
    // To read a record takes much less than to write one, which needs room, too.
    const std::string record = RecordOf(info);
    const auto before = ReadRecord(path);
    const bool is_there = before && AsText(before->span()) == record;
    if (!is_there && !cache_->Put(RecordKey(path), AsBytes(record))) return;
    model::MutexLock lock(mutex_);
    Seen* const seen = known_.Find(path);
    if (seen && seen->info == info) seen->is_recorded = true;
  }

  // Another version than `present` is not the present one.
  void ForgetOther(const std::string& path, const Generation& present) const EXCLUDES(mutex_) {
    model::MutexLock lock(mutex_);
    const Seen* seen = known_.Find(path);
    if (seen && seen->info.generation != present) known_.Erase(path);
  }

  void Forget(const std::string& path) const EXCLUDES(mutex_) {
    model::MutexLock lock(mutex_);
    known_.Erase(path);
  }

  // Whether the byte at `offset` of the value seems to be kept: see BlockCache::Has().
  bool Has(const std::string& path, const ValueInfo& info, uint64_t offset) const {
    const uint64_t begin = BlockBegin(offset);
    return offset < info.size && cache_->Has(BlockKey(BlockPrefix(path, info), begin),
                                             std::min(kBlock, info.size - begin));
  }

  // Fills `out` with bytes of the value from `offset` on, if all of them are kept.
  bool Read(const std::string& path, const ValueInfo& info, uint64_t offset,
            ByteSpan out) const {
    const std::string prefix = BlockPrefix(path, info);
    for (size_t done = 0; done < out.size();) {
      const uint64_t at = offset + done;
      const uint64_t begin = BlockBegin(at);
      const uint64_t size = std::min(kBlock, info.size - begin);
      const size_t skipped = at - begin;
      const size_t count = std::min<uint64_t>(size - skipped, out.size() - done);
      const ByteSpan target = out.subspan(done, count);
      const std::string key = BlockKey(prefix, begin);
      if (count == size) {
        if (!cache_->Get(key, target)) return false;
      } else {
        Bytes block(size);
        if (!cache_->Get(key, block.span())) return false;
        std::memcpy(target.data(), block.data() + skipped, count);
      }
      done += count;
    }
    return true;
  }

  // Keeps the blocks that are whole in `bytes`, which begin at `offset` of the value.
  void Keep(const Store& store, const std::string& path, const ValueInfo& info, uint64_t offset,
            ConstByteSpan bytes) const {
    if (!IsSettled(store, info)) return;
    const std::string prefix = BlockPrefix(path, info);
    const uint64_t end = offset + bytes.size();
    for (uint64_t begin = BlockEnd(offset); begin < end; begin += kBlock) {
      const uint64_t size = std::min(kBlock, info.size - begin);
      if (begin + size > end) return;
      cache_->Put(BlockKey(prefix, begin), bytes.subspan(begin - offset, size));
    }
  }

 private:
  struct Seen {
    ValueInfo info;
    Clock::time_point when;
    bool is_recorded = false;  // for other mounts
  };

  // Where versions are trusted for ever, their time tells nothing.
  ValueInfo ToldAt(ValueInfo info, Clock::time_point when) const {
    if (options_.trust_for) info.told_at = when;
    return info;
  }
  bool IsFresh(Clock::time_point when) const {
    return !options_.trust_for || Clock::now() - when < *options_.trust_for;
  }

  // Whether no later version will be taken for this one. Young is what is so by the clock of
  // the source.
  bool IsSettled(const Store& store, const ValueInfo& info) const {
    if (!info.is_settled) return false;
    const auto clock =
        options_.now_s ? std::optional(options_.now_s() * 1'000'000'000) : store.ClockNs();
    return IsOlderThan(info.modified_ns, kYoung, clock);
  }

  std::string RecordKey(const std::string& path) const {
    return fmt::format("version\n{}", JoinKey(options_.identity, path));
  }
  static std::string BlockKey(const std::string& prefix, uint64_t begin) {
    return fmt::format("{}{}", prefix, begin / kBlock);
  }
  std::string BlockPrefix(const std::string& path, const ValueInfo& info) const {
    return fmt::format("block\n{}\n{}\n{}\n{}\n{}\n", JoinKey(options_.identity, path),
                       info.generation.ToText(), info.size, info.modified_ns, kBlock);
  }

  // The note of this or another mount about the file.
  std::optional<Bytes> ReadRecord(const std::string& path) const {
    return cache_->Get(RecordKey(path), kLongestRecord);
  }
  static std::string RecordOf(const ValueInfo& info) {
    return fmt::format("{} {} {}", info.size, info.modified_ns, info.generation.ToText());
  }
  static std::optional<ValueInfo> ParseRecord(std::string_view text) {
    ValueInfo info;
    const auto size = model::TakeNumber<uint64_t>(text);
    if (!size || text.empty()) return std::nullopt;
    text.remove_prefix(1);
    const auto time = model::TakeNumber<int64_t>(text);
    if (!time || text.empty()) return std::nullopt;
    info.size = *size;
    info.modified_ns = *time;
    auto generation = Generation::FromText(text.substr(1));
    if (!generation) return std::nullopt;
    info.generation = *std::move(generation);
    return info;
  }

  const std::shared_ptr<BlockCache> cache_;
  const CachedSourceOptions options_;
  mutable model::Mutex mutex_;
  mutable model::BoundedMap<std::string, Seen> known_ GUARDED_BY(mutex_);
};

// Widens a request to the source, so that the answer has whole blocks.
ReadOptions Widen(const ReadOptions& options) {
  ReadOptions wide = options;
  if (options.from_end) {
    // The last block, however large it is, is in the last kBlock bytes.
    const uint64_t from_end = std::max(options.range.offset, kBlock);
    wide.range = {from_end, ByteRange::kToEnd};
    return wide;
  }
  const uint64_t begin = BlockBegin(options.range.offset);
  const bool to_end = options.range.length > ByteRange::kToEnd - options.range.offset;
  const uint64_t end =
      to_end ? ByteRange::kToEnd : BlockEnd(options.range.offset + options.range.length);
  wide.range = {begin, end == ByteRange::kToEnd ? ByteRange::kToEnd : end - begin};
  return wide;
}

bool AsksForNothing(const ReadOptions& options) {
  return options.range.length == 0 || (options.from_end && options.range.offset == 0);
}

model::Failure BeyondLimit(uint64_t size, uint64_t limit) {
  return model::Limit("{} bytes, more than the limit of {}", size, limit);
}

// A store whose keys are paths below `path_`, or the one file at `path_`.
class CachedStore final : public ForwardingStore {
 public:
  CachedStore(std::shared_ptr<const Store> store, std::shared_ptr<const FileCache> cache,
              std::string path, bool is_file)
      : ForwardingStore(std::move(store)),
        cache_(std::move(cache)),
        path_(std::move(path)),
        is_file_(is_file) {}

  Info Stat(std::string_view key) const override {
    const auto asked = Clock::now();
    auto info = inner().Stat(key);
    NoteInfo(key, info, asked);
    return info;
  }
  std::vector<Info> StatMany(std::span<const std::string_view> keys) const override {
    const auto asked = Clock::now();
    auto infos = inner().StatMany(keys);
    for (size_t i = 0; i < infos.size(); ++i) NoteInfo(keys[i], infos[i], asked);
    return infos;
  }
  bool IsKept(std::string_view key, const ByteRange& range) const override {
    if (!IsSound(key)) return false;
    const std::string path = PathOf(key);
    const auto known = cache_->Find(path);
    if (!known) return false;
    const ByteRange part = ReadOptions{.range = range}.Clip(known->info.size);
    return part.length != 0 && cache_->Has(path, known->info, part.offset) &&
           cache_->Has(path, known->info, part.offset + part.length - 1);
  }

  std::vector<Answer> ReadMany(std::span<const ReadRequest> requests) const override {
    if (!AreSound(requests)) return inner().ReadMany(requests);
    const Versions versions = PresentVersions(requests);
    std::vector<Answer> answers(requests.size());
    std::vector<ReadRequest> missing;
    std::vector<size_t> places;
    for (size_t i = 0; i < requests.size(); ++i) {
      const ReadRequest& request = requests[i];
      const auto version = versions.find(request.key);
      ReadRequest wide = request;
      if (!wide.options.if_match) wide.options.if_match = pinned();
      if (version != versions.end()) {
        if (auto hit = Hit(request, version->second)) {
          answers[i] = *std::move(hit);
          continue;
        }
        // Others of this key may be hits.
        if (!wide.options.if_match) wide.options.if_match = version->second.generation;
      }
      if (!AsksForNothing(request.options)) {
        wide.options = Widen(wide.options);
        wide.limit =
            request.limit > UINT64_MAX - 3 * kBlock ? UINT64_MAX : request.limit + 3 * kBlock;
      }
      missing.push_back(std::move(wide));
      places.push_back(i);
    }
    if (missing.empty()) return answers;
    const auto asked = Clock::now();
    auto fetched = inner().ReadMany(missing);
    for (size_t j = 0; j < places.size(); ++j) {
      answers[places[j]] = Part(requests[places[j]], missing[j], std::move(fetched[j]), asked);
    }
    return answers;
  }

 private:
  using Versions = std::unordered_map<std::string, ValueInfo>;

  std::string PathOf(std::string_view key) const { return JoinKey(path_, key); }

  bool IsSound(std::string_view key) const {
    return is_file_ ? key.empty() : CheckKey(key).has_value();
  }
  bool AreSound(std::span<const ReadRequest> requests) const {
    return std::all_of(requests.begin(), requests.end(),
                       [&](const ReadRequest& request) { return IsSound(request.key); });
  }

  void NoteInfo(std::string_view key, const Info& info, Clock::time_point asked) const {
    if (!info || !IsSound(key)) return;
    if (*info) {
      cache_->Note(inner(), PathOf(key), **info, asked);
    } else {
      cache_->Forget(PathOf(key));
    }
  }

  // The version of the file that this store has read, if it is a store of one file.
  std::optional<Generation> pinned() const {
    if (!is_file_) return std::nullopt;
    model::MutexLock lock(mutex_);
    return pinned_;
  }
  model::Result<void> Pin(const Generation& generation) const {
    if (!is_file_) return {};
    model::MutexLock lock(mutex_);
    if (!pinned_) pinned_ = generation;
    if (*pinned_ == generation) return {};
    return model::HasChanged(inner().Describe(""));
  }

  // The version that a read has to be of, if blocks of it may be used without asking the source
  // now: the caller has named it, or it was asked recently.
  std::optional<ValueInfo> VersionFor(const ReadOptions& options,
                                      const std::optional<FileCache::Known>& known) const {
    if (!known) return std::nullopt;
    const auto wanted = options.if_match ? options.if_match : pinned();
    if (options.never_changes && !wanted) return known->info;
    if (known->is_of_record) return std::nullopt;
    if (wanted ? *wanted == known->info.generation : known->is_fresh) return known->info;
    return std::nullopt;
  }

  // Whether it is worth asking the source for the present version, because blocks of it may be
  // kept.
  bool MayBePresent(const ReadOptions& options, const FileCache::Known& known) const {
    const auto wanted = options.if_match ? options.if_match : pinned();
    if (!wanted) return true;
    return known.is_of_record && *wanted == known.info.generation;
  }

  // The same for several reads; of files that were seen some time ago, the source tells the
  // present version, of all of them at once.
  Versions PresentVersions(std::span<const ReadRequest> requests) const {
    Versions versions;
    std::vector<std::string_view> asked;
    for (const ReadRequest& request : requests) {
      if (versions.contains(request.key) || (!asked.empty() && asked.back() == request.key)) {
        continue;
      }
      const std::string path = PathOf(request.key);
      const auto known = cache_->Find(path);
      if (auto version = VersionFor(request.options, known)) {
        versions.emplace(request.key, *std::move(version));
      } else if (known && MayBePresent(request.options, *known)) {
        asked.push_back(request.key);
      }
    }
    if (asked.empty()) return versions;
    const auto infos = StatMany(asked);
    for (size_t i = 0; i < asked.size(); ++i) {
      if (infos[i] && *infos[i]) versions.emplace(std::string(asked[i]), **infos[i]);
    }
    return versions;
  }

  // The answer out of kept blocks; nullopt if some of them are not there.
  std::optional<Answer> Hit(const ReadRequest& request, const ValueInfo& info) const {
    if (request.options.if_match && *request.options.if_match != info.generation) {
      return std::nullopt;
    }
    const ByteRange range = request.options.Clip(info.size);
    if (range.length > request.limit) {
      return Answer(BeyondLimit(range.length, request.limit));
    }
    Bytes bytes(range.length);
    if (!cache_->Read(PathOf(request.key), info, range.offset, bytes.span())) {
      return std::nullopt;
    }
    if (auto pinned = Pin(info.generation); !pinned) {
      return Answer(model::Propagate(std::move(pinned).error()));
    }
    return Answer(Value{std::move(bytes), info});
  }

  // The part for `request` of the answer to `wide`, whose blocks are kept.
  Answer Part(const ReadRequest& request, const ReadRequest& wide, Answer fetched,
              Clock::time_point asked) const {
    if (!fetched || !*fetched) return fetched;
    const Value& value = **fetched;
    const std::string path = PathOf(request.key);
    NDLFS_RETURN_IF_ERROR(Pin(value.info.generation));
    const ByteRange whole = wide.options.Clip(value.info.size);
    const ByteRange part = request.options.Clip(value.info.size);
    cache_->Note(inner(), path, value.info, asked);
    cache_->Keep(inner(), path, value.info, whole.offset, value.bytes.span());
    if (part.length > request.limit) return BeyondLimit(part.length, request.limit);
    if (part.length == whole.length) return fetched;
    return Value{
        Bytes::Copy(value.bytes.span().subspan(part.offset - whole.offset, part.length)),
        value.info};
  }

  // The present version, if it is known or the source tells it; nullopt if it is not known, and
  // reading is the way to find out.
  Info Present(std::string_view key, const std::string& path,
               const ReadOptions& options) const {
    const auto known = cache_->Find(path);
    if (auto version = VersionFor(options, known)) return version;
    if (!known || !MayBePresent(options, *known)) return std::nullopt;
    NDLFS_TRY(auto present, Stat(key));
    const bool is_other =
        present && options.if_match && *options.if_match != present->generation;
    return is_other ? std::nullopt : std::move(present);
  }

  model::Result<std::optional<ReadResult>> DoRead(std::string_view key,
                                                  const ReadOptions& options,
                                                  const Reserve& reserve) const override {
    if (!IsSound(key) || AsksForNothing(options)) return inner().Read(key, options, reserve);
    const std::string path = PathOf(key);
    ReadOptions pinned_options = options;
    if (!pinned_options.if_match) pinned_options.if_match = pinned();
    NDLFS_TRY(const auto info, Present(key, path, pinned_options));
    if (info) {
      NDLFS_TRY(const auto result, ReadKept(key, path, *info, pinned_options, reserve));
      if (result) return result;
    }
    return Fetch(key, path, pinned_options, reserve);
  }

  // Out of kept blocks, and those that are missing from the source. nullopt, without a call of
  // `reserve`, if the first one is missing: then one read gets all of them.
  model::Result<std::optional<ReadResult>> ReadKept(std::string_view key,
                                                    const std::string& path,
                                                    const ValueInfo& info,
                                                    const ReadOptions& options,
                                                    const Reserve& reserve) const {
    const ByteRange range = options.Clip(info.size);
    if (range.length != 0 && !cache_->Has(path, info, range.offset)) return std::nullopt;
    NDLFS_RETURN_IF_ERROR(Pin(info.generation));
    if (options.at_hand != nullptr && range.length != 0 &&
        cache_->Has(path, info, range.offset + range.length - 1)) {
      (*options.at_hand)();
    }
    NDLFS_TRY(const ByteSpan out, reserve(info.size));
    const size_t count = std::min<uint64_t>(out.size(), range.length);
    size_t done = 0;
    while (done < count) {
      const uint64_t at = range.offset + done;
      const size_t more = std::min<uint64_t>(BlockEnd(at + 1) - at, count - done);
      if (!cache_->Read(path, info, at, out.subspan(done, more))) break;
      done += more;
    }
    if (done == count) return ReadResult{count, info};
    const ByteSpan rest = out.subspan(done, count - done);
    const ReadOptions missing = {.range = {range.offset + done, rest.size()},
                                 .if_match = info.generation,
                                 .never_changes = options.never_changes};
    NDLFS_TRY(
        const auto result,
        Fetch(key, path, missing, [&](uint64_t) -> model::Result<ByteSpan> { return rest; }));
    if (!result) return model::HasChanged(inner().Describe(key));
    return ReadResult{done + result->count, result->info};
  }

  // One read of the source, of whole blocks, which are kept.
  model::Result<std::optional<ReadResult>> Fetch(std::string_view key, const std::string& path,
                                                 const ReadOptions& options,
                                                 const Reserve& reserve) const {
    const ReadOptions wide = Widen(options);
    ByteSpan out;      // for the caller
    ByteSpan fetched;  // of the source: `out`, or `blocks`
    Bytes blocks;
    uint64_t skipped = 0;
    const auto make_room = [&](uint64_t total_size) -> model::Result<ByteSpan> {
      NDLFS_TRY(out, reserve(total_size));
      const ByteRange whole = wide.Clip(total_size);
      const ByteRange part = options.Clip(total_size);
      out = out.first(std::min<uint64_t>(out.size(), part.length));
      skipped = part.offset - whole.offset;
      const uint64_t needed =
          std::min(BlockEnd(part.offset + out.size()) - whole.offset, whole.length);
      if (needed != out.size()) blocks = Bytes(needed);
      fetched = needed != out.size() ? blocks.span() : out;
      return fetched;
    };
    const auto asked = Clock::now();
    NDLFS_TRY(const auto result, inner().Read(key, wide, make_room));
    if (!result) return std::nullopt;
    NDLFS_RETURN_IF_ERROR(Pin(result->info.generation));
    cache_->Note(inner(), path, result->info, asked);
    cache_->Keep(inner(), path, result->info, wide.Clip(result->info.size).offset, fetched);
    if (fetched.data() != out.data() && !out.empty()) {
      std::memcpy(out.data(), fetched.data() + skipped, out.size());
    }
    return ReadResult{out.size(), result->info};
  }

  const std::shared_ptr<const FileCache> cache_;
  const std::string path_;
  const bool is_file_;
  mutable model::Mutex mutex_;
  mutable std::optional<Generation> pinned_ GUARDED_BY(mutex_);
};

class CachedSource final : public ForwardingSource {
 public:
  CachedSource(std::shared_ptr<const Source> source, std::shared_ptr<BlockCache> cache,
               const CachedSourceOptions& options)
      : ForwardingSource(std::move(source)),
        cache_(std::make_shared<FileCache>(std::move(cache), options)) {}

  // A file that is found in a version is not read in an earlier one afterwards.
  model::Result<std::optional<FileStatus>> Stat(std::string_view path,
                                                Follow follow) const override {
    auto status = source().Stat(path, follow);
    if (status && *status && (*status)->is_file()) {
      cache_->ForgetOther(std::string(path), (*status)->version);
    }
    return status;
  }
  std::shared_ptr<const Store> OpenStore(const std::string& path) const override {
    return std::make_shared<CachedStore>(source().OpenStore(path), cache_, path, false);
  }
  using Source::OpenFile;
  std::shared_ptr<const Store> OpenFile(const std::string& path, Follow follow) const override {
    return std::make_shared<CachedStore>(source().OpenFile(path, follow), cache_, path, true);
  }

 private:
  const std::shared_ptr<const FileCache> cache_;
};

}  // namespace

std::shared_ptr<const Source> MakeCachedSource(std::shared_ptr<const Source> source,
                                               std::shared_ptr<BlockCache> cache,
                                               CachedSourceOptions options) {
  return std::make_shared<CachedSource>(std::move(source), std::move(cache),
                                        std::move(options));
}

}  // namespace ndlfs::backends
