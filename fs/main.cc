// SPDX-License-Identifier: MIT
#include <malloc.h>

#include "fs/command_line.h"

int main(int argc, char** argv) {
  // Chunks go back to the system when they leave the cache. Left to itself, malloc
  // would keep as much as once was used, per thread.
  ::mallopt(M_MMAP_THRESHOLD, 128 << 10);
  return ndlfs::fs::RunCommandLine(argc, argv);
}
