// SPDX-License-Identifier: MIT
#include "fs/tree/inode_table.h"

#include <utility>

namespace ndlfs::fs {
namespace {

// Numbers that mean something else to somebody: "no inode" and the root.
constexpr uint64_t kLastReserved = InodeTable::kRoot;

// The finalizer of SplitMix64: every input bit changes half of the output.
uint64_t Mix(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

}  // namespace

uint64_t HashPath(uint64_t parent, std::string_view name) {
  uint64_t hash = 0xcbf29ce484222325u ^ Mix(parent);  // FNV-1a
  for (const char c : name) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  }
  return Mix(hash) >> 1;
}

size_t InodeTable::PlaceKeyHash::operator()(const PlaceKey& key) const {
  return HashPath(key.parent_ino, key.name);
}

InodeTable::InodeTable(ObjectPtr root) : InodeTable(std::move(root), &HashPath) {}

InodeTable::InodeTable(ObjectPtr root, Hash hash) : hash_(std::move(hash)) {
  // The root is nobody's child: it has a place, but not among `places_`.
  auto place = std::make_shared<Place>(Place{kRoot, "", kRoot, kRoot, 1});
  nodes_.emplace(kRoot, Node{std::move(root), 1, std::move(place)});
}

std::optional<InodeTable::Inode> InodeTable::Find(NodeId nodeid) const {
  model::MutexLock lock(mutex_);
  const auto it = nodes_.find(nodeid);
  if (it == nodes_.end()) return std::nullopt;
  return Describe(nodeid, it->second);
}

std::optional<InodeTable::Inode> InodeTable::Lookup(NodeId parent, std::string_view name,
                                                    ObjectPtr object) {
  ObjectPtr replaced;  // destroyed after the lock is given back
  model::MutexLock lock(mutex_);
  const auto parent_node = nodes_.find(parent);
  if (parent_node == nodes_.end()) return std::nullopt;
  const auto place = PlaceOf(parent_node->second.place->ino, name);
  const auto current = nodes_.find(place->current);
  if (current == nodes_.end()) return Add(place, std::move(object));

  Node& node = current->second;
  switch (node.object->Compare(*object)) {
    case Object::Relation::kDifferent:
      return Add(place, std::move(object));
    case Object::Relation::kUpdated:
      replaced = std::exchange(node.object, std::move(object));
      break;
    case Object::Relation::kSame:
      replaced = std::move(object);
      break;
  }
  ++node.lookups;
  return Describe(place->current, node);
}

std::optional<InodeTable::Inode> InodeTable::CountLookup(NodeId nodeid) {
  const auto it = nodes_.find(nodeid);
  if (it == nodes_.end()) return std::nullopt;
  ++it->second.lookups;
  return Describe(nodeid, it->second);
}

std::optional<InodeTable::Inode> InodeTable::LookupAgain(NodeId nodeid) {
  model::MutexLock lock(mutex_);
  return CountLookup(nodeid);
}

std::optional<InodeTable::Inode> InodeTable::LookupParent(NodeId nodeid) {
  model::MutexLock lock(mutex_);
  const auto it = nodes_.find(nodeid);
  if (it == nodes_.end()) return std::nullopt;
  const uint64_t parent_ino = it->second.place->parent_ino;
  if (parent_ino == kRoot) return CountLookup(kRoot);
  const auto parent = inos_.find(parent_ino);
  return parent != inos_.end() ? CountLookup(parent->second->current) : std::nullopt;
}

std::shared_ptr<InodeTable::Place> InodeTable::PlaceOf(uint64_t parent_ino,
                                                       std::string_view name) {
  const auto it = places_.find({parent_ino, name});
  if (it != places_.end()) return it->second;
  const uint64_t ino = FreeIno(parent_ino, name);
  auto place = std::make_shared<Place>(Place{parent_ino, std::string(name), ino, 0, 0});
  places_.emplace(PlaceKey{parent_ino, place->name}, place);
  inos_.emplace(ino, place.get());
  return place;
}

// Two paths of one hash are as good as never seen at the same time with 64
// bits, unless somebody makes them so; the second one then gets the next
// number, and keeps it for as long as the kernel knows it.
uint64_t InodeTable::FreeIno(uint64_t parent_ino, std::string_view name) const {
  uint64_t ino = hash_(parent_ino, name);
  while (ino <= kLastReserved || inos_.contains(ino)) ++ino;
  return ino;
}

InodeTable::Inode InodeTable::Describe(NodeId nodeid, const Node& node) {
  return {nodeid, node.place->ino, node.place->parent_ino, node.object};
}

InodeTable::Inode InodeTable::Add(const std::shared_ptr<Place>& place, ObjectPtr object) {
  const NodeId nodeid = next_++;
  const auto it = nodes_.emplace(nodeid, Node{std::move(object), 1, place}).first;
  place->current = nodeid;
  ++place->nodes;
  return Describe(nodeid, it->second);
}

void InodeTable::Forget(NodeId nodeid, uint64_t count) {
  ObjectPtr dropped;  // destroyed after the lock is given back
  model::MutexLock lock(mutex_);
  const auto it = nodes_.find(nodeid);
  if (it == nodes_.end() || nodeid == kRoot) return;
  if (it->second.lookups > count) {
    it->second.lookups -= count;
    return;
  }
  dropped = std::move(it->second.object);
  Remove(nodeid);
}

void InodeTable::Remove(NodeId nodeid) {
  const auto it = nodes_.find(nodeid);
  const auto place = std::move(it->second.place);
  nodes_.erase(it);
  if (place->current == nodeid) place->current = 0;
  if (--place->nodes > 0) return;
  inos_.erase(place->ino);
  places_.erase({place->parent_ino, place->name});
}

uint64_t InodeTable::InoOf(uint64_t parent_ino, std::string_view name) const {
  model::MutexLock lock(mutex_);
  const auto it = places_.find({parent_ino, name});
  return it != places_.end() ? it->second->ino : FreeIno(parent_ino, name);
}

size_t InodeTable::size() const {
  model::MutexLock lock(mutex_);
  return nodes_.size();
}

}  // namespace ndlfs::fs
