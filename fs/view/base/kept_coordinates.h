// SPDX-License-Identifier: MIT
//
// Keeps what a search for coordinates has found out, from one slice to the next.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "fs/view/base/view_input.h"
#include "model/error.h"

namespace ndlfs::fs {

struct ReadCoordinates;

// Coordinates to search in. Those of a joined array lie in very many files. All of them are
// read once, and are kept with the versions of their files. A later search uses them, and then
// looks only at the files of the coordinates that have decided it.
class KeptCoordinates {
 public:
  // The coordinates as an earlier call has left them. Joined ones that are not kept are read
  // now, if their files can be told apart and they are not too large.
  static model::Result<KeptCoordinates> Of(const ArrayInput& coordinates);

  // The coordinates to search in: with all elements in memory, or as they were given.
  const ArrayInput& input() const { return input_; }

  // Whether they descend, if NoteOrder() was called for these coordinates; else nullopt: nobody
  // has found out whether they are in order.
  std::optional<bool> is_descending() const { return is_descending_; }
  void NoteOrder(bool is_descending) const;

  // Whether the files that hold the coordinates at `indices` are still those that were read.
  // Always true for coordinates that are not in memory: whoever reads these notices changes.
  model::Result<bool> Hold(std::span<const uint64_t> indices) const;
  // Forgets them: the next call of Of() reads them again.
  void Forget() const;

 private:
  explicit KeptCoordinates(const ArrayInput& coordinates) : input_(coordinates) {}
  void Use(std::shared_ptr<const ReadCoordinates> read);

  ArrayInput input_;
  std::shared_ptr<const ReadCoordinates> read_;
  std::optional<bool> is_descending_;
};

}  // namespace ndlfs::fs
