# Standard and third-party headers that many files include, compiled once per set of compiler flags; they take most of
# the time of a clean build. Headers of the project itself are never among them. Every file still includes what it
# needs: with -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON, which is the default with a compiler cache (it would have to be
# told about precompiled headers, and is faster without), a forgotten include shows.
if(CMAKE_CXX_COMPILER_LAUNCHER MATCHES "ccache" AND NOT DEFINED CMAKE_DISABLE_PRECOMPILE_HEADERS)
  set(CMAKE_DISABLE_PRECOMPILE_HEADERS ON)
endif()

set(HCCLRUN_PRECOMPILED_STD
  <algorithm> <array> <atomic> <cerrno> <condition_variable> <cstdint> <cstdio> <cstdlib> <cstring> <functional> <map>
  <memory> <mutex> <string> <thread> <utility> <vector>)

# hcclrun_precompile(target owner headers...): `owner` is the target of the same flags that compiles the headers; a
# target may be its own.
function(hcclrun_precompile target owner)
  if(CMAKE_DISABLE_PRECOMPILE_HEADERS)
    return()
  endif()
  if(target STREQUAL owner)
    target_precompile_headers(${target} PRIVATE ${HCCLRUN_PRECOMPILED_STD} ${ARGN})
  else()
    target_precompile_headers(${target} REUSE_FROM ${owner})
  endif()
endfunction()
