// SPDX-License-Identifier: MIT
//
// Runs a program and keeps what it says.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "tests/support/python.h"

namespace ndlfs::test {

struct Ran {
  int status = -1;  // exit status; 128 + the signal that ended it
  std::string out;
  std::string err;
};

// `words` begins with the name that the program gets; `program` is its file.
inline Ran RunProgram(const std::string& program, std::vector<std::string> words,
                      const std::string& directory = "/") {
  const TemporaryDirectory temporary;
  const std::string out = temporary / "out";
  const std::string err = temporary / "err";
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  const pid_t child = ::fork();
  if (child == 0) {
    constexpr int kFlags = O_WRONLY | O_CREAT | O_TRUNC;
    ::dup2(::open(out.c_str(), kFlags, 0600), STDOUT_FILENO);
    ::dup2(::open(err.c_str(), kFlags, 0600), STDERR_FILENO);
    if (::chdir(directory.c_str()) == 0) ::execv(program.c_str(), argv.data());
    ::_exit(127);
  }
  int state = 0;
  EXPECT_EQ(::waitpid(child, &state, 0), child);
  const int status = WIFEXITED(state) ? WEXITSTATUS(state) : 128 + WTERMSIG(state);
  return {status, ReadFile(out), ReadFile(err)};
}

}  // namespace ndlfs::test
