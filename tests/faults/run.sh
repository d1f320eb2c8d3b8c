#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Lets every system call of the commands and of a server fail once, in its turn, for a store of each
# format, then those in directories that keep something, and of connections, then each answer of the server of a source:
# nth_fault_test.py, nth_cache_fault_test.py, nth_connection_fault_test.py and nth_answer_test.py. Takes hours.
#
#   tests/faults/run.sh BUILD [STORE...]     build/release a.npy four.nc
#
# BUILD has the executable and libndlfs_nth_fault.so: the targets ndlfs and ndlfs_nth_fault.
set -euo pipefail

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
[ $# -ge 1 ] || { sed -n '3,10s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2; exit 2; }
build=$(cd "$1" && pwd)
shift
export NDLFS_ALL_FAULTS=1
export NDLFS_FAULT_STORES=${*:-}
NDLFS_FAULT_STORES=${NDLFS_FAULT_STORES// /,}
export NDLFS_BINARY=$build/ndlfs
export NDLFS_EXAMPLES=$top/examples
export NDLFS_NTH_FAULT_LIBRARY=$build/tests/faults/libndlfs_nth_fault.so
export PYTHONPATH=$top/tests/mount:$top/tests/remote
status=0
for subject in nth_fault nth_cache_fault nth_answer nth_connection_fault; do
  /usr/bin/python3 -B "$top/tests/faults/${subject}_test.py" || status=1
done
exit "$status"
