// SPDX-License-Identifier: MIT
//
// An HDF5 file as its metadata describe it: objects, links, attributes and datasets, as plain
// values. No chunk is read for that.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backends/base/bytes.h"
#include "backends/format/hdf5/dimension_lengths.h"
#include "backends/format/hdf5/group.h"
#include "backends/format/hdf5/info.h"
#include "backends/format/hdf5/object.h"
#include "backends/format/hdf5/object_index.h"
#include "backends/format/hdf5/scales.h"
#include "backends/store/metadata_turn.h"
#include "backends/store/store.h"
#include "model/error.h"

namespace ndlfs::backends::hdf5 {

// Elements as they are shown, and what is wrong with some of them.
struct Elements {
  // The elements one after the other, or an element stream if they are of variable size.
  Bytes bytes;
  bool has_dangling = false;  // some are null because they are dangling references
  bool has_parts = false;     // a region reference names no single block
};

// One version of a file. Paths are absolute. Links on the way are not followed. Thread-safe.
class File {
 public:
  static model::Result<std::shared_ptr<const File>> Open(std::shared_ptr<const Store> store,
                                                         const std::string& path);

  const ValueInfo& info() const { return metadata_->input().info(); }
  // kStale if it is another version by now.
  model::Result<void> CheckUnchanged() const { return metadata_->input().CheckUnchanged(); }

  // Of what is kept.
  uint64_t held_bytes() const { return metadata_->held_bytes() + index_.held_bytes(); }

  // kNotFound where there is nothing.
  model::Result<Location> Find(const std::string& path) const;

  // The links of the group at `path`, in no order.
  model::Result<std::vector<Child>> List(const std::string& path) const;

  // Describes the object at `path`, where Find() has found one.
  // Takes a turn for attributes that may be large, to be kept until they are used.
  model::Result<ObjectInfo> Describe(const std::string& path,
                                     std::optional<MetadataTurn>* turn = nullptr) const;

  // `count` elements of a dataset as they are shown, made of `stored`, their bytes in the file.
  // `regions_as_elements`: whether region references name each element, even if these are one
  // block. kLimit if the elements take more than `limit` bytes.
  model::Result<Elements> Convert(const DatasetInfo& info, ConstByteSpan stored, uint64_t count,
                                  bool regions_as_elements, uint64_t limit) const;

 private:
  // An object, and the addresses of the groups from the root to it.
  struct Walked {
    Object object;
    std::vector<uint64_t> ancestors;
  };

  explicit File(std::shared_ptr<const Metadata> metadata) : metadata_(std::move(metadata)) {}

  template <typename T, typename Answer>
  model::Result<T> Ask(const Answer& answer) const;
  model::Result<Walked> WalkTo(std::string_view path) const;
  model::Result<Walked> OpenGroup(const std::string& path) const;
  model::Result<Location> LocationOf(const std::string& group, const Walked& opened,
                                     const LinkEntry& link) const;
  model::Result<Location> LocationOf(const std::string& group, const Walked& opened,
                                     const std::string& name, const Object& object) const;
  Child LookAtChild(const std::string& group, const Walked& opened,
                    const LinkEntry& link) const;

  const std::shared_ptr<const Metadata> metadata_;
  mutable ObjectIndex index_;
  mutable KnownScales known_scales_;
  mutable DimensionLengths lengths_;
};

}  // namespace ndlfs::backends::hdf5
