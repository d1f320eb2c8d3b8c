// SPDX-License-Identifier: MIT
//
// The commands of the executable. A new one is a file command_*.cc, a line
// here, and a line in command_line.cc.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/error.h"

namespace CLI {
class App;
}

namespace ndlfs::fs {

struct Command {
  // Does the work; called after the command line has been parsed. The value is the exit status
  // of the process. An error is printed as one line, and the status is 1.
  using Body = std::function<model::Result<int>()>;

  std::string_view name;
  std::string_view summary;  // for `ndlfs --help`: one line
  // Adds options and arguments to `app`, which outlives the body. Callbacks throw
  // CLI::ValidationError for mistakes in the command line.
  Body (*prepare)(CLI::App& app);
  // Name and version of a library that no command without its front end uses, for `ndlfs
  // --version`; null if there is none.
  std::string (*library)() = nullptr;
};

extern const Command kMountCommand;
extern const Command kUmountCommand;
extern const Command kRunCommand;
extern const Command kServeCommand;
extern const Command kDescribeCommand;
extern const Command kCatCommand;
extern const Command kValidateCommand;
extern const Command kCheckCommand;
extern const Command kDigestCommand;
extern const Command kDiffCommand;
extern const Command kJoinCommand;
extern const Command kWarmCommand;
extern const Command kStatsCommand;
// Prints a script with which a shell completes the command line.
extern const Command kCompletionCommand;

// All of them, in the order of `ndlfs --help`.
std::span<const Command* const> AllCommands();
// Sets up the command line of `command`, without the parts that RunCommandLine() adds to parse
// it.
void SetUpApp(CLI::App& app);

// Checks stores as `ndlfs check SOURCE...` does. The value is its exit status.
model::Result<int> CheckSources(std::vector<std::string> sources);

// Mounts as mount(8) asks for it: SOURCE MOUNTPOINT [-sfnv] [-o LIST] [-t TYPE].
extern const Command kMountHelperCommand;

}  // namespace ndlfs::fs
