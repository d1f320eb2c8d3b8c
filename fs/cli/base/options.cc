// SPDX-License-Identifier: MIT
#include "fs/cli/base/options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "fs/cli/base/nearest.h"

namespace ndlfs::fs {
namespace {

using model::Quote;
using model::Result;

// Options that mount(8), fstab and systemd pass to every file system, but that do not
// concern file systems, or that hold for every ndlfs mount anyway.
constexpr std::array<std::string_view, 43> kGenericOptions = {
#include "fs/cli/base/generic_options.inc"
};

bool IsGeneric(std::string_view name) {
  return name.starts_with("x-") || name.starts_with("X-") ||
         std::find(kGenericOptions.begin(), kGenericOptions.end(), name) !=
             kGenericOptions.end();
}

std::string Replaced(std::string_view text, char from, char to) {
  std::string out(text);
  std::replace(out.begin(), out.end(), from, to);
  return out;
}

// Removes the first item from a list. `\,` in an item is a comma.
std::string TakeItem(std::string_view& list) {
  std::string item;
  while (!list.empty()) {
    const char c = list.front();
    list.remove_prefix(1);
    if (c == ',') break;
    if (c == '\\' && !list.empty()) {
      item += list.front();
      list.remove_prefix(1);
    } else {
      item += c;
    }
  }
  return item;
}

// The option that `name` may misspell, with hyphens or underscores as in `name`.
std::string Proposal(std::string_view name) {
  const bool underscores = name.find('_') != std::string_view::npos;
  std::vector<std::string> spellings;
  for (const MountOption* option : AllMountOptions()) {
    spellings.push_back(underscores ? Replaced(option->name, '-', '_')
                                    : std::string(option->name));
  }
  const std::vector<std::string_view> candidates(spellings.begin(), spellings.end());
  const std::string proposal = DidYouMean(name, candidates);
  return proposal.empty() ? "; see ndlfs mount --help" : proposal;
}

// Null if there is no option of this name.
const MountOption* FindOption(std::string_view name) {
  const auto all = AllMountOptions();
  const auto found =
      std::ranges::find_if(all, [&](const MountOption* o) { return o->name == name; });
  return found == all.end() ? nullptr : *found;
}

Result<void> ApplyItem(std::string_view item, Unknown unknown, MountOptions& options) {
  const size_t equals = item.find('=');
  const std::string_view name = item.substr(0, equals);
  const bool has_value = equals != std::string_view::npos;
  if (IsGeneric(name)) return {};
  if (name == "remount") {
    return model::BadInput(
        "mount option remount: the options of a mount of ndlfs cannot change; unmount it, and "
        "mount it again");
  }
  const MountOption* const option = FindOption(Replaced(name, '_', '-'));
  if (option == nullptr) {
    if (unknown == Unknown::kIgnore) return {};
    return model::BadInput("unknown mount option {}{}", Quote(name), Proposal(name));
  }
  if (option->argument.empty() == has_value) {
    return model::BadInput("mount option {} {}", name,
                           has_value
                               ? "takes no value"
                               : fmt::format("needs a value: {}={}", name, option->argument));
  }
  NDLFS_RETURN_IF_ERROR(option->set(options, has_value ? item.substr(equals + 1) : ""),
                        fmt::format("mount option {}", name));
  return {};
}

void ThrowIfError(const Result<void>& result, const std::string& option = {}) {
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

Result<void> ApplyOptionList(std::string_view list, Unknown unknown, MountOptions& options) {
  while (!list.empty()) {
    const std::string item = TakeItem(list);
    if (!item.empty()) NDLFS_RETURN_IF_ERROR(ApplyItem(item, unknown, options));
  }
  return {};
}

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
