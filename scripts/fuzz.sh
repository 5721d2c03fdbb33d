#!/usr/bin/env bash
# Builds the fuzz targets with clang, libFuzzer and sanitizers, and runs each; what it finds stays in build-fuzz/found.
#   scripts/fuzz.sh [seconds per target] [target...]      600 and all targets unless given
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

seconds=${1:-600}
[ $# -eq 0 ] || shift
targets=("$@")
[ ${#targets[@]} -gt 0 ] || targets=(rank_table config environment command_line rendezvous peer calls)
scripts/setup.sh test
if ! command -v clang++ >/dev/null; then
  echo "-- needs clang: apt-get install clang" >&2
  exit 1
fi

quietly "configuring build-fuzz" cmake -S . -B build-fuzz -G Ninja -DCMAKE_BUILD_TYPE=Debug \
  -DCMAKE_C_COMPILER=clang -DCMAKE_CXX_COMPILER=clang++ -DCMAKE_CXX_FLAGS_DEBUG="-O1 -g1" \
  -DHCCLRUN_FUZZ=ON -DHCCLRUN_SANITIZE=fuzzer-no-link,address,undefined -DHCCLRUN_BENCH=OFF -DHCCLRUN_EXAMPLES=OFF
quietly "building ${targets[*]}" ninja -C build-fuzz "${targets[@]/#/fuzz_}"
mkdir -p build-fuzz/found
failed=0
for target in "${targets[@]}"; do
  echo "-- $target, $seconds s"
  corpus=build-fuzz/corpus-$target
  mkdir -p "$corpus"
  # What is new goes to the first folder; the kept corpus stays as it is.
  ASCEND_GLOBAL_LOG_LEVEL=4 build-fuzz/bin/fuzz_"$target" -max_total_time="$seconds" -max_len=4096 -timeout=20 \
    -print_final_stats=1 -artifact_prefix=build-fuzz/found/"$target"- "$corpus" tests/fuzz/corpus/"$target" \
    >build-fuzz/"$target".log 2>&1 || failed=1
  grep -E 'stat::number_of_executed_units|^SUMMARY|ERROR' build-fuzz/"$target".log | head -n 5 || tail -n 20 build-fuzz/"$target".log
done
exit $failed
