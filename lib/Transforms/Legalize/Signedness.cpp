//===- Signedness.cpp - integers without a sign ---------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which order numbers have is said by the ops that compare them; their types
// need not say it too. So ui32 and si32 become i32 everywhere, and casts
// between them go. Arguments and results that are unsigned keep the attribute
// tp.unsigned, from which the manifest has its data types.
//
//===----------------------------------------------------------------------===//

#include "Legalize.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "tp/IR/PortAttributes.h"
#include "tp/IR/TP.h"

using namespace mlir;
using namespace tp;

static bool hasSign(Type type) {
  auto integer = dyn_cast<IntegerType>(getElementTypeOrSelf(type));
  return integer && !integer.isSignless();
}

/// The same type without the sign.
static Type signless(Type type) {
  if (!hasSign(type))
    return type;
  auto integer = IntegerType::get(
      type.getContext(), getElementTypeOrSelf(type).getIntOrFloatBitWidth());
  if (auto shaped = dyn_cast<ShapedType>(type))
    return shaped.clone(integer);
  return integer;
}

/// Where a type may have a sign it means nothing to these.
static bool isIndifferent(Operation *op) {
  return isa<func::FuncOp, func::ReturnOp, cf::AssertOp,
             UnrealizedConversionCastOp>(op) ||
         isa_and_present<arith::ArithDialect, tensor::TensorDialect,
                         linalg::LinalgDialect, scf::SCFDialect, TPDialect>(
             op->getDialect());
}

static LogicalResult checkTypes(Operation *op) {
  if (isIndifferent(op))
    return success();
  for (Value value : llvm::concat<Value>(llvm::to_vector(op->getOperands()),
                                         llvm::to_vector(op->getResults())))
    if (hasSign(value.getType()))
      return op->emitError()
             << "'" << op->getName() << "' of " << value.getType()
             << " is not handled, expected signless integers; write "
                "builtin.unrealized_conversion_cast to "
             << signless(value.getType()) << " before it";
  return success();
}

static void markUnsigned(func::FuncOp function) {
  auto isUnsigned = [](Type type) {
    return getElementTypeOrSelf(type).isUnsignedInteger();
  };
  auto mark = UnitAttr::get(function.getContext());
  for (auto [i, type] : llvm::enumerate(function.getArgumentTypes()))
    if (isUnsigned(type))
      function.setArgAttr(i, attr::unsignedPort, mark);
  for (auto [i, type] : llvm::enumerate(function.getResultTypes()))
    if (isUnsigned(type))
      function.setResultAttr(i, attr::unsignedPort, mark);
}

static void takeSigns(Operation *op) {
  for (Value result : op->getResults())
    result.setType(signless(result.getType()));
  for (Region &region : op->getRegions())
    for (Block &block : region)
      for (BlockArgument argument : block.getArguments())
        argument.setType(signless(argument.getType()));
  if (auto constant = dyn_cast<arith::ConstantOp>(op))
    if (auto elements = dyn_cast<DenseElementsAttr>(constant.getValue());
        elements && hasSign(elements.getElementType()))
      constant.setValueAttr(
          elements.bitcast(signless(elements.getElementType())));
}

/// Types that were equal but for their signs, or but for known sizes.
static void replaceCast(Operation *op) {
  if (op->getNumOperands() != 1 || op->getNumResults() != 1)
    return;
  Value source = op->getOperand(0), result = op->getResult(0);
  if (source.getType() != result.getType()) {
    if (isa<tensor::BitcastOp>(op) ||
        !tensor::CastOp::areCastCompatible(source.getType(), result.getType()))
      return;
    OpBuilder builder(op);
    source =
        tensor::CastOp::create(builder, op->getLoc(), result.getType(), source);
  }
  result.replaceAllUsesWith(source);
  op->erase();
}

LogicalResult legalize::dropSignedness(func::FuncOp function) {
  WalkResult walk = function.walk([&](Operation *op) {
    if (failed(checkTypes(op)))
      return WalkResult::interrupt();
    return WalkResult::advance();
  });
  if (walk.wasInterrupted())
    return failure();
  markUnsigned(function);
  function.walk([](Operation *op) { takeSigns(op); });
  Block &body = function.getBody().front();
  function.setFunctionType(
      FunctionType::get(function.getContext(), body.getArgumentTypes(),
                        body.getTerminator()->getOperandTypes()));
  SmallVector<Operation *> casts;
  function.walk([&](Operation *op) {
    if (isa<UnrealizedConversionCastOp, tensor::BitcastOp>(op))
      casts.push_back(op);
  });
  for (Operation *cast : casts)
    replaceCast(cast);
  return success();
}
