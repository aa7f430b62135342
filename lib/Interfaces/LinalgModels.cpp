//===- LinalgModels.cpp - all linalg ops get the one rule -----------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Apart from the rule itself, because instantiating a model for every linalg op
// takes the compiler longest by far.
//
//===----------------------------------------------------------------------===//

#include "LinalgShardingRules.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "tp/Interfaces/Registration.h"

using namespace mlir;
using namespace tp;

namespace {
template <typename OpTy>
struct LinalgModel
    : ShardingRuleOpInterface::ExternalModel<LinalgModel<OpTy>, OpTy> {
  FailureOr<ShardingRule> getShardingRule(Operation *op) const {
    return linalgShardingRule(cast<linalg::LinalgOp>(op));
  }
  FailureOr<SmallVector<Value>> createLocal(Operation *op,
                                            LocalOpBuilder &local) const {
    return createLocalLinalg(op, local);
  }
};

template <typename... OpTys> void attachTo(MLIRContext *context) {
  (OpTys::template attachInterface<LinalgModel<OpTys>>(*context), ...);
}
} // namespace

void tp::registerLinalgShardingRules(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, linalg::LinalgDialect *) {
    attachTo<
#define GET_OP_LIST
#include "mlir/Dialect/Linalg/IR/LinalgStructuredOps.cpp.inc"
        >(context);
  });
}
