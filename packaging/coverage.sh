#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Branch coverage of model, backends/codec, backends/store, cache and fs/tree by the unit tests: what share of the two ways of
# each condition they go, by room, and each way that none goes. Takes some 20 minutes on two cores.
#
#   packaging/coverage.sh            builds in build/coverage, runs the tests, prints a line for each room
#   packaging/coverage.sh --report   the last two steps alone
#
# build/coverage/missed.txt then has a line for each way that no test goes; tests/COVERAGE.md says why.
# NDLFS_JOBS (all cores) says how wide.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
jobs=${NDLFS_JOBS:-$(nproc)}
build=build/coverage
tests=(model_test codec_test cache_test remote_test http_source_test backends_test fs_threads_test fs_test)
if command -v ccache >/dev/null; then
  export CMAKE_C_COMPILER_LAUNCHER=${CMAKE_C_COMPILER_LAUNCHER:-ccache} CMAKE_CXX_COMPILER_LAUNCHER=${CMAKE_CXX_COMPILER_LAUNCHER:-ccache}
fi

if [ "${1:-}" != --report ]; then
  flags="-O0 -fprofile-instr-generate -fcoverage-mapping"
  cmake --preset asan -B "$build" -DNDLFS_SANITIZE= -DCMAKE_CXX_FLAGS_DEBUG="$flags" >/dev/null
  cmake --build "$build" -j "$jobs" --target "${tests[@]}"
fi

# Processes that tests start write into the same files; one that may not write files does not count.
rm -rf "$build/profiles"
for test in "${tests[@]}"; do
  echo "$test"
  LLVM_PROFILE_FILE="$PWD/$build/profiles/$test-%4m.profraw" "$build/tests/$test" --gtest_brief=1 >"$build/$test.log" 2>&1 ||
    { echo "coverage.sh: $test failed: $build/$test.log" >&2; tail -n 3 "$build/$test.log" >&2; }
done
llvm-profdata merge -sparse "$build"/profiles/*.profraw -o "$build/all.profdata"
llvm-cov export -instr-profile "$build/all.profdata" "$build/tests/${tests[0]}" \
  "${tests[@]/#/-object=$build/tests/}" model backends/codec backends/store cache fs/tree >"$build/coverage.json"
/usr/bin/python3 -B tests/coverage.py "$build/coverage.json" "$build/missed.txt"
