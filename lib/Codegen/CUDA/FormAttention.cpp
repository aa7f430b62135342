//===- FormAttention.cpp - pass tp-form-attention -------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Attention/Attention.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "tp/Codegen/CUDA/CUDAPasses.h"

namespace tp {
#define GEN_PASS_DEF_FORMATTENTION
#include "tp/Codegen/CUDA/Passes.h.inc"
} // namespace tp

using namespace mlir;

namespace {
struct FormAttentionPass : tp::impl::FormAttentionBase<FormAttentionPass> {
  using FormAttentionBase::FormAttentionBase;

  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<arith::ArithDialect, linalg::LinalgDialect,
                    math::MathDialect, tensor::TensorDialect>();
  }

  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (function.isExternal() || !function.getBody().hasOneBlock())
      return;
    numFormed += tp::target::formAttentions(function, scoreBytes);
  }
};
} // namespace
