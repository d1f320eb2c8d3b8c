// SPDX-License-Identifier: MIT
//
// The inputs of views: an array, or a group with the objects below it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backends/format/hierarchy.h"
#include "fs/view/elements/element_source.h"
#include "model/error.h"

namespace ndlfs::cache {
class ArrayReader;
class ChunkCache;
}  // namespace ndlfs::cache

namespace ndlfs::fs {

// Limits on decoding for the size of a file.
struct ScanLimits {
  uint64_t max_bytes = uint64_t{1} << 30;  // of elements
  unsigned threads = 1;
};

class GroupInput;
struct ArrayPart;

// The place where people find a store.
struct StorePlace {
  std::string name;           // of its file or directory
  std::string folder;         // the absolute path of its folder in the mount
  bool is_root = false;       // the mount shows nothing else
  std::string around;         // the name of the folder around it, as in that folder's page
  bool is_directory = false;  // it is stored as a directory
};

// An array, or a part of one.
struct ArrayInput {
  // Name, attributes and type as they are in the store.
  std::shared_ptr<const backends::Node> node;
  // Type and shape of the elements that are shown. If that is only a part of
  // the array, the shape of the part.
  model::Datatype dtype;
  std::vector<uint64_t> shape;
  // The elements that are shown. Null if they are of variable size, or have
  // more bytes than a file can have.
  std::shared_ptr<const ElementSource> elements;
  // Reads the whole array; null if only a part is shown.
  std::shared_ptr<const cache::ArrayReader> reader;
  ScanLimits scan;
  // The group that holds the array. It reads nothing before a view asks it for something. Null
  // if the array is the whole store. Also null if only type and shape are known, so
  // ViewProvider::Names() must do without it.
  std::shared_ptr<const GroupInput> group = nullptr;
  // If only a part is shown: its origin.
  std::shared_ptr<const ArrayPart> part = nullptr;
  // The name of the files of these elements before the dot. A header uses it to name the file
  // with the elements.
  std::string stem = "data";
  // Null if there is no mount.
  std::shared_ptr<const StorePlace> place = nullptr;
  // Zarr views show chunks as they are stored where they can.
  bool passes_stored_chunks = false;
};

// An input with the whole array `node`. Errors of its elements begin with
// `name`, unless it is empty.
ArrayInput MakeArrayInput(std::shared_ptr<const backends::Node> node,
                          std::shared_ptr<const cache::ArrayReader> reader,
                          const ScanLimits& scan, std::string name = {});

// An array or a group in a group.
struct GroupChild {
  std::shared_ptr<const backends::Node> node;
  std::optional<ArrayInput> array;          // for arrays that have data
  std::shared_ptr<const GroupInput> group;  // for groups
};

// A group. Its children are loaded when a view asks for them, each by itself.
// Thread-safe.
class GroupInput {
 public:
  virtual ~GroupInput() = default;
  // The NDL path name; "/" is the whole store.
  virtual const std::string& path() const = 0;
  // The node of the group, which is read at the first call. A group that cannot be loaded has a
  // node with an error and without attributes.
  virtual const backends::Node& node() const = 0;
  // The group that holds this one, or null for the whole store. Reads nothing.
  virtual std::shared_ptr<const GroupInput> Outer() const = 0;
  // The place of the store; null if there is no mount.
  virtual std::shared_ptr<const StorePlace> Place() const { return nullptr; }
  // Names of the children, including links, sorted by bytes. Loads none of
  // them.
  virtual model::Result<std::vector<std::string>> List() const = 0;
  // The link `name`; nullopt if that child is not a link.
  virtual model::Result<std::optional<backends::Link>> GetLink(std::string_view name) const = 0;
  // Loads the child `name`. kNotFound if there is none. Other errors tell why
  // it cannot be shown; an error of the system may be transient.
  virtual model::Result<GroupChild> Load(std::string_view name) const = 0;
  // Loads children that are about to be loaded together, if this takes less: see
  // Hierarchy::LoadTogether(). Hold the result until then.
  virtual std::vector<std::shared_ptr<const backends::Node>> LoadTogether(
      std::span<const std::string> /*names*/) const {
    return {};
  }
  virtual size_t loads_together() const { return 1; }
  // The same as Load(), for a view that keeps only `array->elements` of each array. So the view
  // of a large group need not hold the metadata of all its arrays. The first read of such
  // elements may load the array again, and fails with kStale if the array has changed.
  virtual model::Result<GroupChild> LoadForElements(std::string_view name) const {
    return Load(name);
  }
};

// The coordinates along dimension `d` of `array`, or of the shown part of it. By the scope
// rules of NDL, these are the dimension coordinate of that name in the group of the array, or
// in the nearest group around it that has one. nullopt if there are none, or if they have
// another length or no data. A dimension coordinate has itself as coordinates. Loads them now,
// and reads no chunk. An error tells why they could not be loaded; it may be transient.
model::Result<std::optional<ArrayInput>> FindCoordinate(const ArrayInput& array, size_t d);

// The NDL path name of an array: "/" for one that is the whole store.
std::string PathOf(const ArrayInput& array);

// The group at `path` of an opened store, for programs that read it once.
// `cache` must outlive it.
model::Result<std::shared_ptr<const GroupInput>> MakeGroupInput(
    std::shared_ptr<const backends::Hierarchy> hierarchy, std::string path,
    cache::ChunkCache& cache, const ScanLimits& scan = {});

// The group that holds the object at `path`, for ArrayInput::group; null for "/". Reads
// nothing.
std::shared_ptr<const GroupInput> MakeGroupAround(
    std::shared_ptr<const backends::Hierarchy> hierarchy, std::string_view path,
    cache::ChunkCache& cache, const ScanLimits& scan = {});

// A group that holds nothing but `array`, under `name`. It gives the files of a group to a
// store that is one array.
std::shared_ptr<const GroupInput> MakeGroupOfArray(ArrayInput array, std::string name);

// The node of a group that was loaded now, for GroupInput::node(): a node with an error if
// loading failed.
std::shared_ptr<const backends::Node> NodeOfGroup(
    model::Result<std::shared_ptr<const backends::Node>> loaded);

}  // namespace ndlfs::fs
