// SPDX-License-Identifier: MIT
//
// The entries of a directory, and the pages that show them.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fs/http/reply.h"
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
  bool is_link = false;                     // a link to what the other members tell
};
// The time of the last change.
inline int64_t SecondsOf(const Attributes& attributes) {
  return attributes.mtime_ns / 1'000'000'000;
}
// The same for `node`, which has `attributes`. Files that are made anew for each reader have no
// size.
ListingEntry EntryOf(std::string name, const TreeNode& node, const Attributes& attributes);

// Whether a listing tells the sizes of all files but those that take a scan, or only those that
// it finds at little cost.
enum class ListedSizes { kCheap, kAll };

// Tells what is shown of the entries of one directory. Links are shown as what they lead to.
// With ListedSizes::kAll, links to directories are left out: programs that ask for all sizes go
// through trees, and would go round and round.
class EntryMaker {
 public:
  // `directory` is at `path`.
  EntryMaker(TreeNodePtr root, std::vector<std::string> path, TreeNodePtr directory,
             ListedSizes sizes)
      : root_(std::move(root)),
        path_(std::move(path)),
        directory_(std::move(directory)),
        sizes_(sizes) {}

  // nullopt for what is not shown: links that lead nowhere, pipes and devices.
  // `with_attributes` is false in a listing that is too long for them; it does not count for
  // ListedSizes::kAll.
  model::Result<std::optional<ListingEntry>> Make(const DirectoryEntry& found,
                                                  bool with_attributes) const;
  bool HasPicture(const ListingEntry& entry) const;

 private:
  model::Result<std::optional<ListingEntry>> LookUp(ListingEntry entry, bool is_known) const;

  const TreeNodePtr root_;
  const std::vector<std::string> path_;
  const TreeNodePtr directory_;
  const ListedSizes sizes_;
};

// One pass over the entries of a directory that are shown. They are sorted by name if they are
// few; those of a long directory come as the source has them, so that a listing of any length
// takes little memory. For one thread at a time.
class EntryReader {
 public:
  struct Options {
    ListedSizes sizes = ListedSizes::kCheap;
    // Whether to look for pictures: only in the first folders, for little more than a second.
    bool finds_pictures = false;
    // For programs that go through trees, and would go round and round.
    bool leaves_out_linked_folders = false;
  };
  static model::Result<std::shared_ptr<EntryReader>> Open(const TreeNodePtr& root,
                                                          std::vector<std::string> path,
                                                          const TreeNodePtr& directory,
                                                          const Options& options);

  // nullopt at the end.
  model::Result<std::optional<ListingEntry>> Next();
  // The memory that the reader has taken.
  KeptObjects kept() const;

 private:
  EntryReader(EntryMaker maker, std::unique_ptr<DirectoryReader> reader, const Options& options)
      : maker_(std::move(maker)), reader_(std::move(reader)), options_(options) {}
  model::Result<void> ReadFirst();
  bool LooksForPicture();

  const EntryMaker maker_;
  const std::unique_ptr<DirectoryReader> reader_;
  const Options options_;
  std::vector<DirectoryEntry> first_;  // those that come next; the last one is the first
  bool is_long_ = false;               // `reader_` has more
  bool with_attributes_ = true;
  size_t picture_looks_ = 0;
  const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};
using EntryReaderPtr = std::shared_ptr<EntryReader>;

// The entries for TextOfItems(); none if there is no reader.
inline auto OneByOne(EntryReaderPtr entries) {
  return [entries = std::move(entries)]() -> model::Result<std::optional<ListingEntry>> {
    if (!entries) return std::nullopt;
    return entries->Next();
  };
}

// A page with relative links, so that it works below any URL.
NextPiece ListingAsHtml(EntryReaderPtr entries, const std::vector<std::string>& path);

// As nginx writes it with `autoindex_format json`, so that clients of that read it. Names that
// are not UTF-8 have U+FFFD in them.
NextPiece ListingAsJson(EntryReaderPtr entries);

// The body of an answer of WebDAV (RFC 4918) with status 207. `path` is that of `self`, whose
// name is not used, below the path `base` that all URLs begin with. `entries` are those of the
// directory; null: none are told.
NextPiece ListingAsMultistatus(std::string_view base, const std::vector<std::string>& path,
                               const ListingEntry& self, EntryReaderPtr entries);

}  // namespace ndlfs::fs
