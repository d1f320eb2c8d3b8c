// SPDX-License-Identifier: MIT
#include "fs/mount/operations.h"

#include <malloc.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <cerrno>
#include <exception>
#include <new>
#include <string>
#include <vector>

#include "backends/store/request_scope.h"
#include "fs/mount/errno.h"
#include "fs/mount/fuse.h"

namespace ndlfs::fs {
namespace {

using model::IoError;
using Status = model::Result<void>;
using Counts = OperationCounts;

// A request, to be answered once: a second answer would be the end of libfuse.
class Request {
 public:
  explicit Request(fuse_req_t req) : req_(req) {}

  bool answered() const { return answered_; }
  // Not to be answered through this.
  fuse_req_t peek() const { return req_; }
  fuse_req_t Answer() {
    answered_ = true;
    return req_;
  }

 private:
  fuse_req_t req_;
  bool answered_ = false;
};

TreeNode& AsNode(const InodeTable::Inode& inode) {
  return static_cast<TreeNode&>(*inode.object);
}

timespec ToTimespec(int64_t ns) {
  constexpr int64_t kSecond = 1'000'000'000;
  const int64_t seconds = ns / kSecond - (ns % kSecond < 0);
  timespec time = {};
  time.tv_sec = seconds;
  time.tv_nsec = ns % kSecond + (ns % kSecond < 0 ? kSecond : 0);
  return time;
}

struct ::stat ToStat(const FilesystemOptions& options, uint64_t ino,
                     const Attributes& attributes) {
  struct ::stat out = {};
  out.st_ino = ino;
  out.st_mode = attributes.mode & ~(options.umask & 0777);
  out.st_nlink = 1;
  out.st_uid = options.uid.value_or(attributes.uid);
  out.st_gid = options.gid.value_or(attributes.gid);
  out.st_rdev = attributes.rdev;
  out.st_size = static_cast<off_t>(attributes.size);
  out.st_blksize = 128L * 1024;
  out.st_blocks = static_cast<blkcnt_t>(attributes.size / 512 + (attributes.size % 512 != 0));
  out.st_mtim = out.st_atim = ToTimespec(attributes.mtime_ns);
  out.st_ctim = ToTimespec(attributes.ctime_ns);
  return out;
}

// How long the kernel may believe what can change at any moment.
constexpr double kShortTimeout = 1.0;

// The kernel keeps files in pages of this size, or of a multiple.
constexpr size_t kPageSize = 4096;

// Failures that are answers to a question rather than trouble with the source.
bool IsOrdinary(int error) {
  constexpr int kOrdinary[] = {ENOENT, ENOTDIR, EISDIR, EINVAL, ENXIO,        ESTALE,  EROFS,
                               EACCES, EPERM,   ELOOP,  EXDEV,  ENAMETOOLONG, ENODATA, ERANGE};
  return std::find(std::begin(kOrdinary), std::end(kOrdinary), error) != std::end(kOrdinary);
}

// A block that a thread keeps from one read to the next.
backends::ByteSpan ThreadBuffer(size_t size) {
  thread_local backends::Bytes buffer;
  if (buffer.size() < size) buffer = backends::Bytes(size);
  return buffer.span().first(size);
}

// Replies with `value`, or with its size where that is asked for.
Status SizedReply(Request& request, std::string_view value, size_t size) {
  if (size == 0) {
    fuse_reply_xattr(request.Answer(), value.size());
  } else if (value.size() > size) {
    return IoError(ERANGE, "xattr");
  } else {
    fuse_reply_buf(request.Answer(), value.data(), value.size());
  }
  return {};
}

}  // namespace

struct Handlers {
  using Clock = RequestTimes::Clock;

  // Counts a request, and how long it took.
  class Timer {
   public:
    explicit Timer(RequestTimes& times, Clock::time_point begin = Clock::now())
        : times_(times), begin_(begin) {
      times_.Begin();
    }
    ~Timer() { times_.End(begin_); }
    Timer(const Timer&) = delete;
    Timer& operator=(const Timer&) = delete;

   private:
    RequestTimes& times_;
    const Clock::time_point begin_;
  };

  // Runs one operation, and answers for it where it did not: with the error
  // that it returns, or with EIO for what should not have been thrown.
  template <typename Operation>
  static void Guard(fuse_req_t req, RequestTimes Counts::*kind, const Operation& operation) {
    Filesystem& fs = *static_cast<Filesystem*>(fuse_req_userdata(req));
    const Timer timer(fs.counts_.*kind);
    GuardCounted(req, operation);
  }

  // The same on behalf of who opened the handle that is used: as with any file, access is
  // checked when it is opened.
  template <typename Operation>
  static void Guard(fuse_req_t req, RequestTimes Counts::*kind,
                    const backends::CallerPtr& opener, const Operation& operation,
                    Clock::time_point arrival = Clock::now()) {
    Filesystem& fs = *static_cast<Filesystem*>(fuse_req_userdata(req));
    const Timer timer(fs.counts_.*kind, arrival);
    GuardAs(
        req, [&](Filesystem&) { return opener; }, operation);
  }

  // The same for what is left of an operation that has been counted.
  template <typename Operation>
  static void GuardCounted(fuse_req_t req, const Operation& operation) {
    GuardAs(
        req, [req](Filesystem& fs) { return CallerOf(fs, req); }, operation);
  }

  // Null where all is read as the user who has mounted.
  static backends::CallerPtr CallerOf(Filesystem& fs, fuse_req_t req) {
    if (!fs.options_.shared) return nullptr;
    const fuse_ctx& context = *fuse_req_ctx(req);
    return fs.callers_.Find(context.uid, context.gid, context.pid);
  }

  template <typename FindCaller, typename Operation>
  static void GuardAs(fuse_req_t req, const FindCaller& find_caller,
                      const Operation& operation) {
    Filesystem& fs = *static_cast<Filesystem*>(fuse_req_userdata(req));
    Request request(req);
    int error = EIO;
    try {
      const backends::CallerScope caller_scope(find_caller(fs));
      const backends::RequestScope request_scope;
      const Status status = operation(fs, request);
      if (status) return;
      error = ToErrno(status.error());
      if (!IsOrdinary(error)) Complain(fs, status.error().message());
    } catch (const std::bad_alloc&) {
      error = ENOMEM;
    } catch (const std::exception& exception) {
      Complain(fs, exception.what());
    } catch (...) {
      Complain(fs, "unknown exception");
    }
    if (!request.answered()) fuse_reply_err(request.Answer(), error);
  }

  static void Complain(Filesystem& fs, std::string_view line) noexcept {
    fs.counts_.failed.fetch_add(1, std::memory_order_relaxed);
    try {
      if (fs.report_) fs.report_(line);
    } catch (...) {  // no memory to complain with
    }
  }

  static model::Result<InodeTable::Inode> Find(const Filesystem& fs, fuse_ino_t nodeid) {
    auto inode = fs.table_.Find(nodeid);
    if (!inode) return model::Stale("lookup: it has changed");
    return *std::move(inode);
  }

  static void OpInit(void* userdata, fuse_conn_info* conn) {
    auto& fs = *static_cast<Filesystem*>(userdata);
    constexpr unsigned kWanted =
        FUSE_CAP_PARALLEL_DIROPS | FUSE_CAP_CACHE_SYMLINKS | FUSE_CAP_EXPORT_SUPPORT;
    conn->want |= conn->capable & kWanted;
    // Of requests that are under way together, one that fails fails all: what
    // could be read before it would be lost.
    conn->want &= ~static_cast<unsigned>(FUSE_CAP_ASYNC_DIO);
    conn->max_background = 64;  // read-ahead counts as that
    conn->congestion_threshold = 48;
    conn->time_gran = 1;
    if (fs.on_ready_) fs.on_ready_();
  }

  static void OpLookup(fuse_req_t req, fuse_ino_t parent, const char* name) {
    Guard(req, &Counts::lookup, [&](Filesystem& fs, Request& request) -> Status {
      const std::string_view wanted = name;
      if (wanted == "." || wanted == "..") {
        return ReplyByHandle(fs, request, parent, wanted == "..");
      }
      NDLFS_TRY(const auto directory, Find(fs, parent));
      auto node = AsNode(directory).Lookup(name);
      if (node && (*node)->StatCost() != TreeNode::Cost::kNothing) {
        LeaveForTurn(fs, request, directory, name, *std::move(node));
        return {};
      }
      return ReplyLookup(fs, request, directory, name, std::move(node));
    });
  }

  // A server of NFS has a nodeid out of a file handle, and asks what it stands for, or
  // what it is in. The kernel may have forgotten both.
  static Status ReplyByHandle(Filesystem& fs, Request& request, fuse_ino_t nodeid,
                              bool wants_parent) {
    auto place = fs.table_.PlaceOfNode(nodeid);
    if (place && wants_parent) place = InodeTable::ParentOf(place);
    if (!place) return IoError(ESTALE, "lookup by handle");
    auto inode = wants_parent ? std::nullopt : fs.table_.LookupAgain(nodeid);
    if (!inode) {
      auto node = FindByPath(fs, InodeTable::PathOf(place));
      if (!node && ToErrno(node.error()) == ENOENT) return IoError(ESTALE, "lookup by handle");
      if (!node) return model::Propagate(std::move(node).error());
      inode = wants_parent ? fs.table_.LookupAt(place, *std::move(node))
                           : fs.table_.Revive(nodeid, place, *std::move(node));
    }
    return ReplyKnown(fs, request, *inode);
  }

  static model::Result<TreeNodePtr> FindByPath(const Filesystem& fs,
                                               const std::vector<std::string>& names) {
    auto node = std::static_pointer_cast<TreeNode>(fs.table_.Find(InodeTable::kRoot)->object);
    for (const std::string& name : names) {
      NDLFS_TRY(node, node->Lookup(name));
    }
    return node;
  }

  // The lookup has been counted.
  static Status ReplyKnown(Filesystem& fs, Request& request, const InodeTable::Inode& inode) {
    const auto attributes = AsNode(inode).Stat();
    if (!attributes) {
      fs.table_.Forget(inode.nodeid, 1);
      return model::Propagate(attributes.error());
    }
    fuse_entry_param entry = {};  // without a timeout: the kernel has no name for it
    entry.ino = inode.nodeid;
    entry.attr = ToStat(fs.options_, inode.ino, *attributes);
    if (fuse_reply_entry(request.Answer(), &entry) != 0) fs.table_.Forget(inode.nodeid, 1);
    return {};
  }

  // What decodes as much as a read takes turns with reads. What decodes much
  // more keeps all processors busy for a while: one at a time, and reads go on.
  static void LeaveForTurn(Filesystem& fs, Request& request, const InodeTable::Inode& directory,
                           std::string name, TreeNodePtr node) {
    const uid_t user = fuse_req_ctx(request.peek())->uid;
    ReadTurns& turns = node->StatCost() == TreeNode::Cost::kScan ? fs.scan_turns_ : fs.turns_;
    const auto reply = [req = request.peek(), directory, name = std::move(name),
                        node = std::move(node)] {
      GuardCounted(req, [&](Filesystem& guarded, Request& later) {
        return ReplyLookup(guarded, later, directory, name, node);
      });
    };
    turns.Run(user, reply);  // where it throws, the request is still to be answered
    request.Answer();
  }

  static Status ReplyLookup(Filesystem& fs, Request& request,
                            const InodeTable::Inode& directory, const std::string& name,
                            model::Result<TreeNodePtr> node) {
    double timeout = fs.options_.timeout;
    if (AsNode(directory).MayChange(name)) timeout = std::min(timeout, kShortTimeout);
    Status status;
    if (node) {
      status = ReplyEntry(fs, request, directory, name, *std::move(node), timeout);
    } else {
      status = model::Propagate(std::move(node).error());
    }
    if (status || ToErrno(status.error()) != ENOENT) return status;
    fuse_entry_param nothing = {};  // the kernel remembers that, too
    nothing.entry_timeout = AsNode(directory).DependsOnCaller() ? 0 : timeout;
    fuse_reply_entry(request.Answer(), &nothing);
    return {};
  }

  static Status ReplyEntry(Filesystem& fs, Request& request, const InodeTable::Inode& parent,
                           std::string_view name, TreeNodePtr node, double timeout) {
    NDLFS_TRY(const auto attributes, node->StatWhenFound());
    const bool asks_for_each = AsNode(parent).DependsOnCaller() || node->DependsOnCaller();
    const bool is_volatile = node->IsVolatile();
    const auto inode = fs.table_.Lookup(parent.nodeid, name, std::move(node));
    if (!inode) return model::Stale("lookup: it has changed");
    fuse_entry_param entry = {};
    entry.ino = inode->nodeid;
    entry.attr = ToStat(fs.options_, inode->ino, attributes);
    entry.attr_timeout = is_volatile ? 0 : timeout;
    entry.entry_timeout = asks_for_each ? 0 : timeout;
    // A caller that was interrupted has not got the nodeid, and so will not
    // forget it.
    if (fuse_reply_entry(request.Answer(), &entry) != 0) fs.table_.Forget(inode->nodeid, 1);
    return {};
  }

  static void OpForget(fuse_req_t req, fuse_ino_t nodeid, uint64_t count) {
    Filesystem& fs = *static_cast<Filesystem*>(fuse_req_userdata(req));
    fs.table_.Forget(nodeid, count);
    fuse_reply_none(req);
    fs.GiveMemoryBack(1);
  }

  static void OpForgetMulti(fuse_req_t req, size_t count, fuse_forget_data* forgets) {
    Filesystem& fs = *static_cast<Filesystem*>(fuse_req_userdata(req));
    for (size_t i = 0; i < count; ++i) fs.table_.Forget(forgets[i].ino, forgets[i].nlookup);
    fuse_reply_none(req);
    fs.GiveMemoryBack(count);
  }

  static void OpGetattr(fuse_req_t req, fuse_ino_t nodeid, fuse_file_info*) {
    Guard(req, &Counts::getattr, [&](Filesystem& fs, Request& request) -> Status {
      NDLFS_TRY(const auto inode, Find(fs, nodeid));
      NDLFS_TRY(const auto attributes, AsNode(inode).Stat());
      const struct ::stat status = ToStat(fs.options_, inode.ino, attributes);
      const double timeout = AsNode(inode).IsVolatile() ? 0 : fs.options_.timeout;
      fuse_reply_attr(request.Answer(), &status, timeout);
      return {};
    });
  }

  static void OpReadlink(fuse_req_t req, fuse_ino_t nodeid) {
    Guard(req, &Counts::other, [&](Filesystem& fs, Request& request) -> Status {
      NDLFS_TRY(const auto inode, Find(fs, nodeid));
      NDLFS_TRY(const auto target, AsNode(inode).ReadLink());
      fuse_reply_readlink(request.Answer(), target.c_str());
      return {};
    });
  }

  static void OpOpen(fuse_req_t req, fuse_ino_t nodeid, fuse_file_info* fi) {
    Guard(req, &Counts::open, [&](Filesystem& fs, Request& request) -> Status {
      const bool reads = (fi->flags & O_ACCMODE) == O_RDONLY && (fi->flags & O_TRUNC) == 0;
      if (!reads) return IoError(EROFS, "open");
      NDLFS_TRY(const auto inode, Find(fs, nodeid));
      NDLFS_TRY(auto opened, AsNode(inode).Open());
      if (fs.on_first_open_) std::call_once(fs.first_open_, fs.on_first_open_);
      // A node is one version of a file: its pages stay true.
      fi->keep_cache = !opened.size_unknown;
      fi->direct_io = opened.size_unknown;
      opened.opener = backends::CallerScope::Current();
      const uint64_t handle = fs.files_.Add(std::make_unique<OpenedFile>(std::move(opened)));
      fi->fh = handle;
      if (fuse_reply_open(request.Answer(), fi) != 0) fs.files_.Remove(handle);
      return {};
    });
  }

  static void OpRead(fuse_req_t req, fuse_ino_t, size_t size, off_t offset,
                     fuse_file_info* fi) {
    Filesystem& fs = *static_cast<Filesystem*>(fuse_req_userdata(req));
    // The kernel names an owner where it reads past its pages, and only there.
    const bool is_direct = fi->lock_owner != 0;
    const auto read = [req, size, offset, handle = fi->fh, is_direct, arrival = Clock::now()] {
      Read(req, handle, size, offset, is_direct, arrival);
    };
    try {
      fs.turns_.Run(fuse_req_ctx(req)->uid, read);
    } catch (const std::bad_alloc&) {  // it was neither run nor left waiting
      fuse_reply_err(req, ENOMEM);
    }
  }

  // The kernel does not release a file as long as a read of it is unanswered.
  static void Read(fuse_req_t req, uint64_t handle, size_t size, off_t offset, bool is_direct,
                   Clock::time_point arrival) {
    const OpenedFile& file = HandleSet<OpenedFile>::Get(handle);
    Guard(
        req, &Counts::read, file.opener,
        [&](Filesystem& fs, Request& request) -> Status {
          const backends::ByteSpan out = ThreadBuffer(size);
          auto count = file.handle->Read(static_cast<uint64_t>(offset), out);
          if (!count && is_direct && ToErrno(count.error()) != ESTALE) {
            const size_t sound =
                ReadSoundPages(*file.handle, static_cast<uint64_t>(offset), out);
            if (sound != 0) count = sound;
          }
          if (!count) {
            // Whatever a read fails with, somebody got less than there is.
            if (IsOrdinary(ToErrno(count.error()))) Complain(fs, count.error().message());
            return model::Propagate(std::move(count).error());
          }
          fs.counts_.bytes_read.fetch_add(*count, std::memory_order_relaxed);
          fuse_reply_buf(request.Answer(), reinterpret_cast<const char*>(out.data()), *count);
          return {};
        },
        arrival);
  }

  // Of a read that failed, the bytes before the first page that cannot be read.
  // For pages of its own the kernel does that itself, page by page, and takes
  // fewer bytes than it asked for as the end of the file.
  static size_t ReadSoundPages(const FileHandle& handle, uint64_t offset,
                               backends::ByteSpan out) {
    size_t sound = 0;
    while (sound < out.size()) {
      const size_t to_border = kPageSize - (offset + sound) % kPageSize;
      const auto page = out.subspan(sound, std::min(to_border, out.size() - sound));
      const auto count = handle.Read(offset + sound, page);
      if (!count) break;
      sound += *count;
      if (*count < page.size()) break;
    }
    return sound;
  }

  static void OpRelease(fuse_req_t req, fuse_ino_t, fuse_file_info* fi) {
    Guard(req, &Counts::other, [&](Filesystem& fs, Request& request) -> Status {
      fs.files_.Remove(fi->fh);
      fuse_reply_err(request.Answer(), 0);
      return {};
    });
  }

  static void OpOpendir(fuse_req_t req, fuse_ino_t nodeid, fuse_file_info* fi) {
    Guard(req, &Counts::readdir, [&](Filesystem& fs, Request& request) -> Status {
      NDLFS_TRY(auto inode, Find(fs, nodeid));
      NDLFS_TRY(auto reader, AsNode(inode).OpenDirectory());
      const bool keep = fs.options_.immutable && !AsNode(inode).MayChange(".") &&
                        !AsNode(inode).DependsOnCaller();
      fi->cache_readdir = fi->keep_cache = keep;
      const uint64_t handle = fs.directories_.Add(std::make_unique<DirectoryHandle>(
          std::move(inode), std::move(reader), backends::CallerScope::Current()));
      fi->fh = handle;
      if (fuse_reply_open(request.Answer(), fi) != 0) fs.directories_.Remove(handle);
      return {};
    });
  }

  static void OpReaddir(fuse_req_t req, fuse_ino_t, size_t size, off_t offset,
                        fuse_file_info* fi) {
    auto& directory = HandleSet<DirectoryHandle>::Get(fi->fh);
    Guard(req, &Counts::readdir, directory.opener(),
          [&](Filesystem& fs, Request& request) -> Status {
            std::vector<char> buffer(size);
            size_t used = 0;
            const auto take = [&](const DirectoryEntry& entry, uint64_t next) {
              const struct ::stat status = EntryStat(fs, directory.inode(), entry);
              const size_t needed =
                  fuse_add_direntry(req, buffer.data() + used, size - used, entry.name.c_str(),
                                    &status, static_cast<off_t>(next));
              if (needed > size - used) return false;
              used += needed;
              return true;
            };
            NDLFS_RETURN_IF_ERROR(directory.Visit(static_cast<uint64_t>(offset), take));
            fuse_reply_buf(request.Answer(), buffer.data(), used);
            return {};
          });
  }

  // Of an entry only the inode number and the type are asked for.
  static struct ::stat EntryStat(const Filesystem& fs, const InodeTable::Inode& directory,
                                 const DirectoryEntry& entry) {
    struct ::stat status = {};
    status.st_mode = entry.type;
    if (entry.name == ".") {
      status.st_ino = directory.ino;
    } else if (entry.name == "..") {
      status.st_ino = directory.parent_ino;
    } else {
      status.st_ino = fs.table_.InoOf(directory.ino, entry.name);
    }
    return status;
  }

  static void OpReleasedir(fuse_req_t req, fuse_ino_t, fuse_file_info* fi) {
    Guard(req, &Counts::other, [&](Filesystem& fs, Request& request) -> Status {
      fs.directories_.Remove(fi->fh);
      fuse_reply_err(request.Answer(), 0);
      return {};
    });
  }

  static void OpStatfs(fuse_req_t req, fuse_ino_t) {
    Guard(req, &Counts::other, [&](Filesystem& fs, Request& request) -> Status {
      struct statvfs status = {};
      if (fs.options_.source) {
        NDLFS_TRY(const auto fd, fs.options_.source->OpenBeneath("", O_PATH));
        if (::fstatvfs(fd.get(), &status) != 0) return IoError(errno, "statfs");
      }
      status.f_namemax = 255;
      fuse_reply_statfs(request.Answer(), &status);
      return {};
    });
  }

  static void OpGetxattr(fuse_req_t req, fuse_ino_t nodeid, const char* name, size_t size) {
    const std::string_view wanted = name;
    if (!wanted.starts_with("user.")) {
      // `ls -l` asks for two or three of other namespaces for each file.
      const Timer timer(static_cast<Filesystem*>(fuse_req_userdata(req))->counts_.other);
      fuse_reply_err(req, ENODATA);
      return;
    }
    Guard(req, &Counts::other, [&](Filesystem& fs, Request& request) -> Status {
      NDLFS_TRY(const auto inode, Find(fs, nodeid));
      NDLFS_TRY(const auto attributes, AsNode(inode).GetExtendedAttributes());
      for (const auto& [known, value] : attributes) {
        if (known == wanted) return SizedReply(request, value, size);
      }
      return IoError(ENODATA, "getxattr");
    });
  }

  static void OpListxattr(fuse_req_t req, fuse_ino_t nodeid, size_t size) {
    Guard(req, &Counts::other, [&](Filesystem& fs, Request& request) -> Status {
      NDLFS_TRY(const auto inode, Find(fs, nodeid));
      NDLFS_TRY(const auto attributes, AsNode(inode).GetExtendedAttributes());
      std::string names;
      for (const auto& [name, value] : attributes) (names += name) += '\0';
      return SizedReply(request, names, size);
    });
  }

  static void OpAccess(fuse_req_t req, fuse_ino_t, int mask) {
    fuse_reply_err(req, (mask & W_OK) != 0 ? EROFS : 0);
  }

  // What would change something.
  template <typename... Args>
  static void Refuse(fuse_req_t req, Args...) {
    fuse_reply_err(req, EROFS);
  }
};

Filesystem::Filesystem(TreeNodePtr root, FilesystemOptions options, Report report)
    : options_(std::move(options)),
      report_(std::move(report)),
      table_(std::move(root)),
      turns_(options_.reads_at_once, options_.most_reads) {}

// Left to itself, malloc keeps what lies between blocks that are still in use,
// and the size stays that of the largest tree that was ever walked. Looking at
// all of the heap takes some milliseconds: not for a few names.
void Filesystem::GiveMemoryBack(size_t forgotten) {
  constexpr size_t kMany = 10'000;
  if (forgotten_.fetch_add(forgotten) + forgotten < kMany) return;
  forgotten_ = 0;
  ::malloc_trim(0);
}

const fuse_lowlevel_ops& Filesystem::Operations() {
  static const fuse_lowlevel_ops operations = [] {
    fuse_lowlevel_ops ops = {};
    ops.init = &Handlers::OpInit;
    ops.lookup = &Handlers::OpLookup;
    ops.forget = &Handlers::OpForget;
    ops.forget_multi = &Handlers::OpForgetMulti;
    ops.getattr = &Handlers::OpGetattr;
    ops.readlink = &Handlers::OpReadlink;
    ops.open = &Handlers::OpOpen;
    ops.read = &Handlers::OpRead;
    ops.release = &Handlers::OpRelease;
    ops.opendir = &Handlers::OpOpendir;
    ops.readdir = &Handlers::OpReaddir;
    ops.releasedir = &Handlers::OpReleasedir;
    ops.statfs = &Handlers::OpStatfs;
    ops.getxattr = &Handlers::OpGetxattr;
    ops.listxattr = &Handlers::OpListxattr;
    ops.access = &Handlers::OpAccess;
    ops.setattr = &Handlers::Refuse;
    ops.mknod = &Handlers::Refuse;
    ops.mkdir = &Handlers::Refuse;
    ops.unlink = &Handlers::Refuse;
    ops.rmdir = &Handlers::Refuse;
    ops.symlink = &Handlers::Refuse;
    ops.rename = &Handlers::Refuse;
    ops.link = &Handlers::Refuse;
    ops.create = &Handlers::Refuse;
    ops.write = &Handlers::Refuse;
    ops.setxattr = &Handlers::Refuse;
    ops.removexattr = &Handlers::Refuse;
    ops.fallocate = &Handlers::Refuse;
    return ops;
  }();
  return operations;
}

}  // namespace ndlfs::fs
