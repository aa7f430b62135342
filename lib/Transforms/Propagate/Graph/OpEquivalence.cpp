//===- OpEquivalence.cpp - classes of ops with equal rules and types ------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AssignmentGraph.h"
#include "llvm/ADT/bit.h"
#include <map>

using namespace mlir;
using namespace tp;
using namespace tp::propagate;

namespace {
/// All that a rule and the types of what it speaks of say, as numbers. Lists
/// begin with their lengths.
class RuleEncoding {
public:
  std::vector<uint64_t> numbers;

  template <typename T> void add(T number) {
    numbers.push_back(static_cast<uint64_t>(number));
  }
  template <typename List, typename Each>
  void addList(const List &list, Each each) {
    add(list.size());
    for (const auto &entry : list)
      each(entry);
  }
  template <typename List> void addNumbers(const List &list) {
    addList(list, [&](auto number) { add(number); });
  }
  void add(const TensorFactors &dims) {
    addList(dims, [&](const DimFactors &dim) {
      addNumbers(dim);
      add(dim.window.has_value());
      if (dim.window) {
        add(dim.window->offset);
        add(dim.window->size);
      }
    });
  }
  void add(const ShardingRule &rule) {
    addList(rule.factors, [&](const Factor &factor) {
      add(factor.size);
      add(factor.kind);
      addNumbers(factor.combiners);
      addNumbers(factor.unsplittable);
      add(factor.allowsUneven);
      addList(factor.segmentations,
              [&](const std::vector<int64_t> &sizes) { addNumbers(sizes); });
    });
    for (const auto *tensors : {&rule.slotFactors, &rule.resultFactors})
      addList(*tensors, [&](const TensorFactors &dims) { add(dims); });
    addList(rule.initOf, [&](const std::optional<unsigned> &result) {
      add(result ? *result + 1 : 0);
    });
    addList(rule.passthroughs, [&](const PartialPassthrough &pass) {
      add(pass.kind);
      addNumbers(pass.slots);
      add(pass.resultKind);
    });
    addNumbers(rule.freePartials);
    add(llvm::bit_cast<uint64_t>(rule.work));
  }
};
} // namespace

void propagate::findEquivalentOps(AssignmentGraph &graph) {
  llvm::DenseMap<Type, unsigned> types;
  std::map<std::vector<uint64_t>, unsigned> known;
  for (Node &node : graph.nodes) {
    if (node.isPort())
      continue;
    RuleEncoding spelling;
    spelling.add(node.rule);
    // Nothing is brought together for it.
    spelling.add(isa_and_present<KeptOp>(node.op));
    auto addType = [&](unsigned value) {
      Type type = graph.type(value);
      spelling.add(types.try_emplace(type, types.size()).first->second);
    };
    spelling.addList(node.slots, addType);
    spelling.addList(node.results, addType);
    node.equivalenceClass =
        known.try_emplace(std::move(spelling.numbers), known.size())
            .first->second;
  }
}
