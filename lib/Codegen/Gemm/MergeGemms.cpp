//===- MergeGemms.cpp - pass tp-merge-gemms -------------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The weights of a rank are joined as they lie in its memory, so that it does
// not matter how they are sharded. Nothing is copied: readers of a product read
// a slice of the merged one.
//
//===----------------------------------------------------------------------===//

#include "CodegenPlan.h"
#include "MergeableProduct.h"
#include "Program/JoinedArguments.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "tp/Codegen/CodegenPasses.h"
#include "tp/IR/CodegenAttributes.h"
#include "tp/IR/Entries.h"
#include "tp/IR/FloatCasts.h"
#include "tp/IR/PortNames.h"
#include <set>

namespace tp {
#define GEN_PASS_DEF_MERGEGEMMS
#include "tp/Codegen/Passes.h.inc"
} // namespace tp

using namespace mlir;
using namespace tp::target;

namespace {
/// Products that read one A.
struct Group {
  std::vector<MergeableProduct> products;
  /// How many contractions stand between a product and a value that depends on
  /// it, itself included.
  llvm::DenseMap<Value, unsigned> depths;
};
} // namespace

/// A merged product makes all results at once, and they stay until the last is
/// read. So a product joins only what the program computes nearby: before a
/// contraction of what contractions make of the first product. In attention
/// that is the product with the values.
static constexpr unsigned farAway = 2;

/// The depth of the results of `op`.
static unsigned depthOf(Operation *op, const Group &group, bool contracts) {
  unsigned depth = 0;
  op->walk([&](Operation *inner) {
    for (Value operand : inner->getOperands())
      depth = std::max(depth, group.depths.lookup(operand));
  });
  return depth && contracts ? depth + 1 : depth;
}

static std::vector<Group> findGroups(func::FuncOp function,
                                     const TargetTraits &traits) {
  llvm::MapVector<unsigned, unsigned> updated = tp::updatesOf(function);
  std::vector<Group> open, found;
  auto close = [&](Group &group) {
    if (group.products.size() > 1)
      found.push_back(std::move(group));
  };
  for (Operation &op : function.front()) {
    bool contracts = contractionOf(&op).has_value();
    for (auto it = open.begin(); it != open.end();) {
      unsigned depth = depthOf(&op, *it, contracts);
      if (depth > farAway) {
        close(*it);
        it = open.erase(it);
        continue;
      }
      if (depth)
        for (Value result : op.getResults())
          it->depths[result] = depth;
      ++it;
    }
    if (!contracts)
      continue;
    auto product = mergeableProduct(&op, updated, traits);
    if (!product)
      continue;
    auto group = llvm::find_if(open, [&](const Group &group) {
      return group.products.front().mergesWith(*product);
    });
    if (group == open.end())
      group = open.insert(open.end(), Group());
    group->depths[op.getResult(0)] = 1;
    group->products.push_back(std::move(*product));
  }
  for (Group &group : open)
    close(group);
  return found;
}

/// The argument that is the memory of all weights, behind the ports.
static BlockArgument joinWeights(func::FuncOp function, const Group &group) {
  Builder builder(function.getContext());
  const MergeableProduct &first = group.products.front();
  SmallVector<int64_t> shape = {0}, parts;
  for (unsigned loop : first.k)
    shape.push_back(first.extents[loop]);
  SmallVector<Location> locations;
  for (const MergeableProduct &product : group.products) {
    shape[0] += product.rows();
    unsigned number = product.weight.getArgNumber();
    parts.push_back(number);
    locations.push_back(product.weight.getLoc());
    if (!llvm::is_sorted(product.permutation))
      function.setArgAttr(number, tp::attr::permutation,
                          builder.getDenseI64ArrayAttr(product.permutation));
  }
  unsigned number = function.getNumArguments();
  auto type = cast<RankedTensorType>(first.weight.getType());
  auto attributes = builder.getDictionaryAttr(builder.getNamedAttr(
      tp::attr::joined, builder.getDenseI64ArrayAttr(parts)));
  (void)function.insertArgument(
      number, RankedTensorType::get(shape, type.getElementType()), attributes,
      builder.getFusedLoc(locations));
  return function.getArgument(number);
}

/// One product with all weights: its loops are those of m, one of n, those of
/// k.
static Value multiply(ImplicitLocOpBuilder &builder,
                      const MergeableProduct &first, BlockArgument weights) {
  unsigned rows = first.m.size(), loops = rows + 1 + first.k.size();
  linalg::LinalgOp op = first.op;
  SmallVector<AffineExpr> left, right = {builder.getAffineDimExpr(rows)}, sums;
  for (AffineExpr dim : op.getMatchingIndexingMap(first.a).getResults()) {
    unsigned loop = cast<AffineDimExpr>(dim).getPosition();
    const auto *row = llvm::find(first.m, loop);
    left.push_back(builder.getAffineDimExpr(
        row != first.m.end()
            ? row - first.m.begin()
            : rows + 1 + (llvm::find(first.k, loop) - first.k.begin())));
  }
  for (unsigned i = 0; i < first.k.size(); ++i)
    right.push_back(builder.getAffineDimExpr(rows + 1 + i));
  SmallVector<int64_t> shape;
  for (unsigned i = 0; i <= rows; ++i)
    sums.push_back(builder.getAffineDimExpr(i));
  for (unsigned loop : first.m)
    shape.push_back(first.extents[loop]);
  shape.push_back(cast<RankedTensorType>(weights.getType()).getDimSize(0));
  SmallVector<utils::IteratorType> iterators(rows + 1,
                                             utils::IteratorType::parallel);
  iterators.resize(loops, utils::IteratorType::reduction);
  MLIRContext *context = builder.getContext();
  SmallVector<AffineMap> maps = {AffineMap::get(loops, 0, left, context),
                                 AffineMap::get(loops, 0, right, context),
                                 AffineMap::get(loops, 0, sums, context)};
  Value start = arith::ConstantOp::create(builder, first.init);
  Value empty = tensor::EmptyOp::create(builder, shape, first.init.getType());
  Value init = linalg::FillOp::create(builder, start, empty).getResult(0);
  return linalg::GenericOp::create(
             builder, TypeRange(init.getType()),
             ValueRange({first.a->get(), weights}), ValueRange(init), maps,
             iterators,
             [&](OpBuilder &inner, Location loc, ValueRange arguments) {
               Value factors[2] = {arguments[0], arguments[1]};
               for (Value &factor : factors)
                 if (factor.getType() != arguments[2].getType())
                   factor = arith::ExtFOp::create(
                       inner, loc, arguments[2].getType(), factor);
               Value product =
                   arith::MulFOp::create(inner, loc, factors[0], factors[1]);
               Value sum =
                   arith::AddFOp::create(inner, loc, arguments[2], product);
               linalg::YieldOp::create(inner, loc, sum);
             })
      .getResult(0);
}

/// What `product` made, of its part of the merged product, which begins at
/// `offset`.
static Value readPart(ImplicitLocOpBuilder &builder, Value merged,
                      const MergeableProduct &product, int64_t offset) {
  SmallVector<OpFoldResult> offsets, sizes, strides;
  SmallVector<int64_t> shape;
  SmallVector<unsigned> loops(product.m);
  for (unsigned loop : product.m)
    shape.push_back(product.extents[loop]);
  for (int64_t size : shape) {
    offsets.push_back(builder.getIndexAttr(0));
    sizes.push_back(builder.getIndexAttr(size));
  }
  offsets.push_back(builder.getIndexAttr(offset));
  sizes.push_back(builder.getIndexAttr(product.rows()));
  strides.assign(offsets.size(), builder.getIndexAttr(1));
  Value part =
      tensor::ExtractSliceOp::create(builder, merged, offsets, sizes, strides);
  // The loops of n, then the dimensions as the product had them.
  SmallVector<ReassociationIndices> groups;
  for (unsigned i = 0; i < product.m.size(); ++i)
    groups.push_back({int64_t(i)});
  groups.emplace_back();
  for (unsigned loop : product.n) {
    groups.back().push_back(loops.size());
    loops.push_back(loop);
    shape.push_back(product.extents[loop]);
  }
  Type element = cast<RankedTensorType>(merged.getType()).getElementType();
  if (product.n.size() > 1)
    part = tensor::ExpandShapeOp::create(
        builder, RankedTensorType::get(shape, element), part, groups);
  linalg::LinalgOp op = product.op;
  SmallVector<int64_t> order, result;
  for (AffineExpr dim :
       op.getMatchingIndexingMap(op.getDpsInitOperand(0)).getResults()) {
    unsigned loop = cast<AffineDimExpr>(dim).getPosition();
    order.push_back(llvm::find(loops, loop) - loops.begin());
    result.push_back(product.extents[loop]);
  }
  if (llvm::is_sorted(order))
    return part;
  Value empty = tensor::EmptyOp::create(builder, result, element);
  return linalg::TransposeOp::create(builder, part, empty, order)->getResult(0);
}

static void merge(func::FuncOp function, const Group &group) {
  const MergeableProduct &first = group.products.front();
  BlockArgument weights = joinWeights(function, group);
  Location location = first.op->getLoc();
  // What it reads is an argument, or A, which is there.
  Operation *at = first.op;
  ImplicitLocOpBuilder builder(location, at);
  Value merged = multiply(builder, first, weights);
  if (first.round)
    merged = tp::castElements(
        builder, location, merged,
        cast<RankedTensorType>(first.result().getType()).getElementType());
  int64_t offset = 0;
  for (const MergeableProduct &product : group.products) {
    builder.setLoc(product.op->getLoc());
    Value part = readPart(builder, merged, product, offset);
    product.result().replaceAllUsesWith(part);
    offset += product.rows();
  }
  for (const MergeableProduct &product : group.products) {
    if (product.round)
      product.round->erase();
    Value weight = product.b->get();
    product.op->erase();
    // The views of the weight.
    while (Operation *view = weight.getDefiningOp()) {
      weight = viewOf(weight)->source;
      view->erase();
    }
  }
}

/// The weights of a group as tensors that entries share, each with the order of
/// its dimensions.
static std::vector<std::vector<int64_t>>
weightsOf(const Group &group, unsigned entry,
          const tp::SharedArguments &shared) {
  std::vector<std::vector<int64_t>> weights;
  for (const MergeableProduct &product : group.products) {
    unsigned number = product.weight.getArgNumber();
    std::optional<unsigned> tensor = shared.tensorOf(entry, number);
    // Those that an entry has for itself are no other one's.
    std::vector<int64_t> &weight =
        weights.emplace_back(tensor ? std::vector<int64_t>{-1, *tensor}
                                    : std::vector<int64_t>{entry, number});
    llvm::append_range(weight, product.permutation);
  }
  return weights;
}

/// Weights are joined for all entries that use them, or for none: leaves out
/// groups of which another entry uses a weight and has not the same group, or
/// has some of the weights as arguments and lacks others: an entry has a place
/// in memory for all that is joined, or for none.
static void keepCommonGroups(ArrayRef<func::FuncOp> functions,
                             std::vector<std::vector<Group>> &groups) {
  if (functions.size() < 2)
    return;
  tp::SharedArguments shared(functions);
  auto isApartIn = [&](const Group &group, unsigned entry, unsigned other) {
    auto weights = weightsOf(group, entry, shared);
    if (llvm::any_of(groups[other], [&](const Group &each) {
          return weightsOf(each, other, shared) == weights;
        }))
      return false;
    func::FuncOp function = functions[other];
    size_t there = 0;
    for (const MergeableProduct &product : group.products) {
      auto tensor = shared.tensorOf(entry, product.weight.getArgNumber());
      if (!tensor)
        continue;
      for (tp::EntryArgument each : shared.tensors()[*tensor]) {
        if (each.entry != other)
          continue;
        ++there;
        if (!function.getArgument(each.argument).use_empty())
          return true;
      }
    }
    return there != 0 && there != group.products.size();
  };
  auto isUsedOutside = [&](const Group &group, unsigned entry) {
    return llvm::any_of(
        llvm::seq<unsigned>(0, functions.size()), [&](unsigned other) {
          return other != entry && isApartIn(group, entry, other);
        });
  };
  // What one group loses, an equal one of another entry loses too.
  std::vector<std::vector<Group>> kept(groups.size());
  for (unsigned entry = 0; entry < functions.size(); ++entry)
    for (Group &group : groups[entry])
      if (!isUsedOutside(group, entry))
        kept[entry].push_back(group);
  groups = std::move(kept);
}

namespace {
struct MergeGemmsPass : tp::impl::MergeGemmsBase<MergeGemmsPass> {
  using MergeGemmsBase::MergeGemmsBase;

  LogicalResult run() {
    FailureOr<PassInput> input =
        passInputOnTensors(getOperation(), target, "tp-merge-gemms");
    if (failed(input))
      return failure();
    auto [functions, traits] = *input;
    std::vector<std::vector<Group>> groups;
    for (func::FuncOp function : functions) {
      if (!function.getBody().hasOneBlock())
        return success();
      cleanUp(function, traits);
      groups.push_back(findGroups(function, traits));
    }
    keepCommonGroups(functions, groups);
    for (auto [function, found] : llvm::zip_equal(functions, groups)) {
      // A merge changes neither A nor the weights of another group.
      for (const Group &group : found)
        merge(function, group);
      if (!found.empty())
        cleanUp(function, traits);
    }
    return success();
  }

  void runOnOperation() override {
    if (failed(run()))
      signalPassFailure();
  }
};
} // namespace
