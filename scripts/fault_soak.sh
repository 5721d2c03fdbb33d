#!/usr/bin/env bash
# Kills, halts, stops or delays a random rank at a random step of the protocols between ranks, again and again, in jobs
# of 2 to 4 ranks under every engine, and prints how the jobs ended, in Markdown (docs/faults.md has a run).
#   scripts/fault_soak.sh [jobs] [build directory]     1000 and build/ unless given; "all" is every fault at every step
# SEED chooses other faults, JOBS how many jobs run at once (4). Failures leave their jobs' output on standard error.
set -eu
cd "$(dirname "${BASH_SOURCE[0]}")/.."
runs=${1:-1000}
build=${2:-build}
if [ "$runs" = all ]; then what=(--all); else what=(--random "$runs"); fi
exec "$build/bin/step_faults" "${what[@]}" --seed "${SEED:-$RANDOM}" --jobs "${JOBS:-4}"
