// SPDX-License-Identifier: MIT
//
// A copy of those parts of an HDF4 file that describe it, at their places in a file that is as
// long and has nothing else. libhdf4 opens files by name, wherever they may come from; this
// is the file that it gets. Elements of arrays, which are most of a file, are not copied.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backends/base/unique_fd.h"
#include "backends/format/hdf4/chunk_header.h"
#include "backends/format/hdf4/description.h"
#include "backends/store/metadata_turn.h"
#include "backends/store/store.h"
#include "model/error.h"

namespace ndlfs::backends::hdf4 {

class Skeleton {
 public:
  // Copies the parts of the only value of `store`. kCorrupt if its list of parts makes no
  // sense; kLimit if they are more than 256 MiB. Takes `turn` before it copies, for what the
  // library says about these parts, too.
  static model::Result<Skeleton> Make(const Store& store, std::optional<MetadataTurn>& turn);

  // What a process may read, and cannot change.
  model::Result<UniqueFd> OpenToRead() const;
  // Adds bytes of the file, of the version that was copied, and takes them away again.
  model::Result<void> Add(const Store& store, const std::vector<Piece>& pieces) const;
  void Remove(const std::vector<Piece>& pieces) const;

  // Whether it lacks the headers of compressed chunks, which lie between the chunks, all over
  // the file. It has them if some compressed bytes are in several pieces.
  bool leaves_headers() const { return compressed_ != nullptr; }
  // Where the compressed bytes are, if it lacks the headers.
  const std::shared_ptr<const CompressedParts>& compressed() const { return compressed_; }

  const ValueInfo& info() const { return info_; }
  const std::string& name() const { return name_; }  // of the file, for people
  uint64_t bytes() const { return bytes_; }          // that were copied

 private:
  Skeleton() = default;
  model::Result<void> Copy(const Store& store, uint64_t offset, uint64_t bytes) const;

  UniqueFd memory_;
  std::shared_ptr<const CompressedParts> compressed_;
  ValueInfo info_;
  std::string name_;
  uint64_t bytes_ = 0;
};

// A part of a file: an entry of its list.
struct Element {
  uint16_t tag = 0;
  uint16_t reference = 0;
  uint64_t offset = 0;
  uint64_t bytes = 0;
};

// Reads the list of parts. Blocks of it are added to `blocks`.
model::Result<std::vector<Element>> ReadElementList(const Store& store, const ValueInfo& info,
                                                    std::vector<Piece>& blocks);

}  // namespace ndlfs::backends::hdf4
