// SPDX-License-Identifier: MIT
#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "fs/cli/base/command.h"
#include "fs/fuse/mount.h"

namespace ndlfs::fs {
namespace {

Command::Body PrepareUmount(CLI::App& app) {
  const auto mountpoint = std::make_shared<std::string>();
  app.add_option("MOUNTPOINT", *mountpoint, "Directory where ndlfs is mounted")
      ->required()
      ->option_text(" ");
  app.footer("If the mount is busy, `fuser -vm MOUNTPOINT` names the programs that use it.");
  return [mountpoint]() -> model::Result<int> {
    NDLFS_RETURN_IF_ERROR(RunUnmount(*mountpoint));
    return 0;
  };
}

}  // namespace

const Command kUmountCommand = {
    "umount", "Unmount, and wait until the process of the mount has ended", PrepareUmount};

}  // namespace ndlfs::fs
