#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Makes up stores, and compares every view of them with what other software reads, until the time
# is over or a view differs: tests/differential/differential_test.py.
#
#   tests/differential/run.sh FORMAT SECONDS [SEED]     netcdf4 3600; "all": so long for every format
#   tests/differential/run.sh --again DESCRIPTION       the store of a description (a file)
#
# NDLFS_BINARY names the executable (build/release/ndlfs). Of a store that differs, the script prints the
# description of the simplest one that still does, and where that store is (NDLFS_DIFFERENTIAL_KEEP, a new folder in /tmp
# otherwise). Such a description belongs into kept.json when the cause is mended.
set -euo pipefail

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
[ $# -ge 2 ] || { sed -n '3,14s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2; exit 2; }
export NDLFS_DIFFERENTIAL_STORES=${NDLFS_DIFFERENTIAL_STORES:-20}
export NDLFS_BINARY=${NDLFS_BINARY:-$top/build/release/ndlfs}
export NDLFS_EXAMPLES=$top/examples
export PYTHONPATH=$top/tests/mount:$top/tests/remote

if [ "$1" = --again ]; then
  NDLFS_DIFFERENTIAL_DESCRIPTION=$(realpath "$2") exec /usr/bin/python3 -B "$top/tests/differential/differential_test.py"
fi

# run_format FORMAT SECONDS SEED
run_format() {
  local end=$((SECONDS + $2)) seed=$3
  export NDLFS_DIFFERENTIAL_FORMATS=$1
  while :; do
    NDLFS_DIFFERENTIAL_SEED=$seed /usr/bin/python3 -B "$top/tests/differential/differential_test.py" \
      DifferentialTest.test_every_view_says_the_same || return 1
    seed=$((seed + NDLFS_DIFFERENTIAL_STORES))
    [ "$SECONDS" -lt "$end" ] || break
  done
  echo "$1: $((seed - $3)) stores, the next seed is $seed"
}

formats=$1
[ "$1" != all ] || formats=$(cd "$top/tests/differential" && /usr/bin/python3 -B -c 'import writers; print(*writers.MAKERS)')
status=0
for format in $formats; do
  run_format "$format" "$2" "${3:-1}" || status=1
done
exit "$status"
