// SPDX-License-Identifier: MIT
//
// The allocator behind `malloc` and `new`. A program that is linked with jemalloc has that one,
// any other that of the C library. The rest of ndlfs does not know which it is.
#pragma once

#include <string>

namespace ndlfs::backends {

// Makes the allocator keep little of what is freed. To be called before there are threads.
void SetUpHeap();

// "jemalloc 5.3.0"; empty if the allocator is that of the C library.
std::string AllocatorVersion();

// Gives pages in which no block is in use back to the system. Takes some milliseconds if the
// heap is large. Thread-safe.
void GiveBackFreeMemory();

}  // namespace ndlfs::backends
