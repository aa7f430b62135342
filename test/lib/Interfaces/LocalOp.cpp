//===- LocalOp.cpp - an op with its shapes made local ---------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LocalOp.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Verifier.h"

using namespace mlir;
using namespace tp;

SmallVector<Value> tp::tensorOperands(Operation *op) {
  return llvm::filter_to_vector(op->getOperands(), [](Value operand) {
    return isa<RankedTensorType>(operand.getType());
  });
}

static bool isConstant(Value value) {
  Operation *def = value.getDefiningOp();
  return def && def->hasTrait<OpTrait::ConstantLike>();
}

std::string tp::whyNotLocal(Operation *op) {
  if (op->getNumResults() != 1)
    return "has " + std::to_string(op->getNumResults()) +
           " results, expected one";
  if (auto linalg = dyn_cast<linalg::LinalgOp>(op)) {
    bool reads = false, asks = false;
    linalg.getBlock()->walk([&](Operation *inner) {
      asks |= isa<linalg::IndexOp>(inner);
      for (Value operand : inner->getOperands())
        reads |= isa<TensorType>(operand.getType());
    });
    if (asks)
      return "asks for its place in the iteration";
    return reads ? "reads a tensor that is no operand" : "";
  }
  if (auto constant = dyn_cast<arith::ConstantOp>(op))
    return isa<SplatElementsAttr>(constant.getValue())
               ? ""
               : "holds several values, expected one";
  if (isa<tensor::EmptyOp, tensor::ExpandShapeOp, tensor::CollapseShapeOp,
          tensor::ConcatOp, tensor::ExtractSliceOp>(op))
    return "";
  return "is no op that is known to mean the same on other shapes";
}

/// A slice takes all of a dimension that is split, and elsewhere what it took
/// before.
static Operation *localSlice(OpBuilder &builder, tensor::ExtractSliceOp slice,
                             Value source, RankedTensorType result) {
  RankedTensorType whole = slice.getSourceType();
  auto local = cast<RankedTensorType>(source.getType());
  SmallVector<OpFoldResult> sizes = slice.getMixedSizes();
  for (int64_t dim = 0; dim < whole.getRank(); ++dim)
    if (slice.getStaticSize(dim) == whole.getDimSize(dim))
      sizes[dim] = builder.getIndexAttr(local.getDimSize(dim));
  return tensor::ExtractSliceOp::create(builder, slice.getLoc(), result, source,
                                        slice.getMixedOffsets(), sizes,
                                        slice.getMixedStrides());
}

static Operation *build(OpBuilder &builder, Operation *op,
                        ArrayRef<Value> operands, RankedTensorType result) {
  Location loc = op->getLoc();
  if (isa<tensor::EmptyOp>(op))
    return tensor::EmptyOp::create(builder, loc, result.getShape(),
                                   result.getElementType());
  if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
    auto splat = cast<SplatElementsAttr>(constant.getValue());
    return arith::ConstantOp::create(
        builder, loc,
        DenseElementsAttr::get(result, splat.getSplatValue<Attribute>()));
  }
  if (auto expand = dyn_cast<tensor::ExpandShapeOp>(op)) {
    return tensor::ExpandShapeOp::create(builder, loc, result, operands[0],
                                         expand.getReassociationIndices());
  }
  if (auto collapse = dyn_cast<tensor::CollapseShapeOp>(op))
    return tensor::CollapseShapeOp::create(builder, loc, result, operands[0],
                                           collapse.getReassociationIndices());
  if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op))
    return localSlice(builder, slice, operands[0], result);
  IRMapping mapping;
  for (Value operand : op->getOperands())
    if (!isa<RankedTensorType>(operand.getType()))
      mapping.map(operand,
                  builder.clone(*operand.getDefiningOp())->getResult(0));
  // Constants that the body reads from outside.
  op->walk([&](Operation *inner) {
    for (Value operand : inner->getOperands())
      if (inner != op && isConstant(operand) && !mapping.contains(operand) &&
          !op->isAncestor(operand.getDefiningOp()))
        mapping.map(operand,
                    builder.clone(*operand.getDefiningOp())->getResult(0));
  });
  Operation *clone = builder.clone(*op, mapping);
  unsigned next = 0;
  for (OpOperand &operand : clone->getOpOperands())
    if (isa<RankedTensorType>(operand.get().getType()))
      operand.set(operands[next++]);
  clone->getResult(0).setType(result);
  return clone;
}

LocalOp tp::makeLocal(Operation *op, ArrayRef<RankedTensorType> operands,
                      RankedTensorType result) {
  MLIRContext *context = op->getContext();
  LocalOp local;
  local.module = ModuleOp::create(op->getLoc());
  OpBuilder builder(context);
  builder.setInsertionPointToEnd(local.module->getBody());
  SmallVector<Type> arguments(operands.begin(), operands.end());
  local.func = func::FuncOp::create(builder, op->getLoc(), "local",
                                    builder.getFunctionType(arguments, result));
  builder.setInsertionPointToStart(local.func.addEntryBlock());
  SmallVector<Value> values(local.func.getArguments());
  local.op = build(builder, op, values, result);
  func::ReturnOp::create(builder, op->getLoc(), local.op->getResults());
  ScopedDiagnosticHandler silence(context,
                                  [](Diagnostic &) { return success(); });
  if (failed(verify(*local.module)))
    return {};
  return local;
}

double tp::scalarOperations(Operation *op) {
  if (isa<tensor::EmptyOp, arith::ConstantOp>(op))
    return 0;
  auto linalg = dyn_cast<linalg::LinalgOp>(op);
  if (!linalg)
    return static_cast<double>(
        cast<RankedTensorType>(op->getResult(0).getType()).getNumElements());
  double operations =
      std::max<double>(1, linalg.getBlock()->getOperations().size() - 1);
  for (int64_t size : linalg.getStaticLoopRanges())
    operations *= static_cast<double>(size);
  return operations;
}
