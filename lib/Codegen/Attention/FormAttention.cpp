//===- FormAttention.cpp - pass tp-form-attention -------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Attention.h"
#include "CodegenPlan.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "tp/Codegen/CodegenPasses.h"

namespace tp {
#define GEN_PASS_DEF_FORMATTENTION
#include "tp/Codegen/Passes.h.inc"
} // namespace tp

using namespace mlir;
using namespace tp::target;

namespace {
struct FormAttentionPass : tp::impl::FormAttentionBase<FormAttentionPass> {
  using FormAttentionBase::FormAttentionBase;

  void runOnOperation() override {
    FailureOr<PassInput> input =
        passInputOnTensors(getOperation(), target, "tp-form-attention");
    if (failed(input))
      return signalPassFailure();
    auto [functions, traits] = *input;
    if (traits.scoreBytes) {
      traits.hasAttention = scoreBytes != 0;
      traits.scoreBytes = scoreBytes;
    }
    for (func::FuncOp function : functions) {
      FailureOr<unsigned> formed = formAttentions(function, traits);
      if (failed(formed))
        return signalPassFailure();
      numFormed += *formed;
    }
  }
};
} // namespace
