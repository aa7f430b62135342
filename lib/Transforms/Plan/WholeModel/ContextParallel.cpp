//===- ContextParallel.cpp - what shards a sequence -----------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WholeModel/ContextParallel.h"
#include "Binder.h"
#include "Parameters/ParameterView.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Verifier.h"
#include "tp/IR/CauseAttributes.h"
#include "tp/IR/ElementBytes.h"
#include "tp/IR/ModuleLocation.h"
#include "tp/IR/PortAttributes.h"

using namespace mlir;
using namespace tp;

//===----------------------------------------------------------------------===//
// What there is
//===----------------------------------------------------------------------===//

/// Whether the use is of the forward pass, and reads positions that are found.
static bool readsPositions(const ActivationGraph &graph,
                           const SequencePlaces &places,
                           const ParameterUse &use) {
  return use.input && graph.isForward(graph.nodeOf(use.result)) &&
         places.find(use.input->get());
}

static SequenceValue viewed(Value value, const SequencePlace &place,
                            int64_t length) {
  SequenceValue found{value, {}, place.dim};
  for (auto [dim, size] :
       llvm::enumerate(cast<RankedTensorType>(value.getType()).getShape())) {
    if (dim != place.dim) {
      found.view.push_back(size);
      continue;
    }
    if (place.outer != 1)
      found.view.push_back(place.outer);
    found.dim = found.view.size();
    found.view.push_back(length);
    if (place.inner != 1)
      found.view.push_back(place.inner);
  }
  return found;
}

static int64_t bytesOf(Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  return type.getNumElements() * elementBytes(type.getElementType());
}

/// Where the value has fewest bytes, and of such places the last, before it is
/// reshaped, scaled and repeated: heads that share keys are gathered once.
static OpOperand *beforeRepeats(OpOperand *operand) {
  OpOperand *best = operand;
  while (Operation *op = operand->get().getDefiningOp()) {
    auto loops = dyn_cast<linalg::LinalgOp>(op);
    if (isa<ConstrainOp>(op))
      break;
    if (viewSource(op)) {
      operand = &op->getOpOperand(0);
    } else if (loops && loops.getNumDpsInputs() == 1 &&
               op->getNumResults() == 1 &&
               loops.getNumParallelLoops() == loops.getNumLoops() &&
               isa<RankedTensorType>(
                   loops.getDpsInputOperand(0)->get().getType())) {
      operand = loops.getDpsInputOperand(0);
    } else {
      break;
    }
    if (bytesOf(operand->get()) < bytesOf(best->get()))
      best = operand;
  }
  return best;
}

/// Whether the backward pass reads what `user` reads: by itself, or as it is
/// reshaped, scaled or repeated.
static bool isForBackward(Operation *user) {
  if (isOfBackwardPass(user->getLoc()))
    return true;
  auto loops = dyn_cast<linalg::LinalgOp>(user);
  return (viewSource(user) || (loops && loops.getNumDpsInputs() == 1)) &&
         llvm::any_of(user->getUsers(), isForBackward);
}

/// Where the backward pass reads what `operand` is a view of, so that both
/// passes read one gather: `operand` itself unless it does.
static OpOperand *whereBothRead(OpOperand *operand) {
  OpOperand *best = operand;
  int64_t bytes = bytesOf(operand->get());
  while (true) {
    Value value = operand->get();
    if (llvm::any_of(value.getUsers(), isForBackward))
      best = operand;
    Operation *op = value.getDefiningOp();
    auto copy = dyn_cast_if_present<linalg::LinalgOp>(op);
    OpOperand *source = op && viewSource(op) ? &op->getOpOperand(0)
                        : copy               ? copiedInput(copy)
                                             : nullptr;
    if (!source || bytesOf(source->get()) != bytes)
      return best;
    operand = source;
  }
}

/// Where what is made of `value` alone has fewest bytes, and of such places the
/// first.
static Value afterSums(Value value) {
  Value best = value;
  while (value.hasOneUse()) {
    Operation *op = *value.user_begin();
    auto loops = dyn_cast<linalg::LinalgOp>(op);
    bool isAlone = loops && loops.getNumDpsInputs() == 1;
    if (op->getNumResults() != 1 || !(viewSource(op) == value || isAlone))
      break;
    value = op->getResult(0);
    if (bytesOf(value) < bytesOf(best))
      best = value;
  }
  return best;
}

ContextPins tp::contextPins(func::FuncOp function, unsigned dim,
                            ArrayRef<ParameterUse> uses) {
  ActivationGraph graph(function, uses);
  ContextPins pins;
  for (BlockArgument argument : function.getArguments()) {
    auto type = dyn_cast<RankedTensorType>(argument.getType());
    if (!type || type.getRank() <= dim || type.getDimSize(dim) <= 1 ||
        !graph.isActivation(graph.nodeOf(argument)) ||
        (pins.length && type.getDimSize(dim) != pins.length))
      continue;
    SequencePlaces own(graph, function, type.getDimSize(dim));
    own.add(argument, dim);
    own.follow();
    // Not a mask, nor the targets of a loss.
    if (llvm::none_of(uses, [&](const ParameterUse &use) {
          return readsPositions(graph, own, use);
        }))
      continue;
    pins.length = type.getDimSize(dim);
    pins.inputs.push_back(argument.getArgNumber());
  }
  SequencePlaces places(graph, function, pins.length);
  for (unsigned input : pins.inputs)
    places.add(function.getArgument(input), dim);
  places.follow();
  llvm::SmallDenseSet<Value> seen;
  for (const ParameterUse &use : uses)
    if (readsPositions(graph, places, use))
      if (const SequencePlace *place = places.find(use.output);
          place && seen.insert(use.output).second)
        pins.values.push_back(viewed(use.output, *place, pins.length));
  for (const AttentionOperands &each : places.attentions())
    for (auto [operand, port] :
         {std::pair(each.keys, "keys"), std::pair(each.values, "values")}) {
      OpOperand *before = whereBothRead(beforeRepeats(operand));
      const SequencePlace *place = places.find(before->get());
      // Operands of the products have one themselves.
      if (!place)
        place = places.find((before = operand)->get());
      if (place)
        pins.gathered.push_back(
            {before, port, viewed(before->get(), *place, pins.length)});
    }
  for (Value gradient : places.followGradients())
    if (Value value = afterSums(gradient); places.find(value))
      pins.gradients.push_back(viewed(value, *places.find(value), pins.length));
  return pins;
}

SmallVector<int64_t> tp::balancedSegments(int64_t length, int64_t ranks) {
  // Of k segments the last rank sees (n - 1) / k / n more keys than the mean:
  // with 16 at most a sixteenth.
  constexpr int64_t mostSegments = 16;
  int64_t size = ranks * std::max<int64_t>(1, length / (ranks * mostSegments));
  SmallVector<int64_t> segments;
  for (; length >= 2 * size; length -= size)
    segments.push_back(size);
  segments.push_back(length);
  return segments.size() > 1 ? segments : SmallVector<int64_t>();
}

//===----------------------------------------------------------------------===//
// Pins
//===----------------------------------------------------------------------===//

FailureOr<Value> Binder::pinInside(Item &item, Value value, StringRef port,
                                   ArrayRef<int64_t> view,
                                   const Placement &placement) {
  OpBuilder builder(plan.getContext());
  builder.setInsertionPointAfterValue(value);
  StringRef module =
      value.getDefiningOp()
          ? ModuleIndex::owner(value.getDefiningOp()).value_or(StringRef())
          : StringRef();
  auto pinned = ConstrainOp::create(
      builder, item.entry.getLoc(), value.getType(), value, mesh,
      plan.getAxis(), PlacementAttr::get(plan.getContext(), placement), view,
      module, port, /*lazy=*/false, /*dims=*/DenseI64ArrayAttr());
  if (failed(verify(pinned)))
    return failure();
  index.addPin(pinned);
  Binding &binding = bindings[item.binding];
  binding.status = BindingStatus::Bound;
  while (auto inner = value.getDefiningOp<ConstrainOp>())
    value = inner.getSource();
  StringRef node = value.getDefiningOp() ? nodeOf(value.getLoc()) : StringRef();
  binding.values.push_back(
      {port.str(), node.str(), llvm::to_vector(view), placement});
  return pinned.getResult();
}

LogicalResult Binder::bindContext(Item &item) {
  ParallelizeOp entry = item.entry;
  auto dim = entry.getOptions().getAs<IntegerAttr>(sequenceDimOption);
  int64_t sequenceDim = dim ? dim.getInt() : 1;
  if (sequenceDim < 0)
    return entry.emitError()
           << "'" << sequenceDimOption << "' of style " << entry.getStyle()
           << " counts the dimensions of the model's inputs, expected 0 or "
              "more, got "
           << sequenceDim;
  std::vector<ParameterUse> all =
      parameterUses(function, /*throughSelections=*/true);
  ContextPins found = contextPins(function, sequenceDim, all);
  if (found.inputs.empty()) {
    // Of several entries one may be for the next token.
    if (namedEntries)
      return success();
    return entry.emitError()
           << "style " << entry.getStyle()
           << " found no sequence: expected an input of the model with more "
              "than one position along dimension "
           << sequenceDim << " ('" << sequenceDimOption
           << "'), which linear layers or lookups read";
  }
  auto isOurs = [&](Operation *op) {
    return item.module.empty() || ModuleIndex::belongsTo(op, item.module);
  };
  llvm::erase_if(found.gathered, [&](const GatheredValue &each) {
    return !isOurs(each.operand->getOwner());
  });
  if (found.gathered.empty())
    return entry.emitError()
           << "style " << entry.getStyle() << " found no attention over the "
           << found.length << " positions of '"
           << argumentNames.name(found.inputs.front()) << "'"
           << (item.module.empty() ? "" : " in '" + item.module.str() + "'")
           << ": expected a product of queries and keys, and one of their "
              "weights and values";

  auto rotation = entry.getOptions().getAs<StringAttr>(rotateOption);
  bool isRing = rotation && rotation == rotateInRing;
  ConstrainOp travelling;
  function.walk([&](ConstrainOp pin) {
    if (pin->hasAttr(attr::ring) && pin.getAxis() != plan.getAxis())
      travelling = pin;
  });
  if (isRing && travelling) {
    InFlightDiagnostic error =
        entry.emitError() << "'" << rotateOption << "' = \"" << rotateInRing
                          << "\" of style " << entry.getStyle()
                          << " is for one axis, and keys and values travel "
                             "along axis '"
                          << travelling.getAxis() << "' already: write \""
                          << rotateByGather << "\"";
    error.attachNote(travelling.getLoc()) << "they do by this entry";
    return error;
  }

  Placement shard = Placement::shard(sequenceDim);
  auto balances = entry.getOptions().getAs<BoolAttr>(loadBalanceOption);
  for (const MeshAxis &axis : mesh.getValue().axes) {
    if (axis.name != plan.getAxis() || !balances || !balances.getValue())
      continue;
    auto segments = balancedSegments(found.length, axis.size);
    shard.segments.assign(segments.begin(), segments.end());
  }
  auto shardOf = [&](unsigned dim) {
    Placement placement = shard;
    placement.dim = dim;
    return placement;
  };
  for (unsigned input : found.inputs) {
    std::string name = argumentNames.name(input).str();
    if (!item.module.empty())
      continue;
    if (failed(pinPort(argumentPins, input, "argument '" + name + "'",
                       shardOf(sequenceDim), entry)))
      return failure();
    auto type = cast<RankedTensorType>(function.getArgument(input).getType());
    bindings[item.binding].values.push_back({"argument", name,
                                             llvm::to_vector(type.getShape()),
                                             shardOf(sequenceDim)});
  }
  // What all its readers read is a shard from here on.
  auto pinAll = [&](const SequenceValue &each, StringRef port) {
    SmallVector<OpOperand *> readers;
    for (OpOperand &operand : each.value.getUses())
      readers.push_back(&operand);
    FailureOr<Value> pinned =
        pinInside(item, each.value, port, each.view, shardOf(each.dim));
    if (succeeded(pinned))
      for (OpOperand *reader : readers)
        reader->set(*pinned);
    return LogicalResult(pinned);
  };
  for (const SequenceValue &each : found.values) {
    if (!isOurs(each.value.getDefiningOp()))
      continue;
    if (failed(pinAll(each, "output")))
      return failure();
  }
  for (const GatheredValue &each : found.gathered) {
    SmallVector<OpOperand *> backward;
    for (OpOperand &use : each.operand->get().getUses())
      if (isForBackward(use.getOwner()))
        backward.push_back(&use);
    Value pinned = pinInside(item, each.operand->get(), each.port,
                             each.sharded.view, shardOf(each.sharded.dim))
                       .value_or(Value());
    if (!pinned)
      return failure();
    // What comes as a shard is no reason for a collective.
    pinned.getDefiningOp()->setAttr(attr::expected,
                                    UnitAttr::get(pinned.getContext()));
    pinned = pinInside(item, pinned, each.port, each.sharded.view,
                       Placement::replicate())
                 .value_or(Value());
    if (!pinned)
      return failure();
    if (isRing)
      pinned.getDefiningOp()->setAttr(attr::ring,
                                      UnitAttr::get(pinned.getContext()));
    for (OpOperand *reader : backward)
      reader->set(pinned);
    each.operand->set(pinned);
  }
  for (const SequenceValue &each : found.gradients) {
    if (!isRing || !isOurs(each.value.getDefiningOp()))
      continue;
    if (failed(pinAll(each, "gradient")))
      return failure();
  }
  return success();
}
