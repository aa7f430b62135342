//===- AssignmentGraph.cpp - what layouts are assigned to -----------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AssignmentGraph.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "tp/IR/ModuleLocation.h"
#include "tp/Interfaces/BodyLinearity.h"
#include "tp/Interfaces/ReplicatedRule.h"
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

std::string AssignmentGraph::describe(const Node &node) const {
  func::FuncOp function = func;
  std::string text;
  llvm::raw_string_ostream os(text);
  auto port = [&](StringRef what, DictionaryAttr attributes) {
    os << what << " #" << node.index;
    if (auto name = attributes ? attributes.getAs<StringAttr>(attr::name)
                               : StringAttr())
      os << " ('" << name.getValue() << "')";
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
    os << "'" << node.op->getName() << "'";
    if (SourceName name = sourceNameOf(node.op->getLoc()); !name.module.empty())
      os << " (" << name.module << " " << name.location << ")";
  }
  return text;
}

FailureOr<func::FuncOp> propagate::functionOf(ModuleOp module) {
  func::FuncOp found;
  for (auto func : module.getOps<func::FuncOp>()) {
    if (func.isExternal())
      continue;
    if (found) {
      InFlightDiagnostic error =
          func.emitError("expected one function with a body, got a second one");
      error.attachNote(found.getLoc()) << "the first one is here";
      return failure();
    }
    found = func;
  }
  if (!found)
    return module.emitError("expected one function with a body, got none");
  if (!found.getBody().hasOneBlock())
    return found.emitError("expected a body of one block, got ")
           << found.getBody().getBlocks().size();
  return found;
}

bool propagate::handlesTensors(Operation *op) {
  auto isTensor = [](Type type) { return isa<TensorType>(type); };
  return llvm::any_of(op->getOperandTypes(), isTensor) ||
         llvm::any_of(op->getResultTypes(), isTensor) || !slotsOf(op).empty();
}

static ShardingRule identityRule(ConstrainOp op) {
  ShardingRule rule = replicatedRule(op);
  for (auto [dim, size] : llvm::enumerate(op.getType().getShape())) {
    rule.factors.emplace_back().size = size;
    rule.slotFactors[0][dim] =
        rule.resultFactors[0][dim] = {static_cast<unsigned>(dim)};
  }
  for (ReductionKind kind : allReductionKinds)
    rule.passthroughs.push_back({kind, {0}, kind});
  return rule;
}

FailureOr<ShardingRule> propagate::ruleOf(Operation *op,
                                          bool replicateUnknown) {
  for (Type type :
       llvm::concat<const Type>(llvm::to_vector(op->getOperandTypes()),
                                llvm::to_vector(op->getResultTypes()))) {
    if (!isa<TensorType>(type))
      continue;
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (!tensor || !tensor.hasStaticShape() || tensor.getEncoding())
      return op->emitOpError("expected plain tensors of static shape, got ")
             << type;
  }
  if (auto constrain = dyn_cast<ConstrainOp>(op))
    return identityRule(constrain);
  if (auto model = dyn_cast<ShardingRuleOpInterface>(op))
    return model.getShardingRule();
  // The dialect loads tensor.empty, which has a rule wherever rules are loaded.
  auto empty = RegisteredOperationName::lookup(TypeID::get<tensor::EmptyOp>(),
                                               op->getContext());
  if (!empty || !empty->hasInterface<ShardingRuleOpInterface>())
    return op->emitOpError("has no sharding rule, because tp's sharding rules "
                           "are not loaded; mlir-opt loads them with "
                           "--load-dialect-plugin=tp-plugin.so, a tool with "
                           "tp::registerCompileDialects");
  if (replicateUnknown)
    return replicatedRule(op);
  return op->emitOpError("has no sharding rule, so it is not known how to "
                         "split it; 'replicate-unknown' makes every rank do "
                         "all of it");
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

namespace {
class GraphReader {
public:
  GraphReader(func::FuncOp func, MeshAttr mesh, bool replicateUnknown)
      : func(func), replicateUnknown(replicateUnknown) {
    graph.func = func;
    graph.meshAttr = mesh;
  }
  FailureOr<AssignmentGraph> read();

private:
  unsigned addValue(Value value, uint64_t key, bool isWeight, bool isTable);
  LogicalResult readArgument(unsigned index);
  LogicalResult readOp(Operation *op);
  LogicalResult readResults(Operation *terminator);
  LogicalResult checkFreePorts();

  func::FuncOp func;
  bool replicateUnknown;
  AssignmentGraph graph;
  llvm::DenseMap<Value, unsigned> numbers;
  /// Per value, by number. Tables are computed from nothing but constants and
  /// replicated buffers (positions, masks).
  std::vector<uint64_t> keys;
  std::vector<bool> isTable;
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
  keys.push_back(key);
  isTable.push_back(table);
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
  node.pins = *pins;
  node.isUserInput = kind && kind == "user_input";
  node.free = freePorts(attributes, graph.mesh());
  node.key = combineKeys(1, index);
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
  } else if (replicateUnknown && !isa<ShardingRuleOpInterface>(op)) {
    mlir::emitRemark(op->getLoc())
        << "'" << op->getName() << "' has no sharding rule and is replicated";
  }
  node.key = keyOf(op);
  bool isWeight = !node.rule.slots.empty();
  bool hasWeight = false;
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
    isWeight &= graph.isWeight[number] || isTable[number];
    table &= isTable[number];
  }
  for (auto [i, result] : llvm::enumerate(op->getResults()))
    if (isa<RankedTensorType>(result.getType()))
      node.results.push_back(addValue(result, combineKeys(node.key, i),
                                      isWeight && hasWeight, table));
  graph.nodes.push_back(std::move(node));
  return success();
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
    node.pins = *pins;
    node.free = freePorts(func.getResultAttrDict(index), graph.mesh());
    node.slots.push_back(numbers.at(value));
    graph.uses[node.slots[0]].push_back(
        {static_cast<unsigned>(graph.nodes.size()), 0});
    node.key = combineKeys(combineKeys(2, index), keys[node.slots[0]]);
    graph.nodes.push_back(std::move(node));
  }
  return success();
}

LogicalResult GraphReader::checkFreePorts() {
  for (const Node &node : graph.nodes)
    for (auto [axis, free] : llvm::enumerate(node.free)) {
      if (free != FreePort::AsParameter)
        continue;
      std::optional<FreePort> there;
      if (node.tiedTo)
        there = graph.nodes[*node.tiedTo].free[axis];
      if (!there || there == FreePort::AsParameter)
        return mlir::emitError(graph.location(node))
               << graph.describe(node) << " is pinned '"
               << toString(FreePort::AsParameter)
               << "', expected a parameter of its name and shape that is "
                  "pinned '"
               << toString(FreePort::Sharded) << "' or '"
               << toString(FreePort::Any) << "'";
    }
  return success();
}

FailureOr<AssignmentGraph> GraphReader::read() {
  for (unsigned i = 0; i < func.getNumArguments(); ++i)
    if (failed(readArgument(i)))
      return failure();
  Block &block = func.getBody().front();
  for (Operation &op : block.without_terminator())
    if (failed(readOp(&op)))
      return failure();
  if (failed(readResults(block.getTerminator())))
    return failure();
  findTiedPorts(graph);
  if (failed(checkFreePorts()))
    return failure();
  findSegmentations(graph);
  cutAxes(graph);
  findEquivalentOps(graph);
  return std::move(graph);
}

FailureOr<AssignmentGraph>
propagate::readAssignmentGraph(func::FuncOp func, MeshAttr mesh,
                               bool replicateUnknown) {
  return GraphReader(func, mesh, replicateUnknown).read();
}
