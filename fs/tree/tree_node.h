// SPDX-License-Identifier: MIT
//
// The nodes of the mounted tree, as front ends see them (FUSE, HTTP). Each node knows its
// children and how to read its contents. None knows nodeids or the kernel.
#pragma once

#include <sys/stat.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "backends/base/bytes.h"
#include "model/error.h"

namespace ndlfs::fs {

// The size of a file in bytes, or that it is not known yet. There is no conversion to a number,
// and no value_or(): no caller can show 0 for a size that is not known.
class FileSize {
 public:
  constexpr FileSize() = default;                        // not known
  constexpr FileSize(uint64_t bytes) : bytes_(bytes) {}  // NOLINT(google-explicit-constructor)
  // As View::size() tells it.
  constexpr FileSize(std::optional<uint64_t> bytes)  // NOLINT(google-explicit-constructor)
      : bytes_(bytes) {}
  constexpr explicit operator bool() const { return bytes_.has_value(); }
  // Throws if the size is not known.
  constexpr uint64_t operator*() const { return bytes_.value(); }
  bool operator==(const FileSize&) const = default;

 private:
  std::optional<uint64_t> bytes_;
};

// The values that stat() shows, without the inode number. The options of the
// mount may replace the owner and restrict the mode.
struct Attributes {
  mode_t mode = 0;  // type and permissions
  // Stat() tells it of all but directories.
  FileSize size = {};
  // Bytes on a disk; counts as `size` if this is not known.
  std::optional<uint64_t> allocated = std::nullopt;
  uid_t uid = 0;
  gid_t gid = 0;
  dev_t rdev = 0;
  int64_t mtime_ns = 0;
  int64_t ctime_ns = 0;
};

// One entry of a listing. `type` has the bits of S_IFMT, or is 0 if only a
// lookup can tell it.
struct DirectoryEntry {
  std::string name;
  mode_t type = 0;
};

// Memory that an open file or directory keeps. If another one keeps the same object, it has the
// same identity.
struct KeptObject {
  const void* identity;
  uint64_t bytes;
};
using KeptObjects = std::vector<KeptObject>;

// The version of a file as a listing tells it.
struct ListedVersion {
  // Changes if a reader may get other bytes, or if nobody can tell.
  uint64_t contents = 0;
  // Changes if anything is known to have changed. Until somebody reads the file, only this
  // number counts. Not 0.
  uint64_t facts = 0;
};

// A file as a listing tells it. Lookup() would find a node with IsListedAs(version).
struct ListedFile {
  Attributes attributes;
  ListedVersion version;
};

// One pass over a directory. For one thread at a time.
class DirectoryReader {
 public:
  virtual ~DirectoryReader() = default;
  // The larger objects that stay in memory while the directory is open.
  virtual KeptObjects kept() const { return {}; }
  // The next entry, without "." and ".."; nullopt at the end.
  virtual model::Result<std::optional<DirectoryEntry>> Next() = 0;
  // Goes back to the first entry.
  virtual void Rewind() = 0;
};

// An open file. Thread-safe.
class FileHandle {
 public:
  virtual ~FileHandle() = default;
  // The larger objects that stay in memory while the file is open.
  virtual KeptObjects kept() const { return {}; }
  // Whether Read() takes no more than looks: it decodes nothing, and reads no file.
  virtual bool is_light() const { return false; }
  // Fills `out` from byte `offset`, and returns the number of bytes: fewer only
  // at the end of the file. An error names the file and the place in it.
  virtual model::Result<size_t> Read(uint64_t offset, backends::ByteSpan out) const = 0;

  // Tells that the reader has got `bytes`, which Read() returned at `offset`. The file may keep
  // them for later opens.
  virtual void Delivered(uint64_t /*offset*/, backends::ConstByteSpan /*bytes*/) const {}

  // The descriptor of a file of this machine that has exactly the bytes of this one. It stays
  // open while the handle lives. -1 if there is no such file.
  virtual int descriptor() const { return -1; }

  enum class Content : uint8_t { kData, kHole };
  // The offset of the first byte, from `offset` on, that is data or, for kHole, in a hole. The
  // end of the file counts as a hole. nullopt if there is no such byte, or if `offset` is not
  // below the size. kUnsupported if nothing is known about holes in the file.
  virtual model::Result<std::optional<uint64_t>> Seek(uint64_t /*offset*/,
                                                      Content /*content*/) const {
    return model::Unsupported("holes");
  }
};

struct OpenedFile {
  std::shared_ptr<const FileHandle> handle;
  // stat() does not show the true size. The kernel then has to read to the end,
  // without its page cache.
  bool size_unknown = false;
  // When the source was looked at, so that another open of the path within --revalidate of this
  // moment may have the same handle. Zero: no other open may.
  std::chrono::steady_clock::time_point looked_at = {};
};

// A version of a file. While this process runs, no other contents of the same path have its
// number.
struct FileVersion {
  uint64_t number = 0;
  uint64_t size = 0;
};

// Names and values of extended attributes, in the order of listxattr.
using ExtendedAttributes = std::vector<std::pair<std::string, std::string>>;
std::vector<std::string> NamesOf(const ExtendedAttributes& attributes);

class TreeNode;
using TreeNodePtr = std::shared_ptr<TreeNode>;

// Thread-safe. A node refuses calls that its kind does not have (Lookup() in a file, Open() of
// a directory) with the errno that POSIX demands.
class TreeNode {
 public:
  virtual ~TreeNode() = default;

  enum class Relation {
    kSame,       // the same node; a front end that has kept this one goes on with it
    kUpdated,    // the same node; a front end keeps `fresh` instead
    kDifferent,  // another node, which has taken the place of this one
  };
  // How `fresh`, which was just found at the path of this node, relates to it. Quick: a front
  // end may hold a lock.
  virtual Relation Compare(const TreeNode& fresh) const = 0;
  // Whether a file that a listing tells with `version` is this node. Quick, as Compare().
  virtual bool IsListedAs(const ListedVersion& /*version*/) const { return false; }
  // The facts that a listing tells about this node; 0 if no listing tells them. Quick, as
  // Compare().
  virtual uint64_t ListedFacts() const { return 0; }

  // The attributes. Costs a few stat() at most, unless StatCost() says more. kStale if the path
  // has to be looked up again. kNotFound if the node has found out that there is no such file.
  virtual model::Result<Attributes> Stat() const = 0;
  // The same for a node that a lookup has just made. Does not repeat the looks of that lookup.
  virtual model::Result<Attributes> StatWhenFound() const { return Stat(); }
  // The cost of Stat(): no decoding, decoding as much as a read does, or
  // decoding much more.
  enum class Cost { kNothing, kRead, kScan };
  virtual Cost StatCost() const { return Cost::kNothing; }

  // Whether the result of Stat() may differ at any moment, and for each caller, so that a front
  // end must not remember it.
  virtual bool IsVolatile() const { return false; }

  // Whether another caller (backends/store/caller.h) may see this node differently, or not at
  // all. The kernel must then ask for each caller, and cache neither the name of the node nor
  // names in it.
  virtual bool DependsOnCaller() const { return false; }
  // Whether the kind of this node is a guess, because the caller may not read the files that
  // tell the kind. A guess does not replace a node that another caller has found.
  virtual bool IsGuess() const { return false; }

  // The child called `name`; kNotFound if there is none.
  virtual model::Result<TreeNodePtr> Lookup(std::string_view name) const;
  // Whether the result of Lookup(name) may change although the source does not
  // change; "." stands for the listing.
  virtual bool MayChange(std::string_view /*name*/) const { return false; }
  // Begins a listing. Opens none of the files in it.
  virtual model::Result<std::unique_ptr<DirectoryReader>> OpenDirectory() const;

  // Whether the attributes of entries of `type` (S_IFREG, S_IFDIR ...) take little more time
  // than the listing itself. The listing may then tell them to a caller that will probably ask
  // for them next.
  virtual bool ListsAttributesOf(mode_t /*type*/) const { return false; }
  // The file `name` for such a listing, at less cost than Lookup(); nullopt if only Lookup()
  // can tell.
  virtual std::optional<ListedFile> FindListed(std::string_view /*name*/) const {
    return std::nullopt;
  }

  // Opens the file. If this succeeds, the pages of this node that the kernel
  // has cached are still right. If the contents have changed, fails with
  // kStale; a new lookup then finds the node of the new contents.
  virtual model::Result<OpenedFile> Open();

  // The version that Open() has opened last or, before, the one that the lookup has found;
  // nullopt if the file is made anew for each reader, or if its size is not known.
  virtual std::optional<FileVersion> Version() const { return std::nullopt; }

  virtual model::Result<std::string> ReadLink() const;

  virtual model::Result<ExtendedAttributes> GetExtendedAttributes() const;
  // The names of extended attributes, without computing the values: `ls -l` of coreutils 9.6
  // and later asks for the names of each file and folder.
  virtual model::Result<std::vector<std::string>> ListExtendedAttributes() const;
  // The value of one of these, or of an attribute that is not listed; nullopt if there is none.
  virtual model::Result<std::optional<std::string>> GetExtendedAttribute(
      std::string_view name) const;
};

inline bool IsDirectory(const Attributes& attributes) { return S_ISDIR(attributes.mode); }

// The base of nodes that are directories. Any directory that is found at the same path counts
// as the same directory.
class DirectoryNode : public TreeNode {
 public:
  Relation Compare(const TreeNode& fresh) const final;
  model::Result<OpenedFile> Open() final;
};

// Memory that `entries` take, in bytes.
uint64_t HeldBytes(const std::vector<DirectoryEntry>& entries);

// A listing that is in memory already.
std::unique_ptr<DirectoryReader> MakeListReader(std::vector<DirectoryEntry> entries);

// `text` as an open file.
OpenedFile OpenText(std::shared_ptr<const std::string> text);

// A small file whose text is known, such as `error.txt`. A node with another text is another
// object for the inode table.
TreeNodePtr MakeTextNode(std::string text, const Attributes& attributes);

// A symbolic link. A node with another target is another object for the inode table.
TreeNodePtr MakeSymlinkNode(std::string target, const Attributes& attributes);

}  // namespace ndlfs::fs
