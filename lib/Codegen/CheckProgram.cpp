//===- CheckProgram.cpp - what the targets handle -------------------------===//
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

#include "Floats/Float8Casts.h"
#include "Storage/Calls.h"
#include "Storage/Storage.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace tp::target;

static constexpr StringLiteral expectedElements =
    "expected f64, f32, f16, bf16, f8E4M3FN, f8E5M2, f8E4M3FNUZ, f8E5M2FNUZ, "
    "index, or signless integers of 1, 8, 16, 32 or 64 bits";

/// Floats of eight bits are stored, moved and cast; numbers are computed in
/// wider ones.
static LogicalResult checkFloat8(Operation &op, const TargetTraits &traits) {
  auto isNarrow = [](Type type) { return isFloat8(type); };
  if (llvm::none_of(op.getOperandTypes(), isNarrow) &&
      llvm::none_of(op.getResultTypes(), isNarrow))
    return success();
  if (isa<arith::ConstantOp, arith::SelectOp, arith::ExtFOp, arith::TruncFOp,
          arith::BitcastOp>(op))
    return success();
  return op.emitError("'")
         << op.getName() << "' on floats of eight bits is not handled by "
         << traits.name
         << ", expected them to be cast to f32 before and from f32 after";
}

static LogicalResult checkBody(linalg::LinalgOp op,
                               const TargetTraits &traits) {
  for (Operation &inner : *op.getBlock()) {
    if (isa<linalg::YieldOp, linalg::IndexOp, tensor::ExtractOp, cf::AssertOp>(
            inner))
      continue;
    if (inner.getNumRegions() != 0 ||
        !isa_and_present<arith::ArithDialect, math::MathDialect>(
            inner.getDialect()))
      return inner.emitError("'")
             << inner.getName()
             << "' in the body of a linalg op is not handled by "
             << traits.name;
    if (failed(checkFloat8(inner, traits)))
      return failure();
    for (Type type : inner.getResultTypes())
      if (!isStorableElement(type) && !type.isInteger())
        return inner.emitError("type ")
               << type << " is not handled by " << traits.name;
  }
  return success();
}

static LogicalResult checkTensor(Value value, Location loc,
                                 const TargetTraits &traits) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type)
    return emitError(loc, "type ")
           << value.getType() << " is not handled by " << traits.name;
  if (!type.hasStaticShape())
    return emitError(loc) << traits.name << " needs static shapes, got "
                          << type;
  if (!isStorableElement(type.getElementType()))
    return emitError(loc, "element type ")
           << type.getElementType() << " is not handled by " << traits.name
           << ", " << expectedElements;
  if (type.getEncoding())
    return emitError(loc, "expected a plain local tensor type, got ") << type;
  return success();
}

/// What a manifest can say of an argument or a result, of the program or of an
/// op that the user computes.
static LogicalResult checkPort(Value value, Location loc) {
  constexpr int64_t mostDims = 16;
  auto type = cast<RankedTensorType>(value.getType());
  if (type.getRank() <= mostDims)
    return success();
  return emitError(loc, "expected at most ")
         << mostDims << " dimensions in an argument or a result, got " << type;
}

static LogicalResult checkOp(Operation *op, const TargetTraits &traits) {
  auto unhandled = [&](const Twine &what) {
    return op->emitError("'") << op->getName() << "' " << what
                              << " is not handled by " << traits.name;
  };
  for (Value result : op->getResults()) {
    if (isa<TensorType>(result.getType()))
      if (failed(checkTensor(result, op->getLoc(), traits)))
        return failure();
  }
  if (auto linalgOp = dyn_cast<linalg::LinalgOp>(op)) {
    if (!linalgOp.hasPureTensorSemantics())
      return unhandled("on buffers");
    if (failed(checkBody(linalgOp, traits)))
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
  if (isa<tp::CustomOp>(op)) {
    for (Value value : llvm::concat<Value>(llvm::to_vector(op->getOperands()),
                                           llvm::to_vector(op->getResults())))
      if (failed(checkPort(value, op->getLoc())))
        return failure();
    return success();
  }
  if (isa<tp::AttendOp>(op) && !hasChunks(traits))
    return unhandled("over a chunk of keys");
  if (isa<tp::AttendBackwardOp>(op) && !hasChunks(traits))
    return unhandled("as one command");
  if (isa<tensor::EmptyOp, func::ReturnOp, tp::AxisIndexOp, tp::AttendOp,
          tp::AttendBackwardOp>(op) ||
      tp::isCollective(op))
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
    if (viewOf(result) || splatOf(result) || piecewiseSourceOf(result))
      return success();
    return unhandled("in this form");
  }
  // Function-level scalars.
  if (isa_and_present<arith::ArithDialect, math::MathDialect>(
          op->getDialect()) &&
      op->getNumRegions() == 0 &&
      llvm::none_of(op->getOperandTypes(),
                    [](Type t) { return isa<ShapedType>(t); }))
    return checkFloat8(*op, traits);
  return op->emitError("'")
         << op->getName() << "' is not handled by " << traits.name;
}

/// tp-legalize computes them; LLVM would take them for a state of the machine.
static LogicalResult checkRounding(arith::TruncFOp op,
                                   const TargetTraits &traits) {
  auto mode =
      op.getRoundingmode().value_or(arith::RoundingMode::to_nearest_even);
  if (mode == arith::RoundingMode::to_nearest_even)
    return success();
  return op.emitError("rounding mode ")
         << arith::stringifyRoundingMode(mode) << " is not handled by "
         << traits.name << "; run tp-legalize before";
}

static LogicalResult checkRoundings(Operation *around,
                                    const TargetTraits &traits) {
  WalkResult walk = around->walk([&](arith::TruncFOp op) {
    return failed(checkRounding(op, traits)) ? WalkResult::interrupt()
                                             : WalkResult::advance();
  });
  return failure(walk.wasInterrupted());
}

/// What a kernel may have between what it reads and its compute loops.
static LogicalResult checkInKernel(Operation *op, const TargetTraits &traits) {
  auto needsStore = [&](StringRef what) {
    return op->emitError("a kernel has no memory for ") << what;
  };
  if (tp::isCollective(op))
    return op->emitError("expected a collective in a tp.communicate");
  if (isa<tp::CustomOp>(op))
    return op->emitError("expected a tp.call in place of the op");
  if (isa<tp::AttendOp>(op))
    return op->emitError("expected a tp.attention in place of the op");
  if (isa<tp::AttendBackwardOp>(op))
    return op->emitError("expected a tp.attention_backward in place of the op");
  if (isa<arith::ConstantOp>(op) &&
      isa<RankedTensorType>(op->getResult(0).getType()) &&
      !splatOf(op->getResult(0)))
    return needsStore("different constants: read a tp.constant");
  auto linalgOp = dyn_cast<linalg::LinalgOp>(op);
  if (linalgOp && !isElementwise(linalgOp) &&
      llvm::any_of(op->getUsers(),
                   [](Operation *user) { return !isa<tp::ComputeOp>(user); }))
    return needsStore("sums that other ops read: expected a tp.compute of "
                      "this result, and its result where it is read");
  return checkOp(op, traits);
}

LogicalResult tp::target::checkKernel(tp::KernelOp kernel,
                                      const TargetTraits &traits) {
  Block &block = kernel.getBody().front();
  if (failed(checkRoundings(kernel, traits)))
    return failure();
  for (BlockArgument buffer : block.getArguments())
    for (Operation *user : buffer.getUsers())
      if (!isa<bufferization::ToTensorOp, tp::ComputeOp>(user))
        return user->emitError("expected a buffer of a kernel to be read by "
                               "bufferization.to_tensor");
  for (Operation &op : block) {
    if (isa<bufferization::ToTensorOp, tp::ComputeOp>(op)) {
      for (Value result : op.getResults())
        if (failed(checkTensor(result, op.getLoc(), traits)))
          return failure();
      continue;
    }
    if (isa<tp::ScratchOp>(op))
      continue;
    if (failed(checkInKernel(&op, traits)))
      return failure();
  }
  return success();
}

LogicalResult tp::target::checkProgram(func::FuncOp function,
                                       const TargetTraits &traits) {
  if (!llvm::hasSingleElement(function.getBody()))
    return function.emitError(traits.name) << " needs a function of one block";
  if (failed(checkRoundings(function, traits)))
    return failure();
  for (BlockArgument argument : function.getArguments())
    if (failed(checkTensor(argument, argument.getLoc(), traits)) ||
        failed(checkPort(argument, argument.getLoc())))
      return failure();
  for (Operation &op : function.front())
    if (failed(checkOp(&op, traits)))
      return failure();
  for (Value value : function.front().getTerminator()->getOperands())
    if (failed(checkTensor(value, function.front().getTerminator()->getLoc(),
                           traits)) ||
        failed(checkPort(value, function.front().getTerminator()->getLoc())))
      return failure();
  return success();
}
