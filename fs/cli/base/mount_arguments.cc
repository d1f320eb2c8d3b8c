// SPDX-License-Identifier: MIT
#include "fs/cli/base/mount_arguments.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "fs/cli/base/option_tables.h"

namespace ndlfs::fs {
namespace {

void ThrowIfError(const model::Result<void>& result, const std::string& option = {}) {
  if (result) return;
  const std::string& message = result.error().message();
  throw CLI::ValidationError(option.empty() ? message : option + ": " + message);
}

void AddLongOption(CLI::App& app, MountOptions& options, const MountOption& option) {
  const std::string spelling = "--" + std::string(option.name);
  const std::string help(option.help);
  if (option.argument.empty()) {
    const std::string names = option.name == "foreground" ? "-f," + spelling : spelling;
    app.add_flag_callback(
           names, [&options, &option] { (void)option.set(options, ""); }, help)
        ->disable_flag_override();
    return;
  }
  app.add_option_function<std::string>(
         spelling,
         [&options, &option, spelling](const std::string& value) {
           ThrowIfError(option.set(options, value), spelling);
         },
         help)
      ->option_text(std::string(option.argument));
}

}  // namespace

void AddSource(CLI::App& app, MountOptions& options) {
  app.add_option("SOURCE", options.source, "Directory to show, or a store; or the URL of one")
      ->required()
      ->option_text(" ");
}

void AddMountPoint(CLI::App& app, MountOptions& options) {
  app.add_option("MOUNTPOINT", options.mountpoint, "Empty directory to show it at")
      ->required()
      ->option_text(" ");
}

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

void AddRemoteOptions(CLI::App& app, MountOptions& options) {
  for (const MountOption& option : RemoteOptions()) AddLongOption(app, options, option);
}

void AddLongOptions(CLI::App& app, MountOptions& options, Foreground foreground) {
  for (const MountOption* option : AllMountOptions()) {
    if (option->name == "foreground" && foreground == Foreground::kAlways) continue;
    AddLongOption(app, options, *option);
  }
}

void AddServedOptions(CLI::App& app, MountOptions& options) {
  for (const MountOption* option : AllMountOptions()) {
    const bool is_of_mounts =
        std::ranges::any_of(OnlyMountOptions(), [&](const auto& o) { return &o == option; });
    if (!is_of_mounts) AddLongOption(app, options, *option);
  }
}

}  // namespace ndlfs::fs
