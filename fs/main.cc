// SPDX-License-Identifier: MIT
#include <malloc.h>

#include <algorithm>
#include <string_view>
#include <thread>

#include "backends/format/hdf5/hdf5.h"
#include "fs/cli/command_line.h"

int main(int argc, char** argv) {
  // Chunks go back to the system when they leave the cache. Left to itself, malloc
  // would keep as much as once was used, per thread.
  ::mallopt(M_MMAP_THRESHOLD, 128 << 10);
  // malloc has eight arenas a core, and gives back no page of an arena in which a
  // block is still in use. One thread allocates a chunk and another evicts it, so
  // each arena keeps holes: with small chunks, twice the size of the cache.
  ::mallopt(M_ARENA_MAX,
            static_cast<int>(std::clamp(std::thread::hardware_concurrency(), 2U, 64U)));
#ifdef NDLFS_WITH_HDF5
  // Not for users: how this program starts itself again, for libhdf5.
  constexpr const char* kHelper = "--hdf5-helper";
  if (argc == 2 && std::string_view(argv[1]) == kHelper) {
    return ndlfs::backends::RunHdf5Helper();
  }
  ndlfs::backends::UseHdf5Helper({"/proc/self/exe", kHelper});
#endif
  return ndlfs::fs::RunCommandLine(argc, argv);
}
