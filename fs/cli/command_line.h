// SPDX-License-Identifier: MIT
#pragma once

namespace ndlfs::fs {

// Does what the command line says; returns the exit status of the process: 0,
// 1 where the work failed, 2 where the command line is wrong. Each failure is
// one line on standard error.
int RunCommandLine(int argc, char** argv);

}  // namespace ndlfs::fs
