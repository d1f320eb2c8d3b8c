// SPDX-License-Identifier: MIT
//
// An opened store. Callers ask for one object at a time, so looking at one array of a store
// costs nothing for the others.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "backends/format/array_source.h"
#include "backends/store/permissions.h"
#include "model/entities.h"
#include "model/error.h"

namespace ndlfs::backends {

// One group, ndarray or dimension coordinate, without its children.
struct Node {
  // A group's Group holds its name and attributes only.
  std::variant<model::Group, model::Ndarray, model::DimCoord> entity;

  // An array's data; null for groups, and if `error` says why there is none.
  std::shared_ptr<const ArraySource> source;
  // Why some or all of this object cannot be shown.
  std::optional<model::Error> error;
  // Deviations of the metadata from their specification whose meaning is clear: one line each,
  // which says how they are read and what the specification demands. `ndlfs check` prints them;
  // they are not damage.
  std::vector<std::string> notes;

  // Newest modification of the metadata, nanoseconds since 1970; 0: unknown.
  int64_t mtime_ns = 0;
  // If the store is a directory: the files that the metadata are in, by their paths below the
  // directory. A view made of the node shows no more permissions than these files have.
  std::vector<std::string> files;
  // The caller that loaded the node may not read all of its files, so something may be missing
  // here.
  bool is_partial = false;
  // For arrays: the fill value of the storage stands for missing elements, although no
  // attribute says so. That is the convention of xarray and NCZarr in Zarr v2.
  bool fill_is_missing = false;
  // The attributes are JSON, in which a list of one item differs from the item.
  bool has_json_attributes = false;

  bool is_group() const { return entity.index() == 0; }
  // For arrays: the ndarray, or the dimension coordinate as one.
  const model::Ndarray& array() const;
  const std::vector<model::Attribute>& attributes() const;
  // How an element lies in `data.raw`, if the type does not say it.
  std::optional<model::Layout> layout() const;
  // About how many bytes of memory it takes, without its source.
  uint64_t held_bytes() const;
};

// A name that leads to an object. The mount shows it as a symbolic link to `target` (a path
// name of this store, or relative to its folder).
struct Link {
  enum class Kind : uint8_t {
    kSoft,
    kExternal,
    kHard,  // another name of the object at `target`, which is no link
  };
  std::string target;
  Kind kind = Kind::kSoft;
  // kExternal: as the store has them.
  std::string file = {};
  std::string path_in_file = {};
};

// The groups, arrays and links of an opened store, by NDL path name. Several threads use it at
// once.
class Hierarchy {
 public:
  virtual ~Hierarchy() = default;

  // The name of the format, as in .ndlfs and in messages: "Zarr v3".
  virtual std::string_view format() const = 0;

  // The object at `path` ("/" is the root; if the store is one array, the array is there).
  // kNotFound if there is none; any other error is shown in the object's `error.txt`. Reads no
  // chunk.
  virtual model::Result<std::shared_ptr<const Node>> Load(std::string_view path) const = 0;

  // Loads objects that the caller is about to load, if this takes less than loading them one by
  // one. While the returned nodes are held, Load() returns the same ones. Leaves out objects
  // with errors; Load() reports these.
  virtual std::vector<std::shared_ptr<const Node>> LoadTogether(
      std::span<const std::string> /*paths*/) const {
    return {};
  }
  // How many objects are best loaded together; 1 if LoadTogether() loads nothing.
  virtual size_t loads_together() const { return 1; }

  // Names of the children of the group at `path`, sorted by bytes, without
  // loading them.
  virtual model::Result<std::vector<std::string>> List(std::string_view path) const = 0;

  // The link at `path`, or the second name of an object; nullopt if there is an object itself,
  // or nothing.
  virtual std::optional<Link> GetLink(std::string_view) const { return std::nullopt; }

  // A number that changes when the metadata of `path` (but not of objects below it) change.
  // Costs a few stat() at most. Load() and List() may return what they have kept only while
  // this number is the same.
  virtual model::Result<uint64_t> Version(std::string_view path) const = 0;

  // About how many bytes of memory it takes while it is open, without its nodes, and without
  // some hundred KiB that every hierarchy takes.
  virtual uint64_t held_bytes() const { return 0; }

 protected:
  // A number made of the generations of several values, some of which may be absent.
  static uint64_t HashVersions(std::span<const std::optional<ValueInfo>> values);
};

// Whether the array `name` with dimension names `names` is a dimension coordinate: it has one
// dimension, and that has the name of the array.
bool IsDimCoordName(std::string_view name, const std::vector<std::string>& names);

// Links the dimensions in an array's shape to coordinates: those with the name and size of a
// dimension coordinate of the same group or, if it has none of that name, of the nearest group
// around it. `load` returns the node at a path, or null; it must not itself link dimensions,
// because arrays may have dimensions named after each other.
void LinkDimensions(std::string_view group_path, model::Ndarray& array,
                    const std::function<std::shared_ptr<const Node>(std::string_view)>& load);

class Source;

struct OpenOptions {
  // Opens the store at a path, whatever its format is: for formats whose stores refer to
  // others. Set by OpenDetected().
  using OpenStore = std::function<model::Result<std::shared_ptr<const Hierarchy>>(
      const std::shared_ptr<const Source>& source, const std::string& path,
      const OpenOptions& options)>;
  OpenStore open_store = nullptr;
  // The chain of stores that refer to the one being opened, each to the next.
  std::vector<std::string> referrers = {};

  uint64_t max_chunk_size = uint64_t{1} << 30;
  // Whether users other than the one who runs ndlfs see what it shows. A store that they may
  // read must not show them data of files that they may not read.
  bool shared = false;
  // How long a search that found nothing need not be repeated, even if something may have
  // appeared meanwhile. 0: every search is made.
  std::chrono::nanoseconds search_holds{0};
  // The caller does not wait longer than this for an answer; 0: not known.
  std::chrono::nanoseconds answer_within{0};
  // How many documents that refer to other stores may be opened for this store, and for those
  // that it refers to. Each document divides the number among its parts.
  uint64_t documents = 2000;
  // Which version of a store that has versions (Format::has_versions()): "tag=v1"; empty: the
  // present one.
  std::string ref = {};
};

}  // namespace ndlfs::backends
