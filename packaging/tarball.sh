#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Makes one archive that runs, from any directory, on every Linux of one architecture (x86-64
# or aarch64) with FUSE 3, whatever its C library: kernel 4.18 (RHEL 8) or newer. All libraries
# are with it, glibc too; launcher/launcher.cc says how it is started.
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
machine=$(build_processor)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
name=ndlfs-$version-linux-$machine
root=$work/$name
libraries=$root/lib/ndlfs
notices=$root/share/doc/ndlfs/licenses
mkdir "$root"

case $machine in
  x86_64) loader=ld-linux-x86-64.so.2 ;;
  aarch64) loader=ld-linux-aarch64.so.1 ;;
  *) die "the archive is for x86_64 and aarch64, not for $machine" ;;
esac

cmake --install "$build" --prefix "$root" >"$work/install.log" || {
  cat "$work/install.log" >&2
  die "cmake --install failed"
}
# systemd looks for a program without a directory where administrators put one, such as
# /usr/local/bin.
sed -i "s|^ExecStart=$root/bin/|ExecStart=|" "$root/lib/systemd/system/ndlfs@.service"
mkdir -p "$libraries" "$notices"
program=$libraries/ndlfs
mv "$root/bin/ndlfs" "$program"
"$(build_tool STRIP strip)" --strip-unneeded "$program"

# The libraries that a program is loaded with: names and paths.
loaded_by() {
  local emulator=()
  read -ra emulator <<<"$(build_emulator)"
  LD_LIBRARY_PATH='' LD_TRACE_LOADED_OBJECTS=1 "${emulator[@]}" "$1" | tr -d '\t' | awk '
    /not found/ { print $1, "missing"; next }
    $2 == "=>" && $3 ~ /^\// { print $1, $3; next }
    $1 ~ /^\// { name = $1; sub(".*/", "", name); print name, $1 }'
}

# The copyright notice of the package that a library is from.
copy_notice() {
  local package
  package=$( (dpkg -S "$1" || dpkg -S "/usr$1" || dpkg -S "${1#/usr}") 2>/dev/null | head -n 1 |
    sed 's/: .*//') || true
  [ -n "$package" ] && [ -f "/usr/share/doc/${package%%:*}/copyright" ] || return 0
  cp "/usr/share/doc/${package%%:*}/copyright" "$notices/${package%%:*}"
  dpkg-query -W -f '${Package} ${Version}, from the source ${source:Package} ${source:Version}\n' \
    "$package" >>"$work/packages"
}

carry() {
  cp -L "$2" "$libraries/$1"
  chmod 755 "$libraries/$1"
  copy_notice "$(readlink -f "$2")"
}

loaded_by "$program" >"$work/loaded"
! grep ' missing$' "$work/loaded" >&2 || die "libraries are missing here"
grep -q "^$loader " "$work/loaded" || die "the program is not loaded by $loader"
while read -r library path; do
  carry "$library" "$path"
done <"$work/loaded"
# Modules of the system that find users and hosts may need what is now part of libc itself;
# that must not come from another glibc.
glibc=$(dirname "$(awk '$1 == "libc.so.6" { print $2 }' "$work/loaded")")
for library in libm.so.6 libresolv.so.2 libpthread.so.0 libdl.so.2 librt.so.1 libutil.so.1 libanl.so.1; do
  [ -e "$libraries/$library" ] || ! [ -e "$glibc/$library" ] || carry "$library" "$glibc/$library"
done
# RPATH rather than RUNPATH: it is for the libraries of the libraries, too.
patchelf --force-rpath --set-rpath "\$ORIGIN" "$program"

"$(build_tool CXX_COMPILER c++)" -std=c++20 -O2 -Wall -Wextra -ffreestanding -fno-builtin \
  -fno-stack-protector -fno-exceptions -fno-rtti -fno-asynchronous-unwind-tables \
  -ffile-prefix-map="$top=." -fno-pie -static -nostdlib -s \
  -Wl,--build-id=none -Wl,-z,noexecstack -Wl,-Ttext-segment=0x40000000 \
  -DNDLFS_LOADER="\"$loader\"" "$top/packaging/launcher/launcher.cc" -o "$root/bin/ndlfs" ||
  die "the launcher cannot be compiled"

# The texts that the notices refer to; the LGPL asks that glibc comes with it.
for license in GPL-2 GPL-3 LGPL-2 LGPL-2.1 LGPL-3 Apache-2.0; do
  [ ! -e "/usr/share/common-licenses/$license" ] ||
    cp -L "/usr/share/common-licenses/$license" "$notices/$license.txt"
done
[ -e "$notices/LGPL-2.1.txt" ] || die "there is no /usr/share/common-licenses/LGPL-2.1"
{
  cat <<'NOTICE'
The files in lib/ndlfs but ndlfs itself are unchanged copies from the packages below, under the
licenses that the files here say. glibc (libc6) is under the LGPL 2.1: LGPL-2.1.txt. Each file
can be replaced by another version of the same library. The sources are where the packages are:
`apt source NAME=VERSION`, or https://snapshot.debian.org for older versions.

NOTICE
  sort -u "$work/packages" 2>/dev/null || true
} >"$notices/README"

loaded_by "$root/bin/ndlfs" | while read -r library path; do
  [[ $path == "$root"/* ]] || die "$library is taken from $path"
done
archive=$target/$name.tar.gz
tar -C "$work" --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$(source_date)" \
  -cf - "$name" | gzip -9n >"$archive"
echo "$archive"
