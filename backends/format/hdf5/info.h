// SPDX-License-Identifier: MIT
//
// What file.h tells about objects.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backends/base/bytes.h"
#include "backends/format/hdf5/chunk_index.h"
#include "backends/format/hdf5/element_type.h"
#include "backends/format/hdf5/selection.h"
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
  bool is_link() const {
    return kind == ObjectKind::kSoftLink || kind == ObjectKind::kExternalLink;
  }
};

// "a//b/./c" in the group "/g" is "/g/a/b/c"; in HDF5 ".." is a name.
std::string ResolveInGroup(std::string_view group, std::string_view target);

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

// A part of a dataset that lies in another file, whose `name` is as it stands in this file.
struct ExternalPart {
  static constexpr uint64_t kUnlimited = UINT64_MAX;
  std::string name;
  uint64_t offset = 0;
  uint64_t bytes = 0;
};

// A part of a virtual dataset: where it lies in the dataset that it is taken from, and where in
// the virtual one. Names may have a place for the number of a block (%b); "." is this file.
struct VirtualPart {
  std::string file;
  std::string dataset;
  Selection from;
  Selection to;
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

  // The type of the elements as they are shown.
  model::Datatype type;
  // True if the elements in the file have the type `stored`, which differs from `type` only in
  // byte order and in what `text` says. Otherwise they are opaque, and File::Convert() makes
  // them of `form`.
  bool is_plain = false;
  model::Datatype stored;
  std::vector<TextRun> text;
  Form form;
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
  std::shared_ptr<const ChunkIndex> chunks;
  bool has_plain_edges = false;          // partial chunks pass no filter
  std::vector<FilterInfo> filters;       // in write order
  std::shared_ptr<const Bytes> compact;  // kCompact: the elements
  std::vector<VirtualPart> parts;        // kVirtual
  std::vector<std::string> sources;      // kVirtual: the files, "." for this one

  // One element as it is stored, if the file defines a fill value.
  std::optional<ByteVector> stored_fill;
  // The same as it is shown.
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

}  // namespace ndlfs::backends::hdf5
