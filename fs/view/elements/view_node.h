// SPDX-License-Identifier: MIT
//
// A presentation of an array or a group is one file, or a small tree of files.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "fs/view/elements/view.h"
#include "model/error.h"

namespace ndlfs::fs {

class ViewDirectory;
using ViewDirectoryPtr = std::shared_ptr<const ViewDirectory>;
// Neither is null.
using ViewNode = std::variant<ViewPtr, ViewDirectoryPtr>;

struct ViewEntry {
  std::string name;
  bool is_directory = false;
};

// One pass through the entries of a directory, in the order of a listing. A directory may have
// very many entries, so each gets its name when the pass comes to it. For one thread at a time.
class ViewListing {
 public:
  virtual ~ViewListing() = default;
  // The next entry; nullopt at the end. May look at the source, but reads no chunk.
  virtual model::Result<std::optional<ViewEntry>> Next() = 0;
};
// Lists these entries.
std::unique_ptr<ViewListing> ListOf(std::vector<ViewEntry> entries);

// The contents of one directory of such a tree. Immutable as seen from outside, and
// thread-safe. The whole tree is made of the same version of its array or group. Find() may ask
// whether the source has a chunk, but reads no chunk; only View::FindSize() may read some.
class ViewDirectory {
 public:
  virtual ~ViewDirectory() = default;
  // Begins a pass through the entries.
  virtual std::unique_ptr<ViewListing> List() const = 0;
  // The entry called `name`; kNotFound if there is none.
  virtual model::Result<ViewNode> Find(std::string_view name) const = 0;
  // View::FindCost() of all files here and below.
  virtual model::Result<std::optional<ReadCost>> FindCost() const { return std::nullopt; }
  // Memory that the directory and all below it hold, in bytes, in addition to some hundred.
  virtual uint64_t held_bytes() const { return 0; }
};

// FileOf() is null for a directory, DirectoryOf() for a file.
inline ViewPtr FileOf(const ViewNode& node) {
  const auto* file = std::get_if<ViewPtr>(&node);
  return file ? *file : nullptr;
}
inline ViewDirectoryPtr DirectoryOf(const ViewNode& node) {
  const auto* directory = std::get_if<ViewDirectoryPtr>(&node);
  return directory ? *directory : nullptr;
}

// The node at `path` below `node`: "c/0/1"; `node` itself if it is empty. kNotFound if there is
// none, also if the path leads through a file.
model::Result<ViewNode> FindBelow(ViewNode node, std::string_view path);

// View::held_bytes() or ViewDirectory::held_bytes().
uint64_t HeldBytes(const ViewNode& node);
// The most that HeldBytes() may grow to, as far as the view knows.
uint64_t MostHeldBytes(const ViewNode& node);

}  // namespace ndlfs::fs
