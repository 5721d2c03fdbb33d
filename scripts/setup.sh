#!/usr/bin/env bash
# Installs the Debian packages that are missing; does nothing, and needs no rights, when all are there.
#   scripts/setup.sh [demo|test|compare]  demo (the default): to build the library and the examples; test: and the
#                                         tests; compare: and the comparison with MPI
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

packages=(g++ cmake ninja-build pkg-config libabsl-dev libboost-dev libhwy-dev nlohmann-json3-dev)
case ${1:-demo} in
  demo) ;;
  test) packages+=(make python3 libgtest-dev libgmock-dev libbenchmark-dev openmpi-bin libopenmpi-dev gdb procps spin
    g++-aarch64-linux-gnu) ;;
  compare) packages+=(python3 libbenchmark-dev openmpi-bin libopenmpi-dev mpich libmpich-dev) ;;
  *)
    echo "usage: scripts/setup.sh [demo|test|compare]" >&2
    exit 2
    ;;
esac

if ! command -v dpkg-query >/dev/null; then
  echo "-- not a Debian system: needed are the equivalents of ${packages[*]}" >&2
  exit 0
fi

missing=()
for package in "${packages[@]}"; do
  state=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)
  [ "$state" = installed ] || missing+=("$package")
done
[ ${#missing[@]} -gt 0 ] || exit 0

as_root=()
if [ "$(id -u)" -ne 0 ]; then
  if ! command -v sudo >/dev/null; then
    echo "-- packages are missing; as root: apt-get install ${missing[*]}" >&2
    exit 1
  fi
  as_root=(sudo)
fi
quietly "package lists" "${as_root[@]}" apt-get update
quietly "installing ${missing[*]}" "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
  apt-get install -y --no-install-recommends "${missing[@]}"
