#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# What conda-build runs in the unpacked sources; PREFIX is where it installs.
set -euo pipefail

# shellcheck disable=SC2086
cmake ${CMAKE_ARGS:-} -S . -B build-conda -G Ninja \
  -DCMAKE_BUILD_TYPE=Release \
  -DCMAKE_INSTALL_PREFIX="$PREFIX" \
  -DCMAKE_PREFIX_PATH="$PREFIX" \
  -DNDLFS_BUILD_TESTS=OFF \
  -DNDLFS_UNITY=ON
cmake --build build-conda --parallel "${CPU_COUNT:-2}" --target ndlfs
cmake --install build-conda
