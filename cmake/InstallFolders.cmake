# Where the two halves of an installation go.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# Everything finds the rest from its own place, so that the prefix may be chosen by
# `cmake --install --prefix` and the folder may be moved.
foreach(folder LIBDIR INCLUDEDIR)
  if(IS_ABSOLUTE "${CMAKE_INSTALL_${folder}}")
    message(FATAL_ERROR "CMAKE_INSTALL_${folder}: expected a path relative to the "
      "prefix, got ${CMAKE_INSTALL_${folder}}")
  endif()
endforeach()

# tp_install_completion(COMPONENT TOOLS...): bash-completion looks for a file of the
# tool's name.
function(tp_install_completion component)
  foreach(tool ${ARGN})
    install(FILES ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/../tools/completion.bash
      DESTINATION share/bash-completion/completions RENAME ${tool}
      COMPONENT ${component})
  endforeach()
endfunction()

set(TP_INSTALL_CMAKEDIR ${CMAKE_INSTALL_LIBDIR}/cmake/tp)
set(TP_INSTALL_PKGCONFIGDIR ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
