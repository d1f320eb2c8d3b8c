#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Builds and tests everything: all tests with the address and undefined behaviour
# sanitizers, each fuzz target for NDLFS_FUZZ_SECONDS (20), what has threads with
# the thread sanitizer, what mounts also with the optimized executable that users
# get, and the layout of the sources. Takes some 50 minutes on two cores; ends with
# the summary of ctest.
#
#   packaging/test.sh
#
# NDLFS_SANITIZERS=0 leaves out the sanitizers and the fuzz targets; the unit tests
# are then optimized, too.
# NDLFS_TSAN=0 leaves out the thread sanitizer alone.
# NDLFS_TIDY=1 also runs clang-tidy over all sources.
# NDLFS_SKIP_MOUNT_TESTS=1 leaves out what mounts, where there is no /dev/fuse.
# NDLFS_JOBS (all cores) says how wide.
set -euo pipefail

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$top"
jobs=${NDLFS_JOBS:-$(nproc)}
fuzz_seconds=${NDLFS_FUZZ_SECONDS:-20}
sanitizers=${NDLFS_SANITIZERS:-1}
thread_sanitizer=${NDLFS_TSAN:-$sanitizers}
# The tests of threads; the build preset has only what these need. Of what mounts, that is what has
# several readers, or changes under them.
threads='^(mount[.](access|changes|load|users)$|cache_test|fs_threads_test)'
# The tests of the executable itself; the others are in the build with sanitizers.
of_executable='^(mount|corrupt|examples|legacy|rooms)'
# What mounts waits more than it computes.
waiting=$((2 * jobs))
started=$SECONDS
failed=()

die() {
  echo "test.sh: $*" >&2
  exit 1
}
say() {
  printf '\n== %s (%d s)\n' "$*" $((SECONDS - started))
}
# Runs a step whose failure shall not hide the results of the others.
step() {
  local name=$1
  shift
  say "$name"
  "$@" || failed+=("$name")
}

# What a compiler cache knows need not be compiled again.
use_ccache() {
  [ -z "${CMAKE_CXX_COMPILER_LAUNCHER:-}" ] && command -v ccache >/dev/null || return 0
  export CMAKE_C_COMPILER_LAUNCHER=ccache CMAKE_CXX_COMPILER_LAUNCHER=ccache
  export CCACHE_SLOPPINESS=${CCACHE_SLOPPINESS:-pch_defines,time_macros}
}

check_fuse() {
  [ "${NDLFS_SKIP_MOUNT_TESTS:-}" = 1 ] && return
  [ -c /dev/fuse ] ||
    die "there is no /dev/fuse, and much of ndlfs is only tested by mounting; NDLFS_SKIP_MOUNT_TESTS=1 leaves that out"
}

# build PRESET [OPTION...]
build() {
  local preset=$1
  shift
  cmake --preset "$preset" || die "cmake --preset $preset failed"
  cmake --build --preset "$preset" -j "$jobs" "$@" || die "the $preset build failed"
}

# run_ctest PRESET JOBS [OPTION...]
run_ctest() {
  local preset=$1 width=$2
  shift 2
  ctest --test-dir "build/$preset" -j "$width" --output-on-failure --no-tests=error "$@"
}

own_sources() {
  git ls-files -z -- '*.h' '*.cc' 2>/dev/null ||
    find model backends cache fs tests -name '*.h' -print0 -o -name '*.cc' -print0
}

check_format() {
  own_sources | xargs -0 clang-format --dry-run --Werror
}

check_tidy() {
  mkdir -p build/tidy
  # An option that g++ has and clang has not.
  sed 's/ -fvect-cost-model=[a-z]*//' build/release/compile_commands.json >build/tidy/compile_commands.json
  find model backends cache fs -name '*.cc' -print0 | sort -z |
    xargs -0 -n 1 -P "$jobs" clang-tidy --quiet -p build/tidy 2>build/tidy/log ||
    { grep -v 'warnings generated' build/tidy/log || true; return 1; }
}

check_scripts() {
  local script
  for script in packaging/*.sh .ci/run tests/bench/run.sh tests/fuzz/run.sh; do
    bash -n "$script" || return 1
  done
}

check_fuse
say "packages"
packaging/install-deps.sh test
use_ccache

say "release build"
if [ "$sanitizers" = 1 ]; then
  build release --target ndlfs ndlfs_faults
  say "asan build"
  build asan
else
  build release
fi
step "format" check_format
step "scripts" check_scripts
if [ "${NDLFS_TIDY:-}" = 1 ]; then
  step "clang-tidy" check_tidy
fi
if [ "$sanitizers" = 1 ]; then
  step "fuzz targets, $fuzz_seconds s each" env NDLFS_JOBS="$jobs" tests/fuzz/run.sh build/asan "$fuzz_seconds"
fi
# Tests that mount often wait, so that there is time to compile beside them.
if [ "$thread_sanitizer" = 1 ]; then
  mkdir -p build
  build tsan >build/tsan.log 2>&1 &
  tsan_build=$!
fi
if [ "$sanitizers" = 1 ]; then
  step "tests with address and undefined behaviour sanitizers" run_ctest asan "$jobs"
fi
if [ "$thread_sanitizer" = 1 ]; then
  say "tsan build"
  wait "$tsan_build" || { tail -n 100 build/tsan.log >&2; die "the tsan build failed"; }
  step "tests with the thread sanitizer" run_ctest tsan "$waiting" -R "$threads"
fi
if [ "$sanitizers" = 1 ]; then
  # Damaged files are for the sanitizers, and take long.
  step "tests of the executable" run_ctest release "$waiting" -R "$of_executable" -E '^mount[.]mutation$'
else
  step "tests" run_ctest release "$jobs"
fi

if [ ${#failed[@]} -gt 0 ]; then
  printf '\ntest.sh: failed: %s\n' "$(IFS=,; echo "${failed[*]}")" >&2
  exit 1
fi
