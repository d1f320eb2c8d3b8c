#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Branch coverage of model, backends/codec, backends/store, cache and fs/tree: what share of the two ways of each condition the
# unit tests go, by room, and with the tests that mount; and why no test goes the others. Takes some 40 minutes on two cores.
#
#   packaging/coverage.sh            builds in build/coverage, runs the tests, prints a line for each room
#   packaging/coverage.sh --report   the tests have run: prints the lines alone
#
# build/coverage/missed.txt then has a line for each way that no test goes, with its reason; tests/COVERAGE.md says more.
# NDLFS_SKIP_MOUNT_TESTS=1 leaves out the tests that mount. NDLFS_JOBS (all cores) says how wide.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
jobs=${NDLFS_JOBS:-$(nproc)}
build=build/coverage
unit=(model_test codec_test cache_test remote_test http_source_test hdf5_test backends_test fs_threads_test fs_test schedules_test)
# What mounts, but not what takes the longest: thousands of damaged stores, random ones, and each call that can fail.
long='^(mount\.(mutation|random|differential|nth_.*|limits\.RandomTest)|legacy\..*)$'
profiles=$PWD/$build/profiles
if command -v ccache >/dev/null; then
  export CMAKE_C_COMPILER_LAUNCHER=${CMAKE_C_COMPILER_LAUNCHER:-ccache} CMAKE_CXX_COMPILER_LAUNCHER=${CMAKE_CXX_COMPILER_LAUNCHER:-ccache}
fi

# build TARGET...
build() {
  local flags="-O0 -fprofile-instr-generate -fcoverage-mapping"
  cmake --preset asan -B "$build" -DNDLFS_SANITIZE= -DCMAKE_CXX_FLAGS_DEBUG="$flags" >/dev/null
  cmake --build "$build" -j "$jobs" --target "$@"
}

# Processes that tests start write into the same files; one that is killed, or may not write files, does not count.
run_unit_tests() {
  rm -rf "$profiles"
  for test in "${unit[@]}"; do
    echo "$test"
    LLVM_PROFILE_FILE="$profiles/$test-%4m.profraw" "$build/tests/$test" --gtest_brief=1 >"$build/$test.log" 2>&1 ||
      { echo "coverage.sh: $test failed: $build/$test.log" >&2; tail -n 3 "$build/$test.log" >&2; }
  done
}

run_mount_tests() {
  echo "tests that mount"
  LLVM_PROFILE_FILE="$profiles/mount-%4m.profraw" \
    ctest --test-dir "$build" -L mount -E "$long" -j "$((2 * jobs))" >"$build/mount.log" 2>&1 ||
    { echo "coverage.sh: tests that mount failed: $build/mount.log" >&2; sed -n '/The following tests FAILED/,$p' "$build/mount.log" >&2; }
  rm -f default.profraw  # of programs that run without environment
}

# export_counts NAME PROFILE...: what the processes of these profiles did is in NAME.json.
export_counts() {
  local name=$1; shift
  llvm-profdata merge -sparse "$@" -o "$build/$name.profdata"
  llvm-cov export -skip-functions -skip-expansions -instr-profile "$build/$name.profdata" "$build/tests/${unit[0]}" \
    "${unit[@]/#/-object=$build/tests/}" model backends/codec backends/store cache fs/tree >"$build/$name.json"
}

if [ "${1:-}" != --report ]; then
  build "${unit[@]}" ndlfs ndlfs_fake_eccodes ndlfs_faults ndlfs_clock
  run_unit_tests
  export_counts unit "$profiles"/*.profraw
  rm -f "$build/mounted.json"
  if [ "${NDLFS_SKIP_MOUNT_TESTS:-}" != 1 ]; then
    run_mount_tests
    export_counts mounted "$profiles"/*.profraw
  fi
fi
mounted=()
if [ -e "$build/mounted.json" ]; then mounted=("$build/mounted.json"); fi
/usr/bin/python3 -B tests/coverage.py "$build/unit.json" "$build/missed.txt" "${mounted[@]}"
