// SPDX-License-Identifier: MIT
#pragma once

namespace ndlfs::fs {

// Runs the command line, and returns the exit status of the process: 0, 1 if the work failed, 2
// if the command line is wrong. Each failure is one line on standard error.
int RunCommandLine(int argc, char** argv);

}  // namespace ndlfs::fs
