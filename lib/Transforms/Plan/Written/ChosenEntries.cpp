//===- ChosenEntries.cpp - plan entries for what tp chose -----------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A style says more than the layout of a weight: where its module's output is
// reduced. What the assignment does there is read off the strategies of the ops
// around it; an output whose partial sums go on and end as shards is left open
// (`none`), so that the entry never asks for more than was chosen.
//
//===----------------------------------------------------------------------===//

#include "Written/ChosenEntries.h"
#include "tp/IR/PortAttributes.h"
#include "tp/Interfaces/ShardingRule.h"
#include "tp/Transforms/Plan/WrittenPatterns.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace tp;

ChosenEntries::ChosenEntries(func::FuncOp function, const ModuleTree &tree,
                             unsigned axis, MeshAttr mesh)
    : function(function), tree(tree), index(function), axis(axis), mesh(mesh),
      arguments(function, PortSide::Argument),
      results(function, PortSide::Result), uses(parameterUses(function)) {}

//===----------------------------------------------------------------------===//
// Layouts on the axis
//===----------------------------------------------------------------------===//

bool ChosenEntries::isFree(unsigned argument) {
  auto pins = function.getArgAttrOfType<DictionaryAttr>(argument, attr::pin);
  std::optional<FreePort> free =
      pins ? freePortOf(pins.get(mesh.getValue().axes[axis].name))
           : std::nullopt;
  return free && *free != FreePort::AsParameter &&
         *free != FreePort::FullySharded;
}

/// A plan speaks of whole axes: of sub-axes a minor one goes on where the major
/// one has cut, or replicates.
std::optional<Placement> ChosenEntries::onAxis(LayoutAttr layout) const {
  if (!layout)
    return std::nullopt;
  std::optional<Placement> whole;
  for (const AxisPlacement &entry : layout.getValue().entries) {
    if (entry.part.axis != axis)
      continue;
    const Placement &here = entry.placement;
    if (!whole)
      whole = here;
    else if (whole->kind != here.kind ? !here.isReplicate()
                                      : whole->dim != here.dim)
      return std::nullopt;
  }
  return whole.value_or(Placement::replicate());
}

std::optional<Placement> ChosenEntries::ofArgument(unsigned number) {
  return onAxis(function.getArgAttrOfType<LayoutAttr>(number, attr::layout));
}

bool ChosenEntries::isDead(unsigned argument) {
  std::optional<Placement> layout = ofArgument(argument);
  return layout && layout->isReplicate() &&
         function.getArgument(argument).use_empty();
}

std::optional<Placement> ChosenEntries::ofResult(unsigned number) {
  return onAxis(function.getResultAttrOfType<LayoutAttr>(number, attr::layout));
}

std::optional<Placement> ChosenEntries::made(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value))
    return ofArgument(argument.getArgNumber());
  auto layouts =
      value.getDefiningOp()->getAttrOfType<ArrayAttr>(attr::resultLayouts);
  unsigned result = cast<OpResult>(value).getResultNumber();
  return layouts ? onAxis(dyn_cast<LayoutAttr>(layouts[result])) : std::nullopt;
}

std::optional<Placement> ChosenEntries::taken(OpOperand &use) {
  Operation *op =
      function.getBody().front().findAncestorOpInBlock(*use.getOwner());
  if (isa<func::ReturnOp>(op))
    return ofResult(use.getOperandNumber());
  if (isa<ConstrainOp>(op))
    return made(op->getResult(0));
  auto model = dyn_cast<ShardingRuleOpInterface>(op);
  auto strategy = op->getAttrOfType<StrategyAttr>(attr::strategy);
  if (!model || !strategy)
    return std::nullopt;
  FailureOr<ShardingRule> rule = model.getShardingRule();
  if (failed(rule))
    return std::nullopt;
  auto slot = llvm::find(rule->slots, use.get());
  if (slot == rule->slots.end())
    return std::nullopt;
  for (const AxisChoice &entry : strategy.getValue().entries)
    if (entry.part.axis == axis)
      return rule->slotPlacement(slot - rule->slots.begin(),
                                 strategy.getValue(), entry.part);
  return Placement::replicate();
}

std::optional<Placement> ChosenEntries::end(Value value, bool &passes,
                                            int depth) {
  // Longer ways than from an embedding through its sums do not end in one
  // layout that a plan could name.
  constexpr int longest = 8;
  std::optional<Placement> here = made(value);
  if (!here || !here->isPartial() || depth == longest)
    return here && here->isPartial() ? std::nullopt : here;
  std::optional<Placement> found;
  for (OpOperand &use : value.getUses()) {
    std::optional<Placement> there = taken(use);
    if (there && there->isPartial()) {
      passes = true;
      Operation *op =
          function.getBody().front().findAncestorOpInBlock(*use.getOwner());
      there = op->getNumResults() == 1
                  ? end(op->getResult(0), passes, depth + 1)
                  : std::nullopt;
    }
    if (!there)
      return std::nullopt;
    // Of a replicated copy shards are cut.
    if (!found || there->isReplicate())
      found = there;
    else if (!found->isReplicate() && !(*found == *there))
      return std::nullopt;
  }
  return found;
}

//===----------------------------------------------------------------------===//
// Modules
//===----------------------------------------------------------------------===//

/// A dimension as the module counts it. Dimensions of size 1 in front, as a
/// batch of one, are not there any more: with few left it counts from the back.
static std::string dimensionText(int64_t dim, int64_t rank) {
  return std::to_string(rank < 3 ? dim - rank : dim);
}

std::string ChosenEntries::outputOption(const ParameterUse &use,
                                        bool isColumn) {
  const std::string open = " {output_layouts = [none]}";
  if (!use.problem.empty() || use.outputView.shape.empty())
    return open;
  int64_t rows = use.outputView.shape.size() - 1;
  bool passes = false;
  std::optional<Placement> last = end(use.output, passes);
  if (!last)
    return open;
  bool isOwn = last->isShard() && last->dim >= rows;
  if (isColumn)
    return isOwn && !passes ? "" : open;
  if (last->isReplicate())
    return "";
  if (passes)
    return open;
  std::string dim = isOwn ? "-1" : dimensionText(last->dim, rows + 1);
  return " {output_layouts = [shard<" + dim + ">]}";
}

std::optional<Placement> ChosenEntries::ofWeight(unsigned argument,
                                                 StringRef &module) {
  module = arguments.name(argument);
  if (!module.consume_back(".weight") || !tree.find(module))
    return std::nullopt;
  return ofArgument(argument);
}

std::optional<ChosenEntries::ModuleEntry>
ChosenEntries::styleOf(unsigned weight) {
  StringRef name;
  std::optional<Placement> layout = ofWeight(weight, name);
  if (!layout || !layout->isShard())
    return std::nullopt;
  std::optional<ModuleEntry> found;
  for (const ParameterUse &use : uses) {
    if (use.parameter.getArgNumber() != weight || use.stackedDim)
      continue;
    // A tied weight has a style in one of its modules only.
    if (ModuleIndex::owner(use.op) != name)
      continue;
    // Styles shard the first dimension that is contracted, or the first that is
    // not.
    bool isColumn = !use.contracted[layout->dim];
    for (int64_t dim = 0; dim < layout->dim; ++dim)
      if (use.contracted[dim] != isColumn)
        return std::nullopt;
    if (use.bias) {
      std::optional<Placement> bias = ofArgument(use.bias.getArgNumber());
      if (!bias || (isColumn ? !bias->isShard() : !bias->isReplicate()))
        return std::nullopt;
    }
    ModuleEntry entry{name, (isColumn ? "colwise" : "rowwise") +
                                outputOption(use, isColumn)};
    if (found && found->style != entry.style)
      return std::nullopt;
    found = std::move(entry);
  }
  return found;
}

std::optional<ChosenEntries::ModuleEntry>
ChosenEntries::sequenceStyleOf(unsigned vector) {
  StringRef name;
  std::optional<Placement> layout = ofWeight(vector, name);
  if (!layout || !layout->isReplicate())
    return std::nullopt;
  std::optional<int64_t> dim;
  int64_t rank = 0;
  for (Operation *op : index.opsIn(name))
    for (Value result : op->getResults()) {
      auto leaves = [&](Operation *user) {
        return !ModuleIndex::belongsTo(user, name);
      };
      auto type = dyn_cast<RankedTensorType>(result.getType());
      if (!type || type.getRank() < 2 ||
          llvm::none_of(result.getUsers(), leaves))
        continue;
      std::optional<Placement> here = made(result);
      if (!here || !here->isShard() || here->dim + 1 == type.getRank() ||
          (dim && *dim != here->dim))
        return std::nullopt;
      dim = here->dim;
      rank = type.getRank();
    }
  if (!dim)
    return std::nullopt;
  std::string text = dimensionText(*dim, rank);
  std::string option = text == "1" ? "" : " {sequence_dim = " + text + "}";
  return ModuleEntry{name, "sequence_parallel" + option};
}

void ChosenEntries::addModules(ArrayRef<ModuleEntry> modules) {
  std::vector<WrittenName> names;
  for (auto [i, entry] : llvm::enumerate(modules))
    names.push_back({entry.module.str(), entry.style, i});
  for (const auto &[name, number] : asPatterns(
           names, [&](StringRef pattern) { return tree.match(pattern); }))
    lines.push_back("tp.parallelize \"" + name + "\" with " +
                    modules[number].style);
}

//===----------------------------------------------------------------------===//
// Ports
//===----------------------------------------------------------------------===//

static std::string portName(const PortNames &names, unsigned port) {
  StringRef name = names.name(port);
  if (names.find(name).size() == 1)
    return "\"" + name.str() + "\"";
  if (!name.empty() && names.find(names.qualified(port)).size() == 1)
    return "\"" + names.qualified(port) + "\"";
  return std::to_string(port);
}

/// Units of chunks are found again from what the weight is used for.
static std::string layoutText(Placement placement) {
  placement.unit = 1;
  return toString(placement);
}

void ChosenEntries::addArgument(unsigned number) {
  std::optional<Placement> layout = ofArgument(number);
  std::string name = portName(arguments, number);
  if (layout) {
    lines.push_back("tp.argument " + name + " " + layoutText(*layout));
    return;
  }
  Attribute chosen = function.getArgAttr(number, attr::layout);
  std::string text;
  llvm::raw_string_ostream(text) << chosen;
  mlir::emitWarning(function.getArgument(number).getLoc())
      << "the layout of argument " << name
      << " cannot be said in a plan: " << text;
  lines.push_back("// " + name + " has a layout that no entry says: " + text);
}

void ChosenEntries::addResults() {
  StringRef name = mesh.getValue().axes[axis].name;
  for (unsigned number = 0; number < function.getNumResults(); ++number) {
    auto pins = function.getResultAttrOfType<DictionaryAttr>(number, attr::pin);
    if (!isa<RankedTensorType>(function.getResultTypes()[number]) ||
        (pins && pins.get(name)))
      continue;
    std::optional<Placement> layout = ofResult(number);
    if (layout && layout->segments.empty() && layout->unit == 1) {
      lines.push_back("tp.result " + std::to_string(number) + " " +
                      layoutText(*layout));
      continue;
    }
    std::string text;
    llvm::raw_string_ostream(text)
        << function.getResultAttr(number, attr::layout);
    mlir::emitWarning(function.getLoc())
        << "the layout of result " << number
        << " cannot be said in a plan, which leaves it open: " << text;
    lines.push_back("// result " + std::to_string(number) +
                    " has a layout that no entry says: " + text);
  }
}

std::vector<std::string> ChosenEntries::entries(bool asModules) {
  lines.clear();
  std::vector<ModuleEntry> modules;
  std::vector<unsigned> others;
  for (unsigned number = 0; number < function.getNumArguments(); ++number) {
    if (!isFree(number) || isDead(number))
      continue;
    std::optional<ModuleEntry> entry;
    bool isVector =
        cast<RankedTensorType>(function.getArgumentTypes()[number]).getRank() <
        2;
    if (asModules)
      entry = isVector ? sequenceStyleOf(number) : styleOf(number);
    if (entry)
      modules.push_back(std::move(*entry));
    else
      others.push_back(number);
  }
  addModules(modules);
  // A style says where the bias is.
  auto hasStyle = [&](unsigned number) {
    StringRef name = arguments.name(number);
    return name.consume_back(".bias") &&
           llvm::any_of(modules, [&](const ModuleEntry &entry) {
             return entry.module == name &&
                    !StringRef(entry.style).starts_with("sequence_parallel");
           });
  };
  for (unsigned number : others) {
    // What need not be sharded and is not would be replicated again.
    std::optional<Placement> layout = ofArgument(number);
    bool isPlain =
        asModules && layout && layout->isReplicate() &&
        cast<RankedTensorType>(function.getArgumentTypes()[number]).getRank() <
            2;
    if (!isPlain && !hasStyle(number))
      addArgument(number);
  }
  addResults();
  return std::move(lines);
}
