// SPDX-License-Identifier: MIT
#include "backends/format/hdf5/group.h"

#include <algorithm>
#include <set>

namespace ndlfs::backends::hdf5 {
namespace {

using model::Result;

// A link message (IV.A.2.g).
Result<LinkEntry> ParseLink(const Metadata& file, ConstByteSpan message) {
  constexpr uint64_t kHasKind = 8;
  constexpr uint64_t kHasOrder = 4;
  constexpr uint64_t kHasCharset = 16;
  constexpr uint64_t kFirstOfUsers = 64;
  Cursor in(message);
  const uint64_t version = in.Number(1);
  const uint64_t flags = in.Number(1);
  if (version != 1) return model::Unsupported("a link of version {}", version);
  const uint64_t kind = flags & kHasKind ? in.Number(1) : 0;
  if (flags & kHasOrder) in.Skip(8);
  if (flags & kHasCharset) in.Skip(1);
  LinkEntry link;
  link.name = AsText(in.Take(in.Number(uint64_t{1} << (flags & 3))));
  if (kind == 0) {
    link.address = in.Address(file.offset_bytes());
  } else if (kind == 1) {
    link.kind = LinkEntry::Kind::kSoft;
    link.target = AsText(in.Take(in.Number(2)));
    link.target.resize(std::min(link.target.size(), link.target.find('\0')));
  } else if (kind == kFirstOfUsers) {
    link.kind = LinkEntry::Kind::kExternal;
    Cursor value(in.Take(in.Number(2)));
    value.Skip(1);  // version and flags
    link.target_file = value.Text();
    link.target = value.Text();
    NDLFS_RETURN_IF_ERROR(value.Check("an external link"));
  } else if (kind > kFirstOfUsers) {
    link.kind = LinkEntry::Kind::kOther;
  } else {
    return model::Corrupt("a link of kind {}", kind);
  }
  NDLFS_RETURN_IF_ERROR(in.Check("a link"));
  return link;
}

// The trees and the heap of the link info message (IV.A.2.c), where links are many.
struct DenseLinks {
  uint64_t heap = kNowhere;
  uint64_t by_name = kNowhere;
};

Result<DenseLinks> ParseLinkInfo(const Metadata& file, ConstByteSpan message) {
  constexpr uint64_t kHeadBytes = 512;
  Cursor in(message);
  const uint64_t version = in.Number(1);
  if (version != 0) return model::Unsupported("a group of version {}", version);
  if (in.Number(1) & 1) in.Skip(8);
  DenseLinks dense;
  dense.heap = in.Address(file.offset_bytes());
  dense.by_name = in.Address(file.offset_bytes());
  NDLFS_RETURN_IF_ERROR(in.Check("the link info"));
  file.Prefetch({dense.heap, dense.by_name}, kHeadBytes);
  return dense;
}

// The records of the tree are the hash of the name, and the place in the heap.
constexpr size_t kHashBytes = 4;

Result<void> ForEachDense(const Metadata& file, const DenseLinks& dense,
                          const VisitLink& visit) {
  NDLFS_TRY(const auto heap, file.Heap(dense.heap));
  NDLFS_TRY(const auto tree, Tree2::Open(file, dense.by_name));
  if (tree.record_bytes() <= kHashBytes) return model::Corrupt("links in another tree");
  return tree.ForEach(file, [&](ConstByteSpan record) -> Result<bool> {
    NDLFS_TRY(const auto message, heap->Get(file, record.subspan(kHashBytes)));
    NDLFS_TRY(auto link, ParseLink(file, message));
    return visit(std::move(link));
  });
}

Result<std::optional<LinkEntry>> FindDense(const Metadata& file, const DenseLinks& dense,
                                           std::string_view name) {
  const uint64_t hash = HashOf(AsBytes(name));
  NDLFS_TRY(const auto heap, file.Heap(dense.heap));
  NDLFS_TRY(const auto tree, Tree2::Open(file, dense.by_name));
  if (tree.record_bytes() <= kHashBytes) return model::Corrupt("links in another tree");
  std::optional<LinkEntry> found;
  const auto compare = [&](ConstByteSpan record) -> Result<int> {
    const uint64_t other = Cursor(record).Number(kHashBytes);
    if (hash != other) return hash < other ? -1 : 1;
    NDLFS_TRY(const auto message, heap->Get(file, record.subspan(kHashBytes)));
    NDLFS_TRY(auto link, ParseLink(file, message));
    const int order = name.compare(link.name);
    if (order == 0) found = std::move(link);
    return order;
  };
  NDLFS_RETURN_IF_ERROR(tree.Find(file, compare));
  return found;
}

// Groups of a B-tree, whose leaves are nodes with symbols, and a heap with their names.
class SymbolTable {
 public:
  static Result<SymbolTable> Open(const Metadata& file, ConstByteSpan message) {
    Cursor in(message);
    const uint64_t tree = in.Address(file.offset_bytes());
    const uint64_t heap = in.Address(file.offset_bytes());
    NDLFS_RETURN_IF_ERROR(in.Check("the symbol table"));
    file.Prefetch({tree, heap}, kNodeBytes);
    NDLFS_TRY(const auto names, file.OpenLocalHeap(heap));
    return SymbolTable(file, tree, names);
  }

  Result<void> ForEach(const VisitLink& visit) const {
    std::set<uint64_t> met;
    std::vector<uint64_t> nodes = {tree_};
    while (!nodes.empty()) {
      const uint64_t address = nodes.back();
      nodes.pop_back();
      if (!met.insert(address).second) return model::Corrupt("a group in a circle");
      NDLFS_TRY(const auto node, ReadNode(address));
      std::vector<uint64_t> children;
      for (uint64_t i = 0; i < node.count; ++i) children.push_back(node.child(i));
      file_.Prefetch(std::move(children), kNodeBytes);
      for (uint64_t i = 0; i < node.count; ++i) {
        if (node.level > 0) {
          // The last one is the next: in the order of the names, as they lie in the file.
          nodes.push_back(node.child(node.count - 1 - i));
          continue;
        }
        if (!met.insert(node.child(i)).second) return model::Corrupt("a group in a circle");
        NDLFS_TRY(const auto symbols, ReadSymbols(node.child(i)));
        for (uint64_t s = 0; s < symbols.count; ++s) {
          NDLFS_TRY(auto link, Parse(symbols, s));
          if (!visit(std::move(link))) return {};
        }
      }
    }
    return {};
  }

  // A key is the last name below the child in front of it.
  Result<std::optional<LinkEntry>> Find(std::string_view name) const {
    uint64_t address = tree_;
    uint64_t level = UINT64_MAX;
    for (;;) {
      NDLFS_TRY(const auto node, ReadNode(address));
      if (node.level >= level) return model::Corrupt("a group in a circle");
      level = node.level;
      uint64_t low = 0;
      uint64_t high = node.count;
      while (low < high) {
        const uint64_t middle = low + (high - low) / 2;
        NDLFS_TRY(const auto last,
                  names_.Text(file_, Cursor(node.key(middle + 1)).Number(node.key_bytes)));
        if (last < name) {
          low = middle + 1;
        } else {
          high = middle;
        }
      }
      if (low == node.count) return std::nullopt;
      address = node.child(low);
      if (level == 0) return FindSymbol(address, name);
    }
  }

 private:
  SymbolTable(const Metadata& file, uint64_t tree, Metadata::LocalHeap names)
      : file_(file), tree_(tree), names_(names) {}

  static constexpr uint64_t kNodeBytes = 544;  // as most files have them

  struct Symbols {
    uint64_t count;
    ByteVector bytes;
  };

  Result<Tree1Node> ReadNode(uint64_t address) const {
    return Tree1Node::Read(file_, address, Tree1Node::Type::kGroup, file_.length_bytes());
  }

  // A name, an address, a kind and what it needs. Names have places of the width of lengths,
  // whatever the specification says.
  uint64_t SymbolBytes() const { return file_.length_bytes() + file_.offset_bytes() + 8 + 16; }

  Result<Symbols> ReadSymbols(uint64_t address) const {
    NDLFS_TRY(const auto head, file_.Read(address, 8));
    Cursor in(head);
    if (AsText(in.Take(4)) != "SNOD") return model::Corrupt("no symbols at {}", address);
    in.Skip(2);
    const uint64_t count = in.Number(2);
    NDLFS_TRY(auto bytes, file_.Read(address + 8, count * SymbolBytes()));
    return Symbols{count, std::move(bytes)};
  }

  Cursor At(const Symbols& symbols, uint64_t i) const {
    return Cursor(ConstByteSpan(symbols.bytes).subspan(i * SymbolBytes(), SymbolBytes()));
  }

  Result<std::string> NameOf(const Symbols& symbols, uint64_t i) const {
    return names_.Text(file_, At(symbols, i).Number(file_.length_bytes()));
  }

  Result<LinkEntry> Parse(const Symbols& symbols, uint64_t i) const {
    constexpr uint64_t kSoftLink = 2;
    LinkEntry link;
    NDLFS_TRY(link.name, NameOf(symbols, i));
    Cursor in = At(symbols, i);
    in.Skip(file_.length_bytes());
    link.address = in.Address(file_.offset_bytes());
    if (in.Number(4) == kSoftLink) {
      in.Skip(4);
      link.kind = LinkEntry::Kind::kSoft;
      NDLFS_TRY(link.target, names_.Text(file_, in.Number(4)));
    }
    return link;
  }

  Result<std::optional<LinkEntry>> FindSymbol(uint64_t address, std::string_view name) const {
    NDLFS_TRY(const auto symbols, ReadSymbols(address));
    for (uint64_t i = 0; i < symbols.count; ++i) {
      NDLFS_TRY(const auto other, NameOf(symbols, i));
      if (other != name) continue;
      NDLFS_TRY(auto link, Parse(symbols, i));
      return link;
    }
    return std::nullopt;
  }

  const Metadata& file_;
  const uint64_t tree_;
  const Metadata::LocalHeap names_;
};

}  // namespace

bool IsLinkName(std::string_view name) {
  return !name.empty() && name != "." && name.find('/') == name.npos &&
         name.find('\0') == name.npos;
}

bool IsGroup(const ObjectHeader& header) {
  return header.Find(MessageType::kSymbolTable) || header.Find(MessageType::kLinkInfo);
}

bool TracksLinkOrder(const ObjectHeader& header) {
  const HeaderMessage* info = header.Find(MessageType::kLinkInfo);
  if (info == nullptr) return false;
  Cursor in(info->body);
  in.Skip(1);
  return in.Number(1) & 1;
}

Result<void> ForEachLink(const Metadata& file, const ObjectHeader& group,
                         const VisitLink& visit) {
  if (const auto* table = group.Find(MessageType::kSymbolTable)) {
    NDLFS_TRY(const auto symbols, SymbolTable::Open(file, table->body));
    return symbols.ForEach(visit);
  }
  const auto* info = group.Find(MessageType::kLinkInfo);
  if (info == nullptr) return model::NotFound("not a group");
  NDLFS_TRY(const DenseLinks dense, ParseLinkInfo(file, info->body));
  if (dense.heap != kNowhere) return ForEachDense(file, dense, visit);
  for (const HeaderMessage& message : group.messages()) {
    if (message.type != MessageType::kLink) continue;
    NDLFS_TRY(auto link, ParseLink(file, message.body));
    if (!visit(std::move(link))) return {};
  }
  return {};
}

Result<std::vector<LinkEntry>> ListLinks(const Metadata& file, const ObjectHeader& group) {
  constexpr uint64_t kMostBytes = uint64_t{96} << 20;
  std::vector<LinkEntry> links;
  uint64_t bytes = 0;
  const auto keep = [&](LinkEntry link) {
    bytes += sizeof(link) + link.name.size() + link.target.size() + link.target_file.size();
    links.push_back(std::move(link));
    return bytes <= kMostBytes;
  };
  NDLFS_RETURN_IF_ERROR(ForEachLink(file, group, keep), "cannot list the group");
  if (bytes > kMostBytes) {
    return model::Limit("cannot list the group: its links take more than {} bytes", kMostBytes);
  }
  return links;
}

Result<std::optional<LinkEntry>> FindLink(const Metadata& file, const ObjectHeader& group,
                                          std::string_view name) {
  if (const auto* table = group.Find(MessageType::kSymbolTable)) {
    NDLFS_TRY(const auto symbols, SymbolTable::Open(file, table->body));
    return symbols.Find(name);
  }
  if (const auto* info = group.Find(MessageType::kLinkInfo)) {
    NDLFS_TRY(const DenseLinks dense, ParseLinkInfo(file, info->body));
    if (dense.heap != kNowhere) return FindDense(file, dense, name);
  }
  std::optional<LinkEntry> found;
  NDLFS_RETURN_IF_ERROR(ForEachLink(file, group, [&](LinkEntry link) {
    if (link.name != name) return true;
    found = std::move(link);
    return false;
  }));
  return found;
}

}  // namespace ndlfs::backends::hdf5
