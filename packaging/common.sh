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

# Seconds since 1970 of the last change of the sources.
source_date() {
  git -C "$top" log -1 --format=%ct 2>/dev/null || stat -c %Y "$top/CHANGELOG.md"
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
