#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Installs what is needed, builds ndlfs, mounts a directory and shows it.
#
#   packaging/quickstart.sh [DATA [MOUNTPOINT]]
#
# DATA is any directory; without it, the example data. Without MOUNTPOINT it is
# /tmp/ndl-USER. Running it again mounts anew.
set -euo pipefail

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
ndlfs=$top/build/release/ndlfs

die() {
  echo "quickstart.sh: $*" >&2
  exit 1
}
say() {
  printf '\n== %s\n' "$*"
}

[ $# -le 2 ] || die "usage: packaging/quickstart.sh [DATA [MOUNTPOINT]]"
data=${1:-$top/examples/data}
mount_point=${2:-/tmp/ndl-$(id -un)}
[ -d "$data" ] || die "'$data' is not a directory"
[ -c /dev/fuse ] || die "there is no /dev/fuse here: load the module (modprobe fuse), or start the container with --device /dev/fuse --cap-add SYS_ADMIN"
data=$(cd "$data" && pwd)

# A mount that an earlier run left, and nothing else, is taken down.
release_mount_point() {
  local type
  type=$(findmnt -n -o FSTYPE --mountpoint "$mount_point" | tail -n 1) || return 0
  [ "$type" = fuse.ndlfs ] || die "'$mount_point' is a mount point of $type; name another one"
  "$ndlfs" umount "$mount_point" || die "'$mount_point' is mounted and busy"
}

build() {
  cd "$top"
  cmake --preset release >build/configure.log 2>&1 || {
    cat build/configure.log >&2
    die "cmake failed"
  }
  cmake --build --preset release --target ndlfs || die "the build failed"
}

# Folders end in "/"; what is deep or far down is left out.
show_tree() {
  local lines=80
  { find "$mount_point" -mindepth 1 -maxdepth 4 -printf '%d %y %f\n' 2>/dev/null || true; } |
    awk -v lines=$lines 'NR > lines { print "    ..."; exit }
      { depth = $1; type = $2; sub(/^[^ ]* [^ ]* /, "")
        printf "%*s%s%s\n", 4 * depth, "", $0, type == "d" ? "/" : type == "l" ? " ->" : "" }'
}

# The folder of an array to show: in the example data a certain one, otherwise
# the first that there is.
array_folder() {
  if [ "$data" = "$top/examples/data" ]; then
    echo "$mount_point/climate.zarr/t2m"
  else
    { find "$mount_point" -maxdepth 8 -name data.npy -not -path '*/.ndlfs/*' -printf '%h\n' \
        2>/dev/null || true; } | head -n 1
  fi
}

show_array() {
  local folder
  folder=$(array_folder)
  [ -f "$folder/data.npy" ] || return 0

  say "what an array is: $folder/.ndl.yaml"
  head -n 40 "$folder/.ndl.yaml"
  say "an array as a NumPy file: $folder/data.npy"
  ls -l "$folder/data.npy"
  head -c 128 "$folder/data.npy" | od -A d -c | head -n 9
  local type
  type=$(head -c 128 "$folder/data.npy" | LC_ALL=C grep -a -o "'descr': '[<|][fiu][1248]'" | tr -d "'") || true
  type=${type##*[<|]}
  type=${type/i/d}
  say "the elements alone, as od shows them: $folder/data.raw"
  od -A d -t "${type:-x1}" -N 64 "$folder/data.raw"
  if /usr/bin/python3 -c 'import numpy' 2>/dev/null; then
    say "np.load(\".../data.npy\", mmap_mode=\"r\")"
    /usr/bin/python3 -c 'import sys, numpy as np
a = np.load(sys.argv[1], mmap_mode="r")
print(type(a).__name__, a.dtype, a.shape)' "$folder/data.npy"
  fi
}

say "packages"
"$top/packaging/install-deps.sh"
say "build"
mkdir -p "$top/build"
build
"$ndlfs" --version

release_mount_point
mkdir -p "$mount_point" || die "cannot make the mount point '$mount_point'"
"$ndlfs" mount "$data" "$mount_point" || die "'$data' was not mounted"

say "$data, mounted at $mount_point"
show_tree
show_array

say "it stays mounted; look around:  ls $mount_point"
echo "another directory:  $ndlfs mount DATA MOUNTPOINT"
echo "to unmount:         $ndlfs umount $mount_point     (or: umount, fusermount3 -u)"
