# What tp and runtime/ alone, whichever is configured, set after project().
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()

find_program(CCACHE ccache)
if(CCACHE)
  # Clones in different folders share what the cache holds. Compiled headers, whose
  # bytes name the folder, are known by their .sum file (cmake/PrecompiledHeaders.cmake).
  set(launcher ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${CMAKE_SOURCE_DIR}
               CCACHE_NOHASHDIR=1 CCACHE_PCH_EXTSUM=1
               CCACHE_SLOPPINESS=pch_defines,time_macros ${CCACHE})
  set(CMAKE_C_COMPILER_LAUNCHER ${launcher})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${launcher})
endif()

set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
option(BUILD_TESTING "Build the tests, and tp-opt's passes for them" ON)
if(BUILD_TESTING)
  enable_testing()
endif()

include(${CMAKE_CURRENT_LIST_DIR}/../runtime/Sanitize.cmake)
