// SPDX-License-Identifier: MIT
#include "fs/command_line.h"

int main(int argc, char** argv) { return ndlfs::fs::RunCommandLine(argc, argv); }
