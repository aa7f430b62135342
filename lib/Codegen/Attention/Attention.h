//===- Attention.h - attentions as steps and as one command -----*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An attention is decomposed into contractions and softmaxes on blocks of
// queries, whose ops have an attribute. Their commands then become the steps of
// one attention command of the manifest.
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_CODEGEN_ATTENTION_ATTENTION_H
#define TP_LIB_CODEGEN_ATTENTION_ATTENTION_H

#include "AttentionForm.h"
#include "Kernels/FusedKernel.h"

namespace tp::target {

/// Simplifies `function`, rewrites all its attentions and returns their number.
/// The scores of one query block take at most `traits.scoreBytes`, unless that
/// needs more than 64 blocks; without a limit there is one block. Fails, with
/// an error, at keys or values that should travel and cannot.
mlir::FailureOr<unsigned> formAttentions(mlir::func::FuncOp function,
                                         const TargetTraits &traits);

/// Which attention an op is a step of.
std::optional<int64_t> attentionOfStep(mlir::Operation *op);
/// Whether an op puts the results of an attention's steps together.
bool joinsSteps(mlir::Operation *op);
/// Whether an op makes the bias of the scores, which is stored.
bool makesBias(mlir::Operation *op);
/// Whether an op rounds the sums of an attention's step to the result's type.
bool roundsResult(mlir::Operation *op);

/// The loops of an operand's columns in a product that is a step, and how many
/// queries it has. None where the product reads what an attention keeps to
/// itself.
struct StepLoops {
  unsigned firstColumn, endColumn;
  int64_t queries;
};
std::optional<StepLoops> loopsOfStep(mlir::OpOperand &operand);

/// Replaces the commands that are the steps of an attention by the attention.
/// Steps that it cannot prove to be one stay as they are.
void gatherAttentions(const StoragePlan &plan, Schedule &schedule,
                      mlir::func::FuncOp function);

} // namespace tp::target

#endif // TP_LIB_CODEGEN_ATTENTION_ATTENTION_H
