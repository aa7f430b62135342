# What `cmake --install` puts where: the compiler's tools, libraries, headers and
# hardware descriptions. cmake/InstallRuntime.cmake is the runtime's half.
include(${CMAKE_CURRENT_LIST_DIR}/InstallFolders.cmake)

# The libraries of lib/, and what of the runtime they use.
get_property(libraries GLOBAL PROPERTY TP_LIBRARIES)
set_target_properties(tp_io PROPERTIES EXPORT_NAME io)
set_target_properties(tp_format PROPERTIES EXPORT_NAME format)
set_target_properties(tp_linked PROPERTIES EXPORT_NAME linked)
install(TARGETS tp_mlir tp_io tp_format tp_linked ${libraries} EXPORT tp-compiler-targets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT compiler
  INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT tp-compiler-targets NAMESPACE tp::
  DESTINATION ${TP_INSTALL_CMAKEDIR} COMPONENT compiler)
install(TARGETS tp-plugin
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT compiler)

# Tools look for ../share/tp/hardware from their own folder, and for LLVM where it was
# when they were linked.
set_target_properties(tp-compile tp-lsp-server tp-opt tp-reduce
  PROPERTIES INSTALL_RPATH_USE_LINK_PATH ON)
install(TARGETS tp-compile tp-lsp-server tp-opt tp-reduce
  RUNTIME DESTINATION bin COMPONENT compiler)
tp_install_completion(compiler tp-compile tp-opt tp-reduce)
install(FILES ${TP_HARDWARE} DESTINATION share/tp/hardware COMPONENT compiler)

install(DIRECTORY include/tp DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  COMPONENT compiler FILES_MATCHING PATTERN "*.h" PATTERN "*.td")
# Generated.
install(DIRECTORY ${PROJECT_BINARY_DIR}/include/tp
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  COMPONENT compiler FILES_MATCHING PATTERN "*.h.inc"
  PATTERN CMakeFiles EXCLUDE)
# Of the runtime: what the compiler's own headers include.
foreach(library tp_io tp_format)
  get_target_property(headers ${library} TP_HEADERS)
  install(FILES ${headers}
    DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/tp/Runtime COMPONENT compiler)
endforeach()

configure_package_config_file(
  ${CMAKE_CURRENT_LIST_DIR}/tp-compiler.cmake.in
  ${PROJECT_BINARY_DIR}/cmake/tp-compiler.cmake
  INSTALL_DESTINATION ${TP_INSTALL_CMAKEDIR}
  NO_SET_AND_CHECK_MACRO NO_CHECK_REQUIRED_COMPONENTS_MACRO)
install(FILES ${PROJECT_BINARY_DIR}/cmake/tp-compiler.cmake
  DESTINATION ${TP_INSTALL_CMAKEDIR} COMPONENT compiler)
