// SPDX-License-Identifier: MIT
#include <string_view>

#include "backends/base/heap.h"
#include "backends/format/hdf5/hdf5.h"
#include "fs/cli/command_line.h"

int main(int argc, char** argv) {
  ndlfs::backends::SetUpHeap();
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
