# Shared by the scripts here; sourced, not run. Leaves the caller in the repository's root.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

LOG=${HCCLRUN_LOG:-$PWD/build/scripts.log}
mkdir -p "$(dirname "$LOG")"

# quietly WHAT COMMAND...: one line about it; what the command prints only if it fails.
quietly() {
  local what=$1
  shift
  echo "-- $what"
  if ! "$@" >"$LOG" 2>&1; then
    tail -n 60 "$LOG" >&2
    echo "-- failed: $what ($* ; whole output in $LOG)" >&2
    exit 1
  fi
}
