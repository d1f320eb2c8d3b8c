// SPDX-License-Identifier: MIT
#include "fs/cli/base/options.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "fs/cli/base/nearest.h"
#include "fs/cli/base/option_tables.h"

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

}  // namespace

std::vector<const MountOption*> AllMountOptions() {
  std::vector<const MountOption*> all;
  for (const auto& table : {CacheOptions(), ProcessOptions(), OnlyMountOptions(),
                            SourceOptions(), ViewOptions(), RemoteOptions()}) {
    for (const MountOption& option : table) all.push_back(&option);
  }
  return all;
}

Result<void> ApplyOptionList(std::string_view list, Unknown unknown, MountOptions& options) {
  while (!list.empty()) {
    const std::string item = TakeItem(list);
    if (!item.empty()) NDLFS_RETURN_IF_ERROR(ApplyItem(item, unknown, options));
  }
  return {};
}

}  // namespace ndlfs::fs
