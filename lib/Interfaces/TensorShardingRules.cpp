//===- TensorShardingRules.cpp - rules of tensor ops ----------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "tp/Interfaces/BodyLinearity.h"
#include "tp/Interfaces/LocalOpBuilder.h"
#include "tp/Interfaces/Registration.h"
#include "tp/Interfaces/ReplicatedRule.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tp;

namespace {
LogicalResult requireStaticShapes(Operation *op) {
  for (Type type :
       llvm::concat<const Type>(llvm::to_vector(op->getOperandTypes()),
                                llvm::to_vector(op->getResultTypes()))) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (tensor && !tensor.hasStaticShape())
      return op->emitOpError("has a dynamic shape, expected static sizes; "
                             "export the model with fixed sizes");
  }
  return success();
}

/// An op that moves elements and computes nothing: partial values of every kind
/// pass if all its tensors are partial.
ShardingRule movementRule(Operation *op) {
  ShardingRule rule;
  rule.slots = slotsOf(op);
  rule.initOf.assign(rule.slots.size(), std::nullopt);
  SmallVector<unsigned, 4> all;
  for (unsigned slot = 0; slot < rule.slots.size(); ++slot)
    all.push_back(slot);
  for (ReductionKind kind : allReductionKinds) {
    if (all.empty())
      rule.freePartials.push_back(kind);
    else
      rule.passthroughs.push_back({kind, all, kind});
  }
  rule.work =
      cast<RankedTensorType>(op->getResult(0).getType()).getNumElements();
  return rule;
}

unsigned addFactor(ShardingRule &rule, int64_t size) {
  rule.factors.emplace_back().size = size;
  return rule.factors.size() - 1;
}

/// One factor per dimension of `type`.
TensorFactors addFactors(ShardingRule &rule, RankedTensorType type) {
  TensorFactors dims;
  for (int64_t size : type.getShape())
    dims.push_back({addFactor(rule, size)});
  return dims;
}

/// The coarser side of a reshape: one dimension per group of finer ones.
TensorFactors grouped(ArrayRef<ReassociationIndices> groups) {
  TensorFactors dims;
  for (const ReassociationIndices &group : groups)
    dims.emplace_back(group.begin(), group.end());
  return dims;
}

//===----------------------------------------------------------------------===//
// Reshapes
//===----------------------------------------------------------------------===//

/// Expands or collapses a shape: the finer side has a factor per dimension.
template <typename ReshapeOp>
struct ReshapeModel
    : ShardingRuleOpInterface::ExternalModel<ReshapeModel<ReshapeOp>,
                                             ReshapeOp> {
  FailureOr<ShardingRule> getShardingRule(Operation *op) const {
    auto reshape = cast<ReshapeOp>(op);
    if (failed(requireStaticShapes(op)))
      return failure();
    constexpr bool isExpand = std::is_same_v<ReshapeOp, tensor::ExpandShapeOp>;
    ShardingRule rule = movementRule(op);
    TensorFactors coarse = grouped(reshape.getReassociationIndices());
    TensorFactors fine = addFactors(rule, isExpand ? reshape.getResultType()
                                                   : reshape.getSrcType());
    rule.slotFactors = {isExpand ? coarse : fine};
    rule.resultFactors = {isExpand ? fine : coarse};
    return rule;
  }

  FailureOr<SmallVector<Value>> createLocal(Operation *op,
                                            LocalOpBuilder &local) const {
    return SmallVector<Value>{ReshapeOp::create(
        local.builder, op->getLoc(), local.resultType(0), local.slot(0),
        cast<ReshapeOp>(op).getReassociationIndices())};
  }
};

//===----------------------------------------------------------------------===//
// Slices
//===----------------------------------------------------------------------===//

/// Adds factors for the dimensions of a slice of a tensor of type `whole`: its
/// own dimensions, and what the slice takes of them. A dimension cut in
/// contiguous parts is a packed factor; one that is dropped or taken in strides
/// is none.
template <typename SliceOp>
std::pair<TensorFactors, TensorFactors>
addSliceFactors(ShardingRule &rule, SliceOp op, RankedTensorType whole) {
  TensorFactors wholeDims(whole.getRank()), partDims(whole.getRank());
  llvm::SmallBitVector dropped = op.getDroppedDims();
  for (unsigned dim = 0; dim < whole.getRank(); ++dim) {
    std::optional<int64_t> offset =
        getConstantIntValue(op.getMixedOffsets()[dim]);
    std::optional<int64_t> size = getConstantIntValue(op.getMixedSizes()[dim]);
    int64_t all = whole.getDimSize(dim);
    if (dropped.test(dim) || !offset || !size || *size == 0 ||
        !isConstantIntValue(op.getMixedStrides()[dim], 1))
      continue;
    wholeDims[dim] = partDims[dim] = {addFactor(rule, all)};
    if (*size == all)
      continue;
    partDims[dim].window = FactorWindow{*offset, *size};
    std::vector<int64_t> segments;
    for (int64_t segment : {*offset, *size, all - *offset - *size})
      if (segment > 0)
        segments.push_back(segment);
    rule.factors.back().segmentations.push_back(std::move(segments));
  }
  return {wholeDims, partDims};
}

struct LocalSlice {
  SmallVector<OpFoldResult> offsets, sizes, strides;
};

/// A slice of a tensor of type `whole` as one rank has it: along the factors of
/// the dimensions of the slice's part of the whole.
template <typename SliceOp>
LocalSlice localSlice(SliceOp op, LocalOpBuilder &local,
                      RankedTensorType whole) {
  IRMapping mapping = local.mapping();
  auto toLocal = [&](SmallVector<OpFoldResult> numbers) {
    for (OpFoldResult &number : numbers)
      if (auto value = dyn_cast<Value>(number))
        number = mapping.lookupOrDefault(value);
    return numbers;
  };
  LocalSlice slice = {toLocal(op.getMixedOffsets()),
                      toLocal(op.getMixedSizes()),
                      toLocal(op.getMixedStrides())};
  ShardingRule unsplit;
  TensorFactors parts = addSliceFactors(unsplit, op, whole).second;
  for (auto [dim, factors] : llvm::enumerate(parts)) {
    if (factors.empty())
      continue;
    FactorWindow window = local.localWindow(factors);
    slice.offsets[dim] = local.builder.getIndexAttr(window.offset);
    slice.sizes[dim] = local.builder.getIndexAttr(window.size);
  }
  return slice;
}

/// `parts` without the dimensions that the slice drops.
template <typename SliceOp>
TensorFactors keptDims(SliceOp op, const TensorFactors &parts) {
  llvm::SmallBitVector dropped = op.getDroppedDims();
  TensorFactors kept;
  for (auto [dim, factors] : llvm::enumerate(parts))
    if (!dropped.test(dim))
      kept.push_back(factors);
  return kept;
}

struct ExtractSliceModel
    : ShardingRuleOpInterface::ExternalModel<ExtractSliceModel,
                                             tensor::ExtractSliceOp> {
  FailureOr<ShardingRule> getShardingRule(Operation *op) const {
    auto slice = cast<tensor::ExtractSliceOp>(op);
    if (failed(requireStaticShapes(op)))
      return failure();
    ShardingRule rule = movementRule(op);
    auto [whole, part] = addSliceFactors(rule, slice, slice.getSourceType());
    rule.slotFactors = {whole};
    rule.resultFactors = {keptDims(slice, part)};
    return rule;
  }

  FailureOr<SmallVector<Value>> createLocal(Operation *op,
                                            LocalOpBuilder &local) const {
    auto extract = cast<tensor::ExtractSliceOp>(op);
    LocalSlice slice = localSlice(extract, local, extract.getSourceType());
    return SmallVector<Value>{tensor::ExtractSliceOp::create(
        local.builder, op->getLoc(), local.resultType(0), local.slot(0),
        slice.offsets, slice.sizes, slice.strides)};
  }
};

struct InsertSliceModel
    : ShardingRuleOpInterface::ExternalModel<InsertSliceModel,
                                             tensor::InsertSliceOp> {
  FailureOr<ShardingRule> getShardingRule(Operation *op) const {
    auto slice = cast<tensor::InsertSliceOp>(op);
    if (failed(requireStaticShapes(op)))
      return failure();
    ShardingRule rule = movementRule(op);
    auto [whole, part] = addSliceFactors(rule, slice, slice.getDestType());
    rule.slotFactors = {keptDims(slice, part), whole};
    rule.resultFactors = {whole};
    return rule;
  }

  FailureOr<SmallVector<Value>> createLocal(Operation *op,
                                            LocalOpBuilder &local) const {
    auto insert = cast<tensor::InsertSliceOp>(op);
    LocalSlice slice = localSlice(insert, local, insert.getDestType());
    return SmallVector<Value>{tensor::InsertSliceOp::create(
        local.builder, op->getLoc(), local.slot(0), local.slot(1),
        slice.offsets, slice.sizes, slice.strides)};
  }
};

//===----------------------------------------------------------------------===//
// Padding, concatenation, creation
//===----------------------------------------------------------------------===//

} // namespace

/// Adds a factor per dimension of a pad's result, and returns the dimensions of
/// its source and of its result. A padded dimension is a packed factor: what is
/// in front, the source and what is behind are its segments. One that is padded
/// by an amount known at run time, or cut by a negative one, is no factor.
static std::pair<TensorFactors, TensorFactors>
addPadFactors(ShardingRule &rule, tensor::PadOp pad) {
  RankedTensorType type = pad.getResultType();
  TensorFactors source(type.getRank()), padded(type.getRank());
  SmallVector<OpFoldResult> lows = pad.getMixedLowPad();
  SmallVector<OpFoldResult> highs = pad.getMixedHighPad();
  for (unsigned dim = 0; dim < type.getRank(); ++dim) {
    std::optional<int64_t> low = getConstantIntValue(lows[dim]);
    std::optional<int64_t> high = getConstantIntValue(highs[dim]);
    if (!low || !high || *low < 0 || *high < 0)
      continue;
    int64_t size = pad.getSourceType().getDimSize(dim);
    source[dim] = padded[dim] = {addFactor(rule, type.getDimSize(dim))};
    if (*low == 0 && *high == 0)
      continue;
    source[dim].window = FactorWindow{*low, size};
    std::vector<int64_t> segments;
    for (int64_t segment : {*low, size, *high})
      if (segment > 0)
        segments.push_back(segment);
    rule.factors.back().segmentations.push_back(std::move(segments));
  }
  return {source, padded};
}

namespace {
/// Every rank writes the padding of its part, so partial values pass only where
/// that changes nothing.
struct PadModel
    : ShardingRuleOpInterface::ExternalModel<PadModel, tensor::PadOp> {
  FailureOr<ShardingRule> getShardingRule(Operation *op) const {
    auto pad = cast<tensor::PadOp>(op);
    if (failed(requireStaticShapes(op)))
      return failure();
    Value padding = pad.getConstantPaddingValue();
    if (!padding)
      return pad.emitOpError("computes its padding from the index, expected "
                             "one number");
    ShardingRule rule = movementRule(op);
    llvm::erase_if(rule.passthroughs, [&](const PartialPassthrough &pass) {
      return !isIdentityConstant(padding, pass.kind);
    });
    auto [source, padded] = addPadFactors(rule, pad);
    rule.slotFactors = {source};
    rule.resultFactors = {padded};
    return rule;
  }

  FailureOr<SmallVector<Value>> createLocal(Operation *op,
                                            LocalOpBuilder &local) const {
    auto pad = cast<tensor::PadOp>(op);
    IRMapping mapping = local.mapping();
    SmallVector<OpFoldResult> low = pad.getMixedLowPad();
    SmallVector<OpFoldResult> high = pad.getMixedHighPad();
    for (auto [dim, factors] : llvm::enumerate(local.rule.slotFactors[0])) {
      if (factors.empty()) {
        for (OpFoldResult *amount : {&low[dim], &high[dim]})
          if (auto value = dyn_cast<Value>(*amount))
            *amount = mapping.lookupOrDefault(value);
        continue;
      }
      FactorWindow window = local.localWindow(factors);
      int64_t size = local.resultType(0).getDimSize(dim);
      low[dim] = local.builder.getIndexAttr(window.offset);
      high[dim] =
          local.builder.getIndexAttr(size - window.offset - window.size);
    }
    auto made =
        tensor::PadOp::create(local.builder, op->getLoc(), local.resultType(0),
                              local.slot(0), low, high, pad.getNofold());
    pad.getRegion().cloneInto(&made.getRegion(), mapping);
    return SmallVector<Value>{made};
  }
};

struct ConcatModel
    : ShardingRuleOpInterface::ExternalModel<ConcatModel, tensor::ConcatOp> {
  FailureOr<ShardingRule> getShardingRule(Operation *op) const {
    auto concat = cast<tensor::ConcatOp>(op);
    if (failed(requireStaticShapes(op)))
      return failure();
    ShardingRule rule = movementRule(op);
    TensorFactors dims = addFactors(rule, concat.getResultType());
    rule.slotFactors.assign(rule.slots.size(), dims);
    rule.resultFactors = {dims};
    // The joined dimension is packed: every input is a segment of it.
    Factor &joined = rule.factors[concat.getDim()];
    FactorWindow window;
    std::vector<int64_t> segments;
    for (auto [slot, value] : llvm::enumerate(rule.slots)) {
      window.size =
          cast<RankedTensorType>(value.getType()).getDimSize(concat.getDim());
      if (window.size != joined.size)
        rule.slotFactors[slot][concat.getDim()].window = window;
      if (window.size > 0)
        segments.push_back(window.size);
      window.offset += window.size;
    }
    if (segments.size() > 1)
      joined.segmentations.push_back(std::move(segments));
    return rule;
  }

  FailureOr<SmallVector<Value>> createLocal(Operation *op,
                                            LocalOpBuilder &local) const {
    auto concat = cast<tensor::ConcatOp>(op);
    SmallVector<Value> inputs;
    for (unsigned slot = 0; slot < local.rule.slots.size(); ++slot)
      inputs.push_back(local.slot(slot));
    return SmallVector<Value>{
        tensor::ConcatOp::create(local.builder, op->getLoc(),
                                 local.resultType(0), concat.getDim(), inputs)};
  }
};

struct EmptyModel
    : ShardingRuleOpInterface::ExternalModel<EmptyModel, tensor::EmptyOp> {
  FailureOr<ShardingRule> getShardingRule(Operation *op) const {
    if (failed(requireStaticShapes(op)))
      return failure();
    ShardingRule rule = movementRule(op);
    rule.resultFactors = {
        addFactors(rule, cast<tensor::EmptyOp>(op).getType())};
    rule.work = 0;
    return rule;
  }

  FailureOr<SmallVector<Value>> createLocal(Operation *op,
                                            LocalOpBuilder &local) const {
    RankedTensorType type = local.resultType(0);
    return SmallVector<Value>{tensor::EmptyOp::create(
        local.builder, op->getLoc(), type.getShape(), type.getElementType())};
  }
};

/// An op that reads or makes tensors element by element from scalars: every
/// rank does all of it.
template <typename OpTy>
struct ReplicatedModel
    : ShardingRuleOpInterface::ExternalModel<ReplicatedModel<OpTy>, OpTy> {
  FailureOr<ShardingRule> getShardingRule(Operation *op) const {
    if (failed(requireStaticShapes(op)))
      return failure();
    return replicatedRule(op);
  }

  FailureOr<SmallVector<Value>> createLocal(Operation *op,
                                            LocalOpBuilder &local) const {
    return createReplicated(local);
  }
};
} // namespace

void tp::registerTensorShardingRules(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, tensor::TensorDialect *) {
    tensor::ExpandShapeOp::attachInterface<ReshapeModel<tensor::ExpandShapeOp>>(
        *context);
    tensor::CollapseShapeOp::attachInterface<
        ReshapeModel<tensor::CollapseShapeOp>>(*context);
    tensor::ExtractSliceOp::attachInterface<ExtractSliceModel>(*context);
    tensor::InsertSliceOp::attachInterface<InsertSliceModel>(*context);
    tensor::PadOp::attachInterface<PadModel>(*context);
    tensor::ConcatOp::attachInterface<ConcatModel>(*context);
    tensor::EmptyOp::attachInterface<EmptyModel>(*context);
    tensor::ExtractOp::attachInterface<ReplicatedModel<tensor::ExtractOp>>(
        *context);
    tensor::FromElementsOp::attachInterface<
        ReplicatedModel<tensor::FromElementsOp>>(*context);
    tensor::SplatOp::attachInterface<ReplicatedModel<tensor::SplatOp>>(
        *context);
  });
}
