#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Builds and tests ndlfs. Takes some 25 minutes on two cores, and 15 when a compiler cache knows the
# sources; prints the seconds of each step, and ends with the summary of ctest.
#
#   packaging/test.sh           all tests with the address and undefined behaviour sanitizers, and those that
#                               mount under load also with the optimized executable that users get
#   packaging/test.sh --turn    also one of the first four parts below: the number of commits says which
#   packaging/test.sh --full    all of these parts, and Debian 13; takes more than an hour
#
# The parts: `fuzz` runs each fuzz target for NDLFS_FUZZ_SECONDS (20), `threads` what has threads with the
# thread sanitizer, `mutation` damaged copies of stores, `alone` compiles each header and each source alone,
# and `makers` compares made-up stores of each format for NDLFS_MAKER_SECONDS (60).
# `packaging/test.sh --part NAME` adds one part by name.
#
# NDLFS_SANITIZERS=0 leaves out the sanitizers; the unit tests are then optimized, too.
# NDLFS_TIDY=1 also runs clang-tidy over all sources.
# NDLFS_SKIP_MOUNT_TESTS=1 leaves out what mounts, where there is no /dev/fuse.
# NDLFS_JOBS (all cores) says how wide.
set -euo pipefail

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$top"
jobs=${NDLFS_JOBS:-$(nproc)}
fuzz_seconds=${NDLFS_FUZZ_SECONDS:-20}
maker_seconds=${NDLFS_MAKER_SECONDS:-60}
sanitizers=${NDLFS_SANITIZERS:-1}
turns=(fuzz threads mutation alone)
all_parts=("${turns[@]}" makers)
parts=()
# The tests of threads; the build preset has only what these need. Of what mounts, that is what has
# several readers, or changes under them.
threads='^(mount[.](access|changes|load|users)$|cache_test|fs_threads_test)'
# What mounts, and what the optimized executable has to show: that it bears faults, limits and load, and that
# random stores and copies are right; and schedules, whose scheduler takes the place of functions that sanitizers replace.
# Everything else has run with the sanitizers.
of_executable='^schedules_test|^mount[.](faults|nth_[a-z_]*|differential|waiting|limits|load|views|copies|random|writer|tools|recipes|clocks|command_line|system|old_kernel)'
# What mounts waits more than it computes.
waiting=$((4 * jobs))
started=$SECONDS
failed=()
times=()

die() {
  echo "test.sh: $*" >&2
  exit 1
}

# timed NAME COMMAND...: prints how long it took. Its failure does not hide what the next steps find.
timed() {
  local name=$1 begin=$SECONDS status=0
  shift
  printf '\n== %s\n' "$name"
  "$@" || status=$?
  printf -v line '%5d s  %s' $((SECONDS - begin)) "$name"
  times+=("$line")
  echo "-- $name: $((SECONDS - begin)) s"
  [ "$status" -eq 0 ] || failed+=("$name")
}

# What a compiler cache knows need not be compiled again, whatever the folder is.
use_ccache() {
  [ -z "${CMAKE_CXX_COMPILER_LAUNCHER:-}" ] && command -v ccache >/dev/null || return 0
  export CMAKE_C_COMPILER_LAUNCHER=ccache CMAKE_CXX_COMPILER_LAUNCHER=ccache
  export CCACHE_BASEDIR=$top CCACHE_NOHASHDIR=1 CCACHE_SLOPPINESS=${CCACHE_SLOPPINESS:-time_macros}
}

check_fuse() {
  [ "${NDLFS_SKIP_MOUNT_TESTS:-}" = 1 ] && return
  [ -c /dev/fuse ] ||
    die "there is no /dev/fuse, and much of ndlfs is only tested by mounting; NDLFS_SKIP_MOUNT_TESTS=1 leaves that out"
}

install_packages() {
  packaging/install-deps.sh test || die "the packages were not installed"
}

# build PRESET [OPTION...]
build() {
  local preset=$1
  shift
  cmake --preset "$preset" -DNDLFS_WERROR=ON >"build/$preset.configure.log" 2>&1 ||
    { tail -n 50 "build/$preset.configure.log" >&2; die "cmake --preset $preset failed"; }
  cmake --build --preset "$preset" -j "$jobs" "$@" || die "the $preset build failed"
}

# run_ctest PRESET JOBS [OPTION...]
run_ctest() {
  local preset=$1 width=$2
  shift 2
  ctest --test-dir "build/$preset" -j "$width" --output-on-failure --no-tests=error "$@" && return
  note_failures "$preset" >>build/failures.log
  return 1
}

# The end of what each test that has just failed has written.
note_failures() {
  local logs=build/$1/Testing/Temporary name
  cut -d: -f2- "$logs/LastTestsFailed.log" | while read -r name; do
    printf '\n== the end of %s (%s)\n' "$name" "$1"
    awk -v name="$name" '/^[0-9]+\/[0-9]+ Testing: / { wanted = $3 == name } wanted' "$logs/LastTest.log" | tail -n 40
  done
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
  cmake --preset release -B build/tidy-flags -DNDLFS_UNITY=OFF >build/tidy/configure.log
  cmake --build build/tidy-flags --target generated >>build/tidy/configure.log
  sed 's/ -fvect-cost-model=[a-z]*//' build/tidy-flags/compile_commands.json >build/tidy/compile_commands.json
  find model backends cache fs -name '*.cc' -print0 | sort -z |
    xargs -0 -n 1 -P "$jobs" clang-tidy --quiet -p build/tidy 2>build/tidy/log ||
    { grep -v 'warnings generated' build/tidy/log || true; return 1; }
}

check_scripts() {
  local script
  for script in packaging/*.sh .ci/run tests/*/run.sh; do
    bash -n "$script" || return 1
  done
}

# The tests of the executable run while the sanitizers' build compiles: they wait most of the time.
begin_tests_of_executable() {
  run_ctest release "$waiting" -R "$of_executable" >build/executable.log 2>&1 &
  executable_tests=$!
}

# Where a build fails, they end with this script.
end_tests_of_executable() {
  [ -z "${executable_tests:-}" ] || kill "$executable_tests" 2>/dev/null || true
}
trap end_tests_of_executable EXIT

finish_tests_of_executable() {
  local status=0
  wait "$executable_tests" || status=$?
  executable_tests=
  cat build/executable.log
  return "$status"
}

part_fuzz() {
  timed "fuzz build" build fuzz
  timed "fuzz targets, $fuzz_seconds s each" env NDLFS_JOBS="$jobs" tests/fuzz/run.sh build/fuzz "$fuzz_seconds"
}

part_threads() {
  timed "tsan build" build tsan
  timed "tests with the thread sanitizer" run_ctest tsan "$waiting" -R "$threads"
}

part_mutation() {
  timed "damaged copies of stores" run_ctest asan 1 -R '^mount[.]mutation$'
}

part_makers() {
  timed "made-up stores, $maker_seconds s each format" tests/differential/run.sh all "$maker_seconds"
}

compile_alone() {
  cmake --preset dev -B build/alone -DNDLFS_PRECOMPILE=OFF -DNDLFS_WERROR=ON >build/alone.configure.log 2>&1 ||
    { tail -n 50 build/alone.configure.log >&2; return 1; }
  cmake --build build/alone --target generated >>build/alone.configure.log || return 1
  /usr/bin/python3 -B tests/alone.py build/alone "$jobs"
}

part_alone() {
  timed "each header and source alone" compile_alone
}

# A chroot of its own, with that release's compiler and libraries.
part_debian13() {
  timed "Debian 13" packaging/test-on.sh trixie
}

# The numbers of commits take these parts in turn; where there is no repository, days do.
part_of_this_turn() {
  local number
  number=$(git rev-list --count HEAD 2>/dev/null) || number=$(($(date +%s) / 86400))
  echo "${turns[$((number % ${#turns[@]}))]}"
}

case "${1:-}" in
  '') ;;
  --turn) parts=("$(part_of_this_turn)") ;;
  --full) parts=("${all_parts[@]}" debian13) ;;
  --part) [[ " ${all_parts[*]} " == *" ${2:-} "* ]] || die "--part takes one of: ${all_parts[*]}"; parts=("$2") ;;
  *) die "unknown argument '$1'; it is --turn, --full or --part NAME" ;;
esac

mkdir -p build
rm -f build/failures.log
check_fuse
timed "packages" install_packages
use_ccache

if [ "$sanitizers" = 1 ]; then
  timed "release build" build release --target ndlfs schedules_test ndlfs_faults ndlfs_nth_fault ndlfs_clock
  begin_tests_of_executable
  timed "asan build, beside tests of the executable" build asan
  timed "format" check_format
  timed "scripts" check_scripts
  timed "tests of the executable, the rest" finish_tests_of_executable
  timed "tests with address and undefined behaviour sanitizers" \
    run_ctest asan "$waiting" -E '^mount[.](mutation|copies|recipes|old_kernel)$'
else
  timed "release build" build release
  timed "format" check_format
  timed "scripts" check_scripts
  timed "tests" run_ctest release "$waiting" -E '^mount[.]mutation$'
fi
if [ "${NDLFS_TIDY:-}" = 1 ]; then
  timed "clang-tidy" check_tidy
fi
for part in "${parts[@]}"; do
  "part_$part"
done

# The output of each test that failed stands far above: its end once more.
[ ! -f build/failures.log ] || cat build/failures.log
printf '\nseconds of each step:\n'
printf '%s\n' "${times[@]}"
printf '%5d s  in all\n' $((SECONDS - started))
if [ ${#failed[@]} -gt 0 ]; then
  printf '\ntest.sh: failed: %s\n' "$(IFS=,; echo "${failed[*]}")" >&2
  exit 1
fi
