//===- InputData.cpp - random inputs of a function ------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "InputData.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "tp/IR/CustomOps.h"
#include "tp/Interpreter/Distribute.h"
#include <cmath>

using namespace mlir;
using namespace tp;
using namespace tp::simulator;

std::optional<int64_t> simulator::indexBound(Value value) {
  std::optional<int64_t> bound;
  SmallVector<Value> worklist = {value};
  llvm::SmallPtrSet<Value, 16> seen;
  while (!worklist.empty()) {
    Value next = worklist.pop_back_val();
    if (!seen.insert(next).second)
      continue;
    for (OpOperand &use : next.getUses()) {
      Operation *op = use.getOwner();
      if (auto extract = dyn_cast<tensor::ExtractOp>(op)) {
        if (use.getOperandNumber() == 0) {
          worklist.push_back(extract.getResult());
          continue;
        }
        int64_t size = extract.getTensor().getType().getDimSize(
            use.getOperandNumber() - 1);
        bound = std::min(bound.value_or(size), size);
      } else if (auto linalgOp = dyn_cast<linalg::LinalgOp>(op)) {
        worklist.push_back(linalgOp.getMatchingBlockArgument(&use));
      } else if (isa<linalg::YieldOp>(op)) {
        worklist.push_back(
            op->getParentOp()->getResult(use.getOperandNumber()));
      } else if (isa<arith::IndexCastOp, arith::IndexCastUIOp, arith::ExtSIOp,
                     arith::ExtUIOp, arith::TruncIOp, arith::SelectOp,
                     tensor::ExpandShapeOp, tensor::CollapseShapeOp,
                     tensor::ExtractSliceOp, tensor::InsertSliceOp,
                     tensor::ConcatOp, tensor::CastOp, tensor::PadOp>(op) ||
                 (isa<TPDialect>(op->getDialect()) && !isa<CustomOp>(op))) {
        llvm::append_range(worklist, op->getResults());
      }
    }
  }
  return bound;
}

static Scalar drawReal(uint64_t hash, int exponent, Type type,
                       RandomInputKind taste) {
  int64_t number = static_cast<int64_t>(hash % 31) + 1;
  if (taste != RandomInputKind::Positive && (hash >> 40) & 1)
    number = -number;
  return {roundTo(std::ldexp(static_cast<double>(number), exponent), type), 0};
}

static Scalar drawInteger(uint64_t hash, std::optional<int64_t> bound,
                          Type type, RandomInputKind taste) {
  uint64_t bits = hash >> 8;
  if (bound)
    return {0, static_cast<int64_t>(bits % std::max<int64_t>(*bound, 1))};
  if (taste != RandomInputKind::Wild || type.isInteger(1))
    return {0, static_cast<int64_t>(bits & 1)};
  return {0, wrapTo(static_cast<int64_t>(bits % 63) - 31, type)};
}

std::vector<TensorData> simulator::drawInputs(func::FuncOp func, uint64_t seed,
                                              RandomInputKind taste) {
  std::vector<TensorData> inputs;
  for (BlockArgument argument : func.getArguments()) {
    Type type = getElementTypeOrSelf(argument.getType());
    SmallVector<int64_t> shape;
    if (auto tensor = dyn_cast<RankedTensorType>(argument.getType()))
      shape.assign(tensor.getShape().begin(), tensor.getShape().end());
    // Rows of a matrix that is multiplied from the left have a norm around 1,
    // which keeps exponentials from saturating.
    int exponent = -4;
    if (shape.size() > 1)
      exponent -= static_cast<int>(
          std::ceil(std::log2(std::max<int64_t>(shape.back(), 1)) / 2));
    std::optional<int64_t> bound;
    if (!isa<FloatType>(type))
      bound = indexBound(argument);
    TensorData array(type, shape);
    uint64_t stream = mix(mix(seed) + argument.getArgNumber());
    for (int64_t i = 0, e = array.numElements(); i < e; ++i) {
      uint64_t hash = mix(stream + i);
      array.set(i, isa<FloatType>(type)
                       ? drawReal(hash, exponent, type, taste)
                       : drawInteger(hash, bound, type, taste));
    }
    inputs.push_back(std::move(array));
  }
  return inputs;
}
