// SPDX-License-Identifier: MIT
#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "fs/cli/base/command.h"
#include "fs/cli/base/options.h"
#include "fs/fuse/mount.h"

namespace ndlfs::fs {
namespace {

Command::Body PrepareMount(CLI::App& app) {
  const auto options = std::make_shared<MountOptions>();
  static constexpr bool kTolerant = false;
  AddSource(app, *options);
  AddMountPoint(app, *options);
  AddOptionLists(app, *options, kTolerant);
  AddLongOptions(app, *options, Foreground::kChosen);
  app.footer(
      "Sizes are in bytes, or end in KiB, MiB, GiB or TiB. A process in the background\n"
      "serves the mount; `ndlfs stats MOUNTPOINT` shows what it does, and\n"
      "`ndlfs umount MOUNTPOINT` ends it.");
  return [options] { return RunMount(*options); };
}

// The options of a mount helper in addition to -o.
struct HelperFlags {
  bool tolerant = false;  // -s: ignore unknown options
  bool fake = false;      // -f: do everything but mount
  bool ignored = false;   // -n (no mtab), -v (verbose): without effect
  std::string type;       // -t ndlfs or fuse.ndlfs
};

Command::Body PrepareMountHelper(CLI::App& app) {
  const auto options = std::make_shared<MountOptions>();
  const auto flags = std::make_shared<HelperFlags>();
  AddSource(app, *options);
  AddMountPoint(app, *options);
  // Options are processed in this order, and -s changes the meaning of -o.
  app.add_flag("-s", flags->tolerant, "Ignore unknown options");
  AddOptionLists(app, *options, flags->tolerant);
  app.add_flag("-f", flags->fake, "Check the options, but do not mount");
  app.add_flag("-n,-v", flags->ignored, "Accepted and without effect");
  app.add_option("-t", flags->type, "Accepted and without effect")->option_text("TYPE");
  return [options, flags]() -> model::Result<int> {
    if (flags->fake) return 0;
    return RunMount(*options);
  };
}

}  // namespace

const Command kMountCommand = {"mount", "Show a directory of array stores as plain files",
                               PrepareMount, FuseLibrary};

const Command kMountHelperCommand = {
    "mount", "Show a directory of array stores as plain files, for mount(8)",
    PrepareMountHelper};

}  // namespace ndlfs::fs
