// SPDX-License-Identifier: MIT
#include "fs/fuse/operations.h"

#include <sys/statvfs.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <exception>
#include <new>
#include <string>
#include <vector>

#include "backends/base/heap.h"
#include "backends/store/request_context.h"
#include "fs/fuse/directory_reply.h"
#include "fs/fuse/entries.h"
#include "fs/fuse/errno.h"
#include "fs/fuse/fuse.h"
#include "fs/fuse/init_answer.h"
#include "fs/fuse/pending_request.h"
#include "fs/tree/xattr.h"
#include "model/memory_budget.h"

namespace ndlfs::fs {
namespace {

using model::IoError;
using Status = model::Result<void>;
using Counts = OperationCounts;
using Request = PendingRequest;

// Requests of the kernel, and beyond this number it reads no further ahead. Where an ordinary
// user mounts, the kernel allows fewer (max_user_bgreq).
constexpr unsigned kMaxBackground = 32'768;
constexpr unsigned kMaxReadAhead = 256;

// The version of the protocol in which the kernel may offer passthrough: Linux 6.9.
constexpr unsigned kMinorOfPassthrough = 40;

// The answer to an open, as in linux/fuse.h of Linux 6.9; libfuse 3.14 has no name for the last
// field.
struct OpenAnswer {
  uint64_t fh;
  uint32_t open_flags;
  int32_t backing_id;
};
constexpr uint32_t kOpenDirect = 1 << 0;       // FOPEN_DIRECT_IO
constexpr uint32_t kOpenKeepCache = 1 << 1;    // FOPEN_KEEP_CACHE
constexpr uint32_t kOpenPassthrough = 1 << 7;  // FOPEN_PASSTHROUGH

// The kernel keeps files in pages of this size, or of a multiple.
constexpr size_t kPageSize = 4096;

// Failures that are answers to a question rather than trouble with the source.
bool IsOrdinary(int error) {
  constexpr int kOrdinary[] = {ENOENT, ENOTDIR,      EISDIR,  EINVAL, ENXIO,
                               ESTALE, EROFS,        EACCES,  EPERM,  ELOOP,
                               EXDEV,  ENAMETOOLONG, ENODATA, ERANGE, EOPNOTSUPP};
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
  if (size != 0 && value.size() > size) return IoError(ERANGE, "xattr");
  request.Answer([&](fuse_req_t req) {
    return size == 0 ? fuse_reply_xattr(req, value.size())
                     : fuse_reply_buf(req, value.data(), value.size());
  });
  return {};
}

}  // namespace

struct Handlers {
  // A request with the operation that answers it.
  template <typename Operation>
  class OperationRequest final : public Request {
   public:
    template <typename... Args>
    OperationRequest(Operation operation, Args&&... args)
        : Request(std::forward<Args>(args)...), operation_(std::move(operation)) {
      ListenToInterrupts();
    }
    void Run() override { Guard(*this, operation_); }
    // Some operations want to know that the time is over, before the kernel does.
    void Refuse(int error) override {
      if constexpr (requires(const Operation& operation) { operation.BeforeLate(); }) {
        if (error == ETIMEDOUT && !is_answered()) operation_.BeforeLate();
      }
      Request::Refuse(error);
    }

   private:
    const Operation operation_;
  };

  // Runs `operation` when its turn has come, and answers for it where it did not: with the
  // error that it returns, or with EIO for what should not have been thrown. As this may be on
  // another thread, and later, the operation holds what it needs itself.
  template <typename Operation>
  static void Queue(fuse_req_t req, RequestTimes Counts::*kind, Lane lane, fuse_ino_t nodeid,
                    Operation operation, std::optional<backends::CallerPtr> opener = {}) {
    Filesystem& fs = *static_cast<Filesystem*>(fuse_req_userdata(req));
    const auto request = Make(req, fs.counts_.*kind, lane, nodeid, std::move(operation));
    if (request == nullptr) return;
    if (opener) request->set_opener(*std::move(opener));
    RunQueued(fs, request);
  }

  // The same for operations that neither wait nor make others wait.
  template <typename Operation>
  static void RunAtOnce(fuse_req_t req, RequestTimes Counts::*kind, fuse_ino_t nodeid,
                        Operation operation) {
    Filesystem& fs = *static_cast<Filesystem*>(fuse_req_userdata(req));
    const auto request = Make(req, fs.counts_.*kind, Lane::kLook, nodeid, std::move(operation));
    if (request != nullptr) request->Run();
  }

  // Null if there is no memory; the request has been answered then.
  template <typename Operation>
  static std::shared_ptr<Request> Make(fuse_req_t req, RequestTimes& times, Lane lane,
                                       fuse_ino_t nodeid, Operation operation) {
    try {
      return std::make_shared<OperationRequest<Operation>>(std::move(operation), req, times,
                                                           lane, nodeid);
    } catch (const std::bad_alloc&) {
      fuse_reply_err(req, ENOMEM);
      return nullptr;
    }
  }

  // Goes on with `request` in another lane.
  template <typename Operation>
  static void Continue(Request& request, Lane lane, Operation operation) {
    RunQueued(request.fs(), std::make_shared<OperationRequest<Operation>>(std::move(operation),
                                                                          request, lane));
  }

  static void RunQueued(Filesystem& fs, const std::shared_ptr<Request>& request) {
    try {
      fs.queue_.Run(request);
    } catch (const std::bad_alloc&) {  // it was neither run nor left waiting
      request->AnswerError(ENOMEM);
    }
  }

  // Null where all is read as the user who has mounted.
  static backends::CallerPtr CallerOf(const Request& request) {
    Filesystem& fs = request.fs();
    if (!fs.options_.queue.shared) return nullptr;
    if (request.opener()) return *request.opener();
    const fuse_ctx& context = request.context();
    return fs.callers_.Find(context.uid, context.gid, context.pid);
  }

  template <typename Operation>
  static void Guard(Request& request, const Operation& operation) {
    if (request.is_answered()) return;  // while it waited
    Filesystem& fs = request.fs();
    int error = EIO;
    try {
      const backends::RequestContext::Scope scope(
          {CallerOf(request), request.cancellation(), /*looks_anew=*/false});
      const Status status = operation(fs, request);
      if (status) return;
      error = ToErrno(status.error());
      if (!IsOrdinary(error) && !request.is_answered()) fs.Complain(status.error().message());
    } catch (const std::bad_alloc&) {
      error = ENOMEM;
    } catch (const std::exception& exception) {
      fs.Complain(exception.what());
    } catch (...) {
      fs.Complain("unknown exception");
    }
    request.AnswerError(error);
  }

  static model::Result<InodeTable::Inode> Find(Filesystem& fs, fuse_ino_t nodeid) {
    return WithObject(fs, nodeid, fs.table_.Find(nodeid));
  }

  // `inode`, as the table has it, with its object.
  static model::Result<InodeTable::Inode> WithObject(Filesystem& fs, fuse_ino_t nodeid,
                                                     std::optional<InodeTable::Inode> inode) {
    if (inode && inode->object == nullptr) inode = MakeListed(fs, nodeid);
    if (!inode) return model::Stale("lookup: it has changed");
    return *std::move(inode);
  }

  // The attributes of a file that only a listing has told so far, if it would tell that version
  // again. A program that walks through a tree twice asks for the attributes of every file in
  // it; no node is made and kept for that.
  static std::optional<Attributes> StatListed(Filesystem& fs, const InodeTable::Inode& inode) {
    if (inode.object) return std::nullopt;
    const auto path = fs.table_.PathOf(inode.nodeid);
    const auto parent = fs.table_.FindParent(inode.nodeid);
    if (!path || path->empty() || !parent) return std::nullopt;
    const auto listed = AsNode(*parent).FindListed(path->back());
    if (!listed || listed->version.facts != inode.listed_facts) return std::nullopt;
    return listed->attributes;
  }

  // The node of a file that only a listing has told so far; nullopt if that version of it is
  // gone.
  static std::optional<InodeTable::Inode> MakeListed(Filesystem& fs, fuse_ino_t nodeid) {
    const auto path = fs.table_.PathOf(nodeid);
    if (!path || path->empty()) return std::nullopt;
    const auto parent = fs.table_.FindParent(nodeid);
    auto node = parent ? AsNode(*parent).Lookup(path->back()) : FindByPath(fs, *path);
    if (!node) return std::nullopt;
    return fs.table_.Complete(nodeid, *std::move(node));
  }

  static void OpInit(void* userdata, fuse_conn_info* conn) {
    auto& fs = *static_cast<Filesystem*>(userdata);
    constexpr unsigned kWanted =
        FUSE_CAP_PARALLEL_DIROPS | FUSE_CAP_CACHE_SYMLINKS | FUSE_CAP_EXPORT_SUPPORT;
    conn->want |= conn->capable & kWanted;
    // With asynchronous direct I/O, one failed request of a read would fail the whole read, and
    // the bytes that could be read before it would be lost.
    conn->want &= ~static_cast<unsigned>(FUSE_CAP_ASYNC_DIO);
    // Reads through the page cache are "background" requests, even those that a program waits
    // for. The queue needs to see all of them, because the kernel hands them out in the order
    // of their arrival, whichever user they belong to.
    conn->max_background = kMaxBackground;
    conn->congestion_threshold = kMaxReadAhead;
    conn->time_gran = 1;
    if (fs.on_ready_) fs.on_ready_();
    InitWishes wishes = {.parallel_lookups = (conn->capable & FUSE_CAP_PARALLEL_DIROPS) != 0};
    if (fs.device_ >= 0 && conn->proto_minor >= kMinorOfPassthrough) {
      wishes.passthrough = true;
      fs.passthrough_.Begin(fs.device_);
    }
    NoteInit(wishes);
  }

  static void OpLookup(fuse_req_t req, fuse_ino_t parent, const char* name) {
    Queue(req, &Counts::lookup, Lane::kLook, parent,
          [parent, wanted = std::string(name)](Filesystem& fs, Request& request) -> Status {
            if (wanted == "." || wanted == "..") {
              return ReplyByHandle(fs, request, parent, wanted == "..");
            }
            NDLFS_TRY(const auto directory, Find(fs, parent));
            auto node = AsNode(directory).Lookup(wanted);
            if (node && (*node)->StatCost() != TreeNode::Cost::kNothing) {
              FindSizeLater(request, directory, wanted, *std::move(node));
              return {};
            }
            return ReplyLookup(fs, request, directory, wanted, std::move(node));
          });
  }

  // A server of NFS has a nodeid out of a file handle, and asks what it stands for, or
  // what it is in. The kernel may have forgotten both.
  static Status ReplyByHandle(Filesystem& fs, Request& request, fuse_ino_t nodeid,
                              bool wants_parent) {
    auto path = fs.table_.PathOf(nodeid);
    if (!path || (wants_parent && path->empty())) return IoError(ESTALE, "lookup by handle");
    auto inode = wants_parent ? std::nullopt : fs.table_.LookupAgain(nodeid);
    if (inode && inode->object == nullptr && !(inode = MakeListed(fs, nodeid))) {
      fs.table_.Forget(nodeid, 1);
      return IoError(ESTALE, "lookup by handle");
    }
    if (!inode) {
      if (wants_parent) path->pop_back();
      auto node = FindByPath(fs, *path);
      if (!node && ToErrno(node.error()) == ENOENT) return IoError(ESTALE, "lookup by handle");
      if (!node) return model::Propagate(std::move(node).error());
      inode = wants_parent ? fs.table_.LookupParent(nodeid, *std::move(node))
                           : fs.table_.Revive(nodeid, *std::move(node));
    }
    if (!inode) return IoError(ESTALE, "lookup by handle");
    return ReplyKnown(fs, request, *inode);
  }

  static model::Result<TreeNodePtr> FindByPath(const Filesystem& fs,
                                               const std::vector<std::string>& names) {
    auto node = fs.table_.Find(InodeTable::kRoot)->object;
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
    if (!AnswerEntry(request, entry)) fs.table_.Forget(inode.nodeid, 1);
    return {};
  }

  // A request that decodes as much as a read takes turns with reads. A request that decodes
  // much more would keep all processors busy for a while, so reads go on meanwhile.
  static void FindSizeLater(Request& request, const InodeTable::Inode& directory,
                            const std::string& name, TreeNodePtr node) {
    const bool is_long = node->StatCost() == TreeNode::Cost::kScan;
    Continue(request, is_long ? Lane::kScan : Lane::kRead,
             [directory, name, node = std::move(node)](Filesystem& fs, Request& later) {
               return ReplyLookup(fs, later, directory, name, node);
             });
  }

  static Status ReplyLookup(Filesystem& fs, Request& request,
                            const InodeTable::Inode& directory, const std::string& name,
                            model::Result<TreeNodePtr> node) {
    Status status;
    if (node) {
      status = ReplyEntry(fs, request, directory, name, *std::move(node));
    } else {
      status = model::Propagate(std::move(node).error());
    }
    if (status || ToErrno(status.error()) != ENOENT) return status;
    fuse_entry_param nothing = {};  // the kernel remembers that, too
    nothing.entry_timeout =
        AsNode(directory).DependsOnCaller() ? 0 : TimeoutOf(fs.options_, directory, name);
    AnswerEntry(request, nothing);
    return {};
  }

  static bool AnswerEntry(Request& request, const fuse_entry_param& entry) {
    return request.Answer([&](fuse_req_t req) { return fuse_reply_entry(req, &entry); });
  }

  static Status ReplyEntry(Filesystem& fs, Request& request, const InodeTable::Inode& parent,
                           std::string_view name, TreeNodePtr node) {
    NDLFS_TRY(const auto entry,
              CountLookup(fs.options_, fs.table_, parent, name, std::move(node)));
    if (S_ISREG(entry.attr.st_mode) && AsNode(parent).ListsAttributesOf(S_IFREG)) {
      fs.lookup_habits_.NoteLookup(request.context().pid);
    }
    // A caller that was interrupted, or has waited for too long, has not got the nodeid, and so
    // will not forget it.
    if (!AnswerEntry(request, entry)) fs.table_.Forget(entry.ino, 1);
    fs.NoteFound();
    return {};
  }

  static void OpForget(fuse_req_t req, fuse_ino_t nodeid, uint64_t count) {
    Filesystem& fs = *static_cast<Filesystem*>(fuse_req_userdata(req));
    fs.table_.Forget(nodeid, count);
    fuse_reply_none(req);
    fs.NoteForgotten(1);
  }

  static void OpForgetMulti(fuse_req_t req, size_t count, fuse_forget_data* forgets) {
    Filesystem& fs = *static_cast<Filesystem*>(fuse_req_userdata(req));
    for (size_t i = 0; i < count; ++i) fs.table_.Forget(forgets[i].ino, forgets[i].nlookup);
    fuse_reply_none(req);
    fs.NoteForgotten(count);
  }

  static Status ReplyAttributes(Filesystem& fs, Request& request, uint64_t ino,
                                const Attributes& attributes, double timeout) {
    const struct ::stat status = ToStat(fs.options_, ino, attributes);
    request.Answer([&](fuse_req_t r) { return fuse_reply_attr(r, &status, timeout); });
    return {};
  }

  static void OpGetattr(fuse_req_t req, fuse_ino_t nodeid, fuse_file_info*) {
    Queue(req, &Counts::getattr, Lane::kLook, nodeid,
          [nodeid](Filesystem& fs, Request& request) -> Status {
            auto known = fs.table_.Find(nodeid);
            if (known) {
              if (const auto listed = StatListed(fs, *known)) {
                return ReplyAttributes(fs, request, known->ino, *listed, fs.options_.timeout);
              }
            }
            NDLFS_TRY(const auto inode, WithObject(fs, nodeid, std::move(known)));
            NDLFS_TRY(const auto attributes, AsNode(inode).Stat());
            const double timeout = AsNode(inode).IsVolatile() ? 0 : fs.options_.timeout;
            return ReplyAttributes(fs, request, inode.ino, attributes, timeout);
          });
  }

  static void OpReadlink(fuse_req_t req, fuse_ino_t nodeid) {
    Queue(
        req, &Counts::other, Lane::kLook, nodeid,
        [nodeid](Filesystem& fs, Request& request) -> Status {
          NDLFS_TRY(const auto inode, Find(fs, nodeid));
          NDLFS_TRY(const auto target, AsNode(inode).ReadLink());
          request.Answer([&](fuse_req_t r) { return fuse_reply_readlink(r, target.c_str()); });
          return {};
        });
  }

  static void OpOpen(fuse_req_t req, fuse_ino_t nodeid, fuse_file_info* fi) {
    Queue(req, &Counts::open, Lane::kLook, nodeid,
          [nodeid, info = *fi](Filesystem& fs, Request& request) -> Status {
            const bool reads =
                (info.flags & O_ACCMODE) == O_RDONLY && (info.flags & O_TRUNC) == 0;
            if (!reads) return IoError(EROFS, "open");
            NDLFS_TRY(const auto inode, Find(fs, nodeid));
            // Limits concern the caller alone, and are no trouble with the source.
            auto place = fs.open_limits_.Take(request.user());
            if (!place) return AnswerRefusal(request, EMFILE);
            NDLFS_TRY(auto opened, AsNode(inode).Open());
            if (!place->Keep(opened.handle->kept())) return AnswerRefusal(request, ENOMEM);
            if (fs.on_first_open_) std::call_once(fs.first_open_, fs.on_first_open_);
            ReplyOpen(request, nodeid, info, std::move(opened), *std::move(place));
            return {};
          });
  }

  static void ReplyOpen(Request& request, fuse_ino_t nodeid, const fuse_file_info& info,
                        OpenedFile opened, OpenLimits::Place place) {
    Filesystem& fs = request.fs();
    auto way = fs.passthrough_.Enter(nodeid, opened.handle->descriptor());
    OpenAnswer answer = {.fh = 0, .open_flags = 0, .backing_id = way.backing_id()};
    if (way.backing_id() != 0) {
      answer.open_flags = kOpenPassthrough;
      // Here O_DIRECT works at any place and length; that of the file below may not.
      if ((info.flags & O_DIRECT) != 0) answer.open_flags |= kOpenDirect;
      fs.counts_.passed_through.fetch_add(1, std::memory_order_relaxed);
    } else {
      // A node is one version of a file: its pages stay true.
      answer.open_flags = opened.size_unknown ? kOpenDirect : kOpenKeepCache;
    }
    answer.fh = fs.files_.Add(std::make_shared<OpenFile>(
        std::move(opened), backends::CallerScope::Current(), std::move(place), std::move(way)));
    const bool is_open = request.Answer([&](fuse_req_t req) {
      return fuse_reply_buf(req, reinterpret_cast<const char*>(&answer), sizeof(answer));
    });
    if (!is_open) fs.files_.Remove(answer.fh);
  }

  static Status AnswerRefusal(Request& request, int error) {
    request.AnswerError(error);
    return {};
  }

  static bool AnswerOpen(Request& request, const fuse_file_info& info) {
    return request.Answer([&](fuse_req_t req) { return fuse_reply_open(req, &info); });
  }

  static void OpRead(fuse_req_t req, fuse_ino_t nodeid, size_t size, off_t offset,
                     fuse_file_info* fi) {
    // The kernel names an owner where it reads past its pages, and only there.
    const bool is_direct = fi->lock_owner != 0;
    const auto file = HandleSet<OpenFile>::Get(fi->fh);
    const auto begin = static_cast<uint64_t>(offset);
    if (!is_direct && file->late.Take(begin, size, Request::Clock::now())) {
      return RunAtOnce(req, &Counts::read, nodeid, [](Filesystem&, Request& request) -> Status {
        return AnswerRefusal(request, ETIMEDOUT);
      });
    }
    Queue(req, &Counts::read, Lane::kRead, nodeid, ReadOperation{file, size, begin, is_direct},
          file->opener);
  }

  // The kernel asks for SEEK_DATA and SEEK_HOLE only.
  static void OpLseek(fuse_req_t req, fuse_ino_t nodeid, off_t offset, int whence,
                      fuse_file_info* fi) {
    const auto file = HandleSet<OpenFile>::Get(fi->fh);
    Queue(req, &Counts::other, Lane::kLook, nodeid,
          [nodeid, offset, whence, file](Filesystem& fs, Request& request) -> Status {
            if (offset < 0) return AnswerRefusal(request, ENXIO);
            const auto begin = static_cast<uint64_t>(offset);
            const bool is_data = whence == SEEK_DATA;
            auto found = file->handle->Seek(
                begin, is_data ? FileHandle::Content::kData : FileHandle::Content::kHole);
            if (!found && found.error().code() == model::ErrorCode::kUnsupported) {
              NDLFS_TRY(const auto inode, Find(fs, nodeid));
              NDLFS_TRY(const auto attributes, AsNode(inode).Stat());
              found = std::optional<uint64_t>();
              if (begin < *attributes.size) found = is_data ? begin : *attributes.size;
            }
            if (!found) return model::Propagate(std::move(found).error());
            if (!*found) return AnswerRefusal(request, ENXIO);
            request.Answer(
                [&](fuse_req_t r) { return fuse_reply_lseek(r, static_cast<off_t>(**found)); });
            return {};
          });
  }

  struct ReadOperation {
    std::shared_ptr<OpenFile> file;
    size_t size;
    uint64_t offset;
    bool is_direct;

    Status operator()(Filesystem& fs, Request& request) const {
      Status status = Read(fs, request, *file, size, offset, is_direct);
      // A server that does not answer may be given up a little earlier than the request.
      const bool is_late = !status && ToErrno(status.error()) == ETIMEDOUT;
      if (is_late && !request.is_answered()) BeforeLate();
      return status;
    }
    void BeforeLate() const noexcept {
      try {
        if (!is_direct) file->late.Note(offset, size, Request::Clock::now());
      } catch (const std::bad_alloc&) {  // the program waits once more
      }
    }
  };

  static Status Read(Filesystem& fs, Request& request, const OpenFile& file, size_t size,
                     uint64_t offset, bool is_direct) {
    const backends::ByteSpan out = ThreadBuffer(size);
    auto count = file.handle->Read(offset, out);
    if (request.is_answered()) return {};
    const bool is_whole = static_cast<bool>(count);
    if (!count && is_direct && ToErrno(count.error()) != ESTALE) {
      const size_t sound = ReadSoundPages(*file.handle, offset, out);
      if (sound != 0) count = sound;
    }
    if (!count) {
      // Even errors that are ordinary elsewhere mean here that a program got less than there
      // is.
      if (IsOrdinary(ToErrno(count.error()))) fs.Complain(count.error().message());
      return model::Propagate(std::move(count).error());
    }
    fs.counts_.bytes_read.fetch_add(*count, std::memory_order_relaxed);
    request.Answer([&](fuse_req_t req) {
      return fuse_reply_buf(req, reinterpret_cast<const char*>(out.data()), *count);
    });
    if (is_whole) file.handle->Delivered(offset, out.first(*count));
    return {};
  }

  // After a failed read, reads the bytes before the first page that cannot be read. The kernel
  // does this itself for pages of the page cache, page by page; there it would take fewer bytes
  // than it asked for as the end of the file.
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

  static void OpRelease(fuse_req_t req, fuse_ino_t nodeid, fuse_file_info* fi) {
    RunAtOnce(req, &Counts::other, nodeid,
              [handle = fi->fh](Filesystem& fs, Request& request) -> Status {
                fs.files_.Remove(handle);
                request.AnswerError(0);
                return {};
              });
  }

  static void OpOpendir(fuse_req_t req, fuse_ino_t nodeid, fuse_file_info* fi) {
    Queue(req, &Counts::readdir, Lane::kLook, nodeid,
          [nodeid, info = *fi](Filesystem& fs, Request& request) -> Status {
            NDLFS_TRY(auto inode, Find(fs, nodeid));
            auto place = fs.open_limits_.Take(request.user());
            if (!place) return AnswerRefusal(request, EMFILE);
            NDLFS_TRY(auto reader, AsNode(inode).OpenDirectory());
            if (!place->Keep(reader->kept())) return AnswerRefusal(request, ENOMEM);
            const bool keep = fs.options_.immutable && !AsNode(inode).MayChange(".") &&
                              !AsNode(inode).DependsOnCaller();
            fuse_file_info answer = info;
            answer.cache_readdir = answer.keep_cache = keep;
            answer.fh = fs.directories_.Add(std::make_shared<DirectoryHandle>(
                std::move(inode), std::move(reader), backends::CallerScope::Current(),
                *std::move(place)));
            if (!AnswerOpen(request, answer)) fs.directories_.Remove(answer.fh);
            return {};
          });
  }

  static void OpReaddir(fuse_req_t req, fuse_ino_t nodeid, size_t size, off_t offset,
                        fuse_file_info* fi) {
    QueueListing(req, nodeid, size, offset, fi, DirectoryReply::Form::kNames);
  }

  static void OpReaddirplus(fuse_req_t req, fuse_ino_t nodeid, size_t size, off_t offset,
                            fuse_file_info* fi) {
    QueueListing(req, nodeid, size, offset, fi, DirectoryReply::Form::kWithAttributes);
  }

  static void QueueListing(fuse_req_t req, fuse_ino_t nodeid, size_t size, off_t offset,
                           fuse_file_info* fi, DirectoryReply::Form form) {
    const auto directory = HandleSet<DirectoryHandle>::Get(fi->fh);
    Queue(
        req, &Counts::readdir, Lane::kLook, nodeid,
        [directory, size, offset, form](Filesystem& fs, Request& request) -> Status {
          const auto from = static_cast<uint64_t>(offset);
          const bool finds_attributes = form == DirectoryReply::Form::kWithAttributes &&
                                        WantsAttributes(fs, request, from);
          DirectoryReply reply(fs.options_, fs.table_, directory->inode(), size, form,
                               finds_attributes);
          NDLFS_RETURN_IF_ERROR(directory->Visit(
              from, [&](const auto& entry, uint64_t next) { return reply.Add(entry, next); }));
          reply.Send(request);
          fs.NoteFound();
          return {};
        },
        directory->opener());
  }

  // The kernel asks for attributes at the beginning of each listing, and later only if entries
  // before have been looked up.
  static bool WantsAttributes(Filesystem& fs, const Request& request, uint64_t offset) {
    if (fs.options_.timeout == 0) return false;  // the kernel would not keep them
    return offset != 0 || fs.lookup_habits_.ExpectsLookups(request.context().pid);
  }

  static void OpReleasedir(fuse_req_t req, fuse_ino_t nodeid, fuse_file_info* fi) {
    RunAtOnce(req, &Counts::other, nodeid,
              [handle = fi->fh](Filesystem& fs, Request& request) -> Status {
                fs.directories_.Remove(handle);
                request.AnswerError(0);
                return {};
              });
  }

  static void OpStatfs(fuse_req_t req, fuse_ino_t nodeid) {
    Queue(req, &Counts::other, Lane::kLook, nodeid,
          [](Filesystem& fs, Request& request) -> Status {
            struct statvfs status = {};
            if (fs.options_.source) {
              NDLFS_TRY(const auto fd, fs.options_.source->OpenBeneath("", O_PATH));
              if (::fstatvfs(fd.get(), &status) != 0) return IoError(errno, "statfs");
            }
            status.f_namemax = 255;
            request.Answer([&](fuse_req_t r) { return fuse_reply_statfs(r, &status); });
            return {};
          });
  }

  static void OpGetxattr(fuse_req_t req, fuse_ino_t nodeid, const char* name, size_t size) {
    // `ls -l` asks for two of other namespaces for each file, until it hears that there is no
    // such namespace.
    if (!std::string_view(name).starts_with("user.")) {
      RunAtOnce(req, &Counts::other, nodeid, [](Filesystem&, Request&) -> Status {
        return IoError(EOPNOTSUPP, "getxattr");
      });
      return;
    }
    // One decodes an array, and one looks at each of its chunks.
    const std::string_view asked = name;
    const bool is_long = asked == kDigestName || asked == kCostName;
    const Lane lane = is_long ? Lane::kScan : Lane::kLook;
    Queue(
        req, &Counts::other, lane, nodeid,
        [nodeid, wanted = std::string(name), size](Filesystem& fs, Request& request) -> Status {
          NDLFS_TRY(const auto inode, Find(fs, nodeid));
          NDLFS_TRY(const auto value, AsNode(inode).GetExtendedAttribute(wanted));
          if (!value) return IoError(ENODATA, "getxattr");
          return SizedReply(request, *value, size);
        });
  }

  static void OpListxattr(fuse_req_t req, fuse_ino_t nodeid, size_t size) {
    Queue(req, &Counts::other, Lane::kLook, nodeid,
          [nodeid, size](Filesystem& fs, Request& request) -> Status {
            NDLFS_TRY(const auto inode, Find(fs, nodeid));
            NDLFS_TRY(const auto names, AsNode(inode).ListExtendedAttributes());
            std::string list;
            for (const std::string& name : names) (list += name) += '\0';
            return SizedReply(request, list, size);
          });
  }

  static void OpAccess(fuse_req_t req, fuse_ino_t, int mask) {
    fuse_reply_err(req, (mask & W_OK) != 0 ? EROFS : 0);
  }

  // The answer to every request that would change something.
  template <typename... Args>
  static void Refuse(fuse_req_t req, Args...) {
    fuse_reply_err(req, EROFS);
  }
};

Filesystem::Filesystem(TreeNodePtr root, FilesystemOptions options, Report report)
    : options_(std::move(options)),
      report_(std::move(report)),
      table_(std::move(root), options_.inode32 ? &HashPathTo32Bits : &HashPath),
      open_limits_({.shared = options_.queue.shared,
                    .most_open = options_.most_open,
                    .most_bytes = options_.most_open_bytes}),
      queue_(options_.queue) {}

void Filesystem::Complain(std::string_view line) noexcept {
  counts_.failed.fetch_add(1, std::memory_order_relaxed);
  try {
    if (report_) report_(line);
  } catch (...) {  // no memory to complain with
  }
}

// Left to itself, the allocator keeps what lies between blocks that are still in use,
// and the size stays that of the largest tree that was ever walked. Looking at
// all of the heap takes some milliseconds: not for a few names, and once for
// all that are forgotten together.
constexpr size_t kManyNames = 1000;
constexpr std::chrono::milliseconds kForgottenTogether{500};

void Filesystem::NoteForgotten(size_t count) {
  if (forgotten_.fetch_add(count) + count >= kManyNames && wake_) wake_(kForgottenTogether);
}

// The memory for names that the kernel knows. Left to itself, it forgets none while the machine
// has memory, and finds them again in microseconds.
static uint64_t MostNameBytes() {
  using model::MemoryBudget;
  return MemoryBudget::Share(MemoryBudget::Pool::kNames);
}
constexpr size_t kForgottenAtOnce = 4096;

void Filesystem::NoteFound() const {
  const uint64_t held = table_.held_bytes();
  model::MemoryBudget::Change(charged_.exchange(held), held);
  if (wake_forgetter_ && held > MostNameBytes()) wake_forgetter_(until_forgotten_.load());
}

std::optional<RequestQueue::Clock::duration> Filesystem::ForgetNames(fuse_session* session) {
  const uint64_t held = table_.held_bytes();
  const uint64_t most = MostNameBytes();
  if (held <= most) return std::nullopt;
  const auto names = table_.NamesToForget(held - most + most / 8, kForgottenAtOnce);
  size_t known = 0;
  for (const auto& [parent, name] : names) {
    const int error =
        fuse_lowlevel_notify_inval_entry(session, parent, name.data(), name.size());
    if (error == -ENOSYS) return std::nullopt;
    known += error == 0 ? 1 : 0;
  }
  // Open files and directories stay: looking for others at once would be for nothing.
  constexpr size_t kFew = 64;
  until_forgotten_ = known < kFew ? kUntilMoreAreKnown : kUntilForgotten;
  if (names.empty()) return std::nullopt;
  return until_forgotten_.load();
}

std::optional<RequestQueue::Clock::duration> Filesystem::Tick(
    RequestQueue::Clock::time_point now) {
  const auto again = queue_.Tick(now);
  if (forgotten_ >= kManyNames) {
    forgotten_ = 0;
    backends::GiveBackFreeMemory();
  }
  return again;
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
    ops.lseek = &Handlers::OpLseek;
    ops.release = &Handlers::OpRelease;
    ops.opendir = &Handlers::OpOpendir;
    ops.readdir = &Handlers::OpReaddir;
    ops.readdirplus = &Handlers::OpReaddirplus;
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
