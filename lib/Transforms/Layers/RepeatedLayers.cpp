//===- RepeatedLayers.cpp - what repeats in a function --------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RepeatedLayers.h"
#include "OpSignature.h"
#include "tp/IR/OpInputs.h"
#include "tp/IR/TP.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringExtras.h"
#include <deque>

using namespace mlir;
using namespace tp;
using namespace tp::layers;

//===----------------------------------------------------------------------===//
// Arguments
//===----------------------------------------------------------------------===//

namespace {
/// A number in an argument's name, and all else that must be the same.
struct NumberedName {
  int64_t number;
  std::tuple<StringRef, StringRef, Attribute, Type> rest;
};
} // namespace

static SmallVector<NumberedName> numbersIn(func::FuncOp func,
                                           unsigned argument) {
  SmallVector<NumberedName> found;
  auto name = func.getArgAttrOfType<StringAttr>(argument, attr::name);
  if (!name)
    return found;
  NamedAttrList attributes(func.getArgAttrDict(argument));
  attributes.erase(attr::name);
  Attribute others = attributes.getDictionary(func.getContext());
  Type type = func.getArgument(argument).getType();
  StringRef text = name.getValue();
  for (size_t at = 0; at < text.size();) {
    size_t length = text.substr(at).take_while(llvm::isDigit).size();
    int64_t number = 0;
    if (length > 0 && !text.substr(at, length).getAsInteger(10, number))
      found.push_back(
          {number,
           {text.take_front(at), text.drop_front(at + length), others, type}});
    at += std::max<size_t>(length, 1);
  }
  return found;
}

std::vector<Correspondence>
RepeatedLayers::argumentCorrespondences(func::FuncOp func) {
  // Of one name's numbers the first counts: it is the outermost list.
  llvm::MapVector<std::tuple<StringRef, StringRef, Attribute, Type>,
                  llvm::MapVector<int64_t, BlockArgument>>
      groups;
  for (BlockArgument argument : func.getArguments()) {
    SmallVector<NumberedName> numbers =
        numbersIn(func, argument.getArgNumber());
    if (!numbers.empty())
      groups[numbers.front().rest].insert({numbers.front().number, argument});
  }
  std::vector<Correspondence> correspondences;
  llvm::MapVector<std::pair<int64_t, int64_t>, unsigned> ranges;
  for (auto &[rest, members] : groups) {
    SmallVector<std::pair<int64_t, BlockArgument>> sorted(members.begin(),
                                                          members.end());
    llvm::sort(sorted,
               [](const auto &a, const auto &b) { return a.first < b.first; });
    Correspondence correspondence;
    correspondence.first = sorted.front().first;
    bool isDense = sorted.back().first - correspondence.first + 1 ==
                   static_cast<int64_t>(sorted.size());
    if (!isDense)
      continue;
    for (auto &[number, argument] : sorted)
      correspondence.arguments.push_back(argument);
    ++ranges[{correspondence.first, correspondence.size()}];
    correspondences.push_back(std::move(correspondence));
  }
  if (correspondences.empty())
    return correspondences;
  auto most = llvm::max_element(
      ranges, [](const auto &a, const auto &b) { return a.second < b.second; });
  llvm::erase_if(correspondences, [&](const Correspondence &correspondence) {
    return std::pair(correspondence.first, correspondence.size()) !=
           most->first;
  });
  return correspondences;
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

namespace {
/// Finds for ops the one that corresponds in the next layer.
class CorrespondenceFinder {
public:
  explicit CorrespondenceFinder(Block &block);
  void match(ArrayRef<Correspondence> seeds);
  /// Chains of ops, each with the layer of its first.
  std::vector<Correspondence> correspondences() const;

private:
  static constexpr unsigned none = ~0u;
  struct Use {
    unsigned op, input;
  };
  struct Pair {
    unsigned from, to;
    int64_t layer;
  };

  void matchOps(unsigned from, unsigned to, int64_t layer);
  void matchUses(unsigned from, unsigned to, int64_t layer);
  void push(unsigned from, unsigned to, int64_t layer) {
    if (from != to && next[from] == none) {
      next[from] = to;
      pending.push_back({from, to, layer});
    }
  }

  std::vector<Operation *> ops;
  std::vector<uint64_t> hashes;
  llvm::DenseMap<Value, unsigned> numbers;
  /// By value.
  std::vector<unsigned> makers, results, next;
  std::vector<SmallVector<Use, 2>> uses;
  /// By op.
  std::vector<SmallVector<unsigned, 4>> inputs;
  std::vector<unsigned> nextOp, previousOp, firstResult;
  std::vector<int64_t> layerOf;
  std::deque<Pair> pending;
};
} // namespace

CorrespondenceFinder::CorrespondenceFinder(Block &block) {
  auto add = [&](Value value, unsigned maker, unsigned result) {
    numbers[value] = makers.size();
    makers.push_back(maker);
    results.push_back(result);
  };
  size_t numOps = block.getOperations().size();
  numbers.reserve(block.getNumArguments() + numOps);
  ops.reserve(numOps);
  for (Value argument : block.getArguments())
    add(argument, none, 0);
  for (Operation &op : block.without_terminator()) {
    unsigned number = ops.size();
    ops.push_back(&op);
    hashes.push_back(hashAcrossLayers(&op));
    firstResult.push_back(makers.size());
    for (auto [i, result] : llvm::enumerate(op.getResults()))
      add(result, number, i);
  }
  uses.resize(makers.size());
  next.assign(makers.size(), none);
  for (auto [number, op] : llvm::enumerate(ops)) {
    SmallVector<unsigned, 4> &list = inputs.emplace_back();
    for (auto [i, input] : llvm::enumerate(inputsOf(op))) {
      list.push_back(numbers.lookup(input));
      uses[list.back()].push_back(
          {static_cast<unsigned>(number), static_cast<unsigned>(i)});
    }
  }
  nextOp.assign(ops.size(), none);
  previousOp.assign(ops.size(), none);
  layerOf.assign(ops.size(), 0);
}

void CorrespondenceFinder::matchOps(unsigned from, unsigned to, int64_t layer) {
  if (from == to || hashes[from] != hashes[to] || nextOp[from] != none ||
      previousOp[to] != none || inputs[from].size() != inputs[to].size())
    return;
  nextOp[from] = to;
  previousOp[to] = from;
  layerOf[from] = layer;
  layerOf[to] = layer + 1;
  for (auto [a, b] : llvm::zip_equal(inputs[from], inputs[to]))
    push(a, b, layer);
  for (unsigned i = 0, e = ops[from]->getNumResults(); i < e; ++i)
    push(firstResult[from] + i, firstResult[to] + i, layer);
}

/// Pairs the uses that are alone of their sort; of several alike another value
/// that they take may tell which is which.
void CorrespondenceFinder::matchUses(unsigned from, unsigned to,
                                     int64_t layer) {
  auto isAlone = [&](const SmallVector<Use, 2> &among, const Use &use) {
    return llvm::count_if(among, [&](const Use &other) {
             return other.input == use.input &&
                    hashes[other.op] == hashes[use.op];
           }) == 1;
  };
  for (const Use &use : uses[from]) {
    const Use *found = nullptr;
    for (const Use &other : uses[to])
      if (other.input == use.input && hashes[other.op] == hashes[use.op])
        found = &other;
    if (found && isAlone(uses[from], use) && isAlone(uses[to], *found))
      matchOps(use.op, found->op, layer);
  }
}

void CorrespondenceFinder::match(ArrayRef<Correspondence> seeds) {
  for (const Correspondence &seed : seeds)
    for (int64_t i = 0; i + 1 < seed.size(); ++i)
      push(numbers.lookup(seed.arguments[i]),
           numbers.lookup(seed.arguments[i + 1]), seed.first + i);
  while (!pending.empty()) {
    auto [from, to, layer] = pending.front();
    pending.pop_front();
    if (makers[from] != none && makers[to] != none &&
        results[from] == results[to])
      matchOps(makers[from], makers[to], layer);
    // What is used everywhere (a mask, a learning rate) tells nothing.
    constexpr size_t mostUses = 64;
    if (uses[from].size() <= mostUses && uses[to].size() <= mostUses)
      matchUses(from, to, layer);
  }
}

std::vector<Correspondence> CorrespondenceFinder::correspondences() const {
  std::vector<Correspondence> chains;
  for (unsigned op = 0; op < ops.size(); ++op) {
    if (previousOp[op] != none || nextOp[op] == none)
      continue;
    Correspondence chain;
    chain.first = layerOf[op];
    for (unsigned at = op; at != none; at = nextOp[at])
      chain.ops.push_back(ops[at]);
    chains.push_back(std::move(chain));
  }
  return chains;
}

RepeatedLayers::RepeatedLayers(func::FuncOp func,
                               std::vector<Correspondence> arguments)
    : func(func), all(std::move(arguments)) {
  for (auto [number, correspondence] : llvm::enumerate(all))
    for (auto [i, argument] : llvm::enumerate(correspondence.arguments))
      argumentPlaces[argument] = {static_cast<unsigned>(number),
                                  correspondence.first +
                                      static_cast<int64_t>(i)};
  Block &block = func.getBody().front();
  places.reserve(block.getOperations().size());
  CorrespondenceFinder matcher(block);
  matcher.match(all);
  for (Correspondence &correspondence : matcher.correspondences()) {
    for (auto [i, op] : llvm::enumerate(correspondence.ops))
      places[op] = {static_cast<unsigned>(all.size()),
                    correspondence.first + static_cast<int64_t>(i)};
    all.push_back(std::move(correspondence));
  }
}

std::optional<Place> RepeatedLayers::placeOf(Operation *op) const {
  auto found = places.find(op);
  return found == places.end() ? std::nullopt : std::optional(found->second);
}

std::optional<Place> RepeatedLayers::placeOf(Value value) const {
  if (Operation *op = value.getDefiningOp())
    return placeOf(op);
  auto found = argumentPlaces.find(value);
  return found == argumentPlaces.end() ? std::nullopt
                                       : std::optional(found->second);
}

Source RepeatedLayers::sourceOf(Value value, int64_t layer) const {
  std::optional<Place> place = placeOf(value);
  if (!place)
    return {std::nullopt, 0, 0, value};
  auto result = dyn_cast<OpResult>(value);
  return {place->correspondence, result ? result.getResultNumber() : 0,
          place->layer - layer, Value()};
}

bool RepeatedLayers::isPeriodic(int64_t first, int64_t last) const {
  Block &block = func::FuncOp(func).getBody().front();
  for (const Correspondence &correspondence : all) {
    if (correspondence.first > last ||
        correspondence.first + correspondence.size() <= first)
      continue;
    if (!correspondence.covers(first) || !correspondence.covers(last))
      return false;
    for (int64_t layer = first; layer <= last; ++layer) {
      unsigned values = correspondence.ops.empty()
                            ? 1
                            : correspondence.op(layer)->getNumResults();
      for (unsigned i = 0; i < values; ++i)
        for (Operation *user : correspondence.value(layer, i).getUsers())
          if (Operation *at = block.findAncestorOpInBlock(*user);
              !placeOf(at) && at != block.getTerminator())
            return false;
    }
    if (correspondence.ops.empty())
      continue;
    SmallVector<Value> inputs = inputsOf(correspondence.op(first));
    for (int64_t layer = first + 1; layer <= last; ++layer) {
      if (!isEqualAcrossLayers(correspondence.op(first),
                               correspondence.op(layer)))
        return false;
      for (auto [input, here] :
           llvm::zip_equal(inputs, inputsOf(correspondence.op(layer))))
        if (Source source = sourceOf(input, first);
            source != sourceOf(here, layer) || std::abs(source.shift) > 1)
          return false;
    }
  }
  return true;
}
