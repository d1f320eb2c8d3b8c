// SPDX-License-Identifier: MIT
#include "backends/format/grib/message_index.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <string_view>
#include <utility>

#include "backends/base/bytes.h"

namespace ndlfs::backends::grib {
namespace {

using model::Result;

constexpr uint64_t kHeaderBytes = 512;  // headers of most messages
constexpr size_t kMostFields = 2'000'000;
constexpr size_t kMostProblems = 100;
// How far broken messages are searched for the next one, where each read is a request.
constexpr uint64_t kRemoteSearch = uint64_t{16} << 20;
constexpr uint64_t kLocalSearch = uint64_t{1} << 30;

// The bytes of a file that headers are in.
class HeaderBytes {
 public:
  HeaderBytes(const Store& store, uint64_t size) : store_(store), size_(size) {}

  // Reads the headers at these places together.
  void Fetch(const std::vector<uint64_t>& offsets) {
    constexpr size_t kTogether = 512;
    for (size_t begin = 0; begin < offsets.size(); begin += kTogether) {
      std::vector<ReadRequest> requests;
      for (size_t i = begin; i < std::min(begin + kTogether, offsets.size()); ++i) {
        // The end of the message before is read with it.
        const uint64_t from = offsets[i] - std::min<uint64_t>(offsets[i], 4);
        if (from >= size_) continue;
        requests.push_back({"", {.range = {from, 2 * kHeaderBytes}}, 2 * kHeaderBytes});
      }
      auto values = store_.ReadMany(requests);
      for (size_t i = 0; i < values.size(); ++i) {
        if (!values[i] || !*values[i]) continue;
        fetched_.insert_or_assign(requests[i].options.range.offset,
                                  std::move((*values[i])->bytes));
      }
    }
  }

  // Messages of about so many bytes follow each other.
  void NoteMessageSize(uint64_t bytes) { message_size_ = bytes; }

  Result<void> Read(uint64_t offset, ByteSpan out) {
    if (TakeFrom(offset, out)) return {};
    constexpr uint64_t kBlock = uint64_t{1} << 20;
    constexpr uint64_t kFewInBlock = kBlock / 4;
    // Where each read is a request, one for many short messages.
    const bool reads_ahead = store_.looks_are_requests() && message_size_ < kFewInBlock;
    if (!reads_ahead || out.size() >= kBlock) return ReadNow(offset, out);
    Bytes block(std::min(kBlock, size_ - offset));
    NDLFS_RETURN_IF_ERROR(ReadNow(offset, block.span()));
    ahead_offset_ = offset;
    ahead_ = std::move(block);
    std::memcpy(out.data(), ahead_.data(), out.size());
    return {};
  }

 private:
  static bool Copy(uint64_t begin, const Bytes& block, uint64_t offset, ByteSpan out) {
    if (offset < begin || offset - begin > block.size()) return false;
    const uint64_t skipped = offset - begin;
    if (block.size() - skipped < out.size()) return false;
    if (!out.empty()) std::memcpy(out.data(), block.data() + skipped, out.size());
    return true;
  }

  bool TakeFrom(uint64_t offset, ByteSpan out) const {
    if (Copy(ahead_offset_, ahead_, offset, out)) return true;
    auto found = fetched_.upper_bound(offset);
    if (found == fetched_.begin()) return false;
    --found;
    return Copy(found->first, found->second, offset, out);
  }

  Result<void> ReadNow(uint64_t offset, ByteSpan out) const {
    NDLFS_TRY(const auto count, store_.ReadInto("", offset, out));
    if (!count || *count != out.size()) return model::HasChanged("the file");
    return {};
  }

  const Store& store_;
  const uint64_t size_;
  uint64_t message_size_ = 0;
  std::map<uint64_t, Bytes> fetched_;
  uint64_t ahead_offset_ = 0;
  Bytes ahead_;
};

std::string_view TextOfSection(const GribSection& section) {
  return section ? AsText(*section) : std::string_view();
}

// Makes a MessageIndex of messages, one after the other.
class Indexer {
 public:
  Result<void> Add(const GribMessage& message) {
    if (index_.fields.empty()) {
      index_.edition = message.edition;
      index_.centre = message.centre;
      index_.subcentre = message.subcentre;
    }
    if (message.edition != index_.edition) index_.is_one_edition = false;
    if (message.centre != index_.centre) index_.is_one_centre = false;
    for (size_t i = 0; i < message.fields.size(); ++i) {
      if (index_.fields.size() == kMostFields) {
        return model::Limit("more than {} messages", kMostFields);
      }
      AddField(message, i);
    }
    return {};
  }

  void AddProblem(uint64_t offset, const std::string& text) {
    if (index_.problems.size() == kMostProblems) index_.problems.emplace_back("and more");
    if (index_.problems.size() > kMostProblems) return;
    index_.problems.push_back(fmt::format("the message at byte {}: {}", offset, text));
  }

  MessageIndex Take() && { return std::move(index_); }
  const MessageIndex& index() const { return index_; }

 private:
  void AddField(const GribMessage& message, size_t number) {
    const GribField& field = message.fields[number];
    IndexedField indexed;
    indexed.offset = message.offset;
    indexed.size = message.size;
    indexed.field = static_cast<uint32_t>(number);
    indexed.points = field.points;
    indexed.grid = NumberOf(field);
    if (field.packing) {
      constexpr uint8_t kFloatDigits = 24, kFloatBits = 32;
      const bool is_ieee = field.packing->method == GribMethod::kIeee;
      indexed.is_wide = field.packing->bits > (is_ieee ? kFloatBits : kFloatDigits);
      indexed.is_known = field.packing->method != GribMethod::kOther;
    }
    indexed.product = DescribeProduct(message, field);
    index_.fields.push_back(std::move(indexed));
  }

  uint32_t NumberOf(const GribField& field) {
    const GribGrid* grid = field.grid.get();
    // Most messages have the grid of the one before.
    if (!index_.fields.empty()) {
      const uint32_t last = index_.fields.back().grid;
      const IndexedGrid& known = index_.grids[last];
      if (known.points == field.points && SectionOf(known.grid.get()) == SectionOf(grid)) {
        return last;
      }
    }
    std::string key = fmt::format("{} {} ", grid ? grid->edition : 0, field.points);
    key += SectionOf(grid);
    const auto [entry, is_new] =
        numbers_.try_emplace(std::move(key), static_cast<uint32_t>(index_.grids.size()));
    if (is_new) index_.grids.push_back({field.grid, field.points});
    return entry->second;
  }

  static std::string_view SectionOf(const GribGrid* grid) {
    return grid != nullptr ? TextOfSection(grid->section) : std::string_view();
  }

  MessageIndex index_;
  std::map<std::string, uint32_t, std::less<>> numbers_;
};

// What is said of a message that begins at `end` or a little later, and is not all there.
Result<void> FindTruncated(const Store& store, uint64_t end, uint64_t size, Indexer& indexer) {
  constexpr uint64_t kTail = uint64_t{64} << 10;
  constexpr size_t kSection0 = 16;
  std::vector<std::byte> tail(std::min(kTail, size - end));
  NDLFS_TRY(const auto count, store.ReadInto("", end, tail));
  tail.resize(count.value_or(0));
  const std::string_view text = AsText(tail);
  for (size_t at = text.find("GRIB"); at != text.npos; at = text.find("GRIB", at + 1)) {
    if (text.size() - at < 8) break;
    const auto octet = [&](size_t i) { return std::to_integer<uint64_t>(tail[at + i]); };
    const uint64_t edition = octet(7);
    uint64_t length = 0;
    if (edition == 1) length = octet(4) << 16 | octet(5) << 8 | octet(6);
    for (size_t i = 8; edition == 2 && i < kSection0 && at + i < text.size(); ++i) {
      length = length << 8 | octet(i);
    }
    if ((edition != 1 && edition != 2) || length <= size - end - at) continue;
    indexer.AddProblem(end + at, fmt::format("it has {} bytes, and the file ends after {}",
                                             length, size - end - at));
    return {};
  }
  return {};
}

Result<MessageIndex> Walk(const Store& store, HeaderBytes& bytes, uint64_t size) {
  GribReader reader([&](uint64_t offset, ByteSpan out) { return bytes.Read(offset, out); },
                    size, kHeaderBytes);
  Indexer indexer;
  const uint64_t search = store.looks_are_requests() ? kRemoteSearch : kLocalSearch;
  uint64_t at = 0, end = 0;
  while (true) {
    const auto found = reader.Find(at, search);
    if (!found && found.error().is_transient()) return model::Propagate(found.error());
    if (!found) {
      indexer.AddProblem(at, found.error().message());
      break;
    }
    if (!*found) break;
    auto message = reader.Parse(**found);
    if (!message && message.error().is_transient()) return model::Propagate(message.error());
    if (!message) {
      indexer.AddProblem(**found, message.error().message());
      at = **found + 4;
      continue;
    }
    bytes.NoteMessageSize(message->size);
    at = end = message->offset + message->size;
    if (auto added = indexer.Add(*message); !added) {
      indexer.AddProblem(message->offset, added.error().message());
      return std::move(indexer).Take();
    }
  }
  if (end < size) NDLFS_RETURN_IF_ERROR(FindTruncated(store, end, size, indexer));
  return std::move(indexer).Take();
}

}  // namespace

Result<MessageIndex> IndexMessages(const Store& store, const IndexHints& hints) {
  NDLFS_TRY(const auto size, store.Size(""));
  if (!size) return model::NotFound("the file is gone");
  HeaderBytes bytes(store, *size);
  if (store.looks_are_requests()) bytes.Fetch(hints.offsets);
  NDLFS_TRY(MessageIndex index, Walk(store, bytes, *size));
  if (!index.fields.empty()) return index;
  if (index.problems.empty()) return model::Corrupt("there is no GRIB message");
  return model::Corrupt("{}", index.problems.front());
}

}  // namespace ndlfs::backends::grib
