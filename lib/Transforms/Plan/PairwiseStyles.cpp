//===- PairwiseStyles.cpp - styles of torch's first release ---------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PairwiseParallel and the first SequenceParallel give the linear layers of an
// MLP colwise and rowwise in turn. They become such entries, at the location of
// the entry that they stand for.
//
//===----------------------------------------------------------------------===//

#include "Binder.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace tp;

bool Binder::isLinear(StringRef module) {
  StringRef className = tree.find(module)->className;
  if (!className.empty())
    return className == "Linear";
  BlockArgument weight = memberNamed(module, weightNames);
  return weight && llvm::any_of(usesOf.lookup(weight), [](ParameterUse *use) {
           return !use->isGather;
         });
}

static std::string listed(ArrayRef<StringRef> names) {
  return llvm::join(
      llvm::map_range(names,
                      [](StringRef name) { return ("'" + name + "'").str(); }),
      ", ");
}

LogicalResult Binder::expandPairwise(ParallelizeOp entry, StringRef module) {
  auto error = [&] {
    return entry.emitError()
           << "style " << entry.getStyle()
           << " is for the linear layers of an MLP, module '" << module << "' ";
  };
  SmallVector<StringRef> inside = tree.inside(module), linears;
  inside.insert(inside.begin(), module);
  for (StringRef each : inside) {
    if (tree.find(each)->className.contains("Attention"))
      return error() << (each == module ? "is" : "has '" + each.str() + "'")
                     << " of class " << tree.find(each)->className
                     << ": give its projections colwise and rowwise";
    if (isLinear(each))
      linears.push_back(each);
  }
  if (linears.empty())
    return error() << "has none";
  if (linears.size() % 2 != 0)
    return error() << "has " << linears.size() << " (" << listed(linears)
                   << "), which are no pairs: give them colwise and rowwise";
  OpBuilder builder(entry);
  for (auto [i, linear] : llvm::enumerate(linears)) {
    NamedAttrList options;
    auto take = [&](StringRef option) {
      if (Attribute given = entry.getOptions().get(option))
        options.set(option, given);
      else if (lookupStyle(entry.getStyle())->kind ==
               StyleKind::PairwiseSequence)
        options.set(option,
                    PlacementAttr::get(plan.getContext(), Placement::shard(0)));
    };
    if (i == 0)
      take("input_layouts");
    if (i + 1 == linears.size())
      take("output_layouts");
    if (Attribute overrides = entry.getOptions().get("override"))
      options.set("override", overrides);
    ParallelizeOp::create(
        builder, entry.getLoc(), linear,
        toString(i % 2 == 0 ? StyleKind::Colwise : StyleKind::Rowwise),
        options.getDictionary(plan.getContext()));
  }
  return success();
}

LogicalResult Binder::expandPairwise() {
  for (ParallelizeOp entry :
       llvm::make_early_inc_range(plan.getBody().getOps<ParallelizeOp>())) {
    SmallVector<StringRef> modules = tree.match(entry.getPattern());
    // Binding says that a name is unknown.
    if (!isPairwise(lookupStyle(entry.getStyle())->kind) || modules.empty())
      continue;
    for (StringRef module : modules)
      if (failed(expandPairwise(entry, module)))
        return failure();
    entry.erase();
  }
  return success();
}
