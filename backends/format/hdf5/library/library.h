// SPDX-License-Identifier: MIT
//
// All questions that ndlfs asks libhdf5. No identifier or type of the library passes through
// here: questions and answers are plain values that could as well go to another process and
// back. Nothing else includes <hdf5.h>; the implementation of this header is in
// backends/format/hdf5/library/.
//
// libhdf5 is not thread-safe: one lock is held during each call. No call decodes a chunk whose
// place it can tell; the caller does that.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backends/base/bytes.h"
#include "backends/format/hdf5/library/input_file.h"
#include "backends/format/text_codec.h"
#include "model/datatype.h"
#include "model/error.h"

namespace ndlfs::backends::hdf5 {

enum class ObjectKind : uint8_t {
  kGroup,
  kDataset,
  kNamedDatatype,
  kSoftLink,      // to `target`, as it stands in the file
  kExternalLink,  // to `target` in `target_file`, as they stand in the file
  kAlias,         // a second hard link to the object at `target`
  kOther,         // a link of a kind that only its writer knows
};

// The object or link at a path.
struct Location {
  ObjectKind kind = ObjectKind::kGroup;
  std::string target;
  std::string target_file;
};

// One link of a group. A child that cannot be opened is kOther.
struct Child {
  std::string name;
  Location location;
  // netCDF-4 keeps a dimension that has no variable in a dataset of its own.
  bool is_dimension_only = false;
};

// An attribute, with its value or the reason why there is none. `data` are the elements one
// after the other as in an element stream (array_source.h), without a table before them;
// little-endian.
struct AttributeInfo {
  std::string name;
  model::Datatype type;
  std::vector<uint64_t> shape;  // for a null dataspace: {0}
  std::optional<model::ByteOrder> stored_order;
  std::vector<std::byte> data;
  std::optional<model::Error> error;
};

// The note on a reference that is shown as null because its target has no path name.
inline constexpr std::string_view kDanglingNote =
    "a reference leads to no object that has a name in the file (to one without a name, as "
    "JLD2 "
    "writes them, or to none), and is shown as null";

struct FilterInfo {
  uint32_t id = 0;   // as registered with The HDF Group
  std::string name;  // as the file has it; may be empty
  std::vector<uint32_t> parameters;
};

// A part of a dataset that lies in another file, whose `name` is as it stands in this file.
struct ExternalPart {
  static constexpr uint64_t kUnlimited = UINT64_MAX;
  std::string name;
  uint64_t offset = 0;
  uint64_t bytes = 0;
};

enum class Layout : uint8_t { kCompact, kContiguous, kChunked, kVirtual };

// A dimension scale, as the datasets that it is attached to see it.
struct ScaleInfo {
  std::string path;
  std::vector<uint64_t> shape;  // for an unlimited one: as in netcdf_shape
  std::vector<uint64_t> max_shape;
  bool is_dimension_only = false;
};

struct DatasetInfo {
  static constexpr uint64_t kUnlimited = UINT64_MAX;

  // The type of the elements in the results of Read().
  model::Datatype type;
  // True if the elements in the file have the type `stored`, which differs from `type` only in
  // byte order and in what `text` says. Otherwise only Read() can make sense of the bytes.
  bool is_plain = false;
  model::Datatype stored;
  std::vector<TextRun> text;
  // The byte order of stored numbers, whether plain or not.
  std::optional<model::ByteOrder> stored_order;

  bool is_null = false;  // a null dataspace: no elements, and no shape
  std::vector<uint64_t> shape;
  std::vector<uint64_t> max_shape;  // kUnlimited where it may grow forever
  // The shape in netCDF-4, whose unlimited dimensions are as long as the longest of their
  // variables; empty if that is `shape`.
  std::vector<uint64_t> netcdf_shape;

  Layout layout = Layout::kContiguous;
  // kContiguous: offset in the file, user block included; nullopt if nothing is allocated.
  std::optional<uint64_t> offset;
  std::vector<ExternalPart> external;  // kContiguous: if not empty, all of it
  std::vector<uint64_t> chunk;         // kChunked
  bool has_plain_edges = false;        // partial chunks pass no filter
  std::vector<FilterInfo> filters;     // in write order
  std::vector<std::string> sources;    // kVirtual: the files, "." for this one

  // One element as Read() gives it, if the file defines a fill value.
  std::optional<std::vector<std::byte>> fill;
  // The same, even if the file says that it is never written: netCDF-C shows it beyond `shape`
  // all the same.
  std::optional<std::vector<std::byte>> netcdf_fill;

  bool is_scale = false;           // CLASS is DIMENSION_SCALE
  bool is_attached = false;        // a scale that some dataset uses
  bool is_dimension_only = false;  // see Child
  std::string scale_name;          // NAME
  // Scales of each dimension; empty, or as long as `shape`.
  std::vector<std::vector<ScaleInfo>> scales;
};

struct ObjectInfo {
  ObjectKind kind = ObjectKind::kGroup;
  std::vector<AttributeInfo> attributes;  // in the order of their creation, if known
  // Differences between the file and what is shown, one line each (see Node::notes).
  std::vector<std::string> notes;
  // Why the attributes could not even be listed.
  std::optional<model::Error> error;
  std::optional<DatasetInfo> dataset;  // kDataset
  // kGroup: the netCDF-4 dimensions that it defines and that have no coordinate variable of one
  // dimension.
  std::vector<ScaleInfo> dimensions;
};

using ObjectInfos = std::vector<std::optional<ObjectInfo>>;

// Where a chunk lies. `bytes` is 0 for one that is absent.
struct ChunkRecord {
  uint64_t offset = 0;  // in the file, user block included
  uint64_t bytes = 0;
  uint64_t filter_mask = 0;  // bit i: filter i was not applied
};

// The elements that Read() is to return.
struct Block {
  std::vector<uint64_t> start;
  std::vector<uint64_t> count;
  // Whether region references name each element, even if these are one block.
  bool regions_as_elements = false;
  // The decoded size of the chunks that the library needs in memory one after the other. A
  // helper has a few times as much memory, and no more.
  uint64_t chunk_bytes = 0;
};

// Elements, and what is wrong with some of them.
struct Elements {
  // The elements one after the other, or an element stream if they are of variable size.
  Bytes bytes;
  // Whether some are null because they are dangling references.
  bool has_dangling = false;
};

// A file as it was when it was opened: once it has changed, every call fails
// with kStale. Paths are absolute. Thread-safe.
class File {
 public:
  virtual ~File() = default;

  // kNotFound where there is nothing. Links on the way are not followed.
  virtual model::Result<Location> Find(const std::string& path) const = 0;

  // The links of the group at `path`, in no order.
  virtual model::Result<std::vector<Child>> List(const std::string& path) const = 0;

  // Describes the object at `path`, where Find() has found one.
  virtual model::Result<ObjectInfo> Describe(const std::string& path) const = 0;

  // Describes children of the group at `group`, in the order of `names`. Describes only
  // datasets that have no other name and no error; for all others call Find() and Describe().
  // Fewer than `names` if all would take long, but at least one.
  virtual model::Result<ObjectInfos> DescribeDatasets(
      const std::string& group, const std::vector<std::string>& names) const = 0;

  // The chunks `first` to `first + count - 1` of a chunked dataset, counted in
  // C order over the chunks of its extent; fewer at the end.
  virtual model::Result<std::vector<ChunkRecord>> LocateChunks(const std::string& path,
                                                               uint64_t first,
                                                               uint64_t count) const = 0;

  // A block of elements, in `type` of the DatasetInfo. kLimit if it took more
  // than `limit` bytes.
  virtual model::Result<Elements> Read(const std::string& path, const Block& block,
                                       uint64_t limit) const = 0;
};

// Opens `file` with the library in this process. `path` is its path beneath its source. The
// names of other files, such as the sources of virtual datasets, are relative to that, and
// opened through `files`.
model::Result<std::shared_ptr<const File>> OpenFileInProcess(
    std::shared_ptr<InputFiles> files, std::shared_ptr<const InputFile> file,
    const std::string& path);

// "1.10.8"
std::string LibraryVersion();

}  // namespace ndlfs::backends::hdf5
