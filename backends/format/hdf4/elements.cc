// SPDX-License-Identifier: MIT
#include "backends/format/hdf4/elements.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "backends/base/checked.h"
#include "backends/store/cancellation.h"

namespace ndlfs::backends::hdf4 {
namespace {

using model::Corrupt;
using model::Result;

constexpr uint64_t kMagicBytes = 4;
constexpr uint64_t kListHead = 6;     // the number of entries, and where the list goes on
constexpr uint64_t kEntryBytes = 12;  // tag, reference, offset, length
constexpr uint64_t kMostElements = 1'000'000;
constexpr uint64_t kMostCopies = uint64_t{32} << 20, kMostReads = 4096;
constexpr uint64_t kMostRead = uint64_t{128} << 20;
// Offsets have 31 bits.
constexpr uint64_t kMostFileBytes = (uint64_t{1} << 31) - 1;
constexpr uint64_t kMostDescription = 4096;
constexpr uint32_t kNothing = 0xffffffff;
constexpr uint16_t kNullTag = 1, kSpecialBit = 0x4000, kUserBit = 0x8000, kChunkTag = 61;

// The most bytes of an element with the tag that are copied when a file is opened. Those of
// arrays describe nothing, nor do the heads of chunks, which lie among them. Of blocks, tables
// are of interest.
uint64_t MostCopied(uint16_t tag, bool is_special) {
  constexpr uint64_t kTable = 512;
  switch (tag) {
    case kCompressedTag:
    case kChunkTag:
      return 0;
    case kBlockTag:
      return kTable;
    case 702:  // a data set
    case 302:
    case 303:
    case 202:
    case 203:
    case 204:  // images
      return is_special ? kMostDescription : 0;
    default:
      return kMostDescription;
  }
}

bool IsBefore(const Piece& a, const Piece& b) { return a.offset < b.offset; }

void Append(std::vector<Piece>& pieces, const Piece& piece) {
  if (!pieces.empty() && pieces.back().offset + pieces.back().bytes == piece.offset) {
    pieces.back().bytes += piece.bytes;
  } else {
    pieces.push_back(piece);
  }
}

Coding ReadCoding(BigReader& description) {
  Coding coding;
  coding.kind = description.Short();
  coding.parameters = AsText(description.Take(std::min<size_t>(description.left(), 64)));
  return coding;
}

Result<Chunking> ReadChunking(BigReader& description, Located& located) {
  constexpr uint64_t kCompression = 3, kMostRank = 32;
  const uint64_t head_bytes = description.Number(4);
  BigReader head(description.Take(head_bytes));
  const uint64_t version = head.Number(1), flags = head.Number(4), items = head.Number(4);
  Chunking made;
  head.Number(4);  // items of a chunk
  made.item_bytes = head.Number(4);
  made.table = {head.Short(), head.Short()};
  head.Number(4);  // not used
  const uint64_t rank = head.Number(4);
  if (version != 0 || rank > kMostRank) {
    return Corrupt("chunks of {} dimensions, in version {}", rank, version);
  }
  for (uint64_t d = 0; d < rank; ++d) {
    head.Number(4);
    made.shape.push_back(head.Number(4));
    made.chunk.push_back(head.Number(4));
    if (made.chunk.back() == 0) return Corrupt("chunks without extent");
  }
  made.fill = AsText(head.Take(head.Number(4)));
  if (!head.is_good()) return Corrupt("a description of chunks that ends early");
  // Both have 32 bits. Of a set without records, libhdf4 writes -1.
  located.bytes = items == kNothing ? 0 : items * made.item_bytes;
  if ((flags & 0xff) == kCompression) {
    description.Number(6);
    if (const uint16_t model = description.Short(); model != 0) {
      return model::Unsupported("chunks of model {}", model);
    }
    located.coding = ReadCoding(description);
    if (!description.is_good()) return Corrupt("a description of chunks that ends early");
  }
  return made;
}

}  // namespace

ConstByteSpan BigReader::Take(uint64_t count) {
  if (count > rest_.size()) {
    is_good_ = false;
    rest_ = {};
    return {};
  }
  const ConstByteSpan taken = rest_.first(count);
  rest_ = rest_.subspan(count);
  return taken;
}

uint64_t BigReader::Number(size_t bytes) {
  uint64_t value = 0;
  for (const std::byte byte : Take(bytes)) value = value << 8 | static_cast<uint8_t>(byte);
  return value;
}

std::string BigReader::Text() {
  const std::string_view text = AsText(Take(Short()));
  return std::string(text.substr(0, text.find('\0')));
}

Result<std::shared_ptr<Elements>> Elements::Open(std::shared_ptr<const Store> store,
                                                 std::optional<MetadataTurn>& turn) {
  std::shared_ptr<Elements> made(new Elements(std::move(store)));
  NDLFS_TRY(const auto info, made->store_->Stat(""));
  if (!info) return model::NotFound("the file is gone");
  made->info_ = *info;
  if (info->size > kMostFileBytes) {
    return Corrupt("{} bytes, and a file of HDF4 has less than 2 GiB", info->size);
  }
  NDLFS_RETURN_IF_ERROR(made->ReadList());
  NDLFS_RETURN_IF_ERROR(made->CopyDescriptions(turn));
  return made;
}

Result<void> Elements::ReadList() {
  constexpr uint64_t kUsual = kListHead + 200 * kEntryBytes;
  std::set<uint64_t> seen;
  uint64_t entries_read = 0;  // blocks of the list may overlap
  for (uint64_t at = kMagicBytes; at != 0;) {
    NDLFS_RETURN_IF_ERROR(CancellationScope::Check());
    if (!seen.insert(at).second) {
      return Corrupt("the list of elements comes back to its block at {}", at);
    }
    if (at > info_.size || info_.size - at < kListHead) {
      return Corrupt("the list of elements continues at {}, behind the end", at);
    }
    NDLFS_TRY(Bytes block, ReadAt(at, std::min(kUsual, info_.size - at)));
    BigReader head(block.span());
    const uint64_t count = head.Number(2), next = head.Number(4);
    const uint64_t bytes = kListHead + count * kEntryBytes;
    if (bytes > info_.size - at) {
      return Corrupt("the list of elements at {} has {} entries, more than the file", at,
                     count);
    }
    entries_read += count;
    if (entries_read > kMostElements || seen.size() > kMostElements / 16) {
      return model::Limit("the file has more than {} elements", kMostElements);
    }
    if (bytes > block.size()) {
      NDLFS_TRY(block, ReadAt(at, bytes));
    }
    BigReader entries(block.span().first(bytes).subspan(kListHead));
    for (uint64_t i = 0; i < count; ++i) {
      const uint16_t tag = entries.Short();
      const bool is_special = (tag & kUserBit) == 0 && (tag & kSpecialBit) != 0;
      const Entry entry = {static_cast<uint16_t>(is_special ? tag & ~kSpecialBit : tag),
                           entries.Short(),
                           static_cast<uint32_t>(entries.Number(4)),
                           static_cast<uint32_t>(entries.Number(4)),
                           static_cast<uint32_t>(list_.size()),
                           is_special};
      // Of others, a number was taken and nothing was written.
      const bool is_stored = entry.offset != kNothing && entry.bytes != kNothing;
      if (entry.tag > kNullTag && is_stored) list_.push_back(entry);
    }
    at = next;
  }
  // The first of several with one name counts.
  std::ranges::sort(list_, {}, [](const Entry& entry) {
    return std::tuple(entry.tag, entry.reference, entry.number);
  });
  return {};
}

Result<void> Elements::CopyDescriptions(std::optional<MetadataTurn>& turn) {
  std::vector<Piece> pieces;
  for (const Entry& entry : list_) {
    const uint64_t most = MostCopied(entry.tag, entry.is_special);
    if (entry.bytes == 0 || entry.bytes > most) continue;
    if (entry.offset >= info_.size || entry.bytes > info_.size - entry.offset) continue;
    pieces.push_back({entry.offset, entry.bytes});
  }
  std::ranges::sort(pieces, IsBefore);
  // Those that are so near each other that one read is best.
  const uint64_t gap = store_->traits().is_remote ? 16 << 10 : 4096;
  uint64_t total = 0, reached = 0;
  std::vector<ReadRequest> requests;
  for (const Piece& piece : pieces) {
    const bool is_near = !requests.empty() && piece.offset <= reached + gap;
    const uint64_t begin = is_near ? reached : piece.offset;
    const uint64_t end = std::max(begin, piece.offset + piece.bytes);
    // The rest is read when it is needed.
    if (total + end - begin > kMostCopies || requests.size() == kMostReads) break;
    total += end - begin;
    reached = end;
    if (is_near) {
      requests.back().options.range.length = end - requests.back().options.range.offset;
    } else {
      ReadRequest request{"", {.range = {begin, end - begin}}};
      request.options.if_match = info_.generation;
      requests.push_back(std::move(request));
    }
  }
  constexpr uint64_t kTimes = 3;
  NDLFS_TRY(turn, MetadataTurn::Take(kTimes * total + held_bytes()));
  auto values = store_->ReadMany(requests);
  for (size_t i = 0; i < values.size(); ++i) {
    NDLFS_TRY(auto value, std::move(values[i]));
    if (!value) return model::HasChanged("the file");
    copies_.push_back({requests[i].options.range.offset, std::move(value->bytes)});
  }
  return {};
}

const Elements::Entry* Elements::Find(ElementId id) const {
  const auto key = [](const Entry& entry) { return ElementId{entry.tag, entry.reference}; };
  const auto found = std::ranges::lower_bound(list_, id, {}, key);
  return found != list_.end() && key(*found) == id ? &*found : nullptr;
}

std::vector<uint16_t> Elements::ReferencesOf(uint16_t tag) const {
  std::vector<Entry> found;
  auto at = std::ranges::lower_bound(list_, tag, {}, &Entry::tag);
  for (; at != list_.end() && at->tag == tag; ++at) {
    if (found.empty() || found.back().reference != at->reference) found.push_back(*at);
  }
  std::ranges::sort(found, {}, &Entry::number);
  std::vector<uint16_t> references;
  for (const Entry& entry : found) references.push_back(entry.reference);
  return references;
}

std::optional<uint64_t> Elements::OffsetOf(ElementId id) const {
  const Entry* entry = Find(id);
  return entry == nullptr ? std::nullopt : std::optional<uint64_t>(entry->offset);
}

Result<void> Elements::Charge(uint64_t bytes) const {
  if ((charged_ += bytes) <= kMostRead) return {};
  return model::Limit("more than {} MiB of descriptions and tables", kMostRead >> 20);
}

Result<Bytes> Elements::ReadAt(uint64_t offset, uint64_t bytes) const {
  if (offset > info_.size || bytes > info_.size - offset) {
    return Corrupt("{} bytes at {} end beyond the file", bytes, offset);
  }
  const auto after = std::ranges::upper_bound(copies_, offset, {}, &Copy::offset);
  if (after != copies_.begin()) {
    const Copy& copy = *std::prev(after);
    const uint64_t skipped = offset - copy.offset;
    if (skipped <= copy.bytes.size() && bytes <= copy.bytes.size() - skipped) {
      return Bytes::Copy(copy.bytes.span().subspan(skipped, bytes));
    }
  }
  ReadOptions options;
  options.range = {offset, bytes};
  options.if_match = info_.generation;
  NDLFS_TRY(auto value, store_->Get("", bytes, options));
  if (!value || value->bytes.size() != bytes) return model::HasChanged("the file");
  return std::move(value->bytes);
}

// Tables list the blocks; each begins with the reference of the next table.
Result<void> Elements::FindBlocks(BigReader& description, Located& located) const {
  constexpr const char* kMissing = "a block of its elements is missing";
  located.bytes = description.Number(4);
  const uint64_t block_bytes = description.Number(4), count = description.Number(4);
  uint16_t table = description.Short();
  std::set<uint16_t> seen;
  uint64_t left = located.bytes;
  for (bool is_first = true; left > 0;) {
    const Entry* entry = Find({kBlockTag, table});
    if (entry == nullptr || !seen.insert(table).second) return Corrupt("{}", kMissing);
    const uint64_t bytes = std::min({2 + 2 * count, uint64_t{entry->bytes}, uint64_t{2} << 16});
    NDLFS_TRY(const Bytes content, ReadAt(entry->offset, bytes));
    BigReader references(content.span());
    table = references.Short();
    if (references.left() < 2) return Corrupt("{}", kMissing);  // no table is empty
    NDLFS_RETURN_IF_ERROR(CancellationScope::Check());
    if (!is_finished_) {  // many elements may share the tables
      NDLFS_RETURN_IF_ERROR(Charge(8 * references.left()));
    }
    while (references.left() >= 2 && left > 0) {
      const uint16_t reference = references.Short();
      const Entry* block = reference == 0 ? nullptr : Find({kBlockTag, reference});
      if (block == nullptr || block->is_special) return Corrupt("{}", kMissing);
      const uint64_t taken = std::min(left, is_first ? uint64_t{block->bytes} : block_bytes);
      if (taken == 0 || taken > block->bytes) return Corrupt("{}", kMissing);
      // No block is there twice, so they are no more than there are references.
      if (!seen.insert(reference).second) return Corrupt("its block {} comes twice", reference);
      Append(located.pieces, {block->offset, taken});
      left -= taken;
      is_first = false;
    }
  }
  return {};
}

Result<void> Elements::FindCompressed(BigReader& description, Located& located) const {
  description.Short();  // the version
  located.bytes = description.Number(4);
  const uint16_t reference = description.Short(), model = description.Short();
  located.coding = ReadCoding(description);
  if (!description.is_good()) return Corrupt("a description that ends early");
  if (model != 0) return model::Unsupported("compressed by model {}", model);
  if (located.bytes == 0) return {};  // nothing was written
  const Entry* entry = Find({kCompressedTag, reference});
  if (entry == nullptr) {
    return Corrupt("the file has no element {} with compressed bytes", reference);
  }
  NDLFS_TRY(Located stored, LocateEntry(*entry, true));
  located.pieces = std::move(stored.pieces);
  located.file = std::move(stored.file);
  return {};
}

Result<Located> Elements::LocateEntry(const Entry& entry, bool is_part) const {
  enum Kind : uint16_t { kLinked = 1, kExternal = 2, kCompressed = 3, kChunked = 5 };
  if (!entry.is_special) return Located{entry.bytes, {}, {{entry.offset, entry.bytes}}};
  NDLFS_TRY(const Bytes bytes,
            ReadAt(entry.offset, std::min<uint64_t>(entry.bytes, kMostDescription)));
  BigReader description(bytes.span());
  Located located;
  const uint16_t kind = description.Short();
  if (kind == kLinked) {
    NDLFS_RETURN_IF_ERROR(FindBlocks(description, located));
  } else if (kind == kExternal) {
    located.bytes = description.Number(4);
    const uint64_t offset = description.Number(4);
    const std::string_view name = AsText(description.Take(description.Number(4)));
    located.file = name.substr(0, name.find('\0'));
    located.pieces = {{offset, located.bytes}};
    if (located.file.empty()) return Corrupt("its elements are in a file without a name");
  } else if (kind == kCompressed && !is_part) {
    NDLFS_RETURN_IF_ERROR(FindCompressed(description, located));
  } else if (kind == kChunked && !is_part) {
    NDLFS_TRY(located.chunking, ReadChunking(description, located));
  } else {
    return model::Unsupported("an element that is special in way {}", kind);
  }
  return located;
}

Result<std::optional<Located>> Elements::Locate(ElementId id) const {
  const Entry* entry = Find(id);
  if (entry == nullptr) return std::nullopt;
  NDLFS_TRY(Located located, LocateEntry(*entry, false));
  return located;
}

Result<std::optional<Bytes>> Elements::Read(ElementId id, uint64_t most) const {
  NDLFS_TRY(const auto located, Locate(id));
  if (!located) return std::nullopt;
  if (located->chunking || !located->file.empty()) {
    return model::Unsupported("a description in chunks, or in another file");
  }
  const bool is_plain = located->coding.kind == Coding::kNone;
  const uint64_t wanted = std::min(located->bytes, is_plain ? most : kMostRead);
  NDLFS_RETURN_IF_ERROR(Charge(wanted));
  uint64_t encoded = is_plain ? wanted : 0, made = 0;
  if (!is_plain) {
    for (const Piece& piece : located->pieces) encoded += piece.bytes;
    NDLFS_RETURN_IF_ERROR(Charge(encoded));
  }
  Bytes stored(encoded);
  for (const Piece& piece : located->pieces) {
    const uint64_t part = std::min(piece.bytes, encoded - made);
    NDLFS_TRY(const Bytes bytes, ReadAt(piece.offset, part));
    std::ranges::copy(bytes.span(), stored.data() + made);
    made += part;
  }
  if (is_plain) return stored;
  NDLFS_TRY(const auto decoder, MakeDecoder(located->coding));
  Bytes decoded(wanted);
  NDLFS_TRY(const size_t count, decoder->Decode(stored.span(), decoded.span()));
  if (count != wanted) return Corrupt("{} bytes, expected {}", count, wanted);
  decoded.Shrink(std::min<uint64_t>(wanted, most));
  return decoded;
}

}  // namespace ndlfs::backends::hdf4
