// SPDX-License-Identifier: MIT
#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "fs/cli/command.h"
#include "fs/cli/options.h"
#include "fs/mount/mount.h"

namespace ndlfs::fs {
namespace {

void ThrowIfError(const model::Result<void>& result, const std::string& option = {}) {
  if (result) return;
  const std::string& message = result.error().message();
  throw CLI::ValidationError(option.empty() ? message : option + ": " + message);
}

void AddArguments(CLI::App& app, MountOptions& options) {
  app.add_option("SOURCE", options.source, "Directory to show, or a store")
      ->required()
      ->option_text(" ");
  app.add_option("MOUNTPOINT", options.mountpoint, "Empty directory to show it at")
      ->required()
      ->option_text(" ");
}

// -o LIST, which may occur several times.
void AddOptionLists(CLI::App& app, MountOptions& options, const bool& tolerant) {
  app.add_option_function<std::vector<std::string>>(
         "-o",
         [&options, &tolerant](const std::vector<std::string>& lists) {
           for (const std::string& list : lists) {
             ThrowIfError(ApplyOptionList(list, tolerant ? Unknown::kIgnore : Unknown::kRefuse,
                                          options));
           }
         },
         "The options below, as in fstab: cache_size=1GiB,allow_other")
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->allow_extra_args(false)
      ->option_text("LIST");
}

// --cache-size SIZE and so on. They take precedence over options in a list.
void AddLongOptions(CLI::App& app, MountOptions& options) {
  for (const MountOption& option : AllMountOptions()) {
    const std::string spelling = "--" + std::string(option.name);
    const std::string help(option.help);
    if (option.argument.empty()) {
      const std::string names = option.name == "foreground" ? "-f," + spelling : spelling;
      app.add_flag_callback(
             names, [&options, &option] { (void)option.set(options, ""); }, help)
          ->disable_flag_override();
    } else {
      app.add_option_function<std::string>(
             spelling,
             [&options, &option, spelling](const std::string& value) {
               ThrowIfError(option.set(options, value), spelling);
             },
             help)
          ->option_text(std::string(option.argument));
    }
  }
}

Command::Body PrepareMount(CLI::App& app) {
  const auto options = std::make_shared<MountOptions>();
  static constexpr bool kTolerant = false;
  AddArguments(app, *options);
  AddOptionLists(app, *options, kTolerant);
  AddLongOptions(app, *options);
  app.footer(
      "Sizes are in bytes, or end in KiB, MiB, GiB or TiB. A process in the background\n"
      "serves the mount; `ndlfs umount MOUNTPOINT` ends it.");
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
  AddArguments(app, *options);
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
                               PrepareMount};

const Command kMountHelperCommand = {
    "mount", "Show a directory of array stores as plain files, for mount(8)",
    PrepareMountHelper};

}  // namespace ndlfs::fs
