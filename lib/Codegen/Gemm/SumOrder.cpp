//===- SumOrder.cpp - in which order a GEMM writes its sums ---------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The gradient of a weight that a product reads transposed is a sum in the
// order of the transposed weight. What updates the weight would read it a
// column at a time. A GEMM writes the transposed sum as fast.
//
//===----------------------------------------------------------------------===//

#include "Elements/IndexExpr.h"
#include "Program/JoinedArguments.h"
#include "Storage/Storage.h"

using namespace mlir;
using namespace tp::target;

/// The only operand that reads `value`, perhaps through views, if an op
/// computes element by element with it; else null.
static OpOperand *onlyReader(Value value) {
  while (value.hasOneUse()) {
    OpOperand &use = *value.use_begin();
    Operation *op = use.getOwner();
    if (op->getNumResults() != 1)
      return nullptr;
    auto linalgOp = dyn_cast<linalg::LinalgOp>(op);
    if (!viewOf(op->getResult(0)))
      return linalgOp && isElementwise(linalgOp) && linalgOp.isDpsInput(&use)
                 ? &use
                 : nullptr;
    value = op->getResult(0);
  }
  return nullptr;
}

/// The dimensions of `sum`, which lies row-major, in the order of the loops of
/// what reads it; none if it reads something else than all of it once, or
/// follows the memory anyway.
static std::optional<SmallVector<int64_t>>
orderOfReader(const StoragePlan &plan, Value sum, OpOperand &use) {
  auto reader = cast<linalg::LinalgOp>(use.getOwner());
  SmallVector<int64_t> extents = reader.getStaticLoopRanges();
  AffineMap written =
      reader.getMatchingIndexingMap(reader.getDpsInitOperand(0));
  if (!written.isIdentity())
    return std::nullopt;
  MLIRContext *context = sum.getContext();
  IndexSpace space = IndexSpace::ofExtents(extents);
  Indices index = applyMap(reader.getMatchingIndexingMap(&use),
                           identityIndices(extents.size(), context), {}, space);
  double alpha = 1.0;
  auto found = addressOf(plan, use.get(), index, space, alpha);
  auto form = found && found->first == sum
                  ? linearForm(found->second, extents.size(), 0)
                  : std::nullopt;
  if (!form || form->constant != 0)
    return std::nullopt;
  ArrayRef<int64_t> shape = shapeOf(sum);
  SmallVector<int64_t> strides(shape.size(), 1), order;
  for (size_t dim = shape.size(); dim-- > 1;)
    strides[dim - 1] = strides[dim] * shape[dim];
  for (auto [dim, size] : llvm::enumerate(shape))
    if (size == 1)
      order.push_back(dim);
  int64_t last = 1;
  for (auto [loop, extent] : llvm::enumerate(extents)) {
    if (extent == 1)
      continue;
    last = form->dimStrides[loop];
    std::optional<int64_t> own;
    for (auto [dim, size] : llvm::enumerate(shape))
      if (size == extent && strides[dim] == last)
        own = dim;
    if (!own)
      return std::nullopt;
    order.push_back(*own);
  }
  if (last == 1 || order.size() != shape.size())
    return std::nullopt;
  return order;
}

void StoragePlan::orderSums() {
  for (auto &[op, contraction] : contractions) {
    auto it = gemms.find(op);
    Value sum = contraction.result;
    // A product that reads the sum, which may be scaled, has its order.
    auto isWriter = [op = op](Operation *other) { return other == op; };
    if (it == gemms.end() || sum != op->getResult(0) || !isStored(sum) ||
        ordered.contains(sum) || !llvm::all_of(gemmsAt.lookup(sum), isWriter))
      continue;
    OpOperand *use = onlyReader(sum);
    auto order = use ? orderOfReader(*this, sum, *use) : std::nullopt;
    if (!order)
      continue;
    AffineMap before = storage(sum).address;
    storage(sum).address =
        placesInOrder(shapeOf(sum), *order, op->getContext());
    Gemm &was = it->second;
    std::optional<Gemm> gemm = analyse(contraction);
    if (gemm && gemm->flops() == was.flops() &&
        gemm->matrices() == was.matrices() &&
        gemm->rows.has_value() == was.rows.has_value()) {
      was = std::move(*gemm);
      ordered.insert(sum);
    } else {
      storage(sum).address = before;
    }
  }
}
