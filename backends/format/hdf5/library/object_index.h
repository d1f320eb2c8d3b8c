// SPDX-License-Identifier: MIT
//
// Finds the paths of objects by their addresses in a file: references and second hard links
// have addresses only.
#pragma once

#include <list>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "backends/format/hdf5/library/handle.h"

namespace ndlfs::backends::hdf5 {

// One link, without opening its target.
struct LinkEntry {
  std::string name;
  H5L_type_t type = H5L_TYPE_ERROR;
  haddr_t address = HADDR_UNDEF;  // of a hard link's object
};

// The links of `group` in no order, each name once. Needs library_mutex.
model::Result<std::vector<LinkEntry>> ListLinks(hid_t group);

// Fails if the links of `group`, or even the first of them, cannot be listed.
model::Result<void> CheckLinks(hid_t group);

// Tells the driver, some way ahead, which objects a walk over `links` opens.
// Needs library_mutex.
class ObjectPrefetcher {
 public:
  // `links` must outlive the object.
  ObjectPrefetcher(hid_t file, const std::vector<LinkEntry>& links)
      : file_(file), links_(links) {}
  // The walk is about to open the target of links[position].
  void Reach(size_t position);

 private:
  const hid_t file_;
  const std::vector<LinkEntry>& links_;
  size_t told_ = 0;  // how many links the driver has been told of
};

// Knows one open file. The first question that cannot be answered from one group walks the
// whole file; the result is kept. Needs library_mutex.
class ObjectIndex {
 public:
  // The shortest path to the object; the first one by name if there are several. nullopt if no
  // path leads there, or the file has more objects than are kept.
  std::optional<std::string> PathOf(hid_t file, haddr_t address);

  // The same, but first looks in the group at `group_path` and in those around it, where
  // dimension scales are. Not for objects with several links.
  std::optional<std::string> PathNear(hid_t file, haddr_t address,
                                      const std::string& group_path);

  void Clear();

 private:
  static constexpr size_t kMaxObjects = 500'000;
  static constexpr size_t kKeptGroups = 8;

  struct Object {
    size_t parent;
    std::string name;
  };
  struct GroupTable {
    std::string path;
    std::unordered_map<haddr_t, std::string> names;
  };

  void Walk(hid_t file);
  std::string PathOfObject(size_t object) const;
  const GroupTable* TableOf(hid_t file, const std::string& group_path);

  bool walked_ = false;
  std::vector<Object> objects_;
  std::unordered_map<haddr_t, size_t> by_address_;
  std::list<GroupTable> tables_;  // the last used first
};

}  // namespace ndlfs::backends::hdf5
