//===- CommandOrder.cpp - the orders that commands may run in -------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommandOrder.h"
#include <numeric>

using namespace mlir;
using namespace tp::target;

CommandOrder::CommandOrder(func::FuncOp program)
    : program(program), ops(topCommandsOf(program)), next(ops.size()),
      order(ops.size()), place(ops.size()) {
  std::iota(order.begin(), order.end(), 0);
  std::iota(place.begin(), place.end(), 0);
  struct Uses {
    std::optional<unsigned> lastWriter;
    SmallVector<unsigned> readersSince;
  };
  llvm::DenseMap<Value, Uses> known;
  for (auto [number, op] : llvm::enumerate(ops)) {
    unsigned command = number;
    allUses.push_back(usesOf(op));
    auto after = [&](unsigned earlier) {
      if (earlier != command)
        next[earlier].push_back(command);
    };
    for (Value root : allUses.back().reads) {
      readers[root].push_back(command);
      Uses &uses = known[root];
      if (uses.lastWriter)
        after(*uses.lastWriter);
      uses.readersSince.push_back(command);
    }
    for (Value root : allUses.back().writes) {
      writers[root].push_back(command);
      Uses &uses = known[root];
      if (uses.lastWriter)
        after(*uses.lastWriter);
      llvm::for_each(uses.readersSince, after);
      uses = {command, {}};
    }
  }
}

bool CommandOrder::putBefore(unsigned first, unsigned last) {
  next[first].push_back(last);
  unsigned from = place[last], to = place[first];
  if (to < from)
    return true;
  // `last`, and what depends on it, moves behind `first`.
  llvm::SmallDenseSet<unsigned> moved = {last};
  SmallVector<unsigned> work = {last};
  while (!work.empty())
    for (unsigned command : next[work.pop_back_val()]) {
      if (command == first)
        return false;
      if (place[command] < to && moved.insert(command).second)
        work.push_back(command);
    }
  auto begin = order.begin() + from, end = order.begin() + to + 1;
  std::stable_partition(
      begin, end, [&](unsigned command) { return !moved.contains(command); });
  for (unsigned at = from; at <= to; ++at)
    place[order[at]] = at;
  return true;
}

std::optional<CommandOrder::Pair> CommandOrder::require(ArrayRef<Pair> pairs) {
  std::vector<unsigned> oldOrder = order, oldPlace = place;
  for (auto [number, pair] : llvm::enumerate(pairs)) {
    if (putBefore(pair.first, pair.second))
      continue;
    for (Pair added : llvm::reverse(pairs.take_front(number + 1)))
      next[added.first].pop_back();
    order = std::move(oldOrder);
    place = std::move(oldPlace);
    return pair;
  }
  return std::nullopt;
}

ArrayRef<unsigned> CommandOrder::writersOf(Value root) const {
  auto it = writers.find(root);
  return it == writers.end() ? ArrayRef<unsigned>() : it->second;
}

SmallVector<CommandOrder::Pair>
CommandOrder::readsBeforeWrites(Value old, Value next) const {
  SmallVector<Pair> pairs;
  for (unsigned writer : writersOf(next))
    for (unsigned reader : readers.lookup(old))
      if (reader != writer)
        pairs.push_back({reader, writer});
  return pairs;
}

void CommandOrder::apply() {
  if (llvm::is_sorted(order))
    return;
  SmallVector<Operation *> ordered;
  for (unsigned command : order)
    ordered.push_back(ops[command]);
  putInOrder(program.front(), ordered);
}
