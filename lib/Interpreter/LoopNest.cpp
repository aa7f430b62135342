//===- LoopNest.cpp - an op as loops around a scalar body -----------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LoopNest.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"

using namespace mlir;
using namespace tp;
using namespace tp::simulator;

/// Adds `factor` times `expr`; false where it is not linear in the loops.
static bool addLinear(AffineExpr expr, int64_t factor, LoopIndex &index) {
  switch (expr.getKind()) {
  case AffineExprKind::DimId:
    index.coefficients[cast<AffineDimExpr>(expr).getPosition()] += factor;
    return true;
  case AffineExprKind::Constant:
    index.constant += factor * cast<AffineConstantExpr>(expr).getValue();
    return true;
  case AffineExprKind::Add: {
    auto sum = cast<AffineBinaryOpExpr>(expr);
    return addLinear(sum.getLHS(), factor, index) &&
           addLinear(sum.getRHS(), factor, index);
  }
  case AffineExprKind::Mul: {
    auto product = cast<AffineBinaryOpExpr>(expr);
    auto scale = dyn_cast<AffineConstantExpr>(product.getRHS());
    return scale &&
           addLinear(product.getLHS(), factor * scale.getValue(), index);
  }
  case AffineExprKind::FloorDiv:
  case AffineExprKind::CeilDiv:
  case AffineExprKind::Mod:
  case AffineExprKind::SymbolId:
    return false;
  }
  llvm_unreachable("unknown affine expression");
}

static void setIndices(Access &access, AffineMap map) {
  for (AffineExpr expr : map.getResults()) {
    LoopIndex index;
    index.coefficients.assign(map.getNumDims(), 0);
    if (!addLinear(expr, 1, index)) {
      index = {};
      index.coefficients.assign(map.getNumDims(), 0);
      index.division = expr;
    }
    access.indices.push_back(std::move(index));
  }
}

/// The quotient rounded down.
static int64_t floorOf(int64_t a, int64_t b) {
  int64_t quotient = a / b;
  return quotient * b != a && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

/// Written apart from what the compiler evaluates expressions by.
static std::optional<int64_t> evaluateAt(AffineExpr expr,
                                         ArrayRef<int64_t> point) {
  int64_t a = 0, b = 0;
  if (auto binary = dyn_cast<AffineBinaryOpExpr>(expr)) {
    std::optional<int64_t> lhs = evaluateAt(binary.getLHS(), point);
    std::optional<int64_t> rhs = evaluateAt(binary.getRHS(), point);
    if (!lhs || !rhs)
      return std::nullopt;
    a = *lhs, b = *rhs;
  }
  switch (expr.getKind()) {
  case AffineExprKind::Constant:
    return cast<AffineConstantExpr>(expr).getValue();
  case AffineExprKind::DimId:
    return point[cast<AffineDimExpr>(expr).getPosition()];
  case AffineExprKind::SymbolId:
    return std::nullopt;
  case AffineExprKind::Add:
    return a + b;
  case AffineExprKind::Mul:
    return a * b;
  case AffineExprKind::FloorDiv:
    return b == 0 ? std::nullopt : std::optional(floorOf(a, b));
  case AffineExprKind::CeilDiv:
    return b == 0 ? std::nullopt : std::optional(-floorOf(-a, b));
  case AffineExprKind::Mod:
    return b < 1 ? std::nullopt : std::optional(a - floorOf(a, b) * b);
  }
  llvm_unreachable("unknown affine expression");
}

std::optional<int64_t> LoopIndex::at(ArrayRef<int64_t> point) const {
  if (division)
    return evaluateAt(division, point);
  int64_t index = constant;
  for (auto [coefficient, position] : llvm::zip_equal(coefficients, point))
    index += coefficient * position;
  return index;
}

static FailureOr<LoopNest> buildLinalg(linalg::LinalgOp op) {
  LoopNest nest;
  nest.op = op;
  nest.sizes = op.getStaticLoopRanges();
  Block *block = op.getBlock();
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  if (op->getNumResults() == 0)
    return unrunnable(op) << "cannot be simulated: expected tensors";
  auto registerFor = [&](OpOperand &operand) -> std::optional<unsigned> {
    BlockArgument argument = op.getMatchingBlockArgument(&operand);
    unsigned reg = nest.body.registers[argument] = nest.body.addRegister();
    if (argument.use_empty())
      return std::nullopt;
    return reg;
  };
  for (OpOperand *input : op.getDpsInputOperands()) {
    Value value = input->get();
    if (!isa<RankedTensorType>(value.getType())) {
      // A scalar operand is a capture under another name.
      unsigned reg = nest.body.registerOf(value);
      nest.body.registers[op.getMatchingBlockArgument(input)] = reg;
      continue;
    }
    Access access{value, input->getOperandNumber(), {}, registerFor(*input)};
    setIndices(access, maps[input->getOperandNumber()]);
    nest.reads.push_back(std::move(access));
  }
  for (OpOperand &init : op.getDpsInitsMutable()) {
    Access access{init.get(), init.getOperandNumber(), {}, registerFor(init)};
    setIndices(access, maps[init.getOperandNumber()]);
    if (!access.isLinear())
      return unrunnable(op)
             << "cannot be simulated: the place of result "
             << nest.writes.size() << " is not linear in the loops";
    nest.writes.push_back(std::move(access));
  }
  if (failed(nest.body.append(*block)))
    return failure();
  for (Value value : block->getTerminator()->getOperands())
    nest.yields.push_back(nest.body.registerOf(value));
  return nest;
}

static FailureOr<LoopNest> buildElementwise(Operation *op) {
  LoopNest nest;
  nest.op = op;
  Type result = op->getResult(0).getType();
  unsigned rank = 0;
  if (auto type = dyn_cast<RankedTensorType>(result)) {
    nest.sizes.assign(type.getShape().begin(), type.getShape().end());
    rank = type.getRank();
  }
  AffineMap identity =
      AffineMap::getMultiDimIdentityMap(rank, op->getContext());
  for (OpOperand &operand : op->getOpOperands()) {
    Value value = operand.get();
    if (!isa<RankedTensorType>(value.getType()) ||
        nest.body.registers.contains(value))
      continue;
    unsigned reg = nest.body.registers[value] = nest.body.addRegister();
    Access access{value, operand.getOperandNumber(), {}, reg};
    setIndices(access, identity);
    nest.reads.push_back(std::move(access));
  }
  Access write;
  setIndices(write, identity);
  nest.writes.push_back(std::move(write));
  if (failed(nest.body.append(op)))
    return failure();
  nest.yields.push_back(nest.body.registerOf(op->getResult(0)));
  return nest;
}

bool simulator::isLoopNest(Operation *op) {
  if (isa<linalg::LinalgOp>(op))
    return true;
  StringRef dialect = op->getName().getDialectNamespace();
  return (dialect == "arith" || dialect == "math") &&
         op->getNumResults() == 1 && op->getNumOperands() > 0;
}

FailureOr<LoopNest> LoopNest::build(Operation *op) {
  if (auto linalgOp = dyn_cast<linalg::LinalgOp>(op))
    return buildLinalg(linalgOp);
  return buildElementwise(op);
}

static StrategyAttr strategyOf(Operation *op) {
  return op->getAttrOfType<StrategyAttr>(attr::strategy);
}

SmallVector<AxisPart> simulator::partsOfLookups(const LoopNest &nest) {
  SmallVector<AxisPart> parts;
  if (StrategyAttr strategy = strategyOf(nest.op))
    for (const AxisChoice &entry : strategy.getValue().entries)
      if (entry.choice.kind == ChoiceKind::Split &&
          entry.choice.factor >= nest.sizes.size())
        parts.push_back(entry.part);
  return parts;
}

/// Chunks of a split loop are counted as some tensor that the loop runs along
/// has them (unit and segments of its shards); the strategy does not say.
static Placement chunksOf(const LoopNest &nest, unsigned loop,
                          ArrayRef<AxisPart> parts) {
  auto find = [&](const Access &access, Type type) -> std::optional<Placement> {
    LayoutAttr layout = LayoutAttr::of(type);
    if (!layout)
      return std::nullopt;
    for (auto [dim, index] : llvm::enumerate(access.indices)) {
      LoopIndex plain;
      plain.coefficients.assign(nest.sizes.size(), 0);
      plain.coefficients[loop] = 1;
      if (index.constant != 0 || index.coefficients != plain.coefficients ||
          ArrayRef(layout.getValue().partsSharding(dim)) != parts)
        continue;
      Placement placement = layout.getValue().find(parts[0])->placement;
      placement.dim = 0;
      return placement;
    }
    return std::nullopt;
  };
  for (auto [i, write] : llvm::enumerate(nest.writes))
    if (auto found = find(write, nest.op->getResult(i).getType()))
      return *found;
  for (const Access &read : nest.reads)
    if (auto found = find(read, read.value.getType()))
      return *found;
  return Placement::shard(0);
}

SmallVector<std::vector<Interval>> simulator::loopsOfRank(const LoopNest &nest,
                                                          const Frame &frame) {
  SmallVector<std::vector<Interval>> loops;
  StrategyAttr strategy = strategyOf(nest.op);
  for (auto [loop, size] : llvm::enumerate(nest.sizes)) {
    std::vector<AxisPart> parts;
    if (frame.isSharded() && strategy)
      parts = strategy.getValue().partsSplitting(loop);
    if (parts.empty()) {
      if (size > 0)
        loops.push_back({{0, 0, size}});
      else
        loops.emplace_back();
      continue;
    }
    Layout chunks;
    Placement placement = chunksOf(nest, loop, parts);
    for (AxisPart part : parts)
      chunks.entries.push_back({part, placement});
    loops.push_back(
        chunks.intervals(strategy.getMesh().getValue(), 0, size, frame.rank));
  }
  return loops;
}
