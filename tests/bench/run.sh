#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Measures reading through the mount beside the alternatives, in one run.
#
#   tests/bench/run.sh [--quick] [--rounds N] [--only PATTERN] [--data DIR] [--before NDLFS]
#
# Takes 9 GiB below ${TMPDIR:-/tmp} and some minutes; --quick takes 64 MiB an
# array. Leaves neither mounts nor files behind. See README.md beside it.
set -euo pipefail

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
build=$top/build/bench
mkdir -p "$build"
cd "$top"
cmake --preset release -B "$build" -DNDLFS_BUILD_BENCHMARKS=ON >"$build/configure.log" 2>&1 || {
  cat "$build/configure.log" >&2
  exit 1
}
cmake --build "$build" --target ndlfs bench_reference bench_latency >/dev/null
NDLFS_BINARY=$build/ndlfs NDLFS_EXAMPLES=$top/examples NDLFS_BENCH_TOOLS=$build/tests/bench \
  PYTHONPATH=$top/tests/mount exec /usr/bin/python3 -B tests/bench/bench.py "$@"
