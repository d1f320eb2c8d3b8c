#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Installs what is missing, builds ndlfs, mounts a directory and says what to look at.
#
#   packaging/quickstart.sh [--package FILE] [DATA [MOUNTPOINT]]
#
# DATA is any directory; without it, the example data. Without MOUNTPOINT it is
# /tmp/ndl-USER. Running it again mounts anew. With --package it builds nothing: FILE is
# the Debian package (.deb) or the archive (.tar.gz) of a release.
#
# It says one line a step; the details are in build/quickstart.log. NDLFS_JOBS (all cores)
# says how wide it builds.
set -euo pipefail

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
log=$top/build/quickstart.log
jobs=${NDLFS_JOBS:-$(nproc)}
# Measured: what the build takes of one processor, and of the disk.
build_minutes=11
build_megabytes=700

die() {
  echo "quickstart.sh: $*" >&2
  exit 1
}
# shellcheck source=packaging/apt.sh
. "$top/packaging/apt.sh"

usage="packaging/quickstart.sh [--package FILE] [DATA [MOUNTPOINT]]"
if [[ ${1:-} = -h || ${1:-} = --help ]]; then
  sed -n '4,14s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"
  exit 0
fi
package=
if [ "${1:-}" = --package ]; then
  [ $# -ge 2 ] || die "--package needs a file"
  [ -f "$2" ] || die "'$2' is not a file"
  package=$(realpath "$2")
  shift 2
fi
[ $# -le 2 ] && [[ ${1:-} != -* ]] ||
  die "usage: $usage"
data=${1:-$top/examples/data}
mount_point=${2:-/tmp/ndl-$(id -un)}
[ -d "$data" ] || die "'$data' is not a directory"
data=$(cd "$data" && pwd)
case $package in
  '' | *.deb | *.tar.*) ;;
  *) die "'$package' is neither a Debian package (.deb) nor an archive (.tar.gz)" ;;
esac
[[ $jobs =~ ^[1-9][0-9]*$ ]] || die "NDLFS_JOBS=$jobs is not a number of processes"
[ -c /dev/fuse ] || die "there is no /dev/fuse here: load the module (modprobe fuse), or start the container with --device /dev/fuse --cap-add SYS_ADMIN"
mkdir -p "$top/build" 2>/dev/null && : 2>/dev/null >"$log" || die "cannot write to $log"

free_megabytes() {
  df -Pm "$1" | awk 'NR == 2 { print $4 }'
}

# The end of the log says why; a full disk is said in so many words.
fail() {
  local free
  free=$(free_megabytes "$top/build")
  if [ "$free" -lt 20 ] || tail -n 200 "$log" | grep -q 'No space left on device'; then
    die "$1: the disk is full: $free MB are free in $top/build"
  fi
  tail -n 15 "$log" >&2
  die "$1: failed; details: $log"
}

clock() {
  if [ "$1" -lt 100 ]; then echo "$1 s"; else echo "$(($1 / 60)) min $(($1 % 60)) s"; fi
}

# step TEXT COMMAND...: one line, with the seconds at its end; on a terminal it counts what
# the build has done.
step() {
  local text=$1 start=$SECONDS work count
  shift
  printf '%-60s' "$text ..."
  "$@" >>"$log" 2>&1 </dev/null &
  work=$!
  while [ -t 1 ] && kill -0 "$work" 2>/dev/null; do
    sleep 1
    count=$(tail -n 1 "$log" 2>/dev/null | grep -ao '^\[[0-9]*/[0-9]*\]' || true)
    printf '\r%-60s%-12s' "$text ..." "$count"
  done
  if wait "$work"; then
    [ -t 1 ] && printf '\r%-60s' "$text ..."
    printf '%-12s\n' "$(clock $((SECONDS - start)))"
  else
    echo "failed"
    fail "$text"
  fi
}

# --- what there is to do ----------------------------------------------------------------

missing=()
changed=()
plan_packages() {
  local plan
  if [ -z "$package" ]; then
    plan=$("$top/packaging/install-deps.sh" --plan program) || exit 1
    mapfile -t missing < <(awk '$1 == "missing" { print $2 }' <<<"$plan")
    mapfile -t changed < <(awk '$1 == "upgrade" { print $2 " " $3 " -> " $4 }' <<<"$plan")
  elif [[ $package == *.deb ]]; then
    missing=("$package")
  fi
  command -v fusermount3 >/dev/null || [ "$(id -u)" -eq 0 ] || [ -z "$package" ] || missing+=(fuse3)
}

is_built() {
  [ -x "$top/build/release/ndlfs" ] && [ -f "$top/build/release/build.ninja" ]
}

packages() {
  [ ${#missing[@]} -eq 1 ] && echo "1 package" || echo "${#missing[@]} packages"
}

say_plan() {
  local minutes=$(((build_minutes + jobs - 1) / jobs)) total=0
  echo "quickstart.sh will"
  if [ ${#missing[@]} -gt 0 ]; then
    echo "  - install $(packages) that $([ ${#missing[@]} -eq 1 ] && echo is || echo are) missing, with apt-get (about a minute)"
    total=1
  fi
  if [ ${#changed[@]} -gt 0 ]; then
    echo "    and with them a new version of ${#changed[@]} that are there, because the missing ones need it:"
    printf '      %s\n' "${changed[@]}"
  fi
  if [ -n "$package" ] && [[ $package == *.tar.* ]]; then
    echo "  - unpack $(basename "$package") (seconds)"
  elif [ -z "$package" ] && is_built; then
    echo "  - build what has changed since the last time (at most $minutes minutes)"
  elif [ -z "$package" ]; then
    echo "  - build ndlfs with $jobs process$([ "$jobs" -eq 1 ] || echo es) (about $minutes minutes)"
    total=$((total + minutes))
  fi
  echo "  - mount $data at $mount_point (a second)"
  [ "$total" -eq 0 ] || echo "It takes about $total minute$([ "$total" -eq 1 ] || echo s)."
  echo "Details go to $log."
  echo
}

may_change_versions() {
  local answer
  [ ${#changed[@]} -gt 0 ] && [ -t 0 ] && [ -t 1 ] || return 0
  read -r -p "Go on, and change these versions? [y/N] " answer
  [[ $answer == [yY]* ]] || die "nothing was done"
}

# --- the steps --------------------------------------------------------------------------

# A mount that an earlier run left is taken down; any other mount is left alone.
release_mount_point() {
  local type
  type=$(findmnt -n -o FSTYPE --mountpoint "$mount_point" | tail -n 1) || return 0
  [ "$type" = fuse.ndlfs ] || die "'$mount_point' is a mount point of $type; name another one"
  "$ndlfs" umount "$mount_point" || die "'$mount_point' is mounted and busy"
}

configure() {
  # Without the tests, which need python3 and googletest.
  (cd "$top" && cmake --preset release -D NDLFS_BUILD_TESTS=OFF)
}
compile() {
  (cd "$top" && cmake --build --preset release --target ndlfs -j "$jobs")
}

build() {
  local free
  free=$(free_megabytes "$top/build")
  is_built || [ "$free" -ge "$build_megabytes" ] ||
    die "the disk is too full: the build needs $build_megabytes MB in $top/build, and $free MB are free"
  step "configuring" configure
  step "building" compile
  ndlfs=$top/build/release/ndlfs
}

unpack() {
  local folder=$top/build/quickstart
  mkdir -p "$folder"
  step "unpacking $(basename "$package")" tar -xf "$package" -C "$folder"
  ndlfs=$folder/$(tar -tf "$package" | grep -m 1 '/bin/ndlfs$') || true
  [ -f "$ndlfs" ] && [ -x "$ndlfs" ] || die "'$package' has no bin/ndlfs"
}

install_program() {
  if [ ${#missing[@]} -gt 0 ] && [ -n "$package" ]; then
    step "installing $(packages)" install_packages "${missing[@]}"
  elif [ ${#missing[@]} -gt 0 ]; then
    step "installing $(packages)" "$top/packaging/install-deps.sh" program
  fi
  case $package in
    '') build ;;
    *.deb) ndlfs=/usr/bin/ndlfs ;;
    *) unpack ;;
  esac
  "$ndlfs" --version >>"$log" 2>&1 || fail "starting $ndlfs"
}

mount_data() {
  release_mount_point
  mkdir -p "$mount_point" 2>>"$log" || fail "making the mount point $mount_point"
  step "mounting" "$ndlfs" mount "$data" "$mount_point"
}

# --- what to look at --------------------------------------------------------------------

# The folder of an array to show: in the example data a certain one, otherwise the first
# that there is.
array_folder() {
  if [ "$data" = "$top/examples/data" ]; then
    echo "$mount_point/climate.zarr/t2m"
  else
    { find "$mount_point" -maxdepth 6 -name .ndlfs -prune -o -name data.npy -printf '%h\n' 2>/dev/null || true; } |
      head -n 1
  fi
}

# The folder of the store that folder $1 is in.
store_of() {
  local folder=$1
  while [ "$folder" != "$mount_point" ] && [ ! -e "$folder/.source" ]; do
    folder=$(dirname "$folder")
  done
  echo "$folder"
}

# A slice of the array in folder $1: the first element of its first dimension.
slice_of() {
  local shape
  shape=$(sed -n 's/^ *shape: \[\(.*\)\].*/\1/p' "$1/.ndl.yaml" | head -n 1)
  case $shape in
    '') ;;
    *,*) echo 'data[0,...]' ;;
    *) echo 'data[0]' ;;
  esac
}

# line COMMAND WHAT
line() {
  printf '  %s\n      %s\n' "$1" "$2"
}

show_what_to_try() {
  local folder store slice
  folder=$(array_folder)
  echo
  echo "$data is mounted at $mount_point. Its stores are folders:"
  echo
  (cd "$mount_point" && ls -d -- */ | LC_ALL=C sort | head -n 12 | sed 's/^/  /') 2>/dev/null || true
  [ -f "$folder/data.npy" ] || return 0
  store=$(store_of "$folder")
  echo
  echo "An array is a folder, too: $folder"
  echo
  (cd "$folder" && ls -C -w 76 | sed 's/^/  /')
  echo
  echo "Look at"
  echo
  [ ! -e "$folder/preview.png" ] || line "xdg-open $folder/preview.png" "a picture of the array (any viewer of PNG shows it)"
  line "xdg-open $store/index.html" "a page about the store: what is in it, pictures, files, lines for other programs"
  [ ! -e "$store/data.nc" ] || line "ncdump -h $store/data.nc" "the same store as one netCDF file, for CDO, NCO, R, QGIS and others"
  [ ! -e "$folder/data.txt" ] || line "head -3 $folder/data.txt" "the values as text, one a line"
  slice=$(slice_of "$folder")
  if [ -n "$slice" ]; then
    line "ls -l '$folder/$slice.npy'" "a slice: no listing shows it, its name says which (quote brackets: they are wildcards)"
    if python3 -c 'import numpy' 2>/dev/null; then
      line "python3 -c 'import numpy as np; print(np.load(\"$folder/$slice.npy\"))'" "the same in NumPy"
    fi
  fi
}

show_commands() {
  echo
  if [ "$(command -v ndlfs || true)" != "$ndlfs" ]; then
    echo "To have ndlfs in PATH (for good, append the line to ~/.profile):"
    echo
    echo "  export PATH=\"$(dirname "$ndlfs"):\$PATH\""
    echo
  fi
  echo "Then"
  echo
  line "ndlfs mount DATA MOUNTPOINT" "mounts another directory, or one store"
  line "ndlfs umount $mount_point" "ends this mount"
}

plan_packages
say_plan
may_change_versions
install_program
mount_data
show_what_to_try
show_commands
