//===- ArithShardingRules.cpp - rules of arith ops on tensors -------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "tp/Interfaces/BodyLinearity.h"
#include "tp/Interfaces/LocalOpBuilder.h"
#include "tp/Interfaces/Registration.h"

using namespace mlir;
using namespace tp;

namespace {
/// A constant of one value has any layout; of many values it is replicated,
/// and sliced where a shard is wanted.
struct ConstantModel
    : ShardingRuleOpInterface::ExternalModel<ConstantModel, arith::ConstantOp> {
  FailureOr<ShardingRule> getShardingRule(Operation *op) const {
    ShardingRule rule;
    auto type = dyn_cast<RankedTensorType>(op->getResult(0).getType());
    if (!type)
      return rule;
    Attribute value = cast<arith::ConstantOp>(op).getValue();
    TensorFactors dims(type.getRank());
    if (isa<SplatElementsAttr>(value)) {
      for (auto [dim, size] : llvm::enumerate(type.getShape())) {
        dims[dim] = {static_cast<unsigned>(rule.factors.size())};
        rule.factors.emplace_back().size = size;
      }
      for (ReductionKind kind :
           allReductionKinds)
        if (isIdentityConstant(value, kind))
          rule.freePartials.push_back(kind);
    }
    rule.resultFactors.push_back(dims);
    return rule;
  }

  FailureOr<SmallVector<Value>> createLocal(Operation *op,
                                            LocalOpBuilder &local) const {
    auto constant = cast<arith::ConstantOp>(op);
    if (!isa<RankedTensorType>(constant.getType()))
      return SmallVector<Value>(local.builder.clone(*op)->getResults());
    RankedTensorType type = local.resultType(0);
    auto value = dyn_cast<DenseIntOrFPElementsAttr>(constant.getValue());
    if (!value)
      return constant.emitOpError("holds neither numbers nor a splat, expected "
                                  "dense elements");
    if (!value.isSplat() && type.getShape() != value.getType().getShape())
      return constant.emitOpError("is sharded, expected a splat");
    DenseElementsAttr part =
        value.isSplat()
            ? DenseElementsAttr::get(type, value.getSplatValue<Attribute>())
            : DenseElementsAttr::getFromRawBuffer(type, value.getRawData());
    return SmallVector<Value>{
        arith::ConstantOp::create(local.builder, op->getLoc(), part)};
  }
};
} // namespace

void tp::registerArithShardingRules(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, arith::ArithDialect *) {
    arith::ConstantOp::attachInterface<ConstantModel>(*context);
  });
}
