#!/bin/sh
# usage: start_loose.sh PROGRAM SIZE: starts file_bootstrap SIZE times, the root last; fails if one of them fails.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
pids=
rank=$2
while [ "$rank" -gt 0 ]; do
  rank=$((rank - 1))
  "$1" "$rank" "$2" "$dir/root_info" &
  pids="$pids $!"
done
for pid in $pids; do
  wait "$pid"
done
