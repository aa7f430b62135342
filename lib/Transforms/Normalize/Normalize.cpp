//===- Normalize.cpp - every dimension one thing --------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Prepare.h"
#include "Refine.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "tp/IR/PortAttributes.h"
#include "llvm/Support/MathExtras.h"

namespace tp {
#define GEN_PASS_DEF_NORMALIZE
#include "tp/Transforms/Normalize/Passes.h.inc"
} // namespace tp

using namespace mlir;
using namespace tp;

/// The loops that are parallel are those that place the results, up to loops of
/// one iteration. Upstream verifies neither, and an op that breaks it would be
/// run in whatever way its user happens to split it.
static LogicalResult checkLoops(linalg::LinalgOp op) {
  SmallVector<int64_t> ranges = op.getStaticLoopRanges();
  for (OpOperand &init : op.getDpsInitsMutable()) {
    AffineMap map = op.getMatchingIndexingMap(&init);
    for (auto [loop, iterator] : llvm::enumerate(op.getIteratorTypesArray())) {
      bool places = map.isFunctionOfDim(loop);
      if (ranges[loop] == 1 ||
          places == (iterator == utils::IteratorType::parallel))
        continue;
      return op->emitError()
             << "loop #" << loop << " is "
             << (places ? "no parallel loop and indexes"
                        : "parallel and does not index")
             << " output #" << init.getOperandNumber() - op.getNumDpsInputs()
             << ", expected the parallel loops to index every output";
    }
  }
  return success();
}

// What an artifact can say; products of a few such numbers and an element's
// size fit into 64 bits.
static constexpr int64_t most = int64_t(1) << 48;

static bool fits(RankedTensorType tensor) {
  Type element = tensor.getElementType();
  int64_t bytes = element.isIntOrFloat()
                      ? llvm::divideCeil(element.getIntOrFloatBitWidth(), 8)
                      : 16;
  for (int64_t size : tensor.getShape())
    if (size > most ||
        llvm::MulOverflow(bytes, std::max<int64_t>(size, 1), bytes) ||
        bytes > most)
      return false;
  return true;
}

/// Upstream's own check of a slice's end overflows.
static LogicalResult checkSlice(OffsetSizeAndStrideOpInterface slice) {
  RankedTensorType whole;
  if (auto extract = dyn_cast<tensor::ExtractSliceOp>(*slice))
    whole = extract.getSourceType();
  else if (auto insert = dyn_cast<tensor::InsertSliceOp>(*slice))
    whole = insert.getDestType();
  else
    return success();
  for (int64_t dim = 0; dim < whole.getRank(); ++dim) {
    auto isOutside = [&](int64_t value) {
      return !ShapedType::isDynamic(value) && (value < 0 || value > most);
    };
    int64_t offset = slice.getStaticOffsets()[dim],
            size = slice.getStaticSizes()[dim],
            stride = slice.getStaticStrides()[dim];
    if (isOutside(offset) || isOutside(size) || isOutside(stride))
      return slice.emitError()
             << "expected offset, size and stride of dimension " << dim
             << " from 0 to 2^48, got " << offset << ", " << size << " and "
             << stride;
    if (ShapedType::isDynamic(offset) || ShapedType::isDynamic(size) ||
        ShapedType::isDynamic(stride) || size == 0)
      continue;
    if (__int128(size - 1) * stride + offset >= whole.getDimSize(dim))
      return slice.emitError()
             << "the slice leaves dimension " << dim << " of " << whole;
  }
  return success();
}

/// So does its check of what padding makes.
static LogicalResult checkPadding(tensor::PadOp pad) {
  for (ArrayRef<int64_t> amounts : {pad.getStaticLow(), pad.getStaticHigh()})
    for (auto [dim, amount] : llvm::enumerate(amounts))
      if (!ShapedType::isDynamic(amount) && (amount < -most || amount > most))
        return pad.emitError() << "expected padding of dimension " << dim
                               << " of at most 2^48, got " << amount;
  return success();
}

/// Shapes are static, types carry no encoding. Tensors without elements stand
/// at the function's ports alone.
static LogicalResult checkTypes(func::FuncOp function) {
  if (!function.getBody().hasOneBlock())
    return function.emitError() << "expected a function of one block, got "
                                << function.getBody().getBlocks().size();
  auto check = [](Operation *op, TypeRange types) -> LogicalResult {
    for (Type type : types) {
      auto shaped = dyn_cast<ShapedType>(type);
      if (!shaped)
        continue;
      auto tensor = dyn_cast<RankedTensorType>(type);
      if (!tensor || !tensor.hasStaticShape())
        return op->emitError()
               << "expected tensors of static shape, got " << type;
      if (!fits(tensor))
        return op->emitError()
               << "expected tensors of at most 2^48 bytes, got " << type;
      if (tensor.getNumElements() == 0 &&
          !isa<func::FuncOp, func::ReturnOp, tensor::EmptyOp>(op))
        return op->emitError()
               << "expected tensors with elements, got " << type;
      if (tensor.getEncoding())
        return op->emitError()
               << "expected tensors without layout, got " << type;
    }
    return success();
  };
  if (failed(check(function, function.getArgumentTypes())))
    return failure();
  WalkResult walk = function.walk([&](Operation *op) {
    auto loops = dyn_cast<linalg::LinalgOp>(op);
    auto slice = dyn_cast<OffsetSizeAndStrideOpInterface>(op);
    auto pad = dyn_cast<tensor::PadOp>(op);
    return failed(check(op, op->getOperandTypes())) ||
                   failed(check(op, op->getResultTypes())) ||
                   (loops && failed(checkLoops(loops))) ||
                   (slice && failed(checkSlice(slice))) ||
                   (pad && failed(checkPadding(pad)))
               ? WalkResult::interrupt()
               : WalkResult::advance();
  });
  return failure(walk.wasInterrupted());
}

namespace {
struct NormalizePass : tp::impl::NormalizeBase<NormalizePass> {
  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      if (function.isDeclaration())
        continue;
      if (failed(verifyPortAttributes(function)) ||
          failed(checkTypes(function)) || failed(decompose(function)) ||
          failed(prepare(function)) || failed(Refiner(function).run()))
        return signalPassFailure();
      eraseDeadOps(function);
    }
  }
};
} // namespace
