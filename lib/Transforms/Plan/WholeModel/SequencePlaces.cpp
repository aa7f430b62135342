//===- SequencePlaces.cpp - where a sequence lies in values ---------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WholeModel/SequencePlaces.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "tp/IR/TP.h"

using namespace mlir;
using namespace tp;

static ArrayRef<int64_t> shapeOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape();
}

static int64_t product(ArrayRef<int64_t> sizes) {
  int64_t all = 1;
  for (int64_t size : sizes)
    all *= size;
  return all;
}

ArrayRef<SequencePlace> SequencePlaces::placesOf(Value value) const {
  auto it = places.find(value);
  return it == places.end() ? ArrayRef<SequencePlace>() : it->second;
}

const SequencePlace *SequencePlaces::find(Value value) const {
  ArrayRef<SequencePlace> all = placesOf(value);
  return all.size() == 1 ? &all.front() : nullptr;
}

void SequencePlaces::add(Value value, SequencePlace place) {
  Places &known = places[value];
  for (SequencePlace &each : known)
    if (each.isSamePlace(place)) {
      if (each.of && place.of)
        samePositions.unionSets(each.of, place.of);
      if (!each.of)
        each.of = place.of;
      return;
    }
  known.push_back(place);
}

void SequencePlaces::add(Value value, unsigned dim) {
  add(value, SequencePlace{dim});
}

void SequencePlaces::copy(Value from, Value to,
                          function_ref<bool(unsigned)> keeps) {
  Places all(placesOf(from));
  for (const SequencePlace &place : all)
    if (keeps(place.dim))
      add(to, place);
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

/// The loop that runs along a dimension of an operand, if one alone does.
static std::optional<unsigned> loopAt(AffineMap map, unsigned dim) {
  auto loop = dyn_cast<AffineDimExpr>(map.getResult(dim));
  return loop ? std::optional(loop.getPosition()) : std::nullopt;
}

bool SequencePlaces::joinsValues(linalg::LinalgOp op) {
  if (!linalg::isaContractionOpInterface(op))
    return false;
  auto iterators = op.getIteratorTypesArray();
  OpOperand *sides[] = {op.getDpsInputOperand(0), op.getDpsInputOperand(1)};
  for (auto [scores, values] :
       {std::pair(sides[0], sides[1]), std::pair(sides[1], sides[0])})
    for (const SequencePlace &key : placesOf(scores->get())) {
      std::optional<unsigned> loop =
          loopAt(op.getMatchingIndexingMap(scores), key.dim);
      if (!key.of || !loop ||
          iterators[*loop] != utils::IteratorType::reduction)
        continue;
      for (const SequencePlace &value : placesOf(values->get()))
        if (!value.of &&
            loopAt(op.getMatchingIndexingMap(values), value.dim) == loop) {
          if (graph.isForward(graph.nodeOf(op->getResult(0))))
            found.push_back({key.of, values});
          else
            gradients.push_back({op->getResult(0), key.of});
          return true;
        }
    }
  return false;
}

void SequencePlaces::visitLoops(linalg::LinalgOp op) {
  if (op->getNumResults() == 0)
    return;
  bool isOutput = joinsValues(op);
  // Of what has positions along several loops only a product makes scores.
  struct Along {
    unsigned loop;
    OpOperand *operand;
    SequencePlace place;
  };
  SmallVector<Along> all;
  llvm::SmallSetVector<unsigned, 2> plain;
  auto iterators = op.getIteratorTypesArray();
  for (OpOperand *operand : op.getDpsInputOperands()) {
    AffineMap map = op.getMatchingIndexingMap(operand);
    for (const SequencePlace &place : placesOf(operand->get())) {
      std::optional<unsigned> loop = loopAt(map, place.dim);
      if (!loop || iterators[*loop] != utils::IteratorType::parallel)
        continue;
      all.push_back({*loop, operand, place});
      if (!place.of)
        plain.insert(*loop);
    }
  }
  bool makesScores =
      plain.size() == 2 && linalg::isaContractionOpInterface(op) && !isOutput;
  for (auto [number, result] : llvm::enumerate(op->getResults())) {
    AffineMap map = op.getMatchingIndexingMap(op.getDpsInitOperand(number));
    for (const Along &each : all) {
      std::optional<unsigned> dim =
          map.getResultPosition(getAffineDimExpr(each.loop, op->getContext()));
      if (!dim)
        continue;
      SequencePlace place = each.place;
      place.dim = *dim;
      if (makesScores)
        place.of = each.operand;
      else if (isOutput)
        place.of = nullptr;
      add(result, place);
    }
  }
}

//===----------------------------------------------------------------------===//
// Views
//===----------------------------------------------------------------------===//

/// The dimension of several that a dimension is cut into, and what is left
/// around the positions in it.
static std::optional<SequencePlace> cut(SequencePlace place, int64_t length,
                                        ArrayRef<int64_t> sizes,
                                        unsigned firstDim) {
  int64_t minor = product(sizes);
  if (minor == 0)
    return std::nullopt;
  for (auto [i, size] : llvm::enumerate(sizes)) {
    minor /= size;
    // Elements along this dimension are apart by `minor`.
    if (place.inner % minor != 0 || (minor * size) % (place.inner * length))
      continue;
    place.dim = firstDim + i;
    place.outer = minor * size / (place.inner * length);
    place.inner /= minor;
    return place;
  }
  return std::nullopt;
}

void SequencePlaces::visit(Operation &op) {
  if (auto loops = dyn_cast<linalg::LinalgOp>(op))
    return visitLoops(loops);
  if (op.getNumResults() != 1 ||
      !isa<RankedTensorType>(op.getResult(0).getType()))
    return;
  Value result = op.getResult(0);
  if (auto expand = dyn_cast<tensor::ExpandShapeOp>(op)) {
    Places all(placesOf(expand.getSrc()));
    auto groups = expand.getReassociationIndices();
    for (const SequencePlace &place : all) {
      const ReassociationIndices &group = groups[place.dim];
      if (std::optional<SequencePlace> at = cut(
              place, length, shapeOf(result).slice(group.front(), group.size()),
              group.front()))
        add(result, *at);
    }
    return;
  }
  if (auto collapse = dyn_cast<tensor::CollapseShapeOp>(op)) {
    Places all(placesOf(collapse.getSrc()));
    ArrayRef<int64_t> shape = shapeOf(collapse.getSrc());
    for (SequencePlace place : all)
      for (auto [dim, group] :
           llvm::enumerate(collapse.getReassociationIndices())) {
        if (!llvm::is_contained(group, place.dim))
          continue;
        unsigned within = place.dim - group.front();
        ArrayRef<int64_t> sizes = shape.slice(group.front(), group.size());
        place.outer *= product(sizes.take_front(within));
        place.inner *= product(sizes.drop_front(within + 1));
        place.dim = dim;
        add(result, place);
        break;
      }
    return;
  }
  auto isWhole = [&](Value source) {
    return [&, source](unsigned dim) {
      return shapeOf(source)[dim] == shapeOf(result)[dim];
    };
  };
  if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op)) {
    // Dimensions that are left out have one element.
    llvm::SmallBitVector dropped = slice.getDroppedDims();
    Places all(placesOf(slice.getSource()));
    for (SequencePlace place : all) {
      if (slice.getStaticSizes()[place.dim] !=
              shapeOf(slice.getSource())[place.dim] ||
          dropped[place.dim])
        continue;
      for (unsigned dim = 0, e = place.dim; dim < e; ++dim)
        place.dim -= dropped[dim];
      add(result, place);
    }
    return;
  }
  if (auto insert = dyn_cast<tensor::InsertSliceOp>(op)) {
    if (insert.getSourceType().getRank() == insert.getType().getRank())
      copy(insert.getSource(), result, isWhole(insert.getSource()));
    copy(insert.getDest(), result, [&](unsigned dim) {
      return insert.getStaticSizes()[dim] == shapeOf(result)[dim];
    });
    return;
  }
  if (isa<tensor::CastOp, tensor::PadOp, tensor::ConcatOp, ConstrainOp>(op))
    for (Value operand : op.getOperands())
      if (isa<RankedTensorType>(operand.getType()))
        copy(operand, result, isWhole(operand));
}

void SequencePlaces::follow() {
  for (Operation &op : function.getBody().front())
    if (op.getNumResults() != 0 &&
        graph.isForward(graph.nodeOf(op.getResult(0))))
      visit(op);
}

SmallVector<Value> SequencePlaces::followGradients() {
  for (Operation &op : function.getBody().front())
    if (op.getNumResults() != 0 &&
        !graph.isForward(graph.nodeOf(op.getResult(0))))
      visit(op);
  // The gradient of keys and that of values add up queries, that of queries
  // adds up keys.
  auto isOfQueries = [&](OpOperand *operand) {
    return llvm::any_of(found, [&](const AttentionOperands &attention) {
      for (OpOperand &other : attention.keys->getOwner()->getOpOperands())
        if (&other != attention.keys &&
            samePositions.isEquivalent(&other, operand))
          return true;
      return false;
    });
  };
  SmallVector<Value> ofKeys;
  for (const ScoreGradientProduct &each : gradients)
    if (isOfQueries(each.added))
      ofKeys.push_back(each.result);
  return ofKeys;
}
