// SPDX-License-Identifier: MIT
#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "fs/cli/base/command.h"
#include "fs/cli/base/options.h"
#include "fs/fuse/run.h"

namespace ndlfs::fs {
namespace {

struct RunArguments {
  MountOptions options;
  std::vector<std::string> command;
};

Command::Body PrepareRun(CLI::App& app) {
  const auto arguments = std::make_shared<RunArguments>();
  // Messages stand among those of the command: none that all is well.
  arguments->options.log_level = "warn";
  static constexpr bool kTolerant = false;
  AddSource(app, arguments->options);
  app.add_option("COMMAND", arguments->command,
                 "Program and its arguments, after --; {} is the mount point")
      ->required()
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->option_text("...");
  AddOptionLists(app, arguments->options, kTolerant);
  AddLongOptions(app, arguments->options, Foreground::kAlways);
  app.footer(
      "Example:  ndlfs run data.zarr -- ls {}\n"
      "Nobody else sees the mount, and it ends with the command. Messages go to standard\n"
      "error, warnings and errors only, unless --log-file and --log-level say otherwise.\n"
      "The exit status is that of the command.");
  return [arguments] { return RunInMount(arguments->options, arguments->command); };
}

}  // namespace

const Command kRunCommand = {"run", "Run a command with a mount of its own, without root",
                             PrepareRun};

}  // namespace ndlfs::fs
