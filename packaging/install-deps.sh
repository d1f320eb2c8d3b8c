#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Installs the packages of Debian (12 or 13) or Ubuntu that ndlfs is built from, and with
# `test` those that its tests use besides, or with `package` those that debian.sh and
# tarball.sh use; with `program` only those of the program, without its tests. Does
# nothing, and needs no network, when all of them are there. Packages that are installed
# keep their version, unless a missing one needs another version of them.
#
#   packaging/install-deps.sh [--plan | --list] [program | test | package]
#
# --plan installs nothing: it prints "missing PACKAGE" and "upgrade PACKAGE FROM TO" lines.
# --list prints the names of all that are needed.
set -euo pipefail

build_packages=(
  cmake g++ ninja-build pkg-config
  libfuse3-dev fuse3
  libyaml-cpp-dev libfmt-dev libspdlog-dev libexpected-dev libcli11-dev nlohmann-json3-dev
  flatbuffers-compiler libflatbuffers-dev
  libaec-dev libblosc-dev libbz2-dev libdeflate-dev libjemalloc-dev libjpeg-dev libjxl-dev liblerc-dev liblz4-dev liblzf-dev liblzma-dev
  liblzo2-dev libopenjp2-7-dev libpng-dev libsnappy-dev libutf8proc-dev libwebp-dev libxxhash-dev libzfp-dev libzstd-dev zlib1g-dev
  libcap-ng-dev libexpat1-dev libseccomp-dev
  libcurl4-openssl-dev libssl-dev
  libmicrohttpd-dev
)
# cmake looks for these where it configures the tests, too.
configured_packages=(libgtest-dev libgmock-dev python3-minimal)
# The tests compare with what NumPy and zarr-python read, and mount for real;
# GDAL, Astropy, NiBabel, teem, VTK, mrcfile and GrADS read what is made for them; ecCodes writes GRIB;
# where R and its package yaml (r-cran-yaml) are installed, they read with it too;
# clang checks the style and compiles what runs with sanitizers, and the fuzz targets; lld links it.
test_packages=(
  clang clang-format clang-tidy libclang-rt-dev lld
  python3 python3-numpy python3-zarr python3-numcodecs python3-h5py python3-netcdf4 python3-scipy python3-yaml
  python3-ruamel.yaml python3-tables python3-zfpy hdf5-filter-plugin-zfp-serial
  netcdf-bin libhdf4-0-alt
  python3-gdal libeccodes0 python3-astropy python3-nibabel python3-pil python3-tifffile teem-apps
  python3-vtk9 python3-mrcfile grads
  attr ccache curl gfortran git man-db nginx-light openssl rsync wget
)
package_packages=(dpkg-dev git lintian patchelf)

die() {
  echo "install-deps.sh: $*" >&2
  exit 1
}

is_plan=no
is_list=no
case "${1:-}" in
  --plan) is_plan=yes && shift ;;
  --list) is_list=yes && shift ;;
esac
packages=("${build_packages[@]}")
case "${1:-}" in
  program) ;;
  '') packages+=("${configured_packages[@]}") ;;
  test) packages+=("${configured_packages[@]}" "${test_packages[@]}") ;;
  package) packages+=("${configured_packages[@]}" "${package_packages[@]}") ;;
  *) die "unknown argument '$1'; it is 'program', 'test' or 'package'" ;;
esac
if [ "$is_list" = yes ]; then
  printf '%s\n' "${packages[@]}"
  exit 0
fi

command -v apt-get >/dev/null || die "needs apt-get (Debian, Ubuntu); install by hand: ${packages[*]}"

# Which of the packages are installed, for this machine's own architecture or for any. One
# whose triggers wait for another package is, too.
architecture=$(dpkg --print-architecture)
installed() {
  local name of status
  dpkg-query -W -f '${Package} ${Architecture} ${db:Status-Status}\n' "$@" 2>/dev/null |
    while read -r name of status; do
      [ "$of" = "$architecture" ] || [ "$of" = all ] || continue
      case "$status" in
        installed | triggers-awaited | triggers-pending) echo "$name" ;;
      esac
    done
}

mapfile -t missing < <(comm -23 <(printf '%s\n' "${packages[@]}" | sort -u) <(installed "${packages[@]}" | sort -u))
if [ ${#missing[@]} -eq 0 ]; then
  exit 0
fi

# shellcheck source=packaging/apt.sh
. "$(dirname "${BASH_SOURCE[0]}")/apt.sh"
if [ "$is_plan" = yes ]; then
  printf 'missing %s\n' "${missing[@]}"
  wanted=("${missing[@]}")
  keep_versions
  upgrades
  exit 0
fi
echo "installing: ${missing[*]}"
install_packages "${missing[@]}"
