//===- KernelLoops.h - the code of one kernel --------------------*- C++
//-*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_CODEGEN_CPU_KERNELLOOPS_H
#define TP_LIB_CODEGEN_CPU_KERNELLOOPS_H

#include "Emit/ElementEmitter.h"
#include "Kernels/Schedule.h"

namespace tp::cpu {

/// Emits the loops of a kernel: its rows outside, and inside each row one loop
/// nest after the other.
class KernelLoops {
public:
  KernelLoops(const target::StoredValues &plan, target::AssertTable &asserts,
              const target::FusedKernel &fusedKernel, mlir::OpBuilder &builder,
              mlir::Location loc)
      : plan(plan), fusedKernel(fusedKernel), builder(builder), loc(loc),
        emitter(plan, asserts, builder, loc) {}

  void emit();
  target::ElementEmitter &elements() { return emitter; }

private:
  using Values = llvm::SmallVector<mlir::Value>;
  using Inside =
      llvm::function_ref<Values(llvm::ArrayRef<mlir::Value> accumulators)>;
  using Part = target::ComputeLoop::Part;
  Values loop(unsigned dim, int64_t extent, llvm::ArrayRef<int64_t> splits,
              llvm::ArrayRef<mlir::Value> accumulators, Inside inside,
              const Part *part = nullptr);
  static int loopOf(const target::ComputeLoop &computeLoop, const Part &part);
  const Part *partAlong(llvm::ArrayRef<target::ComputeLoop *> computeLoops,
                        unsigned slot, int level) const;
  void rows(unsigned slot);
  void loopNest(const target::LoopNest &loopNest);
  void columns(const target::LoopNest &loopNest);
  void someElements(const target::LoopNest &loopNest);
  void initialise(const target::ComputeLoop &computeLoop);
  void accumulate(const target::ComputeLoop &computeLoop);
  Values level(const target::LoopNest &loopNest, unsigned number,
               llvm::ArrayRef<mlir::Value> accumulators, Inside inside);
  Values nest(const target::LoopNest &loopNest, unsigned number, unsigned end,
              llvm::ArrayRef<mlir::Value> accumulators, Inside inside);
  void levels(const target::LoopNest &loopNest,
              llvm::ArrayRef<unsigned> numbers,
              llvm::function_ref<void()> inside);
  void scatter(const target::LoopNest &loopNest);
  mlir::Value enterPlaces(const target::ComputeLoop &computeLoop);
  Values computeLoops(const target::LoopNest &loopNest,
                      llvm::ArrayRef<mlir::Value> accumulators);
  target::Indices over(const target::ComputeLoop &computeLoop,
                       llvm::ArrayRef<mlir::AffineExpr> exprs) {
    return simplify(
        overKernelDims(computeLoop, exprs, fusedKernel.rowExtents.size()),
        emitter.space);
  }

  const target::StoredValues &plan;
  const target::FusedKernel &fusedKernel;
  mlir::OpBuilder &builder;
  mlir::Location loc;
  target::ElementEmitter emitter;
};

} // namespace tp::cpu

#endif // TP_LIB_CODEGEN_CPU_KERNELLOOPS_H
