#!/bin/sh
# SPDX-License-Identifier: MIT
# Runs every fuzz target of a build for some seconds, from inputs that make_corpus.py makes and what is in CORPUS.
#
#   tests/fuzz/run.sh BUILD [SECONDS [TARGET...]]      CORPUS=folder: keeps the inputs that were found
set -eu
build=$1
seconds=${2:-30}
shift; [ $# -eq 0 ] || shift
here=$(cd "$(dirname "$0")" && pwd)
corpus=${CORPUS:-$(mktemp -d)}
[ -n "${CORPUS:-}" ] || trap 'rm -rf "$corpus"' EXIT
/usr/bin/python3 -B "$here/make_corpus.py" "$corpus"
failed=0
for program in "$build"/tests/fuzz/*_fuzz; do
  target=$(basename "$program")
  [ $# -eq 0 ] || case " $* " in *" $target "*) ;; *) continue ;; esac
  mkdir -p "$corpus/$target"
  log=$corpus/$target.log
  status=ok
  "$program" -max_total_time="$seconds" -timeout=20 -rss_limit_mb=2048 -max_len=8192 -print_final_stats=1 \
    -artifact_prefix="$corpus/$target-" "$corpus/$target" >"$log" 2>&1 || status=FAILED
  executions=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
  peak=$(sed -n 's/^stat::peak_rss_mb: *//p' "$log")
  echo "$target: $status, ${executions:-?} executions, peak ${peak:-?} MiB"
  if [ "$status" != ok ]; then
    failed=1
    grep -E -A25 'ERROR|runtime error|SUMMARY' "$log" | head -60
    ls "$corpus/$target"-* 2>/dev/null || true
  fi
done
exit $failed
