// SPDX-License-Identifier: MIT
#include "fs/cli/command_line.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fs/cli/base/command.h"
#include "fs/cli/base/nearest.h"
#include "fs/serve/version.h"
#include "model/error.h"

namespace ndlfs::fs {
namespace {

// The list of commands, in the order of --help.
constexpr std::array kCommands = {
    &kMountCommand,    &kUmountCommand, &kRunCommand,    &kServeCommand,      &kDescribeCommand,
    &kCatCommand,      &kCheckCommand,  &kDigestCommand, &kDiffCommand,       &kWarmCommand,
    &kValidateCommand, &kJoinCommand,   &kStatsCommand,  &kCompletionCommand,
};

constexpr int kFailed = 1;
constexpr int kWrongCommandLine = 2;

void PrintError(std::string_view message) {
  fmt::print(stderr, "ndlfs: {}\n", model::OneLine(message));
}

int WrongCommandLine(std::string_view message) {
  PrintError(message);
  return kWrongCommandLine;
}

std::string GeneralHelp() {
  std::string help =
      "Shows array stores as plain files.\nUsage: ndlfs COMMAND ...\n\nCommands:\n";
  for (const Command* command : kCommands) {
    help += fmt::format("  {:<12}{}\n", command->name, command->summary);
  }
  return help +
         "\nOptions:\n"
         "  -h,--help     Print this help, or that of a command, and exit\n"
         "  -V,--version  Print the versions of ndlfs and its libraries, and exit\n\n"
         "Begin with:\n"
         "  ndlfs mount DATA MOUNTPOINT     DATA is a directory with array stores, or one "
         "store\n"
         "  ls MOUNTPOINT                   each store and each array is a folder\n"
         "  ndlfs umount MOUNTPOINT\n\n"
         "ndlfs help COMMAND explains a command; the manual is ndlfs(1).\n";
}

const Command* FindCommand(std::string_view name) {
  for (const Command* command : kCommands) {
    if (command->name == name) return command;
  }
  return nullptr;
}

// Names that other programs have for the same things.
constexpr std::array<std::pair<std::string_view, std::string_view>, 19> kOtherNames = {{
    {"-v", "--version"},     {"version", "--version"}, {"exec", "run"},
    {"top", "stats"},        {"status", "stats"},      {"info", "describe"},
    {"show", "describe"},    {"dump", "describe"},     {"header", "describe"},
    {"inspect", "describe"}, {"get", "cat"},           {"read", "cat"},
    {"head", "cat"},         {"verify", "check"},      {"test", "check"},
    {"fsck", "check"},       {"cmp", "diff"},          {"compare", "diff"},
    {"sha256sum", "digest"},
}};

// Tasks that people look for and that several commands do together, or none.
constexpr std::string_view kListing =
    "; ndlfs describe STORE lists the arrays of a store, ndlfs describe DIRECTORY the stores "
    "in it";
constexpr std::string_view kConverting =
    "; ndlfs cat STORE / --view nc >FILE writes one netCDF file, and ndlfs mount --as nc shows "
    "all "
    "stores as such files";
constexpr std::array<std::pair<std::string_view, std::string_view>, 8> kOtherWays = {{
    {"ls", kListing},
    {"list", kListing},
    {"find", kListing},
    {"tree", kListing},
    {"convert", kConverting},
    {"export", kConverting},
    {"copy", kConverting},
    {"cp", kConverting},
}};

std::string CommandProposal(std::string_view word) {
  for (const auto& [other, way] : kOtherWays) {
    if (other == word) return std::string(way);
  }
  for (const auto& [other, name] : kOtherNames) {
    if (other == word) return fmt::format(" (did you mean {}?)", name);
  }
  std::vector<std::string_view> names = {"--help", "--version"};
  for (const Command* command : kCommands) names.push_back(command->name);
  return DidYouMean(word, names);
}

int UnknownCommand(std::string_view word) {
  const std::string_view what = word.starts_with('-') ? "option" : "command";
  const std::string proposal = CommandProposal(word);
  return WrongCommandLine(fmt::format("unknown {} {}{}", what, model::Quote(word),
                                      proposal.empty() ? "; see ndlfs --help" : proposal));
}

// The argument that is a command of another program, with options of its own.
constexpr std::string_view kCommandWords = "COMMAND";
// --help shows this behind an argument that may be several words.
constexpr std::string_view kManyWords = "...";

// The spellings of all options of a command: "-f", "--foreground".
std::vector<std::string> Spellings(const CLI::App& app) {
  std::vector<std::string> spellings;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) spellings.push_back("--" + name);
    for (const std::string& name : option->get_snames()) spellings.push_back("-" + name);
  }
  return spellings;
}

// "ndlfs cat STORE PATH"; with `options` behind the arguments.
std::string Usage(const CLI::App& app, std::string_view options = "") {
  std::string arguments;
  std::string required_options;
  std::string command;
  for (const CLI::Option* option : app.get_options()) {
    std::string name = option->get_name();
    const std::string& text = option->get_option_text();
    if (!option->get_positional()) {
      if (option->get_required()) required_options += fmt::format(" {} {}", name, text);
      continue;
    }
    if (text == kManyWords) name += kManyWords;
    if (option->get_name() == kCommandWords) {
      command = " -- " + name;
    } else {
      arguments += option->get_required() ? " " + name : " [" + name + "]";
    }
  }
  return fmt::format("{}{}{}{}{}", app.get_name(), arguments, required_options, options,
                     command);
}

class HelpFormatter final : public CLI::Formatter {
 public:
  std::string make_usage(const CLI::App* app, std::string /*name*/) const override {
    return fmt::format("Usage: {}\n", Usage(*app, " [OPTIONS]"));
  }
  // Neither types nor what CLI11 knows of other options: the text of each option says it.
  std::string make_option_opts(const CLI::Option* option) const override {
    const std::string& value = option->get_option_text();
    return value.empty() ? value : " " + value;
  }
};

// The error for a required argument that is empty, as happens if a script has not set
// its variable.
std::string FindEmptyWord(const CLI::App& app) {
  for (const CLI::Option* option : app.get_options()) {
    if (!option->get_positional() || !option->get_required()) continue;
    const auto& words = option->results();
    if (std::find(words.begin(), words.end(), "") == words.end()) continue;
    return fmt::format("{} is empty; see {} --help", option->get_name(), app.get_name());
  }
  return {};
}

// The message of CLI11, reworded if it is about types and counts.
std::string Explain(const CLI::ParseError& error, const CLI::App& app) {
  std::string message = error.what();
  if (dynamic_cast<const CLI::RequiredError*>(&error)) {
    return fmt::format("{}: {}; see {} --help", message, Usage(app), app.get_name());
  }
  if (!dynamic_cast<const CLI::ArgumentMismatch*>(&error)) return message;
  // "--slice: At Most 1 required but received 2"
  if (message.find("At Most") != message.npos) {
    return message.substr(0, message.find(':')) + " is given more than once";
  }
  // "--cache-size: 1 required SIZE missing", or "immutable was given ...".
  const size_t colon = message.find(':');
  if (colon != std::string::npos) return message.substr(0, colon) + " needs a value";
  return fmt::format("--{} takes no value", message.substr(0, message.find(' ')));
}

// Reports a word of the command line that the command does not know.
int UnexpectedWord(const CLI::App& app, std::string_view word) {
  if (!word.starts_with('-') || word == "-") {
    return WrongCommandLine(fmt::format("unexpected argument {}; see {} --help",
                                        model::Quote(word), app.get_name()));
  }
  const std::string_view name = word.substr(0, word.find('='));
  if (app.get_option_no_throw(std::string(kCommandWords)) != nullptr) {
    return WrongCommandLine(fmt::format("unknown option {}; write {}, with -- before it",
                                        model::OneLine(name), Usage(app)));
  }
  const std::vector<std::string> spellings = Spellings(app);
  const std::string proposal =
      DidYouMean(name, std::vector<std::string_view>(spellings.begin(), spellings.end()));
  return WrongCommandLine(fmt::format(
      "unknown option {}{}", model::OneLine(name),
      proposal.empty() ? fmt::format("; see {} --help", app.get_name()) : proposal));
}

}  // namespace

std::span<const Command* const> AllCommands() { return kCommands; }

void SetUpApp(CLI::App& app) {
  app.allow_extras();  // UnexpectedWord() reports them
  app.set_help_flag("-h,--help", "Print this help and exit");
  app.formatter(std::make_shared<HelpFormatter>());
  app.get_formatter()->column_width(28);
  app.get_formatter()->label("Positionals", "Arguments");
  app.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
}

namespace {

int RunBody(const Command::Body& body) {
  const auto status = body();
  if (status) return *status;
  PrintError(status.error().message());
  return kFailed;
}

int RunCommand(const Command& command, std::vector<std::string> words) {
  CLI::App app(std::string(command.summary) + ".", fmt::format("ndlfs {}", command.name));
  SetUpApp(app);
  const Command::Body body = command.prepare(app);
  std::reverse(words.begin(), words.end());  // CLI11 expects the last one first
  std::string problem;
  try {
    app.parse(std::move(words));
  } catch (const CLI::CallForHelp&) {
    fmt::print("{}", app.help());
    return 0;
  } catch (const CLI::ParseError& error) {
    problem = Explain(error, app);
  }
  // An unknown word is a likelier cause than a missing one.
  std::vector<std::string> unexpected = app.remaining();
  std::erase(unexpected, "--");
  if (!unexpected.empty()) return UnexpectedWord(app, unexpected.front());
  if (problem.empty()) problem = FindEmptyWord(app);
  if (!problem.empty()) return WrongCommandLine(problem);
  return RunBody(body);
}

// mount(8) calls /sbin/mount.ndlfs.
bool IsMountHelper(std::string_view program) {
  return std::filesystem::path(program).filename().string().starts_with("mount.");
}

// mount.fuse3 calls "ndlfs SOURCE MOUNTPOINT -o LIST".
bool LooksLikeSource(std::string_view word) {
  std::error_code ignored;
  return word.find('/') != std::string_view::npos ||
         std::filesystem::is_directory(word, ignored);
}

// `ndlfs help [COMMAND]`.
int Help(const std::vector<std::string>& words) {
  if (words.size() > 2) {
    return WrongCommandLine(
        fmt::format("unexpected argument {}; see ndlfs --help", model::Quote(words[2])));
  }
  if (words.size() == 2 && !words[1].starts_with('-')) {
    const Command* command = FindCommand(words[1]);
    return command != nullptr ? RunCommand(*command, {"--help"}) : UnknownCommand(words[1]);
  }
  fmt::print("{}", GeneralHelp());
  return 0;
}

std::vector<std::string> FrontEndLibraries() {
  std::vector<std::string> libraries;
  for (const Command* command : kCommands) {
    if (command->library != nullptr) libraries.push_back(command->library());
  }
  return libraries;
}

int Dispatch(std::string_view program, std::vector<std::string> words) {
  if (IsMountHelper(program)) return RunCommand(kMountHelperCommand, std::move(words));
  if (words.empty()) {
    return WrongCommandLine(
        "no command; begin with: ndlfs mount DATA MOUNTPOINT, or see ndlfs --help");
  }
  const std::string first = words.front();
  if (first == "help" || first == "--help" || first == "-h") return Help(words);
  if (first == "--version" || first == "-V") {
    fmt::print("{}", VersionText(FrontEndLibraries()));
    return 0;
  }
  if (const Command* command = FindCommand(first)) {
    words.erase(words.begin());
    return RunCommand(*command, std::move(words));
  }
  if (LooksLikeSource(first) && words.size() == 1) {
    return WrongCommandLine(
        fmt::format("no command before {} (did you mean describe?); see ndlfs --help",
                    model::Quote(first)));
  }
  if (LooksLikeSource(first)) return RunCommand(kMountHelperCommand, std::move(words));
  return UnknownCommand(first);
}

}  // namespace

int RunCommandLine(int argc, char** argv) {
  try {
    return Dispatch(argc > 0 ? argv[0] : "ndlfs",
                    argc > 1 ? std::vector<std::string>(argv + 1, argv + argc)
                             : std::vector<std::string>());
  } catch (const std::bad_alloc&) {
    const std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
    PrintError(fmt::format("{}: out of memory", fmt::join(words, " ")));
    return kFailed;
  } catch (const std::exception& error) {
    PrintError(error.what());
    return kFailed;
  }
}

}  // namespace ndlfs::fs
