// SPDX-License-Identifier: MIT
//
// The options of a mount, which come as --cache-size=1GiB, as -o cache_size=1GiB
// and from fstab. One table for all of them.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "fs/serve/mount_options.h"
#include "model/error.h"

namespace ndlfs::fs {

struct MountOption {
  std::string_view name;      // with hyphens; -o takes underscores as well
  std::string_view argument;  // what its value is called; empty for a switch
  std::string_view help;      // for --help: one line
  // Whether it is about sources that are URLs: commands without a mount have it, too.
  bool is_remote;
  // Gets "" for a switch. The error does not name the option.
  model::Result<void> (*set)(MountOptions& options, std::string_view value);
};

// In the order of --help.
std::span<const MountOption> AllMountOptions();

// The values of an option of any command, where there are not many: those of
// --log-level and the like. Without the hyphens: "log-level".
std::vector<std::string_view> OptionChoices(std::string_view name);

// What to do with an unknown option in a list: mount(8) may ask for tolerance.
enum class Unknown { kRefuse, kIgnore };

// Applies what follows -o: "allow_other,cache_size=1GiB". Options that mount(8)
// understands itself, or that say what is true of every ndlfs mount, are
// passed over. A comma in a value is written `\,`. Errors are kBadInput.
model::Result<void> ApplyOptionList(std::string_view list, Unknown unknown,
                                    MountOptions& options);

// A number of threads; 0 is one for each core.
model::Result<unsigned> ParseThreads(std::string_view text);

// "content" or "name".
model::Result<backends::Detection> ParseDetection(std::string_view text);

// "all", or short names of views such as "npy,raw" or "npy:raw".
model::Result<ListedViews> ParseViews(std::string_view text);

// The short name of a view of groups, such as "nc".
model::Result<std::string> ParseAs(std::string_view text);

// A number of bytes, with KiB, MiB, GiB or TiB behind it or nothing.
model::Result<uint64_t> ParseSize(std::string_view text);

}  // namespace ndlfs::fs
