//===- SimulatePartitioned.cpp - the program that every rank runs ---------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CheckValue.h"
#include "Collectives.h"
#include "RunFunction.h"
#include "SimulatedMesh.h"
#include "tp/Interpreter/Distribute.h"
#include "tp/Simulate/Simulator.h"
#include <cmath>

using namespace mlir;
using namespace tp;
using namespace tp::simulator;

namespace {
/// A value that ops of both programs name by one id.
struct NamedValue {
  Operation *op = nullptr;
  TensorData array;
  bool isNamedLocally = false;
};

/// One entry of `tp.values`.
struct ValueName {
  int64_t id = 0;
  LayoutAttr layout;
  RankedTensorType type;
};

class PartitionedRun {
public:
  PartitionedRun(func::FuncOp local, func::FuncOp reference, MeshAttr mesh,
                 const SimulateOptions &options, SimulateReport &report)
      : local(local), reference(reference), mesh(mesh), options(options),
        ranks(mesh.getValue().numRanks()), report(report) {
    for (auto [rank, frame] : llvm::enumerate(ranks)) {
      frame.kind = Frame::Kind::Local;
      frame.rank = rank;
    }
  }

  LogicalResult run();

private:
  LogicalResult runReference();
  LogicalResult bindArguments(Block &block);
  LogicalResult checkPlainTypes(Operation &op);
  LogicalResult checkOp(Operation &op);
  LogicalResult check(Operation &op, Value value, std::string name,
                      const ValueName &port, const TensorData &expected,
                      Operation *expectedOp);
  LogicalResult checkReturn(Operation &terminator);
  /// For the result of an all_reduce, per element of the global value: the sum
  /// of the absolute values that the ranks add up. Where these cancel, it is
  /// the scale of what rounding leaves. Empty for other ops.
  std::vector<double> magnitudesOf(Operation &op, const ValueName &port);

  func::FuncOp local, reference;
  MeshAttr mesh;
  const SimulateOptions &options;
  std::vector<Frame> ranks;
  SimulateReport &report;
  std::vector<TensorData> inputs;
  std::vector<TensorData> returned;
  double longestReduction = 1;
  PartialRounding rounding;
  llvm::DenseMap<int64_t, NamedValue> named;
};
} // namespace

static LogicalResult readName(Operation &op, Attribute entry, bool isLocal,
                              std::optional<ValueName> &name) {
  name.reset();
  if (isa<UnitAttr>(entry))
    return success();
  auto dictionary = dyn_cast<DictionaryAttr>(entry);
  auto id = dictionary ? dictionary.getAs<IntegerAttr>("id") : IntegerAttr();
  if (!id)
    return op.emitOpError() << "attribute '" << attr::values
                            << "' has entries {id = N}, got " << entry;
  name.emplace();
  name->id = id.getInt();
  if (!isLocal)
    return success();
  name->layout = dictionary.getAs<LayoutAttr>("layout");
  if (auto type = dictionary.getAs<TypeAttr>("type"))
    name->type = dyn_cast<RankedTensorType>(type.getValue());
  if (name->layout && name->type)
    return success();
  return op.emitOpError() << "attribute '" << attr::values
                          << "' has entries {id, layout, type}, got " << entry;
}

static FailureOr<ArrayAttr> namesOf(Operation &op) {
  auto names = op.getAttrOfType<ArrayAttr>(attr::values);
  if (!names || names.size() == op.getNumResults())
    return names;
  return op.emitOpError() << "attribute '" << attr::values
                          << "' has one entry per result, got " << names.size()
                          << " for " << op.getNumResults();
}

LogicalResult PartitionedRun::runReference() {
  FailureOr<Block *> block = bodyOf(reference);
  if (failed(block))
    return failure();
  FailureOr<GlobalRun> global = runGlobally(reference, options);
  if (failed(global) || global->stoppedAt)
    return failure();
  inputs = global->inputs;
  longestReduction = global->longestReduction;
  for (Operation &op : (*block)->without_terminator()) {
    FailureOr<ArrayAttr> names = namesOf(op);
    if (failed(names))
      return failure();
    if (!*names)
      continue;
    for (auto [entry, result] : llvm::zip(names->getValue(), op.getResults())) {
      std::optional<ValueName> name;
      if (failed(readName(op, entry, /*isLocal=*/false, name)))
        return failure();
      if (!name)
        continue;
      NamedValue value{&op, global->frame.values.at(result)};
      if (!named.try_emplace(name->id, value).second)
        return op.emitOpError()
               << "names value " << name->id << ", which another op names too";
    }
  }
  for (Value value : (*block)->getTerminator()->getOperands())
    returned.push_back(global->frame.values.at(value));
  return success();
}

/// The buffer type is that of the layout's part of the global type.
static bool fits(Type buffer, const ValueName &port) {
  auto type = dyn_cast<RankedTensorType>(buffer);
  return type && type == port.layout.localType(port.type);
}

LogicalResult PartitionedRun::bindArguments(Block &block) {
  if (block.getNumArguments() != inputs.size())
    return local.emitOpError()
           << "has " << block.getNumArguments()
           << " arguments, the reference has " << inputs.size();
  for (BlockArgument argument : block.getArguments()) {
    unsigned number = argument.getArgNumber();
    const TensorData &input = inputs[number];
    std::vector<TensorData> parts(ranks.size(), input);
    if (isa<RankedTensorType>(argument.getType())) {
      ValueName port;
      port.layout = local.getArgAttrOfType<LayoutAttr>(number, attr::layout);
      if (auto type =
              local.getArgAttrOfType<TypeAttr>(number, attr::globalType))
        port.type = dyn_cast<RankedTensorType>(type.getValue());
      if (!port.layout || !port.type)
        return local.emitOpError()
               << "argument " << number << " has no '" << attr::layout
               << "' and '" << attr::globalType << "'";
      if (port.layout.getMesh() != mesh || !fits(argument.getType(), port) ||
          port.type.getShape() != input.shape())
        return local.emitOpError()
               << "argument " << number << " is a " << argument.getType()
               << ", expected the part of " << port.type << " under "
               << port.layout;
      parts = distributeAtRandom(input, port.layout, options.seed);
    }
    for (auto [frame, part] : llvm::zip(ranks, parts))
      frame.values[argument] = part;
  }
  return success();
}

LogicalResult PartitionedRun::checkPlainTypes(Operation &op) {
  for (Type type : op.getResultTypes())
    if (LayoutAttr::of(type))
      return op.emitOpError() << "still has a layout in its type " << type;
  if (auto axes = op.getAttrOfType<AxesAttr>("axes"))
    if (axes.getMesh() != mesh)
      return op.emitOpError() << "runs over " << axes.getMesh()
                              << ", the program is on " << mesh;
  return success();
}

std::vector<double> PartitionedRun::magnitudesOf(Operation &op,
                                                 const ValueName &port) {
  auto reduce = dyn_cast<AllReduceOp>(op);
  if (!reduce || !isa<FloatType>(port.type.getElementType()))
    return {};
  SmallVector<int64_t> strides = rowMajorStrides(port.type.getShape());
  std::vector<double> magnitudes(port.type.getNumElements(), 0);
  Value operand = op.getOperand(0);
  for (const std::vector<int64_t> &group :
       mesh.getValue().groups(reduce.getAxes().getParts()))
    for (int64_t rank : group)
      forEachHeld(port.layout, port.type.getShape(), rank,
                  [&](ArrayRef<int64_t> index, int64_t at) {
                    double sum = 0;
                    for (int64_t other : group) {
                      const TensorData &part = ranks[other].values.at(operand);
                      sum += std::fabs(part.get(part.isSplat() ? 0 : at).real);
                    }
                    int64_t offset = 0;
                    for (auto [position, stride] : llvm::zip(index, strides))
                      offset += position * stride;
                    magnitudes[offset] = std::max(magnitudes[offset], sum);
                  });
  return magnitudes;
}

LogicalResult PartitionedRun::check(Operation &op, Value value,
                                    std::string name, const ValueName &port,
                                    const TensorData &expected,
                                    Operation *expectedOp) {
  ScopedDiagnosticHandler addNote(op.getContext(), [&](Diagnostic &diag) {
    if (expectedOp)
      diag.attachNote(expectedOp->getLoc()) << "this op made the global value";
    return failure();
  });
  if (port.layout.getMesh() != mesh || !fits(value.getType(), port) ||
      port.type.getShape() != expected.shape() ||
      port.type.getElementType() != expected.elementType())
    return op.emitOpError()
           << name << " is a " << value.getType() << ", expected the part of "
           << port.type << " under " << port.layout;
  std::vector<TensorData> buffers;
  for (Frame &frame : ranks)
    buffers.push_back(frame.values.at(value));
  // The compiler may have chosen another order of accumulation.
  CheckedValue checked{&op,      std::move(name), port.layout,
                       expected, buffers,         /*allowRounding=*/true};
  std::vector<double> magnitudes = magnitudesOf(op, port);
  checked.magnitudes = magnitudes;
  checked.longestReduction = longestReduction;
  checked.coarsest = rounding.behind(op);
  if (failed(checkValue(checked)))
    return failure();
  if (port.layout.hasPartial())
    rounding.carry(op, value, /*isPartial=*/true);
  else
    rounding.settle(value);
  ++report.values;
  report.notNumbers += isNaNThroughout(expected);
  settle(checked);
  for (auto [frame, buffer] : llvm::zip(ranks, buffers))
    frame.values[value] = buffer;
  return success();
}

LogicalResult PartitionedRun::checkOp(Operation &op) {
  FailureOr<ArrayAttr> names = namesOf(op);
  if (failed(names))
    return failure();
  if (!*names)
    return success();
  for (auto [i, entry] : llvm::enumerate(names->getValue())) {
    std::optional<ValueName> name;
    if (failed(readName(op, entry, /*isLocal=*/true, name)))
      return failure();
    if (!name)
      continue;
    auto it = named.find(name->id);
    if (it == named.end())
      return op.emitOpError()
             << "names value " << name->id << ", which the reference lacks";
    it->second.isNamedLocally = true;
    if (failed(check(op, op.getResult(i), "result " + std::to_string(i), *name,
                     it->second.array, it->second.op)))
      return failure();
  }
  return success();
}

LogicalResult PartitionedRun::checkReturn(Operation &terminator) {
  if (terminator.getNumOperands() != returned.size())
    return terminator.emitOpError()
           << "returns " << terminator.getNumOperands()
           << " values, the reference returns " << returned.size();
  for (auto [i, value] : llvm::enumerate(terminator.getOperands())) {
    if (!isa<RankedTensorType>(value.getType()))
      continue;
    ValueName port;
    port.layout = local.getResultAttrOfType<LayoutAttr>(i, attr::layout);
    if (auto type = local.getResultAttrOfType<TypeAttr>(i, attr::globalType))
      port.type = dyn_cast<RankedTensorType>(type.getValue());
    if (!port.layout || !port.type)
      return local.emitOpError()
             << "result " << i << " has no '" << attr::layout << "' and '"
             << attr::globalType << "'";
    if (failed(check(terminator, value, "operand " + std::to_string(i), port,
                     returned[i], nullptr)))
      return failure();
  }
  return success();
}

LogicalResult PartitionedRun::run() {
  FailureOr<Block *> block = bodyOf(local);
  if (failed(block) || failed(runReference()) || failed(bindArguments(**block)))
    return failure();
  LastUses lastUses = lastUsesIn(**block);
  for (Operation &op : (*block)->without_terminator()) {
    if (failed(checkPlainTypes(op)))
      return failure();
    if (failed(evaluateOnRanks(&op, ranks)))
      return failure();
    for (Value result : op.getResults())
      rounding.carry(op, result, /*isPartial=*/false);
    if (failed(checkOp(op)))
      return failure();
    for (Value value : lastUses.lookup(&op))
      for (Frame &frame : ranks)
        frame.values.erase(value);
  }
  for (auto &[id, value] : named)
    report.unnamed += !value.isNamedLocally;
  return checkReturn(*(*block)->getTerminator());
}

static LogicalResult simulateAll(ModuleOp local, ModuleOp reference,
                                 const SimulateOptions &options,
                                 SimulateReport &counts) {
  MeshAttr mesh = findMesh(local);
  if (!mesh)
    return unrunnable(local)
           << "cannot be simulated: no argument has '" << attr::layout << "'";
  if (failed(checkMesh(local, mesh)))
    return failure();
  counts.ranks = mesh.getValue().numRanks();
  for (auto func : local.getOps<func::FuncOp>()) {
    if (func.isDeclaration())
      continue;
    auto match = reference.lookupSymbol<func::FuncOp>(func.getSymName());
    if (!match)
      return func.emitOpError() << "has no counterpart in the reference";
    if (failed(PartitionedRun(func, match, mesh, options, counts).run()))
      return failure();
  }
  return success();
}

LogicalResult tp::simulatePartitioned(ModuleOp local, ModuleOp reference,
                                      const SimulateOptions &options,
                                      SimulateReport *report) {
  SimulateReport unused;
  SimulateReport &counts = report ? *report : unused;
  return runAsFarAsPossible(local, options, counts, [&] {
    return simulateAll(local, reference, options, counts);
  });
}
