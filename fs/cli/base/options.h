// SPDX-License-Identifier: MIT
//
// The options of a mount, which come as --cache-size=1GiB, as -o cache_size=1GiB
// and from fstab. Each layer has a table of its own (option_tables.h).
#pragma once

#include <string_view>
#include <vector>

#include "fs/cli/base/option_values.h"
#include "fs/serve/mount_options.h"
#include "model/error.h"

namespace ndlfs::fs {

struct MountOption {
  std::string_view name;      // with hyphens; -o takes underscores as well
  std::string_view argument;  // the name of its value; empty for a switch
  std::string_view help;      // for --help: one line
  // Gets "" for a switch. The error does not name the option.
  model::Result<void> (*set)(MountOptions& options, std::string_view value);
};

// All tables, in the order of --help.
std::vector<const MountOption*> AllMountOptions();

// What to do with an unknown option in a list: mount(8) may ask for tolerance.
enum class Unknown { kRefuse, kIgnore };

// Applies the list after -o: "allow_other,cache_size=1GiB". Passes over options that mount(8)
// itself understands, and options that hold for every ndlfs mount anyway. A comma in a value is
// written `\,`. Errors are kBadInput.
model::Result<void> ApplyOptionList(std::string_view list, Unknown unknown,
                                    MountOptions& options);

}  // namespace ndlfs::fs
