# The examples of docs/migration.md as they stand there, on a project that knows nothing of hcclrun. Sourced by run.sh
# when the tree is installed at $temp/ascend.

document=$here/../../docs/migration.md
# block SECTION LANGUAGE [N]: the N-th block of that language in the section.
block() {
  awk -v section="## $1" -v fence="\`\`\`$2" -v n="${3:-1}" '
    /^## / { inside = $0 == section; next }
    inside && $0 == fence && --n == 0 { printing = 1; next }
    printing && $0 == "```" { exit }
    printing' "$document"
}
# as_written SECTION LANGUAGE [N]: runs such a block of shell commands, from the first set_env.sh on: up to there the
# tree is built and installed.
as_written() {
  local commands
  commands=$(block "$@" | sed -n '/set_env\.sh/,$p')
  [ -n "$commands" ] || { echo "docs/migration.md has no such block: $*"; exit 1; }
  (cd "$work" && HOME=$work && bash -euc "$commands") >"$temp/migration.log" 2>&1 ||
    { cat "$temp/migration.log"; echo "== docs/migration.md, $*"; exit 1; }
}
# project FOLDER BLOCK...: a CMake project with these blocks.
project() {
  local folder=$1
  shift
  mkdir -p "$work/$folder"
  cp "$here/../../examples/allreduce.c" "$work/$folder/program.c"
  printf '%s\n' "cmake_minimum_required(VERSION 3.19)" "project($folder LANGUAGES C CXX)" "$@" \
    >"$work/$folder/CMakeLists.txt"
  (cd "$work" && "$cmake" -S "$folder" -B "$folder/build" -DCMAKE_PREFIX_PATH="$work/hcclrun-install" &&
    "$cmake" --build "$folder/build") >"$temp/migration.log" 2>&1 || { cat "$temp/migration.log"; exit 1; }
}

work=$temp/home
mkdir -p "$work/my_project"
ln -s "$temp/ascend" "$work/hcclrun-install"

say "docs/migration.md: a makefile"
cp "$here/../../examples/allreduce.c" "$work/my_project/program.c"
cat >"$work/my_project/Makefile" <<'END'
all: program
program: program.c
	gcc -O2 -I$(ASCEND_DIR)/include program.c -o program -L$(ASCEND_DIR)/lib64 -lhccl -lascendcl
clean:
	rm -f program
END
as_written "A Makefile" sh
grep -q "AllReduce of 8 ranks: .* all right" "$temp/migration.log"

say "docs/migration.md: CMake"
cat >"$work/my_project/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.16)
project(my_project LANGUAGES C)
add_executable(program program.c)
target_include_directories(program PRIVATE $ENV{ASCEND_HOME_PATH}/include)
target_link_directories(program PRIVATE $ENV{ASCEND_HOME_PATH}/lib64)
target_link_libraries(program PRIVATE hccl ascendcl)
END
as_written CMake sh
grep -q "AllReduce of 8 ranks: .* all right" "$temp/migration.log"

say "docs/migration.md: the CMake package"
project packaged "add_executable(program program.c)" "$(block CMake cmake)"
hcclrun -n 2 --timeout 60 "$work/packaged/build/program"

say "docs/migration.md: tests in CI"
project tested "find_package(hcclrun REQUIRED)" "add_executable(exchange_test program.c)" \
  "target_link_libraries(exchange_test PRIVATE hcclrun::hccl hcclrun::ascendcl)" \
  'file(WRITE ${PROJECT_SOURCE_DIR}/unit_tests.cpp "#include <gtest/gtest.h>\nTEST(A, B) { EXPECT_EQ(1, 1); }\n")' \
  "$(block "Tests in CI" cmake)"
(cd "$work/tested/build" && "${cmake%cmake}ctest" --output-on-failure) >"$temp/migration.log" ||
  { cat "$temp/migration.log"; exit 1; }
for name in exchange.n2 exchange.n8 unit_tests; do grep -q " $name \.\.* *Passed" "$temp/migration.log"; done
[ "$(ls "$work"/tested/build/reports/*.xml | wc -l)" = 4 ]

say "docs/migration.md: a debugger and checkers"
cp "$here/../../examples/allreduce.c" "$work/program.c"
(cd "$work" && gcc -g program.c -o program -Ihcclrun-install/include -Lhcclrun-install/lib64 -lhccl -lascendcl)
if command -v gdb >/dev/null; then
  printf 'run\nquit\n' >"$work/commands"
  (cd "$work" && eval "$(grep -o 'hcclrun -n 2 --gdb 0 program <commands' "$document" | sed 's# program # ./program #')") \
    >"$temp/migration.log" 2>&1 || { cat "$temp/migration.log"; exit 1; }
  grep -q "AllReduce of 2 ranks: .* all right" "$temp/migration.log"
fi
cat >"$work/program.py" <<'END'
import ctypes
acl = ctypes.CDLL("libascendcl.so")
assert acl.aclInit(None) == 0 and acl.aclFinalize() == 0
END
if [ -e "$(gcc -print-file-name=libasan.so)" ] && command -v python3 >/dev/null; then
  (cd "$work" && eval "$(block "Debuggers and checkers" sh 2)") >"$temp/migration.log" 2>&1 ||
    { cat "$temp/migration.log"; exit 1; }
fi
