// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "fs/cli/base/command.h"
#include "fs/cli/base/nearest.h"
#include "fs/cli/base/options.h"
#include "fs/cli/base/standard_output.h"
#include "fs/cli/completion.h"

namespace ndlfs::fs {
namespace {

constexpr std::array<std::string_view, 3> kShells = {"bash", "zsh", "fish"};

CompletionOption OptionOf(const CLI::Option& option) {
  CompletionOption out;
  for (const std::string& name : option.get_snames()) out.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) {
    out.names.push_back("--" + name);
    for (const std::string_view choice : OptionChoices(name)) out.choices.emplace_back(choice);
  }
  out.argument = option.get_option_text();
  out.help = option.get_description();
  return out;
}

CompletionCommand CommandOf(const Command& command) {
  CLI::App app;
  SetUpApp(app);
  // Owns what the options of `app` refer to.
  const Command::Body body = command.prepare(app);
  CompletionCommand out = {.name = std::string(command.name),
                           .help = std::string(command.summary),
                           .options = {},
                           .takes_mounts = app.get_option_no_throw("MOUNTPOINT") != nullptr &&
                                           app.get_option_no_throw("SOURCE") == nullptr};
  for (const CLI::Option* option : app.get_options()) {
    if (!option->get_positional()) out.options.push_back(OptionOf(*option));
  }
  return out;
}

std::string ScriptFor(std::string_view shell) {
  std::vector<CompletionCommand> commands;
  for (const Command* command : AllCommands()) commands.push_back(CommandOf(*command));
  if (shell == kShells[0]) return BashCompletion(commands);
  return shell == kShells[1] ? ZshCompletion(commands) : FishCompletion(commands);
}

std::string CheckShell(const std::string& shell) {
  if (std::find(kShells.begin(), kShells.end(), shell) != kShells.end()) return {};
  return fmt::format("{} is not one of {}{}", model::Quote(shell), fmt::join(kShells, ", "),
                     DidYouMean(shell, kShells));
}

Command::Body PrepareCompletion(CLI::App& app) {
  const auto shell = std::make_shared<std::string>();
  app.add_option("SHELL", *shell, "bash, zsh or fish")
      ->required()
      ->check(CheckShell)
      ->option_text(" ");
  app.footer(
      "For this shell:  source <(ndlfs completion bash)\n"
      "The Debian package installs them for all users.");
  return [shell]() -> model::Result<int> {
    NDLFS_RETURN_IF_ERROR(WriteStandardOutput(backends::AsBytes(ScriptFor(*shell))));
    return 0;
  };
}

}  // namespace

const Command kCompletionCommand = {"completion", "Print a script that completes command lines",
                                    PrepareCompletion};

}  // namespace ndlfs::fs
