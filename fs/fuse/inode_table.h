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
//           of the old contents keep the old nodeid. If nobody has read a file,
//           the kernel has no page of it: its nodeid then stays while stat()
//           and the metadata say the same.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fs/fuse/slab.h"
#include "fs/tree/path_hash.h"
#include "fs/tree/tree_node.h"
#include "model/mutex.h"

namespace ndlfs::fs {

// Thread-safe. Each method takes a few look-ups. The only callbacks that run under the lock are
// the comparisons of nodes and the hash function. A name that the kernel knows takes about 150
// bytes, apart from its object.
class InodeTable {
 public:
  using NodeId = uint64_t;
  static constexpr NodeId kRoot = 1;

  // What a nodeid stands for. The table keeps nodes, and compares them under its lock.
  using ObjectPtr = TreeNodePtr;

  struct Inode {
    NodeId nodeid = 0;
    uint64_t ino = 0;
    uint64_t parent_ino = 0;    // for the root: its own
    ObjectPtr object;           // null: see LookupListed()
    uint64_t listed_facts = 0;  // the facts given to LookupListed(), while there is no object
  };

  // The hash of a path, its st_ino, made of the st_ino of its parent and its last part. Anybody
  // can make names that collide; so the buckets of the table use a secret hash instead.
  using Hash = std::function<uint64_t(uint64_t parent, std::string_view name)>;

  explicit InodeTable(ObjectPtr root);
  InodeTable(ObjectPtr root, Hash hash);  // for tests of collisions

  // The inode of a nodeid; nullopt if the kernel has forgotten it.
  std::optional<Inode> Find(NodeId nodeid) const;

  // Counts one more lookup of `name` in `parent`, which has found `object`.
  // Returns the inode that is there already if it has the same object, else a
  // new one. nullopt if `parent` has been forgotten. `is_file`: it is no directory.
  std::optional<Inode> Lookup(NodeId parent, std::string_view name, ObjectPtr object,
                              bool is_file = false);

  // The same for a name that a listing told together with its attributes. The kernel forgets
  // most of these names without using them, so there is no object before Complete(). Until then
  // nobody has read the file, and equal facts mean the same inode.
  std::optional<Inode> LookupListed(NodeId parent, std::string_view name,
                                    const ListedVersion& version);
  // Gives `object` to an inode without one; otherwise the inode keeps its object. nullopt if
  // `object` has other facts, or the inode has been forgotten.
  std::optional<Inode> Complete(NodeId nodeid, ObjectPtr object);
  // The directory of a nodeid, with its object; nullopt if the kernel has forgotten either.
  std::optional<Inode> FindParent(NodeId nodeid) const;

  // Servers of NFS keep nodeids in file handles, and use them after the kernel has forgotten
  // them. So the table remembers the kRemembered nodeids that were forgotten last.
  static constexpr size_t kRemembered = 4'096;
  // The names on the way from the root to a nodeid that is known or remembered.
  std::optional<std::vector<std::string>> PathOf(NodeId nodeid) const;
  // Counts one more lookup of an inode that is known. nullopt if it is unknown.
  std::optional<Inode> LookupAgain(NodeId nodeid);
  // Makes `nodeid` known again, for `object`, which was found at its path or at the path of its
  // directory, and counts a lookup. If the nodeid has become known meanwhile, `object` is not
  // used. nullopt if the nodeid is not remembered.
  std::optional<Inode> Revive(NodeId nodeid, ObjectPtr object);
  std::optional<Inode> LookupParent(NodeId nodeid, ObjectPtr object);

  // Subtracts `count` lookups, and removes the nodeid when none is left.
  // Unknown nodeids and counts that are too large do no harm. The root stays. Needs no memory.
  void Forget(NodeId nodeid, uint64_t count);

  // The st_ino that `name` in the directory `parent_ino` has, or will have
  // when it is looked up.
  uint64_t InoOf(uint64_t parent_ino, std::string_view name) const;

  // Number of nodeids, with the root.
  size_t size() const;

  // About how many bytes of memory the known nodeids take, with their objects.
  uint64_t held_bytes() const;
  // A name that the kernel should be asked to forget. It is that of a file: a program may work
  // in a directory, whose name has to stay.
  struct Name {
    NodeId parent;
    std::string name;
  };
  // At most `most` such names, those that were found first coming first. They take about
  // `bytes` bytes in total. Each call goes on behind the one before.
  std::vector<Name> NamesToForget(uint64_t bytes, size_t most);

 private:
  using Index = uint32_t;
  static constexpr Index kNone = ~Index{0};
  static constexpr Index kRootNode = 0;

  // A path that has a nodeid, or has paths with nodeids below it.
  struct Place {
    uint64_t ino = 0;
    std::string name = {};
    Index parent = kNone;    // for the root: none
    Index next = kNone;      // in its bucket
    Index next_ino = kNone;  // in the bucket of its ino
    Index current = kNone;   // the node of the present object
    uint32_t uses = 0;       // nodes and places below
  };
  // The object that a nodeid stands for. Without lookups it is only remembered.
  struct Node {
    ObjectPtr object = {};
    uint64_t lookups : 63 = 0;
    uint64_t is_file : 1 = 0;
    uint64_t listed_facts = 0;  // while there is no object
    uint32_t serial = 0;        // see IdOf()
    Index place = kNone;
  };
  // What a known nodeid takes in this table, and its object elsewhere.
  static constexpr uint64_t kNodeBytes = 150, kObjectBytes = 500;

  // The nodeid of a node: its index, combined with a serial number that comes again after 2^32
  // nodes.
  NodeId IdOf(Index node) const REQUIRES(mutex_);
  // The index of a nodeid that is known or remembered, or kNone; and of one that is known.
  Index AnyNode(NodeId nodeid) const REQUIRES(mutex_);
  Index KnownNode(NodeId nodeid) const REQUIRES(mutex_);

  static size_t BucketOf(uint64_t hash, const std::vector<Index>& buckets) {
    return hash & (buckets.size() - 1);
  }
  size_t BucketOfName(uint64_t parent_ino, std::string_view name) const REQUIRES(mutex_);
  size_t BucketOfIno(uint64_t ino) const REQUIRES(mutex_);
  void SizeBuckets() REQUIRES(mutex_);
  void Link(Index place) REQUIRES(mutex_);
  Index FindPlace(uint64_t parent_ino, std::string_view name) const REQUIRES(mutex_);
  Index PlaceAt(Index parent, std::string_view name) REQUIRES(mutex_);
  void Unuse(Index place) REQUIRES(mutex_);
  uint64_t FreeIno(uint64_t hash) const REQUIRES(mutex_);
  bool IsUsed(uint64_t ino) const REQUIRES(mutex_);

  Inode LookupLocked(Index place, ObjectPtr& object, bool is_file) REQUIRES(mutex_);
  Inode CountLookup(Index node) REQUIRES(mutex_);
  Inode Add(Index place, ObjectPtr object, uint64_t listed_facts, bool is_file)
      REQUIRES(mutex_);
  void Remember(NodeId nodeid) REQUIRES(mutex_);
  Inode Describe(Index node) const REQUIRES(mutex_);

  const Hash hash_;
  mutable model::Mutex mutex_;
  uint32_t serial_ GUARDED_BY(mutex_) = 0;
  size_t known_ GUARDED_BY(mutex_) = 0;
  size_t objects_ GUARDED_BY(mutex_) = 0;        // of known nodeids
  Index next_to_forget_ GUARDED_BY(mutex_) = 1;  // where NamesToForget() goes on
  Slab<Node> nodes_ GUARDED_BY(mutex_);
  Slab<Place> places_ GUARDED_BY(mutex_);
  // Places by parent and name, and by ino, each bucket a list; a power of two.
  std::vector<Index> buckets_ GUARDED_BY(mutex_);
  std::vector<Index> ino_buckets_ GUARDED_BY(mutex_);
  // Where to begin the search for a free ino when the hash of a path is taken.
  uint64_t next_free_ino_ GUARDED_BY(mutex_) = 0;
  std::array<NodeId, kRemembered> past_ GUARDED_BY(mutex_) = {};  // forgotten nodeids, a ring
  size_t next_past_ GUARDED_BY(mutex_) = 0;
};

}  // namespace ndlfs::fs
