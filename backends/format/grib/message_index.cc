// SPDX-License-Identifier: MIT
#include "backends/format/grib/message_index.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "backends/base/bytes.h"
#include "backends/format/grib/header_bytes.h"
#include "backends/format/grib/indexer.h"

namespace ndlfs::backends::grib {
namespace {

using model::Result;

// How far broken messages are searched for the next one, where each read is a request.
constexpr uint64_t kRemoteSearch = uint64_t{16} << 20;
constexpr uint64_t kLocalSearch = uint64_t{1} << 30;
// How many bytes of headers are read for messages that turn out to be none, or broken. Such
// messages may lie within each other, so that each costs as much as all that follow.
constexpr uint64_t kMostInVain = uint64_t{64} << 20;

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
  GribReader reader = bytes.MakeReader();
  Indexer indexer;
  const uint64_t search = store.looks_are_requests() ? kRemoteSearch : kLocalSearch;
  uint64_t at = 0, end = 0, in_vain = 0;
  while (true) {
    const auto found = reader.Find(at, search);
    if (!found && found.error().is_transient()) return model::Propagate(found.error());
    if (!found) {
      indexer.AddProblem(at, found.error().message());
      break;
    }
    if (!*found) break;
    const uint64_t read_before = bytes.bytes_read();
    auto message = reader.Parse(**found);
    if (!message && message.error().is_transient()) return model::Propagate(message.error());
    if (!message) {
      indexer.AddProblem(**found, message.error().message());
      at = **found + 4;
      in_vain += bytes.bytes_read() - read_before;
      if (in_vain <= kMostInVain) continue;
      indexer.AddProblem(at, "there are so many broken ones that what follows is not read");
      return std::move(indexer).Take();
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
