//===- ParameterGathers.cpp - parameters brought together -----------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ParameterGathers.h"
#include "ParameterUse.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Builders.h"
#include "tp/IR/Entries.h"
#include "tp/IR/ModuleLocation.h"
#include "tp/IR/PortAttributes.h"
#include "tp/IR/PortNames.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallBitVector.h"

using namespace mlir;
using namespace tp;

namespace {
/// An operand that is a parameter or a view of it, of an op that computes.
struct ComputingUse {
  OpOperand *operand;
  /// The op of the function that it is of.
  Operation *op;
};

/// The uses of one parameter in a pass, or of a slice of it that an iteration
/// takes.
struct ParameterUses {
  const FullyShardedParameter *parameter;
  Value source;
  SmallVector<ComputingUse> uses;
};

/// A module's parameters, which are gathered together, in a pass.
struct GatheredModule {
  SmallVector<ParameterUses> parameters;
  Operation *first = nullptr;
};

class GatherBuilder {
public:
  GatherBuilder(func::FuncOp function, MeshAttr mesh)
      : function(function), mesh(mesh), updates(updatesOf(function)),
        invariant(function) {
    for (auto [number, op] : llvm::enumerate(function.getBody().front()))
      order[&op] = number;
  }

  void add(const FullyShardedParameter &parameter);
  void run();

private:
  using Pass =
      llvm::MapVector<std::pair<Operation *, StringRef>, GatheredModule>;
  void addUses(Value value, const llvm::DenseSet<Operation *> &updating,
               ParameterUses &forward, ParameterUses &backward);
  void addTo(Pass &pass, ParameterUses uses);
  SmallVector<Value> slicesOf(BlockArgument parameter,
                              const llvm::DenseSet<Operation *> &updating);
  /// The ops that compute the update of a parameter from it, element by
  /// element.
  llvm::DenseSet<Operation *> updatingOps(BlockArgument parameter);
  void gather(Pass &pass, StringRef name);
  /// `value`, a view of `source`, as a view of `whole`.
  Value viewOf(Value source, Value whole, Value value, Operation *before,
               llvm::DenseMap<Value, Value> &views);

  func::FuncOp function;
  MeshAttr mesh;
  llvm::MapVector<unsigned, unsigned> updates;
  InvariantValues invariant;
  llvm::DenseMap<Operation *, unsigned> order;
  Pass forward, backward;
  /// Of parameters and of what is gathered along one axis, which may have no
  /// use when all gathers are there.
  llvm::SetVector<Operation *> oldViews;
};
} // namespace

llvm::DenseSet<Operation *>
GatherBuilder::updatingOps(BlockArgument parameter) {
  llvm::DenseSet<Operation *> found;
  const auto *update = updates.find(parameter.getArgNumber());
  if (update == updates.end())
    return found;
  ArrayRef<int64_t> shape =
      cast<RankedTensorType>(parameter.getType()).getShape();
  Operation *terminator = function.getBody().front().getTerminator();
  SmallVector<Value> work{terminator->getOperand(update->second)};
  while (!work.empty()) {
    Value value = work.pop_back_val();
    auto type = dyn_cast<RankedTensorType>(value.getType());
    auto op = value.getDefiningOp<linalg::LinalgOp>();
    if (!op || !type || type.getShape() != shape ||
        op.getNumParallelLoops() != op.getNumLoops() ||
        !found.insert(op).second)
      continue;
    for (OpOperand *input : op.getDpsInputOperands())
      if (op.getMatchingIndexingMap(input).isIdentity())
        work.push_back(input->get());
  }
  return found;
}

void GatherBuilder::addUses(Value value,
                            const llvm::DenseSet<Operation *> &updating,
                            ParameterUses &forward, ParameterUses &backward) {
  for (OpOperand &use : value.getUses()) {
    Operation *op =
        function.getBody().front().findAncestorOpInBlock(*use.getOwner());
    if (op->hasTrait<OpTrait::IsTerminator>() || updating.contains(op))
      continue;
    if (viewSource(op) == value) {
      oldViews.insert(op);
      addUses(op->getResult(0), updating, forward, backward);
    } else if (isOfBackwardPass(op->getLoc())) {
      backward.uses.push_back({&use, op});
    } else if (!moduleOf(op->getLoc()).starts_with("<optim")) {
      forward.uses.push_back({&use, op});
    }
  }
}

void GatherBuilder::addTo(Pass &pass, ParameterUses uses) {
  if (uses.uses.empty())
    return;
  llvm::stable_sort(uses.uses, [&](ComputingUse a, ComputingUse b) {
    return order[a.op] < order[b.op];
  });
  GatheredModule &module =
      pass[{uses.parameter->entry, uses.parameter->module}];
  Operation *first = uses.uses.front().op;
  if (!module.first || order[first] < order[module.first])
    module.first = first;
  module.parameters.push_back(std::move(uses));
}

/// The slices that are all that iterations read of a parameter, each another
/// one; none if they read more. Ranks have such a parameter cut along another
/// dimension than it is sliced along, so that a slice of shards is a shard.
SmallVector<Value>
GatherBuilder::slicesOf(BlockArgument parameter,
                        const llvm::DenseSet<Operation *> &updating) {
  SmallVector<Value> slices;
  ArrayRef<int64_t> shape =
      cast<RankedTensorType>(parameter.getType()).getShape();
  llvm::SmallBitVector isWhole(shape.size(), true);
  for (Operation *user : parameter.getUsers()) {
    Operation *op = function.getBody().front().findAncestorOpInBlock(*user);
    if (op->hasTrait<OpTrait::IsTerminator>() || updating.contains(op))
      continue;
    auto slice = dyn_cast<tensor::ExtractSliceOp>(op);
    if (!slice || invariant.contains(slice))
      return {};
    for (auto [dim, size] : llvm::enumerate(slice.getStaticSizes()))
      if (size != shape[dim] || size == 1)
        isWhole.reset(dim);
    slices.push_back(slice);
  }
  return isWhole.any() ? slices : SmallVector<Value>();
}

void GatherBuilder::add(const FullyShardedParameter &parameter) {
  BlockArgument argument = function.getArgument(parameter.argument);
  FullyShardOp entry = parameter.entry;
  llvm::DenseSet<Operation *> updating = updatingOps(argument);
  SmallVector<Value> sources;
  if (!entry.keepsGathered())
    sources = slicesOf(argument, updating);
  if (sources.empty())
    sources = {argument};
  for (Value source : sources) {
    ParameterUses inForward{&parameter, source, {}};
    ParameterUses inBackward{&parameter, source, {}};
    addUses(source, updating, inForward, inBackward);
    if (entry.keepsGathered()) {
      llvm::append_range(inForward.uses, inBackward.uses);
      inBackward.uses.clear();
    }
    addTo(forward, std::move(inForward));
    addTo(backward, std::move(inBackward));
  }
}

Value GatherBuilder::viewOf(Value source, Value whole, Value value,
                            Operation *before,
                            llvm::DenseMap<Value, Value> &views) {
  if (value == source)
    return whole;
  Operation *view = value.getDefiningOp();
  Value &known = views[value];
  if (known)
    return known;
  Value seen = viewOf(source, whole, viewSource(view), before, views);
  OpBuilder builder(before);
  // The gather along another axis stays beside this one: they become one.
  if (isa<ConstrainOp>(view))
    builder.setInsertionPointAfterValue(seen);
  IRMapping mapping;
  mapping.map(viewSource(view), seen);
  Value made = builder.clone(*view, mapping)->getResult(0);
  // Another axis may have a view of its own in its place.
  oldViews.insert(made.getDefiningOp());
  return views[value] = made;
}

void GatherBuilder::gather(Pass &pass, StringRef name) {
  MLIRContext *context = function.getContext();
  auto replicate = PlacementAttr::get(context, Placement::replicate());
  for (auto &[key, module] : pass) {
    OpBuilder builder(module.first);
    for (const ParameterUses &each : module.parameters) {
      unsigned number = each.parameter->argument;
      FullyShardOp entry = each.parameter->entry;
      auto type = cast<RankedTensorType>(each.source.getType());
      Operation *slice = each.source.getDefiningOp();
      if (slice && !slice->isBeforeInBlock(module.first))
        builder.setInsertionPointAfter(slice);
      else
        builder.setInsertionPoint(module.first);
      auto own = function.getArgAttrOfType<StringAttr>(number, attr::name);
      auto [path, member] = (own ? own.getValue() : "").rsplit('.');
      auto whole = ConstrainOp::create(
          builder, entry.getLoc(), type, each.source, mesh,
          entry->getParentOfType<PlanOp>().getAxis(), replicate,
          type.getShape(), member.empty() ? StringRef() : path,
          ("gathered " + name + " " + (member.empty() ? path : member)).str(),
          /*lazy=*/false, /*dims=*/DenseI64ArrayAttr());
      whole->setAttr(attr::gather, builder.getStringAttr(name));
      oldViews.insert(whole);
      llvm::DenseMap<Value, Value> views;
      for (ComputingUse use : each.uses)
        use.operand->set(
            viewOf(each.source, whole, use.operand->get(), use.op, views));
    }
  }
}

void GatherBuilder::run() {
  gather(forward, attr::forwardGather);
  gather(backward, attr::backwardGather);
  for (Operation *view : llvm::reverse(oldViews.getArrayRef()))
    if (view->use_empty())
      view->erase();
}

void tp::insertGathers(func::FuncOp function, MeshAttr mesh,
                       ArrayRef<FullyShardedParameter> parameters) {
  if (parameters.empty())
    return;
  GatherBuilder builder(function, mesh);
  for (const FullyShardedParameter &parameter : parameters)
    builder.add(parameter);
  builder.run();
}
