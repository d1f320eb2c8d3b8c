// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "model/entities.h"

namespace ndlfs::model {

// Writes the document of a group (ndl_writer.h) object by object, for groups of very many
// objects. The caller may take away the text between two calls.
class GroupWriter {
 public:
  // Appends the document of the group at `path`, and all below it, to `out`.
  GroupWriter(std::string& out, std::string path);
  ~GroupWriter();
  // Says that there is a dimension coordinate at `path`. Call it for all of the document first.
  void Know(std::string path);

  // Begins the group at `path`. `group` is without its objects; `is_leaf`: it has none. Then
  // come its dimension coordinates, its other arrays, EndArrays() with its links, the groups in
  // it, sorted by name, and End().
  void Begin(const Group& group, const std::string& path, bool has_arrays, bool is_leaf);
  void Add(const DimCoord& dimcoord);
  void Add(const Ndarray& ndarray);
  void EndArrays(const std::vector<NamedLink>& links);
  void End();

 private:
  class Impl;
  const std::unique_ptr<Impl> impl_;
};

}  // namespace ndlfs::model
