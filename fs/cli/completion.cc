// SPDX-License-Identifier: MIT
#include "fs/cli/completion.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string_view>

#include "fs/cli/base/shell_quote.h"

namespace ndlfs::fs {
namespace {

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

}  // namespace

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

}  // namespace ndlfs::fs
