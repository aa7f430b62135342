//===- TorchPlan.cpp - a plan as PyTorch's parallelize_module takes it ----===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PyTorch hands local tensors from module to module, whose layouts each style
// has to know. Written styles hand on DTensors, which know their own.
//
//===----------------------------------------------------------------------===//

#include "tp/Transforms/Plan/TorchPlan.h"
#include "Names/ModuleTree.h"
#include "mlir/Parser/Parser.h"
#include "tp/IR/PlanStyle.h"
#include "tp/IR/TP.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace tp;

namespace {
class TorchPlan {
public:
  TorchPlan(const ModuleTree &tree, raw_ostream &os) : tree(tree), os(os) {}

  void write(PlanOp plan);

private:
  void write(ParallelizeOp entry);
  /// The arguments of the style's class, or nothing where PyTorch has none that
  /// says the same.
  std::optional<std::string> styleOf(ParallelizeOp entry);
  bool isEmbedding(StringRef pattern) const;

  const ModuleTree &tree;
  raw_ostream &os;
};
} // namespace

static std::optional<std::string> placementOf(Attribute layout) {
  if (isa<UnitAttr>(layout))
    return "None";
  auto attribute = dyn_cast<PlacementAttr>(layout);
  if (!attribute)
    return std::nullopt;
  const Placement &placement = attribute.getValue();
  if (placement.isReplicate())
    return "Replicate()";
  if (placement.isShard())
    return placement.segments.empty()
               ? std::optional("Shard(" + std::to_string(placement.dim) + ")")
               : std::nullopt;
  return placement.reduction == ReductionKind::Sum ? std::optional("Partial()")
                                                   : std::nullopt;
}

/// One layout, a list, or a dictionary. Styles of modules with several ports
/// take a tuple; the others one layout.
static std::optional<std::string> layoutsOf(Attribute layouts, bool isTuple) {
  std::string text;
  auto add = [&](StringRef key, Attribute layout) {
    std::optional<std::string> placement = placementOf(layout);
    if (placement)
      text += (text.empty() ? "" : ", ") + key.str() + *placement;
    return placement.has_value();
  };
  if (auto names = dyn_cast<DictionaryAttr>(layouts)) {
    for (NamedAttribute entry : names)
      if (!add("\"" + entry.getName().str() + "\": ", entry.getValue()))
        return std::nullopt;
    return "{" + text + "}";
  }
  auto list = dyn_cast<ArrayAttr>(layouts);
  ArrayRef<Attribute> all = list ? list.getValue() : ArrayRef(layouts);
  for (Attribute layout : all)
    if (!add("", layout))
      return std::nullopt;
  if (!isTuple)
    return all.size() == 1 ? std::optional(text) : std::nullopt;
  return "(" + text + (all.size() == 1 ? ",)" : ")");
}

bool TorchPlan::isEmbedding(StringRef pattern) const {
  SmallVector<StringRef> modules = tree.match(pattern);
  return !modules.empty() && llvm::all_of(modules, [&](StringRef module) {
    return tree.find(module)->className == "Embedding";
  });
}

std::optional<std::string> TorchPlan::styleOf(ParallelizeOp entry) {
  const StyleName *style = lookupStyle(entry.getStyle());
  bool isTuple = false, isOfWeight = false;
  std::string text;
  switch (style->kind) {
  case StyleKind::Colwise:
    text = "ColwiseParallel";
    isOfWeight = true;
    break;
  case StyleKind::Rowwise:
    text = "RowwiseParallel";
    isOfWeight = true;
    break;
  case StyleKind::SequenceParallel:
    text = "SequenceParallel";
    break;
  case StyleKind::PrepareModuleInput:
    text = "PrepareModuleInput";
    isTuple = true;
    break;
  case StyleKind::PrepareModuleOutput:
    text = "PrepareModuleOutput";
    isTuple = true;
    break;
  case StyleKind::PrepareModuleInputOutput:
    text = "PrepareModuleInputOutput";
    isTuple = true;
    break;
  default:
    return std::nullopt;
  }
  // Of a parameter, or of a fused one.
  if (tree.match(entry.getPattern()).empty() ||
      entry.getStyle().starts_with("packed"))
    return std::nullopt;
  std::string options;
  auto add = [&](StringRef name, StringRef value) {
    options += (options.empty() ? "" : ", ") + (name + "=" + value).str();
  };
  DictionaryAttr given = entry.getOptions();
  for (NamedAttribute option : given) {
    StringRef name = option.getName();
    if (name == "override" || name == "use_local_output" ||
        name == "use_local_input")
      continue;
    if (auto number = dyn_cast<IntegerAttr>(option.getValue())) {
      add(name, std::to_string(number.getInt()));
      continue;
    }
    std::optional<std::string> layouts = layoutsOf(option.getValue(), isTuple);
    if (!layouts)
      return std::nullopt;
    add(name, *layouts);
  }
  // PyTorch takes the ids for a shard of activations.
  bool isTable = isOfWeight && isEmbedding(entry.getPattern());
  if ((style->replicatedInput || isTable) && !given.get("input_layouts"))
    add("input_layouts", "Replicate()");
  if (style->replicatedOutput && !given.get("output_layouts"))
    add("output_layouts", "Replicate()");
  if (style->kind == StyleKind::PrepareModuleInputOutput)
    add("use_local_input", "False");
  if (isOfWeight || isTuple)
    add("use_local_output", "False");
  return text + "(" + options + ")";
}

void TorchPlan::write(ParallelizeOp entry) {
  if (std::optional<std::string> style = styleOf(entry)) {
    os << "    \"" << entry.getPattern() << "\": " << *style << ",\n";
    return;
  }
  // What is on every rank needs no style.
  os << "    # " << *entry << "\n";
  if (lookupStyle(entry.getStyle())->kind != StyleKind::Replicate)
    entry.emitWarning() << "PyTorch has no style that says this; the Python "
                           "that is written has a comment instead";
}

void TorchPlan::write(PlanOp plan) {
  os << "  \"" << plan.getAxis() << "\": {\n";
  for (Operation &op : plan.getBody().front())
    if (auto entry = dyn_cast<ParallelizeOp>(op))
      write(entry);
    else
      os << "    # " << op << "\n";
  os << "  },\n";
}

FailureOr<std::string> tp::torchPlan(StringRef text, func::FuncOp function) {
  MLIRContext *context = function.getContext();
  OwningOpRef<ModuleOp> file =
      parseSourceString<ModuleOp>(text, ParserConfig(context), "plan");
  FailureOr<ModuleTree> tree = ModuleTree::build(function);
  if (!file || failed(tree))
    return failure();
  std::string written;
  llvm::raw_string_ostream os(written);
  os << "# Written by tp-compile, for parallelize_module of "
        "torch.distributed.tensor.parallel:\n"
        "#     for axis, plan in plans.items():\n"
        "#         parallelize_module(module, mesh[axis], plan)\n"
        "# Styles hand on DTensors. Parameters without a style are whole on "
        "every rank.\n"
        "from torch.distributed.tensor import Partial, Replicate, Shard\n"
        "from torch.distributed.tensor.parallel import (\n"
        "    ColwiseParallel, PrepareModuleInput, PrepareModuleInputOutput,\n"
        "    PrepareModuleOutput, RowwiseParallel, SequenceParallel)\n"
        "\n"
        "plans = {\n";
  TorchPlan writer(*tree, os);
  for (PlanOp plan : file->getOps<PlanOp>())
    writer.write(plan);
  os << "}\n";
  return written;
}
