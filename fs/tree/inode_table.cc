// SPDX-License-Identifier: MIT
#include "fs/tree/inode_table.h"

#include <algorithm>
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

// A path that has at least one nodeid, or had one. `current` is 0 while all of them stand for
// what was there before. What can change is guarded by the mutex of the table.
struct InodeTable::Place {
  PlacePtr parent;  // null for the root
  uint64_t parent_ino;
  std::string name;
  uint64_t ino;
  NodeId current;
  uint64_t nodes;
};

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
  auto place = std::make_shared<Place>(Place{nullptr, kRoot, "", kRoot, kRoot, 1});
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
  // Destroyed after the lock is given back: what is left of it, or what it replaces.
  ObjectPtr rest = std::move(object);
  model::MutexLock lock(mutex_);
  const auto parent_node = nodes_.find(parent);
  if (parent_node == nodes_.end()) return std::nullopt;
  return LookupLocked(PlaceAt(parent_node->second.place, name), rest);
}

InodeTable::Inode InodeTable::LookupLocked(const PlacePtr& place, ObjectPtr& object) {
  const auto current = nodes_.find(place->current);
  if (current == nodes_.end()) return Add(place, std::move(object));

  Node& node = current->second;
  switch (node.object->Compare(*object)) {
    case Object::Relation::kDifferent:
      return Add(place, std::move(object));
    case Object::Relation::kUpdated:
      std::swap(node.object, object);
      break;
    case Object::Relation::kSame:
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

InodeTable::PlacePtr InodeTable::PlaceOfNode(NodeId nodeid) const {
  model::MutexLock lock(mutex_);
  const auto node = nodes_.find(nodeid);
  if (node != nodes_.end()) return node->second.place;
  const auto past = past_.find(nodeid);
  return past != past_.end() ? past->second : nullptr;
}

InodeTable::PlacePtr InodeTable::ParentOf(const PlacePtr& place) { return place->parent; }

std::vector<std::string> InodeTable::PathOf(const PlacePtr& place) {
  std::vector<std::string> names;
  for (const Place* at = place.get(); at->parent; at = at->parent.get()) {
    names.push_back(at->name);
  }
  std::reverse(names.begin(), names.end());
  return names;
}

InodeTable::Inode InodeTable::Revive(NodeId nodeid, const PlacePtr& place, ObjectPtr object) {
  model::MutexLock lock(mutex_);
  if (const auto known = CountLookup(nodeid)) return *known;
  past_.erase(nodeid);
  const PlacePtr current = Current(place);
  const auto it = nodes_.emplace(nodeid, Node{std::move(object), 1, current}).first;
  if (current->current == 0) current->current = nodeid;
  ++current->nodes;
  return Describe(nodeid, it->second);
}

InodeTable::Inode InodeTable::LookupAt(const PlacePtr& place, ObjectPtr object) {
  model::MutexLock lock(mutex_);
  return LookupLocked(Current(place), object);
}

InodeTable::PlacePtr InodeTable::Current(const PlacePtr& place) {
  return place->parent ? PlaceAt(place->parent, place->name) : place;
}

void InodeTable::Remember(NodeId nodeid, const PlacePtr& place) {
  past_.emplace(nodeid, place);
  past_order_.push_back(nodeid);
  if (past_order_.size() <= kRemembered) return;
  past_.erase(past_order_.front());
  past_order_.pop_front();
}

InodeTable::PlacePtr InodeTable::PlaceAt(const PlacePtr& parent, std::string_view name) {
  const uint64_t parent_ino = parent->ino;
  const auto it = places_.find({parent_ino, name});
  if (it != places_.end()) return it->second;
  const uint64_t ino = FreeIno(parent_ino, name);
  auto place = std::make_shared<Place>(Place{parent, parent_ino, std::string(name), ino, 0, 0});
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

InodeTable::Inode InodeTable::Add(const PlacePtr& place, ObjectPtr object) {
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
  Remember(nodeid, place);
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
