//===- PTX.cpp - kernels as assembly of the device ------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CPU/MachineCode.h"
#include "CUDA/CUDAStages.h"
#include "KernelIR.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"

using namespace mlir;
using namespace tp::cuda;

namespace {
struct Chip {
  StringRef name, features;
};
} // namespace

/// The oldest PTX that knows each chip as tp uses it.
static constexpr Chip chips[] = {
    {"sm_80", "+ptx75"}, {"sm_90", "+ptx80"}, {"sm_100", "+ptx88"}};

bool tp::cuda::isChip(StringRef chip) {
  return llvm::any_of(chips, [&](const Chip &c) { return c.name == chip; });
}

FailureOr<std::string> tp::cuda::makePTX(ModuleOp kernels, StringRef chip) {
  const Chip *found =
      llvm::find_if(chips, [&](const Chip &c) { return c.name == chip; });
  if (found == std::end(chips))
    return kernels.emitError("expected the chip sm_80, sm_90 or sm_100, got '")
           << chip << "'";
  LLVMInitializeNVPTXTargetInfo();
  LLVMInitializeNVPTXTarget();
  LLVMInitializeNVPTXTargetMC();
  LLVMInitializeNVPTXAsmPrinter();
  llvm::Triple triple("nvptx64-nvidia-cuda");
  std::string message;
  const llvm::Target *target =
      llvm::TargetRegistry::lookupTarget(triple, message);
  if (!target)
    return kernels.emitError("this LLVM makes no PTX: ") << message;
  std::unique_ptr<llvm::TargetMachine> machine(target->createTargetMachine(
      triple, found->name, found->features, llvm::TargetOptions(), std::nullopt,
      std::nullopt, llvm::CodeGenOptLevel::Aggressive));
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> module = translateKernels(kernels, context);
  if (!module)
    return failure();
  module->setTargetTriple(triple);
  module->setDataLayout(machine->createDataLayout());
  target::optimise(*module, *machine);
  SmallString<0> text;
  if (failed(target::writeCode(*module, *machine,
                               llvm::CodeGenFileType::AssemblyFile, text)))
    return kernels.emitError("the target cannot write assembly");
  return std::string(text);
}
