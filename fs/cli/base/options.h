// SPDX-License-Identifier: MIT
//
// The options of a mount, which come as --cache-size=1GiB, as -o cache_size=1GiB
// and from fstab. option_tables.cc has the tables, one for each layer.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "fs/cli/base/option_values.h"
#include "fs/serve/mount_options.h"
#include "model/error.h"

namespace CLI {
class App;
}

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
// Those of sources that are URLs.
std::span<const MountOption> RemoteOptions();
// Those that only a mount has: owners, permissions and numbers of files, and its place.
std::span<const MountOption> OnlyMountOptions();

// What to do with an unknown option in a list: mount(8) may ask for tolerance.
enum class Unknown { kRefuse, kIgnore };

// Applies the list after -o: "allow_other,cache_size=1GiB". Passes over options that mount(8)
// itself understands, and options that hold for every ndlfs mount anyway. A comma in a value is
// written `\,`. Errors are kBadInput.
model::Result<void> ApplyOptionList(std::string_view list, Unknown unknown,
                                    MountOptions& options);

// These functions let `app` write to `options`, which must outlive it.

void AddSource(CLI::App& app, MountOptions& options);
void AddMountPoint(CLI::App& app, MountOptions& options);

// -o LIST, which may occur several times. `tolerant`: unknown options in the list are ignored.
// It is read when the list is parsed.
void AddOptionLists(CLI::App& app, MountOptions& options, const bool& tolerant);

// --ca-file FILE and the other options about sources that are URLs.
void AddRemoteOptions(CLI::App& app, MountOptions& options);

// --cache-size SIZE and so on. They take precedence over options in a list.
// Without --foreground unless the command can choose.
enum class Foreground { kChosen, kAlways };
void AddLongOptions(CLI::App& app, MountOptions& options, Foreground foreground);

// The long options that a front end without a mount has: those about the source, what is shown
// of it, and what that takes.
void AddServedOptions(CLI::App& app, MountOptions& options);

}  // namespace ndlfs::fs
