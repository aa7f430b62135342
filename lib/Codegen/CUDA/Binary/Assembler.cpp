//===- Assembler.cpp - machine code of a GPU ------------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Assembler.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

/// Where the assembler is: in the search path, where scripts/cuda-tools.sh puts
/// it (beside the folder of the running program), or in a CUDA toolkit.
static std::optional<std::string> findAssembler() {
  if (auto path = llvm::sys::findProgramByName("ptxas"))
    return *path;
  static int anchor;
  std::string program = llvm::sys::fs::getMainExecutable("tp-compile", &anchor);
  SmallString<128> beside(
      llvm::sys::path::parent_path(llvm::sys::path::parent_path(program)));
  llvm::sys::path::append(beside, "cuda-tools", "nvidia", "cu13", "bin");
  if (auto path = llvm::sys::findProgramByName(
          "ptxas", {StringRef(beside), "/usr/local/cuda/bin"}))
    return *path;
  return std::nullopt;
}

FailureOr<std::string> tp::cuda::assemble(Location location, StringRef assembly,
                                          StringRef chip, StringRef assembler) {
  std::string program = assembler.str();
  if (program.empty()) {
    std::optional<std::string> found = findAssembler();
    if (!found) {
      emitRemark(location)
          << "found no ptxas, so the artifact has assembly for " << chip
          << " only, which the driver compiles; install the "
             "CUDA toolkit or run scripts/cuda-tools.sh";
      return std::string();
    }
    program = *found;
  }
  SmallString<64> input, output, messages;
  if (llvm::sys::fs::createTemporaryFile("tp-kernels", "ptx", input) ||
      llvm::sys::fs::createTemporaryFile("tp-kernels", "cubin", output) ||
      llvm::sys::fs::createTemporaryFile("tp-kernels", "txt", messages))
    return emitError(location, "cannot make a temporary file");
  llvm::FileRemover removeInput(input), removeOutput(output),
      removeMessages(messages);
  {
    std::error_code error;
    llvm::raw_fd_ostream file(input, error);
    if (!error)
      file << assembly;
    if (error || file.has_error())
      return emitError(location, "cannot write ") << input;
  }
  std::string architecture = ("--gpu-name=" + chip).str();
  StringRef arguments[] = {program, architecture, "-O3", "-o", output, input};
  std::optional<StringRef> redirects[] = {StringRef(), StringRef(messages),
                                          StringRef(messages)};
  std::string failure;
  constexpr unsigned secondsToWait = 600;
  int status = llvm::sys::ExecuteAndWait(program, arguments, std::nullopt,
                                         redirects, secondsToWait, 0, &failure);
  if (status != 0) {
    auto said = llvm::MemoryBuffer::getFile(messages);
    return emitError(location)
           << "'" << program << "' failed for " << chip << ": " << failure
           << (said ? (*said)->getBuffer().rtrim() : "");
  }
  auto code = llvm::MemoryBuffer::getFile(output);
  if (!code)
    return emitError(location, "cannot read ") << output;
  return (*code)->getBuffer().str();
}
