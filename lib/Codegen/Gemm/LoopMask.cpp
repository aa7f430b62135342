//===- LoopMask.cpp - which iterations of a reduction count ---------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LoopMask.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "tp/IR/TP.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tp::target;

/// A mask of more iterations, of all ranks, is not read by its values.
static constexpr int64_t mostTabulated = 1 << 15;

namespace {
/// Ops on indices that a value is made of, in order.
struct IndexProgram {
  /// None if an op is of another kind, or if several loops decide.
  static std::optional<IndexProgram> of(Value value, tp::MeshAttr mesh);

  /// The last op's value; none where a sum or a product overflows.
  std::optional<int64_t> run(int64_t rank, int64_t iteration);

  llvm::SetVector<Operation *> ops;
  std::optional<unsigned> loop;

private:
  bool add(Value value);
  std::optional<int64_t> valueOf(Operation *op, int64_t rank,
                                 int64_t iteration) const;
  int64_t operand(Operation *op, unsigned number) const {
    return values.lookup(op->getOperand(number));
  }

  tp::MeshAttr mesh;
  llvm::DenseMap<Value, int64_t> values;
};
} // namespace

static int64_t positionAlong(tp::AxesAttr axes, int64_t rank) {
  int64_t position = 0;
  for (tp::AxisPart part : axes.getParts())
    position =
        position * part.size + axes.getMesh().getValue().coordinate(rank, part);
  return position;
}

std::optional<IndexProgram> IndexProgram::of(Value value, tp::MeshAttr mesh) {
  IndexProgram program;
  program.mesh = mesh;
  if (!program.add(value))
    return std::nullopt;
  return program;
}

bool IndexProgram::add(Value value) {
  Operation *op = value.getDefiningOp();
  APInt constant;
  if (!op)
    return false;
  if (ops.contains(op))
    return true;
  if (auto index = dyn_cast<linalg::IndexOp>(op)) {
    if (loop && *loop != index.getDim())
      return false;
    loop = index.getDim();
  } else if (auto axis = dyn_cast<tp::AxisIndexOp>(op)) {
    if (axis.getAxes().getMesh() != mesh)
      return false;
  } else if (!matchPattern(value, m_ConstantInt(&constant)) &&
             !isa<arith::AddIOp, arith::SubIOp, arith::MulIOp, arith::MinSIOp,
                  arith::MaxSIOp, arith::CmpIOp, arith::SelectOp, arith::AndIOp,
                  arith::OrIOp>(op)) {
    return false;
  }
  Type type = value.getType();
  if (!type.isIndex() && !type.isInteger(1))
    return false;
  for (Value operand : op->getOperands())
    if (!add(operand))
      return false;
  ops.insert(op);
  return true;
}

std::optional<int64_t> IndexProgram::valueOf(Operation *op, int64_t rank,
                                             int64_t iteration) const {
  APInt constant;
  if (matchPattern(op, m_ConstantInt(&constant)))
    return constant.getSExtValue();
  if (isa<linalg::IndexOp>(op))
    return iteration;
  if (auto axis = dyn_cast<tp::AxisIndexOp>(op))
    return positionAlong(axis.getAxes(), rank);
  int64_t a = operand(op, 0), b = operand(op, 1), result = 0;
  if (isa<arith::AddIOp>(op))
    return llvm::AddOverflow(a, b, result) ? std::nullopt
                                           : std::optional(result);
  if (isa<arith::SubIOp>(op))
    return llvm::SubOverflow(a, b, result) ? std::nullopt
                                           : std::optional(result);
  if (isa<arith::MulIOp>(op))
    return llvm::MulOverflow(a, b, result) ? std::nullopt
                                           : std::optional(result);
  if (isa<arith::MinSIOp>(op))
    return std::min(a, b);
  if (isa<arith::MaxSIOp>(op))
    return std::max(a, b);
  if (isa<arith::SelectOp>(op))
    return a ? b : operand(op, 2);
  if (isa<arith::AndIOp>(op))
    return a & b;
  if (isa<arith::OrIOp>(op))
    return a | b;
  auto compare = cast<arith::CmpIOp>(op);
  unsigned width = compare.getLhs().getType().isIndex() ? 64 : 1;
  return arith::applyCmpPredicate(compare.getPredicate(),
                                  APInt(width, a, /*isSigned=*/true,
                                        /*implicitTrunc=*/true),
                                  APInt(width, b, /*isSigned=*/true,
                                        /*implicitTrunc=*/true));
}

std::optional<int64_t> IndexProgram::run(int64_t rank, int64_t iteration) {
  std::optional<int64_t> value;
  for (Operation *op : ops) {
    value = valueOf(op, rank, iteration);
    if (!value)
      return std::nullopt;
    values[op->getResult(0)] = *value;
  }
  return value;
}

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
  bool compare(Value mask);
  bool tabulate(Value mask);
  bool add(const RankIndex &index, const RankIndex &end);
  bool add(LoopPrefix prefix);
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
  return compare(mask) || tabulate(mask);
}

/// A linear function of a loop below a number.
bool MaskReader::compare(Value mask) {
  auto compare = mask.getDefiningOp<arith::CmpIOp>();
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
  return add(std::move(prefix));
}

bool MaskReader::add(LoopPrefix prefix) {
  for (LoopPrefix &other : prefixes)
    if (other.loop == prefix.loop) {
      for (auto [a, b] : llvm::zip_equal(other.counts, prefix.counts))
        a = std::min(a, b);
      return true;
    }
  prefixes.push_back(std::move(prefix));
  return true;
}

/// Any function of a loop and of the rank, by its values: a rank may have
/// several pieces of what is split.
bool MaskReader::tabulate(Value mask) {
  std::optional<IndexProgram> program = IndexProgram::of(mask, mesh);
  if (!program || !program->loop ||
      op.getIteratorTypesArray()[*program->loop] !=
          utils::IteratorType::reduction)
    return false;
  int64_t extent = op.getStaticLoopRanges()[*program->loop];
  if (extent > mostTabulated / numRanks)
    return false;
  LoopPrefix prefix{program->loop, {}};
  for (int64_t rank = 0; rank < numRanks; ++rank) {
    int64_t count = 0;
    for (int64_t i = 0; i < extent; ++i) {
      std::optional<int64_t> counts = program->run(rank, i);
      if (!counts || (*counts && count < i))
        return false;
      count += *counts != 0;
    }
    prefix.counts.push_back(count);
  }
  for (Operation *inner : program->ops)
    if (inner->getBlock() == op.getBlock())
      matched.insert(inner);
  return add(std::move(prefix));
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
    if (axis.getAxes().getMesh() != mesh)
      return std::nullopt;
    for (int64_t rank = 0; rank < numRanks; ++rank)
      result.ofRank.push_back(positionAlong(axis.getAxes(), rank));
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

std::optional<SmallVector<LoopPrefix, 1>>
tp::target::prefixesOf(linalg::LinalgOp op, Value mask,
                       llvm::SmallPtrSetImpl<Operation *> &matched) {
  MaskReader reader(op, matched);
  if (!reader.read(mask))
    return std::nullopt;
  return std::move(reader.prefixes);
}
