// SPDX-License-Identifier: MIT
#include "fs/command.h"

int main(int argc, char** argv) { return ndlfs::fs::RunCommandLine(argc, argv); }
