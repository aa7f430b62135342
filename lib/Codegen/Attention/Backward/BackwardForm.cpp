//===- BackwardForm.cpp - the gradients of an attention -------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BackwardForm.h"
#include "Attention/AttentionMatcher.h"
#include "ElementSums.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace tp::target;
using Kind = Element::Kind;

namespace {
class BackwardMatcher : AttentionMatcher {
public:
  BackwardMatcher(AttentionForm &form, KnownTerms &known)
      : AttentionMatcher(form, known, /*asTheyAre=*/false), form(form),
        graph(form.graph), q(withoutFactors(form.qElement)),
        k(withoutFactors(form.kElement)), v(withoutFactors(form.vElement)) {}

  std::optional<BackwardForm> match();

private:
  bool matchWithScoreGradient(const Contraction &product);
  bool matchWithWeights(const Contraction &product);
  bool note(std::optional<GradientProduct> &gradient,
            const Contraction &product, LoopSolution loops, double factor);
  bool notePadding(const Contraction &product, const LoopSolution &loops);
  std::optional<ElementSum> known(const Element *element);
  std::optional<double> productOfGradients(const Element *leaf);
  std::optional<double> readProductOfGradients(const Element *leaf);
  const Element *withoutMask(const Element *select);
  std::optional<ElementSum> sum(const Element *element) {
    return sumOf(element, [&](const Element *each) { return known(each); });
  }
  SmallVector<ElementPlace> anchors(ArrayRef<const Element *> elements) {
    SmallVector<ElementPlace> places = {
        {form.scores->getResult(0), form.scored->indices}};
    for (const Element *element : elements)
      llvm::append_range(places, graph.placesOf(element));
    return places;
  }
  /// The factors of a product, over the graph's loops.
  std::pair<const Element *, const Element *>
  factorsOf(const Contraction &product, const LoopSolution &loops) {
    Indices at = loops.ofOp(graph.space());
    linalg::LinalgOp op = product.op;
    auto element = [&](OpOperand *operand) {
      return graph.element(
          operand->get(),
          applyMap(op.getMatchingIndexingMap(operand), at, {}, graph.space()));
    };
    return {element(product.lhs), element(product.rhs)};
  }

  AttentionForm &form;
  ElementGraph &graph;
  ScaledElement q, k, v;
  BackwardForm found;
  /// What stands for go[i] . v[j], and for the sum of p times that.
  const Element productMark{}, meanMark{};
  std::map<const Element *, std::optional<double>> gradientProducts;
};
} // namespace

/// The products that read what is made of the scores, without other products
/// between; none where something else in the end reads that.
static std::optional<SmallVector<Contraction, 0>>
productsOf(const AttentionForm &form) {
  llvm::SetVector<Operation *> reached;
  SmallVector<Contraction, 0> products;
  reached.insert(form.scores);
  for (unsigned i = 0; i < reached.size(); ++i) {
    std::optional<Contraction> product =
        i == 0 ? std::nullopt : contractionOf(reached[i]);
    if (product) {
      if (reached[i] != form.output)
        products.push_back(*product);
      continue;
    }
    if (reached[i]->hasTrait<OpTrait::IsTerminator>())
      return std::nullopt;
    for (Operation *user : reached[i]->getUsers())
      reached.insert(form.scores->getBlock()->findAncestorOpInBlock(*user));
  }
  return products;
}

/// Whether sums start from zero, and have the type of an attention's operands
/// or sums.
static bool isGradient(const Contraction &product, const AttentionForm &form) {
  if (product.terms)
    return false;
  linalg::LinalgOp op = product.op;
  std::optional<Splat> start = splatOf(op.getDpsInitOperand(0)->get());
  auto zero =
      start ? dyn_cast_if_present<FloatAttr>(start->constant) : FloatAttr();
  Type type = getElementTypeOrSelf(op->getResult(0));
  return zero && zero.getValue().isZero() &&
         (type == form.elementType || type == form.sumType);
}

/// Notes which queries are padding, for a product that adds up others. False if
/// it leaves out something else, or others than the products before do.
bool BackwardMatcher::notePadding(const Contraction &product,
                                  const LoopSolution &loops) {
  if (product.prefixes.empty())
    return true;
  const LoopPrefix &prefix = product.prefixes.front();
  if (product.prefixes.size() > 1 || !prefix.loop)
    return false;
  SmallVector<unsigned> shortened;
  for (auto [number, owner] : llvm::enumerate(loops.loops.owner))
    if (owner == *prefix.loop)
      if (std::optional<unsigned> loop = loops.loop(number))
        shortened.push_back(*loop);
  if (shortened != SmallVector<unsigned>{form.query})
    return false;
  if (found.queries && found.queries->counts != prefix.counts)
    return false;
  found.queries = prefix;
  return true;
}

/// Two batch loops, or a loop that reduces twice, are not a gradient's.
bool BackwardMatcher::note(std::optional<GradientProduct> &gradient,
                           const Contraction &product, LoopSolution loops,
                           double factor) {
  bool ofKeys = &gradient != &found.q, ofValues = &gradient == &found.v;
  unsigned reduced = ofKeys ? form.query : form.key,
           row = ofKeys ? form.key : form.query;
  SmallVector<unsigned> parallel, reductions;
  auto iterators = linalg::LinalgOp(product.op).getIteratorTypesArray();
  for (auto [number, owner] : llvm::enumerate(loops.loops.owner))
    if (std::optional<unsigned> loop = loops.loop(number))
      (iterators[owner] == utils::IteratorType::reduction ? reductions
                                                          : parallel)
          .push_back(*loop);
  // Heads that share keys may be added up in the product.
  SmallVector<unsigned> all = form.batch;
  all.push_back(row);
  all.push_back(reduced);
  llvm::append_range(all, ofValues ? form.valueColumns : form.headColumns);
  SmallVector<unsigned> given = parallel;
  llvm::append_range(given, reductions);
  llvm::sort(all);
  llvm::sort(given);
  bool fits = given == all && llvm::is_contained(reductions, reduced) &&
              llvm::all_of(reductions, [&](unsigned loop) {
                return loop == reduced ||
                       (ofKeys && llvm::is_contained(form.batch, loop));
              });
  if (!fits || gradient || !isGradient(product, form) ||
      !notePadding(product, loops))
    return false;
  gradient = GradientProduct{product, std::move(loops), factor};
  return true;
}

/// A select that hides what is 0 anyway: the weights of masked keys, and of
/// queries without keys.
const Element *BackwardMatcher::withoutMask(const Element *select) {
  const Element *condition = select->operands[0];
  for (unsigned own : {1, 2}) {
    if (constantOf(withoutCasts(select->operands[3 - own])) != 0.0)
      continue;
    bool visible = own == 1;
    for (const BiasTerm &term : form.terms) {
      bool isTerm =
          term.isMask && term.value == condition && term.visible == visible;
      // A finite number hides nothing from a query that sees no other key.
      bool isAdded = llvm::any_of(form.bias, [&](const BiasTerm &added) {
        return added.value == term.value && added.isMask;
      });
      if (isTerm && (std::isinf(term.factor) || !isAdded))
        return select->operands[own];
    }
    std::optional<bool> empty = saysEmpty(condition, form.shifted);
    if (empty && *empty != visible)
      return select->operands[own];
  }
  return nullptr;
}

std::optional<ElementSum> BackwardMatcher::known(const Element *element) {
  auto mark =
      [](double factor,
         std::initializer_list<std::pair<const Element *const, int>> powers) {
        return ElementSum{{factor, std::map<const Element *, int>(powers)}};
      };
  if (element == form.exponential || element == form.divisor)
    return mark(1.0, {{element, 1}});
  if (computes<arith::SelectOp>(element)) {
    const Element *inner = withoutMask(element);
    return inner ? sum(inner) : std::nullopt;
  }
  if (element->kind != Kind::Leaf || !element->dependsOn(form.query))
    return std::nullopt;
  if (element->dependsOn(form.key)) {
    std::optional<double> factor = productOfGradients(element);
    return factor ? std::optional(mark(*factor, {{&productMark, 1}}))
                  : std::nullopt;
  }
  // The sum over keys of p times go . v.
  Operation *joins = nullptr;
  const Element *each = reduced(element, form.key, joins);
  if (!each || !isa<arith::AddFOp>(joins) ||
      !startsFrom(element, [](const APFloat &value) { return value.isZero(); }))
    return std::nullopt;
  std::optional<ElementSum> summed = sum(each);
  if (!summed || summed->size() != 1)
    return std::nullopt;
  ElementProduct product = summed->front();
  if (product.powers[&productMark] != 1 ||
      product.powers[form.exponential] != 1)
    return std::nullopt;
  product.powers.erase(&productMark);
  product.powers.erase(form.exponential);
  int divided = product.powers[form.divisor];
  product.powers.erase(form.divisor);
  if (!product.powers.empty())
    return std::nullopt;
  ElementProduct mean;
  mean.factor = product.factor;
  mean.powers[&meanMark] = 1;
  if (divided + 1 != 0)
    mean.powers[form.divisor] = divided + 1;
  return ElementSum{mean};
}

/// For a product over the columns of v of something with v, what it is of
/// go[i] . v[j]; notes go.
std::optional<double> BackwardMatcher::productOfGradients(const Element *leaf) {
  auto it = gradientProducts.find(leaf);
  if (it != gradientProducts.end())
    return it->second;
  std::optional<double> factor = readProductOfGradients(leaf);
  return gradientProducts[leaf] = factor;
}

std::optional<double>
BackwardMatcher::readProductOfGradients(const Element *leaf) {
  if (leaf->value == form.scores->getResult(0))
    return std::nullopt;
  std::optional<Contraction> product = plainProduct(leaf);
  if (!product)
    return std::nullopt;
  std::optional<LoopSolution> loops =
      solveLoops(*product, graph, graph.placesOf(v.core), &leaf->indices);
  if (!loops)
    return std::nullopt;
  auto [first, second] = factorsOf(*product, *loops);
  for (auto [side, other] :
       {std::pair(first, second), std::pair(second, first)}) {
    ScaledElement values = withoutFactors(side);
    ScaledElement gradient = withoutFactors(other);
    if (values.core != v.core || gradient.core->dependsOn(form.key))
      continue;
    if (found.resultGradient && found.resultGradient != gradient.core)
      return std::nullopt;
    // All columns, each once.
    SmallVector<unsigned> columns;
    auto iterators = linalg::LinalgOp(product->op).getIteratorTypesArray();
    for (auto [number, owner] : llvm::enumerate(loops->loops.owner))
      if (iterators[owner] == utils::IteratorType::reduction)
        if (std::optional<unsigned> loop = loops->loop(number))
          columns.push_back(*loop);
    llvm::sort(columns);
    SmallVector<unsigned> all = form.valueColumns;
    llvm::sort(all);
    if (columns != all)
      return std::nullopt;
    found.resultGradient = gradient.core;
    return gradient.factor * values.factor / v.factor;
  }
  return std::nullopt;
}

/// gq or gk: the gradient of the scores times k or q.
bool BackwardMatcher::matchWithScoreGradient(const Contraction &product) {
  for (bool ofKeys : {false, true}) {
    const ScaledElement &with = ofKeys ? q : k;
    std::optional<LoopSolution> loops =
        solveLoops(product, graph, anchors(with.core));
    if (!loops)
      continue;
    auto [first, second] = factorsOf(product, *loops);
    for (auto [side, other] :
         {std::pair(first, second), std::pair(second, first)}) {
      ScaledElement rows = withoutFactors(other);
      if (rows.core != with.core)
        continue;
      std::optional<ElementSum> sums = sum(side);
      if (!sums || sums->size() != 2)
        continue;
      if (sums->front().powers.count(&meanMark))
        std::swap(sums->front(), sums->back());
      double factor = sums->front().factor;
      auto expected = [&](double sign, const Element *mark) {
        ElementProduct product;
        product.factor = sign * factor;
        product.powers = {{form.exponential, 1}, {form.divisor, -1}, {mark, 1}};
        return product;
      };
      if (factor == 0 || sums->front() != expected(1.0, &productMark) ||
          sums->back() != expected(-1.0, &meanMark))
        continue;
      // The form's scale is that of its own q and k.
      factor *=
          rows.factor * (ofKeys ? form.qFactor : form.kFactor) / with.factor;
      return note(ofKeys ? found.k : found.q, product, std::move(*loops),
                  factor / form.scale);
    }
  }
  return false;
}

/// gv: the weights times go.
bool BackwardMatcher::matchWithWeights(const Contraction &product) {
  if (!found.resultGradient)
    return false;
  std::optional<LoopSolution> loops =
      solveLoops(product, graph, anchors(found.resultGradient));
  if (!loops)
    return false;
  auto [first, second] = factorsOf(product, *loops);
  for (auto [side, other] :
       {std::pair(first, second), std::pair(second, first)}) {
    ScaledElement rows = withoutFactors(other);
    if (rows.core != found.resultGradient)
      continue;
    std::optional<ElementSum> sums = sum(side);
    ElementProduct weights;
    weights.powers = {{form.exponential, 1}, {form.divisor, -1}};
    if (!sums || sums->size() != 1 || sums->front().powers != weights.powers)
      continue;
    return note(found.v, product, std::move(*loops),
                sums->front().factor * rows.factor);
  }
  return false;
}

/// Whether an element is computed of what `op` makes.
static bool readsFrom(const Element *element, Operation *op) {
  return element->value && element->value.getDefiningOp() == op
             ? true
             : llvm::any_of(element->operands, [&](const Element *operand) {
                 return readsFrom(operand, op);
               });
}

std::optional<BackwardForm> BackwardMatcher::match() {
  // A row without keys is NaN, and so is all that it gives to others; by bounds
  // it would give nothing.
  if (form.emptyRows == EmptyRows::NaN &&
      (form.hasSpans || form.lower || form.upper))
    return std::nullopt;
  std::optional<SmallVector<Contraction, 0>> products = productsOf(form);
  if (!products || products->empty() || products->size() > 3)
    return std::nullopt;
  SmallVector<Contraction, 0> others;
  for (const Contraction &product : *products)
    if (!matchWithScoreGradient(product))
      others.push_back(product);
  for (const Contraction &product : others)
    if (!matchWithWeights(product))
      return std::nullopt;
  if (!found.resultGradient)
    return std::nullopt;
  ElementPlace place;
  auto isThere = [&](Value tensor) {
    Operation *maker = tensor.getDefiningOp();
    return !maker || maker->isBeforeInBlock(found.first());
  };
  if (choosePlace(found.resultGradient, form.query, /*scale=*/nullptr, place) &&
      isThere(place.tensor))
    found.place = place;
  // The product is gone once the result is made without it.
  else if (form.output != form.result.getDefiningOp() &&
           readsFrom(found.resultGradient, form.output))
    return std::nullopt;
  return std::move(found);
}

std::optional<BackwardForm> tp::target::backwardOf(AttentionForm &form,
                                                   KnownTerms &known) {
  return BackwardMatcher(form, known).match();
}
