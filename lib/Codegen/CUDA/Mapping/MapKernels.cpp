//===- MapKernels.cpp - pass tp-map-kernels -------------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CodegenPlan.h"
#include "MappingAttribute.h"
#include "Program/ThreadMapping.h"
#include "tp/Codegen/CUDA/CUDAPasses.h" // IWYU pragma: keep

namespace tp {
#define GEN_PASS_DEF_MAPKERNELS
#include "tp/Codegen/CUDA/Passes.h.inc"
} // namespace tp

using namespace mlir;
using namespace tp::cuda;
using namespace tp::target;

LogicalResult tp::cuda::mapKernels(func::FuncOp program, KernelPlans &kernels) {
  // Equal kernels have one plan.
  struct Chosen {
    KernelMapping mapping;
    DictionaryAttr text;
  };
  llvm::DenseMap<const KernelPlan *, Chosen> known;
  for (Operation *command : commandsOf(program)) {
    auto kernel = dyn_cast<tp::KernelOp>(command);
    if (!kernel)
      continue;
    const KernelPlan *plan = kernels.of(kernel);
    if (!plan)
      return failure();
    auto [it, isNew] = known.try_emplace(plan);
    Chosen &chosen = it->second;
    if (isNew) {
      chosen.mapping = mapKernel(plan->values, *plan->fusedKernel);
      chosen.text = describe(chosen.mapping, program.getContext());
    }
    Attribute given = threadMapping(kernel);
    if (!given)
      setThreadMapping(kernel, chosen.text);
    else if (given != chosen.text &&
             failed(checkedMapping(kernel, *plan, chosen.mapping)))
      return failure();
  }
  return success();
}

namespace {
struct MapKernelsPass : tp::impl::MapKernelsBase<MapKernelsPass> {
  using MapKernelsBase::MapKernelsBase;

protected:
  void runOnOperation() override {
    auto map = [](func::FuncOp program, const TargetTraits &traits) {
      KernelPlans kernels(traits);
      return mapKernels(program, kernels);
    };
    if (failed(changePrograms(getOperation(), "cuda", "tp-map-kernels", map)))
      signalPassFailure();
  }
};
} // namespace
