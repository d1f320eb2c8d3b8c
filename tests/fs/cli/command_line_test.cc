// SPDX-License-Identifier: MIT
//
// The executable, as a shell runs it; without mounting.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "fs/view/all_views.h"
#include "tests/support/python.h"
#include "tests/support/run_command.h"

namespace ndlfs {
namespace {

using test::Ran;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::MatchesRegex;
using ::testing::StartsWith;

Ran Ndlfs(std::vector<std::string> words, const std::string& directory = "/") {
  words.insert(words.begin(), "ndlfs");
  return test::RunProgram(NDLFS_EXECUTABLE, std::move(words), directory);
}

MATCHER_P2(Fails, status, message, "") {
  *result_listener << "status " << arg.status << ", message " << arg.err;
  return arg.status == status && arg.out.empty() && ::testing::Value(arg.err, message) &&
         std::count(arg.err.begin(), arg.err.end(), '\n') == 1;
}
testing::Matcher<const Ran&> IsWrong(const std::string& message) {
  return Fails(2, "ndlfs: " + message + "\n");
}

TEST(CommandLineTest, HelpNamesAllCommands) {
  for (const char* word : {"--help", "-h"}) {
    const Ran ran = Ndlfs({word});
    EXPECT_EQ(ran.status, 0);
    EXPECT_THAT(ran.err, IsEmpty());
    for (const char* command : {"mount", "umount", "describe", "cat", "validate"}) {
      EXPECT_THAT(ran.out, HasSubstr(std::string("\n  ") + command + " "));
      const Ran help = Ndlfs({command, "--help"});
      EXPECT_EQ(help.status, 0);
      EXPECT_THAT(help.out, HasSubstr(std::string("Usage: ndlfs ") + command));
    }
  }
}

TEST(CommandLineTest, HelpShowsAllThatACommandNeeds) {
  const auto usage = [](const char* command) {
    const std::string help = Ndlfs({command, "--help"}).out;
    const size_t begin = help.find("Usage: ");
    return help.substr(begin, help.find('\n', begin) - begin);
  };
  EXPECT_EQ(usage("cat"), "Usage: ndlfs cat STORE [PATH] [OPTIONS]");
  EXPECT_EQ(usage("describe"), "Usage: ndlfs describe STORE [PATH] [OPTIONS]");
  EXPECT_EQ(usage("check"), "Usage: ndlfs check SOURCE... [OPTIONS]");
  EXPECT_EQ(usage("join"), "Usage: ndlfs join STORE... [OPTIONS]");
  EXPECT_EQ(usage("warm"), "Usage: ndlfs warm PATH... [OPTIONS]");
  EXPECT_EQ(usage("run"), "Usage: ndlfs run SOURCE [OPTIONS] -- COMMAND...");
  EXPECT_THAT(Ndlfs({"warm", "a"}),
              IsWrong("--block-cache DIR or --decoded is required: see ndlfs warm --help"));
  EXPECT_THAT(Ndlfs({"warm", "a", "--decoded", "--block-cache", "b"}).status, 2);
}

TEST(CommandLineTest, HelpIsACommandToo) {
  EXPECT_EQ(Ndlfs({"help"}).out, Ndlfs({"--help"}).out);
  EXPECT_EQ(Ndlfs({"help", "cat"}).out, Ndlfs({"cat", "--help"}).out);
  EXPECT_THAT(Ndlfs({"help", "moutn"}),
              IsWrong("unknown command \"moutn\" (did you mean mount?)"));
  EXPECT_THAT(Ndlfs({"help", "cat", "it"}),
              IsWrong("unexpected argument \"it\"; see ndlfs --help"));
}

TEST(CommandLineTest, RunWantsTwoHyphensBeforeOptionsOfTheCommand) {
  EXPECT_THAT(Ndlfs({"run", "/tmp"}), IsWrong("COMMAND is required: ndlfs run SOURCE -- "
                                              "COMMAND...; see ndlfs run --help"));
  EXPECT_THAT(
      Ndlfs({"run", "/tmp", "ls", "-l"}),
      IsWrong("unknown option -l; write ndlfs run SOURCE -- COMMAND..., with -- before it"));
}

TEST(CommandLineTest, VersionNamesCodecsAndLibraries) {
  EXPECT_EQ(Ndlfs({"-V"}).out, Ndlfs({"--version"}).out);
  const Ran ran = Ndlfs({"--version"});
  EXPECT_EQ(ran.status, 0);
  EXPECT_THAT(ran.out, MatchesRegex("ndlfs [0-9]+\\.[0-9]+\\.[0-9]+\nformats: .*\n"
                                    "codecs: .*blosc.*zstd.*\n"
                                    "libraries: .*zstd [0-9.]+.*libfuse 3\\..*\n"));
}

TEST(CommandLineTest, WrongWordsAreNamedWithTheNearest) {
  EXPECT_THAT(
      Ndlfs({}),
      IsWrong("no command; begin with: ndlfs mount DATA MOUNTPOINT, or see ndlfs --help"));
  EXPECT_THAT(Ndlfs({"moutn", "a", "b"}),
              IsWrong("unknown command \"moutn\" (did you mean mount?)"));
  EXPECT_THAT(Ndlfs({"frobnicate"}),
              IsWrong("unknown command \"frobnicate\"; see ndlfs --help"));
  EXPECT_THAT(Ndlfs({"--vresion"}),
              IsWrong("unknown option \"--vresion\" (did you mean --version?)"));
  EXPECT_THAT(Ndlfs({"mount", "a", "b", "--cach-size=1"}),
              IsWrong("unknown option --cach-size (did you mean --cache-size?)"));
  EXPECT_THAT(Ndlfs({"mount", "--cach-size", "1"}),
              IsWrong("unknown option --cach-size (did you mean --cache-size?)"));
  EXPECT_THAT(Ndlfs({"mount", "a", "b", "-z"}),
              IsWrong("unknown option -z; see ndlfs mount --help"));
  EXPECT_THAT(Ndlfs({"mount", "a", "b", "c"}),
              IsWrong("unexpected argument \"c\"; see ndlfs mount --help"));
}

TEST(CommandLineTest, WordsOfOtherProgramsAreKnown) {
  EXPECT_THAT(Ndlfs({"version"}),
              IsWrong("unknown command \"version\" (did you mean --version?)"));
  EXPECT_THAT(Ndlfs({"top", "/mnt"}), IsWrong("unknown command \"top\" (did you mean stats?)"));
  EXPECT_THAT(Ndlfs({"ls", "a"}),
              Fails(2, HasSubstr("unknown command \"ls\"; ndlfs describe STORE lists")));
  EXPECT_THAT(Ndlfs({"convert", "a"}),
              Fails(2, HasSubstr("ndlfs cat STORE / --view nc >FILE")));
  EXPECT_THAT(Ndlfs({"verify", "a"}),
              IsWrong("unknown command \"verify\" (did you mean check?)"));
  EXPECT_THAT(Ndlfs({"MOUNT", "a", "b"}),
              IsWrong("unknown command \"MOUNT\" (did you mean mount?)"));
  EXPECT_THAT(Ndlfs({"/tmp"}),
              IsWrong("no command before \"/tmp\" (did you mean describe?); see ndlfs --help"));
}

TEST(CommandLineTest, NamesThatAreNotThereAreNamedWithTheNearest) {
  const test::TemporaryDirectory directory;
  test::RunPython("import numpy as np\nnp.savez('" + (directory / "era5.npz") +
                  "', temperature=1, wind=2)");
  const std::string store = directory / "era5.npz";
  const auto fails = [](const std::string& message) {
    return Fails(1, AllOf(StartsWith("ndlfs: "), HasSubstr(message)));
  };
  EXPECT_THAT(Ndlfs({"describe", directory / "era5.npx"}),
              fails("No such file or directory (did you mean " + store + "?)"));
  EXPECT_THAT(Ndlfs({"describe", "era5.np"}, directory.path()),
              fails("No such file or directory (did you mean era5.npz?)"));
  for (const char* command : {"describe", "cat"}) {
    EXPECT_THAT(Ndlfs({command, store, "Temperature"}), fails("(did you mean /temperature?)"));
    EXPECT_THAT(Ndlfs({command, store, "/temprature"}), fails("(did you mean /temperature?)"));
    EXPECT_THAT(Ndlfs({command, store, "/x"}), fails("; the store has /temperature, /wind"));
  }
  EXPECT_THAT(
      Ndlfs({"describe", store + "/wind"}),
      fails("Not a directory; a path in a store is a word of its own: " + store + " /wind"));
}

TEST(CommandLineTest, CatWithoutAPathNamesTheArraysThatThereAre) {
  const test::TemporaryDirectory directory;
  test::RunPython("import numpy as np\nnp.savez('" + (directory / "era5.npz") +
                  "', temperature=1, wind=2)\nnp.save('" + (directory / "one.npy") +
                  "', [7, 8])");
  const std::string store = directory / "era5.npz";
  EXPECT_THAT(
      Ndlfs({"cat", store}),
      IsWrong(store + ": which array? The store has /temperature, /wind; write: ndlfs cat " +
              store + " PATH"));
  EXPECT_THAT(Ndlfs({"cat", directory / "one.npy", "--view", "txt"}).out, HasSubstr(" 8\n"));
}

TEST(CommandLineTest, FilesOfGroupsAreSaidToBeThose) {
  const test::TemporaryDirectory directory;
  test::RunPython("import numpy as np\nnp.savez('" + (directory / "era5.npz") +
                  "', temperature=1, wind=2)");
  EXPECT_THAT(
      Ndlfs({"cat", directory / "era5.npz", "/wind", "--view", "nc"}),
      Fails(1, HasSubstr("nc is a file of a group, which holds all its arrays; name the "
                         "group instead: /")));
}

TEST(CommandLineTest, DescribeOfADirectoryListsItsStores) {
  const test::TemporaryDirectory directory;
  test::RunPython("import numpy as np, os\nos.mkdir('" + (directory / "deep") +
                  "')\nnp.save('" + (directory / "deep/one.npy") + "', [7, 8])");
  const auto found = Ndlfs({"describe", directory.path()});
  EXPECT_EQ(found.status, 0);
  EXPECT_EQ(found.out, directory / "deep/one.npy" + std::string("  (NPY)\n"));
  EXPECT_THAT(found.err, HasSubstr("is a directory with 1 array store"));
  test::RunPython("import os\nos.remove('" + (directory / "deep/one.npy") + "')");
  EXPECT_THAT(Ndlfs({"describe", directory.path()}),
              Fails(1, HasSubstr("neither an array store nor a directory with array stores")));
}

TEST(CommandLineTest, MissingWordsAreNamed) {
  EXPECT_THAT(
      Ndlfs({"mount"}),
      IsWrong("SOURCE is required: ndlfs mount SOURCE MOUNTPOINT; see ndlfs mount --help"));
  EXPECT_THAT(
      Ndlfs({"mount", "a"}),
      IsWrong("MOUNTPOINT is required: ndlfs mount SOURCE MOUNTPOINT; see ndlfs mount --help"));
  EXPECT_THAT(
      Ndlfs({"umount"}),
      IsWrong("MOUNTPOINT is required: ndlfs umount MOUNTPOINT; see ndlfs umount --help"));
  EXPECT_THAT(
      Ndlfs({"describe"}),
      IsWrong("STORE is required: ndlfs describe STORE [PATH]; see ndlfs describe --help"));
  EXPECT_THAT(Ndlfs({"mount", "a", "b", "--cache-size"}),
              IsWrong("--cache-size needs a value"));
}

TEST(CommandLineTest, EmptyWordsAreNamed) {
  EXPECT_THAT(Ndlfs({"mount", "a", ""}),
              IsWrong("MOUNTPOINT is empty; see ndlfs mount --help"));
  EXPECT_THAT(Ndlfs({"umount", ""}), IsWrong("MOUNTPOINT is empty; see ndlfs umount --help"));
  EXPECT_THAT(Ndlfs({"describe", ""}), IsWrong("STORE is empty; see ndlfs describe --help"));
  EXPECT_THAT(Ndlfs({"cat", "a", ""}), IsWrong("PATH is empty; see ndlfs cat --help"));
  EXPECT_THAT(Ndlfs({"validate", "a", ""}),
              IsWrong("FILE is empty; see ndlfs validate --help"));
  EXPECT_THAT(Ndlfs({"check", ""}), IsWrong("SOURCE is empty; see ndlfs check --help"));
}

TEST(CommandLineTest, WrongValuesAreNamed) {
  EXPECT_THAT(Ndlfs({"mount", "a", "b", "--cache-size", "12MB"}),
              IsWrong("--cache-size: \"12MB\" is not a size (did you mean 12MiB?)"));
  EXPECT_THAT(Ndlfs({"mount", "a", "b", "--cache-size", "lots"}),
              IsWrong("--cache-size: \"lots\" is not a size, such as 64KiB, 512MiB or 2GiB"));
  EXPECT_THAT(
      Ndlfs({"mount", "a", "b", "--uid", "root"}),
      IsWrong("--uid: \"root\" is not the number of a user or group (did you mean 0?)"));
  EXPECT_THAT(Ndlfs({"check", "a", "--threads", "9999"}),
              IsWrong("--threads: \"9999\" is not a number from 0 (one per core) to 1024"));
  EXPECT_THAT(Ndlfs({"mount", "a", "b", "--immutable=yes"}),
              IsWrong("--immutable takes no value"));
  EXPECT_THAT(
      Ndlfs({"mount", "a", "b", "-o", "ro", "-o", "threads=x,allow_other"}),
      IsWrong("mount option threads: \"x\" is not a number from 0 (one per core) to 1024"));
  EXPECT_THAT(
      Ndlfs({"mount", "a", "b", "-o", "threads=x", "-o", "ro"}),
      IsWrong("mount option threads: \"x\" is not a number from 0 (one per core) to 1024"));
  EXPECT_THAT(Ndlfs({"cat", "a", "b", "--view", "nyp"}),
              Fails(2, StartsWith("ndlfs: --view: \"nyp\" is not one of npy, raw")));
}

TEST(CommandLineTest, ControlCharactersDoNotBreakTheLine) {
  EXPECT_THAT(Ndlfs({"mount", "a", "b", "c\nd"}),
              IsWrong("unexpected argument \"c\\x0ad\"; see ndlfs mount --help"));
}

// How mount(8) and mount.fuse3 call it. -f: all but the mount.
TEST(MountHelperTest, TakesWhatMountPasses) {
  const std::string list = "rw,dev,suid,nofail,_netdev,x-systemd.automount,cache_size=1MiB";
  EXPECT_EQ(Ndlfs({"/tmp", "/mnt", "-o", list, "-f"}).status, 0);
  EXPECT_EQ(Ndlfs({"tmp", "mnt", "-o", list, "-f"}, "/").status, 0);
  const auto helper = [](std::vector<std::string> words) {
    words.insert(words.begin(), "/sbin/mount.ndlfs");
    return test::RunProgram(NDLFS_EXECUTABLE, std::move(words));
  };
  EXPECT_EQ(helper({"/tmp", "/mnt", "-fnv", "-o", list, "-t", "ndlfs"}).status, 0);
  EXPECT_EQ(helper({"mount", "/mnt", "-f"}).status, 0);  // not the command
}

TEST(MountHelperTest, UnknownOptionsAreErrorsUnlessSloppy) {
  EXPECT_THAT(Ndlfs({"/tmp", "/mnt", "-f", "-o", "rw,immutible"}),
              IsWrong("unknown mount option \"immutible\" (did you mean immutable?)"));
  EXPECT_EQ(Ndlfs({"/tmp", "/mnt", "-f", "-o", "rw,immutible", "-s"}).status, 0);
  EXPECT_THAT(Ndlfs({"/tmp", "/mnt", "-f", "-s", "-o", "cache_size=1MB"}),
              Fails(2, StartsWith("ndlfs: mount option cache_size: \"1MB\"")));
}

// All that looks like a long option in `text`.
std::set<std::string> LongOptions(const std::string& text) {
  static const std::regex kOption("--[a-z][a-z-]*");
  return {std::sregex_token_iterator(text.begin(), text.end(), kOption), {}};
}

TEST(ManualTest, HasTheOptionsOfHelpAndNoOthers) {
  std::string manual = test::ReadFile(std::string(NDLFS_MANUALS) + "/ndlfs.1");
  ASSERT_THAT(manual, HasSubstr(".SH NAME"));
  manual = std::regex_replace(manual, std::regex("\\\\-"), "-");
  std::string help = Ndlfs({"--help"}).out;
  const std::string commands = help.substr(help.find("Commands:"), help.find("Options:"));
  static const std::regex kCommand("\n  ([a-z]+) ");
  for (std::sregex_iterator it(commands.begin(), commands.end(), kCommand), end; it != end;
       ++it) {
    EXPECT_THAT(manual, HasSubstr(".BI " + (*it)[1].str() + " \""));
    EXPECT_THAT(manual, HasSubstr(".SY ndlfs\n.B " + (*it)[1].str() + "\n"));
    help += Ndlfs({(*it)[1].str(), "--help"}).out;
  }
  EXPECT_EQ(LongOptions(manual), LongOptions(help));
}

TEST(ManualTest, NamesEveryFileOfArraysAndGroups) {
  std::set<std::string> files;
  for (const fs::ArrayViewKind* kind : fs::ArrayViewKinds()) files.emplace(kind->file_name);
  for (const fs::GroupViewKind* kind : fs::GroupViewKinds()) files.emplace(kind->file_name);
  ASSERT_THAT(files, Contains("data.npy"));
  const std::string help = Ndlfs({"cat", "--help"}).out;
  for (const std::string& file : files) {
    for (const char* page : {"ndlfs.1", "ndlfs-tree.5"}) {
      EXPECT_THAT(test::ReadFile(std::string(NDLFS_MANUALS) + "/" + page), HasSubstr(file));
    }
    EXPECT_THAT(help, HasSubstr(std::string(fs::ShortName(file))));
  }
}

}  // namespace
}  // namespace ndlfs
