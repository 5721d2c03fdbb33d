#!/usr/bin/env bash
# Cross-builds everything for aarch64 with Debian's compiler, and runs unit tests and small jobs under qemu-user. The jobs
# are started by a launcher of this machine, since qemu does not follow a program into the ones that it starts.
#   scripts/cross_aarch64.sh [folder]      build-aarch64/ unless given; build/ must hold a build of this machine
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
folder=$(realpath -m "${1:-build-aarch64}")
export HCCLRUN_AARCH64_ROOT=$folder/root

for tool in aarch64-linux-gnu-g++ qemu-aarch64 mmdebstrap; do
  command -v $tool >/dev/null || {
    echo "-- $tool is missing; as root: apt-get install g++-aarch64-linux-gnu qemu-user mmdebstrap" >&2
    exit 1
  }
done
[ -x build/bin/hcclrun ] || { echo "-- first build for this machine: cmake --preset dev && cmake --build --preset dev" >&2; exit 1; }

# The arm64 packages are unpacked only, so nothing of them runs and the machine's own packages stay as they are.
if [ ! -e "$HCCLRUN_AARCH64_ROOT/usr/include/gtest" ]; then
  mkdir -p "$folder"
  quietly "unpacking arm64 packages" mmdebstrap --variant=extract --architectures=arm64 \
    --include=libc6-dev,libstdc++-12-dev,libabsl-dev,libboost-dev,libhwy-dev,nlohmann-json3-dev,libgtest-dev,libgmock-dev \
    bookworm "$HCCLRUN_AARCH64_ROOT"
fi
quietly "configuring $folder" cmake -G Ninja -S . -B "$folder" -DCMAKE_TOOLCHAIN_FILE="$PWD/cmake/aarch64.cmake" \
  -DCMAKE_BUILD_TYPE=Release
quietly "building $folder" cmake --build "$folder"

emulator=(qemu-aarch64 -L "$HCCLRUN_AARCH64_ROOT")
failed=0
# check NAME COMMAND...
check() {
  local name=$1
  shift
  if timeout 600 "$@" >"$LOG" 2>&1; then
    echo "passed  $name"
  else
    echo "FAILED  $name"
    tail -n 20 "$LOG"
    failed=1
  fi
}
for test in collective_types_test collective_kernels_test collective_plan_test device_allocator_test; do
  check $test "${emulator[@]}" "$folder/bin/$test" --gtest_brief=1
done
# qemu has less room for addresses than a processor.
job=(build/bin/hcclrun --timeout 500 --hbm 16G -x LD_LIBRARY_PATH="$folder/lib64")
check allreduce "${job[@]}" -n 3 "${emulator[@]}" "$folder/examples/allreduce"
check symmetric_allgather "${job[@]}" -n 4 "${emulator[@]}" "$folder/examples/symmetric_allgather"
check collectives "${job[@]}" -n 3 "${emulator[@]}" "$folder/bin/collectives_test" --gtest_brief=1
exit $failed
