//===- Ports.cpp - scalar arguments and results ---------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Legalize.h"

using namespace mlir;
using namespace tp;

static bool isScalar(Type type) {
  return type.isIntOrIndexOrFloat() || isa<ComplexType>(type);
}

void legalize::makePortsTensors(func::FuncOp function) {
  Block &block = function.getBody().front();
  OpBuilder builder = OpBuilder::atBlockBegin(&block);
  for (BlockArgument argument : block.getArguments()) {
    Type type = argument.getType();
    if (!isScalar(type))
      continue;
    argument.setType(RankedTensorType::get({}, type));
    if (argument.use_empty())
      continue;
    auto scalar = tensor::ExtractOp::create(builder, argument.getLoc(),
                                            argument, ValueRange());
    argument.replaceAllUsesExcept(scalar, scalar);
  }
  Operation *terminator = block.getTerminator();
  builder.setInsertionPoint(terminator);
  for (OpOperand &operand : terminator->getOpOperands())
    if (Type type = operand.get().getType(); isScalar(type))
      operand.set(tensor::FromElementsOp::create(
          builder, operand.get().getLoc(), RankedTensorType::get({}, type),
          operand.get()));
  function.setFunctionType(FunctionType::get(function.getContext(),
                                             block.getArgumentTypes(),
                                             terminator->getOperandTypes()));
}
