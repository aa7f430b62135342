//===- ImplicitCollectives.cpp - collectives that no plan asks for --------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CollectiveCauses.h"
#include "tp/IR/CauseAttributes.h"
#include "tp/IR/ModuleLocation.h"
#include "tp/IR/PlanStyle.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace tp;
using namespace tp::propagate;

namespace {
class Advisor {
public:
  Advisor(const AssignmentGraph &graph, unsigned part)
      : graph(graph), part(part), producers(graph.values.size()) {
    for (auto [number, node] : llvm::enumerate(graph.nodes))
      for (unsigned value : node.results)
        producers[value] = number;
  }

  bool isAskedFor(const Cause &cause) const {
    const PlannedCollective &made = cause.collective.made;
    if (made.from.pending && made.to.placement.isReplicate())
      return true;
    return llvm::any_of(cause.uses, [&](SlotUse use) {
      return asksForCollectives(graph.nodes[use.node], part) ||
             isAskedForAtOutput(use, made);
    });
  }

  Advice advice(const Cause &cause) const {
    const PlannedCollective &made = cause.collective.made;
    Advice advice = advise(made, graph.nodes[cause.uses.front().node]);
    // Modules that share what the collective makes all say so.
    for (SlotUse use : llvm::drop_begin(cause.uses)) {
      const Node &user = graph.nodes[use.node];
      if (user.kind != Node::Kind::Constrain)
        continue;
      Advice other = advise(made, user);
      if (other.text == advice.text && other.at != advice.at &&
          !llvm::is_contained(advice.alsoAt, other.at))
        advice.alsoAt.push_back(other.at);
    }
    return advice;
  }

  void report(const Cause &cause) const {
    const PlannedCollective &made = cause.collective.made;
    SlotUse use = cause.uses.front();
    const Node &user = graph.nodes[use.node];
    InFlightDiagnostic error = mlir::emitError(graph.location(user));
    error << graph.describe(user) << " takes "
          << (user.kind == Node::Kind::Op
                  ? "operand #" + std::to_string(use.slot) + " "
                  : "its value ")
          << "from " << toString(made.from.placement) << " to "
          << toString(made.to.placement) << " on axis " << graph.partName(part)
          << " by " << toString(made.kind) << ", " << cause.collective.ringBytes
          << " bytes per rank, which no plan entry asks for";
    for (unsigned pin : cause.pins) {
      const Node &pinned = graph.nodes[pin];
      error.attachNote(graph.location(pinned))
          << graph.describe(pinned) << " is pinned to "
          << toString(pinned.pins[part]->placement);
    }
    Advice advised = advice(cause);
    if (advised.text.empty())
      return;
    error.attachNote(advised.at) << "to ask for it, write " << advised.text;
    for (Location at : advised.alsoAt)
      error.attachNote(at) << "and the same at this entry, which it serves too";
  }

  std::optional<Advice> adviceOnTaken(const Cause &cause) const {
    for (SlotUse use : cause.uses) {
      const Node &user = graph.nodes[use.node];
      if (!cause.taken || user.kind != Node::Kind::Constrain)
        continue;
      auto pin = cast<ConstrainOp>(user.op);
      if (!pin.getPort().starts_with("output") ||
          !hasOption(pin, "output_layouts"))
        continue;
      std::string layout = layoutIn(*cause.taken, cause.collective.made.value,
                                    pin.getModule(), pin.getPort());
      return Advice{pin.getLoc(),
                    "output_layouts = [" + inListOfPorts(pin, layout) + "]"};
    }
    return std::nullopt;
  }

private:
  /// Whether an entry asks for the reduction at the output of the module that
  /// the use is in, or what makes the value where the use is in no module. Ops
  /// before that output, such as the addition of a bias, could pass the partial
  /// value on to it.
  bool isAskedForAtOutput(SlotUse first, const PlannedCollective &made) const {
    const Placement &from = made.from.placement;
    const Node &user = graph.nodes[first.node];
    if (!from.isPartial() || user.kind != Node::Kind::Op)
      return false;
    StringRef module = moduleOf(user.op->getLoc());
    const Node &producer = graph.nodes[producers[made.value]];
    if (module.empty() && producer.kind == Node::Kind::Op)
      module = moduleOf(producer.op->getLoc());
    auto isOutput = [&](const Node &node) {
      if (node.kind != Node::Kind::Constrain || !node.pins[part] ||
          !asksForCollectives(node, part))
        return false;
      auto pin = cast<ConstrainOp>(node.op);
      return pin.getModule() == module && pin.getPort() == "output" &&
             node.pins[part]->placement == made.to.placement;
    };
    auto passesOn = [&](const Node &node, unsigned slot) {
      if (node.kind != Node::Kind::Op)
        return false;
      StringRef own = moduleOf(node.op->getLoc());
      return (own.empty() || own == module) &&
             llvm::any_of(node.rule.passthroughs,
                          [&](const PartialPassthrough &known) {
                            return known.kind == from.reduction &&
                                   known.resultKind == from.reduction &&
                                   llvm::is_contained(known.slots, slot);
                          });
    };
    SmallVector<SlotUse> queue = {first};
    llvm::DenseSet<unsigned> seen;
    while (!queue.empty()) {
      SlotUse use = queue.pop_back_val();
      const Node &node = graph.nodes[use.node];
      if (isOutput(node))
        return true;
      if (passesOn(node, use.slot) && seen.insert(use.node).second)
        for (unsigned value : node.results)
          queue.append(graph.uses[value]);
    }
    return false;
  }

  /// A layout of a value as a module sees it: where the module's dimensions
  /// are products of the value's.
  std::string inView(const Placement &placement, ArrayRef<int64_t> shape,
                     ArrayRef<int64_t> view) const {
    if (!placement.isShard())
      return toString(placement);
    size_t dim = 0;
    int64_t left = view.empty() ? 1 : view[0];
    for (auto [at, size] : llvm::enumerate(shape)) {
      while (left == 1 && size != 1 && dim + 1 < view.size())
        left = view[++dim];
      if (static_cast<int64_t>(at) == placement.dim)
        return toString(Placement::shard(static_cast<int64_t>(dim)));
      left = size && left % size == 0 ? left / size : 1;
    }
    return toString(placement);
  }

  /// The shape in which the plan speaks of a module's port, or none.
  SmallVector<int64_t> viewOf(StringRef module, StringRef port) const {
    for (DictionaryAttr binding : bindingsOf(graph.func)) {
      auto name = binding.getAs<StringAttr>("module");
      auto values = binding.getAs<ArrayAttr>("values");
      if (!name || name.getValue() != module || !values)
        continue;
      for (Attribute each : values) {
        auto bound = dyn_cast<DictionaryAttr>(each);
        auto at = bound ? bound.getAs<StringAttr>("port") : StringAttr();
        auto dims = bound ? bound.getAs<DenseI64ArrayAttr>("dims") : nullptr;
        if (at && dims &&
            (at.getValue() == port || at.getValue() == (port + " from").str()))
          return llvm::to_vector(dims.asArrayRef());
      }
    }
    return {};
  }

  /// How many layouts a list of the module's inputs, or outputs, has: one for
  /// each positional argument, or result. 0 where the module table does not
  /// tell.
  size_t numLayouts(StringRef module, StringRef side) const {
    auto owner = graph.func->getParentOfType<ModuleOp>();
    auto table =
        owner ? owner->getAttrOfType<ArrayAttr>(attr::modules) : ArrayAttr();
    if (auto own = graph.func->getAttrOfType<ArrayAttr>(attr::modules))
      table = own;
    if (!table)
      return 0;
    for (Attribute each : table) {
      auto row = dyn_cast<DictionaryAttr>(each);
      auto name = row ? row.getAs<StringAttr>("name") : StringAttr();
      if (!name || name.getValue() != module)
        continue;
      auto positional = row.getAs<ArrayAttr>("positional");
      auto sizes = row.getAs<DenseI64ArrayAttr>("output_sizes");
      if (side == "input")
        return positional ? positional.size() : 0;
      return sizes ? sizes.size() : 0;
    }
    return 0;
  }

  /// `layout` for the port of `pin` in the list of all inputs, or outputs, that
  /// the module's entries bind: layouts outside that they state stay.
  std::string inListOfPorts(ConstrainOp pin, StringRef layout) const {
    auto [side, number] = pin.getPort().split(' ');
    size_t at = 0;
    if (!number.empty() && number.getAsInteger(10, at))
      return layout.str();
    std::vector<std::string> list(at + 1, "none");
    list.resize(std::max(list.size(), numLayouts(pin.getModule(), side)),
                "none");
    for (DictionaryAttr binding : bindingsOf(graph.func)) {
      auto name = binding.getAs<StringAttr>("module");
      auto values = binding.getAs<ArrayAttr>("values");
      if (!name || name != pin.getModuleAttr() || !values)
        continue;
      for (Attribute each : values) {
        auto bound = dyn_cast<DictionaryAttr>(each);
        auto port = bound ? bound.getAs<StringAttr>("port") : StringAttr();
        StringRef rest = port ? port.getValue() : StringRef();
        if (!rest.consume_front(side))
          continue;
        bool isOutside = rest.consume_back(" from");
        size_t other = 0;
        if (!rest.empty() && rest.trim().getAsInteger(10, other))
          continue;
        if (other >= list.size())
          list.resize(other + 1, "none");
        if (auto stated = bound.getAs<StringAttr>("layout");
            stated && isOutside)
          list[other] = stated.getValue().str();
      }
    }
    list[at] = layout.str();
    return llvm::join(list, ", ");
  }

  /// Whether the style of the entry that made the pin has the option. A pin
  /// that no entry made may be of any style.
  bool hasOption(ConstrainOp pin, StringRef option) const {
    bool isOfStyle = false;
    for (DictionaryAttr binding : bindingsOf(graph.func)) {
      auto style = binding.getAs<StringAttr>("style");
      auto values = binding.getAs<ArrayAttr>("values");
      const StyleName *known = style ? lookupStyle(style) : nullptr;
      if (!known || !values || binding.get("module") != pin.getModuleAttr() ||
          binding.get("axis") != pin.getAxisAttr() ||
          llvm::none_of(values, [&](Attribute each) {
            auto port = cast<DictionaryAttr>(each).getAs<StringAttr>("port");
            StringRef name = port ? port.getValue() : StringRef();
            name.consume_back(" from");
            return name == pin.getPort();
          }))
        continue;
      if (llvm::any_of(styleOptions(known->kind), [&](const StyleOption &each) {
            return each.name == option;
          }))
        return true;
      isOfStyle = true;
    }
    return !isOfStyle;
  }

  std::string layoutIn(const Placement &placement, unsigned value,
                       StringRef module, StringRef port) const {
    ArrayRef<int64_t> shape = graph.type(value).getShape();
    SmallVector<int64_t> view = viewOf(module, port);
    return inView(placement, shape, view.empty() ? shape : ArrayRef(view));
  }

  /// The module of which no entry names the weight, and whose partial sums are
  /// what is reduced: rowwise makes the same ones, and asks for the reduction.
  std::optional<StringRef>
  moduleOfPartialSums(const PlannedCollective &made) const {
    const Placement &from = made.from.placement;
    const Node &producer = graph.nodes[producers[made.value]];
    if (!from.isPartial() || from.reduction != ReductionKind::Sum ||
        producer.kind != Node::Kind::Op)
      return std::nullopt;
    StringRef module = moduleOf(producer.op->getLoc());
    for (unsigned value : producer.slots) {
      std::optional<unsigned> argument =
          argumentBehind(graph, producers, value);
      if (!argument || module.empty())
        continue;
      const Node &weight = graph.nodes[*argument];
      auto name = graph.entryOf(weight).getArgAttrOfType<StringAttr>(
          weight.index, attr::name);
      if (name && isBound(name.getValue()))
        return std::nullopt;
      if (name && name.getValue().rsplit('.').first == module)
        return module;
    }
    return std::nullopt;
  }

  /// Whether an entry of the plan binds the argument.
  bool isBound(StringRef argument) const {
    return llvm::any_of(bindingsOf(graph.func), [&](DictionaryAttr binding) {
      auto values = binding.getAs<ArrayAttr>("values");
      return values && llvm::any_of(values, [&](Attribute each) {
               auto bound = dyn_cast<DictionaryAttr>(each);
               auto name =
                   bound ? bound.getAs<StringAttr>("loc") : StringAttr();
               return name && name.getValue() == argument;
             });
    });
  }

  Advice advise(const PlannedCollective &made, const Node &user) const {
    const Node &producer = graph.nodes[producers[made.value]];
    if (user.kind == Node::Kind::Result)
      return {graph.location(user), "'tp.result " + std::to_string(user.index) +
                                        " " + toString(made.to.placement) +
                                        "' in the plan"};
    auto change = [&](StringRef module, StringRef port) {
      std::string others;
      for (size_t i = 1, e = numLayouts(module, port); i < e; ++i)
        others += ", none";
      return llvm::formatv(
                 "'tp.parallelize \"{0}\" with prepare_module_{1} "
                 "{{{1}_layouts = [{2}{4}], "
                 "desired_{1}_layouts = [{3}{4}]}' in the plan",
                 module, port,
                 layoutIn(made.from.placement, made.value, module, port),
                 layoutIn(made.to.placement, made.value, module, port), others)
          .str();
    };
    if (user.kind == Node::Kind::Constrain) {
      auto pin = cast<ConstrainOp>(user.op);
      StringRef option = pin.getPort().starts_with("input") ? "input_layouts"
                                                            : "output_layouts";
      if (hasOption(pin, option)) {
        std::string layout = layoutIn(made.from.placement, made.value,
                                      pin.getModule(), pin.getPort());
        return {pin.getLoc(), ("'" + option + " = [" +
                               inListOfPorts(pin, layout) + "]' at this entry")
                                  .str()};
      }
      // Another entry may state how the input comes. None names a value inside
      // the module.
      return {pin.getLoc(), pin.getPort() == "input"
                                ? change(pin.getModule(), "input")
                                : std::string()};
    }
    if (producer.kind == Node::Kind::Argument) {
      auto name = graph.func->getParentOfType<ModuleOp>()
                      ? graph.entryOf(producer).getArgAttrOfType<StringAttr>(
                            producer.index, attr::name)
                      : StringAttr();
      return {graph.location(producer),
              "'tp.argument " +
                  (name ? "\"" + name.str() + "\""
                        : std::to_string(producer.index)) +
                  " " + toString(made.to.placement) + "' in the plan"};
    }
    if (producer.kind == Node::Kind::Constrain) {
      auto pin = cast<ConstrainOp>(producer.op);
      if (pin.getPort() == "output")
        return {pin.getLoc(), change(pin.getModule(), "output")};
    }
    if (std::optional<StringRef> summed = moduleOfPartialSums(made)) {
      std::string outside;
      if (!made.to.placement.isReplicate())
        outside = " {output_layouts = [" +
                  layoutIn(made.to.placement, made.value, *summed, "output") +
                  "]}";
      return {producer.op->getLoc(), "'tp.parallelize \"" + summed->str() +
                                         "\" with rowwise" + outside +
                                         "' in the plan"};
    }
    StringRef module = moduleOf(user.op->getLoc());
    if (!module.empty())
      return {user.op->getLoc(), change(module, "input")};
    return {user.op->getLoc(), ""};
  }

  const AssignmentGraph &graph;
  unsigned part;
  std::vector<unsigned> producers;
};
} // namespace

bool propagate::asksForCollectives(const Node &node, unsigned part) {
  switch (node.kind) {
  case Node::Kind::Argument:
  case Node::Kind::Op:
    return false;
  case Node::Kind::Constrain:
    return !node.op->hasAttr(attr::expected);
  case Node::Kind::Result:
    return node.pins[part].has_value();
  }
  return false;
}

std::optional<Advice> propagate::adviceOnImplicit(const AssignmentGraph &graph,
                                                  const Cause &cause) {
  Advisor advisor(graph, cause.collective.part);
  if (cause.uses.empty() || advisor.isAskedFor(cause))
    return std::nullopt;
  return advisor.advice(cause);
}

std::optional<Advice> propagate::adviceOnTaken(const AssignmentGraph &graph,
                                               const Cause &cause) {
  return Advisor(graph, cause.collective.part).adviceOnTaken(cause);
}

bool propagate::hasImplicitCollectives(const AssignmentGraph &graph,
                                       const PartSolution &solved) {
  Advisor advisor(graph, solved.part);
  return llvm::any_of(causesOf(graph, solved), [&](const Cause &cause) {
    return !cause.uses.empty() && !advisor.isAskedFor(cause);
  });
}

void propagate::reportImplicitCollectives(const AssignmentGraph &graph,
                                          const PartSolution &solved) {
  Advisor advisor(graph, solved.part);
  for (const Cause &cause : causesOf(graph, solved))
    if (!cause.uses.empty() && !advisor.isAskedFor(cause))
      advisor.report(cause);
}
