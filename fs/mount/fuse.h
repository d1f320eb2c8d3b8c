// SPDX-License-Identifier: MIT
//
// The one place that names the version of libfuse: 3.12. The macro is 0 with an
// older one; 3.10 is supported, too.
#pragma once

#define FUSE_USE_VERSION 312
#include <fuse3/fuse_lowlevel.h>

#if FUSE_VERSION >= FUSE_MAKE_VERSION(3, 12)
#define NDLFS_FUSE_HAS_LOOP_CONFIG 1
#else
#define NDLFS_FUSE_HAS_LOOP_CONFIG 0
#endif
