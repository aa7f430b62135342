//===- Assembler.cpp - machine code of a GPU ------------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Assembler.h"
#include "mlir/IR/Diagnostics.h"
#include "tp/Files/TemporaryFile.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"

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
  TemporaryFile input, output, messages;
  for (runtime::Status status :
       {input.create(".ptx", assembly), output.create(".cubin"),
        messages.create(".txt")})
    if (!status.ok())
      return emitError(location, status.message());
  std::string architecture = ("--gpu-name=" + chip).str();
  StringRef arguments[] = {program, architecture,  "-O3",
                           "-o",    output.path(), input.path()};
  std::optional<StringRef> redirects[] = {StringRef(), messages.path(),
                                          messages.path()};
  std::string failure;
  constexpr unsigned secondsToWait = 600;
  int status = llvm::sys::ExecuteAndWait(program, arguments, std::nullopt,
                                         redirects, secondsToWait, 0, &failure);
  if (status != 0) {
    auto said = llvm::MemoryBuffer::getFile(messages.path());
    return emitError(location)
           << "'" << program << "' failed for " << chip << ": " << failure
           << (said ? (*said)->getBuffer().rtrim() : "");
  }
  auto code = llvm::MemoryBuffer::getFile(output.path());
  if (!code)
    return emitError(location, "cannot read ") << output.path();
  return (*code)->getBuffer().str();
}
