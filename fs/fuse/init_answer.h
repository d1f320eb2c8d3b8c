// SPDX-License-Identifier: MIT
#pragma once

struct fuse_session;

namespace ndlfs::fs {

// Capabilities that the answer of the handshake tells the kernel in addition to those of
// libfuse.
struct InitWishes {
  // FUSE_CAP_PARALLEL_DIROPS: lookups in one directory may run at the same time. libfuse 3.14.0
  // accepts that wish, but does not tell the kernel. The kernel then sends a lookup or a
  // listing only after the answer to the one before. So one slow name makes all others in the
  // directory wait.
  bool parallel_lookups = false;
  // The kernel may read open files from files of this machine (see Passthrough). libfuse knows
  // this capability since 3.17.
  bool passthrough = false;
};

// From now on adds the wishes of NoteInit() to the answer. Call it when `session` is mounted.
// Does nothing if libfuse is too old to allow it.
void CompleteInitAnswer(fuse_session* session);

// The init operation calls it: the next message that this thread sends is the answer.
void NoteInit(const InitWishes& wishes);

}  // namespace ndlfs::fs
