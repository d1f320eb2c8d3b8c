// SPDX-License-Identifier: MIT
#include "fs/fuse/init_answer.h"

#include <linux/fuse.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <utility>

#include "fs/fuse/fuse.h"

namespace ndlfs::fs {

#if FUSE_VERSION >= FUSE_MAKE_VERSION(3, 14)

namespace {

// As in the headers of Linux 6.9, which those of the system may not have.
constexpr uint32_t kHasMoreFlags = uint32_t{1} << 30;      // FUSE_INIT_EXT
constexpr uint32_t kPassthroughInMore = uint32_t{1} << 5;  // FUSE_PASSTHROUGH >> 32
struct InitAnswer {
  fuse_out_header header;
  uint32_t major, minor;
  uint32_t max_readahead, flags;
  uint16_t max_background, congestion_threshold;
  uint32_t max_write, time_gran;
  uint16_t max_pages, map_alignment;
  uint32_t more_flags;
  uint32_t max_stack_depth;
  uint32_t unused[6];
};
static_assert(sizeof(InitAnswer) == sizeof(fuse_out_header) + sizeof(fuse_init_out));

thread_local std::optional<InitWishes> wishes_of_next;

void Add(const InitWishes& wishes, InitAnswer& answer) {
  if (wishes.parallel_lookups) answer.flags |= FUSE_PARALLEL_DIROPS;
  if (wishes.passthrough) {
    answer.flags |= kHasMoreFlags;
    answer.more_flags |= kPassthroughInMore;
    // The files that are read lie on no file system that itself lies on another one. With more,
    // nobody could mount an overlay on this mount.
    answer.max_stack_depth = 1;
  }
}

ssize_t Write(int fd, iovec* parts, int count, void* /*userdata*/) {
  const auto wishes = std::exchange(wishes_of_next, std::nullopt);
  if (!wishes) return ::writev(fd, parts, count);
  InitAnswer answer = {};
  size_t size = 0;
  for (int i = 0; i < count; ++i) {
    if (parts[i].iov_len > sizeof(answer) - size) return ::writev(fd, parts, count);
    std::memcpy(reinterpret_cast<char*>(&answer) + size, parts[i].iov_base, parts[i].iov_len);
    size += parts[i].iov_len;
  }
  // A failure, and the answer to an old kernel, are shorter.
  if (size == sizeof(answer)) Add(*wishes, answer);
  return ::write(fd, &answer, size);
}

ssize_t Read(int fd, void* buffer, size_t size, void* /*userdata*/) {
  return ::read(fd, buffer, size);
}

}  // namespace

void CompleteInitAnswer(fuse_session* session) {
  fuse_custom_io io = {};
  io.writev = &Write;
  io.read = &Read;
  fuse_session_custom_io(session, &io, fuse_session_fd(session));
}

void NoteInit(const InitWishes& wishes) { wishes_of_next = wishes; }

#else

void CompleteInitAnswer(fuse_session*) {}
void NoteInit(const InitWishes&) {}

#endif

}  // namespace ndlfs::fs
