# The install tree has CANN's shape, so that makefiles written for it work unchanged:
#   include/  lib64/  bin/  set_env.sh        and for other build systems  share/cmake/hcclrun/  lib64/pkgconfig/
# share/hcclrun/ has the source of hcclrun::gtest_main.
# The tree can be moved: programs and libraries find each other through $ORIGIN, the files below through their own
# place.
include(CMakePackageConfigHelpers)

set(HCCLRUN_PUBLIC_LIBRARIES acl_rt ascendcl msprofiler hccl hcomm)

set_target_properties(hcclrun_core PROPERTIES EXPORT_NAME core)
install(TARGETS hcclrun_core ${HCCLRUN_PUBLIC_LIBRARIES} EXPORT hcclrunTargets
  LIBRARY DESTINATION ${HCCLRUN_LIBDIR})
install(TARGETS hcclrun RUNTIME DESTINATION bin)
if(TARGET hccl_bench)
  install(TARGETS hccl_bench RUNTIME DESTINATION bin)
endif()
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/ DESTINATION include FILES_MATCHING PATTERN "*.h")

configure_file(cmake/set_env.sh.in set_env.sh @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/set_env.sh DESTINATION .)
install(FILES cmake/setenv.bash DESTINATION bin)

install(EXPORT hcclrunTargets NAMESPACE hcclrun:: DESTINATION share/cmake/hcclrun)
configure_package_config_file(cmake/hcclrunConfig.cmake.in hcclrunConfig.cmake
  INSTALL_DESTINATION share/cmake/hcclrun NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/hcclrunConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/hcclrunConfig.cmake ${PROJECT_BINARY_DIR}/hcclrunConfigVersion.cmake
  cmake/hcclrunAddTest.cmake
  DESTINATION share/cmake/hcclrun)
install(FILES cmake/gtest_main.cpp DESTINATION share/hcclrun)

foreach(package hccl ascendcl)
  configure_file(cmake/${package}.pc.in ${package}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/${package}.pc DESTINATION ${HCCLRUN_LIBDIR}/pkgconfig)
endforeach()
