// SPDX-License-Identifier: MIT
//
// The entries of a directory, and the pages that show them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "fs/tree/tree_node.h"

namespace ndlfs::fs {

struct ListingEntry {
  std::string name;
  bool is_directory = false;
  // nullopt if they take more than a listing should.
  FileSize size = {};  // of files only
  std::optional<int64_t> mtime_seconds = {};
  std::optional<FileVersion> version = {};  // of files only, where it costs nothing to know
  bool has_picture = false;                 // the directory has a thumbnail.png
};
using Listing = std::vector<ListingEntry>;

// The same for `node`, which has `attributes`. Files that are made anew for each reader have no
// size.
ListingEntry EntryOf(std::string name, const TreeNode& node, const Attributes& attributes);

// Whether a listing tells the sizes of all files but those that take a scan, or only those that
// it finds at little cost.
enum class ListedSizes { kCheap, kAll };

// The entries of `directory`, which is at `path`, sorted by name. Links are shown as what they
// lead to; links that lead nowhere, pipes and devices are left out. kLimit if there are more
// than `most` entries.
model::Result<Listing> ListDirectory(const TreeNodePtr& root,
                                     const std::vector<std::string>& path,
                                     const TreeNodePtr& directory, ListedSizes sizes,
                                     size_t most);

// Sets ListingEntry::has_picture of the first entries. Takes little more than a second.
model::Result<void> FindPictures(const TreeNodePtr& root, const std::vector<std::string>& path,
                                 const TreeNodePtr& directory, Listing& listing);

// A page with relative links, so that it works below any URL.
std::string ListingAsHtml(const Listing& listing, const std::vector<std::string>& path);

// As nginx writes it with `autoindex_format json`, so that clients of that read it. Names that
// are not UTF-8 have U+FFFD in them.
std::string ListingAsJson(const Listing& listing);

}  // namespace ndlfs::fs
