// SPDX-License-Identifier: MIT
//
// The one place that says which libfuse this is written for: 3.12, with what
// 3.10 has instead where they differ.
#pragma once

#define FUSE_USE_VERSION 312
#include <fuse3/fuse_lowlevel.h>

#if FUSE_VERSION >= FUSE_MAKE_VERSION(3, 12)
#define NDLFS_FUSE_HAS_LOOP_CONFIG 1
#else
#define NDLFS_FUSE_HAS_LOOP_CONFIG 0
#endif
