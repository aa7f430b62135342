//===- IndexingMaps.cpp - what linalg ops read and write ------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Upstream's verifier looks at the first and the last iteration only. An index
// that divides, or subtracts a loop, may leave its dimension in between.
//
//===----------------------------------------------------------------------===//

#include "Legalize.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "tp/IR/AffineRange.h"

using namespace mlir;
using namespace tp;

namespace {
/// One result of an indexing map.
struct MapResult {
  linalg::LinalgOp op;
  unsigned operand, dim;
  AffineExpr expr;

  InFlightDiagnostic error() const {
    return op->emitError() << "index of dimension #" << dim << " of operand #"
                           << operand << ", " << textOf(expr) << ", ";
  }
  static std::string textOf(AffineExpr expr) {
    std::string text;
    llvm::raw_string_ostream(text) << expr;
    return text;
  }
};
} // namespace

static LogicalResult verifyDivisors(const MapResult &result) {
  WalkResult walk = result.expr.walk([&](AffineExpr part) {
    if (part.getKind() != AffineExprKind::FloorDiv &&
        part.getKind() != AffineExprKind::CeilDiv &&
        part.getKind() != AffineExprKind::Mod)
      return WalkResult::advance();
    auto by =
        dyn_cast<AffineConstantExpr>(cast<AffineBinaryOpExpr>(part).getRHS());
    if (by && by.getValue() > 0)
      return WalkResult::advance();
    result.error() << "divides by "
                   << MapResult::textOf(cast<AffineBinaryOpExpr>(part).getRHS())
                   << ", expected a constant above 0";
    return WalkResult::interrupt();
  });
  return failure(walk.wasInterrupted());
}

/// No number on the way is so large that 64 bits may not hold the next.
static LogicalResult verifySize(const MapResult &result, BoundsOfLeaf loops) {
  constexpr int64_t most = int64_t(1) << 48;
  WalkResult walk = result.expr.walk([&](AffineExpr part) {
    AffineBounds range = boundsOf(part, loops);
    if (range.lo >= -most && range.hi <= most)
      return WalkResult::advance();
    result.error() << "reaches numbers beyond " << most
                   << ", expected smaller factors";
    return WalkResult::interrupt();
  });
  return failure(walk.wasInterrupted());
}

/// Visits the points of the loops that the index uses.
static LogicalResult visitPoints(const MapResult &result,
                                 ArrayRef<int64_t> extents, int64_t size) {
  SmallVector<unsigned> used;
  int64_t points = 1;
  constexpr int64_t mostPoints = int64_t(1) << 24;
  for (auto [loop, extent] : llvm::enumerate(extents))
    if (result.expr.isFunctionOfDim(loop)) {
      used.push_back(loop);
      if (llvm::MulOverflow(points, extent, points) || points > mostPoints)
        return result.error()
               << "cannot be shown to stay within 0 to " << size - 1
               << "; expected an index that takes at most " << mostPoints
               << " iterations to follow, or one without divisions";
    }
  SmallVector<int64_t> point(extents.size(), 0);
  for (int64_t number = 0; number < points; ++number) {
    int64_t rest = number;
    for (unsigned loop : llvm::reverse(used)) {
      point[loop] = rest % extents[loop];
      rest /= extents[loop];
    }
    std::optional<int64_t> at = valueOf(result.expr, [&](AffineExpr leaf) {
      return point[cast<AffineDimExpr>(leaf).getPosition()];
    });
    if (at && *at >= 0 && *at < size)
      continue;
    InFlightDiagnostic error = result.error()
                               << "is " << at.value_or(-1) << " at loops [";
    llvm::interleaveComma(point, error);
    return error << "], expected 0 to " << size - 1
                 << ", which is what the dimension has";
  }
  return success();
}

static LogicalResult verifyRead(const MapResult &result,
                                ArrayRef<int64_t> extents, int64_t size) {
  // Upstream's verifier holds these against the size.
  if (isa<AffineDimExpr, AffineConstantExpr>(result.expr))
    return success();
  auto loops = [&](AffineExpr leaf) {
    unsigned loop = cast<AffineDimExpr>(leaf).getPosition();
    return AffineBounds{0, extents[loop] - 1};
  };
  if (failed(verifyDivisors(result)) || failed(verifySize(result, loops)))
    return failure();
  AffineBounds range = boundsOf(result.expr, loops);
  if (range.lo >= 0 && range.hi < size)
    return success();
  return visitPoints(result, extents, size);
}

/// A result is written whole, each element by the loops that are its index.
static LogicalResult verifyWrite(const MapResult &result, int64_t size,
                                 llvm::SmallBitVector &placed) {
  if (auto loop = dyn_cast<AffineDimExpr>(result.expr)) {
    if (placed.test(loop.getPosition()))
      return result.error() << "indexes two dimensions of an output, expected "
                               "a loop of its own for each";
    placed.set(loop.getPosition());
    return success();
  }
  auto constant = dyn_cast<AffineConstantExpr>(result.expr);
  if (constant && constant.getValue() == 0 && size == 1)
    return success();
  return result.error()
         << "is no place of an output that is handled, expected a loop; write "
            "the elements to a tensor of their own and place them by "
            "tensor.insert_slice";
}

LogicalResult legalize::verifyIndexingMaps(linalg::LinalgOp op) {
  SmallVector<int64_t> extents = op.getStaticLoopRanges();
  for (OpOperand &operand : op->getOpOperands()) {
    auto type = dyn_cast<RankedTensorType>(operand.get().getType());
    if (!type)
      continue;
    llvm::SmallBitVector placed(extents.size());
    AffineMap map = op.getMatchingIndexingMap(&operand);
    for (auto [dim, expr] : llvm::enumerate(map.getResults())) {
      MapResult result{op, operand.getOperandNumber(),
                       static_cast<unsigned>(dim), expr};
      int64_t size = type.getDimSize(dim);
      if (failed(op.isDpsInit(&operand) ? verifyWrite(result, size, placed)
                                        : verifyRead(result, extents, size)))
        return failure();
    }
  }
  return success();
}
