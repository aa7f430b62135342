//===- BindModules.cpp - what each style asks of a module -----------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Binder.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace tp;

static std::string memberOf(StringRef module, StringRef member) {
  return module.empty() ? member.str() : (module + "." + member).str();
}

//===----------------------------------------------------------------------===//
// Styles with parameters
//===----------------------------------------------------------------------===//

BlockArgument Binder::memberNamed(StringRef module,
                                  ArrayRef<StringLiteral> names) {
  for (StringRef name : names)
    if (BlockArgument found = argumentNamed(memberOf(module, name)))
      return found;
  return {};
}

FailureOr<SmallVector<ParameterUse *>> Binder::ownUses(Item &item,
                                                       BlockArgument weight) {
  SmallVector<ParameterUse *> ofWeight, located;
  if (weight)
    llvm::append_range(ofWeight, usesOf.lookup(weight));
  if (weight && !weight.use_empty())
    llvm::copy_if(ofWeight, std::back_inserter(located),
                  [&](ParameterUse *use) {
                    return ModuleIndex::owner(use->op) == item.module;
                  });
  else
    // A dead weight: the module reads the one it is tied to.
    llvm::append_range(located, usesIn.lookup(item.module));
  if (!located.empty())
    return located;
  if (ofWeight.size() <= 1)
    return ofWeight;
  InFlightDiagnostic diag = item.entry.emitError()
                            << "the weight of module '" << item.module
                            << "' is read in " << ofWeight.size()
                            << " places, none of them in the module";
  for (ParameterUse *use : ofWeight)
    diag.attachNote(use->op->getLoc()) << "it is read here";
  return diag;
}

std::string Binder::argumentsOf(StringRef module) {
  SmallVector<std::string> found;
  for (unsigned i = 0, e = function.getNumArguments(); i != e; ++i) {
    StringRef name = argumentNames.name(i);
    if (argumentNames.kind(i) != "user_input" &&
        !argumentNames.isOptimizerState(i) && !name.empty() &&
        name == memberOf(module, name.rsplit('.').second))
      found.push_back(("'" + name + "'").str());
  }
  return llvm::join(found, ", ");
}

LogicalResult Binder::bindReplicate(Item &item) {
  bool isAnyDead = false;
  auto bindOne = [&](BlockArgument argument) {
    return pinParameter(item, "parameter", argument, Placement::replicate());
  };
  auto isParameter = [&](BlockArgument argument) {
    return argumentNames.kind(argument.getArgNumber()) == "parameter" &&
           isa<RankedTensorType>(argument.getType());
  };
  for (BlockArgument argument : function.getArguments()) {
    StringRef name = argumentNames.name(argument.getArgNumber());
    StringRef member = name.substr(name.rfind('.') + 1);
    if (!isParameter(argument) || memberOf(item.module, member) != name)
      continue;
    if (argument.use_empty())
      isAnyDead = true;
    else if (failed(bindOne(argument)))
      return failure();
  }
  const BindingStatus &status = bindings[item.binding].status;
  // Only dead ones: the module reads those it is tied to.
  if (status != BindingStatus::Bound)
    for (ParameterUse *use : usesIn.lookup(item.module))
      if (isParameter(use->parameter) && failed(bindOne(use->parameter)))
        return failure();
  if (status == BindingStatus::Bound)
    return success();
  if (isAnyDead) {
    item.entry.emitWarning()
        << "nothing reads the parameters of module '" << item.module
        << "', the entry has no effect on it";
    return success();
  }
  if (!index.holdsOp(item.module))
    return success();
  return item.entry.emitError()
         << "module '" << item.module
         << "' has no parameters of its own, style " << item.entry.getStyle()
         << " is for modules with parameters";
}

LogicalResult Binder::refuseStacked(Item &item, const ParameterUse &use) {
  bool colwise = item.style->kind == StyleKind::Colwise;
  StringRef name = argumentNames.name(use.parameter.getArgNumber());
  InFlightDiagnostic diag = item.entry.emitError()
                            << "'" << name
                            << "' is stacked over layers, style "
                            << item.entry.getStyle()
                            << " is for the weight of one module";
  for (auto [dim, contracted] : llvm::enumerate(use.contracted))
    if (contracted != colwise && dim != *use.stackedDim) {
      diag << ": write 'tp.argument \"" << name << "\" shard<" << dim
           << ">' instead, in Python {'argument " << name << "': tp.Shard("
           << dim << ")}";
      break;
    }
  return diag;
}

LogicalResult Binder::bindParameters(Item &item) {
  if (item.style->kind == StyleKind::Replicate)
    return bindReplicate(item);
  BlockArgument weight = memberNamed(item.module, weightNames);
  FailureOr<SmallVector<ParameterUse *>> own = ownUses(item, weight);
  if (failed(own))
    return failure();
  if (own->empty()) {
    if (ParameterUse *stacked = stackedUses.lookup(weight))
      return refuseStacked(item, *stacked);
    if (weight && weight.use_empty()) {
      item.entry.emitWarning()
          << "nothing reads '" << argumentNames.name(weight.getArgNumber())
          << "', the entry has no effect on module '" << item.module << "'";
      return success();
    }
    std::string others = argumentsOf(item.module);
    if (!weight && !index.holdsOp(item.module)) {
      if (!others.empty() && withoutWeight.insert(item.entry).second)
        item.entry.emitWarning()
            << "module '" << item.module << "' has no '"
            << memberOf(item.module, "weight")
            << "', the entry has no effect on it; its arguments are " << others;
      return success();
    }
    InFlightDiagnostic diag = item.entry.emitError();
    if (weight)
      diag << "no contraction and no lookup reads '"
           << argumentNames.name(weight.getArgNumber()) << "'";
    else
      diag << "module '" << item.module << "' has no weight"
           << (others.empty() ? "" : " (its arguments are " + others + ")");
    diag << ", style " << item.entry.getStyle()
         << " is for Linear, Conv1D and Embedding";
    return diag;
  }
  for (ParameterUse *use : *own)
    if (failed(bindUse(item, *use)))
      return failure();
  return success();
}

LogicalResult Binder::pinParameter(Item &item, StringRef port,
                                   BlockArgument argument,
                                   const Placement &placement) {
  unsigned number = argument.getArgNumber();
  auto name = function.getArgAttrOfType<StringAttr>(number, attr::name);
  auto shape = cast<RankedTensorType>(argument.getType()).getShape();
  Binding &binding = bindings[item.binding];
  binding.status = BindingStatus::Bound;
  BoundValue bound{port.str(), name ? name.getValue().str() : "",
                   llvm::to_vector(shape), placement};
  if (llvm::none_of(binding.values, [&](const BoundValue &value) {
        return value.port == bound.port && value.loc == bound.loc;
      }))
    binding.values.push_back(bound);
  return pinPort(argumentPins, number, ("parameter '" + bound.loc + "'"),
                 placement, item.entry);
}

LogicalResult Binder::pinParameters(Item &item, const ParameterUse &use) {
  bool colwise = item.style->kind == StyleKind::Colwise;
  std::optional<unsigned> dim;
  for (auto [i, contracted] : llvm::enumerate(use.contracted))
    if (contracted != colwise && !dim)
      dim = i;
  if (!dim)
    return item.entry.emitError() << "the weight of module '" << item.module
                                  << "' has no dimension that style "
                                  << item.entry.getStyle() << " shards";
  Placement placement = Placement::shard(*dim);
  if (failed(pinParameter(item, "weight", use.parameter, placement)))
    return failure();
  BlockArgument bias = memberNamed(item.module, biasNames);
  if (!bias || use.isGather)
    return success();
  if (!use.bias && !bias.use_empty()) {
    InFlightDiagnostic diag = item.entry.emitError()
                              << "found no sum of the result of module '"
                              << item.module
                              << "' and its bias: add the bias before anything "
                                 "else, as in x + (h @ weight + bias)";
    diag.attachNote(use.op->getLoc()) << "the result is made here";
    return diag;
  }
  if (bias.use_empty())
    return success();
  return pinParameter(item, "bias", bias,
                      colwise ? Placement::shard(0) : Placement::replicate());
}

LogicalResult Binder::bindUse(Item &item, ParameterUse &use) {
  if (!use.problem.empty()) {
    InFlightDiagnostic diag = item.entry.emitError()
                              << "cannot see the boundary of module '"
                              << item.module << "': " << use.problem;
    diag.attachNote(use.op->getLoc()) << "it is computed here";
    return diag;
  }
  if (failed(pinParameters(item, use)))
    return failure();
  bool colwise = item.style->kind == StyleKind::Colwise;
  bool whole = colwise || use.isGather;

  Layouts input;
  input.inner = whole ? Placement::replicate() : Placement::shard(-1);
  input.isExplicit = true;
  if (item.entry.getOptions().get("input_layouts"))
    input.outer = layoutOption(item.entry, "input_layouts");
  else if (item.style->replicatedInput)
    input.outer = Placement::replicate();
  if (use.input && failed(pinBoundary(item, use.input->get(), {use.input},
                                      use.inputView, "input", input)))
    return failure();

  Layouts output;
  if (item.entry.getOptions().get("output_layouts")) {
    output.outer = layoutOption(item.entry, "output_layouts");
    output.isExplicit = true;
  } else if (colwise && !item.style->replicatedOutput) {
    output.outer = Placement::shard(-1);
  } else {
    output.outer = Placement::replicate();
    output.lazy = !colwise;
  }
  SmallVector<OpOperand *> outside;
  for (OpOperand &operand : use.output.getUses())
    outside.push_back(&operand);
  return pinBoundary(item, use.output, outside, use.outputView, "output",
                     output);
}

//===----------------------------------------------------------------------===//
// Styles without parameters
//===----------------------------------------------------------------------===//

ParameterUse *Binder::soleUse(Item &item) {
  BlockArgument weight = memberNamed(item.module, weightNames);
  if (!weight)
    return nullptr;
  ParameterUse *found = nullptr;
  for (ParameterUse *use : usesOf.lookup(weight)) {
    if (!use->problem.empty())
      continue;
    if (found)
      return nullptr;
    found = use;
  }
  return found;
}

static std::string portName(StringRef what, unsigned number) {
  return number == 0 ? what.str() : (what + " " + Twine(number)).str();
}

LogicalResult Binder::bindInput(Item &item, unsigned number,
                                const Layouts &layouts) {
  if (!layouts.outer && !layouts.inner)
    return success();
  std::string port = portName("input", number);
  if (ParameterUse *use = soleUse(item); use && use->input && number == 0) {
    // In front of the pins of the module's own style.
    OpOperand *operand = use->input;
    while (auto inner = operand->get().getDefiningOp<ConstrainOp>()) {
      if (inner.getModule() != item.module)
        break;
      operand = &inner.getSourceMutable();
    }
    return pinBoundary(item, operand->get(), {operand}, use->inputView, port,
                       layouts);
  }
  auto isReplicate = [](const std::optional<Placement> &placement) {
    return !placement || placement->isReplicate();
  };
  // What is computed from a replicated value is replicated.
  if (isReplicate(layouts.outer) && isReplicate(layouts.inner))
    if (SmallVector<Port> shared = ports.sharedInput(item.module, number);
        !shared.empty()) {
      for (const Port &one : shared)
        if (failed(pinBoundary(item, one.value, one.uses, one.view, port,
                               layouts)))
          return failure();
      return success();
    }
  FailureOr<Port> found = ports.input(item.module, number, item.entry);
  if (failed(found))
    return failure();
  return pinBoundary(item, found->value, found->uses, found->view, port,
                     layouts);
}

LogicalResult Binder::bindOutput(Item &item, unsigned number,
                                 const Layouts &layouts) {
  if (!layouts.outer && !layouts.inner)
    return success();
  std::string port = portName("output", number);
  if (ParameterUse *use = soleUse(item); use && number == 0) {
    Value value = use->output;
    while (value.hasOneUse()) {
      auto inner = dyn_cast<ConstrainOp>(*value.user_begin());
      if (!inner || inner.getModule() != item.module)
        break;
      value = inner.getResult();
    }
    SmallVector<OpOperand *> outside;
    for (OpOperand &operand : value.getUses())
      outside.push_back(&operand);
    return pinBoundary(item, value, outside, use->outputView, port, layouts);
  }
  FailureOr<Port> found = ports.output(item.module, number, item.entry);
  if (failed(found))
    return failure();
  return pinBoundary(item, found->value, found->uses, found->view, port,
                     layouts);
}

LogicalResult Binder::bindKeywords(Item &item) {
  auto given =
      item.entry.getOptions().getAs<DictionaryAttr>("input_kwarg_layouts");
  if (!given)
    return success();
  auto desired = item.entry.getOptions().getAs<DictionaryAttr>(
      "desired_input_kwarg_layouts");
  const ModuleRow *row = tree.find(item.module);
  auto layout = [](Attribute value) -> std::optional<Placement> {
    auto placement = dyn_cast_or_null<PlacementAttr>(value);
    return placement ? std::optional(placement.getValue()) : std::nullopt;
  };
  for (NamedAttribute keyword : given) {
    StringRef name = keyword.getName().getValue();
    const auto *it = llvm::find_if(row->arguments, [&](const CallValue &each) {
      return each.name == name;
    });
    if (it == row->arguments.end()) {
      InFlightDiagnostic diag = item.entry.emitError()
                                << "module '" << item.module
                                << "' has no input named '" << name << "'";
      if (llvm::all_of(row->arguments,
                       [](const CallValue &each) { return each.name.empty(); }))
        diag.attachNote() << "the module table gives no names of its inputs: "
                             "write their positions in input_layouts, or "
                             "input_layouts in the entries of modules inside "
                             "of it";
      return diag;
    }
    Layouts layouts;
    layouts.outer = layout(keyword.getValue());
    layouts.inner = desired ? layout(desired.get(name)) : std::nullopt;
    layouts.isExplicit = true;
    if (failed(bindInput(item, it - row->arguments.begin(), layouts)))
      return failure();
  }
  return success();
}

LogicalResult Binder::verifyLayoutCounts(Item &item) {
  const ModuleRow *row = tree.find(item.module);
  unsigned inputs = layoutCount(item.entry, "input_layouts");
  if (inputs != 0 && inputs < row->numPositional) {
    std::string names = llvm::join(
        llvm::map_range(ArrayRef(row->arguments).take_front(row->numPositional),
                        [](const CallValue &each) {
                          return ("'" + each.name + "'").str();
                        }),
        ", ");
    return item.entry.emitError()
           << "expected " << row->numPositional
           << " 'input_layouts', one for each positional input of module '"
           << item.module << "' (" << names << "), got " << inputs
           << ": write none for an input that stays as it is";
  }
  unsigned outputs = layoutCount(item.entry, "output_layouts");
  if (outputs != 0 && outputs < row->numResults)
    return item.entry.emitError()
           << "expected " << row->numResults
           << " 'output_layouts', one for each output of module '"
           << item.module << "', got " << outputs
           << ": write none for an output that stays as it is";
  return success();
}

LogicalResult Binder::bindBoundary(Item &item) {
  if (!index.holdsOp(item.module) && !soleUse(item))
    return success();
  if (item.style->kind == StyleKind::SequenceParallel) {
    auto option = item.entry.getOptions().getAs<IntegerAttr>("sequence_dim");
    Placement placement = Placement::shard(option ? option.getInt() : 1);
    Layouts input, output;
    input.inner = placement;
    input.bringsInput = true;
    output.outer = placement;
    return failure(failed(bindInput(item, 0, input)) ||
                   failed(bindOutput(item, 0, output)));
  }
  auto layoutsAt = [&](StringRef outer, StringRef inner, unsigned position) {
    Layouts layouts;
    layouts.outer = layoutOption(item.entry, outer, position);
    layouts.inner = layoutOption(item.entry, inner, position);
    layouts.isExplicit = true;
    return layouts;
  };
  if (failed(verifyLayoutCounts(item)))
    return failure();
  unsigned inputs = layoutCount(item.entry, "input_layouts");
  for (unsigned i = 0; i < inputs; ++i)
    if (failed(bindInput(
            item, i, layoutsAt("input_layouts", "desired_input_layouts", i))))
      return failure();
  if (failed(bindKeywords(item)))
    return failure();
  unsigned outputs = layoutCount(item.entry, "output_layouts");
  for (unsigned i = 0; i < outputs; ++i)
    if (failed(bindOutput(
            item, i, layoutsAt("desired_output_layouts", "output_layouts", i))))
      return failure();
  return success();
}
