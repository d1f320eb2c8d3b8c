// SPDX-License-Identifier: MIT
#pragma once

struct fuse_session;

namespace ndlfs::fs {

// libfuse 3.14.0 does not tell the kernel that lookups in one directory may run at the same
// time (FUSE_CAP_PARALLEL_DIROPS), although it accepts that wish. The kernel then sends a
// lookup, or a listing, only when the one before it has been answered, and one slow name makes
// all others in the directory wait. This has the flag added to the answer that completes the
// handshake. To be called when `session` is mounted. Does nothing if libfuse is too old to
// allow it.
void LetLookupsRunTogether(fuse_session* session);

// To be called by the init operation: the next message that this thread sends is the answer.
void NoteInit();

}  // namespace ndlfs::fs
