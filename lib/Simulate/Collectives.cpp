//===- Collectives.cpp - what the ranks exchange --------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Collectives.h"
#include "tp/IR/Collective.h"
#include "tp/Interpreter/Distribute.h"
#include "tp/Interpreter/Identity.h"
#include "tp/Sharding/LayoutChange.h"
#include "llvm/ADT/TypeSwitch.h"
#include <cmath>

using namespace mlir;
using namespace tp;
using namespace tp::simulator;

bool simulator::isCollective(Operation *op) {
  return tp::isCollective(op) ||
         isa<LocalSliceOp, LocalPartialOp, ReinterpretOp, RedistributeOp>(op);
}

static int64_t offsetOf(ArrayRef<int64_t> index, ArrayRef<int64_t> strides) {
  int64_t offset = 0;
  for (auto [position, stride] : llvm::zip(index, strides))
    offset += position * stride;
  return offset;
}

TensorData simulator::assemble(LayoutAttr layout, RankedTensorType type,
                               ArrayRef<TensorData> buffers,
                               std::vector<double> *magnitudes) {
  const Mesh &mesh = layout.getMesh().getValue();
  PartialParts partial = partialParts(layout.getValue());
  Type element = type.getElementType();
  TensorData whole = TensorData::poison(element, type.getShape());
  SmallVector<int64_t> strides = rowMajorStrides(type.getShape());
  if (magnitudes)
    magnitudes->assign(whole.numElements(), 0);
  for (const std::vector<int64_t> &group : mesh.groups(partial.parts))
    forEachHeld(layout, type.getShape(), group[0],
                [&](ArrayRef<int64_t> index, int64_t at) {
                  int64_t to = offsetOf(index, strides);
                  SmallVector<Scalar> numbers;
                  double magnitude = 0;
                  for (int64_t rank : group) {
                    const TensorData &buffer = buffers[rank];
                    numbers.push_back(buffer.get(buffer.isSplat() ? 0 : at));
                    magnitude += std::fabs(numbers.back().real);
                  }
                  if (magnitudes)
                    (*magnitudes)[to] = magnitude;
                  whole.set(to, partial.combine(numbers, element));
                });
  return whole;
}

namespace {
/// One collective on the buffers of all ranks.
class CollectiveRun {
public:
  CollectiveRun(Operation *op, MutableArrayRef<Frame> ranks)
      : op(op), ranks(ranks), source(op->getOperand(0)),
        result(op->getResult(0)),
        from(cast<RankedTensorType>(source.getType())),
        to(cast<RankedTensorType>(result.getType())) {
    for (Frame &frame : ranks) {
      inputs.push_back(frame.view(source));
      outputs.push_back(frame.view(result, frame.allocate(to)));
    }
  }

  LogicalResult run();

private:
  bool hasLayouts() const { return LayoutAttr::of(from) != nullptr; }
  LogicalResult permute(PermuteOp op);
  LogicalResult redistribute();
  LogicalResult localPartial(LocalPartialOp op);
  /// Every element of a rank's result comes from the member of its group that
  /// holds it; with `kind`, from all members, combined.
  LogicalResult withLayouts(ArrayRef<AxisPart> parts,
                            std::optional<ReductionKind> kind);
  /// Blocks as the plain form describes them.
  void allReduce(AxesAttr axes, ReductionKind kind);
  void allGather(AxesAttr axes, int64_t dim);
  void reduceScatter(AxesAttr axes, ReductionKind kind, int64_t dim);
  void allToAll(AxesAttr axes, int64_t splitDim, int64_t concatDim);
  Scalar combined(ArrayRef<int64_t> group, ReductionKind kind, int64_t offset);

  /// Calls `function(position in the group, rank, group)` for all ranks.
  template <typename Function>
  void forEachMember(const Mesh &mesh, ArrayRef<AxisPart> parts, Function f) {
    for (const std::vector<int64_t> &group : mesh.groups(parts))
      for (auto [position, rank] : llvm::enumerate(group))
        f(static_cast<int64_t>(position), rank, ArrayRef(group));
  }
  template <typename Function> void forEachMember(AxesAttr axes, Function f) {
    forEachMember(axes.getMesh().getValue(), axes.getParts(), f);
  }

  Operation *op;
  MutableArrayRef<Frame> ranks;
  Value source, result;
  RankedTensorType from, to;
  SmallVector<ShardView> inputs, outputs;
};
} // namespace

static Scalar elementOf(const TensorData &array, int64_t offset) {
  return array.get(array.isSplat() ? 0 : offset);
}

Scalar CollectiveRun::combined(ArrayRef<int64_t> group, ReductionKind kind,
                               int64_t offset) {
  Type element = from.getElementType();
  Scalar value = elementOf(inputs[group[0]].array, offset);
  for (int64_t rank : group.drop_front())
    value =
        combine(kind, value, elementOf(inputs[rank].array, offset), element);
  return finishAverage(kind, value, group.size(), element);
}

LogicalResult CollectiveRun::withLayouts(ArrayRef<AxisPart> parts,
                                         std::optional<ReductionKind> kind) {
  LayoutAttr target = LayoutAttr::of(to);
  LogicalResult status = success();
  const Mesh &mesh = target.getMesh().getValue();
  forEachMember(
      mesh, parts, [&](int64_t, int64_t rank, ArrayRef<int64_t> group) {
        TensorData &out = outputs[rank].array;
        forEachHeld(target, to.getShape(), rank,
                    [&](ArrayRef<int64_t> index, int64_t offset) {
                      std::optional<Scalar> value;
                      for (int64_t member : group) {
                        const ShardView &input = inputs[member];
                        int64_t at = input.offset(index, input.array.strides());
                        if (at < 0) {
                          if (!kind)
                            continue;
                          if (succeeded(status))
                            status = op->emitOpError()
                                     << "rank " << rank << " needs element "
                                     << indexText(index) << ", which rank "
                                     << member << " of its group does not hold";
                          return;
                        }
                        Scalar number = input.array.get(at);
                        value = value ? combine(*kind, *value, number,
                                                to.getElementType())
                                      : number;
                        if (!kind)
                          break;
                      }
                      if (!value) {
                        if (succeeded(status))
                          status = op->emitOpError()
                                   << "rank " << rank << " needs element "
                                   << indexText(index)
                                   << ", which no rank of its group holds";
                        return;
                      }
                      if (kind)
                        value = finishAverage(*kind, *value, group.size(),
                                              to.getElementType());
                      out.set(offset, *value);
                    });
      });
  return status;
}

LogicalResult CollectiveRun::redistribute() {
  std::vector<TensorData> buffers;
  for (const ShardView &input : inputs)
    buffers.push_back(input.array);
  TensorData whole = assemble(LayoutAttr::of(from), from, buffers);
  for (auto [rank, output] : llvm::enumerate(outputs))
    output.array = distribute(whole, LayoutAttr::of(to), rank);
  return success();
}

LogicalResult CollectiveRun::localPartial(LocalPartialOp op) {
  ReductionKind kind = op.getReduction().getValue();
  Scalar identity = identityOf(kind, to.getElementType());
  forEachMember(op.getAxes(), [&](int64_t position, int64_t rank,
                                  ArrayRef<int64_t>) {
    if (position == 0 || combinesCopies(kind))
      outputs[rank].array = inputs[rank].array;
    else
      outputs[rank].array = TensorData::splat(
          to.getElementType(), inputs[rank].array.shape(), identity);
  });
  return success();
}

LogicalResult CollectiveRun::permute(PermuteOp op) {
  forEachMember(op.getAxes(), [&](int64_t position, int64_t rank,
                                  ArrayRef<int64_t> group) {
    outputs[rank].array = inputs[group[op.getSources()[position]]].array;
  });
  return success();
}

void CollectiveRun::allReduce(AxesAttr axes, ReductionKind kind) {
  forEachMember(axes, [&](int64_t, int64_t rank, ArrayRef<int64_t> group) {
    TensorData &out = outputs[rank].array;
    for (int64_t i = 0, e = out.numElements(); i < e; ++i)
      out.set(i, combined(group, kind, i));
  });
}

void CollectiveRun::allGather(AxesAttr axes, int64_t dim) {
  SmallVector<int64_t> strides = rowMajorStrides(from.getShape());
  int64_t block = from.getDimSize(dim);
  forEachMember(axes, [&](int64_t, int64_t rank, ArrayRef<int64_t> group) {
    TensorData &out = outputs[rank].array;
    SmallVector<int64_t> index(to.getRank(), 0);
    for (int64_t i = 0, e = out.numElements(); i < e; ++i) {
      SmallVector<int64_t> at(index);
      at[dim] %= block;
      out.set(i, elementOf(inputs[group[index[dim] / block]].array,
                           offsetOf(at, strides)));
      nextIndex(index, to.getShape());
    }
  });
}

void CollectiveRun::reduceScatter(AxesAttr axes, ReductionKind kind,
                                  int64_t dim) {
  SmallVector<int64_t> strides = rowMajorStrides(from.getShape());
  int64_t block = to.getDimSize(dim);
  forEachMember(axes,
                [&](int64_t position, int64_t rank, ArrayRef<int64_t> group) {
                  TensorData &out = outputs[rank].array;
                  SmallVector<int64_t> index(to.getRank(), 0);
                  for (int64_t i = 0, e = out.numElements(); i < e; ++i) {
                    SmallVector<int64_t> at(index);
                    at[dim] += position * block;
                    out.set(i, combined(group, kind, offsetOf(at, strides)));
                    nextIndex(index, to.getShape());
                  }
                });
}

void CollectiveRun::allToAll(AxesAttr axes, int64_t splitDim,
                             int64_t concatDim) {
  SmallVector<int64_t> strides = rowMajorStrides(from.getShape());
  int64_t splitBlock = to.getDimSize(splitDim);
  int64_t concatBlock = from.getDimSize(concatDim);
  forEachMember(
      axes, [&](int64_t position, int64_t rank, ArrayRef<int64_t> group) {
        TensorData &out = outputs[rank].array;
        SmallVector<int64_t> index(to.getRank(), 0);
        for (int64_t i = 0, e = out.numElements(); i < e; ++i) {
          SmallVector<int64_t> at(index);
          int64_t sender = group[index[concatDim] / concatBlock];
          at[concatDim] %= concatBlock;
          at[splitDim] += position * splitBlock;
          out.set(i, elementOf(inputs[sender].array, offsetOf(at, strides)));
          nextIndex(index, to.getShape());
        }
      });
}

LogicalResult CollectiveRun::run() {
  LogicalResult status =
      llvm::TypeSwitch<Operation *, LogicalResult>(op)
          .Case([&](RedistributeOp) { return redistribute(); })
          .Case<LocalSliceOp, ReinterpretOp>([&](auto) {
            // A group of one: what a rank keeps it has itself.
            return withLayouts({}, std::nullopt);
          })
          .Case([&](LocalPartialOp op) { return localPartial(op); })
          .Case([&](PermuteOp op) { return permute(op); })
          .Case([&](AllReduceOp op) -> LogicalResult {
            ReductionKind kind = op.getReduction().getValue();
            if (hasLayouts())
              return withLayouts(op.getAxes().getParts(), kind);
            allReduce(op.getAxes(), kind);
            return success();
          })
          .Case([&](AllGatherOp op) -> LogicalResult {
            if (hasLayouts())
              return withLayouts(op.getAxes().getParts(), std::nullopt);
            allGather(op.getAxes(), op.getDim());
            return success();
          })
          .Case([&](ReduceScatterOp op) -> LogicalResult {
            ReductionKind kind = op.getReduction().getValue();
            if (hasLayouts())
              return withLayouts(op.getAxes().getParts(), kind);
            reduceScatter(op.getAxes(), kind, op.getDim());
            return success();
          })
          .Case([&](AllToAllOp op) -> LogicalResult {
            if (hasLayouts())
              return withLayouts(op.getAxes().getParts(), std::nullopt);
            allToAll(op.getAxes(), op.getSplitDim(), op.getConcatDim());
            return success();
          })
          .Default([](Operation *op) -> LogicalResult {
            return unrunnable(op) << "cannot be simulated";
          });
  if (failed(status))
    return failure();
  for (auto [frame, output] : llvm::zip(ranks, outputs))
    frame.values[result] = output.array;
  return success();
}

LogicalResult simulator::evaluateOnRanks(Operation *op,
                                         MutableArrayRef<Frame> ranks) {
  if (isCollective(op))
    return failure(failed(checkTypes(op)) ||
                   failed(CollectiveRun(op, ranks).run()));
  for (Frame &frame : ranks)
    if (failed(evaluate(op, frame)))
      return failure();
  return success();
}
