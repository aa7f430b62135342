//===- AttentionForm.cpp - a program's attentions -------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// From the second product on, elements are followed to where they come from.
// What is compared are elements, so that it does not matter into which ops a
// program is cut, nor where it reshapes, transposes, broadcasts or casts.
//
//===----------------------------------------------------------------------===//

#include "AttentionForm.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace tp::target;
using Kind = Element::Kind;

template <typename Op> static bool computes(const Element *element) {
  return element->kind == Kind::Compute && isa<Op>(element->op);
}

const Element *tp::target::withoutCasts(const Element *element) {
  while (computes<arith::ExtFOp>(element) || computes<arith::TruncFOp>(element))
    element = element->operands.front();
  return element;
}

static std::optional<double> constantOf(const Element *element) {
  if (element->kind == Kind::Constant)
    if (auto attribute = dyn_cast<FloatAttr>(element->constant))
      return attribute.getValueAsDouble();
  return std::nullopt;
}

namespace {
/// Reads one attention, its result's elements being followed at `index`.
class Matcher {
public:
  /// With `asTheyAre` operands are not looked for behind reshapes that would
  /// cut loops.
  Matcher(AttentionForm &form, KnownTerms &known, bool asTheyAre)
      : form(form), graph(form.graph), known(known), asTheyAre(asTheyAre) {}

  bool match();
  /// Where loops of the result have to be cut for operands to be linear.
  SmallVector<SmallVector<int64_t>> cuts;

private:
  bool matchOutput(const Element *element);
  bool matchWeights(const Element *weights, const Element *divisor);
  bool matchEmptyRows(const Element *condition, bool zeroWhere,
                      const Element *scores);
  bool matchScores(const Element *scores, double factor);
  bool matchProduct(const Element *product, double factor);
  bool chooseLoops(ArrayRef<const Element *> masks);
  bool choosePlaces();
  bool choosePlace(const Element *element, unsigned loop, bool scales,
                   ElementPlace &place);
  bool fits(const ElementPlace &place, unsigned loop) const;

  std::optional<Indices> loopsOf(linalg::LinalgOp op, const Indices &index,
                                 SmallVectorImpl<unsigned> &added);
  const Element *reduced(const Element *element, unsigned along,
                         Operation *&joins);
  bool isMinusInfinity(const Element *element, const Element *scores) const;
  std::optional<bool> saysEmpty(const Element *condition,
                                const Element *scores);
  bool multiplies(const Element *element);

  AttentionForm &form;
  ElementGraph &graph;
  KnownTerms &known;
  bool asTheyAre;
  const Element *qElement = nullptr, *kElement = nullptr, *vElement = nullptr;
  SmallVector<BiasTerm> terms;
  bool zeroWithoutKeys = false;
  /// Loops of the weights, in their order.
  SmallVector<unsigned> weightLoops;
  std::map<const Element *, bool> multiplying;
};
} // namespace

/// The loops of the reduction `op` that computes its element `index`: new ones
/// where it reduces.
std::optional<Indices> Matcher::loopsOf(linalg::LinalgOp op,
                                        const Indices &index,
                                        SmallVectorImpl<unsigned> &added) {
  Indices loops(op.getNumLoops(), AffineExpr());
  AffineMap map = op.getMatchingIndexingMap(op.getDpsInitOperand(0));
  SmallVector<int64_t> extents = op.getStaticLoopRanges();
  for (auto [expr, at] : llvm::zip_equal(map.getResults(), index)) {
    auto dim = dyn_cast<AffineDimExpr>(expr);
    if (!dim || loops[dim.getPosition()])
      return std::nullopt;
    loops[dim.getPosition()] = at;
  }
  for (auto [loop, extent, type] :
       llvm::zip_equal(loops, extents, op.getIteratorTypesArray())) {
    if (loop)
      continue;
    if (type != utils::IteratorType::reduction && extent != 1)
      return std::nullopt;
    if (graph.numLoops() >= ElementGraph::mostLoops)
      return std::nullopt;
    if (extent == 1) {
      loop = getAffineConstantExpr(0, op->getContext());
      continue;
    }
    added.push_back(graph.addLoop(extent));
    loop = graph.loop(added.back());
  }
  return loops;
}

/// For a reduction over as many elements as there are along the loop `along`,
/// what it reduces there; `joins` is the op that adds one to the others.
const Element *Matcher::reduced(const Element *element, unsigned along,
                                Operation *&joins) {
  if (element->kind != Kind::Leaf)
    return nullptr;
  auto op = element->value.getDefiningOp<linalg::LinalgOp>();
  if (!op || !op.hasPureTensorSemantics() || op->getNumResults() != 1 ||
      op.getNumReductionLoops() == 0)
    return nullptr;
  // One loop reduces, and it is the same as `along`.
  Indices loops(op.getNumLoops(), AffineExpr());
  AffineMap map = op.getMatchingIndexingMap(op.getDpsInitOperand(0));
  for (auto [expr, at] : llvm::zip_equal(map.getResults(), element->indices)) {
    auto dim = dyn_cast<AffineDimExpr>(expr);
    if (!dim || loops[dim.getPosition()])
      return nullptr;
    loops[dim.getPosition()] = at;
  }
  bool found = false;
  for (auto [loop, extent] : llvm::zip_equal(loops, op.getStaticLoopRanges())) {
    if (loop)
      continue;
    if (extent == 1) {
      loop = getAffineConstantExpr(0, op->getContext());
      continue;
    }
    if (found || extent != graph.extent(along))
      return nullptr;
    found = true;
    loop = graph.loop(along);
  }
  const Element *yield = graph.yielded(op, 0, loops);
  if (!found || !yield || yield->kind != Kind::Compute ||
      yield->operands.size() != 2)
    return nullptr;
  joins = yield->op;
  for (unsigned own : {0, 1})
    if (yield->operands[own]->kind == Kind::Accumulator &&
        yield->operands[1 - own]->kind != Kind::Accumulator)
      return yield->operands[1 - own];
  return nullptr;
}

/// The number every element of a reduction starts from.
static std::optional<Attribute> startOf(const Element *reduction) {
  auto op = cast<linalg::LinalgOp>(reduction->value.getDefiningOp());
  std::optional<Splat> splat = splatOf(op.getDpsInitOperand(0)->get());
  if (!splat || !splat->constant)
    return std::nullopt;
  return splat->constant;
}

static bool startsFrom(const Element *reduction,
                       function_ref<bool(const APFloat &)> fits) {
  std::optional<Attribute> start = startOf(reduction);
  auto number = start ? dyn_cast<FloatAttr>(*start) : FloatAttr();
  return number && fits(number.getValue());
}

static bool isContraction(const Element *element) {
  if (element->kind != Kind::Leaf)
    return false;
  Operation *op = element->value.getDefiningOp();
  return op && contractionOf(op);
}

/// A product whose sums start from zero and that all ranks run to the end.
static std::optional<Contraction> plainProduct(const Element *element) {
  Operation *op = element->value.getDefiningOp();
  std::optional<Contraction> contraction =
      op ? contractionOf(op) : std::nullopt;
  if (!contraction || !contraction->prefixes.empty() ||
      !startsFrom(element, [](const APFloat &value) { return value.isZero(); }))
    return std::nullopt;
  return contraction;
}

/// Whether a product of two tensors that depends on keys is in it.
bool Matcher::multiplies(const Element *element) {
  if (!element->dependsOn(form.key))
    return false;
  if (isContraction(element))
    return true;
  auto it = multiplying.find(element);
  if (it != multiplying.end())
    return it->second;
  bool any = false;
  for (const Element *operand : element->operands)
    any |= multiplies(operand);
  return multiplying[element] = any;
}

bool Matcher::match() {
  const Element *element = graph.element(form.result, form.resultIndex);
  return matchOutput(withoutCasts(element));
}

bool Matcher::matchOutput(const Element *element) {
  // The division may come after the second product.
  const Element *divisor = nullptr;
  if (computes<arith::DivFOp>(element)) {
    divisor = withoutCasts(element->operands[1]);
    element = withoutCasts(element->operands[0]);
  }
  if (element->kind != Kind::Leaf)
    return false;
  std::optional<Contraction> product = plainProduct(element);
  if (!product)
    return false;
  form.output = product->op;
  SmallVector<unsigned> added;
  std::optional<Indices> loops = loopsOf(product->op, element->indices, added);
  if (!loops || added.size() != 1)
    return false;
  form.key = added.front();
  for (auto [p, v] : {std::pair(product->lhs, product->rhs),
                      std::pair(product->rhs, product->lhs)}) {
    auto at = [&](OpOperand *operand) {
      return applyMap(product->op.getMatchingIndexingMap(operand), *loops, {},
                      graph.space());
    };
    terms.clear();
    zeroWithoutKeys = false;
    qElement = nullptr;
    vElement = graph.element(v->get(), at(v));
    Indices weightIndex = at(p);
    const Element *weights = graph.element(p->get(), weightIndex);
    if (!weights || !matchWeights(withoutCasts(weights), divisor))
      continue;
    weightLoops.clear();
    for (AffineExpr expr : weightIndex)
      for (unsigned loop = 0; loop < form.numResultLoops; ++loop)
        if (expr.isFunctionOfDim(loop) &&
            !llvm::is_contained(weightLoops, loop))
          weightLoops.push_back(loop);
    return choosePlaces();
  }
  return false;
}

/// exp(s - max s) / sum of it, in any of its forms; 0 where all keys are
/// masked.
bool Matcher::matchWeights(const Element *weights, const Element *divisor) {
  const Element *condition = nullptr;
  bool zeroWhere = true;
  if (computes<arith::SelectOp>(weights)) {
    auto isZero = [](const Element *element) {
      return constantOf(withoutCasts(element)) == 0.0;
    };
    condition = weights->operands[0];
    zeroWhere = isZero(weights->operands[1]);
    if (zeroWhere == isZero(weights->operands[2]))
      return false;
    weights = withoutCasts(weights->operands[zeroWhere ? 2 : 1]);
  }
  const Element *exponential = weights;
  if (!divisor && computes<arith::DivFOp>(weights)) {
    exponential = withoutCasts(weights->operands[0]);
    divisor = withoutCasts(weights->operands[1]);
  } else if (!divisor && computes<arith::MulFOp>(weights)) {
    for (unsigned i : {0, 1}) {
      const Element *inverse = withoutCasts(weights->operands[i]);
      if (!computes<arith::DivFOp>(inverse) ||
          constantOf(withoutCasts(inverse->operands[0])) != 1.0)
        continue;
      exponential = withoutCasts(weights->operands[1 - i]);
      divisor = withoutCasts(inverse->operands[1]);
      break;
    }
  }
  if (!divisor || !computes<math::ExpOp>(exponential))
    return false;
  const Element *shifted = withoutCasts(exponential->operands[0]);
  if (!computes<arith::SubFOp>(shifted))
    return false;
  const Element *scores = withoutCasts(shifted->operands[0]);
  const Element *largest = withoutCasts(shifted->operands[1]);

  Operation *joins = nullptr;
  const Element *summed = reduced(divisor, form.key, joins);
  if (!summed || !isa<arith::AddFOp>(joins) ||
      withoutCasts(summed) != exponential ||
      !startsFrom(divisor, [](const APFloat &value) { return value.isZero(); }))
    return false;
  const Element *compared = reduced(largest, form.key, joins);
  if (!compared || !isa<arith::MaximumFOp, arith::MaxNumFOp>(joins) ||
      withoutCasts(compared) != scores ||
      !startsFrom(largest, [](const APFloat &value) {
        return value.isNegative() && (value.isInfinity() || value.isLargest());
      }))
    return false;
  if (condition && !matchEmptyRows(condition, zeroWhere, scores))
    return false;
  return matchScores(scores, 1.0) && qElement;
}

/// Whether it is s == -inf, or with `false` s != -inf.
bool Matcher::isMinusInfinity(const Element *element,
                              const Element *scores) const {
  auto cmp = cast<arith::CmpFOp>(element->op);
  (void)cmp;
  for (unsigned i : {0, 1}) {
    std::optional<double> number =
        constantOf(withoutCasts(element->operands[1 - i]));
    if (withoutCasts(element->operands[i]) == scores && number &&
        *number == -std::numeric_limits<double>::infinity())
      return true;
  }
  return false;
}

/// Whether a condition holds exactly for queries all of whose scores are -inf
/// (true), exactly for the others (false), or means something else.
std::optional<bool> Matcher::saysEmpty(const Element *condition,
                                       const Element *scores) {
  if (condition->kind == Kind::Leaf) {
    Operation *joins = nullptr;
    const Element *each = reduced(condition, form.key, joins);
    std::optional<Attribute> start = each ? startOf(condition) : std::nullopt;
    auto number = start ? dyn_cast<IntegerAttr>(*start) : IntegerAttr();
    if (!number || !number.getType().isInteger(1))
      return std::nullopt;
    bool all =
        isa<arith::AndIOp, arith::MulIOp>(joins) || isa<arith::MinUIOp>(joins);
    bool any = isa<arith::OrIOp>(joins) || isa<arith::MaxUIOp>(joins);
    if (all == any || number.getValue().isZero() != any)
      return std::nullopt;
    std::optional<bool> masked = saysEmpty(each, scores);
    // All masked, or any not masked.
    if (!masked || *masked != all)
      return std::nullopt;
    return masked;
  }
  if (computes<arith::CmpFOp>(condition)) {
    auto cmp = cast<arith::CmpFOp>(condition->op);
    Operation *joins = nullptr;
    // The largest score being -inf says the same of all.
    for (unsigned i : {0, 1}) {
      const Element *largest = withoutCasts(condition->operands[i]);
      const Element *compared = reduced(largest, form.key, joins);
      if (compared && isa<arith::MaximumFOp, arith::MaxNumFOp>(joins) &&
          withoutCasts(compared) == scores &&
          constantOf(withoutCasts(condition->operands[1 - i])) ==
              -std::numeric_limits<double>::infinity() &&
          cmp.getPredicate() == arith::CmpFPredicate::OEQ)
        return true;
    }
    if (!isMinusInfinity(condition, scores))
      return std::nullopt;
    if (cmp.getPredicate() == arith::CmpFPredicate::OEQ)
      return true;
    if (cmp.getPredicate() == arith::CmpFPredicate::UNE)
      return false;
    return std::nullopt;
  }
  auto constantBit = [](const Element *element) -> std::optional<bool> {
    if (element->kind == Kind::Constant)
      if (auto bit = dyn_cast<IntegerAttr>(element->constant))
        return !bit.getValue().isZero();
    return std::nullopt;
  };
  if (computes<arith::XOrIOp>(condition) && condition->type.isInteger(1))
    for (unsigned i : {0, 1})
      if (std::optional<bool> bit = constantBit(condition->operands[i]))
        if (std::optional<bool> other =
                saysEmpty(condition->operands[1 - i], scores))
          return *other != *bit;
  if (computes<arith::CmpIOp>(condition) &&
      condition->operands[0]->type.isInteger(1)) {
    auto predicate = cast<arith::CmpIOp>(condition->op).getPredicate();
    bool isEqual = predicate == arith::CmpIPredicate::eq;
    if (!isEqual && predicate != arith::CmpIPredicate::ne)
      return std::nullopt;
    for (unsigned i : {0, 1})
      if (std::optional<bool> bit = constantBit(condition->operands[i]))
        if (std::optional<bool> other =
                saysEmpty(condition->operands[1 - i], scores))
          return (*other == *bit) == isEqual;
  }
  if (computes<arith::SelectOp>(condition)) {
    std::optional<bool> first = constantBit(condition->operands[1]);
    std::optional<bool> second = constantBit(condition->operands[2]);
    if (first && second && *first != *second)
      if (std::optional<bool> other = saysEmpty(condition->operands[0], scores))
        return *other == *first;
  }
  return std::nullopt;
}

bool Matcher::matchEmptyRows(const Element *condition, bool zeroWhere,
                             const Element *scores) {
  std::optional<bool> empty = saysEmpty(condition, scores);
  zeroWithoutKeys = empty && *empty == zeroWhere;
  return zeroWithoutKeys;
}

/// factor * scores is what goes into the softmax; the product is somewhere in
/// it, and everything else does not depend on it.
bool Matcher::matchScores(const Element *scores, double factor) {
  scores = withoutCasts(scores);
  if (isContraction(scores))
    return matchProduct(scores, factor);
  if (scores->kind != Kind::Compute || scores->operands.size() < 2)
    return false;
  SmallVector<bool> inside;
  for (const Element *operand : scores->operands)
    inside.push_back(multiplies(operand));
  if (llvm::count(inside, true) != 1)
    return false;
  unsigned own = llvm::find(inside, true) - inside.begin();
  const Element *inner = scores->operands[own];
  if (auto select = dyn_cast<arith::SelectOp>(scores->op)) {
    if (own == 0)
      return false;
    std::optional<double> masked =
        constantOf(withoutCasts(scores->operands[own == 1 ? 2 : 1]));
    if (!masked)
      return false;
    terms.push_back({scores->operands[0], factor * *masked, /*isMask=*/true,
                     /*visible=*/own == 1});
    return matchScores(inner, factor);
  }
  const Element *other = scores->operands[1 - own];
  std::optional<double> number = constantOf(withoutCasts(other));
  if (isa<arith::MulFOp>(scores->op))
    return number && matchScores(inner, factor * *number);
  if (isa<arith::DivFOp>(scores->op))
    return own == 0 && number && *number != 0 &&
           matchScores(inner, factor / *number);
  if (isa<arith::AddFOp>(scores->op)) {
    terms.push_back({other, factor});
    return matchScores(inner, factor);
  }
  if (isa<arith::SubFOp>(scores->op) && own == 0) {
    terms.push_back({other, -factor});
    return matchScores(inner, factor);
  }
  return false;
}

bool Matcher::matchProduct(const Element *product, double factor) {
  std::optional<Contraction> contraction = plainProduct(product);
  if (!contraction || !std::isfinite(factor))
    return false;
  form.scores = contraction->op;
  form.headColumns.clear();
  std::optional<Indices> loops =
      loopsOf(contraction->op, product->indices, form.headColumns);
  if (!loops)
    return false;
  const Element *sides[2];
  for (auto [side, operand] : llvm::zip_equal(
           sides, ArrayRef<OpOperand *>{contraction->lhs, contraction->rhs}))
    side =
        graph.element(operand->get(),
                      applyMap(contraction->op.getMatchingIndexingMap(operand),
                               *loops, {}, graph.space()));
  bool first = sides[0]->dependsOn(form.key);
  if (first == sides[1]->dependsOn(form.key))
    return false;
  kElement = sides[first ? 0 : 1];
  qElement = sides[first ? 1 : 0];
  form.scale = factor;
  return true;
}

/// Which loop of the result goes over queries, and which over v's columns.
bool Matcher::chooseLoops(ArrayRef<const Element *> masks) {
  uint64_t masked = 0;
  for (const Element *mask : masks)
    masked |= mask->loops;
  form.batch.clear();
  form.valueColumns.clear();
  SmallVector<unsigned> candidates;
  uint64_t headColumns = 0;
  for (unsigned column : form.headColumns)
    headColumns |= uint64_t(1) << column;
  for (unsigned loop = 0; loop < form.numResultLoops; ++loop) {
    if (graph.extent(loop) == 1)
      continue;
    bool inScores = qElement->dependsOn(loop) || kElement->dependsOn(loop) ||
                    (masked >> loop & 1);
    if (!inScores && vElement->dependsOn(loop)) {
      form.valueColumns.push_back(loop);
      continue;
    }
    form.batch.push_back(loop);
    if (qElement->dependsOn(loop) && !kElement->dependsOn(loop) &&
        !vElement->dependsOn(loop))
      candidates.push_back(loop);
  }
  if (candidates.empty() || form.valueColumns.empty() ||
      form.headColumns.empty() || !vElement->dependsOn(form.key) ||
      (vElement->loops & headColumns) || (masked & headColumns))
    return false;
  // The mask tells, or else the order: queries stand before keys.
  SmallVector<unsigned> chosen;
  for (unsigned loop : candidates)
    if (masked >> loop & 1)
      chosen.push_back(loop);
  if (chosen.size() != 1) {
    ArrayRef<unsigned> among = chosen.empty() ? candidates : chosen;
    chosen.assign(1, among.back());
    for (unsigned loop : weightLoops)
      if (llvm::is_contained(among, loop))
        chosen.front() = loop;
  }
  form.query = chosen.front();
  llvm::erase(form.batch, form.query);
  return true;
}

/// Whether `loop` runs along one dimension of the tensor alone, as do columns
/// of q and k, and the tensor is not one that was repeated along a loop it does
/// not have in an attention.
bool Matcher::fits(const ElementPlace &place, unsigned loop) const {
  auto type = cast<RankedTensorType>(place.tensor.getType());
  if (type.getElementType() != form.elementType)
    return false;
  unsigned found = 0;
  for (AffineExpr expr : place.indices) {
    std::optional<LinearForm> linear = linearForm(expr, graph.numLoops(), 0);
    if (!linear && asTheyAre)
      return false;
    bool isPlain =
        linear && linear->constant >= 0 &&
        llvm::count(linear->dimStrides, 0) + 1 == int64_t(graph.numLoops()) &&
        llvm::is_contained(linear->dimStrides, 1);
    if (expr.isFunctionOfDim(loop)) {
      if (!isa<AffineDimExpr>(expr))
        return false;
      ++found;
    }
    for (unsigned column : form.headColumns)
      if (expr.isFunctionOfDim(column) && !isPlain)
        return false;
    if (loop == form.key ? expr.isFunctionOfDim(form.query)
                         : expr.isFunctionOfDim(form.key))
      return false;
  }
  return found == 1;
}

/// A tensor of the result's type that holds the element, up to a factor, and
/// of which `loop` runs along one dimension. Of several the one nearest to
/// where it is computed: fewer broadcasts and copies lie behind it.
bool Matcher::choosePlace(const Element *element, unsigned loop, bool scales,
                          ElementPlace &place) {
  bool found = false;
  double factor = 1.0, atPlace = 1.0;
  while (true) {
    for (const ElementPlace &candidate : graph.placesOf(element)) {
      if (!fits(candidate, loop))
        continue;
      place = candidate;
      atPlace = factor;
      found = true;
      break;
    }
    if (computes<arith::ExtFOp>(element) ||
        computes<arith::TruncFOp>(element)) {
      element = element->operands[0];
      continue;
    }
    if (!scales || element->kind != Kind::Compute)
      break;
    std::optional<double> number;
    const Element *inner = nullptr;
    if (isa<arith::MulFOp>(element->op)) {
      for (unsigned i : {0, 1})
        if (!number &&
            (number = constantOf(withoutCasts(element->operands[i]))))
          inner = element->operands[1 - i];
    } else if (isa<arith::DivFOp>(element->op)) {
      number = constantOf(withoutCasts(element->operands[1]));
      inner = element->operands[0];
      if (number && *number != 0)
        number = 1.0 / *number;
    }
    if (!number || !std::isfinite(*number))
      break;
    factor *= *number;
    element = inner;
  }
  form.scale *= atPlace;
  return found;
}

bool Matcher::choosePlaces() {
  SmallVector<const Element *> masks;
  for (const BiasTerm &term : terms)
    masks.push_back(term.value);
  if (!chooseLoops(masks))
    return false;
  form.elementType =
      cast<RankedTensorType>(form.result.getType()).getElementType();
  if (!form.elementType.isF64() && !form.elementType.isF32() &&
      !form.elementType.isF16() && !form.elementType.isBF16())
    return false;
  form.sumType = form.elementType.isF64()
                     ? form.elementType
                     : Float32Type::get(form.elementType.getContext());
  if (!choosePlace(qElement, form.query, /*scales=*/true, form.q) ||
      !choosePlace(kElement, form.key, /*scales=*/true, form.k) ||
      !choosePlace(vElement, form.key, /*scales=*/false, form.v) ||
      !std::isfinite(form.scale))
    return false;
  // Operands are read at linear functions of loops.
  cuts.assign(form.numResultLoops, {});
  SmallVector<SmallVector<int64_t>> all(graph.numLoops());
  bool linear = true;
  for (const ElementPlace *place : {&form.q, &form.k, &form.v})
    for (AffineExpr expr : place->indices) {
      collectCuts(expr, all);
      linear &= linearForm(expr, graph.numLoops(), 0).has_value();
    }
  if (!linear) {
    std::copy(all.begin(), all.begin() + form.numResultLoops, cuts.begin());
    return false;
  }
  return splitMask(form, terms, zeroWithoutKeys, known);
}

/// Whether the scores are used for the result alone, and nothing that the
/// attention reads depends on them.
static bool isClosed(const AttentionForm &form) {
  Operation *first = form.scores, *last = form.result.getDefiningOp();
  Block *block = first->getBlock();
  // Ops without use once the result has none.
  llvm::DenseSet<Operation *> dead = {last};
  for (Operation *op = last->getPrevNode(); op; op = op->getPrevNode()) {
    bool unused = llvm::all_of(op->getUsers(), [&](Operation *user) {
      Operation *outer = block->findAncestorOpInBlock(*user);
      return outer && dead.contains(outer);
    });
    if (unused && !op->use_empty() && isMemoryEffectFree(op))
      dead.insert(op);
    if (op == first)
      break;
  }
  if (!dead.contains(first))
    return false;
  llvm::DenseSet<Operation *> dependent = {first};
  for (Operation *op = first->getNextNode(); op && op != last;
       op = op->getNextNode()) {
    bool depends = false;
    op->walk([&](Operation *inner) {
      for (Value operand : inner->getOperands())
        depends |= dependent.contains(operand.getDefiningOp());
    });
    if (depends)
      dependent.insert(op);
  }
  SmallVector<const Element *> work;
  for (const BiasTerm &term : form.bias)
    work.push_back(term.value);
  llvm::DenseSet<const Element *> seen;
  while (!work.empty()) {
    const Element *element = work.pop_back_val();
    if (!seen.insert(element).second)
      continue;
    if (element->value && dependent.contains(element->value.getDefiningOp()))
      return false;
    llvm::append_range(work, element->operands);
  }
  return llvm::none_of(
      ArrayRef<Value>{form.q.tensor, form.k.tensor, form.v.tensor},
      [&](Value tensor) { return dependent.contains(tensor.getDefiningOp()); });
}

/// Values that may be the attention's result: the product, and what casts or a
/// division make of it.
static SmallVector<Value> resultsFrom(Operation *product) {
  SmallVector<Value> found = {product->getResult(0)};
  Value value = product->getResult(0);
  while (value.hasOneUse()) {
    auto user = dyn_cast<linalg::LinalgOp>(*value.user_begin());
    Operation *op = *value.user_begin();
    if (op->getNumResults() != 1 ||
        !isa<RankedTensorType>(op->getResult(0).getType()))
      break;
    value = op->getResult(0);
    if (viewOf(value))
      continue;
    if (!user || !user.hasPureTensorSemantics() || !isElementwise(user) ||
        !llvm::all_of(user.getBlock()->without_terminator(), [](Operation &op) {
          return isa<arith::ExtFOp, arith::TruncFOp, arith::DivFOp>(op);
        }))
      break;
    found.push_back(value);
  }
  return found;
}

std::unique_ptr<AttentionForm> tp::target::attentionOf(Operation *op,
                                                       KnownTerms &known) {
  if (!contractionOf(op))
    return nullptr;
  // The last one that is an attention leaves the least to do behind it.
  SmallVector<Value> results = resultsFrom(op);
  for (Value result : llvm::reverse(results)) {
    MLIRContext *context = op->getContext();
    Refinement refinement;
    refinement.extents.assign(shapeOf(result).begin(), shapeOf(result).end());
    refinement.old = identityIndices(refinement.extents.size(), context);
    if (llvm::is_contained(refinement.extents, 0))
      return nullptr;
    // Reshapes behind the operands cut loops; what they resolve may cut more.
    bool asTheyAre = false;
    SmallVector<unsigned> dims =
        llvm::to_vector(llvm::seq<unsigned>(0, refinement.extents.size()));
    for (int round = 0; round < 6; ++round) {
      if (refinement.extents.size() > ElementGraph::mostLoops / 2)
        break;
      auto form = std::make_unique<AttentionForm>(context);
      form->result = result;
      for (int64_t extent : refinement.extents)
        form->graph.addLoop(extent);
      form->numResultLoops = refinement.extents.size();
      form->resultDims = dims;
      form->resultIndex = simplify(refinement.old, form->graph.space());
      Matcher matcher(*form, known, asTheyAre);
      if (matcher.match()) {
        if (form->output == op && isClosed(*form))
          return form;
        break;
      }
      Refinement finer = matcher.cuts.empty() ? Refinement()
                                              : refine(refinement.extents,
                                                       matcher.cuts, context);
      if (!finer.changed) {
        if (matcher.cuts.empty() || std::exchange(asTheyAre, true))
          break;
        continue;
      }
      IndexSpace space = IndexSpace::ofExtents(finer.extents);
      for (AffineExpr &old : refinement.old)
        old = simplify(old.replaceDims(finer.old), space);
      refinement.extents = finer.extents;
      SmallVector<unsigned> parts;
      for (unsigned owner : finer.owner)
        parts.push_back(dims[owner]);
      dims = parts;
    }
  }
  return nullptr;
}
