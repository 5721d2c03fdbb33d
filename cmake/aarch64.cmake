# CMake toolchain: cross-built for aarch64 with Debian's compiler (package g++-aarch64-linux-gnu), against a folder with
# the arm64 packages of the libraries; tests run under qemu-user. scripts/cross_aarch64.sh makes the folder and uses
# this.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_ASM_COMPILER aarch64-linux-gnu-gcc)

if(NOT DEFINED ENV{HCCLRUN_AARCH64_ROOT})
  message(FATAL_ERROR "HCCLRUN_AARCH64_ROOT must name the folder with the arm64 packages")
endif()
set(CMAKE_SYSROOT $ENV{HCCLRUN_AARCH64_ROOT})
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64;-L;${CMAKE_SYSROOT})
