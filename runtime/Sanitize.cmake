# What everything is built with to find undefined behaviour, and the fuzzers of
# test/Fuzz, which need clang. .ci/sanitizers sets both.
#
#   cmake ... -DTP_SANITIZE=address,undefined -DTP_FUZZERS=ON
set(TP_SANITIZE "" CACHE STRING "Sanitizers, as in -fsanitize=")
option(TP_FUZZERS "Build the fuzzers" OFF)
if(TP_SANITIZE)
  # The vptr check needs type information of MLIR, which is built without.
  add_compile_options(-fsanitize=${TP_SANITIZE} -fno-sanitize=vptr
    -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${TP_SANITIZE})
endif()
if(TP_FUZZERS)
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()

# tp_add_fuzzer(NAME libraries...): built from NAME.cpp.
function(tp_add_fuzzer name)
  add_executable(${name} ${name}.cpp)
  target_compile_options(${name} PRIVATE -fsanitize=fuzzer)
  target_link_options(${name} PRIVATE -fsanitize=fuzzer)
  target_link_libraries(${name} PRIVATE ${ARGN})
endfunction()
