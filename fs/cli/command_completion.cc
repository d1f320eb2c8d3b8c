// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "fs/cli/base/command.h"
#include "fs/cli/base/nearest.h"
#include "fs/cli/base/options.h"
#include "fs/cli/base/shell_quote.h"
#include "fs/cli/base/standard_output.h"

namespace ndlfs::fs {
namespace {

// Scripts with which shells complete the command line. They are made from the same
// options as --help.

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

// The mount points of ndlfs, one per line. Anybody chooses their names: no shell may evaluate
// them, as `compgen -W` does.
constexpr std::string_view kListMounts = "findmnt -rn -t fuse.ndlfs -o TARGET 2>/dev/null";

std::string JoinedNames(std::span<const CompletionCommand> commands) {
  std::vector<std::string> names;
  for (const CompletionCommand& command : commands) names.push_back(command.name);
  return fmt::format("{}", fmt::join(names, " "));
}

// A pattern of `case` for each name of the option: "mount --views".
std::string BashPatterns(const CompletionCommand& command, const CompletionOption& option) {
  std::string out;
  for (const std::string& name : option.names) {
    out += fmt::format("{}\"{} {}\"", out.empty() ? "" : " | ", command.name, name);
  }
  return out;
}

std::string BashValue(const CompletionOption& option) {
  if (!option.choices.empty()) {
    return fmt::format("_ndlfs_words {}",
                       ShellQuote(fmt::format("{}", fmt::join(option.choices, " "))));
  }
  if (option.argument == "DIR") return "compopt -o dirnames";
  // Nothing: the shell completes names of files.
  const bool is_file = option.argument == "FILE" || option.argument == "STORE";
  return is_file ? ":" : "compopt +o default";
}

std::string BashValues(std::span<const CompletionCommand> commands) {
  std::string out;
  for (const CompletionCommand& command : commands) {
    for (const CompletionOption& option : command.options) {
      if (option.argument.empty()) continue;
      out += fmt::format("    {}) {}; return ;;\n", BashPatterns(command, option),
                         BashValue(option));
    }
  }
  return out;
}

std::string BashOptions(std::span<const CompletionCommand> commands) {
  std::string out;
  for (const CompletionCommand& command : commands) {
    std::vector<std::string> names;
    for (const CompletionOption& option : command.options) {
      names.insert(names.end(), option.names.begin(), option.names.end());
    }
    out += fmt::format("    {}:-*) _ndlfs_words {} ;;\n", command.name,
                       ShellQuote(fmt::format("{}", fmt::join(names, " "))));
    if (!command.takes_mounts) continue;
    out += fmt::format("    {}:*) _ndlfs_mounts ;;\n", command.name);
  }
  return out;
}

// A description in a specification of _arguments: brackets and colons have a meaning.
std::string ZshText(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '[' || c == ']' || c == ':' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

std::string ZshValue(const CompletionOption& option) {
  if (option.argument.empty()) return {};
  std::string action;
  if (!option.choices.empty()) {
    action = fmt::format("({})", fmt::join(option.choices, " "));
  } else if (option.argument == "DIR") {
    action = "_files -/";
  } else if (option.argument == "FILE") {
    action = "_files";
  } else {
    action = " ";
  }
  return fmt::format(":{}:{}", option.argument, action);
}

std::string ZshCommand(const CompletionCommand& command) {
  std::string out = fmt::format("    {})\n      _arguments \\\n", command.name);
  for (const CompletionOption& option : command.options) {
    for (const std::string& name : option.names) {
      // A long option takes its value in the same word as well.
      const bool may_join = !option.argument.empty() && name.starts_with("--");
      out += fmt::format("        {} \\\n",
                         ShellQuote(fmt::format("{}{}[{}]{}", name, may_join ? "=" : "",
                                                ZshText(option.help), ZshValue(option))));
    }
  }
  return out + fmt::format("        '*:file:_files{}' ;;\n", command.takes_mounts ? " -/" : "");
}

std::string FishOption(const CompletionCommand& command, const CompletionOption& option) {
  std::string out =
      fmt::format("complete -c ndlfs -n '__fish_seen_subcommand_from {}'", command.name);
  for (const std::string& name : option.names) {
    out += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
  }
  if (!option.choices.empty()) {
    out +=
        fmt::format(" -x -a {}", ShellQuote(fmt::format("{}", fmt::join(option.choices, " "))));
  } else if (option.argument == "DIR") {
    out += " -x -a '(__fish_complete_directories)'";
  } else if (!option.argument.empty()) {
    out += option.argument == "FILE" ? " -r" : " -x";
  }
  return out + fmt::format(" -d {}\n", ShellQuote(option.help));
}

// The whole script. Its user sources it, or puts it where the shell looks for it.
std::string BashCompletion(std::span<const CompletionCommand> commands) {
  return fmt::format(
#include "fs/cli/completion.bash.fmt.inc"
      , kListMounts, JoinedNames(commands), BashValues(commands), BashOptions(commands));
}

std::string ZshCompletion(std::span<const CompletionCommand> commands) {
  std::string names;
  std::string cases;
  for (const CompletionCommand& command : commands) {
    names += fmt::format("    {}\n", ShellQuote(command.name + ":" + ZshText(command.help)));
    cases += ZshCommand(command);
  }
  return fmt::format(
#include "fs/cli/completion.zsh.fmt.inc"
      , names, cases);
}

std::string FishCompletion(std::span<const CompletionCommand> commands) {
  std::string out = "# Completion of ndlfs for fish.\n";
  const std::string names = JoinedNames(commands);
  for (const CompletionCommand& command : commands) {
    out += fmt::format(
        "complete -c ndlfs -f -n 'not __fish_seen_subcommand_from {}' -a {} -d {}\n", names,
        command.name, ShellQuote(command.help));
  }
  for (const CompletionCommand& command : commands) {
    for (const CompletionOption& option : command.options) {
      out += FishOption(command, option);
    }
    if (!command.takes_mounts) continue;
    out += fmt::format("complete -c ndlfs -f -n '__fish_seen_subcommand_from {}' -a '({})'\n",
                       command.name, kListMounts);
  }
  return out;
}

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
