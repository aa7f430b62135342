//===- BucketChooser.cpp - which collectives are sent together ------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BucketChooser.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "tp/IR/Collective.h"
#include "tp/IR/ElementBytes.h"
#include "tp/IR/ModuleLocation.h"
#include "tp/IR/OpInputs.h"
#include "tp/IR/PortAttributes.h"

using namespace mlir;
using namespace tp;

/// A full bucket takes this many latencies to be sent. What more members would
/// save is less than a ninth of its time.
static constexpr int64_t latenciesOfBucket = 8;
/// Of kinds and groups, each with a bucket that waits for more members.
static constexpr size_t mostOpen = 64;

static BucketChooser::BytesInLatency bytesInLatency(const Machine &machine) {
  return {saturatingRound(machine.linkBandwidth * machine.collectiveLatency),
          saturatingRound(machine.memoryBandwidth * machine.collectiveLatency)};
}

/// Nothing for what has no size that is known.
static std::optional<int64_t> bytesOf(Type type) {
  auto shaped = dyn_cast<ShapedType>(type);
  if (!shaped)
    return 8;
  if (!shaped.hasStaticShape())
    return std::nullopt;
  return shaped.getNumElements() * elementBytes(shaped.getElementType());
}

/// Whether `op` may run later than where it stands: it only computes, and fails
/// no check that another one could fail before it.
static bool mayMove(Operation *op) {
  if (op->hasTrait<OpTrait::IsTerminator>() ||
      (op->getNumRegions() != 0 && !isa<linalg::LinalgOp, tensor::PadOp>(op)))
    return false;
  return isMemoryEffectFree(op) && !op->walk([](cf::AssertOp) {
                                        return WalkResult::interrupt();
                                      }).wasInterrupted();
}

int64_t Bucket::limit() const {
  return small > saturatedCost / latenciesOfBucket ? saturatedCost
                                                   : small * latenciesOfBucket;
}

BucketChooser::BytesInLatency BucketChooser::bytesInLatencyOver(AxesAttr axes) {
  auto [it, isNew] = knownSmall.try_emplace(axes);
  if (isNew)
    it->second = bytesInLatency(
        hardware.machineAlong(axes.getMesh().getValue(), axes.getParts()));
  return it->second;
}

void BucketChooser::dropClosed(Numbers &numbers) {
  llvm::erase_if(numbers,
                 [&](unsigned number) { return !buckets[number].isOpen; });
}

BucketChooser::Numbers BucketChooser::awaitedBy(Operation *op) {
  Numbers awaited;
  if (open.empty())
    return awaited;
  anyInput(op, [&](Value value) {
    auto it = origins.find(value);
    if (it == origins.end())
      return false;
    dropClosed(it->second);
    llvm::append_range(awaited, it->second);
    return false;
  });
  llvm::sort(awaited);
  awaited.erase(llvm::unique(awaited), awaited.end());
  return awaited;
}

bool BucketChooser::reaches(ArrayRef<unsigned> numbers, unsigned target) {
  SmallVector<unsigned> work(numbers);
  llvm::SmallDenseSet<unsigned> seen;
  while (!work.empty()) {
    unsigned number = work.pop_back_val();
    if (number == target)
      return true;
    if (buckets[number].isOpen && seen.insert(number).second)
      llvm::append_range(work, buckets[number].after);
  }
  return false;
}

void BucketChooser::close(unsigned number) {
  if (!buckets[number].isOpen)
    return;
  for (unsigned before : buckets[number].after)
    close(before);
  buckets[number].isOpen = false;
  buckets[number].place = ++now;
  open.erase(buckets[number].key);
}

bool BucketChooser::becomesRotations(Operation *op, AxesAttr axes) const {
  if (op->hasAttr(attr::ring))
    return true;
  // What adds up the gradients of keys and values.
  auto chunk = cast<ShapedType>(op->getResult(0).getType());
  return isa<ReduceScatterOp>(op) &&
         travelling.contains({axes, chunk.getNumElements()});
}

/// Puts `op` into a bucket if it is a small collective.
bool BucketChooser::join(Operation *op, Numbers &awaited) {
  std::optional<Collective> collective = asCollective(op);
  if (!collective)
    return false;
  AxesAttr axes = collective->axes;
  std::optional<int64_t> sent = bytesOf(op->getOperand(0).getType());
  std::optional<int64_t> received = bytesOf(op->getResult(0).getType());
  if (axes.groupSize() == 1 || !sent || !received || *sent == 0 ||
      becomesRotations(op, axes))
    return false;
  int64_t ring =
      ringBytes(collective->kind, std::max(*sent, *received), axes.groupSize());
  // A bucket saves a latency, and costs that its members' bytes are read and
  // written, into its buffer and out of it.
  BytesInLatency small = bytesInLatencyOver(axes);
  int64_t copied = saturatingAdd(*sent, *received);
  if (ring > small.onLink && copied > small.inMemory / 2)
    return false;

  Attribute how = op->getAttr("reduction");
  if (auto permute = dyn_cast<PermuteOp>(op))
    how = permute.getSourcesAttr();
  // What the backward pass gathers again it does not hold from the forward
  // pass on.
  if (Attribute pass = op->getAttr(attr::gather))
    how = pass;
  // Nor does it hold what it computes again.
  if (computesAgain && isOfBackwardPass(op->getLoc()))
    how = Builder(op->getContext())
              .getArrayAttr({how ? how : UnitAttr::get(op->getContext())});
  BucketKey key{static_cast<unsigned>(collective->kind), axes, how,
                getElementTypeOrSelf(op->getResult(0))};
  // A member must not wait for its own bucket, itself or through others.
  if (auto it = open.find(key); it != open.end()) {
    unsigned number = it->second;
    if (reaches(awaited, number) ||
        saturatingAdd(buckets[number].ringBytes, ring) >
            buckets[number].limit())
      close(number);
  }
  if (!open.contains(key)) {
    if (open.size() == mostOpen)
      close(llvm::min_element(open, [](const auto &a, const auto &b) {
              return a.second < b.second;
            })->second);
    open[key] = buckets.size();
    buckets.emplace_back();
    buckets.back().key = key;
    buckets.back().small = small.onLink;
  }
  dropClosed(awaited);
  unsigned number = open[key];
  Bucket &bucket = buckets[number];
  bucket.members.push_back(op);
  bucket.ringBytes = saturatingAdd(bucket.ringBytes, ring);
  for (unsigned before : awaited)
    if (!llvm::is_contained(bucket.after, before))
      bucket.after.push_back(before);
  awaited = {number};
  return true;
}

/// Whether `op` may run behind the buckets it waits for. Counts what that keeps
/// alive.
bool BucketChooser::mayWait(Operation *op, ArrayRef<unsigned> awaited) {
  if (!mayMove(op))
    return false;
  int64_t small = INT64_MAX;
  for (unsigned number : awaited)
    small = std::min(small, buckets[number].small);
  auto isLarge = [&](Value value) {
    std::optional<int64_t> bytes = bytesOf(value.getType());
    return !bytes || *bytes > small;
  };
  if (llvm::any_of(op->getResults(), isLarge) || anyInput(op, isLarge))
    return false;
  int64_t held = 0;
  anyInput(op, [&](Value value) {
    // Arguments, and what costs nothing to keep, are there in any case; what
    // waits itself is not there yet.
    Operation *maker = value.getDefiningOp();
    auto origin = origins.find(value);
    if (maker && maker->getBlock() == op->getBlock() &&
        !maker->hasTrait<OpTrait::ConstantLike>() &&
        !isa<tensor::EmptyOp>(maker) &&
        (origin == origins.end() || origin->second.empty()))
      held = saturatingAdd(held, bytesOf(value.getType()).value_or(0));
    return false;
  });
  for (unsigned number : awaited) {
    Bucket &bucket = buckets[number];
    bucket.heldBytes = saturatingAdd(bucket.heldBytes, held);
    if (bucket.heldBytes > bucket.limit())
      return false;
  }
  return true;
}

void BucketChooser::choose(Block &block) {
  computesAgain = !block.getOps<KeptOp>().empty();
  for (auto gather : block.getOps<AllGatherOp>())
    if (gather->hasAttr(attr::ring))
      travelling.insert(
          {gather.getAxes(),
           cast<ShapedType>(gather.getSource().getType()).getNumElements()});
  met.reserve(block.getOperations().size());
  for (Operation &op : block) {
    Numbers awaited = awaitedBy(&op);
    if (op.hasTrait<OpTrait::IsTerminator>())
      awaited.assign(llvm::seq<unsigned>(buckets.size()).begin(),
                     llvm::seq<unsigned>(buckets.size()).end());
    if (!join(&op, awaited) && !awaited.empty() && !mayWait(&op, awaited))
      for (unsigned number : awaited)
        close(number);
    dropClosed(awaited);
    met.push_back(++now);
    if (!awaited.empty())
      for (Value result : op.getResults())
        origins[result] = awaited;
  }
}
