//===- KernelOrder.cpp - the order in which commands run ------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelOrder.h"
#include "Schedule/CommandQueues.h"
#include "llvm/ADT/BitVector.h"
#include <numeric>
#include <queue>

using namespace mlir;
using namespace tp::target;

namespace {
class KernelOrder {
public:
  KernelOrder(ArrayRef<KernelNode> nodes, const TargetTraits &traits)
      : nodes(nodes), traits(traits) {}

  std::vector<unsigned> neededAt() const;

private:
  std::vector<unsigned> sorted() const;
  void moveUpdates(std::vector<unsigned> &needed) const;
  bool mayFollow(const KernelNode &node) const;

  ArrayRef<KernelNode> nodes;
  const TargetTraits &traits;
};
} // namespace

/// Per node the earliest last position of it and of all that wait for it,
/// directly or through others. A kernel of the forward pass that something of
/// the backward pass has joined is needed by the rest of the forward pass.
std::vector<unsigned> KernelOrder::neededAt() const {
  std::vector<unsigned> byLast(nodes.size());
  std::iota(byLast.begin(), byLast.end(), 0);
  llvm::stable_sort(byLast, [&](unsigned a, unsigned b) {
    return nodes[a].last < nodes[b].last;
  });
  std::vector<unsigned> needed(nodes.size(), 0);
  for (unsigned earliest : byLast) {
    SmallVector<unsigned> work = {earliest};
    while (!work.empty()) {
      unsigned node = work.pop_back_val();
      if (needed[node] != 0)
        continue;
      needed[node] = nodes[earliest].last;
      llvm::append_range(work, nodes[node].before);
    }
  }
  moveUpdates(needed);
  return needed;
}

/// The nodes, each behind what it waits for.
std::vector<unsigned> KernelOrder::sorted() const {
  std::vector<unsigned> order, waiting;
  for (auto [number, node] : llvm::enumerate(nodes)) {
    waiting.push_back(node.before.size());
    if (node.before.empty())
      order.push_back(number);
  }
  for (size_t i = 0; i < order.size(); ++i)
    for (unsigned next : nodes[order[i]].after)
      if (--waiting[next] == 0)
        order.push_back(next);
  return order;
}

/// Lets updates be needed as soon as what they wait for is there: what only
/// they need of a state with them, such as Adam's first moment, and before them
/// what is computed from states alone, such as its factors for the step.
void KernelOrder::moveUpdates(std::vector<unsigned> &needed) const {
  std::vector<unsigned> order = sorted();
  llvm::BitVector isUpdate(nodes.size()), isOfStates(nodes.size());
  for (unsigned number : llvm::reverse(order)) {
    const KernelNode &node = nodes[number];
    isUpdate[number] =
        mayFollow(node) ||
        (node.readsState && !node.after.empty() &&
         llvm::all_of(node.after, [&](unsigned n) { return isUpdate[n]; }));
  }
  for (unsigned number : order) {
    const KernelNode &node = nodes[number];
    isOfStates[number] =
        !node.readsInput &&
        llvm::all_of(node.before, [&](unsigned n) { return isOfStates[n]; });
    unsigned at = 0;
    for (unsigned other : node.before)
      if (isUpdate[number] && !isOfStates[other])
        at = std::max(at, needed[other]);
    if (at != 0)
      needed[number] = at;
  }
  for (unsigned number : llvm::reverse(order))
    for (unsigned other : nodes[number].before)
      needed[other] = std::min(needed[other], needed[number]);
}

/// Whether the node runs right behind what it waits for: what no command reads,
/// such as an update, frees the memory of what it reads, such as a gradient.
/// Not where it would wait for a message that other commands hide.
bool KernelOrder::mayFollow(const KernelNode &node) const {
  return node.after.empty() && !node.before.empty() && !node.commands.empty() &&
         (!hasQueues(traits) || llvm::none_of(node.before, [&](unsigned other) {
           return llvm::any_of(nodes[other].commands,
                               llvm::IsaPred<tp::CommunicateOp>);
         }));
}

SmallVector<unsigned> tp::target::orderOf(ArrayRef<KernelNode> nodes,
                                          const TargetTraits &traits) {
  // What nothing needs yet, such as the gather of a later layer, does not run
  // before what is needed, because its memory would be taken from there on.
  std::vector<unsigned> needed = KernelOrder(nodes, traits).neededAt();
  std::vector<unsigned> waiting;
  using Entry = std::tuple<unsigned, unsigned, unsigned>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<Entry>> ready;
  auto makeReady = [&](unsigned number) {
    ready.push({needed[number], nodes[number].last, number});
  };
  for (auto [i, node] : llvm::enumerate(nodes)) {
    waiting.push_back(node.before.size());
    if (node.before.empty())
      makeReady(i);
  }
  SmallVector<unsigned> order;
  while (!ready.empty()) {
    unsigned number = std::get<2>(ready.top());
    ready.pop();
    order.push_back(number);
    for (unsigned next : nodes[number].after)
      if (--waiting[next] == 0)
        makeReady(next);
  }
  return order;
}
