#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Builds ndlfs for arm64 on another machine, runs its unit tests under qemu-user, and makes the
# Debian package and the archive. Compilers and libraries are in a chroot of Debian, so that
# nothing is installed on this machine. Needs root and debootstrap. Takes half an hour and 3 GB.
#
#   packaging/arm64.sh [DIRECTORY]
#
# The package and the archive go to DIRECTORY (build/packages).
# NDLFS_RELEASE (bookworm) is the release of Debian that the package is for.
# NDLFS_CHROOT (build/arm64/RELEASE) is the chroot; it is made if it is not there, and stays.
# NDLFS_ARM64_TESTS (model_test codec_test cache_test) are run; they start no other program,
# which qemu-user could not without the help of this machine's kernel.
# NDLFS_CXXFLAGS (-O2 -g1 -DNDEBUG) are options for the compiler.
# NDLFS_JOBS (all cores) says how wide.
set -euo pipefail

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# shellcheck source=packaging/common.sh
. "$top/packaging/common.sh"

release=${NDLFS_RELEASE:-bookworm}
root=${NDLFS_CHROOT:-$top/build/arm64/$release}
tests=${NDLFS_ARM64_TESTS-model_test codec_test cache_test}
jobs=${NDLFS_JOBS:-$(nproc)}
log=$top/build/arm64/log
mirror=${NDLFS_MIRROR:-http://deb.debian.org/debian}

[ $# -le 1 ] || die "usage: packaging/arm64.sh [DIRECTORY]"
[ "$(id -u)" -eq 0 ] || die "only root can use a chroot"
mkdir -p "$top/build/arm64/build" "${1:-$top/build/packages}"
target=$(cd "${1:-$top/build/packages}" && pwd)

say() {
  printf '== %s (%d s)\n' "$*" "$SECONDS"
}

# inside COMMAND...: runs it in the chroot. The mounts that it needs end with it.
inside() {
  # shellcheck disable=SC2016
  unshare --mount --propagation private bash -euc '
    root=$1 top=$2 target=$3
    shift 3
    mkdir -p "$root/src" "$root/build" "$root/packages"
    mount -t proc proc "$root/proc"
    mount --bind "$top" "$root/src"
    mount --bind "$top/build/arm64/build" "$root/build"
    mount --bind "$target" "$root/packages"
    cd /
    exec chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 \
      DEBIAN_FRONTEND=noninteractive "$@"' bash "$root" "$top" "$target" "$@"
}

logged() {
  "$@" >>"$log" 2>&1 || {
    tail -n 50 "$log" >&2
    die "failed: $* (all of it is in $log)"
  }
}

# The names under which the chroot has what is needed: libraries for arm64, tools for itself.
needed_packages() {
  local package
  echo crossbuild-essential-arm64 qemu-user-static
  for package in $("$top/packaging/install-deps.sh" list package); do
    case $package in
      g++ | fuse3 | git | lintian) ;;
      *-dev)
        if inside apt-cache show "$package" | grep -qx 'Architecture: all'; then
          echo "$package"
        else
          echo "$package:arm64"
        fi
        ;;
      *) echo "$package" ;;
    esac
  done
}

make_root() {
  [ ! -e "$root/ndlfs-is-ready" ] || return 0
  if [ ! -e "$root/etc/debian_version" ]; then
    command -v debootstrap >/dev/null || die "debootstrap is not installed (apt install debootstrap)"
    say "debootstrap $release"
    logged debootstrap --variant=minbase --include=ca-certificates "$release" "$root" "$mirror"
  fi
  say "compilers and libraries"
  logged inside dpkg --add-architecture arm64
  logged inside apt-get update -q
  # shellcheck disable=SC2046
  logged inside apt-get install -y -q --no-install-recommends $(needed_packages)
  touch "$root/ndlfs-is-ready"
}

build_all() {
  say "build"
  logged inside env PKG_CONFIG_LIBDIR=/usr/lib/aarch64-linux-gnu/pkgconfig:/usr/share/pkgconfig \
    cmake -S /src -B /build -G Ninja \
    -DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR=aarch64 \
    -DCMAKE_C_COMPILER=/usr/bin/aarch64-linux-gnu-gcc \
    -DCMAKE_CXX_COMPILER=/usr/bin/aarch64-linux-gnu-g++ \
    -DCMAKE_STRIP=/usr/bin/aarch64-linux-gnu-strip \
    -DCMAKE_CROSSCOMPILING_EMULATOR=/usr/bin/qemu-aarch64-static \
    -DCMAKE_BUILD_TYPE=RelWithDebInfo -DCMAKE_CXX_FLAGS_RELWITHDEBINFO="${NDLFS_CXXFLAGS:--O2 -g1 -DNDEBUG}" \
    -DNDLFS_UNITY=ON
  # shellcheck disable=SC2086
  logged inside ninja -C /build -j "$jobs" ndlfs $tests
}

run_tests() {
  local test
  for test in $tests; do
    say "$test"
    inside qemu-aarch64-static "/build/tests/$test" --gtest_brief=1 2>&1 | tee -a "$log" ||
      die "$test has failed"
  done
}

: >"$log"
make_root
build_all
run_tests
say "package and archive"
inside env NDLFS_BUILD=/build SOURCE_DATE_EPOCH="$(source_date)" /src/packaging/debian.sh /packages
inside env NDLFS_BUILD=/build SOURCE_DATE_EPOCH="$(source_date)" /src/packaging/tarball.sh /packages
say "done; they are in $target"
