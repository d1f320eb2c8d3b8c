#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Makes one archive that runs, from any directory, on every Linux of this machine's
# architecture with FUSE 3 and a glibc that is not older than this machine's (2.36 on
# Debian 12). It has all libraries but those of glibc with it, beside the program: libhdf5
# and the libraries that it needs are not to be had as static ones.
#
#   packaging/tarball.sh [DIRECTORY]
#
# The archive, ndlfs-VERSION-linux-MACHINE.tar.gz, goes to DIRECTORY (build/packages).
# NDLFS_BUILD (build/release) is the build that is packed; it is made first, unless it
# is set.
set -euo pipefail

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# shellcheck source=packaging/common.sh
. "$top/packaging/common.sh"

[ $# -le 1 ] || die "usage: packaging/tarball.sh [DIRECTORY]"
command -v patchelf >/dev/null || die "patchelf is not installed (apt install patchelf)"
mkdir -p "${1:-$top/build/packages}"
target=$(cd "${1:-$top/build/packages}" && pwd)
version=$(project_version)
make_build
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
name=ndlfs-$version-linux-$(uname -m)
root=$work/$name
mkdir "$root"

cmake --install "$build" --prefix "$root" >"$work/install.log" || {
  cat "$work/install.log" >&2
  die "cmake --install failed"
}
program=$root/bin/ndlfs
# systemd looks for a program without a directory where administrators put one, such as
# /usr/local/bin.
sed -i "s|^ExecStart=$root/bin/|ExecStart=|" "$root/lib/systemd/system/ndlfs@.service"
strip --strip-unneeded "$program"

# The libraries of glibc belong to the system: they must fit its kernel, its users and its
# names of hosts.
is_of_glibc() {
  case $1 in
    ld-linux* | libc.so.* | libm.so.* | libdl.so.* | librt.so.* | libpthread.so.* | \
      libresolv.so.* | libutil.so.* | libanl.so.* | libnss_* | libmvec.so.*) return 0 ;;
  esac
  return 1
}

# The copyright notice of the package that a library is from.
copy_notice() {
  local package
  package=$( (dpkg -S "$1" || dpkg -S "/usr$1" || dpkg -S "${1#/usr}") 2>/dev/null | head -n 1 |
    cut -d : -f 1) || true
  [ -n "$package" ] && [ -f "/usr/share/doc/$package/copyright" ] || return 0
  cp "/usr/share/doc/$package/copyright" "$root/share/doc/ndlfs/licenses/$package"
}

libraries=$root/lib/ndlfs
mkdir -p "$libraries" "$root/share/doc/ndlfs/licenses"
ldd "$program" >"$work/ldd" || die "ldd failed"
! grep 'not found' "$work/ldd" >&2 || die "libraries are missing here"
while read -r library _ path _; do
  [[ $path == /* ]] || continue
  is_of_glibc "$library" && continue
  cp -L "$path" "$libraries/$library"
  copy_notice "$(readlink -f "$path")"
done <"$work/ldd"
# RPATH rather than RUNPATH: it is for the libraries of the libraries, too.
patchelf --force-rpath --set-rpath "\$ORIGIN/../lib/ndlfs" "$program"

LD_LIBRARY_PATH='' ldd "$program" | awk '$3 ~ /^\// { print $1, $3 }' |
  while read -r library path; do
    is_of_glibc "$library" || [[ $path == "$root"/* || $path == */lib/ndlfs/* ]] ||
      die "$library is taken from $path"
  done
archive=$target/$name.tar.gz
tar -C "$work" --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$(source_date)" \
  -cf - "$name" | gzip -9n >"$archive"
echo "$archive"
