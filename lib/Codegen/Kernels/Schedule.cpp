//===- Schedule.cpp - groups of stages, in order --------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A compute loop joins the kernel of one of its producers, or a reduction one
// that reads what it reads, where they have rows in common and no other command
// has to run between them.
//
//===----------------------------------------------------------------------===//

#include "Schedule.h"
#include "Attention/Attention.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "tp/IR/TP.h"
#include <queue>

using namespace mlir;
using namespace tp::target;

/// Values in memory that a kernel works on: each is a parameter of the kernel,
/// and the addresses of many more find no registers.
static constexpr size_t maxValues = 64;

namespace {
/// A kernel, a GEMM or an op on memory while kernels still grow.
struct Node {
  SmallVector<ComputeLoop *> computeLoops;
  const Gemm *gemm = nullptr;
  Operation *onMemory = nullptr;
  llvm::SetVector<unsigned> before, after;
  /// Position of the first member in the function, and of the last one.
  unsigned first = 0, last = 0;
  /// The last position of a member of this node or of one that it waits for,
  /// directly or through others.
  unsigned latest = 0;
};

class Scheduler {
public:
  Scheduler(StoragePlan &plan, func::FuncOp function)
      : plan(plan), function(function) {}
  FailureOr<Schedule> run();

private:
  ComputeLoop *own(ComputeLoop computeLoop);
  SmallVector<Value> readsOf(Operation *onMemory) const;
  void addStage(ComputeLoop *computeLoop);
  unsigned addNode(Node node, ArrayRef<Value> reads);
  void waitFor(unsigned node, unsigned before);
  void grow(unsigned fusedKernel);
  bool reaches(unsigned from, unsigned to) const;
  bool join(unsigned fusedKernel, ComputeLoop &computeLoop);
  LogicalResult order();

  StoragePlan &plan;
  func::FuncOp function;
  Schedule schedule;
  std::vector<Node> nodes;
  llvm::DenseMap<Value, SmallVector<unsigned>> writers;
  /// The kernels that read a value.
  llvm::DenseMap<Value, SmallVector<unsigned>> readers;
  unsigned position = 0;
};
} // namespace

ComputeLoop *Scheduler::own(ComputeLoop computeLoop) {
  schedule.computeLoops.push_back(
      std::make_unique<ComputeLoop>(std::move(computeLoop)));
  return schedule.computeLoops.back().get();
}

/// The stored values that an op on memory reads.
SmallVector<Value> Scheduler::readsOf(Operation *onMemory) const {
  return llvm::map_to_vector(onMemory->getOperands(), [&](Value operand) {
    return plan.storedBehind(operand);
  });
}

unsigned Scheduler::addNode(Node node, ArrayRef<Value> reads) {
  node.first = node.last = node.latest = position;
  unsigned index = nodes.size();
  nodes.push_back(std::move(node));
  for (Value read : reads)
    for (unsigned writer : writers.lookup(read))
      waitFor(index, writer);
  return index;
}

void Scheduler::waitFor(unsigned node, unsigned before) {
  if (nodes[node].before.insert(before))
    nodes[before].after.insert(node);
}

/// Notes that the kernel has a member at this position: all that wait for the
/// kernel wait for it.
void Scheduler::grow(unsigned fusedKernel) {
  nodes[fusedKernel].last = position;
  SmallVector<unsigned> work = {fusedKernel};
  while (!work.empty()) {
    Node &node = nodes[work.pop_back_val()];
    if (node.latest == position)
      continue;
    node.latest = position;
    llvm::append_range(work, node.after);
  }
}

/// True when `to` runs, directly or through others, before `from`. Whoever
/// waits for `to` has a member behind its first one among those it waits for.
bool Scheduler::reaches(unsigned from, unsigned to) const {
  SmallVector<unsigned> work = {from};
  llvm::DenseSet<unsigned> seen;
  while (!work.empty()) {
    unsigned node = work.pop_back_val();
    if (node == to)
      return true;
    if (!seen.insert(node).second || nodes[node].latest < nodes[to].first)
      continue;
    llvm::append_range(work, nodes[node].before);
  }
  return false;
}

bool Scheduler::join(unsigned fusedKernel, ComputeLoop &computeLoop) {
  SmallVector<ComputeLoop *> &members = nodes[fusedKernel].computeLoops;
  llvm::DenseSet<Value> values;
  auto touch = [&](const ComputeLoop &member) {
    values.insert_range(member.targets);
    for (const Read &read : member.reads.reads)
      values.insert(read.root);
  };
  touch(computeLoop);
  for (ComputeLoop *member : members)
    touch(*member);
  if (values.size() > maxValues)
    return false;
  std::optional<CommonRows> rows = commonRows(plan, members, computeLoop);
  if (!rows)
    return false;
  for (ComputeLoop *member : members) {
    SmallVector<unsigned> fewer;
    for (unsigned slot : rows->kept)
      fewer.push_back(member->slots[slot]);
    member->slots = fewer;
  }
  computeLoop.slots = rows->slots;
  members.push_back(&computeLoop);
  return true;
}

void Scheduler::addStage(ComputeLoop *computeLoop) {
  llvm::SetVector<unsigned> before;
  for (const Read &read : computeLoop->reads.reads)
    for (unsigned writer : writers.lookup(read.root))
      before.insert(writer);
  SmallVector<unsigned> candidates(before.begin(), before.end());
  llvm::sort(candidates, std::greater<>());
  // Two sums over the rows that a GEMM made read them once.
  if (computeLoop->isReduction()) {
    llvm::SetVector<unsigned> siblings;
    for (const Read &read : computeLoop->reads.reads)
      siblings.insert_range(readers.lookup(read.root));
    siblings.set_subtract(before);
    llvm::append_range(candidates, siblings);
  }
  std::optional<unsigned> home;
  for (unsigned fusedKernel : candidates) {
    // An attention's kernels are its own.
    if (nodes[fusedKernel].computeLoops.empty() ||
        attentionOfStep(nodes[fusedKernel].computeLoops.front()->op) !=
            attentionOfStep(computeLoop->op) ||
        llvm::any_of(before, [&](unsigned other) {
          return other != fusedKernel && reaches(other, fusedKernel);
        }))
      continue;
    if (!join(fusedKernel, *computeLoop))
      continue;
    home = fusedKernel;
    grow(fusedKernel);
    for (unsigned other : before)
      if (other != fusedKernel)
        waitFor(fusedKernel, other);
    break;
  }
  if (!home) {
    computeLoop->slots = parallelDims(*computeLoop);
    Node node;
    node.computeLoops = {computeLoop};
    SmallVector<Value> reads;
    for (const Read &read : computeLoop->reads.reads)
      reads.push_back(read.root);
    home = addNode(std::move(node), reads);
  }
  for (Value target : computeLoop->targets)
    if (plan.isStored(target))
      writers[target].push_back(*home);
  for (const Read &read : computeLoop->reads.reads)
    if (SmallVector<unsigned> &groups = readers[read.root];
        !llvm::is_contained(groups, *home))
      groups.push_back(*home);
}

LogicalResult Scheduler::order() {
  // Of the nodes that may run next, the one whose last member is earliest.
  std::vector<unsigned> waiting(nodes.size(), 0);
  for (auto [i, node] : llvm::enumerate(nodes))
    waiting[i] = node.before.size();
  using Entry = std::pair<unsigned, unsigned>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<Entry>> ready;
  for (auto [i, count] : llvm::enumerate(waiting))
    if (count == 0)
      ready.push({nodes[i].last, i});
  while (!ready.empty()) {
    unsigned index = ready.top().second;
    ready.pop();
    Node &node = nodes[index];
    Command command;
    llvm::SetVector<Value> reads, writes;
    if (node.gemm) {
      command.gemm = node.gemm;
      reads.insert_range(node.gemm->reads());
      writes.insert(node.gemm->c.root);
    } else if (node.onMemory) {
      command.collective = node.onMemory;
      reads.insert_range(readsOf(node.onMemory));
      writes.insert_range(node.onMemory->getResults());
    } else {
      for (ComputeLoop *computeLoop : node.computeLoops) {
        for (const Read &read : computeLoop->reads.reads)
          reads.insert(read.root);
        for (Value target : computeLoop->targets)
          if (plan.isStored(target))
            writes.insert(target);
      }
      command.fusedKernel =
          finishFusedKernel(plan, node.computeLoops);
    }
    command.reads = reads.takeVector();
    command.writes = writes.takeVector();
    schedule.commands.push_back(std::move(command));
    for (unsigned next : node.after)
      if (--waiting[next] == 0)
        ready.push({nodes[next].last, next});
  }
  // Without this check what waits in a circle would be left out unseen.
  if (schedule.commands.size() != nodes.size())
    return function.emitError("groups of ops wait for each other: expected ")
           << nodes.size() << " commands, got " << schedule.commands.size();
  return success();
}

/// Values that only one kernel touches become row scratch.
static void findScratch(StoragePlan &plan, ArrayRef<ComputeLoop *> computeLoops,
                        const llvm::DenseMap<Value, unsigned> &touches) {
  for (ComputeLoop *computeLoop : computeLoops)
    for (Value target : computeLoop->targets)
      if (plan.isStored(target) && plan.storage(target).space == Space::Arena &&
          touches.lookup(target) == 1)
        plan.storage(target).space = Space::Scratch;
}

FailureOr<Schedule> Scheduler::run() {
  for (Operation &op : function.front()) {
    ++position;
    if (op.getNumResults() == 0)
      continue;
    if (const Gemm *gemm = plan.gemmWriting(&op)) {
      Value result = gemm->c.root;
      if (gemm->addsToC()) {
        auto contraction = cast<linalg::LinalgOp>(gemm->op);
        addStage(own(makeElementwise(
            plan, contraction.getDpsInitOperand(0)->get(), result)));
      }
      Node node;
      node.gemm = gemm;
      unsigned index = addNode(std::move(node), gemm->reads());
      writers[result].push_back(index);
      continue;
    }
    // Its GEMM comes with the last op of the epilogue.
    if (plan.gemmOf(&op))
      continue;
    if (isa_and_present<tp::TPDialect>(op.getDialect()) &&
        isa<RankedTensorType>(op.getResult(0).getType())) {
      Node node;
      node.onMemory = &op;
      unsigned index = addNode(std::move(node), readsOf(&op));
      for (Value result : op.getResults())
        writers[result].push_back(index);
      continue;
    }
    if (isa<arith::ConstantOp>(op))
      continue;
    auto linalgOp = dyn_cast<linalg::LinalgOp>(op);
    if (linalgOp && !isElementwise(linalgOp)) {
      if (llvm::any_of(op.getResults(),
                       [&](Value result) { return plan.isStored(result); }))
        addStage(own(makeReduction(
            plan, linalgOp, [](OpResult result) -> Value { return result; })));
      continue;
    }
    // Its parts are written where they belong.
    if (joinsSteps(&op) && plan.subviewOf(op.getOperand(0)))
      continue;
    for (Value result : op.getResults())
      if (isa<RankedTensorType>(result.getType()) && plan.isStored(result))
        addStage(own(makeElementwise(plan, result, result)));
  }
  llvm::DenseMap<Value, unsigned> touches;
  for (Node &node : nodes) {
    llvm::DenseSet<Value> touched;
    for (ComputeLoop *computeLoop : node.computeLoops) {
      touched.insert_range(computeLoop->targets);
      for (const Read &read : computeLoop->reads.reads)
        touched.insert(read.root);
    }
    if (node.gemm) {
      touched.insert_range(node.gemm->reads());
      touched.insert(node.gemm->c.root);
    }
    if (node.onMemory) {
      touched.insert_range(readsOf(node.onMemory));
      touched.insert_range(node.onMemory->getResults());
    }
    for (Value value : touched)
      ++touches[value];
  }
  for (Node &node : nodes)
    findScratch(plan, node.computeLoops, touches);
  if (failed(order()))
    return failure();
  return std::move(schedule);
}

FailureOr<Schedule> tp::target::makeSchedule(StoragePlan &plan,
                                             func::FuncOp function) {
  return Scheduler(plan, function).run();
}
