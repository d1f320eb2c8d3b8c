// SPDX-License-Identifier: MIT
#include "backends/store/store.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "backends/store/source_clock.h"

namespace ndlfs::backends {
namespace {

uint64_t EndOf(const ByteRange& range) {
  return range.length > ByteRange::kToEnd - range.offset ? ByteRange::kToEnd
                                                         : range.offset + range.length;
}

// Whether the bytes of `next` begin in or right after `range`, and do not begin
// before it: then both can be one read.
bool Adjoins(const ByteRange& range, const ByteRange& next) {
  return next.offset >= range.offset && next.offset <= EndOf(range);
}

uint64_t AddLimits(uint64_t a, uint64_t b) { return b > UINT64_MAX - a ? UINT64_MAX : a + b; }

// How many of `requests` are one read: the first, and those after it that adjoin.
// `joined`, which is the first, gets all of their bytes.
size_t CountJoined(std::span<const ReadRequest> requests, ReadRequest& joined) {
  ByteRange& range = joined.options.range;
  size_t count = 1;
  for (; count < requests.size() && !joined.options.from_end; ++count) {
    const ReadRequest& next = requests[count];
    const bool joins = next.key == joined.key && !next.options.from_end &&
                       next.options.if_match == joined.options.if_match &&
                       Adjoins(range, next.options.range);
    if (!joins) break;
    const uint64_t end = std::max(EndOf(range), EndOf(next.options.range));
    range.length = end == ByteRange::kToEnd ? ByteRange::kToEnd : end - range.offset;
    joined.limit = AddLimits(joined.limit, next.limit);
  }
  return count;
}

// Reads one after the other; those of one key that follow each other read one
// version of its value.
class OneVersionReader {
 public:
  explicit OneVersionReader(const Store& store) : store_(store) {}

  model::Result<std::optional<Value>> Get(const ReadRequest& request) {
    const bool same_key = any_ && request.key == key_;
    ReadOptions options = request.options;
    if (same_key && generation_ && !options.if_match) options.if_match = generation_;
    NDLFS_TRY(auto value, store_.Get(request.key, request.limit, options));
    std::optional<Generation> found;
    if (value) found = value->info.generation;
    if (same_key && found != generation_)
      return model::Stale("changed since it was read first");
    any_ = true;
    key_ = request.key;
    generation_ = std::move(found);
    return value;
  }

 private:
  const Store& store_;
  bool any_ = false;
  std::string key_;                       // of the last read that was answered
  std::optional<Generation> generation_;  // what it found; none: an absent value
};

model::Failure BeyondLimit(uint64_t size, uint64_t limit) {
  return model::Limit("{} bytes, more than the limit of {}", size, limit);
}

// The part for `request` of the answer to `joined`, which asked for more.
model::Result<std::optional<Value>> Part(const Value& value, const ReadRequest& joined,
                                         const ReadRequest& request) {
  const ByteRange whole = joined.options.Clip(value.info.size);
  const ByteRange part = request.options.Clip(value.info.size);
  if (part.length > request.limit) return BeyondLimit(part.length, request.limit);
  return Value{Bytes::Copy(value.bytes.span().subspan(part.offset - whole.offset, part.length)),
               value.info};
}

}  // namespace

std::optional<int64_t> Store::ClockNs() const { return MachineClockNs(); }

ByteRange ReadOptions::Clip(uint64_t total_size) const {
  uint64_t begin = std::min(range.offset, total_size);
  if (from_end) begin = total_size - begin;
  return {begin, std::min(range.length, total_size - begin)};
}

model::Result<std::optional<ReadResult>> Store::Read(std::string_view key,
                                                     const ReadOptions& options,
                                                     const Reserve& reserve) const {
  std::optional<uint64_t> told;
  size_t wanted = 0;
  const auto checked = [&](uint64_t total_size) -> model::Result<ByteSpan> {
    if (told) return model::Internal("the store asks for memory twice");
    told = total_size;
    NDLFS_TRY(const ByteSpan out, reserve(total_size));
    wanted = std::min<uint64_t>(out.size(), options.Clip(total_size).length);
    return out.first(wanted);
  };
  NDLFS_TRY(auto result, DoRead(key, options, checked));
  if (!result) return std::nullopt;
  if (options.if_match && result->info.generation != *options.if_match) {
    return model::Stale("changed since it was read first");
  }
  if (result->info.size != told) return model::Stale("changed while it was read");
  if (result->count > wanted) return model::Internal("the store has read more than was wanted");
  if (result->count < wanted) return model::Corrupt("it was cut short while being read");
  return result;
}

model::Result<std::optional<Value>> Store::Get(std::string_view key, uint64_t limit,
                                               const ReadOptions& options) const {
  Bytes bytes;
  const auto reserve = [&](uint64_t total_size) -> model::Result<ByteSpan> {
    const uint64_t length = options.Clip(total_size).length;
    if (length > limit) return BeyondLimit(length, limit);
    bytes = Bytes(length);
    return bytes.span();
  };
  NDLFS_TRY(const auto result, Read(key, options, reserve));
  if (!result) return std::nullopt;
  return Value{std::move(bytes), result->info};
}

model::Result<std::optional<Bytes>> Store::Read(std::string_view key, uint64_t limit,
                                                ByteRange range) const {
  NDLFS_TRY(auto value, Get(key, limit, {.range = range}));
  if (!value) return std::nullopt;
  return std::move(value->bytes);
}

model::Result<std::optional<size_t>> Store::ReadInto(std::string_view key, uint64_t offset,
                                                     ByteSpan out) const {
  const auto reserve = [&](uint64_t) -> model::Result<ByteSpan> { return out; };
  NDLFS_TRY(const auto result, Read(key, {.range = {offset, out.size()}}, reserve));
  if (!result) return std::nullopt;
  return result->count;
}

model::Result<std::optional<uint64_t>> Store::Size(std::string_view key) const {
  const auto reserve = [](uint64_t) -> model::Result<ByteSpan> { return ByteSpan(); };
  NDLFS_TRY(const auto result, Read(key, {.range = {0, 0}}, reserve));
  if (!result) return std::nullopt;
  return result->info.size;
}

std::vector<model::Result<std::optional<Value>>> Store::ReadMany(
    std::span<const ReadRequest> requests) const {
  std::vector<model::Result<std::optional<Value>>> answers;
  answers.reserve(requests.size());
  OneVersionReader reader(*this);
  while (answers.size() < requests.size()) {
    const auto rest = requests.subspan(answers.size());
    ReadRequest joined = rest.front();
    const size_t count = CountJoined(rest, joined);
    const model::Result<std::optional<Value>> read =
        count > 1 ? reader.Get(joined) : std::nullopt;
    if (!read || !*read) {  // of the requests that were joined, some may be answered
      for (const ReadRequest& request : rest.first(count)) {
        answers.push_back(reader.Get(request));
      }
      continue;
    }
    for (const ReadRequest& request : rest.first(count)) {
      answers.push_back(Part(**read, joined, request));
    }
  }
  return answers;
}

std::vector<model::Result<std::optional<ValueInfo>>> Store::StatMany(
    std::span<const std::string_view> keys) const {
  std::vector<model::Result<std::optional<ValueInfo>>> answers;
  answers.reserve(keys.size());
  for (const std::string_view key : keys) answers.push_back(Stat(key));
  return answers;
}

}  // namespace ndlfs::backends
