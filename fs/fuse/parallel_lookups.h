// SPDX-License-Identifier: MIT
#pragma once

struct fuse_session;

namespace ndlfs::fs {

// Adds the flag FUSE_CAP_PARALLEL_DIROPS to the answer that completes the handshake: lookups in
// one directory may run at the same time. libfuse 3.14.0 accepts that wish, but does not tell
// the kernel. The kernel then sends a lookup, or a listing, only when the one before it has
// been answered, and one slow name makes all others in the directory wait. Call it when
// `session` is mounted. Does nothing if libfuse is too old to allow it.
void LetLookupsRunTogether(fuse_session* session);

// The init operation calls it: the next message that this thread sends is the answer.
void NoteInit();

}  // namespace ndlfs::fs
