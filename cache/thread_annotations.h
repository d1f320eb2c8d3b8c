// SPDX-License-Identifier: MIT
//
// Clang's thread safety annotations; nothing under other compilers.
#pragma once

#if defined(__clang__)
#define NDLFS_THREAD_ANNOTATION(x) __attribute__((x))
#else
#define NDLFS_THREAD_ANNOTATION(x)
#endif

#define GUARDED_BY(x) NDLFS_THREAD_ANNOTATION(guarded_by(x))
#define REQUIRES(...) NDLFS_THREAD_ANNOTATION(requires_capability(__VA_ARGS__))
#define EXCLUDES(...) NDLFS_THREAD_ANNOTATION(locks_excluded(__VA_ARGS__))
