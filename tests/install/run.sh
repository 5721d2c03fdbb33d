#!/usr/bin/env bash
# usage: run.sh BUILD_DIR CMAKE
set -euo pipefail
build=$1
cmake=$2
here=$(cd "$(dirname "$0")" && pwd)
temp=$(mktemp -d)
trap 'rm -rf "$temp"' EXIT
unset ASCEND_HOME_PATH ASCEND_TOOLKIT_HOME LD_LIBRARY_PATH PKG_CONFIG_PATH

say() { echo "== $*"; }
# Runs a program as two ranks with nothing but what set_env.sh gives.
ranks() {
  say "$*"
  hcclrun -n 2 --timeout 60 --shared-root-info "$@"
}

say "install, then move"
"$cmake" --install "$build" --prefix "$temp/first" >"$temp/install.log" || { cat "$temp/install.log"; exit 1; }
mkdir "$temp/moved to"
home="$temp/moved to/tree"
mv "$temp/first" "$home"

say "programs without set_env.sh"
"$home/bin/hcclrun" --help >/dev/null
[ ! -x "$home/bin/hccl_bench" ] || "$home/bin/hccl_bench" -h >/dev/null

say "set_env.sh, from bash, from bash as sh and from dash if there is one"
print='. "$0"; echo "$ASCEND_HOME_PATH|$ASCEND_TOOLKIT_HOME|$LD_LIBRARY_PATH|${PATH%%:*}"'
expected="$home|$home|$home/lib64|$home/bin"
for shell in "bash -euc" "bash --posix -euc" "sh -euc" "dash -euc" "zsh -euc"; do
  command -v "${shell%% *}" >/dev/null || continue
  got=$($shell "$print" "$home/set_env.sh")
  [ "$got" = "$expected" ] || { echo "$shell: $got instead of $expected"; exit 1; }
done
. "$home/set_env.sh"
[ "$(command -v hcclrun)" = "$home/bin/hcclrun" ]

# A makefile cannot have spaces in its paths.
ln -s "$home" "$temp/ascend"
say "makefile"
make -s -C "$here" OUT="$temp" ASCEND_HOME_PATH="$temp/ascend"
for program in c99 cpp cpp_closed cpp_copy; do ranks "$temp/$program"; done

say "CMake package"
"$cmake" -S "$here/consumer" -B "$temp/consumer" -DCMAKE_PREFIX_PATH="$home" >"$temp/consumer.log"
"$cmake" --build "$temp/consumer" >>"$temp/consumer.log" 2>&1 || { cat "$temp/consumer.log"; exit 1; }
(unset LD_LIBRARY_PATH; ranks "$temp/consumer/consumer")

say "pkg-config"
export PKG_CONFIG_PATH="$temp/ascend/lib64/pkgconfig"
c++ "$here/allgather.cpp" -o "$temp/pkg" $(pkg-config --cflags --libs hccl)
(unset LD_LIBRARY_PATH; ranks "$temp/pkg")
say "all good"
