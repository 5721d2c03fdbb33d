#!/usr/bin/env bash
# Kills a random rank of a benchmark at a random moment, again and again. Every job must end by itself, with the exit
# code of the killed rank, and leave no process and no name in /dev/shm behind. Prints how the jobs ended and how long
# after the kill.
#   scripts/kill_soak.sh [runs] [build directory]      100 and build/ unless given; RANKS=4 sets the number of ranks
set -u
cd "$(dirname "${BASH_SOURCE[0]}")/.."
runs=${1:-100}
build=${2:-build}
ranks=${RANKS:-4}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
bad=0

now_ms() { echo $(($(date +%s%N) / 1000000)); }
# MPI programs that run at the same time come and go there.
shm_names() { ls -A /dev/shm 2>/dev/null | grep -v -e vader -e ompi -e mpich | sort; }
complain() {
  bad=$((bad + 1))
  echo "run $run: $*" >&2
}

for ((run = 1; run <= runs; run++)); do
  shm_names >"$work/before"
  : >"$work/err"  # before the loop below looks at it; the job opens it only when it starts
  # -v reports "rank 2 is process 123" on standard error. The job is far longer than the wait below.
  "$build/bin/hcclrun" -v -n "$ranks" --timeout 30 "$build/bin/hccl_bench" allreduce -b 4K -e 16M -f 4 -n 20000 \
    >"$work/out" 2>"$work/err" &
  launcher=$!
  # Whole lines only: half a number is another process.
  until [ "$(grep -c ' is process [0-9]' "$work/err")" -ge "$ranks" ] && [ "$(tail -c 1 "$work/err" | wc -l)" -eq 1 ]; do
    kill -0 $launcher 2>/dev/null || break
    sleep 0.01
  done
  pids=$(sed -n 's/.*rank [0-9]* is process \([0-9]*\).*/\1/p' "$work/err")
  victim=$((RANDOM % ranks))
  pid=$(sed -n "s/.*rank $victim is process \([0-9]*\).*/\1/p" "$work/err")
  # The random moment: anywhere from the first instruction of the ranks to the middle of the benchmark.
  sleep "0.$(printf %03d $((RANDOM % 1000)))"
  begin=$(now_ms)
  kill -KILL "$pid" || complain "rank $victim ($pid) had ended before it was killed; hcclrun says: $(cat "$work/err")"
  wait $launcher
  code=$?
  took=$(($(now_ms) - begin))
  echo "$code $took" >>"$work/results"

  [ $code -eq 137 ] || complain "exit code $code"
  grep -q "rank $victim (pid $pid) was killed by signal 9" "$work/err" || complain "the verdict does not name rank $victim: $(grep -a 'Exit code' "$work/err")"
  [ $took -le 10000 ] || complain "it took $took ms"
  for p in $pids; do
    if kill -0 "$p" 2>/dev/null; then complain "process $p is left"; fi
  done
  shm_names >"$work/after"
  left=$(comm -13 "$work/before" "$work/after")
  [ -z "$left" ] || complain "/dev/shm has $left"
done

echo "$runs runs of $ranks ranks, one of them killed"
echo "  exit code   runs"
cut -d' ' -f1 "$work/results" | sort -n | uniq -c | awk '{ printf "  %9d  %5d\n", $2, $1 }'
cut -d' ' -f2 "$work/results" | sort -n | awk '
  { t[NR] = $1 }
  function at(p) { i = int(NR * p + 0.999999); return t[i < 1 ? 1 : i] }
  END { printf "  ms from the kill to the end of hcclrun: min %d, median %d, 90%% %d, 99%% %d, max %d\n", t[1], at(0.5), at(0.9), at(0.99), t[NR] }'
if [ $bad -gt 0 ]; then
  echo "$bad complaints" >&2
  exit 1
fi
