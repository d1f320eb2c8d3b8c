// SPDX-License-Identifier: MIT
//
// The allocator behind `malloc` and `new`: jemalloc in a program that is linked with it, else
// that of the C library. The rest of ndlfs does not know which it is.
#pragma once

#include <string>

namespace ndlfs::backends {

// Makes the allocator keep little freed memory. Call it before there are threads.
void SetUpHeap();

// "jemalloc 5.3.0"; empty if the allocator is that of the C library.
std::string AllocatorVersion();

// Gives pages in which no block is in use back to the system. Takes some milliseconds if the
// heap is large. Thread-safe.
void GiveBackFreeMemory();

}  // namespace ndlfs::backends
