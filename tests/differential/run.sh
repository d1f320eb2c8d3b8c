#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Makes up stores, and compares every view of them with what other software reads, until the time
# is over or a view differs: tests/differential/differential_test.py.
#
#   tests/differential/run.sh FORMAT SECONDS [SEED]     netcdf4 3600; FORMAT "all": every format
#
# NDLFS_BINARY names the executable (build/release/ndlfs). A failure names its store: netcdf4-17.nc
# is made again by FORMAT netcdf4, SEED 17 and NDLFS_DIFFERENTIAL_STORES=1. Where FORMAT is one, the script then looks
# for a smaller store that fails: one with fewer arrays, and shorter sides.
set -euo pipefail

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
[ $# -ge 2 ] || { sed -n '3,11s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2; exit 2; }
[ "$1" = all ] || export NDLFS_DIFFERENTIAL_FORMATS=$1
end=$((SECONDS + $2))
seed=${3:-1}
export NDLFS_DIFFERENTIAL_STORES=${NDLFS_DIFFERENTIAL_STORES:-20}
export NDLFS_BINARY=${NDLFS_BINARY:-$top/build/release/ndlfs}
export NDLFS_EXAMPLES=$top/examples
export PYTHONPATH=$top/tests/mount:$top/tests/remote
try() {
  NDLFS_DIFFERENTIAL_SEED=$seed /usr/bin/python3 -B "$top/tests/differential/differential_test.py"
}

# Among many seeds of small stores, the smallest one that fails.
find_smaller() {
  local most arrays from
  for most in 1 2 3 4; do
    for arrays in 1 2; do
      for from in 1 101 201; do
        export NDLFS_DIFFERENTIAL_STORES=100 NDLFS_DIFFERENTIAL_MOST=$most NDLFS_DIFFERENTIAL_ARRAYS=$arrays
        seed=$from try >/dev/null 2>&1 || {
          echo "a smaller one: NDLFS_DIFFERENTIAL_MOST=$most NDLFS_DIFFERENTIAL_ARRAYS=$arrays, among seeds $from to $((from + 99))"
          seed=$from try 2>&1 | grep -m 3 -A 12 '^FAIL' || true
          return
        }
      done
    done
  done
}

while :; do
  try || { [ "$1" = all ] || find_smaller; exit 1; }
  seed=$((seed + NDLFS_DIFFERENTIAL_STORES))
  [ "$SECONDS" -lt "$end" ] || break
done
echo "the next seed is $seed"
