# SPDX-License-Identifier: MIT
#
# What the scripts that make packages have in common; $top is the source tree.
# shellcheck shell=bash

die() {
  echo "$(basename "$0"): $*" >&2
  exit 1
}

# The version stands in CMakeLists.txt and nowhere else.
project_version() {
  local version
  version=$(sed -n 's/^project(ndlfs VERSION \([0-9.]*\) .*/\1/p' "$top/CMakeLists.txt")
  [ -n "$version" ] || die "CMakeLists.txt names no version"
  echo "$version"
}

# Seconds since 1970 of the last change of the sources. Without git that is the time of the files
# in the source archive. A repository around an unpacked archive is none of ours.
source_date() {
  if [ -n "${SOURCE_DATE_EPOCH:-}" ]; then
    echo "$SOURCE_DATE_EPOCH"
  elif [ -e "$top/.git" ] && git -C "$top" log -1 --format=%ct 2>/dev/null; then
    :
  else
    stat -c %Y "$top/CHANGELOG.md"
  fi
}

# Leaves the build to pack in $build.
make_build() {
  build=${NDLFS_BUILD:-}
  if [ -n "$build" ]; then
    [ -x "$build/ndlfs" ] || die "'$build' has no ndlfs"
    return
  fi
  build=$top/build/release
  mkdir -p "$top/build"
  (cd "$top" && cmake --preset release >build/configure.log 2>&1) || {
    cat "$top/build/configure.log" >&2
    die "cmake failed"
  }
  (cd "$top" && cmake --build --preset release --target ndlfs >&2) || die "the build failed"
}

# What cmake was told of the build to pack: build_cached NAME. Nothing if it was not.
build_cached() {
  sed -n "s/^$1:[A-Z]*=//p" "$build/CMakeCache.txt"
}

# build_tool NAME DEFAULT: the program that the build uses as CMAKE_NAME.
build_tool() {
  local found
  found=$(build_cached "CMAKE_$1")
  echo "${found:-$2}"
}

# The processor that the build is for, as `uname -m` says it.
build_processor() {
  local found
  found=$(build_cached CMAKE_SYSTEM_PROCESSOR)
  echo "${found:-$(uname -m)}"
}

# The command that runs programs of the build here; empty if they run by themselves.
build_emulator() {
  build_cached CMAKE_CROSSCOMPILING_EMULATOR | tr ';' ' '
}
