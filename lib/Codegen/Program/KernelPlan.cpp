//===- KernelPlan.cpp - the compute loops of a tp.kernel ------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelPlan.h"
#include "CommandUses.h"
#include "Kernels/Schedule.h"
#include "MemoryOrder.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"

using namespace mlir;
using namespace tp::target;

namespace {
class KernelReader {
public:
  KernelReader(tp::KernelOp kernel, const TargetTraits &traits)
      : kernel(kernel), plan(std::make_unique<KernelPlan>(traits)) {}

  FailureOr<std::unique_ptr<KernelPlan>> read();

private:
  void store(Value value, Value buffer);
  LogicalResult readCompute(tp::ComputeOp op);
  LogicalResult setRows(tp::ComputeOp op, ComputeLoop &computeLoop);
  LogicalResult setScattered(tp::ComputeOp op, ComputeLoop &computeLoop);
  LogicalResult checkReads(const ComputeLoop &computeLoop);
  LogicalResult checkHeld(tp::ComputeOp op) const;

  tp::KernelOp kernel;
  std::unique_ptr<KernelPlan> plan;
};
} // namespace

/// Notes that `value` is in `buffer`, or, without one, that it is a row's.
void KernelReader::store(Value value, Value buffer) {
  auto type = cast<RankedTensorType>(value.getType());
  Storage storage;
  storage.value = value;
  storage.elementType = type.getElementType();
  storage.elements = type.getNumElements();
  storage.address = buffer ? placeMap(cast<MemRefType>(buffer.getType()))
                           : rowMajor(type.getShape(), value.getContext());
  if (auto argument = dyn_cast_if_present<BlockArgument>(buffer))
    plan->buffers.insert({value, argument});
  else
    storage.space = Space::Scratch;
  plan->values.add(storage);
}

LogicalResult KernelReader::setRows(tp::ComputeOp op,
                                    ComputeLoop &computeLoop) {
  const ComputeLoop *first =
      plan->computeLoops.empty() ? nullptr : plan->computeLoops.front().get();
  for (auto [i, row] : llvm::enumerate(op.getRows())) {
    if (row < 0 || row >= int64_t(computeLoop.extents.size()) ||
        computeLoop.reduces[row] ||
        llvm::is_contained(computeLoop.slots, unsigned(row)))
      return op.emitOpError()
             << "expected each row to be another parallel loop out of "
             << computeLoop.extents.size() << ", got " << row;
    computeLoop.slots.push_back(row);
    if (first && i < first->slots.size() &&
        first->extents[first->slots[i]] != computeLoop.extents[row])
      return op.emitOpError()
             << "row loop " << i << " has " << first->extents[first->slots[i]]
             << " iterations, got " << computeLoop.extents[row];
  }
  if (first && first->slots.size() != computeLoop.slots.size())
    return op.emitOpError() << "the kernel has " << first->slots.size()
                            << " row loops, got " << computeLoop.slots.size();
  return success();
}

/// Takes over which loops are scattered. Where addresses cut one of them, or a
/// result is kept in registers, all iterations are visited, which computes the
/// same.
LogicalResult KernelReader::setScattered(tp::ComputeOp op,
                                         ComputeLoop &computeLoop) {
  ArrayRef<int64_t> scattered = op.getScattered();
  if (scattered.empty())
    return success();
  if (!computeLoop.isReduction())
    return op.emitOpError("does not reduce, expected a scatter of a reduction");
  linalg::LinalgOp reduction = computeLoop.reduction;
  SmallVector<int64_t> extents = reduction.getStaticLoopRanges();
  SmallVector<utils::IteratorType> kinds = reduction.getIteratorTypesArray();
  // An accumulator that nothing reads has no memory to visit.
  bool areWhole = llvm::all_of(computeLoop.targets, [&](Value target) {
    return plan->values.isStored(target);
  });
  for (auto [i, loop] : llvm::enumerate(scattered)) {
    if (loop < 0 || loop >= int64_t(extents.size()) ||
        kinds[loop] != utils::IteratorType::parallel ||
        llvm::is_contained(scattered.take_front(i), loop))
      return op.emitOpError() << "expected each scattered loop to be another "
                                 "parallel loop out of "
                              << extents.size() << ", got " << loop;
    areWhole &= isa<AffineDimExpr>(computeLoop.base[loop]);
  }
  for (auto [loop, place] : llvm::zip_equal(scattered, op.getPlaces())) {
    ArrayRef<int64_t> shape = shapeOf(place);
    Indices index;
    bool isRight = shape.size() == extents.size();
    for (auto [i, size] : llvm::enumerate(shape)) {
      isRight = isRight && (size == 1 || (size == extents[i] &&
                                          !llvm::is_contained(scattered, i)));
      index.push_back(size == 1 || !isRight
                          ? getAffineConstantExpr(0, op.getContext())
                          : computeLoop.base[i]);
    }
    if (!isRight)
      return op.emitOpError()
             << "expected a place with a dimension for each of "
             << extents.size()
             << " loops, of their size or of 1, which it is for scattered "
                "loops, got "
             << place.getType();
    if (areWhole)
      computeLoop.scattered.push_back(
          {cast<AffineDimExpr>(computeLoop.base[loop]).getPosition(), place,
           index});
  }
  computeLoop.reads = collectReads(plan->values, computeLoop);
  return success();
}

LogicalResult KernelReader::readCompute(tp::ComputeOp op) {
  for (auto [i, result] : llvm::enumerate(op.getResults()))
    store(result, op.getBuffers().empty() ? Value() : op.getBuffers()[i]);
  auto reduction = op.getValues().front().getDefiningOp<linalg::LinalgOp>();
  bool reduces = reduction && !isElementwise(reduction) &&
                 !plan->values.isStored(op.getValues().front());
  if (!reduces && op.getValues().size() != 1)
    return op.emitOpError()
           << "several values are results of a linalg op with reductions";
  ComputeLoop computeLoop;
  if (reduces) {
    computeLoop =
        makeReduction(plan->values, reduction, [&](OpResult result) -> Value {
          auto at = llvm::find(op.getValues(), Value(result));
          return at == op.getValues().end()
                     ? Value(result)
                     : op.getResults()[at - op.getValues().begin()];
        });
    computeLoop.op = op;
  } else {
    computeLoop = makeElementwise(plan->values, op.getValues().front(),
                                  op.getResults().front());
  }
  if (failed(setRows(op, computeLoop)) || failed(setScattered(op, computeLoop)))
    return failure();
  if (!op.getStarts().empty() && reduces)
    return op.emitOpError() << "reduces, expected a part of a value that does "
                               "not";
  if (op.getCondition() && reduces)
    return op.emitOpError() << "reduces, expected a condition of a value that "
                               "does not";
  if (op.getCondition())
    setCondition(plan->values, computeLoop, op.getCondition());
  for (auto [start, size, dim] :
       llvm::zip_equal(op.getStarts(), op.getSizes(), op.getAlong()))
    computeLoop.parts.push_back({unsigned(dim), start, size});
  plan->computeLoops.push_back(
      std::make_unique<ComputeLoop>(std::move(computeLoop)));
  return success();
}

/// What a compute loop reads of the same kernel its own row has to have
/// computed: rows run side by side.
LogicalResult KernelReader::checkReads(const ComputeLoop &computeLoop) {
  for (const Read &read : computeLoop.reads.reads)
    for (const auto &producer : plan->computeLoops) {
      auto at = llvm::find(producer->targets, read.root);
      if (at == producer->targets.end() || producer->slots.empty())
        continue;
      const Indices &written =
          producer->targetIndex[at - producer->targets.begin()];
      for (auto [row, dim] : llvm::enumerate(producer->slots)) {
        AffineExpr loop = getAffineDimExpr(dim, kernel.getContext());
        auto place = llvm::find(written, loop);
        if (!read.dataDependent && place != written.end() &&
            read.index[place - written.begin()] ==
                getAffineDimExpr(computeLoop.slots[row], kernel.getContext()))
          continue;
        InFlightDiagnostic error =
            computeLoop.op->emitOpError()
            << "reads elements that another row computes, along row loop "
            << row;
        error.attachNote(producer->op->getLoc()) << "they are computed here";
        return error;
      }
    }
  return success();
}

LogicalResult KernelReader::checkHeld(tp::ComputeOp op) const {
  if (!op.getBuffers().empty())
    return success();
  for (Value result : op.getResults())
    if (!plan->fusedKernel->held.contains(result))
      return op.emitOpError()
             << "is not held: it reduces, or another loop nest reads it; write "
                "it into a tp.scratch";
  return success();
}

FailureOr<std::unique_ptr<KernelPlan>> KernelReader::read() {
  for (Operation &op : kernel.getBody().front()) {
    if (auto load = dyn_cast<bufferization::ToTensorOp>(op)) {
      if (!isa<BlockArgument>(load.getBuffer()))
        return load.emitOpError("expected a buffer of the kernel");
      store(load.getResult(), load.getBuffer());
    } else if (auto compute = dyn_cast<tp::ComputeOp>(op)) {
      if (failed(readCompute(compute)))
        return failure();
    }
  }
  if (plan->computeLoops.empty())
    return kernel.emitOpError("expected a tp.compute");
  SmallVector<ComputeLoop *> computeLoops;
  for (const auto &computeLoop : plan->computeLoops) {
    if (failed(checkReads(*computeLoop)))
      return failure();
    computeLoops.push_back(computeLoop.get());
  }
  plan->fusedKernel = finishFusedKernel(plan->values, computeLoops);
  for (auto op : kernel.getBody().front().getOps<tp::ComputeOp>())
    if (failed(checkHeld(op)))
      return failure();
  return std::move(plan);
}

FailureOr<std::unique_ptr<KernelPlan>>
tp::target::planKernel(tp::KernelOp kernel, const TargetTraits &traits) {
  return KernelReader(kernel, traits).read();
}

static llvm::hash_code hashOf(tp::KernelOp kernel) {
  llvm::hash_code hash(0);
  kernel.getBody().walk([&](Operation *op) {
    hash =
        llvm::hash_combine(hash, OperationEquivalence::computeHash(
                                     op, OperationEquivalence::ignoreHashValue,
                                     OperationEquivalence::ignoreHashValue,
                                     OperationEquivalence::IgnoreLocations));
  });
  return hash;
}

tp::KernelOp KernelPlans::firstEqual(tp::KernelOp kernel) {
  auto [it, isNew] = firsts.insert({kernel, kernel});
  if (!isNew || hasCheck(kernel))
    return it->second;
  SmallVector<tp::KernelOp, 1> &known = byHash[hashOf(kernel)];
  for (tp::KernelOp other : known)
    if (other.getReads().size() == kernel.getReads().size() &&
        OperationEquivalence::isRegionEquivalentTo(
            &other.getBody(), &kernel.getBody(),
            OperationEquivalence::IgnoreLocations))
      return it->second = other;
  known.push_back(kernel);
  return kernel;
}

const KernelPlan *KernelPlans::of(tp::KernelOp kernel) {
  kernel = firstEqual(kernel);
  auto [it, isNew] = plans.insert({kernel, nullptr});
  if (isNew)
    if (auto plan = planKernel(kernel, traits); succeeded(plan))
      it->second = std::move(*plan);
  return it->second.get();
}
