// SPDX-License-Identifier: MIT
//
// Scripts with which shells complete the command line. They are made from the same
// options as --help.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace ndlfs::fs {

struct CompletionOption {
  std::vector<std::string> names;    // "-f", "--foreground"
  std::string argument;              // the name of its value; empty for a switch
  std::string help;                  // one line
  std::vector<std::string> choices;  // the values; empty if there is no list of them
};

struct CompletionCommand {
  std::string name;
  std::string help;
  std::vector<CompletionOption> options;
  bool takes_mounts = false;  // its argument is a mount point of ndlfs
};

// The whole script. Its user sources it, or puts it where the shell looks for it.
std::string BashCompletion(std::span<const CompletionCommand> commands);
std::string ZshCompletion(std::span<const CompletionCommand> commands);
std::string FishCompletion(std::span<const CompletionCommand> commands);

}  // namespace ndlfs::fs
