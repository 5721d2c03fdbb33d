# hcclrun_add_test(NAME name COMMAND program [argument...] RANKS n [n...]
#                  [TIMEOUT seconds] [PROCESSORS n] [LABELS label...] [ENVIRONMENT NAME=VALUE...]
#                  [OPTIONS launcher-option...])
#
# A CTest test that runs `program` as n ranks. It passes if all ranks exit with 0.
#   COMMAND      an executable target or a program; {rank} and {size} in the arguments are replaced
#   RANKS        with several numbers there are several tests: name.n2, name.n8
#   TIMEOUT      default 300; when it has passed hcclrun ends the job and says where the ranks were
#   PROCESSORS   how many of CTest's (ctest -j) the test takes; default: as many as it has ranks
#   ENVIRONMENT  for the launcher and the ranks; values that differ per rank: OPTIONS -x NAME={rank}
#   OPTIONS      any options of hcclrun
# Where testing is not enabled CTest would ignore the tests in silence; CMake says so, unless BUILD_TESTING is off.
function(hcclrun_add_test)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "NAME;TIMEOUT;PROCESSORS" "COMMAND;RANKS;LABELS;ENVIRONMENT;OPTIONS")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "hcclrun_add_test: unknown arguments: ${arg_UNPARSED_ARGUMENTS}")
  endif()
  foreach(needed NAME COMMAND RANKS)
    if(NOT arg_${needed})
      message(FATAL_ERROR "hcclrun_add_test: ${needed} is missing")
    endif()
  endforeach()
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 300)
  endif()
  list(POP_FRONT arg_COMMAND program)
  if(TARGET ${program})
    set(program $<TARGET_FILE:${program}>)
  endif()
  list(LENGTH arg_RANKS variants)
  # CTest's limit is for a launcher that does not end by itself: it has seconds for that.
  math(EXPR limit "${arg_TIMEOUT} + 30")
  foreach(ranks IN LISTS arg_RANKS)
    set(name ${arg_NAME})
    if(variants GREATER 1)
      set(name ${arg_NAME}.n${ranks})
    endif()
    add_test(NAME ${name}
      COMMAND ${hcclrun_EXECUTABLE} -n ${ranks} --timeout ${arg_TIMEOUT} ${arg_OPTIONS} ${program} ${arg_COMMAND})
    if(arg_PROCESSORS)
      set(processors ${arg_PROCESSORS})
    else()
      set(processors ${ranks})
    endif()
    set_tests_properties(${name} PROPERTIES TIMEOUT ${limit} PROCESSORS ${processors})
    if(arg_LABELS)
      set_tests_properties(${name} PROPERTIES LABELS "${arg_LABELS}")
    endif()
    if(arg_ENVIRONMENT)
      set_tests_properties(${name} PROPERTIES ENVIRONMENT "${arg_ENVIRONMENT}")
    endif()
  endforeach()
  # At the end of the folder's CMakeLists.txt: testing may be enabled behind the first test.
  get_property(checked DIRECTORY PROPERTY hcclrun_testing_checked)
  if(NOT checked AND CMAKE_VERSION VERSION_GREATER_EQUAL 3.19)
    set_property(DIRECTORY PROPERTY hcclrun_testing_checked TRUE)
    cmake_language(EVAL CODE "cmake_language(DEFER CALL _hcclrun_check_testing [[${arg_NAME}]])")
  endif()
endfunction()

function(_hcclrun_check_testing name)
  if(CMAKE_TESTING_ENABLED OR (DEFINED BUILD_TESTING AND NOT BUILD_TESTING))
    return()
  endif()
  message(AUTHOR_WARNING "hcclrun_add_test: ctest will not run ${name}, since testing is not enabled in "
    "${CMAKE_CURRENT_SOURCE_DIR}; call enable_testing() or include(CTest) in the top CMakeLists.txt, before "
    "add_subdirectory().")
endfunction()
