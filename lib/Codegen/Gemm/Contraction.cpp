//===- Contraction.cpp - contractions as GEMM calls -----------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A contraction is one GEMM when the addresses of its three operands are linear
// in its loops and the loops of each kind (batch, m, n, k) join to few. Loops
// of kind m and n that do not join become batch loops. Of the k indices a rank
// may have only the first ones.
//
//===----------------------------------------------------------------------===//

#include "GemmLoops.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace tp::target;

int64_t Gemm::matrices() const {
  int64_t count = 1;
  for (int64_t size : batch)
    count *= size;
  return count;
}

int64_t Gemm::flops() const { return 2 * m * n * k * matrices(); }

/// How many matrices a product has at least.
static int64_t matricesOf(const LoopsByKind &loops) {
  int64_t count = 1;
  for (const GemmLoop &loop : loops.batch)
    count *= loop.extent;
  return count;
}

SmallVector<Value, 4> Gemm::reads() const {
  SmallVector<Value, 4> values = {a.root, b.root};
  if (addsToC())
    values.push_back(c.root);
  for (const std::optional<GemmOperand> &term :
       {residual, bias, rows, terms, places})
    if (term)
      values.push_back(term->root);
  return values;
}

/// Sets `k` to how many of a rank's k indices count, for every rank; false if
/// on some rank others than the first ones do. `loops` are the k loops, which
/// join.
static bool limitK(Gemm &gemm, const Contraction &contraction,
                   const Refinement &refinement, ArrayRef<GemmLoop> loops) {
  if (contraction.prefixes.empty())
    return true;
  linalg::LinalgOp op = contraction.op;
  SmallVector<int64_t> extents = op.getStaticLoopRanges();
  int64_t unit = std::numeric_limits<int64_t>::max();
  for (const GemmLoop &loop : loops)
    unit = std::min(unit, loop.stride[0]);
  // Whether the indices of `prefix` change only with the outermost part of k.
  auto leads = [&](const LoopPrefix &prefix) -> bool {
    auto form =
        linearForm(refinement.old[*prefix.loop], refinement.extents.size(), 0);
    int64_t inner = gemm.k / extents[*prefix.loop];
    return form && llvm::all_of(loops, [&](const GemmLoop &loop) {
             int64_t step = form->dimStrides[loop.dim];
             return step == 0 || loop.stride[0] == unit * step * inner;
           });
  };
  size_t numRanks = contraction.prefixes.front().counts.size();
  for (size_t rank = 0; rank < numRanks; ++rank) {
    int64_t rows = gemm.k;
    SmallVector<const LoopPrefix *> shortened;
    for (const LoopPrefix &prefix : contraction.prefixes) {
      int64_t extent = prefix.loop ? extents[*prefix.loop] : 1;
      rows = rows / extent * prefix.counts[rank];
      if (prefix.counts[rank] < extent)
        shortened.push_back(&prefix);
    }
    if (rows > 0 && !shortened.empty() &&
        (shortened.size() > 1 || !leads(*shortened.front())))
      return false;
    gemm.kOfRank.push_back(rows);
  }
  gemm.k = *llvm::max_element(gemm.kOfRank);
  if (llvm::all_equal(gemm.kOfRank))
    gemm.kOfRank.clear();
  return true;
}

/// Whether the terms do not make `gemm` of more and smaller products than it
/// would be without them.
bool StoragePlan::isWholeWithoutTerms(const Contraction &contraction,
                                      const Gemm &gemm) const {
  Contraction bare = contraction;
  bare.epilogue.terms.clear();
  std::optional<Gemm> other = analyse(bare);
  return !other || (other->m == gemm.m && other->n == gemm.n &&
                    other->batch == gemm.batch);
}

/// Where some rows are needed, the GEMM leaves the others out, if nothing is
/// added and the products stay as large as they are without.
std::optional<Gemm> StoragePlan::analyse(const Contraction &contraction) const {
  std::optional<Gemm> whole = analyse(contraction, nullptr);
  const NeededWhere *needed = neededOf(contraction.result);
  if (!whole || !needed || whole->beta != 0 || contraction.terms)
    return whole;
  std::optional<Gemm> some = analyse(contraction, needed);
  bool isAsLarge = some && some->m == whole->m && some->n == whole->n &&
                   some->batch == whole->batch;
  return isAsLarge ? some : whole;
}

std::optional<Gemm> StoragePlan::analyse(const Contraction &contraction,
                                         const NeededWhere *needed) const {
  linalg::LinalgOp op = contraction.op;
  MLIRContext *context = op.getContext();
  SmallVector<int64_t> extents = op.getStaticLoopRanges();
  Value result = contraction.result;
  // An empty loop leaves nothing to multiply: a kernel writes the init.
  if ((!isStored(result) && !subviewOf(result)) ||
      llvm::is_contained(extents, 0))
    return std::nullopt;
  OpOperand *init = op.getDpsInitOperand(0);
  const Epilogue &epilogue = contraction.epilogue;
  AffineMap sum = op.getMatchingIndexingMap(init);
  SmallVector<AffineMap> maps = {
      op.getMatchingIndexingMap(contraction.lhs),
      op.getMatchingIndexingMap(contraction.rhs),
      epilogue.resultIndex ? epilogue.resultIndex.compose(sum) : sum};
  SmallVector<Value> values = {contraction.lhs->get(), contraction.rhs->get(),
                               result};
  for (const EpilogueTerm &term : epilogue.terms) {
    maps.push_back(term.index.compose(sum));
    values.push_back(term.value);
  }
  Gemm gemm;
  size_t rowsTerm = values.size();
  if (needed) {
    maps.push_back(needed->place.compose(sum));
    values.push_back(needed->condition);
  }
  size_t termsTerm = values.size();
  if (contraction.terms) {
    maps.push_back(op.getMatchingIndexingMap(contraction.terms));
    values.push_back(contraction.terms->get());
  }
  size_t placesTerm = values.size();
  // The kinds of loops follow the operand, though it is a table's.
  SmallVector<AffineMap> loopMaps(maps);
  std::optional<size_t> lookedUp;
  for (size_t i : {0, 1})
    if (const Lookup *lookup = lookupOf(values[i])) {
      if (lookedUp)
        return std::nullopt;
      lookedUp = i;
      maps.push_back(lookup->placeIndex.compose(maps[i]));
      values.push_back(lookup->places);
      maps[i] = lookup->tableIndex.compose(maps[i]);
      values[i] = lookup->table;
      auto form = linearForm(storage(lookup->table).address.getResult(0),
                             shapeOf(lookup->table).size(), 0);
      if (!form || form->dimStrides[lookup->dim] < 0)
        return std::nullopt;
      gemm.tableSize = shapeOf(lookup->table)[lookup->dim];
      gemm.tableStride = form->dimStrides[lookup->dim];
    }
  Refinement refinement = Refinement::none(extents, context);

  SmallVector<Value> roots(values.size());
  SmallVector<AffineExpr> addresses(values.size());
  // Cuts found in one round split loops; what they resolve may cut further.
  for (int round = 0; round < 4; ++round) {
    IndexSpace space = IndexSpace::ofExtents(refinement.extents);
    SmallVector<SmallVector<int64_t>> cuts(refinement.extents.size());
    gemm.alpha = 1.0;
    for (size_t i = 0; i < values.size(); ++i) {
      Indices index = applyMap(maps[i], refinement.old, {}, space);
      double scale = 1.0;
      auto found = addressOf(*this, values[i], index, space, scale);
      // Only factors are scaled by alpha.
      if (!found || (i >= 2 && scale != 1.0))
        return std::nullopt;
      gemm.alpha *= scale;
      std::tie(roots[i], addresses[i]) = *found;
      collectCuts(addresses[i], cuts);
    }
    if (!refinement.splitAt(cuts, context))
      break;
  }

  SmallVector<LinearForm> forms;
  for (AffineExpr address : addresses) {
    auto form = linearForm(address, refinement.extents.size(), 0);
    if (!form)
      return std::nullopt;
    forms.push_back(*form);
  }
  // Kinds follow the indexing maps, not the strides: a broadcast operand has
  // stride zero along a loop that it formally has.
  SmallVector<bool> used[3];
  for (int i = 0; i < 3; ++i) {
    used[i].assign(refinement.extents.size(), false);
    for (AffineExpr expr : (i == 2 ? sum : loopMaps[i]).getResults())
      expr.replaceDims(refinement.old).walk([&](AffineExpr e) {
        if (auto dim = dyn_cast<AffineDimExpr>(e))
          used[i][dim.getPosition()] = true;
      });
  }
  LoopsByKind loops;
  for (auto [i, extent] : llvm::enumerate(refinement.extents)) {
    if (extent == 1)
      continue;
    GemmLoop loop{extent, {}, i};
    for (auto [stride, form] : llvm::zip(loop.stride, forms))
      stride = form.dimStrides[i];
    bool inA = used[0][i], inB = used[1][i], inC = used[2][i];
    if (inA && inB && !inC)
      loops.k.push_back(loop);
    else if (inA && inB && inC)
      loops.batch.push_back(loop);
    else if (inA && inC)
      loops.m.push_back(loop);
    else if (inB && inC)
      loops.n.push_back(loop);
    else
      return std::nullopt;
  }
  gemm.op = op;
  Type factor = storage(roots[0]).elementType;
  Type written = storage(roots[2]).elementType;
  bool isMixed = storage(roots[1]).elementType != factor;
  if ((isMixed || written != factor) &&
      written != getElementTypeOrSelf(op->getResult(0)))
    return std::nullopt;
  SmallVector<GemmOperand> terms;
  auto chooserAt = [&](size_t term) {
    Chooser chooser{{}, int(term)};
    chooser.operand.root = roots[term];
    chooser.operand.elementOffset = forms[term].constant;
    return chooser;
  };
  GemmExtras extras;
  if (needed)
    extras.rows = chooserAt(rowsTerm);
  if (contraction.terms)
    extras.chosenTerms = chooserAt(termsTerm);
  if (lookedUp)
    extras.places = chooserAt(placesTerm);
  for (size_t i = 3; i < 3 + epilogue.terms.size(); ++i) {
    if (storage(roots[i]).elementType != storage(roots[2]).elementType)
      return std::nullopt;
    GemmOperand &term = terms.emplace_back();
    term.root = roots[i];
    term.elementOffset = forms[i].constant;
  }
  extras.terms = terms;
  gemm.gelu = epilogue.gelu;
  std::optional<Splat> splat = splatOf(init->get());
  bool zero = epilogue.takesInit ||
              init->get().getDefiningOp<tensor::EmptyOp>() != nullptr;
  if (splat && splat->constant)
    if (auto attribute = dyn_cast<FloatAttr>(splat->constant))
      zero = attribute.getValue().isPosZero();
  gemm.beta = zero ? 0.0 : 1.0;
  // The init is not to be rounded before the products are added.
  if (!zero && result != op->getResult(0))
    return std::nullopt;

  auto set = [&](int a, int b) {
    gemm.elementType = storage(roots[a]).elementType;
    gemm.a.root = roots[a];
    gemm.a.elementOffset = forms[a].constant;
    gemm.b.root = roots[b];
    gemm.b.elementOffset = forms[b].constant;
    gemm.c.root = roots[2];
    gemm.c.elementOffset = forms[2].constant;
  };
  auto complete = [&]() {
    if (gemm.residual)
      gemm.beta = 1.0;
    // A rank without any products would leave the epilogue to something else.
    return epilogue.terms.empty() || (!llvm::is_contained(gemm.kOfRank, 0) &&
                                      isWholeWithoutTerms(contraction, gemm));
  };
  Gemm common = gemm;
  std::optional<Gemm> straight;
  set(0, 1);
  // The matrices of a table are those of B.
  if (lookedUp != 0 && assembleGemm(gemm, loops, extras) &&
      limitK(gemm, contraction, refinement, loops.k) && complete())
    straight = gemm;
  if (straight && straight->matrices() == matricesOf(loops))
    return straight;
  // The transposed problem: C^T = B^T A^T.
  gemm = common;
  set(1, 0);
  std::swap(loops.m, loops.n);
  for (SmallVector<GemmLoop> *kind :
       {&loops.m, &loops.n, &loops.k, &loops.batch})
    for (GemmLoop &loop : *kind)
      std::swap(loop.stride[0], loop.stride[1]);
  if (lookedUp != 1 && assembleGemm(gemm, loops, extras) &&
      limitK(gemm, contraction, refinement, loops.k) && complete() &&
      (!straight || gemm.matrices() < straight->matrices()))
    return gemm;
  return straight;
}
