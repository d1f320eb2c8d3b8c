#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Tries the archive of tarball.sh where it is to run: in a chroot of Debian 11 (glibc 2.31), and
# once more under a filter that answers ENOSYS for all system calls that Linux 4.18 lacks. Needs
# root, /dev/fuse, debootstrap, and h5py for python3.
#
#   packaging/test-archive.sh ARCHIVE
#
# NDLFS_CHROOT (build/bullseye) is the chroot; it is made if it is not there, and stays.
set -euo pipefail

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# shellcheck source=packaging/common.sh
. "$top/packaging/common.sh"

[ $# -eq 1 ] || die "usage: packaging/test-archive.sh ARCHIVE"
archive=$(realpath "$1")
root=${NDLFS_CHROOT:-$top/build/bullseye}
[ "$(id -u)" -eq 0 ] || die "only root can use a chroot"
if [ ! -e "$root/etc/debian_version" ]; then
  command -v debootstrap >/dev/null || die "debootstrap is not installed (apt install debootstrap)"
  mkdir -p "$(dirname "$root")"
  debootstrap --variant=minbase --include=fuse3 bullseye "$root" http://deb.debian.org/debian \
    >"$root.log" 2>&1 || die "debootstrap failed: $root.log"
fi

# Another place than the one that it was made for.
rm -rf "$root/opt/moved here"
mkdir -p "$root/opt/moved here" "$root/data" "$root/tmp/mnt"
tar -C "$root/opt/moved here" -xzf "$archive"
cp -r "$top/examples/data/." "$root/data/"
/usr/bin/python3 - "$root/data/numbers.h5" <<'PYTHON'
import sys
import h5py
import numpy as np
with h5py.File(sys.argv[1], "w") as file:
    file["x"] = np.arange(1000)
PYTHON

cat >"$root/try.sh" <<'INSIDE'
set -eux
trap "umount -il /tmp/mnt 2>/dev/null || true" EXIT
bin=$(echo "/opt/moved here"/ndlfs-*/bin)
"$bin/ndlfs" --version >/dev/null
"$bin/ndlfs" check /data
"$bin/ndlfs" cat /data/numbers.h5 /x --view txt | tail -n 1 | grep -q 999
"$bin/ndlfs" mount /data /tmp/mnt
cmp /tmp/mnt/.ndlfs/source/climate.zarr/t2m/.zarray /data/climate.zarr/t2m/.zarray
test "$(tail -n 1 /tmp/mnt/numbers.h5/x/data.txt | tr -d ' ')" = 999
"$bin/ndlfs" umount /tmp/mnt
test -z "$(ls /tmp/mnt)"
# The command of `run` has its own libraries, and none of ours by a variable.
"$bin/ndlfs" run /data -- sh -c 'ls {}/numbers.h5/x && ! env | grep ^LD_'
"$bin/../sbin/mount.ndlfs" /data /tmp/mnt -o ro
umount -i /tmp/mnt
# Started by a link, and by PATH.
ln -sf "$bin/ndlfs" /usr/local/bin/ndlfs
ndlfs --version >/dev/null
INSIDE

# in_root [COMMAND...]: runs that, started by COMMAND.
in_root() {
  # shellcheck disable=SC2016
  "$@" unshare --mount --propagation private bash -euc '
    mount -t proc proc "$1/proc"
    mount --rbind /dev "$1/dev"
    exec chroot "$1" env -i PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin bash /try.sh' bash "$root"
}

for filter in "" "$top/tests/mount/old_kernel.py"; do
  # shellcheck disable=SC2086
  in_root ${filter:+/usr/bin/python3 -B "$filter"} >"$root/try.log" 2>&1 || {
    cat "$root/try.log" >&2
    die "the archive does not work${filter:+ on a kernel like 4.18}"
  }
done
echo "the archive works with glibc $(chroot "$root" ldd --version | sed -n '1s/.* //p'), and on a kernel like 4.18"
