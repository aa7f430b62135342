//===- ContractionBody.cpp - which linalg ops are contractions ------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A contraction adds products to its accumulator. Where a reduction loop is
// split unevenly, the partition lets an iteration beyond the rank's end leave
// the accumulator as it is: which iterations count depends on the rank alone
// and is known here.
//
//===----------------------------------------------------------------------===//

#include "Storage/Storage.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "tp/IR/TP.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tp::target;

namespace {
/// The index of `loop`, if there is one, plus a number that every rank has.
struct RankIndex {
  std::optional<unsigned> loop;
  SmallVector<int64_t> ofRank;
};

/// Reads the condition under which an iteration counts.
class MaskReader {
public:
  /// Adds the ops that the condition is made of to `matched`.
  MaskReader(linalg::LinalgOp op, llvm::SmallPtrSetImpl<Operation *> &matched)
      : op(op), matched(matched), mesh(tp::meshOf(op)) {
    if (mesh)
      numRanks = mesh.getValue().numRanks();
  }

  /// False if other iterations than the first ones of reduction loops count.
  bool read(Value mask);

  SmallVector<LoopPrefix, 1> prefixes;

private:
  bool add(const RankIndex &index, const RankIndex &end);
  /// None if `value` is of another form.
  const std::optional<RankIndex> &indexOf(Value value);
  std::optional<RankIndex> compute(Value value);

  linalg::LinalgOp op;
  llvm::SmallPtrSetImpl<Operation *> &matched;
  tp::MeshAttr mesh;
  int64_t numRanks = 1;
  llvm::DenseMap<Value, std::optional<RankIndex>> known;
};
} // namespace

bool MaskReader::read(Value mask) {
  Operation *inner = mask.getDefiningOp();
  if (!inner || inner->getBlock() != op.getBlock())
    return false;
  if (!matched.insert(inner).second)
    return true;
  if (auto both = dyn_cast<arith::AndIOp>(inner))
    return read(both.getLhs()) && read(both.getRhs());
  auto compare = dyn_cast<arith::CmpIOp>(inner);
  if (!compare || compare.getPredicate() != arith::CmpIPredicate::slt)
    return false;
  std::optional<RankIndex> index = indexOf(compare.getLhs());
  std::optional<RankIndex> end = indexOf(compare.getRhs());
  return index && end && !end->loop && add(*index, *end);
}

bool MaskReader::add(const RankIndex &index, const RankIndex &end) {
  int64_t extent = 1;
  if (index.loop) {
    if (op.getIteratorTypesArray()[*index.loop] !=
        utils::IteratorType::reduction)
      return false;
    extent = op.getStaticLoopRanges()[*index.loop];
  }
  LoopPrefix prefix{index.loop, {}};
  for (auto [offset, last] : llvm::zip_equal(index.ofRank, end.ofRank)) {
    int64_t count = 0;
    if (llvm::SubOverflow(last, offset, count))
      return false;
    prefix.counts.push_back(std::clamp<int64_t>(count, 0, extent));
  }
  for (LoopPrefix &other : prefixes)
    if (other.loop == prefix.loop) {
      for (auto [a, b] : llvm::zip_equal(other.counts, prefix.counts))
        a = std::min(a, b);
      return true;
    }
  prefixes.push_back(std::move(prefix));
  return true;
}

const std::optional<RankIndex> &MaskReader::indexOf(Value value) {
  auto it = known.find(value);
  if (it == known.end()) {
    std::optional<RankIndex> index = compute(value);
    it = known.insert({value, std::move(index)}).first;
  }
  return it->second;
}

std::optional<RankIndex> MaskReader::compute(Value value) {
  Operation *inner = value.getDefiningOp();
  if (!inner || !value.getType().isIndex())
    return std::nullopt;
  if (inner->getBlock() == op.getBlock())
    matched.insert(inner);
  RankIndex result;
  APInt constant;
  if (matchPattern(value, m_ConstantInt(&constant))) {
    result.ofRank.assign(numRanks, constant.getSExtValue());
    return result;
  }
  if (auto loop = dyn_cast<linalg::IndexOp>(inner)) {
    result.loop = loop.getDim();
    result.ofRank.assign(numRanks, 0);
    return result;
  }
  if (auto axis = dyn_cast<tp::AxisIndexOp>(inner)) {
    tp::AxesAttr axes = axis.getAxes();
    if (axes.getMesh() != mesh)
      return std::nullopt;
    for (int64_t rank = 0; rank < numRanks; ++rank) {
      int64_t &position = result.ofRank.emplace_back(0);
      for (tp::AxisPart part : axes.getParts())
        position =
            position * part.size + mesh.getValue().coordinate(rank, part);
    }
    return result;
  }
  if (inner->getNumOperands() != 2 ||
      !isa<arith::AddIOp, arith::SubIOp, arith::MulIOp, arith::MinSIOp,
           arith::MaxSIOp>(inner))
    return std::nullopt;
  std::optional<RankIndex> lhs = indexOf(inner->getOperand(0));
  std::optional<RankIndex> rhs = indexOf(inner->getOperand(1));
  // Only a sum moves along with a loop.
  bool isSum = isa<arith::AddIOp>(inner);
  if (!lhs || !rhs || (lhs->loop && rhs->loop) ||
      ((lhs->loop || rhs->loop) && !isSum))
    return std::nullopt;
  result.loop = lhs->loop ? lhs->loop : rhs->loop;
  for (auto [a, b] : llvm::zip_equal(lhs->ofRank, rhs->ofRank)) {
    int64_t &number = result.ofRank.emplace_back(0);
    bool overflows = false;
    if (isSum)
      overflows = llvm::AddOverflow(a, b, number);
    else if (isa<arith::SubIOp>(inner))
      overflows = llvm::SubOverflow(a, b, number);
    else if (isa<arith::MulIOp>(inner))
      overflows = llvm::MulOverflow(a, b, number);
    else
      number = isa<arith::MinSIOp>(inner) ? std::min(a, b) : std::max(a, b);
    if (overflows)
      return std::nullopt;
  }
  return result;
}

/// The select by which a term is added or left out, as an element of an operand
/// says.
static arith::SelectOp termsSelect(linalg::LinalgOp op, Value sum) {
  auto select = sum.getDefiningOp<arith::SelectOp>();
  auto argument =
      select ? dyn_cast<BlockArgument>(select.getCondition()) : BlockArgument();
  if (!argument || argument.getOwner() != op.getBlock() ||
      select.getFalseValue() !=
          op.getMatchingBlockArgument(op.getDpsInitOperand(0)))
    return {};
  OpOperand *operand = operandOfArgument(op, argument);
  return isa<RankedTensorType>(operand->get().getType()) ? select
                                                         : arith::SelectOp();
}

std::optional<Contraction> tp::target::contractionOf(Operation *op) {
  auto linalgOp = dyn_cast<linalg::LinalgOp>(op);
  if (!linalgOp || !linalgOp.hasPureTensorSemantics() ||
      op->getNumResults() != 1 || linalgOp.getNumReductionLoops() == 0)
    return std::nullopt;
  auto type = dyn_cast<RankedTensorType>(op->getResult(0).getType());
  if (!type ||
      !(type.getElementType().isF32() || type.getElementType().isF64()))
    return std::nullopt;
  Block *body = linalgOp.getBlock();
  Operation *yield = body->getTerminator();
  Value accumulator =
      linalgOp.getMatchingBlockArgument(linalgOp.getDpsInitOperand(0));
  Contraction contraction;
  contraction.op = linalgOp;
  contraction.result = op->getResult(0);
  // All that the body does; anything else would be lost.
  llvm::SmallPtrSet<Operation *, 16> matched = {yield};
  Value sum = yield->getOperand(0);
  if (auto select = termsSelect(linalgOp, sum)) {
    contraction.terms =
        operandOfArgument(linalgOp, cast<BlockArgument>(select.getCondition()));
    matched.insert(select);
    sum = select.getTrueValue();
  }
  if (auto select = sum.getDefiningOp<arith::SelectOp>()) {
    MaskReader reader(linalgOp, matched);
    if (select.getFalseValue() != accumulator ||
        !reader.read(select.getCondition()))
      return std::nullopt;
    matched.insert(select);
    contraction.prefixes = std::move(reader.prefixes);
    sum = select.getTrueValue();
  }
  auto add = sum.getDefiningOp<arith::AddFOp>();
  if (!add || (add.getLhs() != accumulator && add.getRhs() != accumulator))
    return std::nullopt;
  Value product = add.getLhs() == accumulator ? add.getRhs() : add.getLhs();
  auto mul = product.getDefiningOp<arith::MulFOp>();
  if (!mul || mul->getBlock() != body)
    return std::nullopt;
  matched.insert_range(ArrayRef<Operation *>{add, mul});
  auto operandOf = [&](Value factor) -> OpOperand * {
    if (auto extension = factor.getDefiningOp<arith::ExtFOp>()) {
      contraction.widens = true;
      matched.insert(extension);
      factor = extension.getIn();
    }
    auto argument = dyn_cast<BlockArgument>(factor);
    if (!argument || argument == accumulator || argument.getOwner() != body)
      return nullptr;
    OpOperand *operand = operandOfArgument(linalgOp, argument);
    return isa<RankedTensorType>(operand->get().getType()) ? operand : nullptr;
  };
  contraction.lhs = operandOf(mul.getLhs());
  contraction.rhs = operandOf(mul.getRhs());
  if (!contraction.lhs || !contraction.rhs ||
      matched.size() != body->getOperations().size())
    return std::nullopt;
  // Without a loop of one operand alone every element is used once: products of
  // vectors, which a kernel adds up beside what else is done with them.
  AffineMap lhs = linalgOp.getMatchingIndexingMap(contraction.lhs),
            rhs = linalgOp.getMatchingIndexingMap(contraction.rhs);
  if (contraction.terms) {
    AffineMap terms = linalgOp.getMatchingIndexingMap(contraction.terms);
    for (unsigned loop : llvm::seq(terms.getNumDims()))
      if (terms.isFunctionOfDim(loop) &&
          !(lhs.isFunctionOfDim(loop) && rhs.isFunctionOfDim(loop)))
        return std::nullopt;
  }
  for (auto [loop, extent] : llvm::enumerate(linalgOp.getStaticLoopRanges()))
    if (extent > 1 && lhs.isFunctionOfDim(loop) != rhs.isFunctionOfDim(loop))
      return contraction;
  return std::nullopt;
}

static Type elementTypeOf(const OpOperand *operand) {
  return cast<RankedTensorType>(operand->get().getType()).getElementType();
}

static bool isNarrow(Type type) { return type.isF16() || type.isBF16(); }

bool tp::target::hasFactorsOfGemm(const Contraction &contraction,
                                  const TargetTraits &traits) {
  if (!contraction.widens)
    return true;
  Type lhs = elementTypeOf(contraction.lhs),
       rhs = elementTypeOf(contraction.rhs);
  if (lhs == rhs)
    return isNarrow(lhs);
  return traits.multipliesMixed &&
         ((lhs.isF32() && isNarrow(rhs)) || (isNarrow(lhs) && rhs.isF32()));
}
