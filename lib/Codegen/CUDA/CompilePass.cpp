//===- CompilePass.cpp - pass tp-cuda-compile -----------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CUDAStages.h"
#include "tp/Codegen/BackEndStages.h"
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
static void printLaunches(const CodegenPlan &planned) {
  Buffers places(planned.program);
  for (Operation *command : commandsOf(planned.program)) {
    auto launch = dyn_cast<tp::LaunchOp>(command);
    if (!launch)
      continue;
    llvm::json::Array buffers;
    for (Value value : launch.getBuffers()) {
      tp::runtime::BufferRef place = bufferRef(places, value);
      llvm::json::Object buffer{
          {"space", tp::runtime::spelling(place.space)},
          {"offset", place.offset},
          {"bytes", bytesOf(cast<MemRefType>(value.getType()))}};
      if (place.space == tp::runtime::Space::Argument ||
          place.space == tp::runtime::Space::Result)
        buffer["index"] = place.index;
      buffers.push_back(std::move(buffer));
    }
    llvm::json::Object line{{"function", launch.getFunction()},
                            {"grid", llvm::json::Array(*launch.getGrid())},
                            {"block", llvm::json::Array(*launch.getBlock())},
                            {"shared_bytes", int64_t(launch.getShared())},
                            {"scratch_bytes", int64_t(launch.getScratch())},
                            {"flops", int64_t(launch.getFlops())},
                            {"bytes", int64_t(launch.getBytes())},
                            {"buffers", std::move(buffers)}};
    llvm::outs() << llvm::json::Value(std::move(line)) << "\n";
  }
}

static LogicalResult printManifest(StringRef chip,
                                   const CodegenPlans &planned) {
  std::vector<ManifestSource> programs = planned.manifestSources();
  programs.front().target = tp::runtime::CudaTarget{{chip.str()}};
  FailureOr<tp::CompiledManifest> manifest = makeManifest(programs);
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
    forgetStagesRun(module);
    if (!llvm::is_contained(
            {"", "kernels", "lowered", "launches", "ptx", "manifest"}, show) ||
        (show.empty() && host.empty()))
      return module.emitError("tp-cuda-compile: expected 'host' or 'show' of "
                              "kernels, lowered, launches, ptx or manifest");
    auto planned = planForDevices(module, cudaTraits);
    if (failed(planned))
      return failure();
    OwningOpRef<ModuleOp> kernels =
        ModuleOp::create(UnknownLoc::get(&getContext()));
    if (failed(emitKernels(**planned, *kernels)))
      return failure();
    if (show == "manifest")
      return printManifest(chip, **planned);
    if (show == "launches")
      for (const auto &entry : (*planned)->entries)
        printLaunches(*entry);
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
