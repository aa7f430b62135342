//===- Binder.cpp - one plan's entries become pins ------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Binder.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Verifier.h"
#include "tp/IR/CauseAttributes.h"

using namespace mlir;
using namespace tp;

Binder::Binder(func::FuncOp function, const ModuleTree &tree,
               ModuleIndex &index, EntryUses &entryUses, PlanOp plan,
               MeshAttr mesh, std::vector<Binding> &bindings)
    : function(function), tree(tree), index(index), entryUses(entryUses),
      argumentNames(function, PortSide::Argument),
      resultNames(function, PortSide::Result), plan(plan), mesh(mesh),
      bindings(bindings), ports(function, tree, index) {
  // A plan that names ports only asks for no uses.
  if (plan.getBody().getOps<ParallelizeOp>().empty() && !plan.getIsAuto())
    return;
  uses = parameterUses(function);
  for (ParameterUse &use : uses) {
    if (use.stackedDim) {
      if (!use.isPartOfWeight)
        stackedUses.insert({use.parameter, &use});
      continue;
    }
    usesOf[use.parameter].push_back(&use);
    if (std::optional<StringRef> module = ModuleIndex::owner(use.op))
      usesIn[*module].push_back(&use);
  }
}

LogicalResult Binder::bind(ArgumentOp whatIf) {
  if (failed(expandPairwise()) || failed(collect()) || failed(bindPorts()))
    return failure();
  SmallVector<Item *> order;
  for (Item &item : items)
    order.push_back(&item);
  std::stable_sort(order.begin(), order.end(), [](Item *left, Item *right) {
    auto rank = [](Item *item) {
      return bindsParameters(item->style->kind)
                 ? std::numeric_limits<size_t>::max()
                 : item->module.count('.') + !item->module.empty();
    };
    return rank(left) > rank(right);
  });
  for (Item *item : order)
    if (failed(bindsParameters(item->style->kind) ? bindParameters(*item)
                                                  : bindBoundary(*item)))
      return failure();
  if (failed(refuseWithoutEffect()) || failed(checkAgreement()) ||
      (whatIf && failed(pinWhatIf(whatIf))) || failed(fullyShard()) ||
      failed(recompute()))
    return failure();
  if (plan.getIsAuto())
    freeParameters();
  pinStates();

  // Every argument says what it is on this axis.
  StringAttr axis = plan.getAxisAttr();
  auto addPin = [&](Attribute old, Attribute pin) {
    NamedAttrList list(old ? cast<DictionaryAttr>(old)
                           : DictionaryAttr::get(plan.getContext()));
    list.set(axis, pin);
    return list.getDictionary(plan.getContext());
  };
  auto pinOf = [&](const llvm::MapVector<unsigned, PortPin> &pins,
                   const llvm::DenseMap<unsigned, FreePort> &free,
                   unsigned number) -> Attribute {
    if (auto it = free.find(number); it != free.end())
      return StringAttr::get(plan.getContext(), toString(it->second));
    const auto *it = pins.find(number);
    return it == pins.end()
               ? Attribute()
               : PlacementAttr::get(plan.getContext(), it->second.placement);
  };
  // All at once: the attributes of all ports are one list.
  SmallVector<Attribute> ofArguments, ofResults;
  auto addPort = [&](SmallVector<Attribute> &ports, DictionaryAttr old,
                     Attribute pin) {
    NamedAttrList attributes(old);
    if (pin)
      attributes.set(attr::pin, addPin(attributes.get(attr::pin), pin));
    ports.push_back(attributes.getDictionary(plan.getContext()));
  };
  for (BlockArgument argument : function.getArguments()) {
    unsigned number = argument.getArgNumber();
    Attribute pin;
    if (isa<RankedTensorType>(argument.getType())) {
      pin = pinOf(argumentPins, freeArguments, number);
      if (!pin)
        pin = PlacementAttr::get(plan.getContext(), Placement::replicate());
    }
    addPort(ofArguments, function.getArgAttrDict(number), pin);
  }
  for (unsigned number = 0; number < function.getNumResults(); ++number)
    addPort(ofResults, function.getResultAttrDict(number),
            pinOf(resultPins, freeResults, number));
  function.setAllArgAttrs(ofArguments);
  function.setAllResultAttrs(ofResults);
  return success();
}

LogicalResult Binder::refuse(Operation *entry) {
  if (auto style = dyn_cast<ParallelizeOp>(entry))
    return refuseUnknown(style, style.getPattern());
  if (auto shard = dyn_cast<FullyShardOp>(entry))
    return refuseShard(shard);
  if (auto recomputed = dyn_cast<RecomputeOp>(entry))
    return refuseRecompute(recomputed);
  auto argument = dyn_cast<ArgumentOp>(entry);
  return argument ? portsOf(entry, argument.getPort(), "argument",
                            function.getNumArguments(), argumentNames)
                  : portsOf(entry, cast<ResultOp>(entry).getPort(), "result",
                            function.getNumResults(), resultNames);
}

LogicalResult Binder::refuseUnknown(Operation *entry, StringRef pattern) {
  InFlightDiagnostic diag = entry->emitError()
                            << "no module or parameter matches '" << pattern
                            << "'";
  SmallVector<StringRef> parameters;
  for (unsigned i = 0, e = function.getNumArguments(); i != e; ++i)
    if (argumentNames.kind(i) == "parameter")
      parameters.push_back(argumentNames.name(i));
  if (!tree.namesAny())
    diag.attachNote(function.getLoc())
        << "the model names no modules: it has no '" << attr::modules
        << "', no location of a module, and no parameter with a dot in its "
           "name"
        << (parameters.empty() ? "; no argument is a parameter, as those that "
                                 "tp.export_jax takes as 'parameters=' are"
                               : "");
  if (argumentNamed(pattern))
    diag.attachNote() << "it is an argument: pin it by tp.argument \""
                      << pattern << "\", in Python by 'argument " << pattern
                      << "'";
  SmallVector<Suggestion> suggestions = tree.nearest(pattern, parameters);
  for (const Suggestion &each : suggestions)
    diag.attachNote() << "did you mean '" << each.name << "'? (" << each.matches
                      << (each.matches == 1 ? " match)" : " matches)");
  if (!suggestions.empty() || argumentNamed(pattern))
    return diag;
  std::string near =
      nearest(argumentNames, function.getNumArguments(), pattern);
  if (!near.empty())
    diag.attachNote() << "did you mean the argument '" << near
                      << "'? pin it by tp.argument \"" << near
                      << "\", in Python by 'argument " << near << "'";
  return diag;
}

LogicalResult Binder::collect() {
  llvm::StringMap<size_t> parameterItems;
  llvm::DenseMap<StringRef, SmallVector<size_t, 2>> itemsOf;
  std::vector<bool> overridden;
  for (auto entry : plan.getBody().getOps<ParallelizeOp>()) {
    const StyleName *style = lookupStyle(entry.getStyle());
    SmallVector<StringRef> modules = tree.match(entry.getPattern());
    // A model without module names is one of its own.
    if (style->kind == StyleKind::ContextParallel && entry.getPattern().empty())
      modules = {StringRef()};
    SmallVector<unsigned> parameters;
    if (modules.empty())
      parameters = parametersNamed(entry.getPattern());
    for (unsigned number : parameters)
      modules.push_back(argumentNames.name(number));
    if (modules.empty() && namedEntries)
      continue;
    if (modules.empty())
      return refuseUnknown(entry, entry.getPattern());
    if (namedEntries)
      namedEntries->insert(entry);
    if (!parameters.empty() &&
        failed(verifyOfParameter(entry, parameters.front())))
      return failure();
    auto overrides = entry.getOptions().getAs<BoolAttr>("override");
    for (auto [position, module] : llvm::enumerate(modules)) {
      Binding binding;
      binding.entry = entry;
      binding.axis = plan.getAxis().str();
      binding.pattern = entry.getPattern().str();
      binding.module = module.str();
      binding.style = entry.getStyle().str();
      if (overrides && overrides.getValue())
        for (size_t i : itemsOf.lookup(module))
          if (bindsParameters(items[i].style->kind) ==
              bindsParameters(style->kind)) {
            overridden[i] = true;
            parameterItems.erase(module);
          }
      if (bindsParameters(style->kind)) {
        auto [it, isNew] = parameterItems.try_emplace(module, items.size());
        if (!isNew) {
          InFlightDiagnostic diag = entry.emitError()
                                    << (parameters.empty() ? "module '" : "'")
                                    << module << "' has two parameter styles, "
                                    << items[it->second].entry.getStyle()
                                    << " and " << entry.getStyle();
          diag.attachNote(items[it->second].entry.getLoc())
              << "the other is here; 'override = true' lets the later one win";
          return diag;
        }
      }
      itemsOf[module].push_back(items.size());
      items.push_back({entry, style, module, bindings.size(),
                       parameters.empty()
                           ? std::nullopt
                           : std::optional(parameters[position])});
      overridden.push_back(false);
      bindings.push_back(std::move(binding));
    }
  }
  SmallVector<Item> kept;
  for (auto [i, item] : llvm::enumerate(items)) {
    if (overridden[i])
      bindings[item.binding].status = BindingStatus::Overridden;
    else
      kept.push_back(item);
  }
  items = std::move(kept);
  return success();
}

//===----------------------------------------------------------------------===//
// Pins
//===----------------------------------------------------------------------===//

FailureOr<Placement> Binder::resolve(Operation *entry,
                                     const Placement &placement,
                                     const PortView &view, StringRef what) {
  if (!placement.isShard())
    return placement;
  int64_t rank = view.shape.size();
  Placement result = placement;
  if (result.dim < 0)
    result.dim += rank;
  if (result.dim < 0 || result.dim >= rank)
    return entry->emitError()
           << toString(placement) << " needs that dimension, " << what
           << " has shape [" << ArrayRef(view.shape) << "]";
  int64_t size = view.shape[result.dim];
  int64_t total = 0;
  for (int64_t segment : result.segments)
    total += segment;
  if (total && total != size)
    return entry->emitError() << "the segments of " << toString(placement)
                              << " add up to " << total << ", dimension "
                              << result.dim << " of " << what << " is " << size;
  return result;
}

std::optional<Placement>
Binder::layoutOption(ParallelizeOp entry, StringRef option, unsigned index) {
  Attribute value = entry.getOptions().get(option);
  if (auto list = dyn_cast_or_null<ArrayAttr>(value))
    value = index < list.size() ? list[index] : Attribute();
  else if (index != 0)
    return std::nullopt;
  auto placement = dyn_cast_or_null<PlacementAttr>(value);
  return placement ? std::optional(placement.getValue()) : std::nullopt;
}

unsigned Binder::layoutCount(ParallelizeOp entry, StringRef option) {
  Attribute value = entry.getOptions().get(option);
  if (auto list = dyn_cast_or_null<ArrayAttr>(value))
    return list.size();
  return value ? 1 : 0;
}

LogicalResult Binder::claimSide(Item &item, StringRef port, bool isOuter,
                                const Placement &placement) {
  if (bindsParameters(item.style->kind))
    return success();
  std::string key =
      (item.module + ":" + port + (isOuter ? ":outer" : ":inner")).str();
  auto [it, isNew] = sides.try_emplace(key, PortPin{placement, item.entry});
  if (isNew || it->second.placement == placement ||
      it->second.entry == item.entry.getOperation())
    return success();
  InFlightDiagnostic diag = item.entry.emitError()
                            << "the " << port << " of module '" << item.module
                            << "' is pinned to " << toString(placement)
                            << " and to " << toString(it->second.placement);
  diag.attachNote(it->second.entry->getLoc()) << "the other pin is here";
  return diag;
}

FailureOr<Value> Binder::pin(Item &item, Value value, const PortView &view,
                             const Placement &placement, StringRef port,
                             bool isOuter, const Layouts &layouts) {
  std::string what = ("the " + port + " of module '" + item.module + "'").str();
  FailureOr<Placement> resolved = resolve(item.entry, placement, view, what);
  if (failed(resolved) || failed(claimSide(item, port, isOuter, *resolved)))
    return failure();
  OpBuilder builder(plan.getContext());
  builder.setInsertionPointAfterValue(value);
  auto pinned = ConstrainOp::create(
      builder, item.entry.getLoc(), value.getType(), value, mesh,
      plan.getAxis(), PlacementAttr::get(plan.getContext(), *resolved),
      view.shape, item.module, port,
      isOuter && layouts.lazy && resolved->isReplicate(),
      /*dims=*/DenseI64ArrayAttr());
  if (failed(verify(pinned)))
    return failure();
  index.addPin(pinned);
  // A style changes an input from the layout outside to the one inside, an
  // output from the one inside to the one outside. The other two say what it
  // expects; so does the layout inside where the one outside is not stated.
  bool isInput = port.starts_with("input");
  if (isInput ? isOuter || !(layouts.outer || layouts.bringsInput) : !isOuter)
    pinned->setAttr(attr::expected, builder.getUnitAttr());
  if (isOuter && layouts.isExplicit)
    explicitPins.insert({pinned, item.entry});
  Value source = value;
  while (auto inner = source.getDefiningOp<ConstrainOp>())
    source = inner.getSource();
  std::string loc;
  if (auto argument = dyn_cast<BlockArgument>(source)) {
    if (auto name = function.getArgAttrOfType<StringAttr>(
            argument.getArgNumber(), attr::name))
      loc = name.getValue();
  } else {
    loc = nodeOf(source.getLoc());
  }
  Binding &binding = bindings[item.binding];
  binding.status = BindingStatus::Bound;
  // Between the layout a value comes in and the one it goes on in.
  bool comesIn = port.starts_with("input") == isOuter;
  binding.values.push_back(
      {(port + (comesIn ? " from" : "")).str(), loc, view.shape, *resolved});
  return pinned.getResult();
}

LogicalResult Binder::pinBoundary(Item &item, Value value,
                                  ArrayRef<OpOperand *> uses,
                                  const PortView &view, StringRef port,
                                  const Layouts &layouts) {
  // A value meets an input's boundary from outside, an output's from inside.
  std::pair<std::optional<Placement>, bool> sides[] = {
      std::pair(layouts.outer, true), std::pair(layouts.inner, false)};
  if (!port.starts_with("input"))
    std::swap(sides[0], sides[1]);
  for (auto [placement, isOuter] : sides) {
    if (!placement)
      continue;
    FailureOr<Value> pinned =
        pin(item, value, view, *placement, port, isOuter, layouts);
    if (failed(pinned))
      return failure();
    value = *pinned;
  }
  for (OpOperand *use : uses)
    use->set(value);
  return success();
}

LogicalResult Binder::checkAgreement() {
  for (const auto &[op, entry] : explicitPins) {
    auto pinned = cast<ConstrainOp>(op);
    if (!pinned.getPort().starts_with("input"))
      continue;
    Value value = pinned.getSource();
    while (Operation *def = value.getDefiningOp()) {
      auto other = dyn_cast<ConstrainOp>(def);
      if (other && other.getAxis() == pinned.getAxis()) {
        auto it = explicitPins.find(def);
        bool outside = other.getPort().starts_with("output");
        if (it == explicitPins.end() || !outside ||
            other.getView() != pinned.getView() ||
            other.getPlacement() == pinned.getPlacement())
          break;
        InFlightDiagnostic diag =
            entry->emitError()
            << "the " << pinned.getPort() << " of module '"
            << pinned.getModule() << "' is pinned to "
            << toString(pinned.getPlacement().getValue()) << ", but it is the "
            << other.getPort() << " of module '" << other.getModule()
            << "', pinned to " << toString(other.getPlacement().getValue());
        diag.attachNote(it->second->getLoc()) << "the other pin is here";
        return diag;
      }
      Value source = viewSource(def);
      if (!source)
        break;
      value = source;
    }
  }
  return success();
}
