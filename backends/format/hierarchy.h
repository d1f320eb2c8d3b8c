// SPDX-License-Identifier: MIT
//
// An opened array store: what there is, asked for object by object, so that
// looking at one array of a store costs nothing for the others.
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
#include "backends/store/access.h"
#include "model/entities.h"
#include "model/error.h"

namespace ndlfs::backends {

// One group, ndarray or dimension coordinate, without its children.
struct Node {
  // A group's Group holds its name and attributes only.
  std::variant<model::Group, model::Ndarray, model::DimCoord> entity;

  // An array's data; null for groups, or where `error` says why there is none.
  std::shared_ptr<const ArraySource> source;
  // Why some or all of this object cannot be shown.
  std::optional<model::Error> error;
  // Where the metadata break their specification and are read as they are
  // meant: one line each, what is read and what the specification says.
  // `ndlfs check` prints them; they are not damage.
  std::vector<std::string> notes;

  // Newest modification of the metadata, nanoseconds since 1970; 0: unknown.
  int64_t mtime_ns = 0;
  // Of a store that is a directory: the files in it, by their paths below it,
  // that the metadata are in. What is made of the node shows no more permissions
  // than these have.
  std::vector<std::string> files;
  // The caller that loaded it may not read a part of it, so something may be missing here.
  bool is_partial = false;
  // Of arrays: the fill value of the storage stands for missing elements, without an attribute
  // that says so. That is the convention of xarray and NCZarr in Zarr v2.
  bool fill_is_missing = false;

  bool is_group() const { return entity.index() == 0; }
  // Of arrays: the ndarray, or the dimension coordinate as one.
  const model::Ndarray& array() const;
  const std::vector<model::Attribute>& attributes() const;
  // How an element lies in `data.raw`, where the type does not say it.
  std::optional<model::Layout> layout() const;
  // About how many bytes of memory it takes, without its source.
  uint64_t held_bytes() const;
};

// A name that leads to an object: shown as a symbolic link where `target` (a
// path name of this store, or relative to its folder) is in the mount.
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

class Hierarchy {
 public:
  virtual ~Hierarchy() = default;

  // The name of the format, as .ndlfs and messages call it: "Zarr v3".
  virtual std::string_view format() const = 0;

  // The object at `path` ("/" is the root; a store that is one array has it
  // there). kNotFound where there is none; any other error is shown as that
  // object's `error.txt`. Reads no chunk.
  virtual model::Result<std::shared_ptr<const Node>> Load(std::string_view path) const = 0;

  // Objects that somebody is about to load, as far as it takes less to load them together. As
  // long as the nodes are held, Load() gives the same ones. Errors are for Load() to tell.
  virtual std::vector<std::shared_ptr<const Node>> LoadTogether(
      std::span<const std::string> /*paths*/) const {
    return {};
  }
  // How many it loads best together; 1 if LoadTogether() loads nothing.
  virtual size_t loads_together() const { return 1; }

  // Names of the children of the group at `path`, sorted by bytes, without
  // loading them.
  virtual model::Result<std::vector<std::string>> List(std::string_view path) const = 0;

  // Set if `path` is a link, or a second name of an object, rather than an
  // object.
  virtual std::optional<Link> GetLink(std::string_view) const { return std::nullopt; }

  // A number that changes when the metadata of `path` (but not of what is
  // below it) change. Costs a few stat() at most. What Load() and List() keep
  // is theirs to give only as long as this is the same.
  virtual model::Result<uint64_t> Version(std::string_view path) const = 0;

  // About how many bytes of memory it takes as long as it is open, beside some
  // hundred KiB, and without its nodes.
  virtual uint64_t held_bytes() const { return 0; }

 protected:
  // A number for the generations of several values, some of which may be absent.
  static uint64_t HashVersions(std::span<const std::optional<ValueInfo>> values);
};

// All objects as one model: what the NDL of a whole store is written from. A
// second name of an object has its shape and type only. Objects that cannot be
// loaded are left out; `errors`, if given, gets a line for each that is missing
// or has an error of its own.
// Values of arrays are not filled in. `path` is where to begin: a group, or an
// array, which then is all that the group returned holds.
model::Result<model::Group> ReadGroup(const Hierarchy& hierarchy, std::string_view path,
                                      std::vector<std::string>* errors = nullptr);

// Whether the array `name` with dimension names `names` is a dimension
// coordinate: one dimension, called as the array is.
bool IsDimCoordName(std::string_view name, const std::vector<std::string>& names);

// Replaces, in an array's shape, each dimension whose name and size are those
// of a dimension coordinate of the same group or, where that has none of the
// name, of the nearest enclosing one. `load` gives the node at a path, or
// null; it must not itself link dimensions, as arrays may have dimensions
// named after each other.
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
  // Stores that refer to the one that is opened, each to the next.
  std::vector<std::string> referrers = {};

  uint64_t max_chunk_size = uint64_t{1} << 30;
  // Users other than the one who runs ndlfs read what it shows. A store that they may read must
  // not show them data of files that they may not read.
  bool shared = false;
  // For how long a search that found nothing need not be repeated, even if something may have
  // appeared meanwhile. 0: every search is made.
  std::chrono::nanoseconds search_holds{0};
  // Nobody waits longer than this for an answer; 0: not known.
  std::chrono::nanoseconds answer_within{0};
  // How many documents that refer to other stores may be opened for the one that is opened, and
  // for those that it refers to. Each document divides it among its parts.
  uint64_t documents = 2000;
  // Which version of a store that has versions (Format::has_versions()): "tag=v1"; empty: the
  // present one.
  std::string ref = {};
};

}  // namespace ndlfs::backends
