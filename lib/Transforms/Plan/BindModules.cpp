//===- BindModules.cpp - styles that lay out what crosses a boundary ------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Binder.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace tp;

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
  if (item.style->kind == StyleKind::LocalParams)
    return bindLocalParameters(item);
  if (item.style->kind == StyleKind::ContextParallel)
    return bindContext(item);
  if (item.style->kind == StyleKind::IdentityExpert) {
    std::string own = argumentsOf(item.module);
    if (own.empty())
      return success();
    return item.entry.emitError()
           << "style " << item.entry.getStyle()
           << " is for modules that return what they take, module '"
           << item.module << "' has parameters: " << own;
  }
  if (item.style->kind == StyleKind::ExpertParallel &&
      failed(bindExperts(item)))
    return failure();
  if (!index.holdsOp(item.module) && !soleUse(item))
    return success();
  Layouts input, output;
  switch (item.style->kind) {
  case StyleKind::ExpertParallel:
    input.inner = layoutOption(item.entry, "input_layouts");
    input.bringsInput = true;
    output.outer = layoutOption(item.entry, "output_layouts");
    output.isExplicit = output.outer.has_value();
    if (!item.entry.getOptions().get("output_layouts")) {
      output.outer = Placement::replicate();
      output.lazy = true;
    }
    return failure(failed(bindInput(item, 0, input)) ||
                   failed(bindOutput(item, 0, output)));
  case StyleKind::SequenceParallel: {
    auto option = item.entry.getOptions().getAs<IntegerAttr>("sequence_dim");
    Placement placement = Placement::shard(option ? option.getInt() : 1);
    input.inner = placement;
    input.bringsInput = true;
    output.outer = placement;
    return failure(failed(bindInput(item, 0, input)) ||
                   failed(bindOutput(item, 0, output)));
  }
  case StyleKind::AllReduce:
    output.outer = Placement::replicate();
    output.lazy = true;
    return bindOutput(item, 0, output);
  case StyleKind::PrepareModuleInput:
  case StyleKind::PrepareModuleOutput:
  case StyleKind::PrepareModuleInputOutput:
    return bindPrepared(item);
  // Bound above.
  case StyleKind::LocalParams:
  case StyleKind::ContextParallel:
  case StyleKind::IdentityExpert:
  // Bound by bindParameters.
  case StyleKind::Colwise:
  case StyleKind::Rowwise:
  case StyleKind::Replicate:
  case StyleKind::ExpertWeights:
  // Replaced by entries of other styles.
  case StyleKind::Pairwise:
  case StyleKind::PairwiseSequence:
  case StyleKind::Transformer:
  case StyleKind::DataParallel:
    break;
  }
  llvm_unreachable("the style binds no boundary of a module");
}

LogicalResult Binder::bindPrepared(Item &item) {
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
