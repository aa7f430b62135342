//===- Attention.h - attentions as steps and as one command -----*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An attention is rewritten into products and softmaxes of some queries at a
// time, whose ops say so by an attribute. What is planned for them is then one
// command of the manifest, with those steps in it.
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_CODEGEN_ATTENTION_ATTENTION_H
#define TP_LIB_CODEGEN_ATTENTION_ATTENTION_H

#include "AttentionForm.h"
#include "Kernels/FusedKernel.h"

namespace tp::target {

/// Rewrites all attentions of `function`; how many there are. Scores of the
/// queries that are worked on together take at most `scoreBytes`, but there are
/// at most 64 steps of queries.
unsigned formAttentions(mlir::func::FuncOp function, int64_t scoreBytes);

/// Which attention an op is a step of.
std::optional<int64_t> attentionOfStep(mlir::Operation *op);
/// Whether an op puts the results of an attention's steps together.
bool joinsSteps(mlir::Operation *op);
/// Whether an op makes what is added to scores, which is kept in memory.
bool makesBias(mlir::Operation *op);

/// Finds the commands of the schedule that are an attention's steps, and what
/// the attention is. Those of which it is not certain stay as they are.
void gatherAttentions(const StoragePlan &plan, Schedule &schedule,
                      mlir::func::FuncOp function);

} // namespace tp::target

#endif // TP_LIB_CODEGEN_ATTENTION_ATTENTION_H
