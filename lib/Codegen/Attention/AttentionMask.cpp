//===- AttentionMask.cpp - what is added to scores ------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A mask that is known at compile time is evaluated, and becomes bounds on
// j - i if that is exactly what it is.
//
//===----------------------------------------------------------------------===//

#include "AttentionMatcher.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "tp/IR/TP.h"

using namespace mlir;
using namespace tp::target;

/// Of a key with a number like this added, and others without, the softmax is
/// exactly 0: no score of f32 that is not within rounding of it brings it back.
/// Such a number also swallows any score that it is added to, so that among
/// keys that all have it the softmax is uniform.
static constexpr double finiteMask = -1e30;

/// More than this is not evaluated.
static constexpr int64_t mostEvaluated = int64_t(1) << 28;

/// Bounds are sought query by query; no real program has more.
static constexpr int64_t mostQueries = int64_t(1) << 24;

static constexpr double infinity = std::numeric_limits<double>::infinity();

static double rounded(double number, Type type) {
  APFloat value(number);
  bool inexact = false;
  value.convert(cast<FloatType>(type).getFloatSemantics(),
                APFloat::rmNearestTiesToEven, &inexact);
  return value.convertToDouble();
}

/// The number that a constant is after its casts.
static bool isConstant(const Element *element, double &number) {
  if (isFreeCast(element)) {
    if (!isConstant(element->operands.front(), number))
      return false;
    number = rounded(number, element->type);
    return true;
  }
  if (element->kind != Element::Kind::Constant)
    return false;
  auto attribute = dyn_cast<FloatAttr>(element->constant);
  if (attribute)
    number = attribute.getValueAsDouble();
  return bool(attribute);
}

/// An addend that is 0 or a masking number becomes a mask.
static BiasTerm asMask(BiasTerm term) {
  const Element *value = term.value;
  SmallVector<Type> casts;
  for (; isFreeCast(value); value = value->operands.front())
    casts.push_back(value->type);
  double numbers[2];
  if (term.isMask || value->kind != Element::Kind::Compute ||
      !isa<arith::SelectOp>(value->op) ||
      !isConstant(value->operands[1], numbers[0]) ||
      !isConstant(value->operands[2], numbers[1]))
    return term;
  // A finite number may round to an infinite one.
  for (Type type : llvm::reverse(casts))
    for (double &number : numbers)
      number = rounded(number, type);
  for (int seen : {0, 1})
    if (numbers[seen] == 0 && numbers[1 - seen] * term.factor <= finiteMask)
      return {value->operands[0], numbers[1 - seen] * term.factor,
              /*isMask=*/true, /*visible=*/seen == 0};
  return term;
}

/// A key is seen where all of several conditions hold: each is a mask.
static void splitConditions(const BiasTerm &term,
                            SmallVectorImpl<BiasTerm> &terms) {
  auto computes = [&](auto op) {
    return term.value->kind == Element::Kind::Compute &&
           isa<decltype(op)>(term.value->op);
  };
  bool splits =
      term.isMask && term.factor == -infinity &&
      (term.visible ? computes(arith::AndIOp()) : computes(arith::OrIOp()));
  if (!splits) {
    terms.push_back(term);
    return;
  }
  for (const Element *operand : term.value->operands) {
    BiasTerm part = term;
    part.value = operand;
    splitConditions(part, terms);
  }
}

/// Visits all indices of `loops`; false to stop.
static bool forEachIndex(const ElementGraph &graph, ArrayRef<unsigned> loops,
                         SmallVectorImpl<int64_t> &at,
                         function_ref<bool()> visit) {
  while (true) {
    if (!visit())
      return false;
    int64_t d = int64_t(loops.size()) - 1;
    for (; d >= 0 && ++at[loops[d]] == graph.extent(loops[d]); --d)
      at[loops[d]] = 0;
    if (d < 0)
      return true;
  }
}

/// A text that is the same for terms of which the same is known.
static std::string keyOf(const AttentionForm &form, const BiasTerm &term) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << llvm::bit_cast<uint64_t>(term.factor) << term.isMask << term.visible
     << ' ' << form.key << ' ' << form.query;
  std::map<const Element *, unsigned> numbers;
  auto print = [&](auto &self, const Element *element) -> unsigned {
    auto it = numbers.find(element);
    if (it != numbers.end())
      return it->second;
    SmallVector<unsigned> operands;
    for (const Element *operand : element->operands)
      operands.push_back(self(self, operand));
    os << "; " << int(element->kind) << ' ' << element->type;
    if (element->constant)
      os << ' ' << element->constant;
    if (element->index)
      os << ' ' << element->index;
    os << ' ' << element->value.getAsOpaquePointer();
    for (AffineExpr expr : element->indices)
      os << ' ' << expr;
    if (element->op)
      os << ' ' << element->op->getName() << element->op->getAttrDictionary();
    for (unsigned operand : operands)
      os << " %" << operand;
    unsigned number = numbers.size();
    numbers[element] = number;
    return number;
  };
  print(print, term.value);
  for (unsigned loop = 0; loop < form.graph.numLoops(); ++loop)
    if (loop == form.key || loop == form.query || term.value->dependsOn(loop))
      os << "; " << loop << '<' << form.extent(loop);
  return text;
}

/// The positions on the mesh that an element depends on, by itself or through
/// the tensors that it reads; none where a tensor is the work of many ops.
static llvm::SetVector<Value> axisIndicesIn(const Element *element) {
  constexpr size_t mostOps = 512;
  llvm::SetVector<Value> found;
  llvm::SmallDenseSet<const Element *> seen;
  SmallVector<const Element *> work{element};
  llvm::SetVector<Operation *> ops;
  auto note = [&](Value value) {
    if (value && value.getDefiningOp())
      ops.insert(value.getDefiningOp());
  };
  while (!work.empty()) {
    const Element *next = work.pop_back_val();
    if (!seen.insert(next).second)
      continue;
    note(next->value);
    llvm::append_range(work, next->operands);
  }
  for (size_t i = 0; i < ops.size(); ++i) {
    if (ops.size() > mostOps)
      return {};
    if (isa<tp::AxisIndexOp>(ops[i]))
      found.insert(ops[i]->getResult(0));
    else
      ops[i]->walk([&](Operation *inner) {
        llvm::for_each(inner->getOperands(), note);
      });
  }
  return found;
}

/// The keys that each query sees, into `spans`; false if they are not known.
static bool evaluate(const AttentionForm &form, const BiasTerm &term,
                     ArrayRef<unsigned> others, RowEvaluator &rows,
                     KnownTerm &known, std::vector<KeySpan> &spans) {
  bool byQuery = term.value->dependsOn(form.query);
  spans.assign(byQuery ? form.extent(form.query) : 1, {-1, -1});
  return forEachIndex(form.graph, others, rows.at(), [&] {
    const NumberRow *row = rows.row(term.value);
    if (!row)
      return false;
    KeySpan span{form.extent(form.key), 0};
    int64_t seen = 0;
    row->forEachRange([&](int64_t begin, int64_t end, Number number) {
      bool isSeen;
      if (term.isMask) {
        isSeen = (number.integer != 0) == term.visible;
        known.hasInfinity |= !isSeen && term.factor == -infinity;
        known.hasFinite |= !isSeen && term.factor > -infinity;
      } else {
        double added = rounded(number.real * term.factor, form.sumType);
        isSeen = added == 0;
        known.hasInfinity |= !(added > -infinity);
        known.hasFinite |= !isSeen && added > -infinity;
        if (!isSeen && !(added <= finiteMask))
          known.isMask = false;
      }
      if (!isSeen)
        return;
      seen += end - begin;
      span.first = std::min(span.first, begin);
      span.end = end;
    });
    if (seen == 0)
      span = {0, 0};
    KeySpan &noted = spans[byQuery ? rows.at()[form.query] : 0];
    if (seen != span.end - span.first ||
        (noted.first >= 0 &&
         (noted.first != span.first || noted.end != span.end)))
      known.isMask = false;
    noted = span;
    return true;
  });
}

static KnownTerm evaluate(const AttentionForm &form, const BiasTerm &term,
                          KnownTerms &terms) {
  const ElementGraph &graph = form.graph;
  KnownTerm known;
  int64_t count = form.extent(form.key);
  SmallVector<unsigned> others;
  for (unsigned loop = 0; loop < graph.numLoops(); ++loop)
    if (loop != form.key && term.value->dependsOn(loop)) {
      others.push_back(loop);
      count *= graph.extent(loop);
    }
  if (count > mostEvaluated)
    return known;
  known.isMask = true;
  llvm::SetVector<Value> indices = axisIndicesIn(term.value);
  if (indices.empty()) {
    RowEvaluator rows(graph, terms.tensors, form.key);
    known.isKnown =
        evaluate(form, term, others, rows, known, known.spans.emplace_back());
    return known;
  }
  if (!terms.mayDifferByRank)
    return known;
  const tp::Mesh &mesh = indices.front()
                             .getDefiningOp<tp::AxisIndexOp>()
                             .getAxes()
                             .getMesh()
                             .getValue();
  // Ranks that differ on other axes see the same.
  std::map<SmallVector<int64_t>, unsigned> lists;
  for (int64_t rank = 0; rank < mesh.numRanks(); ++rank) {
    SmallVector<int64_t> positions;
    for (Value index : indices) {
      auto axes = index.getDefiningOp<tp::AxisIndexOp>().getAxes();
      int64_t &position = positions.emplace_back(0);
      for (tp::AxisPart part : axes.getParts())
        position = position * part.size + mesh.coordinate(rank, part);
    }
    auto [it, isNew] = lists.try_emplace(positions, lists.size());
    known.listOfRank.push_back(it->second);
    if (!isNew)
      continue;
    if (count * int64_t(lists.size()) > mostEvaluated)
      return KnownTerm();
    StaticTensors tensors;
    for (auto [index, position] : llvm::zip_equal(indices, positions))
      tensors.set(index, position);
    RowEvaluator rows(graph, tensors, form.key);
    if (!evaluate(form, term, others, rows, known,
                  known.spans.emplace_back()) ||
        !known.isMask)
      return KnownTerm();
  }
  known.isKnown = true;
  return known;
}

/// The bounds of which these are the keys that queries see, if there are any.
static bool boundsOf(AttentionForm &form, ArrayRef<KeySpan> spans) {
  int64_t keys = form.extent(form.key);
  std::optional<int64_t> lower, upper;
  for (auto [i, span] : llvm::enumerate(spans)) {
    if (span.isEmpty())
      continue;
    if (span.first > 0)
      lower = span.first - int64_t(i);
    if (span.end < keys)
      upper = span.end - 1 - int64_t(i);
  }
  for (auto [i, span] : llvm::enumerate(spans)) {
    KeySpan bound{0, keys};
    if (lower)
      bound.first = std::max<int64_t>(0, *lower + int64_t(i));
    if (upper)
      bound.end = std::min(keys, *upper + int64_t(i) + 1);
    if (bound.isEmpty() != span.isEmpty() ||
        (!span.isEmpty() &&
         (bound.first != span.first || bound.end != span.end)))
      return false;
  }
  form.lower = lower;
  form.upper = upper;
  return true;
}

/// The keys that queries see, all together.
static int64_t seenIn(ArrayRef<KeySpan> spans) {
  int64_t seen = 0;
  for (const KeySpan &span : spans)
    seen += std::max<int64_t>(0, span.end - span.first);
  return seen;
}

bool tp::target::splitMask(AttentionForm &form, ArrayRef<BiasTerm> given,
                           bool zeroWithoutKeys, KnownTerms &known) {
  if (form.extent(form.query) > mostQueries)
    return false;
  SmallVector<BiasTerm> terms;
  for (BiasTerm term : given) {
    if (term.isMask)
      term.factor = rounded(term.factor, form.sumType);
    splitConditions(asMask(term), terms);
  }
  bool replaces = false;
  for (const BiasTerm &term : given) {
    if (!term.isMask)
      continue;
    // Scores are replaced, by something that they do not swallow.
    if (!(term.factor <= finiteMask))
      return false;
    replaces |= term.factor != -infinity;
  }
  SmallVector<const KnownTerm *> whatIsKnown;
  const SmallVector<KeySpan, 0> all(form.extent(form.query),
                                    {0, form.extent(form.key)});
  // Of every rank, or of all.
  SmallVector<SmallVector<KeySpan, 0>, 1> spansOfRank = {all};
  bool finite = false, anyUnknown = false, anyEmpty = false;
  for (const BiasTerm &term : terms) {
    auto [it, inserted] = known.terms.try_emplace(keyOf(form, term));
    if (inserted)
      it->second = evaluate(form, term, known);
    const KnownTerm &last = it->second;
    whatIsKnown.push_back(&last);
    bool isMask = last.isKnown && last.isMask;
    anyUnknown |= !isMask;
    if (!isMask)
      continue;
    // What masks is finite.
    finite |= last.hasFinite;
    if (!last.listOfRank.empty() && spansOfRank.size() == 1)
      spansOfRank.assign(last.listOfRank.size(), spansOfRank.front());
    for (auto [rank, spans] : llvm::enumerate(spansOfRank)) {
      const std::vector<KeySpan> &list =
          last.spans[last.listOfRank.empty() ? 0 : last.listOfRank[rank]];
      for (auto [i, span] : llvm::enumerate(spans)) {
        const KeySpan &own = list[list.size() == 1 ? 0 : i];
        span.first = std::max(span.first, own.first);
        span.end = std::min(span.end, own.end);
      }
    }
  }
  for (const SmallVector<KeySpan, 0> &spans : spansOfRank)
    for (const KeySpan &span : spans)
      anyEmpty |= span.isEmpty();
  // Where all keys of a query are masked by a finite number, or all others by
  // something else, they are seen after all.
  bool exact = !finite || (!anyEmpty && !anyUnknown);
  bool hasBounds =
      exact && (spansOfRank.size() == 1 ? boundsOf(form, spansOfRank.front())
                                        : !anyUnknown);
  bool mayBeEmpty = hasBounds && anyEmpty;
  if (hasBounds && spansOfRank.size() > 1) {
    form.hasSpans = true;
    for (ArrayRef<KeySpan> spans : spansOfRank)
      form.mostSeen = std::max(form.mostSeen, seenIn(spans));
  }
  for (auto [term, what] : llvm::zip_equal(terms, whatIsKnown)) {
    if (hasBounds && what->isKnown && what->isMask) {
      form.spanMasks.push_back(term);
      continue;
    }
    form.bias.push_back(term);
    mayBeEmpty |= !what->isKnown || what->hasInfinity;
  }
  // The sum of finite numbers may be infinite. Where the program says what is
  // then, that is what is.
  mayBeEmpty |= form.bias.size() > 1 || (zeroWithoutKeys && !form.bias.empty());
  // Added where the program replaces: with another term that may mask too the
  // sum is another number than either.
  if (replaces && form.bias.size() > 1)
    return false;
  if (mayBeEmpty)
    form.emptyRows = zeroWithoutKeys ? EmptyRows::Zero : EmptyRows::NaN;
  return true;
}
