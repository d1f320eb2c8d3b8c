#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Makes a package for the Debian release (or Ubuntu) that it runs on, and
# checks it with lintian where that is installed.
#
#   packaging/debian.sh [DIRECTORY]
#
# The package, ndlfs_VERSION_ARCHITECTURE.deb, goes to DIRECTORY (build/packages).
# To install it:  sudo apt install ./build/packages/ndlfs_*.deb
#
# NDLFS_BUILD (build/release) is the build that is packed; it is made first, unless it
# is set. NDLFS_MAINTAINER is who answers for the package: "Name <address>".
set -euo pipefail

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# shellcheck source=packaging/common.sh
. "$top/packaging/common.sh"
maintainer=${NDLFS_MAINTAINER:-The ndlfs authors <ndlfs@ndlfs.invalid>}

[ $# -le 1 ] || die "usage: packaging/debian.sh [DIRECTORY]"
mkdir -p "${1:-$top/build/packages}"
target=$(cd "${1:-$top/build/packages}" && pwd)
for program in dpkg-deb dpkg-shlibdeps dpkg-gencontrol; do
  command -v "$program" >/dev/null || die "$program is not installed (apt install dpkg-dev)"
done

version=$(project_version)
make_build
case $(build_processor) in
  aarch64) architecture=arm64 ;;
  *) architecture=$(dpkg --print-architecture) ;;
esac
export DEB_HOST_ARCH=$architecture  # for the tools of dpkg
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
root=$work/debian/ndlfs

install_files() {
  DESTDIR=$root cmake --install "$build" --prefix /usr >"$work/install.log" || {
    cat "$work/install.log" >&2
    die "cmake --install failed"
  }
  "$(build_tool STRIP strip)" --strip-unneeded --remove-section=.comment --remove-section=.note "$root/usr/bin/ndlfs"
  # Places that Debian has for these. Debian 13 has nothing in /lib itself any more.
  mkdir -p "$root/usr/share/zsh" "$root/etc/ndlfs"
  if dpkg --compare-versions "$(dpkg-query -W -f '${Version}' dpkg)" lt 1.22; then
    mkdir -p "$root/lib/systemd"
    mv "$root/usr/lib/systemd/system" "$root/lib/systemd/"
  fi
  mv "$root/usr/share/zsh/site-functions" "$root/usr/share/zsh/vendor-completions"
  find "$root/usr/lib" -type d -empty -delete
}

install_documents() {
  local documents=$root/usr/share/doc/ndlfs
  rm "$documents/LICENSE"
  cp "$top/packaging/debian/copyright" "$documents/copyright"
  mv "$documents/CHANGELOG.md" "$documents/changelog"
  printf 'ndlfs (%s-1) unstable; urgency=medium\n\n  * See changelog.gz.\n\n -- %s  %s\n' \
    "$version" "$maintainer" "$(date -R -d "@$(source_date)")" >"$documents/changelog.Debian"
  gzip -9n "$documents/changelog" "$documents/changelog.Debian"
  find "$root/usr/share/man" -type f -exec gzip -9n {} +
  mkdir -p "$root/usr/share/lintian/overrides"
  cp "$top/packaging/debian/lintian-overrides" "$root/usr/share/lintian/overrides/ndlfs"
}

write_control() {
  cat >"$work/debian/control" <<CONTROL
Source: ndlfs
Section: science
Priority: optional
Maintainer: $maintainer
Standards-Version: 4.6.2

Package: ndlfs
Architecture: any
Depends: \${shlibs:Depends}, \${misc:Depends}
Recommends: fuse3
Suggests: python3-numpy, libeccodes0
Description: array stores (Zarr, HDF5, netCDF, NPY) as plain files
 ndlfs mounts a directory of array stores. Each store becomes a folder, each
 array a folder in it with data.npy, data.raw, data.txt and others, so that
 every program that can read a file can read them: Fortran and C codes,
 gnuplot, MATLAB and R scripts, od, cmp and grep.
 .
 It converts nothing beforehand and writes nothing to the source: it reads and
 decodes a chunk when a program asks for it. It also describes, checks and
 converts stores without a mount, and runs a command with a mount of its own
 for users without privileges.
CONTROL
  cp "$root/usr/share/doc/ndlfs/changelog.Debian.gz" "$work/debian/changelog.gz"
  gunzip "$work/debian/changelog.gz"
  mkdir -p "$root/DEBIAN"
  (cd "$work" && dpkg-shlibdeps -e"$root/usr/bin/ndlfs" 2>"$work/shlibdeps.log") || {
    cat "$work/shlibdeps.log" >&2
    die "dpkg-shlibdeps failed"
  }
  (cd "$work" && dpkg-gencontrol -pndlfs -P"$root" 2>/dev/null)
  cp "$top"/packaging/debian/{postinst,prerm,postrm} "$root/DEBIAN/"
  chmod 755 "$root"/DEBIAN/{postinst,prerm,postrm}
  (cd "$root" && find . -path ./DEBIAN -prune -o -type f -printf '%P\0' | LC_ALL=C sort -z |
    xargs -0 md5sum >DEBIAN/md5sums)
}

install_files
install_documents
write_control
find "$root" -type d -exec chmod 755 {} +
find "$root/usr/share" -type f -exec chmod 644 {} +
package=$target/ndlfs_$version-1_$architecture.deb
# Equal sources give equal packages.
find "$root" -print0 | xargs -0 touch --no-dereference --date="@$(source_date)"
SOURCE_DATE_EPOCH=$(source_date) dpkg-deb --root-owner-group -Zxz --build "$root" "$package" >/dev/null
echo "$package"
if command -v lintian >/dev/null; then
  lintian --fail-on error "$package" || die "lintian has found errors"
else
  echo "debian.sh: lintian is not installed; the package is not checked" >&2
fi
