//===- Explain.cpp - causes of collectives as attributes ------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CollectiveCauses.h"
#include "Problem/AxisModelBuilder.h"
#include "mlir/IR/Builders.h"
#include "tp/IR/CauseAttributes.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace tp;
using namespace tp::propagate;

namespace {
/// Of a change that moves everything else many collectives differ.
constexpr size_t mostListed = 8;

class CauseWriter {
public:
  explicit CauseWriter(AssignmentGraph &graph)
      : graph(graph), builder(graph.func.getContext()),
        producers(graph.values.size()) {
    for (auto [number, node] : llvm::enumerate(graph.nodes))
      for (unsigned value : node.results)
        producers[value] = number;
    readEntries();
  }

  void add(const Cause &cause, const NextBest &best) {
    unsigned value = cause.collective.made.value;
    NamedAttrList entry;
    entry.set("axis", text(axisName(cause.collective.part)));
    entry.set("from", text(toString(cause.collective.made.from.placement)));
    entry.set("to", placement(cause.collective.made.to.placement));
    entry.set("of", nameOf(sourceOf(value)));
    SmallVector<Attribute> pins;
    for (unsigned pin : cause.pins)
      pins.push_back(pinOf(graph.nodes[pin], cause.collective.part));
    for (unsigned weight : cause.wholeWeights)
      pins.push_back(pinOf(graph.nodes[weight], cause.collective.part));
    entry.set("pins", builder.getArrayAttr(pins));
    bool isAuto = isAutoAxis(graph, graph.parts[cause.collective.part].axis);
    if (isAuto)
      entry.set("chosen", chosenFor(cause));
    if (cause.taken) {
      entry.set("taken", text(toString(*cause.taken)));
      if (std::optional<Advice> advice = adviceOnTaken(graph, cause))
        if (std::string at = entryText(advice->at); !at.empty())
          entry.set("to_take",
                    builder.getDictionaryAttr(
                        {builder.getNamedAttr("at", text(at)),
                         builder.getNamedAttr("option", text(advice->text))}));
    }
    std::optional<Advice> advice = adviceOnImplicit(graph, cause);
    // Where tp chooses, no entry could have asked.
    if (advice && !isAuto) {
      std::string at = entryText(advice->at);
      for (Location also : advice->alsoAt)
        if (std::string other = entryText(also); !other.empty())
          at += (at.empty() ? "" : ", ") + other;
      entry.set("implicit", text(advice->text.empty()
                                     ? ""
                                     : "to ask for it, write " + advice->text +
                                           (at.empty() ? "" : ", ") + at));
    }
    entry.set("next_best", nextBest(best));
    written[value].push_back(entry.getDictionary(builder.getContext()));
  }

  /// On arguments, and on ops, a list per result.
  void write() {
    for (const Node &node : graph.nodes) {
      SmallVector<Attribute> lists;
      for (unsigned value : node.results)
        lists.push_back(builder.getArrayAttr(written[value]));
      if (llvm::all_of(lists, [](Attribute list) {
            return cast<ArrayAttr>(list).empty();
          }))
        continue;
      if (node.kind == Node::Kind::Argument)
        graph.entryOf(node).setArgAttr(node.index, attr::causes, lists.front());
      else
        node.op->setAttr(attr::causes, builder.getArrayAttr(lists));
    }
  }

  void remark(const Cause &cause, const NextBest &best) const {
    const CostedCollective &collective = cause.collective;
    Value value = graph.values[collective.made.value];
    InFlightDiagnostic remark = mlir::emitRemark(value.getLoc());
    remark << toString(collective.made.kind) << " of what "
           << graph.describe(graph.nodes[producers[collective.made.value]])
           << " makes on axis " << graph.partName(collective.part) << ", "
           << collective.ringBytes << " bytes per rank: ";
    switch (best.outcome) {
    case NextBest::Outcome::None:
      remark << "the pins leave no other choice";
      break;
    case NextBest::Outcome::TooLarge:
      remark << "the next best choice is beyond what can be proved; plan "
                "entries for more modules leave fewer choices";
      break;
    case NextBest::Outcome::NotTried:
      remark << "the next best choice was not looked for, there are too many "
                "collectives";
      break;
    case NextBest::Outcome::Found:
      remark << "the next best choice has "
             << llvm::formatv("{0}{1} bytes and {2}{3:F1} us",
                              best.ringBytes < 0 ? "" : "+", best.ringBytes,
                              best.picoseconds < 0 ? "" : "+",
                              double(best.picoseconds) / 1e6)
                    .str();
    }
    auto list = [&](StringRef what, ArrayRef<CostedCollective> list) {
      for (const CostedCollective &other : list.take_front(mostListed))
        remark.attachNote(graph.values[other.made.value].getLoc())
            << what << " " << toString(other.made.kind) << " of what "
            << graph.describe(graph.nodes[producers[other.made.value]])
            << " makes on axis " << graph.partName(other.part) << ", "
            << toString(other.made.from.placement) << " to "
            << toString(other.made.to.placement) << ", " << other.ringBytes
            << " bytes per rank";
    };
    list("with", best.added);
    list("without", best.removed);
  }

private:
  StringAttr text(const Twine &twine) { return builder.getStringAttr(twine); }
  PlacementAttr placement(const Placement &placement) {
    return PlacementAttr::get(builder.getContext(), placement);
  }
  /// `tp`, or `tp:1:2`.
  std::string axisName(unsigned part) const {
    std::string name = graph.partName(part);
    llvm::erase_if(name, [](char c) { return c == '\'' || c == '"'; });
    return name;
  }

  /// Where the plan pins the ports of the function.
  void readEntries() {
    for (DictionaryAttr binding : bindingsOf(graph.func)) {
      auto at = binding.getAs<StringAttr>("at");
      auto style = binding.getAs<StringAttr>("style");
      auto values = binding.getAs<ArrayAttr>("values");
      if (!at || !style || !values)
        continue;
      for (Attribute each : values) {
        auto bound = dyn_cast<DictionaryAttr>(each);
        auto port = bound ? bound.getAs<StringAttr>("port") : StringAttr();
        auto name = bound ? bound.getAs<StringAttr>("loc") : StringAttr();
        if (!port || !name)
          continue;
        bool isResult = port == "result";
        if (isResult || port == "argument" || port == "weight" ||
            port == "bias" || port == "parameter")
          entries.try_emplace(
              ((isResult ? "result " : "argument ") + name.getValue()).str(),
              at);
      }
    }
  }

  DictionaryAttr pinOf(const Node &node, unsigned part) {
    NamedAttrList pin;
    pin.set("layout", text(toString(node.pins[part]->placement)));
    StringAttr entry;
    if (node.kind == Node::Kind::Constrain) {
      auto constrain = cast<ConstrainOp>(node.op);
      pin.set("what", constrain.getPortAttr());
      pin.set("name", constrain.getModuleAttr());
      if (std::string at = entryText(constrain.getLoc()); !at.empty())
        entry = text(at);
    } else {
      bool isArgument = node.kind == Node::Kind::Argument;
      DictionaryAttr attributes =
          isArgument ? graph.entryOf(node).getArgAttrDict(node.index)
                     : graph.entryOf(node).getResultAttrDict(node.index);
      auto name =
          attributes ? attributes.getAs<StringAttr>(attr::name) : StringAttr();
      StringRef what = isArgument ? "argument" : "result";
      pin.set("what", text(what));
      pin.set("name", name ? name : text(Twine(node.index)));
      // A plan names a port by name or by position.
      std::string named = (what + " " + (name ? name.getValue() : "")).str();
      std::string numbered = (what + " " + Twine(node.index)).str();
      entry = entries.lookup(named);
      if (!entry)
        entry = entries.lookup(numbered);
    }
    if (entry)
      pin.set("entry", entry);
    return pin.getDictionary(builder.getContext());
  }

  /// The value before all pins of it.
  unsigned sourceOf(unsigned value) const {
    while (graph.nodes[producers[value]].kind == Node::Kind::Constrain)
      value = graph.nodes[producers[value]].slots.front();
    return value;
  }

  /// The argument, the pin, or the location of the op that makes the value.
  Attribute nameOf(unsigned value) {
    const Node &producer = graph.nodes[producers[value]];
    auto name = producer.kind == Node::Kind::Argument
                    ? graph.entryOf(producer).getArgAttrOfType<StringAttr>(
                          producer.index, attr::name)
                    : StringAttr();
    if (name)
      return name;
    if (producer.kind == Node::Kind::Constrain) {
      auto pin = cast<ConstrainOp>(producer.op);
      return text(pin.getPort() + " of " + pin.getModule());
    }
    return cast<Attribute>(LocationAttr(graph.values[value].getLoc()));
  }

  /// The arguments that tp divides, with their layouts.
  ArrayAttr chosenFor(const Cause &cause) {
    SmallVector<Attribute> list;
    for (const auto &[number, placement] : cause.chosen) {
      const Node &node = graph.nodes[number];
      NamedAttrList entry;
      auto name = graph.entryOf(node).getArgAttrOfType<StringAttr>(node.index,
                                                                   attr::name);
      entry.set("what", text("argument"));
      entry.set("name", name ? name : text(Twine(node.index)));
      entry.set("layout", text(toString(placement)));
      list.push_back(entry.getDictionary(builder.getContext()));
    }
    return builder.getArrayAttr(list);
  }

  ArrayAttr listed(ArrayRef<CostedCollective> list) {
    SmallVector<Attribute> entries;
    for (const CostedCollective &collective : list.take_front(mostListed)) {
      NamedAttrList entry;
      entry.set("kind", text(toString(collective.made.kind)));
      entry.set("axis", text(axisName(collective.part)));
      entry.set("from", text(toString(collective.made.from.placement)));
      entry.set("to", text(toString(collective.made.to.placement)));
      entry.set("ring_bytes_per_rank",
                builder.getI64IntegerAttr(collective.ringBytes));
      if (collective.times > 1)
        entry.set("times", builder.getI64IntegerAttr(collective.times));
      entry.set("of", nameOf(collective.made.value));
      entries.push_back(entry.getDictionary(builder.getContext()));
    }
    return builder.getArrayAttr(entries);
  }

  Attribute nextBest(const NextBest &best) {
    switch (best.outcome) {
    case NextBest::Outcome::None:
      return text("none");
    case NextBest::Outcome::TooLarge:
      return text("too large");
    case NextBest::Outcome::NotTried:
      return text("not tried");
    case NextBest::Outcome::Found:
      break;
    }
    NamedAttrList entry;
    entry.set("ring_bytes_per_rank", builder.getI64IntegerAttr(best.ringBytes));
    entry.set("time_ps", builder.getI64IntegerAttr(best.picoseconds));
    entry.set("with", listed(best.added));
    entry.set("without", listed(best.removed));
    auto beyond = [](size_t size) {
      return static_cast<int64_t>(size - std::min(size, mostListed));
    };
    entry.set("more_with",
              builder.getI64IntegerAttr(beyond(best.added.size())));
    entry.set("more_without",
              builder.getI64IntegerAttr(beyond(best.removed.size())));
    return entry.getDictionary(builder.getContext());
  }

  AssignmentGraph &graph;
  Builder builder;
  std::vector<unsigned> producers;
  llvm::StringMap<StringAttr> entries;
  llvm::DenseMap<unsigned, SmallVector<Attribute>> written;
};
} // namespace

void propagate::explainCollectives(AssignmentGraph &graph,
                                   ArrayRef<PartSolution> solved,
                                   const AssignmentOptions &options,
                                   const AssignmentLimits &limits,
                                   int64_t limit, bool remarks) {
  CauseWriter writer(graph);
  for (auto [at, part] : llvm::enumerate(solved))
    for (const Cause &cause : causesOf(graph, part)) {
      NextBest best;
      if (limit-- > 0)
        best = nextBest(graph, solved, at, cause, options, limits);
      writer.add(cause, best);
      if (remarks)
        writer.remark(cause, best);
    }
  writer.write();
}
