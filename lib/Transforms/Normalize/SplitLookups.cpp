//===- SplitLookups.cpp - lookups as ops of their own ---------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A table that is read at computed places can be split along them only where
// the op is linear in what it reads: every rank looks up what it holds, and the
// parts add up. An op that computes more with the number (lse - logits[label],
// or a sum of such) is therefore parted: one op looks up, the other computes.
//
//===----------------------------------------------------------------------===//

#include "Prepare.h"
#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "tp/Interfaces/BodyLinearity.h"

using namespace mlir;
using namespace tp;

namespace {
/// What the place of a lookup is computed from: ops of the body, in order, and
/// the loops that they depend on.
struct Place {
  llvm::SetVector<Operation *> ops;
  llvm::SmallBitVector loops;
  /// The inputs they read.
  llvm::SmallBitVector inputs;
};

class LookupSplitter {
public:
  LookupSplitter(linalg::GenericOp op, OpBuilder &builder)
      : op(op), body(*op.getBlock()), builder(builder) {}

  void run() {
    for (auto read : llvm::to_vector(body.getOps<tensor::ExtractOp>()))
      if (isWorthSplitting(read))
        if (std::optional<Place> place = placeOf(read))
          split(read, *place);
    if (!lookups.empty())
      rebuild();
  }

private:
  static bool isComputed(Value index) {
    return !index.getDefiningOp<linalg::IndexOp>() &&
           !matchPattern(index, m_Constant());
  }

  /// The number is one that parts add up to, and the op makes more of it.
  bool isWorthSplitting(tensor::ExtractOp read) {
    if (!identityOf(ReductionKind::Sum, read.getType()) ||
        llvm::none_of(read.getIndices(), isComputed))
      return false;
    bool accumulates =
        llvm::any_of(op.getRegionOutputArgs(),
                     [](BlockArgument arg) { return !arg.use_empty(); });
    return accumulates ||
           !partialThroughBody(body, ReductionKind::Sum, [&](Value value) {
             auto other = value.getDefiningOp<tensor::ExtractOp>();
             return other && other.getTensor() == read.getTensor();
           });
  }

  /// Adds what `value` is computed from; false for what only this op has.
  bool addTo(Place &place, Value value) {
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      if (argument.getOwner() != &body)
        return true;
      unsigned number = argument.getArgNumber();
      if (number >= op.getNumDpsInputs())
        return false;
      place.inputs.set(number);
      AffineMap map = op.getIndexingMapsArray()[number];
      if (!map.isProjectedPermutation(/*allowZeroInResults=*/true))
        return false;
      for (unsigned loop = 0; loop < op.getNumLoops(); ++loop)
        if (map.isFunctionOfDim(loop))
          place.loops.set(loop);
      return true;
    }
    Operation *def = value.getDefiningOp();
    if (def->getBlock() != &body || place.ops.contains(def))
      return true;
    if (def->getNumRegions() != 0)
      return false;
    if (auto index = dyn_cast<linalg::IndexOp>(def))
      place.loops.set(index.getDim());
    for (Value operand : def->getOperands())
      if (!isa<RankedTensorType>(operand.getType()) && !addTo(place, operand))
        return false;
    place.ops.insert(def);
    return true;
  }

  /// Nothing where the op alone has what the place is computed from, or the
  /// table is smaller than what is looked up in it.
  std::optional<Place> placeOf(tensor::ExtractOp read) {
    Place place;
    place.loops.resize(op.getNumLoops());
    place.inputs.resize(op.getNumDpsInputs());
    for (Value index : read.getIndices())
      if (!addTo(place, index))
        return std::nullopt;
    SmallVector<int64_t> ranges = op.getStaticLoopRanges();
    double size = 1;
    for (unsigned loop : place.loops.set_bits())
      size *= static_cast<double>(ranges[loop]);
    auto table = cast<RankedTensorType>(read.getTensor().getType());
    if (size >= static_cast<double>(table.getNumElements()))
      return std::nullopt;
    place.ops.insert(read);
    // What is asserted of the place goes with it.
    for (auto assertion : body.getOps<cf::AssertOp>()) {
      Place with = place;
      if (addTo(with, assertion.getArg()) && with.loops == place.loops) {
        with.ops.insert(assertion);
        place = std::move(with);
      }
    }
    return place;
  }

  /// Makes the op that looks up, over the loops that the place depends on.
  void split(tensor::ExtractOp read, Place &place) {
    builder.setInsertionPoint(op);
    SmallVector<int64_t> sizes;
    SmallVector<AffineExpr> loopNumbers(op.getNumLoops());
    SmallVector<AffineExpr> lookupLoops;
    for (unsigned loop : place.loops.set_bits()) {
      loopNumbers[loop] = builder.getAffineDimExpr(sizes.size());
      lookupLoops.push_back(builder.getAffineDimExpr(loop));
      sizes.push_back(op.getStaticLoopRanges()[loop]);
    }
    for (AffineExpr &expr : loopNumbers)
      if (!expr)
        expr = builder.getAffineConstantExpr(0);
    SmallVector<Value> inputs;
    SmallVector<AffineMap> maps;
    for (unsigned input : place.inputs.set_bits()) {
      inputs.push_back(op.getInputs()[input]);
      maps.push_back(op.getIndexingMapsArray()[input].replaceDimsAndSymbols(
          loopNumbers, {}, sizes.size(), 0));
    }
    maps.push_back(builder.getMultiDimIdentityMap(sizes.size()));
    Value init =
        tensor::EmptyOp::create(builder, read.getLoc(), sizes, read.getType());
    SmallVector<utils::IteratorType> iterators(sizes.size(),
                                               utils::IteratorType::parallel);
    auto lookup = linalg::GenericOp::create(
        builder, read.getLoc(), init.getType(), inputs, init, maps, iterators,
        [&](OpBuilder &nested, Location, ValueRange arguments) {
          IRMapping mapping;
          for (auto [at, input] : llvm::enumerate(place.inputs.set_bits()))
            mapping.map(body.getArgument(input), arguments[at]);
          for (Operation &inner : body.without_terminator()) {
            if (!place.ops.contains(&inner))
              continue;
            Operation *clone = nested.clone(inner, mapping);
            if (auto index = dyn_cast<linalg::IndexOp>(clone))
              index.setDim(cast<AffineDimExpr>(loopNumbers[index.getDim()])
                               .getPosition());
          }
          linalg::YieldOp::create(nested, read.getLoc(),
                                  mapping.lookup(read.getResult()));
        });
    lookups.push_back(
        {read, lookup.getResult(0),
         AffineMap::get(op.getNumLoops(), 0, lookupLoops, op.getContext())});
    for (Operation *inner : place.ops)
      if (isa<cf::AssertOp>(inner))
        moved.insert(inner);
  }

  /// The op again, with what was looked up as further inputs.
  void rebuild() {
    builder.setInsertionPoint(op);
    SmallVector<Value> inputs(op.getInputs());
    SmallVector<AffineMap> maps = op.getIndexingMapsArray();
    unsigned first = op.getNumDpsInputs();
    for (auto [i, lookup] : llvm::enumerate(lookups)) {
      inputs.push_back(lookup.result);
      maps.insert(maps.begin() + first + i, lookup.map);
    }
    auto rest = linalg::GenericOp::create(
        builder, op.getLoc(), op.getResultTypes(), inputs, op.getOutputs(),
        maps, op.getIteratorTypesArray(),
        [&](OpBuilder &nested, Location, ValueRange arguments) {
          IRMapping mapping;
          for (BlockArgument argument : body.getArguments()) {
            unsigned number = argument.getArgNumber();
            Value now =
                arguments[number < first ? number : number + lookups.size()];
            now.setLoc(argument.getLoc());
            mapping.map(argument, now);
          }
          for (auto [i, lookup] : llvm::enumerate(lookups))
            mapping.map(lookup.read.getResult(), arguments[first + i]);
          for (Operation &inner : body.without_terminator())
            if (!moved.contains(&inner) &&
                llvm::none_of(lookups, [&](const Lookup &lookup) {
                  return lookup.read == &inner;
                }))
              nested.clone(inner, mapping);
          nested.clone(*body.getTerminator(), mapping);
        });
    op.replaceAllUsesWith(rest.getResults());
    op.erase();
  }

  struct Lookup {
    tensor::ExtractOp read;
    Value result;
    AffineMap map;
  };

  linalg::GenericOp op;
  Block &body;
  OpBuilder &builder;
  SmallVector<Lookup> lookups;
  llvm::SmallPtrSet<Operation *, 4> moved;
};
} // namespace

void tp::splitLookups(func::FuncOp function) {
  OpBuilder builder(function.getContext());
  for (Operation &op : llvm::make_early_inc_range(function.getBody().front()))
    if (auto generic = dyn_cast<linalg::GenericOp>(op))
      LookupSplitter(generic, builder).run();
}
