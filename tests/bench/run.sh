#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Measures reading through the mount beside the alternatives, in one run.
#
#   tests/bench/run.sh [--quick] [--rounds N] [--only PATTERN] [--data DIR] [--before NDLFS]
#   tests/bench/run.sh soak [--minutes N]
#   tests/bench/run.sh scale
#   tests/bench/run.sh opening [--rounds N] [--arrays N] [--only STORE] [--before NDLFS]
#   tests/bench/run.sh views [--quick] [--rounds N] [--dtype DTYPE]
#   tests/bench/run.sh link [--rounds N] [--rate MB/S] [--total MB/S] [--planes N] [--chunks row|planes] [--plain]
#                           [--cache-size SIZE] [--before NDLFS]
#   tests/bench/run.sh warm [--rounds N] [--rate MB/S] [--planes N] [--before NDLFS]
#   tests/bench/run.sh clients [--rounds N] [--rate MB/S] [--total MB/S] [--planes N]
#   tests/bench/run.sh micro
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
script=bench
targets=(ndlfs bench_reference bench_latency)
case "${1:-}" in
  soak | scale | opening | views | link | warm | clients)
    script=$1
    shift
    ;;
  micro)
    shift
    cmake --build "$build" --target bench_micro >/dev/null
    exec "$build/tests/bench/bench_micro" "$@"
    ;;
esac
cmake --build "$build" --target "${targets[@]}" >/dev/null
NDLFS_BINARY=$build/ndlfs NDLFS_EXAMPLES=$top/examples NDLFS_BENCH_TOOLS=$build/tests/bench \
  PYTHONPATH=$top/tests/mount exec /usr/bin/python3 -B "tests/bench/$script.py" "$@"
