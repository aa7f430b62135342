//===- EvaluateLoops.cpp - a loop nest on the buffers of a run ------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LoopNest.h"
#include "tp/Interpreter/Identity.h"

using namespace mlir;
using namespace tp;
using namespace tp::simulator;

namespace {
/// Ascending indices of one dimension, as half-open runs.
using Runs = std::vector<std::pair<int64_t, int64_t>>;
using Loops = ArrayRef<std::vector<Interval>>;
} // namespace

static Runs runsOfLoop(ArrayRef<Interval> pieces, int64_t shift) {
  Runs runs;
  for (const Interval &piece : pieces) {
    int64_t begin = piece.globalOffset + shift;
    if (!runs.empty() && runs.back().second == begin)
      runs.back().second += piece.size;
    else
      runs.emplace_back(begin, begin + piece.size);
  }
  return runs;
}

/// The indices that an access touches along one dimension.
static Runs touched(const LoopIndex &index, Loops loops) {
  SmallVector<unsigned> used;
  for (auto [loop, coefficient] : llvm::enumerate(index.coefficients))
    if (coefficient != 0)
      used.push_back(loop);
  if (used.empty())
    return {{index.constant, index.constant + 1}};
  if (used.size() == 1 && index.coefficients[used[0]] == 1)
    return runsOfLoop(loops[used[0]], index.constant);
  std::vector<int64_t> positions = {index.constant};
  for (unsigned loop : used) {
    std::vector<int64_t> next;
    for (int64_t position : positions)
      for (const Interval &piece : loops[loop])
        for (int64_t i = 0; i < piece.size; ++i)
          next.push_back(position +
                         index.coefficients[loop] * (piece.globalOffset + i));
    llvm::sort(next);
    next.erase(std::unique(next.begin(), next.end()), next.end());
    positions = std::move(next);
  }
  Runs runs;
  for (int64_t position : positions) {
    if (!runs.empty() && runs.back().second == position)
      ++runs.back().second;
    else
      runs.emplace_back(position, position + 1);
  }
  return runs;
}

static SmallVector<Runs> touched(const Access &access, Loops loops) {
  SmallVector<Runs> dims;
  for (const LoopIndex &index : access.indices)
    dims.push_back(touched(index, loops));
  return dims;
}

static bool isEmpty(ArrayRef<Runs> dims) {
  return llvm::any_of(dims, [](const Runs &runs) { return runs.empty(); });
}

/// Calls `function` for all indices in the product of `dims` until it returns
/// false.
template <typename Function>
static void forEach(ArrayRef<Runs> dims, Function function) {
  if (isEmpty(dims))
    return;
  SmallVector<int64_t> index, run(dims.size(), 0);
  for (const Runs &runs : dims)
    index.push_back(runs[0].first);
  while (true) {
    if (!function(ArrayRef<int64_t>(index)))
      return;
    size_t dim = dims.size();
    while (dim > 0) {
      --dim;
      const Runs &runs = dims[dim];
      if (++index[dim] < runs[run[dim]].second)
        break;
      if (++run[dim] < static_cast<int64_t>(runs.size())) {
        index[dim] = runs[run[dim]].first;
        break;
      }
      run[dim] = 0;
      index[dim] = runs[0].first;
      if (dim == 0)
        return;
    }
    if (dims.empty())
      return;
  }
}

static std::string textOf(const Runs &runs) {
  if (runs.empty())
    return "none";
  std::string text;
  for (auto [begin, end] : runs)
    text += (text.empty() ? "[" : ", [") + std::to_string(begin) + ", " +
            std::to_string(end) + ")";
  return text;
}

/// Every index in `runs` is held; else the first that is not.
static std::optional<int64_t>
firstMissing(const Runs &runs, const ShardView &view, unsigned dim) {
  for (auto [begin, end] : runs)
    for (int64_t index = begin; index < end;) {
      auto piece = llvm::find_if(view.held[dim], [&](const Interval &piece) {
        return index >= piece.globalOffset &&
               index < piece.globalOffset + piece.size;
      });
      if (piece == view.held[dim].end())
        return index;
      index = piece->globalOffset + piece->size;
    }
  return std::nullopt;
}

/// Checks that the run holds, and somebody has written, all that an access
/// reads.
static LogicalResult checkReads(Operation *op, const Access &access,
                                ArrayRef<Runs> dims, const ShardView &view,
                                const Frame &frame) {
  if (isEmpty(dims))
    return success();
  SmallVector<int64_t> at;
  bool missing = false;
  for (auto [dim, runs] : llvm::enumerate(dims)) {
    std::optional<int64_t> first = firstMissing(runs, view, dim);
    at.push_back(first.value_or(runs[0].first));
    missing |= first.has_value();
  }
  if (missing)
    return frame.error(op) << "reads element " << indexText(at)
                           << " of operand " << access.operand
                           << ", which it does not hold";
  if (view.array.isAllDefined())
    return success();
  bool defined = true;
  SmallVector<int64_t> strides = view.array.strides();
  forEach(dims, [&](ArrayRef<int64_t> index) {
    defined = view.array.isDefined(view.offset(index, strides));
    if (!defined)
      at.assign(index.begin(), index.end());
    return defined;
  });
  if (defined)
    return success();
  return frame.dataError(op)
         << "reads element " << indexText(at) << " of operand "
         << access.operand << ", which nothing has written";
}

/// The linear access of what a box touches in a buffer; where the buffer holds
/// that in several pieces, of a copy of them.
static LinearAccess accessIn(const ShardView &view, const Access &access,
                             ArrayRef<Runs> dims) {
  LinearAccess result{view.array, 0, {}};
  SmallVector<int64_t> shifts;
  bool inOnePiece = true;
  for (auto [dim, runs] : llvm::enumerate(dims)) {
    auto piece = llvm::find_if(view.held[dim], [&](const Interval &piece) {
      return runs.front().first >= piece.globalOffset &&
             runs.back().second <= piece.globalOffset + piece.size;
    });
    inOnePiece &= piece != view.held[dim].end();
    if (inOnePiece)
      shifts.push_back(piece->globalOffset - piece->localOffset);
  }
  if (!inOnePiece) {
    shifts.clear();
    SmallVector<int64_t> shape;
    for (const Runs &runs : dims) {
      shifts.push_back(runs.front().first);
      shape.push_back(runs.back().second - runs.front().first);
    }
    result.array = TensorData::poison(view.array.elementType(), shape);
    SmallVector<int64_t> to = rowMajorStrides(shape);
    SmallVector<int64_t> from = view.array.strides();
    forEach(dims, [&](ArrayRef<int64_t> index) {
      int64_t offset = 0;
      for (auto [position, shift, stride] : llvm::zip(index, shifts, to))
        offset += (position - shift) * stride;
      result.array.copy(offset, view.array, view.offset(index, from));
      return true;
    });
  }
  result.strides.assign(
      access.indices.empty() ? 0 : access.indices[0].coefficients.size(), 0);
  for (auto [index, shift, stride] :
       llvm::zip(access.indices, shifts, result.array.strides())) {
    result.base += stride * (index.constant - shift);
    for (auto [loop, coefficient] : llvm::enumerate(index.coefficients))
      result.strides[loop] += stride * coefficient;
  }
  return result;
}

/// A copy of the elements that an access which is not linear reads, in the
/// order of the loops that it uses. Fails where one is not held or not written.
static FailureOr<LinearAccess> gather(Operation *op, const Access &access,
                                      const LoopBox &box, const ShardView &view,
                                      const Frame &frame) {
  SmallVector<unsigned> used;
  SmallVector<int64_t> shape;
  for (unsigned loop = 0; loop < box.begin.size(); ++loop)
    if (llvm::any_of(access.indices, [&](const LoopIndex &index) {
          return index.usesLoop(loop);
        })) {
      used.push_back(loop);
      shape.push_back(box.end[loop] - box.begin[loop]);
    }
  LinearAccess result{TensorData(view.array.elementType(), shape), 0,
                      SmallVector<int64_t, 6>(box.begin.size(), 0)};
  for (auto [loop, stride] : llvm::zip_equal(used, rowMajorStrides(shape))) {
    result.strides[loop] = stride;
    result.base -= stride * box.begin[loop];
  }
  if (llvm::is_contained(shape, 0))
    return result;
  SmallVector<int64_t> strides = view.array.strides();
  SmallVector<int64_t> which(used.size(), 0), point(box.begin), from;
  int64_t target = 0;
  do {
    for (auto [loop, position] : llvm::zip_equal(used, which))
      point[loop] = box.begin[loop] + position;
    from.clear();
    for (auto [dim, index] : llvm::enumerate(access.indices)) {
      std::optional<int64_t> at = index.at(point);
      if (!at)
        return frame.error(op) << "divides by zero in index " << dim
                               << " of operand " << access.operand;
      from.push_back(*at);
    }
    int64_t offset = view.offset(from, strides);
    if (offset < 0)
      return frame.error(op)
             << "reads element " << indexText(from) << " of operand "
             << access.operand << ", which it does not hold";
    if (!view.array.isDefined(offset))
      return frame.dataError(op)
             << "reads element " << indexText(from) << " of operand "
             << access.operand << ", which nothing has written";
    result.array.copy(target++, view.array, offset);
  } while (nextIndex(which, shape));
  return result;
}

namespace {
/// Everything about one evaluation.
struct LoopEvaluation {
  const LoopNest &nest;
  Frame &frame;
  SmallVector<std::vector<Interval>> loops;
  BodyState state;
  SmallVector<ShardView> results;
  SmallVector<Scalar> identities;

  LoopEvaluation(const LoopNest &nest, Frame &frame)
      : nest(nest), frame(frame), state(nest.body) {}

  void bindBody();
  LogicalResult makeResults();
  LogicalResult copyInit(unsigned result, ArrayRef<Runs> dims);
  LogicalResult runBox(const LoopBox &box);
  LogicalResult runBoxes();
};
} // namespace

void LoopEvaluation::bindBody() {
  for (const BodyConstant &constant : nest.body.constants)
    state.fill(constant.reg, constant.value, constant.storage);
  for (auto [reg, value] : nest.body.captures) {
    const TensorData &array = frame.values.at(value);
    state.fill(reg, array.get(0), array.storage());
  }
  SmallVector<AxisPart> lookupParts = partsOfLookups(nest);
  for (Value table : nest.body.tables) {
    state.tables.push_back(frame.view(table));
    state.tableStrides.push_back(state.tables.back().array.strides());
    SmallVector<bool> &mayMiss = state.mayMiss.emplace_back();
    LayoutAttr layout =
        frame.isSharded() ? LayoutAttr::of(table.getType()) : LayoutAttr();
    for (int64_t dim = 0, e = cast<ShapedType>(table.getType()).getRank();
         dim < e; ++dim) {
      std::vector<AxisPart> parts;
      if (layout)
        parts = layout.getValue().partsSharding(dim);
      mayMiss.push_back(!parts.empty() &&
                        llvm::all_of(parts, [&](AxisPart part) {
                          return llvm::is_contained(lookupParts, part);
                        }));
    }
  }
  for (Value result : nest.op->getResults()) {
    ReductionKind kind = ReductionKind::Sum;
    if (LayoutAttr layout = LayoutAttr::of(result.getType()))
      for (const AxisPlacement &entry : layout.getValue().entries)
        if (entry.placement.isPartial() &&
            llvm::is_contained(lookupParts, entry.part))
          kind = entry.placement.reduction;
    identities.push_back(
        identityOf(kind, getElementTypeOrSelf(result.getType())));
  }
}

LogicalResult LoopEvaluation::copyInit(unsigned result, ArrayRef<Runs> dims) {
  const Access &init = nest.writes[result];
  ShardView from = frame.view(init.value);
  if (failed(checkReads(nest.op, init, dims, from, frame)))
    return failure();
  SmallVector<int64_t> strides = from.array.strides();
  ShardView &to = results[result];
  SmallVector<int64_t> toStrides = to.array.strides();
  forEach(dims, [&](ArrayRef<int64_t> index) {
    to.array.copy(to.offset(index, toStrides), from.array,
                  from.offset(index, strides));
    return true;
  });
  return success();
}

LogicalResult LoopEvaluation::makeResults() {
  for (auto [i, result] : llvm::enumerate(nest.op->getResults())) {
    results.push_back(frame.view(result, frame.allocate(result.getType())));
    const ShardView &view = results.back();
    SmallVector<Runs> dims = touched(nest.writes[i], loops);
    SmallVector<Runs> held;
    for (ArrayRef<Interval> pieces : view.held)
      held.push_back(runsOfLoop(pieces, 0));
    if (!isEmpty(dims) || !isEmpty(held))
      for (unsigned dim = 0; dim < dims.size(); ++dim)
        if (dims[dim] != held[dim])
          return frame.error(nest.op)
                 << "computes " << textOf(dims[dim]) << " of dimension " << dim
                 << " of result " << i << ", its layout holds "
                 << textOf(held[dim]);
    if (nest.writes[i].reg && failed(copyInit(i, dims)))
      return failure();
  }
  return success();
}

LogicalResult LoopEvaluation::runBox(const LoopBox &box) {
  SmallVector<std::vector<Interval>> single;
  for (auto [begin, end] : llvm::zip(box.begin, box.end))
    single.push_back({{begin, 0, end - begin}});
  SmallVector<LinearAccess> reads, writes;
  for (const Access &read : nest.reads) {
    if (!read.reg) {
      reads.emplace_back();
      continue;
    }
    ShardView view = frame.view(read.value);
    if (!read.isLinear()) {
      FailureOr<LinearAccess> gathered =
          gather(nest.op, read, box, view, frame);
      if (failed(gathered))
        return failure();
      reads.push_back(*gathered);
      continue;
    }
    SmallVector<Runs> dims = touched(read, single);
    if (failed(checkReads(nest.op, read, dims, view, frame)))
      return failure();
    reads.push_back(accessIn(view, read, dims));
    reads.back().strides.resize(box.begin.size(), 0);
  }
  for (auto [write, view] : llvm::zip(nest.writes, results)) {
    writes.push_back(accessIn(view, write, touched(write, single)));
    writes.back().strides.resize(box.begin.size(), 0);
  }
  if (runContraction(nest, box, reads, writes) ||
      runLoops(nest, box, reads, writes, identities, state))
    return success();
  InFlightDiagnostic diag = state.failedOnData ? frame.dataError(state.failedOp)
                                               : frame.error(state.failedOp);
  diag << state.failure;
  if (state.failedOp != nest.op)
    diag.attachNote(nest.op->getLoc()) << "in the body of this op";
  return diag;
}

/// Boxes in lexicographic order of their pieces, so that sums over a loop that
/// comes in several pieces keep their order.
LogicalResult LoopEvaluation::runBoxes() {
  SmallVector<int64_t> counts;
  for (const std::vector<Interval> &pieces : loops)
    counts.push_back(pieces.size());
  if (llvm::is_contained(counts, 0))
    return success();
  SmallVector<int64_t> which(loops.size(), 0);
  do {
    LoopBox box;
    for (auto [pieces, i] : llvm::zip(loops, which)) {
      box.begin.push_back(pieces[i].globalOffset);
      box.end.push_back(pieces[i].globalOffset + pieces[i].size);
    }
    if (failed(runBox(box)))
      return failure();
  } while (nextIndex(which, counts));
  return success();
}

LogicalResult simulator::evaluateLoopNest(Operation *op, Frame &frame) {
  FailureOr<LoopNest> nest = LoopNest::build(op);
  if (failed(nest))
    return failure();
  LoopEvaluation evaluation(*nest, frame);
  evaluation.loops = loopsOfRank(*nest, frame);
  evaluation.bindBody();
  if (failed(evaluation.makeResults()) || failed(evaluation.runBoxes()))
    return failure();
  for (auto [result, view] : llvm::zip(op->getResults(), evaluation.results))
    frame.values[result] = view.array;
  return success();
}
