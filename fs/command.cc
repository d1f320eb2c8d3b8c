// SPDX-License-Identifier: MIT
#include "fs/command.h"

#include <CLI/CLI.hpp>

namespace ndlfs::fs {

int RunCommandLine(int argc, char** argv) {
  CLI::App app("Array stores as plain files", "ndlfs");
  app.set_version_flag("--version", "ndlfs " NDLFS_VERSION);
  CLI11_PARSE(app, argc, argv);
  return 0;
}

}  // namespace ndlfs::fs
