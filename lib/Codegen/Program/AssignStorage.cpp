//===- AssignStorage.cpp - pass tp-assign-storage -------------------------===//
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
#include "tp/IR/CodegenAttributes.h"
#include "tp/IR/Entries.h"
#include "tp/IR/PortNames.h"

namespace tp {
#define GEN_PASS_DEF_ASSIGNSTORAGE
#include "tp/Codegen/Passes.h.inc"
} // namespace tp

using namespace mlir;
using namespace tp::target;

/// The order in which an entry would have an argument's dimensions in memory;
/// nothing where that is no matter to it.
static std::optional<SmallVector<int64_t>>
orderOf(func::FuncOp function, unsigned argument, const StoragePlan &plan) {
  auto given = function.getArgAttrOfType<DenseI64ArrayAttr>(
      argument, tp::attr::permutation);
  if (given)
    return SmallVector<int64_t>(given.asArrayRef());
  if (function.getArgument(argument).use_empty() &&
      !tp::updatesOf(function).contains(argument))
    return std::nullopt;
  return SmallVector<int64_t>(plan.argumentPermutation(argument));
}

/// What entries share has one order: the one that all of those that read it
/// want, or, where they differ, the source's.
static LogicalResult agreeOnOrders(ArrayRef<func::FuncOp> functions,
                                   const TargetTraits &traits) {
  tp::SharedArguments shared(functions);
  if (shared.tensors().empty())
    return success();
  std::vector<std::unique_ptr<StoragePlan>> plans;
  for (func::FuncOp function : functions) {
    plans.push_back(std::make_unique<StoragePlan>(function, traits));
    if (failed(plans.back()->build()))
      return failure();
  }
  for (ArrayRef<tp::EntryArgument> tensor : shared.tensors()) {
    func::FuncOp first = functions[tensor.front().entry];
    Builder builder(first.getContext());
    auto type = dyn_cast<RankedTensorType>(
        first.getArgument(tensor.front().argument).getType());
    if (!type)
      continue;
    auto plain = llvm::to_vector(llvm::seq<int64_t>(0, type.getRank()));
    std::optional<SmallVector<int64_t>> chosen;
    for (tp::EntryArgument each : tensor) {
      auto wanted =
          orderOf(functions[each.entry], each.argument, *plans[each.entry]);
      if (wanted && wanted->empty())
        wanted = plain;
      if (wanted && chosen && *wanted != *chosen)
        wanted = plain;
      if (wanted)
        chosen = wanted;
    }
    for (tp::EntryArgument each : tensor)
      func::FuncOp(functions[each.entry])
          .setArgAttr(each.argument, tp::attr::permutation,
                      builder.getDenseI64ArrayAttr(chosen.value_or(plain)));
  }
  return success();
}

static FailureOr<func::FuncOp> formProgram(func::FuncOp function,
                                           const TargetTraits &traits) {
  StoragePlan plan(function, traits);
  if (failed(plan.build()))
    return failure();
  Schedule list = listCommands(plan, function);
  gatherAttentions(plan, list, function);
  return buildProgram(function, plan, list);
}

FailureOr<SmallVector<func::FuncOp>>
tp::target::formPrograms(ArrayRef<func::FuncOp> functions,
                         const TargetTraits &traits) {
  for (func::FuncOp function : functions)
    if (failed(joinedArguments(function)))
      return failure();
  if (failed(agreeOnOrders(functions, traits)))
    return failure();
  SmallVector<func::FuncOp> programs;
  for (func::FuncOp function : functions) {
    FailureOr<func::FuncOp> program = formProgram(function, traits);
    if (failed(program))
      return failure();
    programs.push_back(*program);
  }
  return programs;
}

namespace {
struct AssignStoragePass : tp::impl::AssignStorageBase<AssignStoragePass> {
  using AssignStorageBase::AssignStorageBase;

  void getDependentDialects(DialectRegistry &registry) const override {
    registry
        .insert<arith::ArithDialect, bufferization::BufferizationDialect,
                linalg::LinalgDialect, math::MathDialect, memref::MemRefDialect,
                scf::SCFDialect, tensor::TensorDialect, tp::TPDialect>();
  }

  LogicalResult run() {
    ModuleOp module = getOperation();
    FailureOr<PassInput> input =
        passInputOnTensors(module, target, "tp-assign-storage");
    if (failed(input) || failed(meshOfModule(module, input->traits)))
      return failure();
    for (func::FuncOp function : input->functions)
      cleanUp(function, input->traits);
    return formPrograms(input->functions, input->traits);
  }

  void runOnOperation() override {
    if (failed(run()))
      signalPassFailure();
  }
};
} // namespace
