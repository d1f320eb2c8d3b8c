// SPDX-License-Identifier: MIT
//
// Three kinds of identity meet here:
//
//   nodeid  what the kernel calls an object by, from the reply to a lookup
//           until it forgets it. Never used again for another object, so that
//           a late message cannot reach the wrong one.
//   st_ino  what programs see: a hash of the path inside the mount. The same
//           after a remount, in stat and in a directory listing; unique among
//           the paths that are known.
//   object  what stands at a path now. When other content takes the place, a
//           new nodeid is given out, so that the kernel's pages of both never
//           mix; readers of the old one keep it.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "model/mutex.h"

namespace ndlfs::fs {

// Thread-safe. No method takes longer than a few look-ups, and no callback but
// InodeObject::Compare runs under the lock.
class InodeTable {
 public:
  using NodeId = uint64_t;
  static constexpr NodeId kRoot = 1;

  // What a nodeid stands for. The table only keeps it.
  class Object {
   public:
    virtual ~Object() = default;

    enum class Relation {
      kSame,       // `fresh` adds nothing
      kUpdated,    // the same thing, which `fresh` describes better
      kDifferent,  // another thing that took the place
    };
    // How an object that was just found at this object's path relates to it.
    // Called under the table's lock: must be quick and must not use the table.
    virtual Relation Compare(const Object& fresh) const = 0;
  };
  using ObjectPtr = std::shared_ptr<Object>;

  struct Inode {
    NodeId nodeid = 0;
    uint64_t ino = 0;
    uint64_t parent_ino = 0;  // of the root: its own
    ObjectPtr object;
  };

  // The hash of a path, from that of its parent and its last part.
  using Hash = std::function<uint64_t(uint64_t parent, std::string_view name)>;

  explicit InodeTable(ObjectPtr root);
  InodeTable(ObjectPtr root, Hash hash);  // for tests of collisions

  // nullopt once the nodeid has been forgotten.
  std::optional<Inode> Find(NodeId nodeid) const;

  // Counts one more lookup of `name` in `parent`, where `object` was found:
  // yields the inode that is there already if that is the same thing, else a
  // new one. nullopt if `parent` has been forgotten.
  std::optional<Inode> Lookup(NodeId parent, std::string_view name, ObjectPtr object);

  // Servers of NFS keep nodeids in file handles, and use them after the kernel has forgotten
  // them. The paths of the latest kRemembered of those are remembered.
  static constexpr size_t kRemembered = 16'384;
  struct Place;
  using PlacePtr = std::shared_ptr<Place>;
  // Where the object of a nodeid is or was; null if that is not remembered.
  PlacePtr PlaceOfNode(NodeId nodeid) const;
  // The directory that a place is in; null for the root.
  static PlacePtr ParentOf(const PlacePtr& place);
  // The names on the way from the root to a place.
  static std::vector<std::string> PathOf(const PlacePtr& place);
  // Counts one more lookup of an inode that is known. nullopt if it is not.
  std::optional<Inode> LookupAgain(NodeId nodeid);
  // Counts a lookup of `object`, which was found at `place`: as `nodeid` again, or as
  // Lookup() does. `object` is not used if the nodeid has become known meanwhile.
  Inode Revive(NodeId nodeid, const PlacePtr& place, ObjectPtr object);
  Inode LookupAt(const PlacePtr& place, ObjectPtr object);

  // Takes back `count` lookups. Unknown nodeids and counts too large are the
  // kernel's mistake and do no harm. The root stays.
  void Forget(NodeId nodeid, uint64_t count);

  // The st_ino that `name` in the directory `parent_ino` has, or will have
  // when it is looked up.
  uint64_t InoOf(uint64_t parent_ino, std::string_view name) const;

  // Number of nodeids, with the root.
  size_t size() const;

 private:
  struct Node {
    ObjectPtr object;
    uint64_t lookups;
    PlacePtr place;
  };
  struct PlaceKey {
    uint64_t parent_ino;
    std::string_view name;  // points into the Place
    bool operator==(const PlaceKey&) const = default;
  };
  struct PlaceKeyHash {
    size_t operator()(const PlaceKey& key) const;
  };

  PlacePtr PlaceAt(const PlacePtr& parent, std::string_view name) REQUIRES(mutex_);
  // `place`, or the one that has taken its path since it was forgotten.
  PlacePtr Current(const PlacePtr& place) REQUIRES(mutex_);
  Inode LookupLocked(const PlacePtr& place, ObjectPtr& object) REQUIRES(mutex_);
  void Remember(NodeId nodeid, const PlacePtr& place) REQUIRES(mutex_);
  uint64_t FreeIno(uint64_t parent_ino, std::string_view name) const REQUIRES(mutex_);
  static Inode Describe(NodeId nodeid, const Node& node);
  std::optional<Inode> CountLookup(NodeId nodeid) REQUIRES(mutex_);
  Inode Add(const PlacePtr& place, ObjectPtr object) REQUIRES(mutex_);
  void Remove(NodeId nodeid) REQUIRES(mutex_);

  const Hash hash_;
  mutable model::Mutex mutex_;
  NodeId next_ GUARDED_BY(mutex_) = kRoot + 1;
  std::unordered_map<NodeId, Node> nodes_ GUARDED_BY(mutex_);
  std::unordered_map<PlaceKey, PlacePtr, PlaceKeyHash> places_ GUARDED_BY(mutex_);
  std::unordered_map<NodeId, PlacePtr> past_ GUARDED_BY(mutex_);  // forgotten ones
  std::deque<NodeId> past_order_ GUARDED_BY(mutex_);
  std::unordered_map<uint64_t, Place*> inos_ GUARDED_BY(mutex_);
};

// The hash that is used, the same on every machine and in every run. It has 63
// bits: there are programs that keep an inode number in a signed integer.
uint64_t HashPath(uint64_t parent, std::string_view name);

}  // namespace ndlfs::fs
