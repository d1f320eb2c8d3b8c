// SPDX-License-Identifier: MIT
#pragma once

namespace ndlfs::backends {

// Excludes file systems that are mounted below a source, from now on and for the
// whole process: paths into them fail with EXDEV. Otherwise a process could wait
// for itself, if it serves a mount whose mount point is below its source. Call it
// before there are threads.
void StayOnOneFilesystem();

}  // namespace ndlfs::backends
