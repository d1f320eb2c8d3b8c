#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Measures reading through the mount beside the alternatives, in one run.
#
#   tests/bench/run.sh [--quick]
#
# Takes 4 GiB below ${TMPDIR:-/tmp} and some minutes; --quick takes 64 MiB an
# array. Leaves neither mounts nor files behind.
set -euo pipefail

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
cd "$top"
mkdir -p build
cmake --preset release >build/configure.log 2>&1 || {
  cat build/configure.log >&2
  exit 1
}
cmake --build --preset release --target ndlfs >/dev/null
NDLFS_BINARY=$top/build/release/ndlfs NDLFS_EXAMPLES=$top/examples PYTHONPATH=$top/tests/mount \
  exec /usr/bin/python3 -B tests/bench/bench.py "$@"
