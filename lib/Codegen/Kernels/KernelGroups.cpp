//===- KernelGroups.cpp - which commands become one kernel ----------------===//
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

#include "KernelGroups.h"
#include "KernelOrder.h"
#include "Program/CommandUses.h"
#include "Program/MemoryOrder.h"
#include "Schedule.h"
#include "tp/IR/PortNames.h"

using namespace mlir;
using namespace tp::target;

/// Values in memory that a kernel works on: each is a parameter of the kernel,
/// and the addresses of many more find no registers.
static constexpr size_t maxValues = 64;

namespace {
/// The commands that read and write some memory so far.
struct Accesses {
  SmallVector<unsigned> readers, writers;
};

class KernelGrouper {
public:
  KernelGrouper(Block &block, const Buffers &buffers, KernelPlans &kernels,
                const TargetTraits &traits, GroupedBlock &grouped)
      : buffers(buffers), kernels(kernels), traits(traits), grouped(grouped) {
    if (auto program = dyn_cast<func::FuncOp>(block.getParentOp()))
      for (auto [argument, result] : tp::updatesOf(program)) {
        updated.insert(program.getArgument(argument));
        updates.insert(rootBuffer(block.getTerminator()->getOperand(result)));
      }
  }

  LogicalResult add(Operation *command);
  /// What kernels compute of these buffers is computed again from here on.
  void resume(tp::ResumeOp op);
  LogicalResult order(Block &block);

private:
  FailureOr<ComputeLoop *> loopOf(tp::KernelOp kernel);
  void store(Value buffer);
  struct Home {
    unsigned node;
    CommonRows rows;
  };
  std::optional<Home> homeOf(tp::KernelOp kernel,
                             const ComputeLoop &computeLoop,
                             ArrayRef<unsigned> before) const;
  bool mayBeBeside(const KernelNode &node, tp::KernelOp kernel) const;
  bool writesUpdates(tp::KernelOp kernel) const;
  bool checksBesideUpdates(const KernelNode &node, tp::KernelOp kernel) const;
  std::optional<CommonRows> rowsIn(const KernelNode &node,
                                   const ComputeLoop &computeLoop) const;
  void join(const Home &home, Operation *kernel, ComputeLoop *computeLoop);
  void waitFor(unsigned node, unsigned before);
  void grow(unsigned node);
  bool reaches(unsigned from, unsigned to) const;

  const Buffers &buffers;
  KernelPlans &kernels;
  const TargetTraits &traits;
  GroupedBlock &grouped;
  /// Arguments whose next value the program returns.
  llvm::SmallDenseSet<Value> updated;
  /// The memory of these values.
  llvm::SmallDenseSet<Value> updates;
  std::vector<KernelNode> nodes;
  llvm::DenseMap<Value, Accesses> accesses;
  /// Per memory: the node, without commands, that what is computed of it again
  /// waits for.
  llvm::DenseMap<Value, unsigned> resumed;
  /// The last such node.
  std::optional<unsigned> lastGate;
  unsigned position = 0;
};
} // namespace

/// The memory of `buffer`: its root, or the argument that the root is in.
static Value memoryOf(Value buffer) {
  Value root = rootBuffer(buffer);
  auto alloc = root.getDefiningOp<tp::AllocOp>();
  return alloc && alloc.getMemory() ? Value(alloc.getMemory()) : root;
}

void KernelGrouper::store(Value buffer) {
  if (grouped.values.isStored(buffer))
    return;
  auto type = cast<MemRefType>(buffer.getType());
  Storage storage;
  storage.value = buffer;
  storage.elementType = type.getElementType();
  storage.elements = type.getNumElements();
  storage.address = placeMap(type);
  storage.space = buffers.spaceOf(buffer);
  grouped.values.add(storage);
}

/// The compute loop of a kernel, in terms of its operands; null if it has
/// several or does not write them all into buffers: then it stays as it is.
FailureOr<ComputeLoop *> KernelGrouper::loopOf(tp::KernelOp kernel) {
  const KernelPlan *plan = kernels.of(kernel);
  if (!plan)
    return failure();
  if (plan->computeLoops.size() != 1 || !plan->computeLoops[0]->parts.empty() ||
      !plan->computeLoops[0]->scattered.empty() || plan->computeLoops[0]->where)
    return nullptr;
  auto loop = std::make_unique<ComputeLoop>(*plan->computeLoops.front());
  auto replace = [&](Value &value) {
    auto it = plan->buffers.find(value);
    if (it == plan->buffers.end())
      return !plan->values.isStored(value);
    value = kernel->getOperand(it->second.getArgNumber());
    store(value);
    return true;
  };
  for (Read &read : loop->reads.reads)
    if (!replace(read.root))
      return nullptr;
  for (Value &target : loop->targets)
    if (!replace(target))
      return nullptr;
  loop->op = kernel;
  loop->slots = parallelDims(*loop);
  grouped.computeLoops.push_back(std::move(loop));
  return grouped.computeLoops.back().get();
}

void KernelGrouper::waitFor(unsigned node, unsigned before) {
  if (node != before && nodes[node].before.insert(before))
    nodes[before].after.insert(node);
}

/// Notes that the node has a member at this position: all that wait for the
/// node wait for it.
void KernelGrouper::grow(unsigned grown) {
  nodes[grown].last = position;
  SmallVector<unsigned> work = {grown};
  while (!work.empty()) {
    KernelNode &node = nodes[work.pop_back_val()];
    if (node.latest == position)
      continue;
    node.latest = position;
    llvm::append_range(work, node.after);
  }
}

/// True when `to` runs, directly or through others, before `from`. Whoever
/// waits for `to` has a member behind its first one among those it waits for.
bool KernelGrouper::reaches(unsigned from, unsigned to) const {
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

/// Whether the kernel could be part of the node as to memory: a kernel overlaps
/// what it writes with nothing, and its compute loops hand on whole buffers.
bool KernelGrouper::mayBeBeside(const KernelNode &node,
                                tp::KernelOp kernel) const {
  llvm::DenseMap<Value, Value> written;
  llvm::DenseSet<Value> touched;
  for (Operation *member : node.commands) {
    for (Value buffer : member->getOperands())
      touched.insert(memoryOf(buffer));
    for (Value buffer : cast<tp::KernelOp>(member).getWrites())
      written[memoryOf(buffer)] = buffer;
  }
  return llvm::none_of(kernel.getWrites(),
                       [&](Value buffer) {
                         return touched.contains(memoryOf(buffer));
                       }) &&
         llvm::all_of(kernel.getReads(), [&](Value buffer) {
           Value other = written.lookup(memoryOf(buffer));
           return !other || other == buffer;
         });
}

bool KernelGrouper::writesUpdates(tp::KernelOp kernel) const {
  return llvm::any_of(kernel.getWrites(), [&](Value buffer) {
    return updates.contains(rootBuffer(buffer));
  });
}

/// Whether with the kernel the node would write what outlives the step before
/// ranks agree on the assertions that they have together.
bool KernelGrouper::checksBesideUpdates(const KernelNode &node,
                                        tp::KernelOp kernel) const {
  return traits.agreesWithinStep && ((node.writesUpdates && hasCheck(kernel)) ||
                                     (node.checks && writesUpdates(kernel)));
}

/// The rows in which the compute loop could run in the kernel.
std::optional<CommonRows>
KernelGrouper::rowsIn(const KernelNode &node,
                      const ComputeLoop &computeLoop) const {
  llvm::DenseSet<Value> values;
  auto touch = [&](const ComputeLoop &member) {
    values.insert_range(member.targets);
    for (const Read &read : member.reads.reads)
      values.insert(read.root);
  };
  touch(computeLoop);
  for (ComputeLoop *member : node.computeLoops)
    touch(*member);
  if (values.size() > maxValues)
    return std::nullopt;
  return commonRows(grouped.values, node.computeLoops, computeLoop);
}

/// The kernel that the compute loop, which waits for `before`, joins.
std::optional<KernelGrouper::Home>
KernelGrouper::homeOf(tp::KernelOp kernel, const ComputeLoop &computeLoop,
                      ArrayRef<unsigned> before) const {
  llvm::SetVector<unsigned> producers;
  for (const Read &read : computeLoop.reads.reads)
    producers.insert_range(accesses.lookup(memoryOf(read.root)).writers);
  SmallVector<unsigned> candidates(producers.begin(), producers.end());
  llvm::sort(candidates, std::greater<>());
  // Two sums over the rows that a GEMM made read them once.
  if (computeLoop.isReduction()) {
    llvm::SetVector<unsigned> siblings;
    for (const Read &read : computeLoop.reads.reads)
      siblings.insert_range(accesses.lookup(memoryOf(read.root)).readers);
    siblings.set_subtract(producers);
    llvm::append_range(candidates, siblings);
  }
  for (unsigned candidate : candidates) {
    const KernelNode &node = nodes[candidate];
    if (node.computeLoops.empty() || checksBesideUpdates(node, kernel) ||
        llvm::any_of(before,
                     [&](unsigned other) {
                       return other != candidate && reaches(other, candidate);
                     }) ||
        !mayBeBeside(node, kernel))
      continue;
    if (std::optional<CommonRows> rows = rowsIn(node, computeLoop))
      return Home{candidate, *rows};
  }
  return std::nullopt;
}

void KernelGrouper::join(const Home &home, Operation *kernel,
                         ComputeLoop *computeLoop) {
  KernelNode &node = nodes[home.node];
  for (ComputeLoop *member : node.computeLoops) {
    SmallVector<unsigned> fewer;
    for (unsigned slot : home.rows.kept)
      fewer.push_back(member->slots[slot]);
    member->slots = fewer;
  }
  computeLoop->slots = home.rows.slots;
  node.computeLoops.push_back(computeLoop);
  node.commands.push_back(kernel);
  grow(home.node);
}

LogicalResult KernelGrouper::add(Operation *command) {
  ++position;
  CommandUses uses = usesOf(command);
  llvm::SetVector<unsigned> before;
  for (Value root : uses.reads) {
    before.insert_range(accesses[memoryOf(root)].writers);
    if (auto gate = resumed.find(memoryOf(root)); gate != resumed.end())
      before.insert(gate->second);
  }
  for (Value root : uses.writes) {
    before.insert_range(accesses[memoryOf(root)].writers);
    before.insert_range(accesses[memoryOf(root)].readers);
  }
  std::optional<Home> home;
  ComputeLoop *computeLoop = nullptr;
  if (auto kernel = dyn_cast<tp::KernelOp>(command)) {
    FailureOr<ComputeLoop *> loop = loopOf(kernel);
    if (failed(loop))
      return failure();
    computeLoop = *loop;
    if (computeLoop)
      home = homeOf(kernel, *computeLoop, before.getArrayRef());
  }
  unsigned number = home ? home->node : nodes.size();
  if (home) {
    join(*home, command, computeLoop);
  } else {
    KernelNode node;
    node.first = node.last = node.latest = position;
    node.commands = {command};
    if (computeLoop)
      node.computeLoops = {computeLoop};
    nodes.push_back(std::move(node));
  }
  if (auto kernel = dyn_cast<tp::KernelOp>(command)) {
    nodes[number].checks |= hasCheck(kernel);
    nodes[number].writesUpdates |= writesUpdates(kernel);
  }
  for (unsigned other : before)
    waitFor(number, other);
  for (Value root : uses.reads)
    if (isa<BlockArgument>(memoryOf(root)))
      (updated.contains(memoryOf(root)) ? nodes[number].readsState
                                        : nodes[number].readsInput) = true;
  auto note = [&](SmallVector<unsigned> &known) {
    if (!llvm::is_contained(known, number))
      known.push_back(number);
  };
  for (Value root : uses.reads)
    note(accesses[memoryOf(root)].readers);
  for (Value root : uses.writes)
    note(accesses[memoryOf(root)].writers);
  return success();
}

/// A node that waits for all nodes so far, directly or through the last one of
/// its kind: what waits for it runs behind them and joins none of them.
void KernelGrouper::resume(tp::ResumeOp op) {
  if (!lastGate || *lastGate + 1 != nodes.size()) {
    unsigned number = nodes.size();
    KernelNode gate;
    gate.first = gate.last = gate.latest = ++position;
    nodes.push_back(std::move(gate));
    for (unsigned before = lastGate.value_or(0); before < number; ++before)
      waitFor(number, before);
    lastGate = number;
  }
  for (Value buffer : op.getBuffers())
    resumed[memoryOf(buffer)] = *lastGate;
}

LogicalResult KernelGrouper::order(Block &block) {
  SmallVector<unsigned> ordered = orderOf(nodes, traits);
  // Without this check what waits in a circle would be left out unseen.
  if (ordered.size() != nodes.size())
    return block.getParentOp()->emitError(
               "kernels wait for each other: expected ")
           << nodes.size() << " commands, got " << ordered.size();
  for (unsigned number : ordered)
    if (!nodes[number].commands.empty())
      grouped.groups.push_back(std::move(nodes[number]));
  return success();
}

LogicalResult tp::target::groupKernels(Block &block, const Buffers &buffers,
                                       KernelPlans &kernels,
                                       const TargetTraits &traits,
                                       GroupedBlock &grouped) {
  KernelGrouper grouper(block, buffers, kernels, traits, grouped);
  for (Operation &op : block) {
    if (auto resume = dyn_cast<tp::ResumeOp>(op))
      grouper.resume(resume);
    else if (isTopCommand(&op) && failed(grouper.add(&op)))
      return failure();
  }
  return grouper.order(block);
}
