//===- InactiveBranches.cpp - a side of a conditional that is not taken ---===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Both sides of a conditional are computed. An op of the side that is not taken
// computes numbers that no result reads, but it must not fail and must not read
// outside of a tensor.
//
//===----------------------------------------------------------------------===//

#include "Legalize.h"
#include "mlir/Dialect/Complex/IR/Complex.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace tp;

/// `operand` where `isActive`, else `number`.
static void guardOperand(OpOperand &operand, Value isActive, int64_t number,
                         OpBuilder &builder) {
  Location loc = operand.getOwner()->getLoc();
  Type type = operand.get().getType();
  builder.setInsertionPoint(operand.getOwner());
  Value harmless = arith::ConstantOp::create(
      builder, loc, builder.getIntegerAttr(type, number));
  operand.set(
      arith::SelectOp::create(builder, loc, isActive, operand.get(), harmless));
}

/// Places that lie inside a tensor of `shape` in every iteration stay.
static void guardPlaces(MutableOperandRange places, ArrayRef<int64_t> shape,
                        Value isActive, OpBuilder &builder) {
  for (auto [place, size] : llvm::zip(places, shape)) {
    std::optional<legalize::IndexRange> range =
        legalize::indexRange(place.get());
    if (!range || range->least < 0 || range->most >= size)
      guardOperand(place, isActive, 0, builder);
  }
}

/// An offset of a slice is constant and valid: its verifier has checked it.
static bool isConstant(Value value) {
  return matchPattern(value, m_Constant());
}

/// A tensor without elements has none to read: the side that does it is never
/// taken, or the step fails.
static void guardEmptyRead(tensor::ExtractOp extract, Value isActive,
                           OpBuilder &builder) {
  Location loc = extract.getLoc();
  Value isTrue =
      arith::ConstantOp::create(builder, loc, builder.getBoolAttr(true));
  Value isIdle = arith::XOrIOp::create(builder, loc, isActive, isTrue);
  cf::AssertOp::create(builder, loc, isIdle,
                       "tensor.extract reads a tensor without elements");
  Type type = extract.getType();
  Value standIn;
  if (auto complexType = dyn_cast<ComplexType>(type)) {
    Attribute zero = builder.getZeroAttr(complexType.getElementType());
    standIn = complex::ConstantOp::create(builder, loc, type,
                                          builder.getArrayAttr({zero, zero}));
  } else {
    standIn =
        arith::ConstantOp::create(builder, loc, builder.getZeroAttr(type));
  }
  extract.replaceAllUsesWith(standIn);
  extract.erase();
}

LogicalResult legalize::guardOp(Operation *conditional, Operation *inner,
                                Value isActive, OpBuilder &builder) {
  builder.setInsertionPoint(inner);
  Location loc = inner->getLoc();
  if (auto assertion = dyn_cast<cf::AssertOp>(inner)) {
    Value isTrue =
        arith::ConstantOp::create(builder, loc, builder.getBoolAttr(true));
    Value isIdle = arith::XOrIOp::create(builder, loc, isActive, isTrue);
    assertion.getArgMutable().set(
        arith::OrIOp::create(builder, loc, assertion.getArg(), isIdle));
    return success();
  }
  if (!isa_and_present<arith::ArithDialect, math::MathDialect,
                       tensor::TensorDialect, linalg::LinalgDialect,
                       complex::ComplexDialect>(inner->getDialect()) ||
      (inner->getNumRegions() == 0 && !isMemoryEffectFree(inner))) {
    InFlightDiagnostic error =
        inner->emitError()
        << "'" << inner->getName()
        << "' under a condition is not handled, expected ops that compute "
           "values";
    error.attachNote(conditional->getLoc())
        << "both sides of this are computed and one is selected";
    return error;
  }
  if (isa<arith::DivSIOp, arith::DivUIOp, arith::RemSIOp, arith::RemUIOp,
          arith::CeilDivSIOp, arith::CeilDivUIOp, arith::FloorDivSIOp>(inner)) {
    if (!inner->getResult(0).getType().isIntOrIndex())
      return inner->emitError()
             << "'" << inner->getName()
             << "' of tensors under a condition is not handled, expected a "
                "linalg.generic";
    OpOperand &divisor = inner->getOpOperand(1);
    APInt constant;
    if (!matchPattern(divisor.get(), m_ConstantInt(&constant)) ||
        constant.isZero())
      guardOperand(divisor, isActive, 1, builder);
    return success();
  }
  if (auto extract = dyn_cast<tensor::ExtractOp>(inner)) {
    if (hasNoElements(extract.getTensor().getType())) {
      guardEmptyRead(extract, isActive, builder);
      return success();
    }
    guardPlaces(extract.getIndicesMutable(),
                extract.getTensor().getType().getShape(), isActive, builder);
    return success();
  }
  if (auto insert = dyn_cast<tensor::InsertOp>(inner)) {
    guardPlaces(insert.getIndicesMutable(), insert.getType().getShape(),
                isActive, builder);
    return success();
  }
  if (!isa<tensor::ExtractSliceOp, tensor::InsertSliceOp>(inner))
    return success();
  for (OpOperand &operand : inner->getOpOperands())
    if (operand.get().getType().isIndex() && !isConstant(operand.get()))
      guardOperand(operand, isActive, 0, builder);
  return success();
}
