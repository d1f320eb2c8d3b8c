// SPDX-License-Identifier: MIT
#include "fs/fuse/errno.h"

#include <cerrno>

namespace ndlfs::fs {
namespace {

// Numbers that the kernel or a program would take for something else than
// what happened to us while we read the source.
int FromSystem(int sys_errno) {
  switch (sys_errno) {
    case ENOSYS:  // the kernel would never ask again
    case EINTR:
    case EAGAIN:
    // Links or names of the store lead out of the source, into a loop, or to something that is
    // no file. For a reader the store is broken.
    case EXDEV:
    case ELOOP:
    case ENXIO:
      return EIO;
    default:
      return sys_errno > 0 ? sys_errno : EIO;
  }
}

}  // namespace

int ToErrno(const model::Error& error) {
  switch (error.code()) {
    case model::ErrorCode::kNotFound:
      return ENOENT;
    case model::ErrorCode::kDenied:
    case model::ErrorCode::kBusy:
    case model::ErrorCode::kCancelled:
    case model::ErrorCode::kIo:
      return FromSystem(error.sys_errno());
    case model::ErrorCode::kStale:
      return ESTALE;
    case model::ErrorCode::kBadInput:
    case model::ErrorCode::kCorrupt:
    case model::ErrorCode::kUnsupported:
    case model::ErrorCode::kLimit:
    case model::ErrorCode::kInternal:
      return EIO;
  }
  return EIO;
}

}  // namespace ndlfs::fs
