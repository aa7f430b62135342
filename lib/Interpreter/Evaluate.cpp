//===- Evaluate.cpp - one op on the values of one run ---------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "EvaluateTensor.h"
#include "LoopNest.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"

using namespace mlir;
using namespace tp;
using namespace tp::simulator;

LogicalResult simulator::evaluate(Operation *op, Frame &frame) {
  if (failed(checkTypes(op)))
    return failure();
  if (auto assertion = dyn_cast<cf::AssertOp>(op)) {
    if (frame.values.at(assertion.getArg()).get(0).integer)
      return success();
    return frame.dataError(op)
           << "finds the assertion broken: " << assertion.getMsg();
  }
  if (auto index = dyn_cast<AxisIndexOp>(op)) {
    if (frame.kind == Frame::Kind::Global)
      return unrunnable(op) << "has no value of the whole program";
    const Mesh &mesh = index.getAxes().getMesh().getValue();
    int64_t position = 0;
    for (AxisPart part : index.getAxes().getParts())
      position = position * part.size + mesh.coordinate(frame.rank, part);
    frame.values[index.getResult()] =
        TensorData::scalar(index.getType(), {0, position});
    return success();
  }
  if (auto custom = dyn_cast<CustomOp>(op))
    return evaluateCustom(custom, frame);
  if (isa<ConstrainOp, KeptOp>(op) ||
      (isa<TPDialect>(op->getDialect()) && frame.kind == Frame::Kind::Global &&
       op->getNumResults() == 1 && op->getNumOperands() == 1 &&
       isa<RankedTensorType>(op->getOperand(0).getType()) &&
       LayoutAttr::of(op->getOperand(0).getType()))) {
    // Another layout of the same value.
    TensorData value = frame.values.at(op->getOperand(0));
    frame.values[op->getResult(0)] = std::move(value);
    return success();
  }
  if (isa<arith::ConstantOp>(op) || !isLoopNest(op))
    return evaluateTensorOp(op, frame);
  return evaluateLoopNest(op, frame);
}
