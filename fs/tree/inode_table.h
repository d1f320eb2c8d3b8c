// SPDX-License-Identifier: MIT
//
// Three kinds of identity meet here:
//
//   nodeid  the kernel's name of an object, from the reply to a lookup until
//           the kernel forgets it. Never used again for another object, so
//           that a late message cannot reach the wrong one.
//   st_ino  the number that programs see: a hash of the path inside the mount.
//           The same after a remount, in stat and in a directory listing;
//           unique among the paths that the kernel knows.
//   object  the contents of a path at present. When they change, the path gets
//           a new nodeid, so that the kernel never mixes pages of both. Readers
//           of the old contents keep the old nodeid.
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

// Thread-safe. Each method takes a few hash look-ups. The only callbacks that
// run under the lock are Object::Compare() and the hash function.
class InodeTable {
 public:
  using NodeId = uint64_t;
  static constexpr NodeId kRoot = 1;

  // The object that a nodeid stands for. The table only keeps and compares
  // objects.
  class Object {
   public:
    virtual ~Object() = default;

    enum class Relation {
      kSame,       // the same object; the table keeps this one
      kUpdated,    // the same object; the table keeps `fresh` instead
      kDifferent,  // another object, which has taken the place of this one
    };
    // How `fresh`, which was just found at the path of this object, relates to
    // it. Called under the table's lock: must be quick and must not use the
    // table.
    virtual Relation Compare(const Object& fresh) const = 0;
  };
  using ObjectPtr = std::shared_ptr<Object>;

  struct Inode {
    NodeId nodeid = 0;
    uint64_t ino = 0;
    uint64_t parent_ino = 0;  // of the root: its own
    ObjectPtr object;
  };

  // The hash of a path, from the st_ino of its parent and its last part.
  using Hash = std::function<uint64_t(uint64_t parent, std::string_view name)>;

  explicit InodeTable(ObjectPtr root);
  InodeTable(ObjectPtr root, Hash hash);  // for tests of collisions

  // The inode of a nodeid; nullopt if the kernel has forgotten it.
  std::optional<Inode> Find(NodeId nodeid) const;

  // Counts one more lookup of `name` in `parent`, which has found `object`.
  // Returns the inode that is there already if it has the same object, else a
  // new one. nullopt if `parent` has been forgotten.
  std::optional<Inode> Lookup(NodeId parent, std::string_view name, ObjectPtr object);

  // Servers of NFS keep nodeids in file handles, and use them after the kernel has forgotten
  // them. The paths of the latest kRemembered of those are remembered.
  static constexpr size_t kRemembered = 4'096;
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

  // Subtracts `count` lookups, and removes the nodeid when none is left.
  // Unknown nodeids and counts that are too large do no harm. The root stays.
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

// The default hash, which is the same on every machine and in every run. It has
// 63 bits, because some programs keep inode numbers in signed integers.
uint64_t HashPath(uint64_t parent, std::string_view name);

}  // namespace ndlfs::fs
