# hcclrun_add_test(NAME name COMMAND program [argument...] RANKS n [n...]
#                  [TIMEOUT seconds] [LABELS label...] [ENVIRONMENT NAME=VALUE...] [OPTIONS launcher-option...])
#
# A CTest test that runs `program` as n ranks. It passes if all ranks exit with 0.
#   COMMAND      an executable target or a program; {rank} and {size} in the arguments are replaced
#   RANKS        with several numbers there are several tests: name.n2, name.n8
#   TIMEOUT      default 300; when it has passed hcclrun ends the job and says where the ranks were
#   ENVIRONMENT  for the launcher and the ranks; values that differ per rank: OPTIONS -x NAME={rank}
#   OPTIONS      any options of hcclrun
# The test takes as many of CTest's processors as it has ranks (ctest -j).
function(hcclrun_add_test)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "NAME;TIMEOUT" "COMMAND;RANKS;LABELS;ENVIRONMENT;OPTIONS")
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
    set_tests_properties(${name} PROPERTIES TIMEOUT ${limit} PROCESSORS ${ranks})
    if(arg_LABELS)
      set_tests_properties(${name} PROPERTIES LABELS "${arg_LABELS}")
    endif()
    if(arg_ENVIRONMENT)
      set_tests_properties(${name} PROPERTIES ENVIRONMENT "${arg_ENVIRONMENT}")
    endif()
  endforeach()
endfunction()
