#!/usr/bin/env bash
# Builds the library, the launcher and two examples, and runs these with eight ranks.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
scripts/setup.sh demo

# A build directory that is configured already is used as it is.
if [ ! -e build/build.ninja ]; then
  quietly "configuring build/" cmake --preset dev -DHCCLRUN_TESTS=OFF -DHCCLRUN_BENCH=OFF
fi
quietly "building, which takes a few minutes the first time" cmake --build build --target hcclrun example_symmetric_allgather example_symmetric_collectives

run() {
  echo "\$ $*"
  "$@"
}
run build/bin/hcclrun -n 8 build/examples/symmetric_allgather
run build/bin/hcclrun -n 8 build/examples/symmetric_collectives
