//===- FormProgram.cpp - pass tp-form-program -----------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Attention/Attention.h"
#include "BuildProgram.h"
#include "CodegenPlan.h"
#include "JoinedArguments.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "tp/Codegen/CodegenPasses.h"

namespace tp {
#define GEN_PASS_DEF_FORMPROGRAM
#include "tp/Codegen/Passes.h.inc"
} // namespace tp

using namespace mlir;
using namespace tp::target;

FailureOr<func::FuncOp> tp::target::formProgram(func::FuncOp function,
                                                const TargetTraits &traits) {
  if (failed(joinedArguments(function)))
    return failure();
  cleanUp(function);
  StoragePlan plan(function, traits);
  if (failed(plan.build()))
    return failure();
  FailureOr<Schedule> schedule = makeSchedule(plan, function);
  if (failed(schedule))
    return failure();
  gatherAttentions(plan, *schedule, function);
  return buildProgram(function, plan, *schedule);
}

namespace {
struct FormProgramPass : tp::impl::FormProgramBase<FormProgramPass> {
  using FormProgramBase::FormProgramBase;

  void getDependentDialects(DialectRegistry &registry) const override {
    registry
        .insert<arith::ArithDialect, bufferization::BufferizationDialect,
                linalg::LinalgDialect, math::MathDialect, memref::MemRefDialect,
                scf::SCFDialect, tensor::TensorDialect, tp::TPDialect>();
  }

  LogicalResult run() {
    ModuleOp module = getOperation();
    FailureOr<PassInput> input =
        passInputOnTensors(module, target, "tp-form-program");
    if (failed(input) || failed(meshOfModule(module, input->traits)))
      return failure();
    return formProgram(input->function, input->traits);
  }

  void runOnOperation() override {
    if (failed(run()))
      signalPassFailure();
  }
};
} // namespace
