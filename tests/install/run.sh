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
print='. "$0"; echo "$ASCEND_HOME_PATH|$ASCEND_TOOLKIT_HOME|$LD_LIBRARY_PATH|$PKG_CONFIG_PATH|${PATH%%:*}"'
expected="$home|$home|$home/lib64|$home/lib64/pkgconfig|$home/bin"
for shell in "bash -euc" "bash --posix -euc" "sh -euc" "dash -euc" "zsh -euc"; do
  command -v "${shell%% *}" >/dev/null || continue
  got=$($shell "$print" "$home/set_env.sh")
  [ "$got" = "$expected" ] || { echo "$shell: $got instead of $expected"; exit 1; }
done
got=$(bash -euc "${print/'"$0"'/'"$0/../bin/setenv.bash"'}" "$home/bin")
[ "$got" = "$expected" ] || { echo "setenv.bash: $got instead of $expected"; exit 1; }
. "$home/set_env.sh"
[ "$(command -v hcclrun)" = "$home/bin/hcclrun" ]

# A makefile cannot have spaces in its paths.
ln -s "$home" "$temp/ascend"
say "makefile"
make -s -C "$here" OUT="$temp" ASCEND_HOME_PATH="$temp/ascend"
for program in c99 cpp cpp_closed cpp_copy; do ranks "$temp/$program"; done

say "the first program of README.md, as it stands there"
sed -n '/^```cpp$/,/^```$/{/^```/d;p}' "$here/../../README.md" >"$temp/first.cpp"
(cd "$temp" && ASCEND_HOME_PATH=$temp/ascend && eval "$(grep '^g++ first.cpp' "$here/../../README.md")")
hcclrun -n 4 "$temp/first" >"$temp/first.log"
[ "$(grep -c 'of 4: the sum is 10$' "$temp/first.log")" = 4 ] || { cat "$temp/first.log"; exit 1; }

say "CMake package"
"$cmake" -S "$here/consumer" -B "$temp/consumer" -DCMAKE_PREFIX_PATH="$home" >"$temp/consumer.log"
"$cmake" --build "$temp/consumer" >>"$temp/consumer.log" 2>&1 || { cat "$temp/consumer.log"; exit 1; }
(unset LD_LIBRARY_PATH; ranks "$temp/consumer/consumer")

say "tests of a foreign project: hcclrun_add_test, hcclrun::gtest_main"
(cd "$temp/consumer" && "${cmake%cmake}ctest" --output-on-failure) >"$temp/ctest.log" || { cat "$temp/ctest.log"; exit 1; }
for name in allgather.n1 allgather.n3 arguments rank_tests; do
  grep -q " $name \.\.* *Passed" "$temp/ctest.log" || { cat "$temp/ctest.log"; exit 1; }
done
for r in 0 1 2; do
  grep -q 'tests="6" failures="0".*rank="'$r'" ranks="3"' "$temp/consumer/reports/rank_tests.rank.$r.xml"
done
tests="$temp/consumer/rank_tests"
"$tests" --gtest_brief=1 --gtest_filter=Other.* >/dev/null  # without the launcher it is any GoogleTest program

say "a foreign project that forgot enable_testing()"
mkdir "$temp/forgetful"
cat >"$temp/forgetful/CMakeLists.txt" <<'EOF'
cmake_minimum_required(VERSION 3.19)
project(forgetful LANGUAGES C CXX)
find_package(hcclrun REQUIRED)
hcclrun_add_test(NAME lost COMMAND true RANKS 2)
hcclrun_add_test(NAME lost_too COMMAND true RANKS 2)
EOF
for enabled in "" "enable_testing()"; do
  echo "$enabled" >>"$temp/forgetful/CMakeLists.txt"
  "$cmake" -S "$temp/forgetful" -B "$temp/forgotten" -DCMAKE_PREFIX_PATH="$home" >"$temp/forgetful.log" 2>&1
  warnings=$(grep -c "hcclrun_add_test: ctest will not run lost," "$temp/forgetful.log") || true
  [ "$warnings" = "$([ -z "$enabled" ] && echo 1 || echo 0)" ] || { cat "$temp/forgetful.log"; exit 1; }
done

# fails WAY LINE...: the job fails, and says so in lines that match.
fails() {
  local code=0 way=$1 line
  shift
  say "tests that fail: $way"
  FAIL=$way HCCLRUN_TEST_GRACE=1 hcclrun -n 3 --timeout 60 "$tests" --gtest_output="xml:$temp/$way.xml" \
    >"$temp/fails.log" 2>&1 || code=$?
  if [ $code -eq 0 ]; then cat "$temp/fails.log"; exit 1; fi
  for line in "$@"; do
    grep -qE "$line" "$temp/fails.log" || { cat "$temp/fails.log"; echo "== no line matches: $line"; exit 1; }
  done
}
# Other tests go on; rank 0 reports for all.
fails expect '^\[1\] Ranks\.Disagree, rank 1, .*rank_tests.cpp:[0-9]+:' '^\[0\] .*rank 1$' \
  '^\[0\] \[       OK \] Ranks\.ComeLast' '^\[0\] \[  RANKS   \] 6 tests on 3 ranks: 1 failed' \
  '^\[0\] \[  RANKS   \]   Ranks\.Disagree \(rank 1\)' '^hcclrun: rank 1 .* exited with code 1'
grep -q 'failures="1"' "$temp/expect.rank.0.xml"
grep -q 'failures="1"' "$temp/expect.rank.1.xml"
grep -q 'failures="0"' "$temp/expect.rank.2.xml"
# The others wait in the collective for the rank that gave up.
fails assert '^\[1\] Ranks\.GiveUp failed on rank 1, and other ranks did not come' '^hcclrun: rank 1 .* exited with code 1'
fails exit '^hcclrun: rank 1 .* exited with code 3'
say "tests that fail: different tests"
code=0
hcclrun -n 3 --timeout 60 sh -c 'f=Other.One; [ {rank} = 1 ] && f=Other.Two; exec "$0" --gtest_filter=$f' "$tests" \
  >"$temp/fails.log" 2>&1 || code=$?
[ $code -eq 1 ] && grep -q '^\[0\] rank 1 is at Other.Two of its tests, rank 0 at Other.One' "$temp/fails.log" \
  || { cat "$temp/fails.log"; exit 1; }

say "pkg-config"
export PKG_CONFIG_PATH="$temp/ascend/lib64/pkgconfig"
c++ "$here/allgather.cpp" -o "$temp/pkg" $(pkg-config --cflags --libs hccl)
(unset LD_LIBRARY_PATH; ranks "$temp/pkg")
unset PKG_CONFIG_PATH

. "$here/migration.sh"
say "all good"
