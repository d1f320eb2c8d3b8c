// SPDX-License-Identifier: MIT
//
// Compiles a loop twice: once for the oldest processors of the architecture, and
// once for wider registers, which a check at run time chooses. Used as
//
//   NDLFS_FORCE_INLINE void Loop(...) { ... }
//   NDLFS_TARGET_AVX2 void LoopAvx2(...) { Loop(...); }
//   if (HasAvx2()) LoopAvx2(...); else Loop(...);
//
// (The attribute target_clones does the same, but its resolvers run before the
// sanitizers are ready.)
#pragma once

#define NDLFS_FORCE_INLINE inline __attribute__((always_inline))

#if defined(__x86_64__)
#define NDLFS_TARGET_AVX2 __attribute__((target("avx2")))
#define NDLFS_TARGET_SSE42 __attribute__((target("sse4.2")))
#else
#define NDLFS_TARGET_AVX2
#endif

namespace ndlfs::backends {

inline bool HasAvx2() {
#if defined(__x86_64__)
  static const bool has = __builtin_cpu_supports("avx2");
  return has;
#else
  return false;
#endif
}

inline bool HasSse42() {
#if defined(__x86_64__)
  static const bool has = __builtin_cpu_supports("sse4.2");
  return has;
#else
  return false;
#endif
}

}  // namespace ndlfs::backends
