# What `cmake --install` puts where: the runtime, tpConfig.cmake, which finds it and
# the compiler, and the file for pkg-config. docs/install.md is for users.
#
# `cmake --install build --component runtime` installs this alone.
include(${CMAKE_CURRENT_LIST_DIR}/InstallFolders.cmake)

# Hosts get the C ABI. The C++ inside may change with every version.
set_target_properties(tp_runtime_shared PROPERTIES
  EXPORT_NAME runtime INSTALL_RPATH_USE_LINK_PATH ON)
set_target_properties(tp-run PROPERTIES INSTALL_RPATH_USE_LINK_PATH ON)
install(TARGETS tp_runtime_shared EXPORT tp-runtime-targets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT runtime
  INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT tp-runtime-targets NAMESPACE tp::
  DESTINATION ${TP_INSTALL_CMAKEDIR} COMPONENT runtime)
install(TARGETS tp-run RUNTIME DESTINATION bin COMPONENT runtime)
tp_install_completion(runtime tp-run)
install(FILES
  ${tp_runtime_SOURCE}/include/tp/Runtime/CustomOp.h
  ${tp_runtime_SOURCE}/include/tp/Runtime/Runtime.h
  ${CMAKE_BINARY_DIR}/include/tp/Runtime/Version.h
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/tp/Runtime COMPONENT runtime)
install(FILES ${tp_runtime_SOURCE}/../LICENSE
  DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/tp COMPONENT runtime)

configure_package_config_file(
  ${CMAKE_CURRENT_LIST_DIR}/tpConfig.cmake.in
  ${CMAKE_BINARY_DIR}/cmake/tpConfig.cmake
  INSTALL_DESTINATION ${TP_INSTALL_CMAKEDIR}
  NO_SET_AND_CHECK_MACRO NO_CHECK_REQUIRED_COMPONENTS_MACRO)
write_basic_package_version_file(
  ${CMAKE_BINARY_DIR}/cmake/tpConfigVersion.cmake
  VERSION ${TP_VERSION} COMPATIBILITY SameMinorVersion)
file(RELATIVE_PATH TP_PKGCONFIG_TO_PREFIX
  /prefix/${TP_INSTALL_PKGCONFIGDIR} /prefix)
configure_file(${CMAKE_CURRENT_LIST_DIR}/tp-runtime.pc.in
  ${CMAKE_BINARY_DIR}/cmake/tp-runtime.pc @ONLY)
install(FILES
  ${CMAKE_BINARY_DIR}/cmake/tpConfig.cmake
  ${CMAKE_BINARY_DIR}/cmake/tpConfigVersion.cmake
  DESTINATION ${TP_INSTALL_CMAKEDIR} COMPONENT runtime)
install(FILES ${CMAKE_BINARY_DIR}/cmake/tp-runtime.pc
  DESTINATION ${TP_INSTALL_PKGCONFIGDIR} COMPONENT runtime)
