// SPDX-License-Identifier: MIT
#include "fs/fuse/inode_table.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "model/secret_hash.h"

namespace ndlfs::fs {
namespace {

// Numbers that mean something else to somebody: "no inode" and the root.
constexpr uint64_t kLastReserved = InodeTable::kRoot;

}  // namespace

InodeTable::InodeTable(ObjectPtr root) : InodeTable(std::move(root), &HashPath) {}

InodeTable::InodeTable(ObjectPtr root, Hash hash) : hash_(std::move(hash)) {
  const model::MutexLock lock(mutex_);
  // The root is nobody's child: it has a place, but in no bucket.
  const Index place = places_.Add({.ino = kRoot, .uses = 1});
  nodes_.Add({.object = std::move(root), .lookups = 1, .place = place});
  known_ = objects_ = 1;
}

InodeTable::Index InodeTable::AnyNode(NodeId nodeid) const {
  const Index index = static_cast<Index>(nodeid) - 1;
  return nodes_.Find(index) != nullptr && IdOf(index) == nodeid ? index : kNone;
}

InodeTable::NodeId InodeTable::IdOf(Index node) const {
  return NodeId{nodes_[node].serial} << 32 | (NodeId{node} + 1);
}

InodeTable::Index InodeTable::KnownNode(NodeId nodeid) const {
  const Index index = AnyNode(nodeid);
  return index != kNone && nodes_[index].lookups != 0 ? index : kNone;
}

std::optional<InodeTable::Inode> InodeTable::Find(NodeId nodeid) const {
  const model::MutexLock lock(mutex_);
  const Index node = KnownNode(nodeid);
  if (node == kNone) return std::nullopt;
  return Describe(node);
}

std::optional<InodeTable::Inode> InodeTable::FindParent(NodeId nodeid) const {
  const model::MutexLock lock(mutex_);
  const Index node = KnownNode(nodeid);
  if (node == kNone || node == kRootNode) return std::nullopt;
  const Place& parent = places_[places_[nodes_[node].place].parent];
  if (parent.parent == kNone) return Describe(kRootNode);
  if (parent.current == kNone || nodes_[parent.current].object == nullptr) return std::nullopt;
  return Describe(parent.current);
}

std::optional<InodeTable::Inode> InodeTable::Lookup(NodeId parent, std::string_view name,
                                                    ObjectPtr object, bool is_file) {
  // Destroyed after the lock is given back: what is left of it, or what it replaces.
  ObjectPtr rest = std::move(object);
  const model::MutexLock lock(mutex_);
  const Index parent_node = KnownNode(parent);
  if (parent_node == kNone) return std::nullopt;
  return LookupLocked(PlaceAt(nodes_[parent_node].place, name), rest, is_file);
}

InodeTable::Inode InodeTable::LookupLocked(Index place, ObjectPtr& object, bool is_file) {
  const Index current = places_[place].current;
  if (current == kNone) return Add(place, std::move(object), 0, is_file);
  Node& node = nodes_[current];
  if (node.object == nullptr) {
    if (object->ListedFacts() != node.listed_facts) {
      return Add(place, std::move(object), 0, is_file);
    }
    node.object = std::move(object);
    ++objects_;
    return CountLookup(current);
  }
  switch (node.object->Compare(*object)) {
    case TreeNode::Relation::kDifferent:
      return Add(place, std::move(object), 0, is_file);
    case TreeNode::Relation::kUpdated:
      std::swap(node.object, object);
      break;
    case TreeNode::Relation::kSame:
      break;
  }
  return CountLookup(current);
}

std::optional<InodeTable::Inode> InodeTable::LookupListed(NodeId parent, std::string_view name,
                                                          const ListedVersion& version) {
  const model::MutexLock lock(mutex_);
  const Index parent_node = KnownNode(parent);
  if (parent_node == kNone) return std::nullopt;
  const Index place = PlaceAt(nodes_[parent_node].place, name);
  const Index current = places_[place].current;
  if (current == kNone) return Add(place, nullptr, version.facts, true);
  Node& node = nodes_[current];
  const bool is_same =
      node.object ? node.object->IsListedAs(version) : node.listed_facts == version.facts;
  return is_same ? CountLookup(current) : Add(place, nullptr, version.facts, true);
}

std::optional<InodeTable::Inode> InodeTable::Complete(NodeId nodeid, ObjectPtr object) {
  ObjectPtr rest = std::move(object);  // destroyed after the lock is given back
  const model::MutexLock lock(mutex_);
  const Index index = KnownNode(nodeid);
  if (index == kNone) return std::nullopt;
  Node& node = nodes_[index];
  if (node.object == nullptr) {
    if (rest->ListedFacts() != node.listed_facts) return std::nullopt;
    node.object = std::move(rest);
    ++objects_;
  }
  return Describe(index);
}

InodeTable::Inode InodeTable::CountLookup(Index node) {
  ++nodes_[node].lookups;
  return Describe(node);
}

std::optional<InodeTable::Inode> InodeTable::LookupAgain(NodeId nodeid) {
  const model::MutexLock lock(mutex_);
  const Index node = KnownNode(nodeid);
  if (node == kNone) return std::nullopt;
  return CountLookup(node);
}

std::optional<std::vector<std::string>> InodeTable::PathOf(NodeId nodeid) const {
  const model::MutexLock lock(mutex_);
  const Index node = AnyNode(nodeid);
  if (node == kNone) return std::nullopt;
  std::vector<std::string> names;
  for (const Place* at = &places_[nodes_[node].place]; at->parent != kNone;
       at = &places_[at->parent]) {
    names.push_back(at->name);
  }
  std::reverse(names.begin(), names.end());
  return names;
}

std::optional<InodeTable::Inode> InodeTable::Revive(NodeId nodeid, ObjectPtr object) {
  ObjectPtr rest = std::move(object);  // destroyed after the lock is given back
  const model::MutexLock lock(mutex_);
  const Index index = AnyNode(nodeid);
  if (index == kNone) return std::nullopt;
  Node& node = nodes_[index];
  if (node.lookups == 0) {
    ++known_;
    ++objects_;
    node.object = std::move(rest);
    Index& current = places_[node.place].current;
    if (current == kNone) current = index;
  }
  return CountLookup(index);
}

std::optional<InodeTable::Inode> InodeTable::LookupParent(NodeId nodeid, ObjectPtr object) {
  ObjectPtr rest = std::move(object);  // destroyed after the lock is given back
  const model::MutexLock lock(mutex_);
  const Index node = AnyNode(nodeid);
  if (node == kNone || node == kRootNode) return std::nullopt;
  const Index parent = places_[nodes_[node].place].parent;
  if (places_[parent].parent == kNone) return CountLookup(kRootNode);
  return LookupLocked(parent, rest, false);
}

size_t InodeTable::BucketOfName(uint64_t parent_ino, std::string_view name) const {
  return BucketOf(model::SecretHash(parent_ino, name), buckets_);
}

size_t InodeTable::BucketOfIno(uint64_t ino) const {
  return BucketOf(model::SecretHash(ino, {}), ino_buckets_);
}

// About one bucket a place, also after most places have gone.
void InodeTable::SizeBuckets() {
  constexpr size_t kLeast = 64;
  const size_t wanted = std::max(kLeast, std::bit_ceil(places_.size() + 1));
  if (wanted <= buckets_.size() && buckets_.size() / 8 <= wanted) return;
  buckets_ = std::vector<Index>(wanted, kNone);
  ino_buckets_ = buckets_;
  for (Index index = 0; index < places_.limit(); ++index) {
    const Place* place = places_.Find(index);
    if (place != nullptr && place->parent != kNone) Link(index);
  }
}

void InodeTable::Link(Index index) {
  Place& place = places_[index];
  Index& bucket = buckets_[BucketOfName(places_[place.parent].ino, place.name)];
  place.next = std::exchange(bucket, index);
  place.next_ino = std::exchange(ino_buckets_[BucketOfIno(place.ino)], index);
}

InodeTable::Index InodeTable::FindPlace(uint64_t parent_ino, std::string_view name) const {
  if (buckets_.empty()) return kNone;
  Index index = buckets_[BucketOfName(parent_ino, name)];
  for (; index != kNone; index = places_[index].next) {
    const Place& place = places_[index];
    if (places_[place.parent].ino == parent_ino && place.name == name) break;
  }
  return index;
}

InodeTable::Index InodeTable::PlaceAt(Index parent, std::string_view name) {
  const uint64_t parent_ino = places_[parent].ino;
  const Index known = FindPlace(parent_ino, name);
  if (known != kNone) return known;
  SizeBuckets();
  const uint64_t hash = hash_(parent_ino, name);
  const uint64_t ino = FreeIno(hash);
  if (ino != hash) next_free_ino_ = ino + 1;
  const Index added = places_.Add({.ino = ino, .name = std::string(name), .parent = parent});
  Link(added);
  ++places_[parent].uses;
  return added;
}

void InodeTable::Unuse(Index index) {
  Place* place = &places_[index];
  while (--place->uses == 0) {
    const Index parent = place->parent;
    Index* link = &buckets_[BucketOfName(places_[parent].ino, place->name)];
    while (*link != index) link = &places_[*link].next;
    *link = place->next;
    link = &ino_buckets_[BucketOfIno(place->ino)];
    while (*link != index) link = &places_[*link].next_ino;
    *link = place->next_ino;
    places_.Remove(index);
    index = parent;
    place = &places_[index];
  }
}

// Two paths of one hash are as good as never seen at the same time with 64 bits, unless
// somebody makes them so; the second one then gets another number, and keeps it for as long as
// the kernel knows it. If there are very many such paths, each gets the number after that of
// the one before.
uint64_t InodeTable::FreeIno(uint64_t hash) const {
  if (hash > kLastReserved && !IsUsed(hash)) return hash;
  uint64_t ino = std::max(next_free_ino_, kLastReserved + 1);
  while (IsUsed(ino)) ++ino;
  return ino;
}

bool InodeTable::IsUsed(uint64_t ino) const {
  if (ino_buckets_.empty()) return false;
  Index index = ino_buckets_[BucketOfIno(ino)];
  while (index != kNone && places_[index].ino != ino) index = places_[index].next_ino;
  return index != kNone;
}

InodeTable::Inode InodeTable::Describe(Index index) const {
  const Node& node = nodes_[index];
  const Place& place = places_[node.place];
  const uint64_t parent_ino = place.parent == kNone ? place.ino : places_[place.parent].ino;
  return {.nodeid = IdOf(index),
          .ino = place.ino,
          .parent_ino = parent_ino,
          .object = node.object,
          .listed_facts = node.object ? 0 : node.listed_facts};
}

InodeTable::Inode InodeTable::Add(Index place, ObjectPtr object, uint64_t listed_facts,
                                  bool is_file) {
  if (object != nullptr) ++objects_;
  const Index index = nodes_.Add({.object = std::move(object),
                                  .lookups = 1,
                                  .is_file = is_file,
                                  .listed_facts = listed_facts,
                                  .serial = ++serial_,
                                  .place = place});
  places_[place].current = index;
  ++places_[place].uses;
  ++known_;
  return Describe(index);
}

void InodeTable::Forget(NodeId nodeid, uint64_t count) {
  ObjectPtr dropped;  // destroyed after the lock is given back
  const model::MutexLock lock(mutex_);
  const Index index = KnownNode(nodeid);
  if (index == kNone || index == kRootNode) return;
  Node& node = nodes_[index];
  if (node.lookups > count) {
    node.lookups -= count;
    return;
  }
  dropped = std::move(node.object);
  if (dropped != nullptr) --objects_;
  node.lookups = 0;
  --known_;
  Index& current = places_[node.place].current;
  if (current == index) current = kNone;
  Remember(nodeid);
}

void InodeTable::Remember(NodeId nodeid) {
  const NodeId oldest = std::exchange(past_[next_past_ % kRemembered], nodeid);
  ++next_past_;
  const Index past = AnyNode(oldest);
  // It may be known again, or have been forgotten twice.
  if (past == kNone || nodes_[past].lookups != 0 || oldest == nodeid) return;
  const Index place = nodes_[past].place;
  nodes_.Remove(past);
  Unuse(place);
}

uint64_t InodeTable::InoOf(uint64_t parent_ino, std::string_view name) const {
  const model::MutexLock lock(mutex_);
  const Index known = FindPlace(parent_ino, name);
  return known != kNone ? places_[known].ino : FreeIno(hash_(parent_ino, name));
}

size_t InodeTable::size() const {
  const model::MutexLock lock(mutex_);
  return known_;
}

uint64_t InodeTable::held_bytes() const {
  const model::MutexLock lock(mutex_);
  return known_ * kNodeBytes + objects_ * kObjectBytes;
}

std::vector<InodeTable::Name> InodeTable::NamesToForget(uint64_t bytes, size_t most) {
  std::vector<Name> names;
  const model::MutexLock lock(mutex_);
  const Index limit = nodes_.limit();
  for (Index looks = 0; looks < limit && bytes != 0 && names.size() < most; ++looks) {
    const Index index = next_to_forget_++ % limit;
    const Node* const node = nodes_.Find(index);
    if (node == nullptr || node->lookups == 0 || !node->is_file) continue;
    const Place& place = places_[node->place];
    const Index parent =
        places_[place.parent].parent == kNone ? kRootNode : places_[place.parent].current;
    if (parent == kNone || nodes_[parent].lookups == 0) continue;
    names.push_back({IdOf(parent), place.name});
    bytes -= std::min(bytes, kNodeBytes + (node->object != nullptr ? kObjectBytes : 0));
  }
  return names;
}

}  // namespace ndlfs::fs
