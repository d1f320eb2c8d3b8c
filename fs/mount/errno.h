// SPDX-License-Identifier: MIT
//
// The one place where an error becomes an errno.
#pragma once

#include "model/error.h"

namespace ndlfs::fs {

// What a system call reports for `error`: the system's own number where the
// system refused, ENOENT for what is not there, ENOMEM where memory ran out,
// otherwise EIO. Always positive.
int ToErrno(const model::Error& error);

}  // namespace ndlfs::fs
