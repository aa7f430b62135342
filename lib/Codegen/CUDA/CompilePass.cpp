//===- CompilePass.cpp - pass tp-cuda-compile -----------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CUDAStages.h"
#include "tp/Codegen/CUDA/CUDAPasses.h"
#include "tp/Codegen/CUDA/CompileForCUDA.h"
#include "tp/Files/OutputText.h"
#include "llvm/Support/JSON.h"

namespace tp {
#define GEN_PASS_DEF_CUDACOMPILE
#include "tp/Codegen/CUDA/Passes.h.inc"
} // namespace tp

using namespace mlir;
using namespace tp::cuda;
using namespace tp::target;

/// A line per kernel: how it is launched, on which buffers.
static void printLaunches(ArrayRef<EmittedKernel> kernels,
                          const CodegenPlan &planned) {
  for (const EmittedKernel &kernel : kernels) {
    if (kernel.name.empty())
      continue;
    llvm::json::Array buffers;
    for (Value value : kernel.buffers) {
      const Storage &storage = planned.plan->storage(value);
      tp::runtime::BufferRef place = bufferOf(storage);
      llvm::json::Object buffer{{"space", tp::runtime::spelling(place.space)},
                                {"offset", place.offset},
                                {"bytes", storage.bytes()}};
      if (place.space == tp::runtime::Space::Argument ||
          place.space == tp::runtime::Space::Result)
        buffer["index"] = place.index;
      buffers.push_back(std::move(buffer));
    }
    llvm::json::Object line{{"function", kernel.name},
                            {"grid", llvm::json::Array(kernel.grid)},
                            {"block", llvm::json::Array(kernel.block)},
                            {"shared_bytes", kernel.sharedBytes},
                            {"scratch_bytes", kernel.scratchBytes},
                            {"flops", kernel.flops},
                            {"bytes", kernel.bytes},
                            {"buffers", std::move(buffers)}};
    llvm::outs() << llvm::json::Value(std::move(line)) << "\n";
  }
}

static LogicalResult printManifest(ArrayRef<EmittedKernel> kernels,
                                   StringRef chip, CodegenPlan &planned) {
  for (const EmittedKernel &kernel : kernels)
    planned.program.kernels.push_back(callOf(kernel));
  planned.program.target = tp::runtime::CudaTarget{{chip.str()}};
  tp::ProgramStatistics statistics;
  FailureOr<tp::CompiledManifest> manifest =
      makeManifest(planned.program, statistics);
  if (failed(manifest))
    return failure();
  llvm::outs() << tp::runtime::writeManifest(manifest->manifest);
  return success();
}

namespace {
struct CompilePass : tp::impl::CUDACompileBase<CompilePass> {
  using CUDACompileBase::CUDACompileBase;

  void getDependentDialects(DialectRegistry &registry) const override {
    tp::registerCUDATargetDialects(registry);
  }

  LogicalResult run() {
    ModuleOp module = getOperation();
    if (!llvm::is_contained(
            {"", "kernels", "lowered", "launches", "ptx", "manifest"}, show) ||
        (show.empty() && host.empty()))
      return module.emitError("tp-cuda-compile: expected 'host' or 'show' of "
                              "kernels, lowered, launches, ptx or manifest");
    auto planned = planForDevices(module, tp::cuda::traits);
    if (failed(planned))
      return failure();
    OwningOpRef<ModuleOp> kernels =
        ModuleOp::create(UnknownLoc::get(&getContext()));
    auto emitted = emitKernels(**planned, *kernels);
    if (failed(emitted))
      return failure();
    if (show == "manifest")
      return printManifest(*emitted, chip, **planned);
    if (show == "launches")
      printLaunches(*emitted, **planned);
    if (show != "kernels" && failed(lowerKernels(*kernels)))
      return failure();
    if (show == "ptx") {
      FailureOr<std::string> text = makePTX(*kernels, chip);
      if (failed(text))
        return failure();
      llvm::outs() << *text;
    }
    if (!host.empty()) {
      std::string object;
      if (failed(makeHostCode(*kernels, "", object, accesses)))
        return failure();
      if (tp::runtime::Status status = tp::writeOutputText(host, object);
          !status.ok())
        return module.emitError(status.message());
    }
    if (show == "kernels" || show == "lowered") {
      module.getBodyRegion().takeBody(kernels->getBodyRegion());
      for (NamedAttribute attribute :
           llvm::to_vector(module->getDiscardableAttrs()))
        module->removeDiscardableAttr(attribute.getName());
    }
    return success();
  }

  void runOnOperation() override {
    if (failed(run()))
      signalPassFailure();
  }
};
} // namespace
