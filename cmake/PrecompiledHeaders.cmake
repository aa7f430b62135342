# MLIR's headers take five of the eight seconds in which a file of the compiler is
# compiled. They are compiled once, for all its libraries. A source includes what it
# uses all the same: the preset "sanitize" compiles no headers before them.
option(TP_PRECOMPILE_HEADERS "Compile MLIR's headers once for all libraries" ON)

set(TP_PRECOMPILED_HEADERS
  <mlir/Dialect/Arith/IR/Arith.h>
  <mlir/Dialect/ControlFlow/IR/ControlFlowOps.h>
  <mlir/Dialect/Func/IR/FuncOps.h>
  <mlir/Dialect/Linalg/IR/Linalg.h>
  <mlir/Dialect/Math/IR/Math.h>
  <mlir/Dialect/MemRef/IR/MemRef.h>
  <mlir/Dialect/SCF/IR/SCF.h>
  <mlir/Dialect/Tensor/IR/Tensor.h>
  <mlir/IR/Builders.h>
  <mlir/IR/BuiltinOps.h>
  <mlir/IR/IRMapping.h>
  <mlir/IR/Matchers.h>
  <mlir/IR/PatternMatch.h>
  <mlir/Pass/Pass.h>
  <mlir/Pass/PassManager.h>
  <llvm/ADT/MapVector.h>
  <llvm/ADT/StringExtras.h>
  <llvm/ADT/TypeSwitch.h>
  <llvm/Support/JSON.h>)

if(TP_PRECOMPILE_HEADERS)
  file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/precompiled.cpp
    CONTENT "// The headers are compiled before this.\n")
  add_library(tp_precompiled OBJECT ${PROJECT_BINARY_DIR}/precompiled.cpp)
  llvm_update_compile_flags(tp_precompiled)
  target_link_libraries(tp_precompiled PRIVATE tp_mlir)
  target_precompile_headers(tp_precompiled PRIVATE ${TP_PRECOMPILED_HEADERS})
  target_compile_options(tp_precompiled PRIVATE "SHELL:-Xclang -fno-pch-timestamp")

  set(TP_PRECOMPILED ${PROJECT_BINARY_DIR}/CMakeFiles/tp_precompiled.dir/cmake_pch.hxx.pch)

  # What ccache knows the compiled headers by, in place of their bytes, which name
  # their folder: the headers, whose text LLVM's revision stands for.
  file(READ ${LLVM_INCLUDE_DIR}/llvm/Support/VCSRevision.h revision)
  string(SHA256 sum "${revision} ${LLVM_PACKAGE_VERSION} ${TP_PRECOMPILED_HEADERS}")
  file(CONFIGURE CONTENT "${sum}\n" OUTPUT ${TP_PRECOMPILED}.sum)
endif()

# tp_precompile_headers(TARGET)
# TARGET's sources start from the compiled headers. Its compile options are those of
# tp_precompiled. The headers are an option of the compiler's driver: REUSE_FROM
# passes them behind -Xclang, where ccache does not take the folder off their path.
function(tp_precompile_headers target)
  if(TP_PRECOMPILE_HEADERS)
    # Of libstdc++'s own use of what it deprecates clang warns where it comes from
    # compiled headers.
    target_compile_options(${target} PRIVATE "SHELL:-include-pch ${TP_PRECOMPILED}"
      "SHELL:-Xclang -fno-pch-timestamp" -Wno-deprecated-declarations)
    add_dependencies(${target} tp_precompiled)
    get_target_property(sources ${target} SOURCES)
    set_property(SOURCE ${sources} APPEND PROPERTY OBJECT_DEPENDS ${TP_PRECOMPILED})
  endif()
endfunction()
