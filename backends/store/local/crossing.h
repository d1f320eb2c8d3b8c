// SPDX-License-Identifier: MIT
#pragma once

namespace ndlfs::backends {

// From now on, and for all of this process, file systems that are mounted beneath
// a source are no part of it: paths into them fail with EXDEV. A process that
// serves a mount whose mount point may lie beneath its source would otherwise
// wait for itself. Call it before there are threads.
void StayOnOneFilesystem();
bool StaysOnOneFilesystem();

}  // namespace ndlfs::backends
