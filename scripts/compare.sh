#!/usr/bin/env bash
# Builds the library and the comparison's programs, optimised, and compares hcclrun with the MPIs that are installed
# (installs Debian's Open MPI and MPICH if they are missing). Arguments go to compare.py; --quick takes a minute, all
# of it some 40 minutes. Results in build/release/compare.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

scripts/setup.sh compare
quietly "configuring" cmake -S . -B build/release -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo -DHCCLRUN_TESTS=OFF \
  -DHCCLRUN_EXAMPLES=OFF -DHCCLRUN_BENCH=ON
quietly "building" cmake --build build/release
exec scripts/compare.py "$@"
