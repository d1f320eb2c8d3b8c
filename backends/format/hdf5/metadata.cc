// SPDX-License-Identifier: MIT
#include "backends/format/hdf5/metadata.h"

#include <algorithm>
#include <bit>
#include <set>

#include "backends/base/checked.h"
#include "backends/codec/checksum.h"
#include "backends/codec/codec_chain.h"
#include "backends/codec/registry.h"

namespace ndlfs::backends::hdf5 {
namespace {

using model::Result;

constexpr std::string_view kSignature("\x89HDF\r\n\x1a\n", 8);
constexpr size_t kLeastUserBlock = 512;
constexpr size_t kChecksumBytes = 4;
// The most bytes of one structure of metadata, and of all messages of an object.
constexpr uint64_t kMaxStructure = uint64_t{64} << 20;
constexpr uint64_t kMaxHeader = uint64_t{16} << 20;
constexpr uint64_t kMaxDepth = 64;  // of trees and heaps

// The fewest bytes for numbers up to `most`.
uint64_t BytesFor(uint64_t most) { return (std::bit_width(most) + 7) / 8; }

bool IsWidth(uint64_t bytes) {
  return bytes == 2 || bytes == 4 || bytes == 8 || bytes == 16 || bytes == 32;
}

// `name` begins with the name of the driver that wrote the file.
Result<void> CheckDriver(ConstByteSpan name) {
  if (AsText(name).starts_with("NCSAfami")) {
    return model::Unsupported("a part of a family of files; h5repart makes one file of them");
  }
  if (AsText(name).starts_with("NCSAmult")) {
    return model::Unsupported(
        "a part of a file that is split into several (driver multi or split); h5repack makes "
        "one file of them");
  }
  return {};
}

Result<void> CheckSum(ConstByteSpan bytes, std::string_view what) {
  if (bytes.size() < kChecksumBytes) return model::Corrupt("{} ends early", what);
  const uint32_t found = HashOf(bytes.first(bytes.size() - kChecksumBytes));
  const uint64_t stored = Cursor(bytes.last(kChecksumBytes)).Number(kChecksumBytes);
  if (found == stored) return {};
  return model::Corrupt("{}: the checksum is {:08x}, and not {:08x}", what, found, stored);
}

}  // namespace

uint32_t HashOf(ConstByteSpan bytes) { return JenkinsLookup3(bytes, 0); }

Result<ByteVector> UndoFilters(const std::vector<FilterInfo>& filters, uint64_t mask,
                               ByteVector bytes, uint64_t size) {
  if (size > kMaxStructure) return model::Limit("{} bytes of metadata", size);
  const ChunkForm form{model::Datatype::Opaque(1), {size}};
  std::vector<std::shared_ptr<const BytesToBytesCodec>> codecs;
  for (const FilterInfo& filter : filters) {
    const std::string id = std::to_string(filter.id);
    const Json configuration = {{"cd_values", filter.parameters}};
    NDLFS_TRY(auto codec, MakeCodec({CodecDialect::kHdf5, id, &configuration, &form}));
    auto* made = std::get_if<std::shared_ptr<const BytesToBytesCodec>>(&codec);
    if (made == nullptr) return model::Internal("not a codec of bytes");
    codecs.push_back(std::move(*made));
  }
  NDLFS_TRY(auto stored, MakeStoredBytes(form.dtype));
  NDLFS_TRY(const auto chain, CodecChain::Make(form, {}, std::move(stored), std::move(codecs)));
  ByteVector decoded(size);
  Scratch scratch;
  NDLFS_RETURN_IF_ERROR(
      chain.Decode(bytes, form.shape, decoded, scratch, static_cast<uint32_t>(mask)));
  return decoded;
}

// Version 1 names every filter and pads to 8 bytes, version 2 names those of others.
Result<std::vector<FilterInfo>> ParseFilters(ConstByteSpan message) {
  constexpr uint64_t kMaxParameters = 4096;
  constexpr uint64_t kFirstOfOthers = 256;
  Cursor in(message);
  const uint64_t version = in.Number(1);
  const uint64_t count = in.Number(1);
  if (version != 1 && version != 2) return model::Unsupported("filters, version {}", version);
  if (version == 1) in.Skip(6);
  std::vector<FilterInfo> filters;
  for (uint64_t i = 0; i < count && in.ok(); ++i) {
    FilterInfo filter;
    filter.id = static_cast<uint32_t>(in.Number(2));
    const bool has_name = version == 1 || filter.id >= kFirstOfOthers;
    const uint64_t name_bytes = has_name ? in.Number(2) : 0;
    in.Skip(2);  // flags
    const uint64_t parameters = in.Number(2);
    if (parameters > kMaxParameters) {
      return model::Limit("a filter with {} parameters", parameters);
    }
    const std::string_view name = AsText(in.Take(name_bytes));
    filter.name = name.substr(0, name.find('\0'));
    if (version == 1) in.Skip((8 - name_bytes % 8) % 8);
    for (uint64_t p = 0; p < parameters && in.ok(); ++p) {
      filter.parameters.push_back(static_cast<uint32_t>(in.Number(4)));
    }
    // Some writers leave out the padding behind the last one.
    if (version == 1 && parameters % 2 != 0 && i + 1 < count) in.Skip(4);
    filters.push_back(std::move(filter));
  }
  NDLFS_RETURN_IF_ERROR(in.Check("the list of filters"));
  return filters;
}

// --- Object headers (IV.A.1)

const HeaderMessage* ObjectHeader::Find(MessageType type) const {
  for (const HeaderMessage& message : messages_) {
    if (message.type == type) return &message;
  }
  return nullptr;
}

// Reads the blocks of a header, one after the other.
class HeaderReader {
 public:
  HeaderReader(const Metadata& file, uint64_t address, bool follows_shared)
      : file_(file), follows_shared_(follows_shared) {
    header_.address_ = address;
  }

  Result<ObjectHeader> Read() {
    constexpr uint64_t kFirstRead = 512;
    NDLFS_TRY(auto first, file_.ReadUpTo(header_.address_, kFirstRead));
    const bool is_new = AsText(first).starts_with("OHDR");
    NDLFS_RETURN_IF_ERROR(is_new ? ReadNew(std::move(first)) : ReadOld(std::move(first)));
    while (!continuations_.empty()) {
      const auto [address, bytes] = continuations_.back();
      continuations_.pop_back();
      NDLFS_RETURN_IF_ERROR(ReadContinuation(address, bytes));
    }
    return std::move(header_);
  }

 private:
  // Version 1: 12 bytes, 4 of padding, messages at multiples of 8 bytes.
  Result<void> ReadOld(ByteVector first) {
    constexpr uint64_t kPrefix = 16;
    Cursor in(first);
    const uint64_t version = in.Number(1);
    in.Skip(3);  // reserved, and the number of messages
    header_.links_ = in.Number(4);
    const uint64_t bytes = in.Number(4);
    NDLFS_RETURN_IF_ERROR(in.Check("the header"));
    if (version != 1) return model::Corrupt("no object header");
    version_ = 1;
    NDLFS_RETURN_IF_ERROR(Complete(first, kPrefix + bytes));
    return Parse(std::move(first), kPrefix, 0);
  }

  // Version 2: a signature, times, and a checksum behind the messages.
  Result<void> ReadNew(ByteVector first) {
    constexpr uint64_t kHasTimes = 0x20;
    constexpr uint64_t kHasPhases = 0x10;
    Cursor in(first);
    in.Skip(4);
    const uint64_t version = in.Number(1);
    const uint64_t flags = in.Number(1);
    if (flags & kHasTimes) in.Skip(16);
    if (flags & kHasPhases) in.Skip(4);
    const uint64_t bytes = in.Number(uint64_t{1} << (flags & 3));
    NDLFS_RETURN_IF_ERROR(in.Check("the header"));
    if (version != 2) return model::Unsupported("an object header of version {}", version);
    version_ = 2;
    has_order_ = flags & 4;
    header_.tracks_order_ = has_order_;
    const uint64_t prefix = in.position();
    if (bytes > kMaxHeader) return model::Limit("an object header of {} bytes", bytes);
    NDLFS_RETURN_IF_ERROR(Complete(first, prefix + bytes + kChecksumBytes));
    NDLFS_RETURN_IF_ERROR(CheckSum(first, "the header"));
    return Parse(std::move(first), prefix, kChecksumBytes);
  }

  // All `bytes` bytes of a block of which `first` are the first ones.
  Result<void> Complete(ByteVector& first, uint64_t bytes) {
    if (bytes > kMaxHeader) return model::Limit("an object header of {} bytes", bytes);
    if (bytes > first.size()) {
      NDLFS_TRY(first, file_.Read(header_.address_, bytes));
    }
    first.resize(bytes);
    return {};
  }

  Result<void> ReadContinuation(uint64_t address, uint64_t bytes) {
    if (!met_.insert(address).second) return model::Corrupt("continuations in a circle");
    if (bytes > kMaxHeader) return model::Limit("an object header of {} bytes", bytes);
    if (version_ == 1) {
      NDLFS_TRY(auto block, file_.Read(address, bytes));
      return Parse(std::move(block), 0, 0);
    }
    NDLFS_TRY(auto block, file_.ReadSigned(address, bytes, "OCHK"));
    return Parse(std::move(block), 4, kChecksumBytes);
  }

  // The messages of a block between its first and its last bytes.
  Result<void> Parse(ByteVector bytes, size_t front, size_t behind) {
    header_.held_bytes_ += bytes.size();
    if (header_.held_bytes_ > kMaxHeader) return model::Limit("too many messages");
    auto block = std::make_shared<const ByteVector>(std::move(bytes));
    header_.blocks_.push_back(block);
    Cursor in(ConstByteSpan(*block).subspan(front, block->size() - front - behind));
    const size_t head = version_ == 1 ? 8 : 4 + (has_order_ ? 2 : 0);
    while (in.left() >= head) {
      HeaderMessage message;
      message.type = static_cast<MessageType>(in.Number(version_ == 1 ? 2 : 1));
      const uint64_t size = in.Number(2);
      const uint64_t flags = in.Number(1);
      if (version_ == 1) in.Skip(3);
      if (version_ == 2 && has_order_) message.order = in.Number(2);
      message.body = in.Take(size);
      NDLFS_RETURN_IF_ERROR(in.Check("a message"));
      NDLFS_RETURN_IF_ERROR(Add(message, flags));
    }
    return {};
  }

  Result<void> Add(HeaderMessage message, uint64_t flags) {
    constexpr uint64_t kIsShared = 2;
    constexpr uint64_t kMustBeKnown = 0x80;
    constexpr uint64_t kLastType = 0x18;
    constexpr uint64_t kBogus = 9;  // which the library writes to test others
    const auto type = static_cast<uint64_t>(message.type);
    if (type > kLastType || type == kBogus) {
      if (flags & kMustBeKnown) {
        return model::Unsupported(
            "a message of type {}, without which the object must not be read", type);
      }
      return {};
    }
    if (message.type == MessageType::kContinuation) {
      Cursor in(message.body);
      const uint64_t address = in.Address(file_.offset_bytes());
      const uint64_t bytes = in.Number(file_.length_bytes());
      NDLFS_RETURN_IF_ERROR(in.Check("a continuation"));
      continuations_.emplace_back(address, bytes);
      return {};
    }
    if (message.type == MessageType::kReferenceCount) {
      Cursor in(message.body);
      in.Skip(1);
      header_.links_ = in.Number(4);
      return {};
    }
    if (flags & kIsShared) {
      if (!follows_shared_) return {};
      auto body = file_.Shared(message.type, message.body);
      // A damaged attribute does not hide its object: it ends early.
      if (!body && !body.error().is_transient() && message.type == MessageType::kAttribute) {
        body = ByteVector();
      }
      if (!body) return model::Propagate(std::move(body).error());
      auto block = std::make_shared<const ByteVector>(*std::move(body));
      header_.held_bytes_ += block->size();
      message.body = *block;
      header_.blocks_.push_back(std::move(block));
    }
    header_.held_bytes_ += sizeof(message);
    header_.messages_.push_back(message);
    // A few bytes may share many.
    if (header_.held_bytes_ > 2 * kMaxHeader) return model::Limit("too many messages");
    return {};
  }

  const Metadata& file_;
  const bool follows_shared_;
  unsigned version_ = 0;
  bool has_order_ = false;
  ObjectHeader header_;
  std::vector<std::pair<uint64_t, uint64_t>> continuations_;
  std::set<uint64_t> met_;
};

// --- Fractal heaps (III.G)

Result<std::shared_ptr<const FractalHeap>> FractalHeap::Open(const Metadata& file,
                                                             uint64_t address) {
  constexpr uint64_t kHasChecksums = 2;
  constexpr uint64_t kMostBytes = 4096;  // with its filters
  constexpr uint64_t kMaxDirect = uint64_t{1} << 20;
  constexpr uint64_t kMaxManaged = uint64_t{64} << 10;
  const uint64_t o = file.offset_bytes();
  const uint64_t l = file.length_bytes();
  NDLFS_TRY(const auto bytes, file.ReadUpTo(address, kMostBytes));
  Cursor in(bytes);
  auto heap = std::make_shared<FractalHeap>();
  heap->address_ = address;
  const bool is_heap = AsText(in.Take(4)) == "FRHP";
  const uint64_t version = in.Number(1);
  heap->id_bytes_ = in.Number(2);
  const uint64_t filter_bytes = in.Number(2);
  heap->has_checksums_ = in.Number(1) & kHasChecksums;
  heap->max_managed_ = in.Number(4);
  in.Skip(l);  // the next identifier of a huge object
  heap->huge_tree_ = in.Address(o);
  in.Skip(l + o + 8 * l);  // free space, and what is stored
  heap->width_ = in.Number(2);
  heap->start_bytes_ = in.Number(l);
  heap->max_direct_ = in.Number(l);
  heap->heap_bits_ = in.Number(2);
  in.Skip(2);  // rows that a root block begins with
  heap->root_ = in.Address(o);
  heap->root_rows_ = in.Number(2);
  if (filter_bytes != 0) {
    heap->filtered_root_.bytes = in.Number(l);
    heap->filtered_root_.mask = in.Number(4);
    const ConstByteSpan filters = in.Take(filter_bytes);
    if (in.ok()) {
      NDLFS_TRY(heap->filters_, ParseFilters(filters));
    }
  }
  in.Skip(kChecksumBytes);
  if (!is_heap || version != 0) return model::Corrupt("no fractal heap at {}", address);
  NDLFS_RETURN_IF_ERROR(in.Check("a fractal heap"));
  NDLFS_RETURN_IF_ERROR(CheckSum(ConstByteSpan(bytes).first(in.position()), "a fractal heap"));
  const bool is_sound =
      std::has_single_bit(heap->width_) && std::has_single_bit(heap->start_bytes_) &&
      std::has_single_bit(heap->max_direct_) && heap->heap_bits_ <= 64 &&
      heap->max_direct_ >= heap->start_bytes_ && heap->max_direct_ <= kMaxDirect &&
      heap->max_managed_ <= kMaxManaged && heap->root_rows_ <= kMaxDepth;
  if (!is_sound) return model::Corrupt("a fractal heap of impossible sizes");
  return heap;
}

Result<ByteVector> FractalHeap::Get(const Metadata& file, ConstByteSpan id,
                                    uint64_t most) const {
  constexpr uint64_t kManaged = 0;
  constexpr uint64_t kHuge = 1;
  constexpr uint64_t kTiny = 2;
  constexpr uint64_t kLongTiny = 18;  // identifiers with more bytes have a longer length
  Cursor in(id);
  const uint64_t head = in.Number(1);
  switch (head >> 4 & 3) {
    case kManaged:
      return GetManaged(file, in);
    case kHuge:
      return GetHuge(file, in, most);
    case kTiny: {
      uint64_t bytes = head & 0xf;
      if (id_bytes_ > kLongTiny) bytes = bytes << 8 | in.Number(1);
      const ConstByteSpan object = in.Take(bytes + 1);
      NDLFS_RETURN_IF_ERROR(in.Check("a tiny object of a heap"));
      return ByteVector(object.begin(), object.end());
    }
    default:
      return model::Corrupt("an object of a kind that heaps do not have");
  }
}

Result<ByteVector> FractalHeap::GetManaged(const Metadata& file, Cursor id) const {
  const uint64_t offset = id.Number((heap_bits_ + 7) / 8);
  const uint64_t bytes = id.Number(
      std::min(BytesFor(max_direct_ - 1), BytesFor(std::max<uint64_t>(max_managed_, 1))));
  NDLFS_RETURN_IF_ERROR(id.Check("an identifier of a heap"));
  NDLFS_TRY(const DirectBlock block, FindDirect(file, offset));
  NDLFS_TRY(const Block content, ReadDirect(file, block));
  const uint64_t inside = offset - block.begin;
  if (inside > content->size() || bytes > content->size() - inside) {
    return model::Corrupt("an object beyond its block of a heap");
  }
  const auto begin = content->begin() + static_cast<ptrdiff_t>(inside);
  return ByteVector(begin, begin + static_cast<ptrdiff_t>(bytes));
}

Result<FractalHeap::DirectBlock> FractalHeap::FindDirect(const Metadata& file,
                                                         uint64_t offset) const {
  if (root_rows_ == 0) {
    const uint64_t stored = filters_.empty() ? start_bytes_ : filtered_root_.bytes;
    return DirectBlock{{root_, stored, filtered_root_.mask}, 0, start_bytes_};
  }
  const uint64_t o = file.offset_bytes();
  const uint64_t direct_rows = std::bit_width(max_direct_ / start_bytes_) + 1;
  const uint64_t direct_bytes = o + (filters_.empty() ? 0 : file.length_bytes() + 4);
  uint64_t address = root_;
  uint64_t rows = root_rows_;
  uint64_t begin = 0;
  for (uint64_t depth = 0; depth < kMaxDepth; ++depth) {
    NDLFS_TRY(const Block block, ReadIndirect(file, address, rows));
    const uint64_t relative = offset - begin;
    const uint64_t unit = relative / start_bytes_ / width_;
    const uint64_t row = std::bit_width(unit);
    if (row >= rows) return model::Corrupt("an object beyond its heap");
    const uint64_t column = (relative - RowBegin(row)) / RowBytes(row);
    const uint64_t block_begin = begin + RowBegin(row) + column * RowBytes(row);
    const uint64_t direct = std::min(rows, direct_rows) * width_;
    Cursor in(*block);
    in.Skip(4 + 1 + o + (heap_bits_ + 7) / 8);
    if (row < direct_rows) {
      in.Skip((row * width_ + column) * direct_bytes);
      DirectBlock found{{in.Address(o), RowBytes(row), 0}, block_begin, RowBytes(row)};
      if (!filters_.empty()) {
        found.place.bytes = in.Number(file.length_bytes());
        found.place.mask = in.Number(4);
      }
      NDLFS_RETURN_IF_ERROR(in.Check("a block of a heap"));
      return found;
    }
    in.Skip(direct * direct_bytes + ((row - direct_rows) * width_ + column) * o);
    address = in.Address(o);
    NDLFS_RETURN_IF_ERROR(in.Check("a block of a heap"));
    begin = block_begin;
    if (RowBytes(row) < start_bytes_ * width_) return model::Corrupt("a heap of small blocks");
    rows = std::bit_width(RowBytes(row)) - std::bit_width(start_bytes_ * width_) + 1;
  }
  return model::Corrupt("a heap that is too deep");
}

Result<FractalHeap::Block> FractalHeap::ReadIndirect(const Metadata& file, uint64_t address,
                                                     uint64_t rows) const {
  if (Block kept = FindKept(address)) return kept;
  const uint64_t o = file.offset_bytes();
  const uint64_t direct_rows =
      std::min<uint64_t>(rows, std::bit_width(max_direct_ / start_bytes_) + 1);
  const uint64_t direct_bytes = o + (filters_.empty() ? 0 : file.length_bytes() + 4);
  const uint64_t bytes = 4 + 1 + o + (heap_bits_ + 7) / 8 +
                         direct_rows * width_ * direct_bytes +
                         (rows - direct_rows) * width_ * o + kChecksumBytes;
  NDLFS_TRY(auto read, file.ReadSigned(address, bytes, "FHIB"));
  auto block = std::make_shared<const ByteVector>(std::move(read));
  Keep(address, block);
  return block;
}

// The checksum of a direct block is within, and counts as zeros.
Result<FractalHeap::Block> FractalHeap::ReadDirect(const Metadata& file,
                                                   const DirectBlock& block) const {
  if (Block kept = FindKept(block.place.address)) return kept;
  NDLFS_TRY(auto bytes, file.Read(block.place.address, block.place.bytes));
  NDLFS_TRY(bytes, Unfilter(std::move(bytes), block.place.mask, block.bytes));
  if (!AsText(bytes).starts_with("FHDB")) {
    return model::Corrupt("no block of a heap at {}", block.place.address);
  }
  const size_t head = 4 + 1 + file.offset_bytes() + (heap_bits_ + 7) / 8;
  if (has_checksums_ && bytes.size() >= head + kChecksumBytes) {
    const auto sum = ByteSpan(bytes).subspan(head, kChecksumBytes);
    const uint64_t stored = Cursor(sum).Number(kChecksumBytes);
    std::ranges::fill(sum, std::byte{0});
    const uint32_t found = HashOf(bytes);
    if (found != stored) {
      return model::Corrupt("a block of a heap at {}: the checksum is {:08x}, and not {:08x}",
                            block.place.address, found, stored);
    }
  }
  auto made = std::make_shared<const ByteVector>(std::move(bytes));
  Keep(block.place.address, made);
  return made;
}

Result<ByteVector> FractalHeap::Unfilter(ByteVector bytes, uint64_t mask, uint64_t size) const {
  if (filters_.empty()) return bytes;
  return UndoFilters(filters_, mask, std::move(bytes), size);
}

// Huge objects have a place of their own, in the identifier if it fits there, else in a tree.
Result<ByteVector> FractalHeap::GetHuge(const Metadata& file, Cursor id, uint64_t most) const {
  const uint64_t o = file.offset_bytes();
  const uint64_t l = file.length_bytes();
  const bool is_filtered = !filters_.empty();
  const uint64_t direct_bytes = o + l + (is_filtered ? 4 + l : 0);
  ByteVector record;
  if (direct_bytes <= id_bytes_ - 1) {
    const ConstByteSpan place = id.Take(direct_bytes);
    record.assign(place.begin(), place.end());
  } else {
    const uint64_t key_bytes = std::min(l, id_bytes_ - 1);
    const uint64_t key = id.Number(key_bytes);
    NDLFS_RETURN_IF_ERROR(id.Check("an identifier of a heap"));
    NDLFS_TRY(const Tree2 tree, Tree2::Open(file, huge_tree_));
    if (tree.record_bytes() != direct_bytes + l) {
      return model::Corrupt("a tree of huge objects with records of {} bytes",
                            tree.record_bytes());
    }
    const auto compare = [&](ConstByteSpan in) -> Result<int> {
      const uint64_t at = Cursor(in.last(l)).Number(l);
      return key < at ? -1 : key > at;
    };
    NDLFS_TRY(auto found, tree.Find(file, compare));
    if (!found) return model::Corrupt("a huge object that its heap does not have");
    record = *std::move(found);
  }
  Cursor in(record);
  const uint64_t address = in.Address(o);
  const uint64_t stored = in.Number(l);
  const uint64_t mask = is_filtered ? in.Number(4) : 0;
  const uint64_t size = is_filtered ? in.Number(l) : stored;
  NDLFS_RETURN_IF_ERROR(in.Check("a huge object"));
  if (is_filtered && size > most) return model::Limit("a huge object of {} bytes", size);
  NDLFS_TRY(auto bytes, file.Read(address, is_filtered ? stored : std::min(stored, most)));
  return Unfilter(std::move(bytes), mask, size);
}

uint64_t FractalHeap::held_bytes() const {
  const model::MutexLock lock(mutex_);
  return kept_.total_weight();
}

FractalHeap::Block FractalHeap::FindKept(uint64_t address) const {
  const model::MutexLock lock(mutex_);
  const Block* found = kept_.Find(address);
  return found ? *found : nullptr;
}

void FractalHeap::Keep(uint64_t address, Block block) const {
  const uint64_t bytes = block->size();
  const model::MutexLock lock(mutex_);
  kept_.Put(address, std::move(block), bytes);
}

// --- B-trees

Result<Tree1Node> Tree1Node::Read(const Metadata& file, uint64_t address, Type type,
                                  uint64_t key_bytes) {
  const uint64_t head_bytes = 8 + 2 * file.offset_bytes();
  NDLFS_TRY(const auto head, file.Read(address, head_bytes));
  Cursor in(head);
  const bool is_tree = AsText(in.Take(4)) == "TREE";
  if (!is_tree || in.Number(1) != static_cast<uint64_t>(type)) {
    return model::Corrupt("no B-tree of the kind at {}", address);
  }
  Tree1Node node;
  node.level = in.Number(1);
  node.count = in.Number(2);
  node.key_bytes = key_bytes;
  node.child_bytes = file.offset_bytes();
  if (node.level > kMaxDepth) return model::Corrupt("a B-tree of {} levels", node.level);
  const uint64_t bytes = node.count * (key_bytes + node.child_bytes) + key_bytes;
  NDLFS_TRY(node.bytes, file.Read(address + head_bytes, bytes));
  return node;
}

// Of version 2 (III.A.2)

Result<Tree2> Tree2::Open(const Metadata& file, uint64_t address) {
  constexpr uint64_t kNodeHead = 10;  // with the checksum behind
  const uint64_t o = file.offset_bytes();
  const uint64_t bytes = 4 + 1 + 1 + 4 + 2 + 2 + 2 + o + 2 + file.length_bytes() + 4;
  NDLFS_TRY(const auto head, file.ReadSigned(address, bytes, "BTHD"));
  Cursor in(head);
  in.Skip(5);
  Tree2 tree;
  tree.type_ = static_cast<uint8_t>(in.Number(1));
  tree.node_bytes_ = in.Number(4);
  tree.record_bytes_ = in.Number(2);
  tree.root_.level = in.Number(2);
  in.Skip(2);
  tree.root_.address = in.Address(o);
  tree.root_.records = in.Number(2);
  if (tree.node_bytes_ <= kNodeHead || tree.record_bytes_ == 0 ||
      tree.record_bytes_ > tree.node_bytes_ || tree.root_.level > kMaxDepth) {
    return model::Corrupt("a B-tree of impossible sizes at {}", address);
  }
  const uint64_t leaf = (tree.node_bytes_ - kNodeHead) / tree.record_bytes_;
  tree.count_bytes_ = BytesFor(leaf);
  tree.levels_.push_back({leaf, 0});
  uint64_t total = leaf;
  for (uint64_t level = 1; level <= tree.root_.level; ++level) {
    const uint64_t pointer = o + tree.count_bytes_ + tree.levels_.back().total_bytes;
    if (tree.node_bytes_ < kNodeHead + pointer)
      return model::Corrupt("a B-tree of small nodes");
    const uint64_t most =
        (tree.node_bytes_ - kNodeHead - pointer) / (tree.record_bytes_ + pointer);
    const auto below = CheckedMultiply(total, most + 1);
    total = below ? CheckedAdd(*below, most).value_or(UINT64_MAX) : UINT64_MAX;
    tree.levels_.push_back({most, BytesFor(total)});
  }
  return tree;
}

Result<ByteVector> Tree2::ReadNode(const Metadata& file, const Node& node) const {
  const Level& level = levels_[node.level];
  if (node.records > level.most) {
    return model::Corrupt("a node of {} records in a B-tree, at {}", node.records,
                          node.address);
  }
  uint64_t bytes = 6 + node.records * record_bytes_ + kChecksumBytes;
  if (node.level > 0) {
    const uint64_t below = node.level > 1 ? levels_[node.level - 1].total_bytes : 0;
    bytes += (node.records + 1) * (file.offset_bytes() + count_bytes_ + below);
  }
  return file.ReadSigned(node.address, bytes, node.level == 0 ? "BTLF" : "BTIN");
}

ConstByteSpan Tree2::Record(const ByteVector& node, uint64_t i) const {
  return ConstByteSpan(node).subspan(6 + i * record_bytes_, record_bytes_);
}

Tree2::Node Tree2::Child(const Metadata& file, const ByteVector& bytes, const Node& node,
                         uint64_t i) const {
  const uint64_t below = node.level > 1 ? levels_[node.level - 1].total_bytes : 0;
  const uint64_t pointer = file.offset_bytes() + count_bytes_ + below;
  Cursor in(ConstByteSpan(bytes).subspan(6 + node.records * record_bytes_ + i * pointer));
  const uint64_t address = in.Address(file.offset_bytes());
  return {address, in.Number(count_bytes_), node.level - 1};
}

Result<void> Tree2::ForEach(const Metadata& file, const Visit& visit) const {
  if (root_.address == kNowhere || root_.records == 0) return {};
  struct Open {
    Node node;
    ByteVector bytes;
    uint64_t next;  // child and record
  };
  std::set<uint64_t> met;
  std::vector<Open> open;
  const auto enter = [&](const Node& node) -> Result<void> {
    if (!met.insert(node.address).second) return model::Corrupt("a B-tree in a circle");
    NDLFS_TRY(auto bytes, ReadNode(file, node));
    if (node.level > 0) {
      std::vector<uint64_t> children;
      for (uint64_t i = 0; i <= node.records; ++i) {
        children.push_back(Child(file, bytes, node, i).address);
      }
      file.Prefetch(std::move(children), node_bytes_);
    }
    open.push_back({node, std::move(bytes), 0});
    return {};
  };
  NDLFS_RETURN_IF_ERROR(enter(root_));
  bool came_up = false;
  while (!open.empty()) {
    Open& top = open.back();
    if (top.node.level > 0 && !came_up) {
      NDLFS_RETURN_IF_ERROR(enter(Child(file, top.bytes, top.node, top.next)));
      continue;
    }
    came_up = false;
    if (top.next == top.node.records) {
      open.pop_back();
      came_up = true;
      continue;
    }
    NDLFS_TRY(const bool go_on, visit(Record(top.bytes, top.next++)));
    if (!go_on) return {};
  }
  return {};
}

Result<std::optional<ByteVector>> Tree2::Find(const Metadata& file,
                                              const Compare& compare) const {
  Node node = root_;
  if (node.address == kNowhere || node.records == 0) return std::nullopt;
  for (;;) {
    NDLFS_TRY(const auto bytes, ReadNode(file, node));
    uint64_t low = 0;
    uint64_t high = node.records;
    while (low < high) {
      const uint64_t middle = low + (high - low) / 2;
      NDLFS_TRY(const int order, compare(Record(bytes, middle)));
      if (order == 0) {
        const ConstByteSpan found = Record(bytes, middle);
        return ByteVector(found.begin(), found.end());
      }
      if (order < 0) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    if (node.level == 0) return std::nullopt;
    node = Child(file, bytes, node, low);
  }
}

// --- Global heaps (III.E)

// Of a heap and of each object in it. The library pads them, which the specification leaves
// out.
uint64_t GlobalHeap::HeadBytes(const Metadata& file) {
  return (8 + file.length_bytes() + 7) / 8 * 8;
}

Result<std::shared_ptr<const GlobalHeap>> GlobalHeap::Open(const Metadata& file,
                                                           uint64_t address) {
  constexpr uint64_t kWindow = 4096;  // the heads of large objects lie apart
  const uint64_t l = file.length_bytes();
  const uint64_t item = HeadBytes(file);
  NDLFS_TRY(auto window, file.ReadUpTo(address, kWindow));
  Cursor in(window);
  if (AsText(in.Take(4)) != "GCOL") return model::Corrupt("no global heap at {}", address);
  in.Skip(4);
  const uint64_t bytes = in.Number(l);
  const auto end = CheckedAdd(CheckedAdd(file.base(), address).value_or(UINT64_MAX), bytes);
  if (!in.ok() || !end || *end > file.input().size() || bytes / 8 > UINT32_MAX) {
    return model::Corrupt("a global heap of {} bytes at {}", bytes, address);
  }
  auto heap = std::make_shared<GlobalHeap>();
  heap->address_ = address;
  heap->end_ = address + bytes;
  uint64_t begin = address;  // of the window
  for (uint64_t at = address + item; at <= heap->end_ && heap->end_ - at >= item;) {
    if (at - begin > window.size() || window.size() - (at - begin) < item) {
      NDLFS_TRY(window, file.Read(at, std::min(kWindow, heap->end_ - at)));
      begin = at;
    }
    Cursor next(ConstByteSpan(window).subspan(at - begin, item));
    const uint64_t index = next.Number(2);
    next.Skip(6);
    const uint64_t size = next.Number(l);
    if (index == 0) break;
    if (size > heap->end_ - at - item)
      return model::Corrupt("an object beyond its global heap");
    if (heap->places_.size() > UINT16_MAX) return model::Corrupt("two objects of one number");
    heap->places_.push_back(
        {static_cast<uint16_t>(index), static_cast<uint32_t>((at - address) / 8)});
    at += item + (size + 7) / 8 * 8;
  }
  heap->places_.shrink_to_fit();
  std::ranges::stable_sort(heap->places_, {}, &Place::index);
  return heap;
}

Result<GlobalHeap::Entry> GlobalHeap::Find(const Metadata& file, uint64_t index) const {
  const auto found = std::ranges::lower_bound(places_, index, {}, &Place::index);
  if (found == places_.end() || found->index != index) {
    return model::Corrupt("the global heap at {} has no object {}", address_, index);
  }
  const uint64_t item = HeadBytes(file);
  const uint64_t at = address_ + uint64_t{8} * found->offset;
  NDLFS_TRY(const auto head, file.Read(at, item));
  Cursor in(head);
  in.Skip(8);
  const Entry entry{at + item, in.Number(file.length_bytes())};
  if (entry.bytes > end_ - entry.address) {
    return model::Corrupt("an object beyond its global heap");
  }
  return entry;
}

// --- The file

Result<std::shared_ptr<const Metadata>> Metadata::Open(std::shared_ptr<const Input> input) {
  std::shared_ptr<Metadata> file(new Metadata(std::move(input)));
  NDLFS_RETURN_IF_ERROR(file->ReadSuperblock(), "not a readable HDF5 file");
  return file;
}

// The superblock (II.A) is at 0, 512, 1024, 2048 and so on. Where it is counts, whatever base
// address it names.
Result<void> Metadata::ReadSuperblock() {
  constexpr uint64_t kMostBytes = 128;
  ByteVector bytes;
  for (;; place_ = place_ == 0 ? kLeastUserBlock : 2 * place_) {
    if (place_ > input_->size() || input_->size() - place_ < kSignature.size()) {
      return model::Corrupt("no signature");
    }
    bytes.resize(std::min(kMostBytes, input_->size() - place_));
    NDLFS_RETURN_IF_ERROR(input_->Read(place_, bytes));
    if (AsText(bytes).starts_with(kSignature)) break;
  }
  base_ = place_;
  Cursor in(bytes);
  in.Skip(kSignature.size());
  const auto version = static_cast<unsigned>(in.Number(1));
  if (version > 3) return model::Corrupt("a superblock of version {}", version);
  return version < 2 ? ParseOld(in, version) : ParseNew(bytes, in);
}

Result<void> Metadata::ParseOld(Cursor in, unsigned version) {
  in.Skip(4);  // versions of other parts
  offset_bytes_ = in.Number(1);
  length_bytes_ = in.Number(1);
  in.Skip(1 + 2 + 2 + 4);  // how many entries nodes of groups have, and flags
  if (version == 1) {
    chunk_tree_k_ = in.Number(2);
    in.Skip(2);
  }
  if (!IsWidth(offset_bytes_) || !IsWidth(length_bytes_)) {
    return model::Corrupt("addresses of {} bytes", offset_bytes_);
  }
  const uint64_t stored_base = in.Address(offset_bytes_);
  in.Skip(offset_bytes_);
  const uint64_t end = in.Address(offset_bytes_);
  const uint64_t driver = in.Address(offset_bytes_);
  in.Skip(length_bytes_);  // the name of the root
  root_ = in.Address(offset_bytes_);
  NDLFS_RETURN_IF_ERROR(in.Check("the superblock"));
  if (driver != kNowhere) {
    NDLFS_TRY(const auto block, ReadUpTo(driver, 16));
    NDLFS_RETURN_IF_ERROR(
        CheckDriver(ConstByteSpan(block).subspan(std::min<size_t>(8, block.size()))));
  }
  return CheckEnd(stored_base, end);
}

Result<void> Metadata::ParseNew(ConstByteSpan bytes, Cursor in) {
  offset_bytes_ = in.Number(1);
  length_bytes_ = in.Number(1);
  in.Skip(1);  // flags
  if (!IsWidth(offset_bytes_) || !IsWidth(length_bytes_)) {
    return model::Corrupt("addresses of {} bytes", offset_bytes_);
  }
  const uint64_t stored_base = in.Address(offset_bytes_);
  const uint64_t extension = in.Address(offset_bytes_);
  const uint64_t end = in.Address(offset_bytes_);
  root_ = in.Address(offset_bytes_);
  in.Skip(kChecksumBytes);
  NDLFS_RETURN_IF_ERROR(in.Check("the superblock"));
  NDLFS_RETURN_IF_ERROR(CheckSum(bytes.first(in.position()), "the superblock"));
  auto extended = extension == kNowhere ? Result<void>() : ReadExtension(extension);
  // One of several files ends early, too.
  if (!extended && extended.error().code() == model::ErrorCode::kUnsupported) return extended;
  NDLFS_RETURN_IF_ERROR(CheckEnd(stored_base, end));
  return extended;
}

// A file that is longer than it says is fine.
Result<void> Metadata::CheckEnd(uint64_t stored_base, uint64_t end) const {
  const uint64_t moved = end - stored_base + base_;
  if (moved <= input_->size()) return {};
  return model::Corrupt("truncated file: it has {} bytes instead of {}", input_->size(), moved);
}

Result<void> Metadata::ReadExtension(uint64_t address) {
  NDLFS_TRY(const auto header, HeaderReader(*this, address, false).Read());
  if (const auto* table = header.Find(MessageType::kSharedTable)) {
    NDLFS_RETURN_IF_ERROR(ReadSharedTable(table->body), "shared messages");
  }
  if (const auto* image = header.Find(MessageType::kCacheImage)) {
    NDLFS_RETURN_IF_ERROR(ReadCacheImage(image->body), "the cache image");
  }
  if (const auto* space = header.Find(MessageType::kFileSpace)) ReadFileSpace(space->body);
  const auto* driver = header.Find(MessageType::kDriver);
  if (driver == nullptr) return {};
  return CheckDriver(driver->body.subspan(std::min<size_t>(1, driver->body.size())));
}

// The file space info (IV.A.2.x). Pages that are small lie everywhere.
void Metadata::ReadFileSpace(ConstByteSpan message) {
  constexpr uint64_t kVersion = 1;
  constexpr uint64_t kPaged = 1;
  constexpr uint64_t kLeastPage = uint64_t{32} << 10;
  Cursor in(message);
  is_paged_ = in.Number(1) == kVersion && in.Number(1) == kPaged;
  in.Skip(1 + length_bytes_);
  is_paged_ = is_paged_ && in.Number(length_bytes_) >= kLeastPage;
}

// The master table of shared messages (IV.A.2.p).
Result<void> Metadata::ReadSharedTable(ConstByteSpan message) {
  Cursor in(message);
  in.Skip(1);
  const uint64_t address = in.Address(offset_bytes_);
  const uint64_t count = in.Number(1);
  NDLFS_RETURN_IF_ERROR(in.Check("the message"));
  const uint64_t item = 1 + 1 + 2 + 4 + 2 + 2 + 2 + 2 * offset_bytes_;
  NDLFS_TRY(const auto table, ReadSigned(address, 4 + count * item + kChecksumBytes, "SMTB"));
  Cursor entries(table);
  entries.Skip(4);
  for (uint64_t i = 0; i < count; ++i) {
    entries.Skip(2);
    const uint64_t types = entries.Number(2);
    entries.Skip(4 + 2 + 2 + 2 + offset_bytes_);
    shared_.push_back({types, entries.Address(offset_bytes_)});
  }
  return entries.Check("the table");
}

// Metadata that a writer kept in memory and wrote in one piece (IV.A.2.y): they were never
// written to their addresses.
Result<void> Metadata::ReadCacheImage(ConstByteSpan message) {
  Cursor place(message);
  place.Skip(1);
  const uint64_t address = place.Address(offset_bytes_);
  const uint64_t bytes = place.Number(length_bytes_);
  NDLFS_RETURN_IF_ERROR(place.Check("the message"));
  if (address == kNowhere) return {};
  if (bytes > kMaxHeader) return model::Limit("{} bytes", bytes);
  NDLFS_TRY(const auto image, Read(address, bytes));
  NDLFS_RETURN_IF_ERROR(CheckSum(image, "the block"));
  Cursor in(image);
  if (AsText(in.Take(4)) != "MDCI") return model::Corrupt("no cache image at {}", address);
  in.Skip(2 + length_bytes_);
  for (uint64_t left = in.Number(4); left > 0 && in.ok(); --left) {
    in.Skip(4 + 2 + 2);
    const uint64_t parents = in.Number(2);
    in.Skip(4);
    const uint64_t at = in.Address(offset_bytes_);
    const uint64_t size = in.Number(length_bytes_);
    in.Skip(parents * offset_bytes_);
    const ConstByteSpan content = in.Take(size);
    overlays_[at] = ByteVector(content.begin(), content.end());
  }
  return in.Check("an entry");
}

ConstByteSpan Metadata::Overlay(uint64_t address) const {
  if (overlays_.empty()) return {};
  auto found = overlays_.upper_bound(address);
  if (found == overlays_.begin()) return {};
  --found;
  const uint64_t inside = address - found->first;
  if (inside >= found->second.size()) return {};
  return ConstByteSpan(found->second).subspan(inside);
}

Result<void> Metadata::ReadInto(uint64_t address, ByteSpan out) const {
  const ConstByteSpan kept = Overlay(address);
  if (!kept.empty() && kept.size() >= out.size()) {
    std::ranges::copy(kept.first(out.size()), out.begin());
    return {};
  }
  const auto offset = CheckedAdd(base_, address);
  if (address == kNowhere || !offset) return model::Corrupt("an address that leads nowhere");
  return input_->Read(*offset, out);
}

Result<ByteVector> Metadata::Read(uint64_t address, uint64_t bytes) const {
  if (bytes > kMaxStructure) return model::Limit("{} bytes of metadata at {}", bytes, address);
  const auto end = CheckedAdd(CheckedAdd(base_, address).value_or(UINT64_MAX), bytes);
  if (Overlay(address).empty() && (!end || *end > input_->size())) {
    return model::Corrupt("{} bytes at {}, in a file of {} bytes", bytes, address,
                          input_->size());
  }
  ByteVector read(bytes);
  NDLFS_RETURN_IF_ERROR(ReadInto(address, read));
  return read;
}

Result<ByteVector> Metadata::ReadUpTo(uint64_t address, uint64_t bytes) const {
  const ConstByteSpan kept = Overlay(address);
  if (!kept.empty()) return Read(address, std::min<uint64_t>(bytes, kept.size()));
  const uint64_t begin = CheckedAdd(base_, address).value_or(UINT64_MAX);
  if (begin >= input_->size()) {
    return model::Corrupt("an address ({}) beyond the end of the file", address);
  }
  return Read(address, std::min(bytes, input_->size() - begin));
}

Result<ByteVector> Metadata::ReadSigned(uint64_t address, uint64_t bytes,
                                        std::string_view signature) const {
  NDLFS_TRY(auto read, Read(address, bytes));
  if (!AsText(read).starts_with(signature)) {
    return model::Corrupt("no {} at {}", signature, address);
  }
  NDLFS_RETURN_IF_ERROR(CheckSum(read, fmt::format("{} at {}", signature, address)));
  return read;
}

void Metadata::Prefetch(std::vector<uint64_t> addresses, uint64_t bytes) const {
  for (uint64_t& address : addresses) {
    address = CheckedAdd(base_, address).value_or(kNowhere);
  }
  input_->Prefetch(std::move(addresses), bytes, is_paged_);
}

Result<std::shared_ptr<const ObjectHeader>> Metadata::Header(uint64_t address) const {
  {
    const model::MutexLock lock(mutex_);
    if (const auto* found = headers_.Find(address)) return *found;
  }
  NDLFS_TRY(auto read, HeaderReader(*this, address, true).Read(),
            fmt::format("the object header at {}", address));
  auto header = std::make_shared<const ObjectHeader>(std::move(read));
  const model::MutexLock lock(mutex_);
  headers_.Put(address, header, header->held_bytes() + sizeof(ObjectHeader));
  return header;
}

Result<ByteVector> Metadata::MessageOf(uint64_t address, MessageType type) const {
  NDLFS_TRY(const auto header, HeaderReader(*this, address, false).Read(),
            fmt::format("the object header at {}", address));
  const HeaderMessage* message = header.Find(type);
  if (message == nullptr) {
    return model::Corrupt("the object at {} has no message to share", address);
  }
  return ByteVector(message->body.begin(), message->body.end());
}

// IV.A.2.b, and the body of a shared message.
Result<ByteVector> Metadata::Shared(MessageType type, ConstByteSpan body) const {
  constexpr size_t kHeapIdBytes = 8;
  Cursor in(body);
  const uint64_t version = in.Number(1);
  const uint64_t kind = in.Number(1);
  if (version == 0 || version > 3) {
    return model::Unsupported("a shared message of version {}", version);
  }
  if (version == 3 && kind == 1) {
    const ConstByteSpan id = in.Take(kHeapIdBytes);
    NDLFS_RETURN_IF_ERROR(in.Check("a shared message"));
    return SharedObject(type, id);
  }
  if (version == 1) in.Skip(6 + length_bytes_);
  const uint64_t address = in.Address(offset_bytes_);
  NDLFS_RETURN_IF_ERROR(in.Check("a shared message"));
  return MessageOf(address, type);
}

Result<ByteVector> Metadata::SharedObject(MessageType type, ConstByteSpan id) const {
  for (const SharedIndex& index : shared_) {
    if ((index.types >> static_cast<unsigned>(type) & 1) == 0) continue;
    NDLFS_TRY(const auto heap, Heap(index.heap));
    return heap->Get(*this, id);
  }
  return model::Corrupt("a shared message in a file without an index of them");
}

Result<std::shared_ptr<const FractalHeap>> Metadata::Heap(uint64_t address) const {
  {
    const model::MutexLock lock(mutex_);
    for (size_t i = 0; i < heaps_.size(); ++i) {
      if (heaps_[i].first != address) continue;
      std::rotate(heaps_.begin() + i, heaps_.begin() + i + 1, heaps_.end());
      return heaps_.back().second;
    }
  }
  NDLFS_TRY(auto heap, FractalHeap::Open(*this, address));
  const model::MutexLock lock(mutex_);
  if (heaps_.size() == kKeptHeaps) heaps_.erase(heaps_.begin());
  heaps_.emplace_back(address, heap);
  return heap;
}

uint64_t Metadata::held_bytes() const {
  const model::MutexLock lock(mutex_);
  uint64_t bytes = headers_.total_weight() + global_.total_weight();
  for (const auto& [address, heap] : heaps_) bytes += heap->held_bytes();
  return bytes;
}

Result<GlobalHeap::Entry> Metadata::FindGlobal(uint64_t heap, uint64_t index) const {
  std::shared_ptr<const GlobalHeap> opened;
  {
    const model::MutexLock lock(mutex_);
    if (const auto* found = global_.Find(heap)) opened = *found;
  }
  if (!opened) {
    NDLFS_TRY(opened, GlobalHeap::Open(*this, heap));
    const model::MutexLock lock(mutex_);
    global_.Put(heap, opened, opened->held_bytes());
  }
  return opened->Find(*this, index);
}

Result<Metadata::LocalHeap> Metadata::OpenLocalHeap(uint64_t address) const {
  NDLFS_TRY(const auto head, Read(address, 8 + 2 * length_bytes_ + offset_bytes_));
  Cursor in(head);
  if (AsText(in.Take(4)) != "HEAP") return model::Corrupt("no local heap at {}", address);
  in.Skip(4);
  LocalHeap heap;
  heap.bytes_ = in.Number(length_bytes_);
  in.Skip(length_bytes_);
  heap.data_ = in.Address(offset_bytes_);
  return heap;
}

Result<std::string> Metadata::LocalHeap::Text(const Metadata& file, uint64_t offset) const {
  constexpr uint64_t kFirstPiece = 64;
  constexpr uint64_t kLastPiece = kFirstPiece << 12;
  for (uint64_t piece = kFirstPiece; piece <= kLastPiece; piece *= 8) {
    const auto at = CheckedAdd(data_, offset);
    if (!at || offset >= bytes_) return model::Corrupt("a name beyond its heap");
    NDLFS_TRY(const auto bytes, file.ReadUpTo(*at, std::min(piece, bytes_ - offset)));
    const std::string_view text = AsText(bytes);
    const size_t end = text.find('\0');
    if (end != text.npos) return std::string(text.substr(0, end));
    if (bytes.size() < piece) break;
  }
  return model::Corrupt("a name without an end");
}

}  // namespace ndlfs::backends::hdf5
