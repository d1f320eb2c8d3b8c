// SPDX-License-Identifier: MIT
//
// The objects of the mounted tree, as the FUSE operations see them: each knows
// what stands below it and how to read it, none knows of nodeids or the kernel.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "backends/base/bytes.h"
#include "backends/store/caller.h"
#include "fs/tree/inode_table.h"
#include "model/error.h"

namespace ndlfs::fs {

// What stat() shows, but for the inode number and what the options of the
// mount replace (owner, umask).
struct Attributes {
  mode_t mode = 0;  // type and permissions
  uint64_t size = 0;
  uid_t uid = 0;
  gid_t gid = 0;
  dev_t rdev = 0;
  int64_t mtime_ns = 0;
  int64_t ctime_ns = 0;
};

// One entry of a listing. `type` has the bits of S_IFMT, or is 0 where only a
// lookup can tell.
struct DirectoryEntry {
  std::string name;
  mode_t type = 0;
};

// One pass over a directory. For one thread at a time.
class DirectoryReader {
 public:
  virtual ~DirectoryReader() = default;
  // The next entry, without "." and ".."; nullopt at the end.
  virtual model::Result<std::optional<DirectoryEntry>> Next() = 0;
  // Begins again.
  virtual void Rewind() = 0;
};

// An open file. Thread-safe.
class FileHandle {
 public:
  virtual ~FileHandle() = default;
  // Fills `out` from `offset`; fewer bytes only at the end of the file. The
  // error says which file and where in it.
  virtual model::Result<size_t> Read(uint64_t offset, backends::ByteSpan out) const = 0;
};

struct OpenedFile {
  std::shared_ptr<const FileHandle> handle;
  // stat() does not tell the size: read to the end, past the page cache.
  bool size_unknown = false;
  // Who has opened it: whoever reads by the handle, reads as that caller. Null where it is all
  // one.
  backends::CallerPtr opener = nullptr;
};

// Names and values of extended attributes, in the order of listxattr.
using ExtendedAttributes = std::vector<std::pair<std::string, std::string>>;

class TreeNode;
using TreeNodePtr = std::shared_ptr<TreeNode>;

// Thread-safe. What a node's kind does not have (the children of a file, the
// contents of a directory) is refused with the errno that POSIX gives.
class TreeNode : public InodeTable::Object {
 public:
  // Costs a few stat() at most, unless StatCost() says more. kStale: look the
  // path up again. kNotFound: it has turned out that there is no such file.
  virtual model::Result<Attributes> Stat() const = 0;
  // The same of a node that a lookup has just made: what that has seen already
  // is not looked at once more.
  virtual model::Result<Attributes> StatWhenFound() const { return Stat(); }
  // What Stat() takes: nothing, decoding as much as a read does, or much more.
  enum class Cost { kNothing, kRead, kScan };
  virtual Cost StatCost() const { return Cost::kNothing; }

  // Whether Stat() may say something else at any moment, and to another caller: nobody
  // may remember it.
  virtual bool IsVolatile() const { return false; }

  // Whether another caller (backends/store/caller.h) may be told something else about it,
  // or that it is not there: then the kernel asks for each, and remembers no name of it or in
  // it.
  virtual bool DependsOnCaller() const { return false; }
  // The caller was refused what tells which kind of node it is: a node that another
  // caller has found stays in its place.
  virtual bool IsGuess() const { return false; }

  // The child called `name`; kNotFound where there is none.
  virtual model::Result<TreeNodePtr> Lookup(std::string_view name) const;
  // Whether what Lookup(name) yields may change although nothing in the source
  // does; "." is the listing.
  virtual bool MayChange(std::string_view /*name*/) const { return false; }
  // Opens nothing that is listed.
  virtual model::Result<std::unique_ptr<DirectoryReader>> OpenDirectory() const;

  // What the kernel's pages of this node hold stays true as long as Open()
  // succeeds; otherwise it fails with kStale, and a new lookup finds the
  // node of the new contents.
  virtual model::Result<OpenedFile> Open();

  virtual model::Result<std::string> ReadLink() const;

  virtual model::Result<ExtendedAttributes> GetExtendedAttributes() const;
};

inline bool IsDirectory(const Attributes& attributes) { return S_ISDIR(attributes.mode); }

// For nodes that are directories: whatever is found at the path of one is the
// same directory, as long as it is one.
class DirectoryNode : public TreeNode {
 public:
  Relation Compare(const Object& fresh) const final;
  model::Result<OpenedFile> Open() final;
};

// A listing that is in memory already.
std::unique_ptr<DirectoryReader> MakeListReader(std::vector<DirectoryEntry> entries);

// `text` as an open file.
OpenedFile OpenText(std::shared_ptr<const std::string> text);

// A small file whose text is known, such as `error.txt`: another text is another
// file.
TreeNodePtr MakeTextNode(std::string text, const Attributes& attributes);

// A symbolic link; another target is another link.
TreeNodePtr MakeSymlinkNode(std::string target, const Attributes& attributes);

}  // namespace ndlfs::fs
