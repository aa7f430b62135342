//===- EntryUses.cpp - how whole entries read parameters ------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "EntryUses.h"
#include "ModuleIndex.h"
#include "tp/IR/Entries.h"
#include "tp/IR/TP.h"

using namespace mlir;
using namespace tp;

EntryUses::Entry &EntryUses::entryOf(func::FuncOp function) {
  StringRef whole = wholeEntryOf(function);
  auto [it, isNew] = entries.try_emplace(whole);
  Entry &entry = it->second;
  if (!isNew)
    return entry;
  // Parts run before their entry, in the order of the module.
  SmallVector<func::FuncOp> order;
  for (bool ofParts : {true, false})
    for (func::FuncOp each : functions)
      if (wholeEntryOf(each) == whole && isPartOfEntry(each) == ofParts)
        order.push_back(each);
  for (func::FuncOp each : order)
    for (ParameterUse &use : parameterUses(each))
      entry.uses.push_back(std::move(use));
  for (const ParameterUse &use : entry.uses) {
    auto owner = cast<func::FuncOp>(use.parameter.getOwner()->getParentOp());
    auto name = owner.getArgAttrOfType<StringAttr>(use.parameter.getArgNumber(),
                                                   attr::name);
    entry.byName[name.getValue()].push_back(&use);
  }
  return entry;
}

ArrayRef<const ParameterUse *> EntryUses::of(func::FuncOp function,
                                             StringRef name) {
  Entry &entry = entryOf(function);
  auto it = entry.byName.find(name);
  return it == entry.byName.end() ? ArrayRef<const ParameterUse *>()
                                  : ArrayRef(it->second);
}

const ParameterUse *EntryUses::inModule(func::FuncOp function, StringRef name,
                                        StringRef module) {
  ArrayRef<const ParameterUse *> uses = of(function, name);
  if (uses.empty())
    return nullptr;
  const auto *own = llvm::find_if(uses, [&](const ParameterUse *use) {
    return ModuleIndex::owner(use->op) == module;
  });
  return own == uses.end() ? uses.front() : *own;
}

std::optional<unsigned> tp::shardedDim(const ParameterUse &use, bool colwise) {
  for (auto [dim, contracted] : llvm::enumerate(use.contracted))
    if (contracted != colwise && dim != use.stackedDim && !use.batched[dim])
      return dim;
  return std::nullopt;
}

/// The use that tells rows from columns: a product's, or a lookup's where the
/// style, or all that reads the parameter, is of tables.
static const ParameterUse *tellingUse(ArrayRef<const ParameterUse *> uses,
                                      bool ofTable) {
  auto isSought = [&](const ParameterUse *use) {
    return use->isGather == ofTable;
  };
  const auto *found = llvm::find_if(uses, isSought);
  if (found != uses.end())
    return *found;
  return uses.empty() || ofTable ? nullptr : uses.front();
}

tp::NamedDim tp::namedDim(ArrayRef<const ParameterUse *> uses, int64_t rank,
                          bool colwise, bool ofTable, bool hasTable) {
  const ParameterUse *use = tellingUse(uses, ofTable);
  bool isLookup = use && use->isGather;
  // What a lookup reads of a matrix is rows of a table. Of more dimensions they
  // are weights, of experts for one, and the lookup tells nothing of them.
  bool ofWeights = isLookup && !ofTable && rank > 2;
  bool isTable = ofTable || (isLookup && rank == 2);
  // torch keeps a weight as [.., what it makes, what it takes], and a table as
  // rows of columns; transformers' styles mean these places.
  if (isTable ? !use || rank == 2 : hasTable && !(use && use->stackedDim))
    return {use, rank - (colwise != isTable ? 2 : 1)};
  return {use, use && !ofWeights ? shardedDim(*use, colwise) : std::nullopt};
}
