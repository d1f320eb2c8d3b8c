// SPDX-License-Identifier: MIT
//
// The one place where an error becomes an errno.
#pragma once

#include "model/error.h"

namespace ndlfs::fs {

// The errno with which a system call of a program fails because of `error`. ENOENT for
// kNotFound, ESTALE for kStale. An error of the system keeps its errno, such as ENOMEM, unless
// that would mislead the kernel or the program. EIO for all other errors. Always positive.
int ToErrno(const model::Error& error);

}  // namespace ndlfs::fs
