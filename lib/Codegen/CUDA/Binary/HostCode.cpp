//===- HostCode.cpp - kernels for the machine tp runs on ------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The very LLVM IR of the kernels, without address spaces and calling
// convention: what a device does for a thread becomes a call of a function
// "tp_block_...", named after the intrinsic.
//
//===----------------------------------------------------------------------===//

#include "CPU/ObjectCode.h"
#include "CUDA/CUDAStages.h"
#include "KernelIR.h"
#include "llvm/AsmParser/Parser.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/Regex.h"
#include "llvm/Support/SourceMgr.h"

using namespace mlir;
using namespace tp::cuda;

static void replaceAll(std::string &text, StringRef from, StringRef to) {
  for (size_t at = text.find(from.str()); at != std::string::npos;
       at = text.find(from.str(), at + to.size()))
    text.replace(at, from.size(), to.str());
}

/// `@llvm.nvvm.shfl.sync.bfly.i32` becomes `@tp_block_shfl_sync_bfly_i32`.
static void renameIntrinsics(std::string &text) {
  const StringRef prefix = "@llvm.nvvm.";
  for (size_t at = text.find(prefix.str()); at != std::string::npos;
       at = text.find(prefix.str(), at)) {
    size_t end = text.find('(', at);
    std::string name =
        text.substr(at + prefix.size(), end - at - prefix.size());
    std::replace(name.begin(), name.end(), '.', '_');
    text.replace(at, end - at, "@tp_block_" + name);
  }
}

/// Tells of every access to shared memory before it is done, and if `all` of
/// every other too, so that what runs the kernel can judge them.
static void reportAccesses(llvm::Module &module, bool all) {
  llvm::LLVMContext &context = module.getContext();
  constexpr unsigned sharedSpace = 3;
  auto *word = llvm::Type::getInt32Ty(context);
  auto report = [&](llvm::Instruction &access, llvm::Value *pointer,
                    llvm::Type *type, bool isWrite) {
    unsigned space = pointer->getType()->getPointerAddressSpace();
    if (space != sharedSpace && !all)
      return;
    llvm::FunctionCallee callee = module.getOrInsertFunction(
        space == sharedSpace ? "tp_block_shared_access"
                             : "tp_block_global_access",
        llvm::Type::getVoidTy(context), pointer->getType(), word, word);
    uint64_t bytes = module.getDataLayout().getTypeStoreSize(type);
    llvm::IRBuilder<> builder(&access);
    builder.CreateCall(
        callee, {pointer, builder.getInt32(bytes), builder.getInt32(isWrite)});
  };
  for (llvm::Function &function : module)
    for (llvm::Instruction &op :
         llvm::make_early_inc_range(llvm::instructions(function)))
      if (auto *load = llvm::dyn_cast<llvm::LoadInst>(&op))
        report(op, load->getPointerOperand(), load->getType(),
               /*isWrite=*/false);
      else if (auto *store = llvm::dyn_cast<llvm::StoreInst>(&op))
        report(op, store->getPointerOperand(),
               store->getValueOperand()->getType(), /*isWrite=*/true);
}

/// Gives every kernel a form that takes its arguments by their addresses, as
/// cuLaunchKernel does, under the kernel's name.
static void addEntries(llvm::Module &module) {
  llvm::LLVMContext &context = module.getContext();
  auto *pointer = llvm::PointerType::get(context, 0);
  SmallVector<llvm::Function *> kernels;
  for (llvm::Function &function : module)
    if (!function.isDeclaration())
      kernels.push_back(&function);
  for (llvm::Function *kernel : kernels) {
    std::string name = kernel->getName().str();
    kernel->setName(name + "_thread");
    kernel->setLinkage(llvm::GlobalValue::InternalLinkage);
    auto *entry = llvm::Function::Create(
        llvm::FunctionType::get(llvm::Type::getVoidTy(context), {pointer},
                                false),
        llvm::GlobalValue::ExternalLinkage, name, module);
    llvm::IRBuilder<> builder(llvm::BasicBlock::Create(context, "", entry));
    SmallVector<llvm::Value *> arguments;
    for (unsigned i = 0; i < kernel->arg_size(); ++i) {
      llvm::Value *at = builder.CreateLoad(
          pointer, builder.CreateConstGEP1_32(pointer, entry->getArg(0), i));
      arguments.push_back(builder.CreateLoad(pointer, at));
    }
    builder.CreateCall(kernel, arguments);
    builder.CreateRetVoid();
  }
}

LogicalResult tp::cuda::makeHostCode(ModuleOp kernels, StringRef linker,
                                     std::string &object, bool reportsGlobal) {
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> device = translateKernels(kernels, context);
  if (!device)
    return failure();
  // Intrinsics' attributes are theirs alone.
  for (llvm::Function &function : *device)
    if (function.isIntrinsic() && function.getName().starts_with("llvm.nvvm."))
      function.setAttributes(llvm::AttributeList().addFnAttribute(
          context, llvm::Attribute::Convergent));
  reportAccesses(*device, reportsGlobal);
  std::string text;
  llvm::raw_string_ostream(text) << *device;
  replaceAll(text, " addrspace(3)", "");
  replaceAll(text, " addrspace(1)", "");
  replaceAll(text, "ptx_kernel ", "");
  renameIntrinsics(text);
  llvm::SMDiagnostic message;
  std::unique_ptr<llvm::Module> module =
      llvm::parseAssemblyString(text, message, context);
  if (!module)
    return kernels.emitError("the kernels for this machine: ")
           << message.getMessage();
  addEntries(*module);
  tp::runtime::CpuTarget target;
  return tp::cpu::compileModule(*module, kernels, "native", linker, object,
                                target);
}
