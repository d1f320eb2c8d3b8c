// SPDX-License-Identifier: MIT
//
// The one place where an error becomes an errno.
#pragma once

#include "model/error.h"

namespace ndlfs::fs {

// The errno with which a system call of a program fails for `error`: ENOENT for kNotFound,
// ESTALE for kStale, the errno of the system, such as ENOMEM, for errors of the system (unless
// that would mislead the kernel or the program), otherwise EIO. Always positive.
int ToErrno(const model::Error& error);

}  // namespace ndlfs::fs
