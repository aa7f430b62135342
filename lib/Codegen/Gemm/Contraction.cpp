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

#include "Storage/Storage.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace tp::target;

int64_t Gemm::flops() const {
  int64_t flops = 2 * m * n * k;
  for (int64_t size : batch)
    flops *= size;
  return flops;
}

SmallVector<Value, 4> Gemm::reads() const {
  SmallVector<Value, 4> values = {a.root, b.root};
  if (addsToC())
    values.push_back(c.root);
  for (const std::optional<GemmOperand> &term : {residual, bias, rows})
    if (term)
      values.push_back(term->root);
  return values;
}

namespace {
/// One loop: its extent and its stride in A, B, C, and the two terms that an
/// epilogue may have.
struct Loop {
  int64_t extent;
  int64_t stride[5];
  /// Which one it is, before loops join.
  size_t dim = 0;
};

struct Operand {
  Value root;
  LinearForm form;
};
} // namespace

/// Joins loops whose strides continue each other in all operands of `which`.
static void joinLoops(SmallVector<Loop> &loops, ArrayRef<int> which) {
  auto major = [&](const Loop &a, const Loop &b) {
    for (int operand : llvm::reverse(which))
      if (a.stride[operand] != b.stride[operand])
        return a.stride[operand] > b.stride[operand];
    return a.extent < b.extent;
  };
  llvm::stable_sort(loops, major);
  for (size_t i = 0; i + 1 < loops.size();) {
    Loop &outer = loops[i], &inner = loops[i + 1];
    if (llvm::all_of(which, [&](int operand) {
          return outer.stride[operand] == inner.stride[operand] * inner.extent;
        })) {
      inner.extent *= outer.extent;
      loops.erase(loops.begin() + i);
      i = 0;
    } else {
      ++i;
    }
  }
}

/// Picks the largest of `loops` that `fits` and moves the others to `batch`.
static std::optional<Loop>
pickLoop(SmallVector<Loop> &loops, SmallVector<Loop> &batch,
         llvm::function_ref<bool(const Loop &)> fits) {
  Loop picked{1, {}};
  std::optional<size_t> position;
  for (auto [i, loop] : llvm::enumerate(loops))
    if (fits(loop) && (!position || loop.extent > loops[*position].extent))
      position = i;
  if (position)
    picked = loops[*position];
  for (auto [i, loop] : llvm::enumerate(loops))
    if (!position || i != *position)
      batch.push_back(loop);
  return picked;
}

/// A matrix of `rows` x `columns` with these strides as a BLAS operand.
static bool setOperand(GemmOperand &operand, int64_t rows, int64_t rowStride,
                       int64_t columns, int64_t columnStride,
                       bool mayTranspose) {
  if ((columnStride == 1 || columns == 1) &&
      (rows == 1 || rowStride >= columns)) {
    operand.transpose = false;
    operand.ld = rows == 1 ? std::max<int64_t>(columns, 1) : rowStride;
    return true;
  }
  if (mayTranspose && (rowStride == 1 || rows == 1) &&
      (columns == 1 || columnStride >= rows)) {
    operand.transpose = true;
    operand.ld = columns == 1 ? std::max<int64_t>(rows, 1) : columnStride;
    return true;
  }
  return false;
}

/// Sets `k` to how many of a rank's k indices count, for every rank; false if
/// on some rank others than the first ones do. `loops` are the k loops, which
/// join.
static bool limitK(Gemm &gemm, const Contraction &contraction,
                   const Refinement &refinement, ArrayRef<Loop> loops) {
  if (contraction.prefixes.empty())
    return true;
  linalg::LinalgOp op = contraction.op;
  SmallVector<int64_t> extents = op.getStaticLoopRanges();
  int64_t unit = std::numeric_limits<int64_t>::max();
  for (const Loop &loop : loops)
    unit = std::min(unit, loop.stride[0]);
  // Whether the indices of `prefix` change only with the outermost part of k.
  auto leads = [&](const LoopPrefix &prefix) -> bool {
    auto form =
        linearForm(refinement.old[*prefix.loop], refinement.extents.size(), 0);
    int64_t inner = gemm.k / extents[*prefix.loop];
    return form && llvm::all_of(loops, [&](const Loop &loop) {
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

/// Makes what is added at `root` the vector or the matrix of the epilogue.
/// `term` is its place among the strides.
static bool setTerm(Gemm &gemm, const Loop &m, const Loop &n,
                    ArrayRef<Loop> batch, int term, GemmOperand operand) {
  int64_t rows = m.stride[term], columns = n.stride[term];
  bool sameInBatch = llvm::all_of(
      batch, [&](const Loop &loop) { return loop.stride[term] == 0; });
  // There is no vector of f64.
  if (!gemm.bias && !gemm.elementType.isF64() && sameInBatch &&
      (gemm.m == 1 || rows == 0) && (gemm.n == 1 || columns == 1)) {
    gemm.bias = std::move(operand);
    return true;
  }
  // A broadcast matrix is read as often by whoever reads C next.
  if (gemm.residual || (gemm.m > 1 && rows == 0))
    return false;
  for (const Loop &loop : batch) {
    if (loop.stride[term] == 0)
      return false;
    operand.batchStrides.push_back(loop.stride[term]);
  }
  gemm.residual = std::move(operand);
  return setOperand(*gemm.residual, gemm.m, rows, gemm.n, columns, false);
}

/// Makes what is read at `root` the rows that are computed: the condition is
/// the same for a whole row. `term` is its place among the strides.
static bool setRows(Gemm &gemm, const Loop &m, const Loop &n,
                    ArrayRef<Loop> batch, int term, GemmOperand operand) {
  operand.ld = m.stride[term];
  for (const Loop &loop : batch)
    operand.batchStrides.push_back(loop.stride[term]);
  bool countsDown =
      operand.ld < 0 ||
      llvm::any_of(
          operand.batchStrides, [](int64_t stride) { return stride < 0; });
  gemm.rows = std::move(operand);
  return !countsDown && (n.extent == 1 || n.stride[term] == 0);
}

static bool assemble(Gemm &gemm, SmallVector<Loop> m, SmallVector<Loop> n,
                     SmallVector<Loop> k, SmallVector<Loop> batch,
                     ArrayRef<GemmOperand> terms,
                     const std::optional<GemmOperand> &rows) {
  joinLoops(m, {0, 2, 3, 4});
  joinLoops(n, {1, 2, 3, 4});
  joinLoops(k, {0, 1});
  if (k.size() > 1)
    return false;
  Loop kLoop = k.empty() ? Loop{1, {}} : k.front();
  auto notBroadcast = [](int first, int second) {
    return [=](const Loop &loop) {
      return loop.stride[first] > 0 && loop.stride[second] > 0;
    };
  };
  // C wants n with unit stride; another n loop cannot be the one.
  auto fitsN = [&](const Loop &loop) {
    return loop.stride[2] == 1 && loop.stride[1] > 0;
  };
  Loop nLoop = *pickLoop(n, batch, fitsN);
  Loop mLoop = *pickLoop(m, batch, notBroadcast(0, 2));
  if (kLoop.extent > 1 && (kLoop.stride[0] <= 0 || kLoop.stride[1] <= 0))
    return false;
  joinLoops(batch, {0, 1, 2, 3, 4});
  for (const Loop &loop : batch) {
    // A map that counts down has a negative stride, which no library takes.
    if (loop.stride[0] < 0 || loop.stride[1] < 0 || loop.stride[2] <= 0)
      return false;
    gemm.batch.push_back(loop.extent);
    gemm.a.batchStrides.push_back(loop.stride[0]);
    gemm.b.batchStrides.push_back(loop.stride[1]);
    gemm.c.batchStrides.push_back(loop.stride[2]);
  }
  gemm.m = mLoop.extent;
  gemm.n = nLoop.extent;
  gemm.k = kLoop.extent;
  for (auto [i, term] : llvm::enumerate(terms))
    if (!setTerm(gemm, mLoop, nLoop, batch, 3 + i, term))
      return false;
  if (rows && !setRows(gemm, mLoop, nLoop, batch, 3, *rows))
    return false;
  return setOperand(gemm.a, gemm.m, mLoop.stride[0], gemm.k, kLoop.stride[0],
                    true) &&
         setOperand(gemm.b, gemm.k, kLoop.stride[1], gemm.n, nLoop.stride[1],
                    true) &&
         setOperand(gemm.c, gemm.m, mLoop.stride[2], gemm.n, nLoop.stride[2],
                    false);
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

/// Where some rows are needed, and the GEMM is not to round or to add anything,
/// it leaves the others out.
std::optional<Gemm> StoragePlan::analyse(const Contraction &contraction) const {
  const NeededWhere *rows = neededOf(contraction.result);
  if (rows && contraction.epilogue.terms.empty())
    if (std::optional<Gemm> gemm = analyse(contraction, rows);
        gemm && gemm->beta == 0)
      return gemm;
  return analyse(contraction, nullptr);
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
  if (needed) {
    maps.push_back(needed->place.compose(sum));
    values.push_back(needed->condition);
  }
  Refinement refinement = Refinement::none(extents, context);

  Gemm gemm;
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
    for (AffineExpr expr : (i == 2 ? sum : maps[i]).getResults())
      expr.replaceDims(refinement.old).walk([&](AffineExpr e) {
        if (auto dim = dyn_cast<AffineDimExpr>(e))
          used[i][dim.getPosition()] = true;
      });
  }
  SmallVector<Loop> m, n, k, batch;
  for (auto [i, extent] : llvm::enumerate(refinement.extents)) {
    if (extent == 1)
      continue;
    Loop loop{extent, {}, i};
    for (auto [stride, form] : llvm::zip(loop.stride, forms))
      stride = form.dimStrides[i];
    bool inA = used[0][i], inB = used[1][i], inC = used[2][i];
    if (inA && inB && !inC)
      k.push_back(loop);
    else if (inA && inB && inC)
      batch.push_back(loop);
    else if (inA && inC)
      m.push_back(loop);
    else if (inB && inC)
      n.push_back(loop);
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
  std::optional<GemmOperand> rows;
  if (needed) {
    rows.emplace();
    rows->root = roots.back();
    rows->elementOffset = forms.back().constant;
  }
  for (size_t i = 3; i < 3 + epilogue.terms.size(); ++i) {
    if (storage(roots[i]).elementType != storage(roots[2]).elementType)
      return std::nullopt;
    GemmOperand &term = terms.emplace_back();
    term.root = roots[i];
    term.elementOffset = forms[i].constant;
  }
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
  Gemm straight = gemm;
  set(0, 1);
  if (assemble(gemm, m, n, k, batch, terms, rows) &&
      limitK(gemm, contraction, refinement, k) && complete())
    return gemm;
  // The transposed problem: C^T = B^T A^T.
  gemm = straight;
  set(1, 0);
  for (SmallVector<Loop> *loops : {&m, &n, &k, &batch})
    for (Loop &loop : *loops)
      std::swap(loop.stride[0], loop.stride[1]);
  if (assemble(gemm, n, m, k, batch, terms, rows) &&
      limitK(gemm, contraction, refinement, k) && complete())
    return gemm;
  return std::nullopt;
}
