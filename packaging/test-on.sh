#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Builds and tests ndlfs on another release of Debian than this machine has, and makes and
# checks the package for it: in a system of its own that debootstrap installs into a folder.
#
#   sudo packaging/test-on.sh RELEASE [COMMAND [ARGUMENT...]]
#
# RELEASE is a name such as bookworm or trixie. COMMAND is run there, in the source tree,
# instead of the build and the tests: `packaging/test-on.sh trixie bash` looks around.
#
# The first run installs 3 GB into NDLFS_CHROOT (/var/cache/ndlfs/RELEASE), which later runs
# use again, with what is compiled and the compiler cache; remove the folder to begin anew.
# NDLFS_MIRROR (http://deb.debian.org/debian) has the packages. What test.sh takes from the
# environment (NDLFS_JOBS, NDLFS_SKIP_MOUNT_TESTS) holds here, too.
set -euo pipefail

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
mirror=${NDLFS_MIRROR:-http://deb.debian.org/debian}

die() {
  echo "test-on.sh: $*" >&2
  exit 1
}

[ $# -ge 1 ] && [[ $1 =~ ^[a-z]+$ ]] || die "usage: packaging/test-on.sh RELEASE [COMMAND...], such as trixie"
release=$1
shift
chroot=${NDLFS_CHROOT:-/var/cache/ndlfs/$release}
[ "$(id -u)" -eq 0 ] || die "run as root: it installs a system and mounts in it"
command -v unshare >/dev/null || die "unshare is not installed (apt install util-linux)"

# shellcheck source=packaging/apt.sh
. "$top/packaging/apt.sh"

install_system() {
  [ ! -e "$chroot/etc/debian_version" ] || return 0
  command -v debootstrap >/dev/null || install_packages debootstrap
  echo "installing Debian $release into $chroot"
  # It has its name only when it is complete.
  rm -rf "$chroot.partial"
  mkdir -p "$(dirname "$chroot")"
  debootstrap --variant=minbase "$release" "$chroot.partial" "$mirror" >"$chroot.log" 2>&1 || {
    tail -n 20 "$chroot.log" >&2
    die "debootstrap failed; see $chroot.log"
  }
  apt-config dump Acquire::http::Proxy >"$chroot.partial/etc/apt/apt.conf.d/90proxy" 2>/dev/null || true
  mv "$chroot.partial" "$chroot"
}

# What runs as the first process of the other system: it has file systems and processes of its own,
# and is the root, which not all tests would notice of a chroot. The folder of builds is its own.
enter='
set -e
chroot=$1 top=$2
shift 2
mount --bind "$chroot" "$chroot"
cd "$chroot"
mkdir -p proc dev sys ndlfs .host var/cache/ndlfs-build
mount -t proc proc proc
mount --rbind /dev dev
mount --rbind /sys sys
mount --bind "$top" ndlfs
mount --bind var/cache/ndlfs-build ndlfs/build
cp -L /etc/resolv.conf etc/resolv.conf 2>/dev/null || true
[ -e etc/mtab ] || ln -s ../proc/self/mounts etc/mtab  # fusermount3 wants it
grep -qs localhost etc/hosts || echo "127.0.0.1 localhost" >>etc/hosts
pivot_root . .host
cd /ndlfs
umount -l /.host
trap "exit 130" INT TERM
"$@"
'

run_there() {
  local name settings=()
  for name in NDLFS_JOBS NDLFS_SKIP_MOUNT_TESTS TERM; do
    [ -z "${!name:-}" ] || settings+=("$name=${!name}")
  done
  mkdir -p "$top/build"
  env -i HOME=/root LANG=C.UTF-8 PATH=/usr/sbin:/usr/bin:/sbin:/bin "${settings[@]}" \
    unshare --mount --pid --fork --kill-child --propagation private \
    bash -c "$enter" "test-on.sh" "$chroot" "$top" "$@"
}

# What is built and tested there, without the sanitizers. Its clang-format may have another taste.
everything='
set -e
step() {
  local begin=$SECONDS
  printf "\n== %s\n" "$*"
  "$@"
  echo "-- $((SECONDS - begin)) s"
}
jobs=${NDLFS_JOBS:-$(nproc)}
export CMAKE_CXX_COMPILER_LAUNCHER=ccache CCACHE_SLOPPINESS=time_macros
step packaging/install-deps.sh test
step cmake --preset release -DNDLFS_WERROR=OFF
step cmake --build --preset release -j "$jobs"
step ctest --test-dir build/release -j $((2 * jobs)) --output-on-failure --no-tests=error
step packaging/install-deps.sh package
NDLFS_BUILD=build/release step packaging/debian.sh
'

install_system
if [ $# -gt 0 ]; then
  run_there "$@"
  exit
fi
run_there bash -c "$everything" || die "something failed on Debian $release; in the end it says what"
echo "test-on.sh: built, tested and packed on Debian $release in $SECONDS s"
