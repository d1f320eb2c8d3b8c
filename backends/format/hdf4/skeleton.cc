// SPDX-License-Identifier: MIT
#include "backends/format/hdf4/skeleton.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <set>
#include <string>
#include <utility>

#include "backends/store/cancellation.h"

namespace ndlfs::backends::hdf4 {
namespace {

using model::Result;

constexpr uint64_t kMagicBytes = 4;
constexpr uint64_t kBlockHead = 6;    // entries, and the place of the next block
constexpr uint64_t kEntryBytes = 12;  // tag, reference, offset, length
constexpr uint64_t kMostElements = 1'000'000;
constexpr uint64_t kMostBytes = uint64_t{256} << 20;
// Offsets have 31 bits.
constexpr uint64_t kMostFileBytes = (uint64_t{1} << 31) - 1;
constexpr uint32_t kNothing = 0xffffffff;
constexpr uint16_t kNullTag = 1, kSpecialBit = 0x4000, kChunk = 61, kCompressed = 40;

uint64_t Big(ConstByteSpan bytes) {
  uint64_t value = 0;
  for (const std::byte byte : bytes) value = value << 8 | static_cast<uint8_t>(byte);
  return value;
}

// The most bytes of an element that are copied, by its tag in htags.h: what describes others is
// copied whole as far as it may be of use, and of elements of arrays only short ones, which are
// attributes of old files.
uint64_t MostOf(uint16_t tag) {
  constexpr uint64_t kFew = 4096;
  // With this bit, an element is described by others; the description is short.
  if ((tag & kSpecialBit) != 0) return uint64_t{1} << 20;
  switch (tag) {
    case 702:  // a data set
    case 61:   // a chunk
    case 40:   // something compressed
    case 302:
    case 303:
    case 202:
    case 203:  // raster images
    case 204:
    case 11:
    case 12:
    case 13:
    case 14:
    case 15:
      return kFew;
    case 20:  // blocks that make one element, and their tables
      return uint64_t{64} << 10;
    case 1963:  // records of tables; those of chunks are tables, too
      return uint64_t{64} << 20;
    default:
      return uint64_t{16} << 20;
  }
}

Result<Bytes> ReadExactly(const Store& store, const ValueInfo& info, uint64_t offset,
                          uint64_t bytes) {
  ReadOptions options;
  options.range = {offset, bytes};
  options.if_match = info.generation;
  NDLFS_TRY(auto value, store.Get("", bytes, options));
  if (!value) return model::HasChanged("the file");
  if (value->bytes.size() != bytes) {
    return model::Corrupt("{} bytes at {} end beyond the file", bytes, offset);
  }
  return std::move(value->bytes);
}

Result<void> WriteAt(int fd, ConstByteSpan bytes, uint64_t offset) {
  while (!bytes.empty()) {
    const ssize_t count = ::pwrite(fd, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return model::IoError(errno, "memory for a file of HDF4");
    bytes = bytes.subspan(static_cast<size_t>(count));
    offset += static_cast<uint64_t>(count);
  }
  return {};
}

// A file in memory that keeps its size for good.
Result<UniqueFd> MakeMemory(uint64_t bytes) {
  UniqueFd memory(::memfd_create("ndlfs-hdf4", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  constexpr int kSeals = F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL;
  if (!memory || ::ftruncate(memory.get(), static_cast<off_t>(bytes)) != 0 ||
      ::fcntl(memory.get(), F_ADD_SEALS, kSeals) != 0) {
    return model::IoError(errno, "memory for a file of HDF4");
  }
  return memory;
}

// Joins pieces that overlap, or that are so near each other that one read is best.
std::vector<Piece> Joined(std::vector<Piece> pieces) {
  constexpr uint64_t kGap = 4096;
  std::ranges::sort(pieces, {}, &Piece::offset);
  std::vector<Piece> joined;
  for (const Piece& piece : pieces) {
    if (piece.bytes == 0) continue;
    if (!joined.empty() && piece.offset <= joined.back().offset + joined.back().bytes + kGap) {
      const uint64_t end = piece.offset + piece.bytes;
      joined.back().bytes = std::max(joined.back().bytes, end - joined.back().offset);
    } else {
      joined.push_back(piece);
    }
  }
  return joined;
}

// Null if there are some that are in several pieces.
std::shared_ptr<const CompressedParts> FindCompressedParts(
    const std::vector<Element>& elements) {
  auto parts = std::make_shared<CompressedParts>();
  for (const Element& element : elements) {
    if (element.tag == (kSpecialBit | kCompressed)) return nullptr;
    if (element.tag == kCompressed) {
      parts->emplace(element.reference, Piece{element.offset, element.bytes});
    }
  }
  return parts;
}

}  // namespace

Result<std::vector<Element>> ReadElementList(const Store& store, const ValueInfo& info,
                                             std::vector<Piece>& blocks) {
  std::vector<Element> elements;
  std::set<uint64_t> seen;
  for (uint64_t at = kMagicBytes; at != 0;) {
    NDLFS_RETURN_IF_ERROR(CancellationScope::Check());
    if (!seen.insert(at).second) {
      return model::Corrupt("the list of elements comes back to its block at {}", at);
    }
    if (at > info.size || info.size - at < kBlockHead) {
      return model::Corrupt("the list of elements continues at {}, behind the end", at);
    }
    NDLFS_TRY(const Bytes head, ReadExactly(store, info, at, kBlockHead));
    const uint64_t count = Big(head.span().first(2));
    const uint64_t next = Big(head.span().subspan(2));
    if (count * kEntryBytes > info.size - at - kBlockHead) {
      return model::Corrupt("the list of elements at {} has {} entries, more than the file", at,
                            count);
    }
    if (elements.size() + count > kMostElements || seen.size() > kMostElements / 16) {
      return model::Limit("the file has more than {} elements", kMostElements);
    }
    NDLFS_TRY(const Bytes entries,
              ReadExactly(store, info, at + kBlockHead, count * kEntryBytes));
    blocks.push_back({at, kBlockHead + count * kEntryBytes});
    for (uint64_t i = 0; i < count; ++i) {
      const ConstByteSpan entry = entries.span().subspan(i * kEntryBytes, kEntryBytes);
      const auto tag = static_cast<uint16_t>(Big(entry.first(2)));
      const uint64_t offset = Big(entry.subspan(4, 4)), bytes = Big(entry.subspan(8, 4));
      if (tag <= kNullTag || offset == kNothing || bytes == kNothing) continue;
      elements.push_back({tag, static_cast<uint16_t>(Big(entry.subspan(2, 2))), offset, bytes});
    }
    at = next;
  }
  return elements;
}

Result<void> Skeleton::Copy(const Store& store, uint64_t offset, uint64_t bytes) const {
  constexpr uint64_t kStep = uint64_t{4} << 20;
  while (bytes > 0) {
    NDLFS_RETURN_IF_ERROR(CancellationScope::Check());
    const uint64_t step = std::min(bytes, kStep);
    NDLFS_TRY(const Bytes part, ReadExactly(store, info_, offset, step));
    NDLFS_RETURN_IF_ERROR(WriteAt(memory_.get(), part.span(), offset));
    offset += step;
    bytes -= step;
  }
  return {};
}

Result<Skeleton> Skeleton::Make(const Store& store, std::optional<MetadataTurn>& turn) {
  Skeleton made;
  NDLFS_TRY(const auto info, store.Stat(""));
  if (!info) return model::NotFound("the file is gone");
  made.info_ = *info;
  made.name_ = store.Describe("");
  if (info->size > kMostFileBytes) {
    return model::Corrupt("{} bytes, and a file of HDF4 has less than 2 GiB", info->size);
  }
  std::vector<Piece> pieces = {{0, std::min<uint64_t>(kMagicBytes, info->size)}};
  NDLFS_TRY(const auto elements, ReadElementList(store, *info, pieces));
  made.compressed_ = FindCompressedParts(elements);
  for (const Element& element : elements) {
    if (made.leaves_headers() && element.tag == (kSpecialBit | kChunk)) continue;
    // The library says what is wrong with an element that is not there, if anybody needs it.
    if (element.offset >= info->size || element.bytes > MostOf(element.tag)) continue;
    pieces.push_back({element.offset, std::min(element.bytes, info->size - element.offset)});
  }
  pieces = Joined(std::move(pieces));
  for (const Piece& piece : pieces) made.bytes_ += piece.bytes;
  if (made.bytes_ > kMostBytes) {
    return model::Limit("{} MiB of descriptions and tables; up to {} MiB are read",
                        made.bytes_ >> 20, kMostBytes >> 20);
  }
  constexpr uint64_t kTimes = 3;
  NDLFS_TRY(turn, MetadataTurn::Take(kTimes * made.bytes_));
  NDLFS_TRY(made.memory_, MakeMemory(info->size));
  for (const Piece& piece : pieces) {
    NDLFS_RETURN_IF_ERROR(made.Copy(store, piece.offset, piece.bytes));
  }
  return made;
}

Result<UniqueFd> Skeleton::OpenToRead() const {
  const std::string path = fmt::format("/proc/self/fd/{}", memory_.get());
  UniqueFd opened(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!opened) return model::IoError(errno, path);
  return opened;
}

Result<void> Skeleton::Add(const Store& store, const std::vector<Piece>& pieces) const {
  for (const Piece& piece : pieces) {
    NDLFS_RETURN_IF_ERROR(Copy(store, piece.offset, piece.bytes));
  }
  return {};
}

void Skeleton::Remove(const std::vector<Piece>& pieces) const {
  // Pages at both ends may have something else, and stay.
  constexpr uint64_t kPage = 4096;
  for (const Piece& piece : pieces) {
    const uint64_t begin = (piece.offset + kPage - 1) / kPage * kPage;
    const uint64_t end = (piece.offset + piece.bytes) / kPage * kPage;
    if (end <= begin) continue;
    ::fallocate(memory_.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                static_cast<off_t>(begin), static_cast<off_t>(end - begin));
  }
}

}  // namespace ndlfs::backends::hdf4
