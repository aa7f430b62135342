//===- CheckProgram.cpp - what the CPU target handles ---------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Everything else here relies on this: an op, type or form that is not handled
// is an error at the op before any of it is compiled.
//
//===----------------------------------------------------------------------===//

#include "Float8Casts.h"
#include "Storage.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "tp/IR/TP.h"

using namespace mlir;
using namespace tp::cpu;

static constexpr StringLiteral expectedElements =
    "expected f64, f32, f16, bf16, f8E4M3FN, f8E5M2, f8E4M3FNUZ, f8E5M2FNUZ, "
    "index, or signless integers of 1, 8, 16, 32 or 64 bits";

/// Floats of eight bits are stored, moved and cast; numbers are computed in
/// wider ones.
static LogicalResult checkFloat8(Operation &op) {
  auto isNarrow = [](Type type) { return isFloat8(type); };
  if (llvm::none_of(op.getOperandTypes(), isNarrow) &&
      llvm::none_of(op.getResultTypes(), isNarrow))
    return success();
  if (isa<arith::ConstantOp, arith::SelectOp, arith::ExtFOp, arith::BitcastOp>(
          op))
    return success();
  auto truncation = dyn_cast<arith::TruncFOp>(op);
  if (truncation && !truncation.getIn().getType().isF64() &&
      truncation.getRoundingmode().value_or(
          arith::RoundingMode::to_nearest_even) ==
          arith::RoundingMode::to_nearest_even)
    return success();
  return op.emitError("'")
         << op.getName()
         << "' on floats of eight bits is not handled by the CPU target, "
            "expected them to be cast to f32 before and from f32 after";
}

static LogicalResult checkBody(linalg::LinalgOp op) {
  for (Operation &inner : *op.getBlock()) {
    if (isa<linalg::YieldOp, linalg::IndexOp, tensor::ExtractOp, cf::AssertOp>(
            inner))
      continue;
    if (inner.getNumRegions() != 0 ||
        !isa_and_present<arith::ArithDialect, math::MathDialect>(
            inner.getDialect()))
      return inner.emitError("'")
             << inner.getName()
             << "' in the body of a linalg op is not handled by the CPU target";
    if (failed(checkFloat8(inner)))
      return failure();
    for (Type type : inner.getResultTypes())
      if (!isStorableElement(type) && !type.isInteger())
        return inner.emitError("type ")
               << type << " is not handled by the CPU target";
  }
  return success();
}

static LogicalResult checkTensor(Value value, Location loc) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type)
    return emitError(loc, "type ")
           << value.getType() << " is not handled by the CPU target";
  if (!type.hasStaticShape())
    return emitError(loc, "the CPU target needs static shapes, got ") << type;
  if (!isStorableElement(type.getElementType()))
    return emitError(loc, "element type ")
           << type.getElementType() << " is not handled by the CPU target, "
           << expectedElements;
  if (type.getEncoding())
    return emitError(loc, "expected a plain local tensor type, got ") << type;
  return success();
}

/// What a manifest can say of an argument or a result.
static LogicalResult checkPort(Value value, Location loc) {
  constexpr int64_t mostDims = 16;
  auto type = cast<RankedTensorType>(value.getType());
  if (type.getRank() <= mostDims)
    return success();
  return emitError(loc, "expected at most ")
         << mostDims << " dimensions in an argument or a result, got " << type;
}

static LogicalResult checkOp(Operation *op) {
  auto unhandled = [&](const Twine &what) {
    return op->emitError("'") << op->getName() << "' " << what
                              << " is not handled by the CPU target";
  };
  for (Value result : op->getResults()) {
    if (isa<TensorType>(result.getType()))
      if (failed(checkTensor(result, op->getLoc())))
        return failure();
  }
  if (auto linalgOp = dyn_cast<linalg::LinalgOp>(op)) {
    if (!linalgOp.hasPureTensorSemantics())
      return unhandled("on buffers");
    if (failed(checkBody(linalgOp)))
      return failure();
    if (!isElementwise(linalgOp)) {
      for (OpOperand &init : linalgOp.getDpsInitsMutable())
        for (AffineExpr expr :
             linalgOp.getMatchingIndexingMap(&init).getResults())
          if (!isa<AffineDimExpr, AffineConstantExpr>(expr))
            return unhandled("with such a result map");
      return success();
    }
    for (unsigned i = 0; i < op->getNumResults(); ++i)
      if (!loopsOfElement(linalgOp, i,
                          identityIndices(shapeOf(op->getResult(i)).size(),
                                          op->getContext())))
        return unhandled("with such a result map");
    return success();
  }
  if (isa<tensor::EmptyOp, func::ReturnOp, tp::AxisIndexOp>(op) ||
      isCollective(op))
    return success();
  if (isa<arith::ConstantOp>(op)) {
    if (isa<RankedTensorType>(op->getResult(0).getType()) &&
        !isa<DenseElementsAttr>(cast<arith::ConstantOp>(op).getValue()))
      return unhandled("with such a value");
    return success();
  }
  if (isa<tensor::ExtractOp>(op))
    return success();
  if (op->getNumResults() == 1 &&
      isa<RankedTensorType>(op->getResult(0).getType())) {
    Value result = op->getResult(0);
    if (viewOf(result) || splatOf(result) || piecesOf(result))
      return success();
    return unhandled("in this form");
  }
  // Function-level scalars.
  if (isa_and_present<arith::ArithDialect, math::MathDialect>(
          op->getDialect()) &&
      op->getNumRegions() == 0 &&
      llvm::none_of(op->getOperandTypes(),
                    [](Type t) { return isa<ShapedType>(t); }))
    return checkFloat8(*op);
  return op->emitError("'")
         << op->getName() << "' is not handled by the CPU target";
}

LogicalResult tp::cpu::checkProgram(func::FuncOp function) {
  if (!llvm::hasSingleElement(function.getBody()))
    return function.emitError("the CPU target needs a function of one block");
  for (BlockArgument argument : function.getArguments())
    if (failed(checkTensor(argument, argument.getLoc())) ||
        failed(checkPort(argument, argument.getLoc())))
      return failure();
  for (Operation &op : function.front())
    if (failed(checkOp(&op)))
      return failure();
  for (Value value : function.front().getTerminator()->getOperands())
    if (failed(
            checkTensor(value, function.front().getTerminator()->getLoc())) ||
        failed(checkPort(value, function.front().getTerminator()->getLoc())))
      return failure();
  return success();
}
