// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "fs/tree/tree_node.h"

namespace ndlfs::fs {

struct SummedFile {
  std::string name;
  TreeNodePtr node;
};

// `SHA256SUMS`: a line "DIGEST  NAME" for each of `files`, as sha256sum writes it. The size is
// known before; a digest is computed when its line is read, and kept while the file is open.
// `attributes` are those of the file, whose size does not count.
TreeNodePtr MakeSumsFile(std::vector<SummedFile> files, Attributes attributes);

}  // namespace ndlfs::fs
