//===- AssignmentGraph.cpp - what layouts are assigned to -----------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AssignmentGraph.h"
#include "tp/IR/CustomOps.h"
#include "tp/IR/ModuleLocation.h"
#include "tp/Interfaces/BodyLinearity.h"
#include "tp/Sharding/AxisProblem.h"
#include "llvm/Support/xxhash.h"

using namespace mlir;
using namespace tp;
using namespace tp::propagate;

std::string AssignmentGraph::partName(unsigned part) const {
  return mesh().isWhole(parts[part])
             ? "'" + mesh().axes[parts[part].axis].name + "'"
             : toString(parts[part], mesh());
}

Location AssignmentGraph::location(const Node &node) const {
  if (node.kind == Node::Kind::Argument)
    return values[node.results.front()].getLoc();
  return node.op->getLoc();
}

SmallVector<SlotUse> AssignmentGraph::usesOfTensor(unsigned value) const {
  auto shared = sharedValues.find(value);
  if (shared == sharedValues.end())
    return llvm::to_vector(ArrayRef<SlotUse>(uses[value]));
  SmallVector<SlotUse> all;
  for (unsigned each : shared->second)
    llvm::append_range(all, uses[each]);
  return all;
}

std::string AssignmentGraph::describe(const Node &node) const {
  func::FuncOp function = entryOf(node);
  std::string text;
  llvm::raw_string_ostream os(text);
  auto port = [&](StringRef what, DictionaryAttr attributes) {
    os << what << " #" << node.index;
    if (auto name = attributes ? attributes.getAs<StringAttr>(attr::name)
                               : StringAttr())
      os << " ('" << name.getValue() << "')";
    if (entries.size() > 1)
      os << " of @" << function.getSymName();
  };
  switch (node.kind) {
  case Node::Kind::Argument:
    port("argument", function.getArgAttrDict(node.index));
    break;
  case Node::Kind::Result:
    port("result", function.getResultAttrDict(node.index));
    break;
  case Node::Kind::Constrain: {
    auto constrain = cast<ConstrainOp>(node.op);
    os << constrain.getPort() << " of '" << constrain.getModule() << "'";
    break;
  }
  case Node::Kind::Op:
    os << "'" << customNameOf(node.op) << "'";
    if (SourceName name = sourceNameOf(node.op->getLoc()); !name.module.empty())
      os << " (" << name.module << " " << name.location << ")";
  }
  return text;
}

FailureOr<SmallVector<func::FuncOp>> propagate::functionsOf(ModuleOp module) {
  SmallVector<func::FuncOp> found;
  for (auto func : module.getOps<func::FuncOp>()) {
    if (func.isExternal())
      continue;
    if (!func.getBody().hasOneBlock())
      return func.emitError("expected a body of one block, got ")
             << func.getBody().getBlocks().size();
    found.push_back(func);
  }
  if (found.empty())
    return module.emitError("expected a function with a body, got none");
  return found;
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

namespace {
class GraphReader {
public:
  GraphReader(ArrayRef<func::FuncOp> entries, MeshAttr mesh,
              bool replicateUnknown)
      : replicateUnknown(replicateUnknown) {
    graph.entries.assign(entries.begin(), entries.end());
    graph.func = entries.front();
    for (func::FuncOp each : entries)
      graph.entryCalls.push_back(callsOf(each));
    graph.meshAttr = mesh;
  }
  FailureOr<AssignmentGraph> read();

private:
  unsigned addValue(Value value, uint64_t key, bool isWeight, bool isTable);
  LogicalResult readEntry(unsigned number);
  /// Ties the arguments that entries share.
  LogicalResult shareArguments();
  /// Hashed into the keys of ports: none of the first entry.
  uint64_t portKey(unsigned side, unsigned index) const {
    uint64_t key = combineKeys(side, index);
    return entry ? combineKeys(key, entry) : key;
  }
  LogicalResult readArgument(unsigned index);
  LogicalResult readOp(Operation *op);
  bool repeatsPin(const Node &node) const;
  LogicalResult readResults(Operation *terminator);
  LogicalResult checkFreePorts();

  /// Being read.
  func::FuncOp func;
  unsigned entry = 0;
  bool replicateUnknown;
  AssignmentGraph graph;
  llvm::DenseMap<Value, unsigned> numbers;
  /// Per value, by number. Tables are computed from nothing but constants and
  /// replicated buffers (positions, masks).
  std::vector<uint64_t> keys;
  std::vector<bool> isTable;
  /// Per value, by number: the node that makes it.
  std::vector<unsigned> makers;
};

/// A hash of what the op is, without its operands. Attributes are hashed by
/// address elsewhere, which would change from run to run.
uint64_t keyOf(Operation *op) {
  uint64_t key = 0;
  auto add = [&](uint64_t part) { key = combineKeys(key, part); };
  auto addText = [&](StringRef text) { add(llvm::xxh3_64bits(text)); };
  op->walk([&](Operation *inner) {
    addText(inner->getName().getStringRef());
    for (Type type : inner->getResultTypes()) {
      if (auto tensor = dyn_cast<RankedTensorType>(type))
        for (int64_t size : tensor.getShape())
          add(size);
      Type element = getElementTypeOrSelf(type);
      add(element.isIntOrFloat() ? element.getIntOrFloatBitWidth() : 0);
    }
  });
  if (auto constrain = dyn_cast<ConstrainOp>(op)) {
    addText(constrain.getModule());
    addText(constrain.getPort());
    addText(constrain.getAxis());
  }
  return key;
}
} // namespace

unsigned GraphReader::addValue(Value value, uint64_t key, bool isWeight,
                               bool table) {
  unsigned number = graph.values.size();
  numbers[value] = number;
  graph.values.push_back(value);
  graph.uses.emplace_back();
  graph.isWeight.push_back(isWeight);
  graph.isSumOfWeights.push_back(false);
  keys.push_back(key);
  isTable.push_back(table);
  makers.push_back(graph.nodes.size());
  return number;
}

LogicalResult GraphReader::readArgument(unsigned index) {
  BlockArgument argument = func.getArgument(index);
  auto type = dyn_cast<RankedTensorType>(argument.getType());
  if (!type && !isa<TensorType>(argument.getType()))
    return success();
  auto emitError = [&] {
    return mlir::emitError(argument.getLoc())
           << "argument #" << index << " of '" << func.getName() << "': ";
  };
  if (!type || !type.hasStaticShape() || type.getEncoding())
    return emitError() << "expected a plain tensor of static shape, got "
                       << argument.getType();
  DictionaryAttr attributes = func.getArgAttrDict(index);
  auto pins = portPins(attributes, type, graph.mesh(), emitError);
  if (failed(pins))
    return failure();
  auto kind =
      attributes ? attributes.getAs<StringAttr>(attr::kind) : StringAttr();
  bool isBuffer = kind && (kind == "buffer" || kind == "constant_tensor");
  bool isPinned = llvm::any_of(*pins, [](const std::optional<Pin> &pin) {
    return pin && !pin->placement.isReplicate();
  });
  Node node;
  node.kind = Node::Kind::Argument;
  node.index = index;
  node.entry = entry;
  node.pins = *pins;
  node.isUserInput = kind && kind == "user_input";
  node.free = freePorts(attributes, graph.mesh());
  node.key = portKey(1, index);
  node.results.push_back(addValue(argument, node.key,
                                  isBuffer || (kind && kind == "parameter"),
                                  isBuffer && !isPinned));
  graph.nodes.push_back(std::move(node));
  return success();
}

LogicalResult GraphReader::readOp(Operation *op) {
  if (!handlesTensors(op))
    return success();
  Node node;
  node.op = op;
  node.entry = entry;
  FailureOr<ShardingRule> rule = ruleOf(op, replicateUnknown);
  if (failed(rule))
    return failure();
  node.rule = std::move(*rule);
  node.pins.resize(graph.mesh().axes.size());
  if (auto constrain = dyn_cast<ConstrainOp>(op)) {
    node.kind = Node::Kind::Constrain;
    auto pins = constrainPins(constrain, graph.mesh());
    if (failed(pins))
      return failure();
    node.pins = *pins;
  } else if (replicateUnknown && !hasRule(op)) {
    mlir::emitRemark(op->getLoc(), "'")
        << customNameOf(op) << "' has no sharding rule and is replicated";
  }
  node.key = keyOf(op);
  bool isWeight = !node.rule.slots.empty(), hasWeight = false;
  bool isSum = true;
  bool table = node.kind == Node::Kind::Op;
  for (Value slot : node.rule.slots) {
    auto it = numbers.find(slot);
    if (it == numbers.end())
      return op->emitOpError("uses a tensor that is defined in a region "
                             "around it, which is not handled yet");
    unsigned number = it->second;
    graph.uses[number].push_back({static_cast<unsigned>(graph.nodes.size()),
                                  static_cast<unsigned>(node.slots.size())});
    node.slots.push_back(number);
    node.key = combineKeys(node.key, keys[number]);
    hasWeight |= graph.isWeight[number];
    isSum &= !graph.movesWeights(number);
    isWeight &= graph.isWeight[number] || isTable[number];
    table &= isTable[number];
  }
  isSum |= llvm::any_of(node.rule.factors, [](const Factor &factor) {
    return factor.kind == FactorKind::Reduction && factor.size > 1;
  });
  for (auto [i, result] : llvm::enumerate(op->getResults()))
    if (isa<RankedTensorType>(result.getType())) {
      node.results.push_back(addValue(result, combineKeys(node.key, i),
                                      isWeight && hasWeight, table));
      graph.isSumOfWeights.back() = isWeight && hasWeight && isSum;
    }
  if (node.kind == Node::Kind::Constrain && repeatsPin(node))
    op->getResult(0).replaceAllUsesWith(graph.values[node.slots.front()]);
  graph.nodes.push_back(std::move(node));
  return success();
}

/// Whether the value that the node pins has the same pins already. What reads
/// the node then reads that value.
bool GraphReader::repeatsPin(const Node &node) const {
  const Node &maker = graph.nodes[makers[node.slots.front()]];
  if (maker.kind == Node::Kind::Op)
    return false;
  auto isExact = [](const Pin &pin) {
    return !pin.lazy && !pin.inChunksOfUses &&
           llvm::all_of(pin.dims,
                        [&](int64_t dim) { return dim == pin.placement.dim; });
  };
  return llvm::all_of(llvm::zip_equal(node.pins, maker.pins), [&](auto pins) {
    const auto &[pin, made] = pins;
    return !pin || (made && isExact(*pin) && isExact(*made) &&
                    pin->placement == made->placement);
  });
}

LogicalResult GraphReader::readResults(Operation *terminator) {
  for (auto [index, value] : llvm::enumerate(terminator->getOperands())) {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    if (!type)
      continue;
    auto pins = portPins(
        func.getResultAttrDict(index), type, graph.mesh(), [&, index = index] {
          return terminator->emitError()
                 << "result #" << index << " of '" << func.getName() << "': ";
        });
    if (failed(pins))
      return failure();
    Node node;
    node.kind = Node::Kind::Result;
    node.op = terminator;
    node.index = index;
    node.entry = entry;
    node.pins = *pins;
    node.free = freePorts(func.getResultAttrDict(index), graph.mesh());
    node.slots.push_back(numbers.at(value));
    graph.uses[node.slots[0]].push_back(
        {static_cast<unsigned>(graph.nodes.size()), 0});
    node.key = combineKeys(portKey(2, index), keys[node.slots[0]]);
    graph.nodes.push_back(std::move(node));
  }
  return success();
}

LogicalResult GraphReader::checkFreePorts() {
  for (const Node &node : graph.nodes)
    for (auto [axis, free] : llvm::enumerate(node.free)) {
      if (free != FreePort::AsParameter)
        continue;
      // An update of a state has the state's layout, which may be that of the
      // state's parameter.
      std::optional<FreePort> there = FreePort::AsParameter;
      for (std::optional<unsigned> at = node.tiedTo;
           there == FreePort::AsParameter && at; at = graph.nodes[*at].tiedTo)
        there = graph.nodes[*at].free[axis];
      if (!there || there == FreePort::AsParameter)
        return mlir::emitError(graph.location(node))
               << graph.describe(node) << " is pinned '"
               << toString(FreePort::AsParameter)
               << "', expected a parameter of its name and shape that is "
                  "pinned '"
               << toString(FreePort::Sharded) << "', '"
               << toString(FreePort::Any) << "' or '"
               << toString(FreePort::FullySharded) << "'";
    }
  return success();
}

LogicalResult GraphReader::readEntry(unsigned number) {
  entry = number;
  func = graph.entries[number];
  for (unsigned i = 0; i < func.getNumArguments(); ++i)
    if (failed(readArgument(i)))
      return failure();
  Block &block = func.getBody().front();
  for (Operation &op : block.without_terminator())
    if (failed(readOp(&op)))
      return failure();
  return readResults(block.getTerminator());
}

LogicalResult GraphReader::shareArguments() {
  llvm::DenseMap<std::pair<unsigned, unsigned>, unsigned> nodeOf;
  for (auto [number, node] : llvm::enumerate(graph.nodes))
    if (node.kind == Node::Kind::Argument)
      nodeOf[{node.entry, node.index}] = number;
  SharedArguments shared(graph.entries);
  for (ArrayRef<EntryArgument> tensor : shared.tensors()) {
    SmallVector<unsigned, 2> nodes, values;
    for (EntryArgument each : tensor)
      if (auto node = nodeOf.find({each.entry, each.argument});
          node != nodeOf.end()) {
        nodes.push_back(node->second);
        values.push_back(graph.nodes[node->second].results.front());
      }
    if (nodes.empty())
      continue;
    const Node &first = graph.nodes[nodes.front()];
    for (unsigned number : nodes) {
      Node &node = graph.nodes[number];
      graph.sharedValues[node.results.front()] = values;
      if (number == nodes.front())
        continue;
      node.sharedWith = nodes.front();
      if (graph.entryOf(node).getArgAttr(node.index, attr::pin) !=
          graph.entryOf(first).getArgAttr(first.index, attr::pin)) {
        InFlightDiagnostic error = mlir::emitError(graph.location(node))
                                   << graph.describe(node)
                                   << " has another pin than in @"
                                   << graph.entryOf(first).getSymName()
                                   << ", expected one, as entries share it";
        error.attachNote(graph.location(first)) << "the other pin is here";
        return error;
      }
    }
  }
  return success();
}

FailureOr<AssignmentGraph> GraphReader::read() {
  for (unsigned number = 0; number < graph.entries.size(); ++number)
    if (failed(readEntry(number)))
      return failure();
  findTiedPorts(graph);
  if (failed(checkFreePorts()) || failed(shareArguments()))
    return failure();
  findSegmentations(graph);
  cutAxes(graph);
  countCalls(graph);
  findEquivalentOps(graph);
  return std::move(graph);
}

FailureOr<AssignmentGraph>
propagate::readAssignmentGraph(ArrayRef<func::FuncOp> entries, MeshAttr mesh,
                               bool replicateUnknown) {
  return GraphReader(entries, mesh, replicateUnknown).read();
}
