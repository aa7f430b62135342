//===- BindParameters.cpp - styles that lay out parameters ----------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Binder.h"
#include "Parameters/ConvolvedWeights.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace tp;

static std::string memberOf(StringRef module, StringRef member) {
  return module.empty() ? member.str() : (module + "." + member).str();
}

BlockArgument Binder::memberNamed(StringRef module,
                                  ArrayRef<StringLiteral> names) {
  for (StringRef name : names)
    if (BlockArgument found = argumentNamed(memberOf(module, name)))
      return found;
  return {};
}

bool Binder::isOfTied(const ParameterUse &use, BlockArgument weight) {
  std::optional<StringRef> owner = ModuleIndex::owner(use.op);
  BlockArgument own =
      owner ? memberNamed(*owner, weightNames) : BlockArgument();
  return own && (own == weight || own.use_empty());
}

const ParameterUse *Binder::useInOtherPart(const Item &item,
                                           BlockArgument weight) {
  if (!weight)
    return nullptr;
  const ParameterUse *use = entryUses.inModule(
      function, argumentNames.name(weight.getArgNumber()), item.module);
  return use && use->parameter.getOwner() != &function.front() ? use : nullptr;
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
  if (useInOtherPart(item, weight))
    return SmallVector<ParameterUse *>();
  // The backward pass reads a weight too, in no module.
  if (llvm::count_if(ofWeight, [](ParameterUse *use) {
        return ModuleIndex::owner(use->op).has_value();
      }) == 1)
    llvm::erase_if(ofWeight, [](ParameterUse *use) {
      return !ModuleIndex::owner(use->op).has_value();
    });
  llvm::erase_if(ofWeight,
                 [&](ParameterUse *use) { return isOfTied(*use, weight); });
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

std::string tp::argumentEntry(StringRef name, unsigned dim) {
  return ("'tp.argument \"" + name + "\" shard<" + Twine(dim) + ">'").str();
}

bool Binder::shardsOutputs(const Item &item) {
  if (std::optional<ParameterSharding> sharding =
          parameterSharding(item.style->kind))
    switch (*sharding) {
    case ParameterSharding::Outputs:
      return true;
    case ParameterSharding::Inputs:
      return false;
    case ParameterSharding::Experts:
    case ParameterSharding::Nothing:
      break;
    }
  // Taken for rowwise it would be sharded along any dimension.
  llvm::reportFatalInternalError(
      "the style shards neither what a weight makes nor what it takes");
}

std::string Binder::entriesInstead(Item &item) {
  SmallVector<std::string> found;
  for (BlockArgument argument : function.getArguments()) {
    StringRef name = argumentNames.name(argument.getArgNumber());
    if (name != memberOf(item.module, name.rsplit('.').second))
      continue;
    for (const ParameterUse *use : entryUses.of(function, name))
      if (std::optional<unsigned> dim = shardedDim(*use, shardsOutputs(item))) {
        found.push_back(argumentEntry(name, *dim));
        break;
      }
  }
  if (found.empty())
    return "";
  return ": write an entry for each of its weights, as " +
         llvm::join(found, ", ");
}

LogicalResult Binder::refuseModule(Item &item) {
  if (item.style->kind == StyleKind::Replicate)
    return item.entry.emitError()
           << "module '" << item.module
           << "' has no parameters of its own, style " << item.entry.getStyle()
           << " is for modules with parameters";
  std::string others = argumentsOf(item.module);
  if (item.style->kind == StyleKind::LocalParams)
    return item.entry.emitError()
           << "style " << item.entry.getStyle()
           << " is for modules with parameters that other entries lay out, "
              "module '"
           << item.module << "' has none"
           << (others.empty() ? ""
                              : ": write an entry for one of " + others +
                                    ", such as colwise");
  return item.entry.emitError()
         << "module '" << item.module << "' has no weight"
         << (others.empty() ? "" : " (its arguments are " + others + ")")
         << ", style " << item.entry.getStyle()
         << " is for Linear, Conv1D and Embedding" << entriesInstead(item);
}

bool Binder::isDead(BlockArgument argument) const {
  return argument.use_empty() &&
         !(readByAny &&
           readByAny->contains(argumentNames.name(argument.getArgNumber())));
}

LogicalResult Binder::bindReplicate(Item &item) {
  bool isAnyUnread = false, isAnyDead = false;
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
    isAnyUnread |= argument.use_empty();
    isAnyDead |= isDead(argument);
    if (!argument.use_empty() && failed(bindOne(argument)))
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
  if (isAnyUnread)
    return success();
  if (index.holdsOp(item.module))
    return refuseModule(item);
  idle.push_back(&item);
  return success();
}

LogicalResult Binder::refuseStacked(Item &item, const ParameterUse &use) {
  bool colwise = shardsOutputs(item);
  StringRef name = argumentNames.name(use.parameter.getArgNumber());
  InFlightDiagnostic diag = item.entry.emitError()
                            << "'" << name << "' is stacked over layers, style "
                            << item.entry.getStyle()
                            << " is for the weight of one module";
  if (std::optional<unsigned> dim = shardedDim(use, colwise))
    diag << ": write " << argumentEntry(name, *dim) << " instead";
  return diag;
}

LogicalResult Binder::refuseConvolution(Item &item, StringRef weight,
                                        const ConvolvedChannels &channels) {
  InFlightDiagnostic diag =
      item.entry.emitError()
      << "'" << weight << "' is the weight of a convolution, style "
      << item.entry.getStyle()
      << " is for Linear, Embedding and transformers' Conv1D: write "
      << argumentEntry(weight, channels.dim);
  BlockArgument bias = memberNamed(item.module, biasNames);
  if (bias && channels.ofOutput)
    diag << " and "
         << argumentEntry(argumentNames.name(bias.getArgNumber()), 0);
  return diag;
}

LogicalResult Binder::bindParameters(Item &item) {
  if (item.parameter)
    return bindParameter(item, *item.parameter);
  switch (*parameterSharding(item.style->kind)) {
  case ParameterSharding::Nothing:
    return bindReplicate(item);
  case ParameterSharding::Experts:
    return bindExperts(item);
  case ParameterSharding::Outputs:
  case ParameterSharding::Inputs:
    return bindWeight(item);
  }
  llvm_unreachable("unknown sharding of parameters");
}

LogicalResult Binder::bindWeight(Item &item) {
  BlockArgument weight = memberNamed(item.module, weightNames);
  if (!weight) {
    weight = memberNamed(item.module, inProjectionName);
    if (weight && (item.style->replicatedOutput ||
                   item.entry.getOptions().get("output_layouts")))
      return item.entry.emitError()
             << "style " << item.entry.getStyle() << " shards '"
             << argumentNames.name(weight.getArgNumber())
             << "', whose result is not the output of module '" << item.module
             << "': write output_layouts in the entry of '"
             << memberOf(item.module, "out_proj") << "'";
  }
  FailureOr<SmallVector<ParameterUse *>> own = ownUses(item, weight);
  if (failed(own))
    return failure();
  if (own->empty()) {
    if (weight)
      for (const ParameterUse *use :
           entryUses.of(function, argumentNames.name(weight.getArgNumber())))
        if (use->stackedDim)
          return refuseStacked(item, *use);
    // What runs in another part is bound there, but for the parameters.
    if (const ParameterUse *use = useInOtherPart(item, weight))
      return weight.use_empty() ? success() : pinParameters(item, *use, weight);
    if (weight && llvm::any_of(usesOf.lookup(weight), [&](ParameterUse *use) {
          return isOfTied(*use, weight);
        })) {
      // Of several functions another one may run the module.
      if (!readByAny)
        item.entry.emitWarning()
            << "nothing in module '" << item.module << "' reads '"
            << argumentNames.name(weight.getArgNumber())
            << "', which other modules share: the entry has no effect";
      return success();
    }
    if (weight && weight.use_empty()) {
      if (isDead(weight))
        item.entry.emitWarning()
            << "nothing reads '" << argumentNames.name(weight.getArgNumber())
            << "', the entry has no effect on module '" << item.module << "'";
      return success();
    }
    if (weight) {
      StringRef name = argumentNames.name(weight.getArgNumber());
      if (auto channels = convolvedChannels(weight, shardsOutputs(item)))
        return refuseConvolution(item, name, *channels);
      InFlightDiagnostic diag = item.entry.emitError()
                                << "no contraction and no lookup reads '"
                                << name << "', style " << item.entry.getStyle()
                                << " is for Linear, Conv1D and Embedding";
      if (name.ends_with(inProjectionName))
        diag << ": where keys are of another value than queries, write entries "
                "for the parameters '"
             << name << "' and '" << memberOf(item.module, "in_proj_bias")
             << "'";
      return diag;
    }
    if (index.holdsOp(item.module))
      return refuseModule(item);
    idle.push_back(&item);
    return success();
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

LogicalResult Binder::pinParameters(Item &item, const ParameterUse &use,
                                    BlockArgument weight) {
  bool colwise = shardsOutputs(item);
  std::optional<unsigned> dim = shardedDim(use, colwise);
  if (!dim)
    return item.entry.emitError() << "the weight of module '" << item.module
                                  << "' has no dimension that style "
                                  << item.entry.getStyle() << " shards";
  Placement placement = Placement::shard(*dim);
  if (failed(pinParameter(item, "weight", weight, placement)))
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
  if (failed(pinParameters(item, use, use.parameter)))
    return failure();
  bool colwise = shardsOutputs(item);
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

LogicalResult Binder::bindLocalParameters(Item &item) {
  Binding &binding = bindings[item.binding];
  for (BlockArgument argument : function.getArguments()) {
    unsigned number = argument.getArgNumber();
    StringRef name = argumentNames.name(number);
    const auto *pin = argumentPins.find(number);
    if (pin == argumentPins.end() ||
        argumentNames.kind(number) != "parameter" ||
        memberOf(item.module, name.substr(name.rfind('.') + 1)) != name)
      continue;
    auto type = cast<RankedTensorType>(argument.getType());
    binding.status = BindingStatus::Bound;
    binding.values.push_back({"parameter", name.str(),
                              llvm::to_vector(type.getShape()),
                              pin->second.placement});
  }
  if (binding.status != BindingStatus::Bound)
    idle.push_back(&item);
  return success();
}

LogicalResult Binder::refuseWithoutEffect() {
  llvm::SmallPtrSet<Operation *, 4> seen;
  for (Item *item : idle) {
    ParallelizeOp entry = item->entry;
    if (!seen.insert(entry).second)
      continue;
    // Of the modules that a pattern names some may have nothing to lay out.
    if (llvm::all_of(items, [&](Item &other) {
          return other.entry != entry || llvm::is_contained(idle, &other);
        }))
      return refuseModule(*item);
    std::string others = argumentsOf(item->module);
    if (!others.empty() && (item->style->kind == StyleKind::Colwise ||
                            item->style->kind == StyleKind::Rowwise))
      entry.emitWarning() << "module '" << item->module << "' has no '"
                          << memberOf(item->module, "weight")
                          << "', the entry has no effect on it; its arguments "
                             "are "
                          << others;
  }
  return success();
}
