//===- ObjectCode.cpp - kernels as a shared object ------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ObjectCode.h"
#include "Floats/BFloatRounding.h"
#include "MachineCode.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "tp/Files/TemporaryFile.h"
#include "tp/Runtime/Processor.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Host.h"

using namespace mlir;
using namespace tp::cpu;
using namespace tp::target;

/// What code for this machine may use that not every processor has. LLVM looks
/// for all such features of an architecture on the host; what else a subtarget
/// has is about speed alone. A feature that the runtime does not know stays,
/// for its loader to refuse.
static std::vector<std::string>
codeFeatures(const llvm::MCSubtargetInfo &subtarget) {
  llvm::StringMap<bool> ofProcessors = llvm::sys::getHostCPUFeatures();
  std::vector<std::string> features;
  for (const llvm::SubtargetFeatureKV &feature :
       subtarget.getEnabledProcessorFeatures())
    if (ofProcessors.contains(feature.Key) &&
        tp::runtime::featureUse(feature.Key) != tp::runtime::FeatureUse::Never)
      features.push_back(feature.Key);
  llvm::sort(features);
  return features;
}

static std::unique_ptr<llvm::TargetMachine>
makeTargetMachine(ModuleOp module, StringRef cpu,
                  tp::runtime::CpuTarget &target) {
  llvm::InitializeNativeTarget();
  llvm::InitializeNativeTargetAsmPrinter();
  llvm::Triple triple(llvm::sys::getDefaultTargetTriple());
  std::string message;
  const llvm::Target *entry =
      llvm::TargetRegistry::lookupTarget(triple, message);
  if (!entry) {
    module.emitError(message);
    return nullptr;
  }
  std::string features;
  bool native = cpu.empty() || cpu == "native";
  std::string name = native ? llvm::sys::getHostCPUName().str() : cpu.str();
  if (native)
    for (auto &[feature, on] : llvm::sys::getHostCPUFeatures())
      features += (features.empty() ? "" : ",") + std::string(on ? "+" : "-") +
                  feature.str();
  // The bf16 instructions of x86 take denormal numbers for zero.
  if (triple.isX86())
    for (StringRef feature : {"-avx512bf16", "-avxneconvert", "-avx10.2"})
      features += (features.empty() ? "" : ",") + feature.str();
  // A target machine would print about a name that it does not know.
  std::unique_ptr<llvm::MCSubtargetInfo> known(
      entry->createMCSubtargetInfo(triple, "", ""));
  if (!known || !known->isCPUStringValid(name)) {
    module.emitError("no such CPU for ")
        << triple.str() << ": '" << name
        << "', expected native or a name of LLVM's, x86-64-v3 say";
    return nullptr;
  }
  // Nor would it make code for a processor of fewer bits.
  if (triple.isX86() && triple.isArch64Bit()) {
    std::unique_ptr<llvm::MCSubtargetInfo> named(
        entry->createMCSubtargetInfo(triple, name, ""));
    if (!named->checkFeatures("+64bit")) {
      module.emitError("no 64-bit CPU: '")
          << name << "', expected native or x86-64-v3, say";
      return nullptr;
    }
  }
  std::unique_ptr<llvm::TargetMachine> machine(entry->createTargetMachine(
      triple, name, features, llvm::TargetOptions(), llvm::Reloc::PIC_,
      std::nullopt, llvm::CodeGenOptLevel::Default));
  if (!machine) {
    module.emitError("cannot generate code for ") << triple.str();
    return nullptr;
  }
  target = {triple.str(), name, codeFeatures(*machine->getMCSubtargetInfo())};
  return machine;
}

/// Links one object file into a shared object.
static LogicalResult link(ModuleOp module, StringRef linker,
                          StringRef objectBytes, std::string &shared) {
  SmallVector<std::string> candidates;
  if (!linker.empty())
    candidates.push_back(linker.str());
  for (StringRef name : {"ld.lld-22", "ld.lld"})
    if (auto path = llvm::sys::findProgramByName(name))
      candidates.push_back(*path);
#ifdef TP_LLVM_TOOLS_DIR
  if (auto path = llvm::sys::findProgramByName("ld.lld", {TP_LLVM_TOOLS_DIR}))
    candidates.push_back(*path);
#endif
  if (candidates.empty())
    return module.emitError("no linker: expected ld.lld in the search path");

  tp::TemporaryFile objectFile, sharedFile;
  for (tp::runtime::Status status :
       {objectFile.create(".o", objectBytes), sharedFile.create(".so")})
    if (!status.ok())
      return module.emitError(status.message());
  std::string message;
  StringRef arguments[] = {candidates.front(), "-shared", "-o",
                           sharedFile.path(), objectFile.path()};
  if (llvm::sys::ExecuteAndWait(candidates.front(), arguments, std::nullopt, {},
                                /*SecondsToWait=*/60, 0, &message) != 0)
    return module.emitError("linking the kernels failed: ") << message;
  auto buffer = llvm::MemoryBuffer::getFile(sharedFile.path());
  if (!buffer)
    return module.emitError("cannot read ") << sharedFile.path();
  shared = (*buffer)->getBuffer().str();
  return success();
}

LogicalResult tp::cpu::compileKernels(ModuleOp kernels, StringRef cpu,
                                      StringRef linker, std::string &object,
                                      tp::runtime::CpuTarget &target) {
  DialectRegistry registry;
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  kernels.getContext()->appendDialectRegistry(registry);
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> module =
      translateModuleToLLVMIR(kernels, context, "kernels");
  if (!module)
    return kernels.emitError("cannot translate the kernels to LLVM IR");
  return compileModule(*module, kernels, cpu, linker, object, target);
}

LogicalResult tp::cpu::compileModule(llvm::Module &module, ModuleOp kernels,
                                     StringRef cpu, StringRef linker,
                                     std::string &object,
                                     tp::runtime::CpuTarget &target) {
  auto machine = makeTargetMachine(kernels, cpu, target);
  if (!machine)
    return failure();
  module.setTargetTriple(machine->getTargetTriple());
  module.setDataLayout(machine->createDataLayout());
  for (llvm::Function &function : module) {
    if (function.isDeclaration())
      continue;
    function.addFnAttr(llvm::Attribute::NoUnwind);
    function.addFnAttr("target-cpu", target.cpu);
    function.addFnAttr("target-features", machine->getTargetFeatureString());
  }
  optimiseLoops(module, *machine);
  defineBFloatRounding(module);
  SmallString<0> bytes;
  if (failed(writeCode(module, *machine, llvm::CodeGenFileType::ObjectFile,
                       bytes)))
    return kernels.emitError("the target cannot write object files");
  return link(kernels, linker, bytes, object);
}
