#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Runs every fuzz target of a build for some seconds, from inputs that make_corpus.py makes and what is in CORPUS.
#
#   tests/fuzz/run.sh BUILD [SECONDS [TARGET...]]
#
# NDLFS_FUZZ_SEED (1) makes a run repeat the one before; with 0 each run is another. CORPUS=folder keeps the inputs that
# were found; NDLFS_JOBS (all cores) says how many targets run at once. Fails when one of them finds something, and shows
# it.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
build=$1
export seconds=${2:-30} seed=${NDLFS_FUZZ_SEED:-1}
shift $(($# < 2 ? $# : 2))
export corpus=${CORPUS:-$(mktemp -d)}
[ -n "${CORPUS:-}" ] || trap 'rm -rf "$corpus"' EXIT
/usr/bin/python3 -B "$here/make_corpus.py" "$corpus"

run_target() {
  local target log status=ok
  target=$(basename "$1")
  log=$corpus/$target.log
  mkdir -p "$corpus/$target"
  "$1" -seed="$seed" -max_total_time="$seconds" -timeout=20 -rss_limit_mb=2048 -max_len=8192 -print_final_stats=1 \
    -artifact_prefix="$corpus/$target-" "$corpus/$target" >"$log" 2>&1 || status=FAILED
  awk -v name="$target: $status" '/^stat::number_of_executed_units/ { runs = $2 } /^stat::peak_rss_mb/ { peak = $2 }
    END { print name ", " (runs ? runs : "?") " executions, peak " (peak ? peak : "?") " MiB" }' "$log"
  [ "$status" = ok ] && return
  grep -E -A25 'ERROR|runtime error|SUMMARY' "$log" | head -60
  base64 "$corpus/$target"-* 2>/dev/null | head -100
  return 1
}
export -f run_target

programs=("$build"/tests/fuzz/*_fuzz)
[ $# -eq 0 ] || programs=("${@/#/$build/tests/fuzz/}")
printf '%s\0' "${programs[@]}" | xargs -0 -n 1 -P "${NDLFS_JOBS:-$(nproc)}" bash -c 'run_target "$1"' -
