#!/usr/bin/env bash
# Builds everything and runs every test; with --sanitizers then also the builds with AddressSanitizer and
# UndefinedBehaviorSanitizer (ranks that are processes) and with ThreadSanitizer (ranks that are threads).
#   scripts/test.sh [--sanitizers]
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

presets=(dev)
case ${1:-} in
  '') ;;
  --sanitizers) presets=(dev asan tsan) ;;
  *)
    echo "usage: scripts/test.sh [--sanitizers]" >&2
    exit 2
    ;;
esac
scripts/setup.sh test

failed=0
summaries=()
for preset in "${presets[@]}"; do
  quietly "configuring $preset" cmake --preset "$preset" -DHCCLRUN_CROSS="$([ "$preset" = dev ] && echo ON || echo OFF)"
  quietly "building $preset" cmake --build --preset "$preset"
  echo "-- testing $preset"
  results=build/test-$preset.log
  ctest --preset "$preset" -j "$(nproc)" 2>&1 | tee "$results" || failed=1
  summaries+=("$preset: $(grep -E '% tests passed|No tests' "$results" || echo 'no result')")
done
printf '%s\n' "${summaries[@]}"
exit $failed
