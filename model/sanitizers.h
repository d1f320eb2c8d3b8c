// SPDX-License-Identifier: MIT
#pragma once

namespace ndlfs::model {

// Whether this is a build with the address or the thread sanitizer. These
// reserve far more address space than they use, and make system calls of their
// own: to watch threads, to read maps, to start a symbolizer.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)  // g++
inline constexpr bool kIsSanitized = true;
#elif defined(__has_feature)  // clang
inline constexpr bool kIsSanitized =
    __has_feature(address_sanitizer) || __has_feature(thread_sanitizer);
#else
inline constexpr bool kIsSanitized = false;
#endif

}  // namespace ndlfs::model
