// SPDX-License-Identifier: MIT
#pragma once

#if defined(__has_feature)  // clang
#define NDLFS_HAS_SANITIZER(name) __has_feature(name##_sanitizer)
#else
#define NDLFS_HAS_SANITIZER(name) 0
#endif

namespace ndlfs::model {

// Whether this build has the address or the thread sanitizer. Limits on memory and system calls
// have to allow for them: they reserve far more address space than they use. They also make
// system calls of their own to watch threads, read maps and start a symbolizer.
#if defined(__SANITIZE_ADDRESS__) || NDLFS_HAS_SANITIZER(address)
inline constexpr bool kHasAddressSanitizer = true;
#else
inline constexpr bool kHasAddressSanitizer = false;
#endif
#if defined(__SANITIZE_THREAD__) || NDLFS_HAS_SANITIZER(thread)
inline constexpr bool kHasThreadSanitizer = true;
#else
inline constexpr bool kHasThreadSanitizer = false;
#endif
inline constexpr bool kIsSanitized = kHasAddressSanitizer || kHasThreadSanitizer;

}  // namespace ndlfs::model

#undef NDLFS_HAS_SANITIZER
