//===- CPUKernelEmitter.cpp - kernels as functions ------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kernel is two functions: the one the runtime calls unpacks the buffers and
// calls the body, whose pointers are declared not to alias.
//
//===----------------------------------------------------------------------===//

#include "CPUKernelEmitter.h"
#include "Emit/EmitComputeLoops.h"
#include "Kernels/Schedule.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tp::cpu;
using namespace tp::target;

/// Row values up to this size sit on the stack, where LLVM can promote them.
static constexpr int64_t maxStackBytes = 1024;
/// More pieces than this along one loop are told apart at run time.
static constexpr size_t maxSplits = 16;

namespace {
class BodyEmitter {
public:
  BodyEmitter(const StoredValues &plan, AssertTable &asserts,
              const FusedKernel &fusedKernel, OpBuilder &builder, Location loc)
      : plan(plan), fusedKernel(fusedKernel), builder(builder), loc(loc),
        emitter(plan, asserts, builder, loc) {}

  void emit();
  ElementEmitter &elements() { return emitter; }

private:
  using Inside =
      llvm::function_ref<SmallVector<Value>(ArrayRef<Value> accumulators)>;
  using Part = ComputeLoop::Part;
  SmallVector<Value> loop(unsigned dim, int64_t extent,
                          ArrayRef<int64_t> splits,
                          ArrayRef<Value> accumulators, Inside inside,
                          const Part *part = nullptr);
  static int loopOf(const ComputeLoop &computeLoop, const Part &part);
  const Part *partAlong(ArrayRef<ComputeLoop *> computeLoops, unsigned slot,
                        int level) const;
  void rows(unsigned slot);
  void loopNest(const LoopNest &loopNest);
  void columns(const LoopNest &loopNest);
  SmallVector<Value> nest(const LoopNest &loopNest, unsigned level,
                          unsigned end, ArrayRef<Value> accumulators,
                          Inside inside);
  SmallVector<Value> computeLoops(const LoopNest &loopNest,
                                  ArrayRef<Value> accumulators);
  Indices over(const ComputeLoop &computeLoop, ArrayRef<AffineExpr> exprs) {
    return simplify(
        overKernelDims(computeLoop, exprs, fusedKernel.rowExtents.size()),
        emitter.space);
  }

  const StoredValues &plan;
  const FusedKernel &fusedKernel;
  OpBuilder &builder;
  Location loc;
  ElementEmitter emitter;
};
} // namespace

/// The loop that runs along the dimension of a part; -1 where none does.
int BodyEmitter::loopOf(const ComputeLoop &computeLoop, const Part &part) {
  auto dim = dyn_cast<AffineDimExpr>(computeLoop.targetIndex[0][part.dim]);
  return dim ? int(dim.getPosition()) : -1;
}

/// The part that row loop `slot` runs over, or loop `level` inside the rows.
const ComputeLoop::Part *
BodyEmitter::partAlong(ArrayRef<ComputeLoop *> computeLoops, unsigned slot,
                       int level) const {
  for (ComputeLoop *computeLoop : computeLoops)
    for (const Part &part : computeLoop->parts) {
      int loop = loopOf(*computeLoop, part);
      if (loop >= 0 && (level < 0 ? computeLoop->slots[slot] == unsigned(loop)
                                  : computeLoop->loopOfDim[loop] == level))
        return &part;
    }
  return nullptr;
}

/// A loop over `extent`, or over a part of it, in one piece per split; returns
/// the accumulators.
SmallVector<Value> BodyEmitter::loop(unsigned dim, int64_t extent,
                                     ArrayRef<int64_t> splits,
                                     ArrayRef<Value> accumulators,
                                     Inside inside, const Part *part) {
  SmallVector<Value> current(accumulators);
  if (extent == 0)
    return current;
  SmallVector<int64_t> bounds = {0};
  if (splits.size() <= maxSplits)
    llvm::append_range(bounds, splits);
  bounds.push_back(extent);
  for (unsigned i = 0; i + 1 < bounds.size(); ++i) {
    emitter.space.dims[dim] = {bounds[i], bounds[i + 1] - 1};
    Value from = emitter.constant(bounds[i]),
          to = emitter.constant(bounds[i + 1]);
    if (part) {
      // A start outside of the dimension must not wrap around.
      Value start = emitter.position(part->start);
      start = arith::MaxSIOp::create(builder, loc, start,
                                     emitter.constant(-part->size));
      start =
          arith::MinSIOp::create(builder, loc, start, emitter.constant(extent));
      Value end = arith::AddIOp::create(builder, loc, start,
                                        emitter.constant(part->size));
      from = arith::MaxSIOp::create(builder, loc, from, start);
      to = arith::MinSIOp::create(builder, loc, to, end);
    }
    auto forOp = scf::ForOp::create(builder, loc, from, to, emitter.constant(1),
                                    current);
    {
      OpBuilder::InsertionGuard guard(builder);
      Block *body = forOp.getBody();
      if (!body->empty() && current.empty())
        builder.setInsertionPoint(body->getTerminator());
      else
        builder.setInsertionPointToEnd(body);
      emitter.dims[dim] = forOp.getInductionVar();
      emitter.clear();
      SmallVector<Value> next =
          inside(SmallVector<Value>(forOp.getRegionIterArgs()));
      if (!current.empty())
        scf::YieldOp::create(builder, loc, next);
    }
    emitter.clear();
    current.assign(forOp.getResults().begin(), forOp.getResults().end());
  }
  emitter.space.dims[dim] = {0, extent - 1};
  return current;
}

/// All places at which some compute loop cuts the loop `dimOf(computeLoop)`.
template <typename DimOf>
static SmallVector<int64_t> splitsOf(ArrayRef<ComputeLoop *> computeLoops,
                                     DimOf dimOf) {
  SmallVector<int64_t> splits;
  for (ComputeLoop *computeLoop : computeLoops)
    for (int dim : dimOf(*computeLoop))
      llvm::append_range(splits, computeLoop->reads.splits[dim]);
  llvm::sort(splits);
  splits.erase(llvm::unique(splits), splits.end());
  return splits;
}

void BodyEmitter::rows(unsigned slot) {
  if (slot == fusedKernel.rowExtents.size()) {
    for (const LoopNest &nest : fusedKernel.loopNests)
      loopNest(nest);
    return;
  }
  SmallVector<int64_t> splits =
      splitsOf(fusedKernel.computeLoops, [&](const ComputeLoop &computeLoop) {
        return SmallVector<int>{int(computeLoop.slots[slot])};
      });
  loop(
      slot, fusedKernel.rowExtents[slot], splits, {},
      [&](ArrayRef<Value>) {
        rows(slot + 1);
        return SmallVector<Value>();
      },
      partAlong(fusedKernel.computeLoops, slot, /*level=*/-1));
}

SmallVector<Value> BodyEmitter::nest(const LoopNest &loopNest, unsigned level,
                                     unsigned end, ArrayRef<Value> accumulators,
                                     Inside inside) {
  if (level == end)
    return inside(accumulators);
  SmallVector<int64_t> splits =
      splitsOf(loopNest.computeLoops, [&](const ComputeLoop &computeLoop) {
        SmallVector<int> dims;
        for (auto [dim, loop] : llvm::enumerate(computeLoop.loopOfDim))
          if (loop == int(level))
            dims.push_back(dim);
        return dims;
      });
  return loop(
      fusedKernel.rowExtents.size() + level, loopNest.extents[level], splits,
      accumulators,
      [&](ArrayRef<Value> current) {
        return nest(loopNest, level + 1, end, current, inside);
      },
      partAlong(loopNest.computeLoops, /*slot=*/0, level));
}

SmallVector<Value> BodyEmitter::computeLoops(const LoopNest &loopNest,
                                             ArrayRef<Value> accumulators) {
  emitter.clear();
  auto emit = [&] {
    return emitComputeLoops(
        emitter, fusedKernel, loopNest, accumulators,
        [&](const ComputeLoop &computeLoop, ArrayRef<AffineExpr> exprs) {
          return over(computeLoop, exprs);
        });
  };
  // A part along dimensions that no loop of their own runs along.
  Value inside;
  const ComputeLoop &only = *loopNest.computeLoops.front();
  for (const Part &part : only.parts) {
    int loop = loopOf(only, part);
    if (loop >= 0 && (llvm::is_contained(only.slots, unsigned(loop)) ||
                      only.loopOfDim[loop] >= 0))
      continue;
    Value within = emitter.isWithin(over(only, only.targetIndex[0])[part.dim],
                                    part.start, part.size);
    inside =
        inside ? arith::AndIOp::create(builder, loc, inside, within).getResult()
               : within;
  }
  if (!inside)
    return emit();
  auto branch = scf::IfOp::create(builder, loc, inside, /*withElse=*/false);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(branch.thenBlock());
  emit();
  emitter.clear();
  return {};
}

/// The columns of a reduction run innermost, their accumulators in memory.
void BodyEmitter::columns(const LoopNest &loopNest) {
  ComputeLoop &computeLoop = *loopNest.computeLoops.front();
  linalg::LinalgOp op = computeLoop.reduction;
  unsigned column = loopNest.numParallel - 1;
  auto overColumns = [&](llvm::function_ref<void()> inside) {
    nest(loopNest, column, column + 1, {}, [&](ArrayRef<Value>) {
      inside();
      return SmallVector<Value>();
    });
  };
  auto initialise = [&] {
    for (auto [number, target, index] :
         llvm::zip_equal(computeLoop.resultNumbers, computeLoop.targets,
                         computeLoop.targetIndex))
      emitter.store(emitter.element(op.getDpsInitOperand(number)->get(),
                                    over(computeLoop, index)),
                    target, over(computeLoop, index));
  };
  auto accumulate = [&] {
    SmallVector<Value> current(op->getNumResults());
    for (auto [number, target, index] :
         llvm::zip_equal(computeLoop.resultNumbers, computeLoop.targets,
                         computeLoop.targetIndex))
      current[number] = emitter.element(target, over(computeLoop, index));
    SmallVector<Value> next =
        emitter.body(op, over(computeLoop, computeLoop.base), current);
    for (auto [number, target, index] :
         llvm::zip_equal(computeLoop.resultNumbers, computeLoop.targets,
                         computeLoop.targetIndex))
      emitter.store(next[number], target, over(computeLoop, index));
  };
  nest(loopNest, 0, column, {}, [&](ArrayRef<Value>) {
    overColumns(initialise);
    nest(loopNest, loopNest.numParallel, loopNest.extents.size(), {},
         [&](ArrayRef<Value>) {
           overColumns(accumulate);
           return SmallVector<Value>();
         });
    return SmallVector<Value>();
  });
}

void BodyEmitter::loopNest(const LoopNest &loopNest) {
  unsigned first = fusedKernel.rowExtents.size();
  emitter.dims.resize(first);
  emitter.space.dims.resize(first);
  for (int64_t extent : loopNest.extents) {
    emitter.dims.push_back(Value());
    emitter.space.dims.push_back({0, extent - 1});
  }
  if (loopNest.columnwise)
    return columns(loopNest);
  nest(loopNest, 0, loopNest.numParallel, {}, [&](ArrayRef<Value>) {
    SmallVector<Value> accumulators;
    emitter.clear();
    for (ComputeLoop *computeLoop : loopNest.computeLoops) {
      if (!computeLoop->isReduction())
        continue;
      for (auto [number, index] : llvm::zip_equal(computeLoop->resultNumbers,
                                                  computeLoop->targetIndex))
        accumulators.push_back(emitter.element(
            computeLoop->reduction.getDpsInitOperand(number)->get(),
            over(*computeLoop, index)));
    }
    accumulators = nest(loopNest, loopNest.numParallel, loopNest.extents.size(),
                        accumulators, [&](ArrayRef<Value> current) {
                          return computeLoops(loopNest, current);
                        });
    unsigned at = 0;
    for (ComputeLoop *computeLoop : loopNest.computeLoops) {
      if (!computeLoop->isReduction())
        continue;
      for (auto [target, index] :
           llvm::zip_equal(computeLoop->targets, computeLoop->targetIndex)) {
        Value result = accumulators[at++];
        if (plan.isStored(target))
          emitter.store(result, target, over(*computeLoop, index));
      }
    }
    return SmallVector<Value>();
  });
}

void BodyEmitter::emit() {
  for (int64_t extent : fusedKernel.rowExtents) {
    emitter.dims.push_back(Value());
    emitter.space.dims.push_back({0, extent - 1});
  }
  rows(0);
}

std::string CPUKernelEmitter::emit(const KernelPlan &kernel,
                                   const KernelParameters &parameters) {
  const StoredValues &plan = kernel.values;
  const FusedKernel &fusedKernel = *kernel.fusedKernel;
  MLIRContext *context = module.getContext();
  OpBuilder builder(context);
  builder.setInsertionPointToEnd(module.getBody());
  Location loc = UnknownLoc::get(context);
  auto pointer = LLVM::LLVMPointerType::get(context);
  auto none = LLVM::LLVMVoidType::get(context);

  // Row values too large for the stack come as parameters.
  struct RowValue {
    Value value;
    AffineMap address;
    int64_t bytes;
    int64_t offset = -1;
  };
  SmallVector<RowValue> rowValues;
  int64_t scratchOffset = 0;
  unsigned numLarge = 0;
  for (ComputeLoop *computeLoop : fusedKernel.computeLoops)
    for (auto [i, target] : llvm::enumerate(computeLoop->targets)) {
      if (!plan.isStored(target) ||
          plan.storage(target).space != Space::Scratch ||
          fusedKernel.held.contains(target))
        continue;
      int64_t elements;
      RowValue row{target, rowAddress(*computeLoop, i, elements), 0};
      row.bytes = elements * elementBytes(plan.storage(target).elementType);
      if (row.bytes > maxStackBytes) {
        row.offset = scratchOffset;
        scratchOffset += llvm::alignTo(row.bytes, 64);
        ++numLarge;
      }
      rowValues.push_back(row);
    }
  scratch = std::max(scratch, scratchOffset);

  unsigned numBuffers = parameters.buffers.size();
  SmallVector<Type> types(numBuffers + numLarge + 1, pointer);
  auto body = LLVM::LLVMFuncOp::create(
      builder, loc, "body", LLVM::LLVMFunctionType::get(none, types));
  body.setPrivate();
  body.setLinkage(LLVM::Linkage::Internal);
  body.setNoInline(true);
  for (unsigned i = 0; i + 1 < types.size(); ++i)
    body.setArgAttr(i, LLVM::LLVMDialect::getNoAliasAttrName(),
                    builder.getUnitAttr());
  Block *entry = body.addEntryBlock(builder);
  builder.setInsertionPointToStart(entry);

  BodyEmitter bodyEmitter(plan, asserts, fusedKernel, builder, loc);
  ElementEmitter &elements = bodyEmitter.elements();
  for (auto [value, index] : parameters.of)
    elements.places[value] = {entry->getArgument(index),
                              plan.storage(value).address};
  unsigned nextLarge = numBuffers;
  for (RowValue &row : rowValues) {
    Value place;
    if (row.offset >= 0)
      place = entry->getArgument(nextLarge++);
    else
      place = LLVM::AllocaOp::create(
          builder, loc, pointer, builder.getI8Type(),
          elements.constant(std::max<int64_t>(row.bytes, 1)), 64);
    elements.places[row.value] = {place, row.address};
  }
  elements.context = entry->getArguments().back();
  auto entryEnd = LLVM::ReturnOp::create(builder, loc, ValueRange());
  builder.setInsertionPoint(entryEnd);
  // Scalars of the whole function go before this marker.
  Value marker = elements.constant(0);
  elements.entryEnd = marker.getDefiningOp();
  bodyEmitter.emit();

  auto [name, isNew] = names.nameOf(body);
  if (!isNew) {
    body.erase();
    return name;
  }
  body.setName(name + "_body");

  builder.setInsertionPointToEnd(module.getBody());
  auto wrapper = LLVM::LLVMFuncOp::create(
      builder, loc, name,
      LLVM::LLVMFunctionType::get(none, {pointer, pointer}));
  Block *wrapperEntry = wrapper.addEntryBlock(builder);
  builder.setInsertionPointToStart(wrapperEntry);
  auto field = [&](Value base, Type type, int64_t index) -> Value {
    Value at = LLVM::GEPOp::create(builder, loc, pointer, type, base,
                                   ArrayRef<LLVM::GEPArg>{int32_t(index)});
    return at;
  };
  SmallVector<Value> arguments;
  for (unsigned i = 0; i < numBuffers; ++i)
    arguments.push_back(
        LLVM::LoadOp::create(builder, loc, pointer,
                             field(wrapperEntry->getArgument(0), pointer, i)));
  Value contextArgument = wrapperEntry->getArgument(1);
  if (numLarge) {
    Value base = LLVM::LoadOp::create(builder, loc, pointer,
                                      field(contextArgument, pointer, 10));
    for (RowValue &row : rowValues)
      if (row.offset >= 0)
        arguments.push_back(field(base, builder.getI8Type(), row.offset));
  }
  arguments.push_back(contextArgument);
  LLVM::CallOp::create(builder, loc, body, arguments);
  LLVM::ReturnOp::create(builder, loc, ValueRange());
  return name;
}
