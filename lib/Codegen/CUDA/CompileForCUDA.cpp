//===- CompileForCUDA.cpp - per-rank program to CUDA artifact -------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tp/Codegen/CUDA/CompileForCUDA.h"
#include "CUDA/Binary/Assembler.h"
#include "CUDAStages.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "tp/Codegen/CPU/CompileForCPU.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace tp::cuda;
using namespace tp::target;

/// Chips of this name run kernels as code for this machine.
static constexpr llvm::StringLiteral hostChip = "host";

void tp::registerCUDATargetDialects(DialectRegistry &registry) {
  registerCPUTargetDialects(registry);
  registry.insert<NVVM::NVVMDialect>();
}

/// Plans `module`, which is changed, and emits its kernels into `kernels`; the
/// plan knows their calls.
static FailureOr<std::unique_ptr<CodegenPlans>>
planWithKernels(ModuleOp module, const tp::CUDAOptions &options,
                ModuleOp kernels) {
  TargetTraits traits = cudaTraits;
  traits.hasAttention = options.scoreBytes != 0;
  traits.scoreBytes = options.scoreBytes;
  FailureOr<std::unique_ptr<CodegenPlans>> planned =
      planForDevices(module, traits);
  if (failed(planned))
    return failure();
  if (failed(emitKernels(**planned, kernels)))
    return failure();
  return planned;
}

FailureOr<tp::ProgramStatistics>
tp::planMemoryForCUDA(ModuleOp module, const CUDAOptions &options) {
  OwningOpRef<ModuleOp> kernels = ModuleOp::create(module.getLoc());
  auto planned = planWithKernels(module, options, *kernels);
  if (failed(planned))
    return failure();
  return statisticsOf((*planned)->manifestSources());
}

LogicalResult tp::checkChips(Location loc, ArrayRef<std::string> chips) {
  for (const auto &[i, chip] : llvm::enumerate(chips)) {
    if (chip != hostChip && !isChip(chip))
      return emitError(loc, "expected the chip sm_80, sm_90 or sm_100, got '")
             << chip << "'";
    if (llvm::is_contained(chips.take_front(i), chip))
      return emitError(loc, "the chip '") << chip << "' is named twice";
  }
  return success();
}

/// Its code is what later chips run too; empty where there is none.
static StringRef oldest(ArrayRef<std::string> chips) {
  auto number = [](StringRef chip) {
    unsigned found = 0;
    (void)chip.drop_front(StringRef("sm_").size()).getAsInteger(10, found);
    return found;
  };
  StringRef found;
  for (StringRef chip : chips)
    if (chip != hostChip && (found.empty() || number(chip) < number(found)))
      found = chip;
  return found;
}

/// The sections with the kernels' code, in all its forms.
static LogicalResult addCode(ModuleOp kernels, const tp::CUDAOptions &options,
                             tp::runtime::ArtifactWriter &writer) {
  for (const std::string &chip : options.chips) {
    std::string code;
    if (chip == hostChip) {
      if (failed(makeHostCode(kernels, options.linker, code)))
        return failure();
      writer.addSection("cubin.host", std::move(code));
      continue;
    }
    FailureOr<std::string> assembly = makePTX(kernels, chip);
    if (failed(assembly))
      return failure();
    FailureOr<std::string> machineCode =
        assemble(kernels.getLoc(), *assembly, chip, options.assembler);
    if (failed(machineCode))
      return failure();
    if (chip == oldest(options.chips))
      writer.addSection("ptx", std::move(*assembly));
    if (!machineCode->empty())
      writer.addSection("cubin." + chip, std::move(*machineCode));
  }
  return success();
}

FailureOr<tp::CompiledManifest>
tp::compileForCUDA(ModuleOp module, const CUDAOptions &options,
                   runtime::ArtifactWriter &artifact) {
  if (failed(checkChips(module.getLoc(), options.chips)))
    return failure();
  OwningOpRef<ModuleOp> kernels = ModuleOp::create(module.getLoc());
  auto planned = planWithKernels(module, options, *kernels);
  if (failed(planned) || failed(lowerKernels(*kernels)) ||
      failed(addCode(*kernels, options, artifact)))
    return failure();

  std::vector<ManifestSource> programs = (*planned)->manifestSources();
  for (ManifestSource &program : programs)
    program.tf32 = options.tf32;
  programs.front().target = runtime::CudaTarget{options.chips};
  FailureOr<CompiledManifest> manifest = makeManifest(programs);
  if (failed(manifest))
    return failure();
  artifact.addSection("manifest", runtime::writeManifest(manifest->manifest));
  artifact.addSection("constants", constantBytes(programs));
  return manifest;
}
