// SPDX-License-Identifier: MIT
#include "fs/fuse/parallel_lookups.h"

#include <linux/fuse.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>
#include <utility>

#include "fs/fuse/fuse.h"

namespace ndlfs::fs {

#if FUSE_VERSION >= FUSE_MAKE_VERSION(3, 14)

namespace {

thread_local bool sends_init = false;

struct InitAnswer {
  fuse_out_header header;
  fuse_init_out init;
};

ssize_t Write(int fd, iovec* parts, int count, void* /*userdata*/) {
  if (!std::exchange(sends_init, false)) return ::writev(fd, parts, count);
  InitAnswer answer = {};
  size_t size = 0;
  for (int i = 0; i < count; ++i) {
    if (parts[i].iov_len > sizeof(answer) - size) return ::writev(fd, parts, count);
    std::memcpy(reinterpret_cast<char*>(&answer) + size, parts[i].iov_base, parts[i].iov_len);
    size += parts[i].iov_len;
  }
  if (size >= sizeof(fuse_out_header) + offsetof(fuse_init_out, max_background)) {
    answer.init.flags |= FUSE_PARALLEL_DIROPS;
  }
  return ::write(fd, &answer, size);
}

ssize_t Read(int fd, void* buffer, size_t size, void* /*userdata*/) {
  return ::read(fd, buffer, size);
}

}  // namespace

void LetLookupsRunTogether(fuse_session* session) {
  fuse_custom_io io = {};
  io.writev = &Write;
  io.read = &Read;
  fuse_session_custom_io(session, &io, fuse_session_fd(session));
}

void NoteInit() { sends_init = true; }

#else

void LetLookupsRunTogether(fuse_session*) {}
void NoteInit() {}

#endif

}  // namespace ndlfs::fs
