// SPDX-License-Identifier: MIT
//
// What a FUSE daemon on this machine gives at best: one file, `data`, that
// needs no work. `memory` hands out bytes it holds in memory; `push` does so
// for the first read, and then puts all that follows into the page cache
// unasked; `copy` and `splice` pass a file through, with and without the bytes
// entering the daemon.
//
//   bench_reference memory|push|copy|splice FILE MOUNTPOINT
#define FUSE_USE_VERSION 312
#include <fcntl.h>
#include <fuse3/fuse_lowlevel.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <string_view>
#include <thread>
#include <vector>

namespace {

constexpr fuse_ino_t kFile = 2;
constexpr double kTimeout = 3600;

struct Served {
  std::string_view mode;
  int fd = -1;
  size_t size = 0;
  std::vector<char> memory;
  fuse_session* session = nullptr;
  std::once_flag first_read;
  std::thread pusher;

  bool in_memory() const { return mode == "memory" || mode == "push"; }
};

Served& Of(fuse_req_t req) { return *static_cast<Served*>(fuse_req_userdata(req)); }

struct ::stat StatOf(const Served& served, fuse_ino_t ino) {
  struct ::stat status = {};
  status.st_ino = ino;
  status.st_mode = ino == kFile ? S_IFREG | 0444 : S_IFDIR | 0555;
  status.st_nlink = 1;
  status.st_size = ino == kFile ? static_cast<off_t>(served.size) : 0;
  return status;
}

// As ndlfs asks for them.
void OpInit(void* userdata, fuse_conn_info* conn) {
  conn->max_background = 64;
  conn->congestion_threshold = 48;
  if (static_cast<Served*>(userdata)->mode == "splice") {
    conn->want |=
        conn->capable & (FUSE_CAP_SPLICE_WRITE | FUSE_CAP_SPLICE_MOVE | FUSE_CAP_SPLICE_READ);
  }
}

void OpLookup(fuse_req_t req, fuse_ino_t, const char* name) {
  if (std::string_view(name) != "data") {
    fuse_reply_err(req, ENOENT);
    return;
  }
  fuse_entry_param entry = {};
  entry.ino = kFile;
  entry.attr = StatOf(Of(req), kFile);
  entry.attr_timeout = entry.entry_timeout = kTimeout;
  fuse_reply_entry(req, &entry);
}

void OpGetattr(fuse_req_t req, fuse_ino_t ino, fuse_file_info*) {
  const struct ::stat status = StatOf(Of(req), ino);
  fuse_reply_attr(req, &status, kTimeout);
}

void OpOpen(fuse_req_t req, fuse_ino_t, fuse_file_info* fi) {
  fi->keep_cache = 1;
  fuse_reply_open(req, fi);
}

// Begins behind what the kernel may have asked for already: it would wait for
// those pages.
void Push(Served& served, size_t begin) {
  constexpr size_t kPiece = size_t{1} << 20;
  for (size_t at = (begin / kPiece + 4) * kPiece; at < served.size; at += kPiece) {
    fuse_bufvec piece = FUSE_BUFVEC_INIT(std::min(kPiece, served.size - at));
    piece.buf[0].mem = served.memory.data() + at;
    const int result = fuse_lowlevel_notify_store(served.session, kFile, static_cast<off_t>(at),
                                                  &piece, fuse_buf_copy_flags{});
    if (result != 0) return;  // unmounted meanwhile
  }
}

void OpRead(fuse_req_t req, fuse_ino_t, size_t size, off_t offset, fuse_file_info*) {
  Served& served = Of(req);
  const size_t begin = std::min(static_cast<size_t>(offset), served.size);
  size = std::min(size, served.size - begin);
  if (served.in_memory()) {
    fuse_reply_buf(req, served.memory.data() + begin, size);
    if (served.mode == "memory") return;
    std::call_once(served.first_read, [&] {
      served.pusher = std::thread([&served, begin] { Push(served, begin); });
    });
  } else if (served.mode == "copy") {
    thread_local std::vector<char> buffer;
    if (buffer.size() < size) buffer.resize(size);
    const ssize_t got = ::pread(served.fd, buffer.data(), size, offset);
    fuse_reply_buf(req, buffer.data(), got < 0 ? 0 : static_cast<size_t>(got));
  } else {
    fuse_bufvec buffers = FUSE_BUFVEC_INIT(size);
    buffers.buf[0].flags = static_cast<fuse_buf_flags>(FUSE_BUF_IS_FD | FUSE_BUF_FD_SEEK);
    buffers.buf[0].fd = served.fd;
    buffers.buf[0].pos = offset;
    fuse_reply_data(req, &buffers, FUSE_BUF_SPLICE_MOVE);
  }
}

bool Load(const char* path, Served& served) {
  served.fd = ::open(path, O_RDONLY | O_CLOEXEC);
  struct ::stat status = {};
  if (served.fd < 0 || ::fstat(served.fd, &status) != 0) return false;
  served.size = static_cast<size_t>(status.st_size);
  if (!served.in_memory()) return true;
  served.memory.resize(served.size);
  for (size_t done = 0; done < served.size;) {
    const ssize_t got = ::pread(served.fd, served.memory.data() + done, served.size - done,
                                static_cast<off_t>(done));
    if (got <= 0) return false;
    done += static_cast<size_t>(got);
  }
  return true;
}

int Serve(Served& served, const char* program, const char* mountpoint) {
  fuse_lowlevel_ops ops = {};
  ops.init = &OpInit;
  ops.lookup = &OpLookup;
  ops.getattr = &OpGetattr;
  ops.open = &OpOpen;
  ops.read = &OpRead;
  fuse_args args = FUSE_ARGS_INIT(0, nullptr);
  fuse_opt_add_arg(&args, program);
  fuse_opt_add_arg(&args, "-oro");
  fuse_session* session = fuse_session_new(&args, &ops, sizeof(ops), &served);
  fuse_opt_free_args(&args);
  served.session = session;
  if (session == nullptr || fuse_set_signal_handlers(session) != 0 ||
      fuse_session_mount(session, mountpoint) != 0) {
    return 1;
  }
  fuse_loop_config* config = fuse_loop_cfg_create();
  fuse_loop_cfg_set_max_threads(
      config, std::max(2u, static_cast<unsigned>(::sysconf(_SC_NPROCESSORS_ONLN))));
  const int result = fuse_session_loop_mt(session, config);
  fuse_loop_cfg_destroy(config);
  if (served.pusher.joinable()) served.pusher.join();
  fuse_session_unmount(session);
  fuse_remove_signal_handlers(session);
  fuse_session_destroy(session);
  return result < 0 ? 1 : 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: bench_reference memory|push|copy|splice FILE MOUNTPOINT\n");
    return 2;
  }
  Served served;
  served.mode = argv[1];
  if (!Load(argv[2], served)) {
    std::fprintf(stderr, "bench_reference: %s: %s\n", argv[2], std::strerror(errno));
    return 1;
  }
  return Serve(served, argv[0], argv[3]);
}
