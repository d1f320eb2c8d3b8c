// SPDX-License-Identifier: MIT
#include <string_view>

#include "backends/base/heap.h"
#include "backends/format/grib/eccodes.h"
#include "fs/cli/command_line.h"

int main(int argc, char** argv) {
  ndlfs::backends::SetUpHeap();
  // Not for users: how this program starts itself again, for libraries that read what files
  // say.
  const std::string_view argument = argc == 2 ? argv[1] : "";
  constexpr const char* kItself = "/proc/self/exe";
  constexpr const char* kEccodes = "--eccodes-helper";
  if (argument == kEccodes) return ndlfs::backends::RunEccodesHelper();
  ndlfs::backends::UseEccodesHelper({kItself, kEccodes});
  return ndlfs::fs::RunCommandLine(argc, argv);
}
