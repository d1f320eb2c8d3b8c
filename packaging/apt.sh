# SPDX-License-Identifier: MIT
#
# How the scripts here install packages of Debian: those that are missing, and nothing else.
# The script that reads this defines `die MESSAGE`.
# shellcheck shell=bash

as_root=(env DEBIAN_FRONTEND=noninteractive)
if [ "$(id -u)" -ne 0 ] && command -v sudo >/dev/null; then
  as_root=(sudo "${as_root[@]}")
fi
# The packages to install, as apt-get takes them: NAME, NAME=VERSION or /FILE.deb. A file is
# meant to take the place of an older version, and nothing else is.
wanted=()
apt_install() {
  local options=(-q --no-install-recommends)
  [[ ${wanted[*]} == */* ]] || options+=(--no-upgrade)
  "$@" install "${options[@]}" "${wanted[@]}"
}

# What apt-get would do for them.
simulate() {
  apt_install apt-get -s 2>/dev/null || true
}

# "upgrade PACKAGE FROM TO" for each installed package that would get another version.
upgrades() {
  simulate | sed -n 's/^Inst \([^ ]*\) \[\([^]]*\)\] (\([^ ]*\) .*/upgrade \1 \2 \3/p'
}

# The archive still has package $1 in version $2.
has_version() {
  apt-cache madison "$1" 2>/dev/null |
    awk -F '|' -v version="$2" '{ gsub(/ /, "", $2) } $2 == version { found = 1 } END { exit !found }'
}

# A -dev package needs its library in the same version. Where apt-get would upgrade the
# library for the sake of the newest -dev package, this asks for the -dev package of the
# installed version instead.
keep_versions() {
  local plan from to package name kept
  plan=$(simulate)
  while read -r from to; do
    for package in $(sed -n 's/^Inst \([^ ]*\) (\([^ ]*\) .*/\1 \2/p' <<<"$plan" |
      awk -v version="$to" '$2 == version { print $1 }'); do
      has_version "$package" "$from" || continue
      kept=()
      for name in "${wanted[@]}"; do
        [ "${name%%=*}" = "$package" ] || kept+=("$name")
      done
      wanted=("${kept[@]}" "$package=$from")
    done
  done < <(sed -n 's/^Inst [^ ]* \[\([^]]*\)\] (\([^ ]*\) .*/\1 \2/p' <<<"$plan")
}

# apt_get ARGUMENT...: waits for another one that is at work.
apt_get() {
  "${as_root[@]}" apt-get -q -o DPkg::Lock::Timeout=300 "$@" </dev/null
}

# The lists of packages name all that is wanted, and no installed package lacks another one.
lists_suffice() {
  apt_install apt-get -s >/dev/null 2>&1
}

# Installs what is wanted, in the versions that the lists of packages have now.
install_wanted() {
  local left
  wanted=("$@")
  keep_versions
  left=$(upgrades)
  [ -z "$left" ] || printf 'the missing packages need another version of these:\n%s\n' "$left"
  apt_install apt_get -y
}

# After a removal by force, or an interrupted installation, a package may lack others.
install_what_is_lacking() {
  apt_get check >/dev/null 2>&1 || apt_get -y --fix-broken install || die "installed packages lack others"
}

install_packages() {
  [ "$(id -u)" -eq 0 ] || command -v sudo >/dev/null ||
    die "run as root, or install sudo; missing: $*"
  # apt-get installs nothing while the installation of other packages is half done.
  if [ -n "$(dpkg --audit)$(ls /var/lib/dpkg/updates)" ]; then
    echo "an earlier installation was interrupted; dpkg --configure -a finishes it"
    "${as_root[@]}" dpkg --configure -a </dev/null || echo "dpkg --configure -a failed"
  fi
  wanted=("$@")
  if lists_suffice; then
    install_wanted "$@" && return
    # The archive may have newer versions in the place of those.
    echo "trying again with new lists of packages"
  fi
  apt_get update || die "apt-get update failed; missing: $*"
  install_what_is_lacking
  install_wanted "$@" || die "apt-get install failed; missing: $*"
}
