// SPDX-License-Identifier: MIT
//
// The arguments of the commands that mount.
#pragma once

#include "fs/cli/base/options.h"
#include "fs/serve/mount_options.h"

namespace CLI {
class App;
}

namespace ndlfs::fs {

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
