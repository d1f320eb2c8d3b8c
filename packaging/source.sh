#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Makes the source archive of the commit that is checked out. Everything can be built and
# packed from it without git.
#
#   packaging/source.sh [DIRECTORY]
#
# ndlfs-VERSION.tar.gz goes to DIRECTORY (build/packages). Equal commits give equal bytes.
set -euo pipefail

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# shellcheck source=packaging/common.sh
. "$top/packaging/common.sh"

[ $# -le 1 ] || die "usage: packaging/source.sh [DIRECTORY]"
mkdir -p "${1:-$top/build/packages}"
target=$(cd "${1:-$top/build/packages}" && pwd)
[ -e "$top/.git" ] || die "this is no clone: there is nothing to make an archive of"
git -C "$top" diff --quiet HEAD -- || echo "source.sh: changes that are not committed are left out" >&2
version=$(project_version)
# What other packagers read names it once more.
for file in ndlfs.spec spack/packages/ndlfs/package.py; do
  grep -Eq "(^Version: +|version\(\")${version//./\\.}(\"|\$)" "$top/packaging/$file" ||
    die "packaging/$file is not for version $version"
done
name=ndlfs-$version
archive=$target/$name.tar.gz
git -C "$top" -c core.autocrlf=false archive --format=tar --prefix="$name/" HEAD | gzip -9n >"$archive"
echo "$archive"
