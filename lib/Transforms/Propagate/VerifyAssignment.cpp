//===- VerifyAssignment.cpp - tp-verify-assignment ------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Graph/AssignmentGraph.h"
#include "tp/IR/PortNames.h"
#include "tp/Transforms/Propagate/PropagatePasses.h"

namespace tp {
#define GEN_PASS_DEF_VERIFYASSIGNMENT
#include "tp/Transforms/Propagate/Passes.h.inc"
} // namespace tp

using namespace mlir;
using namespace tp;
using namespace tp::propagate;

namespace {
class AssignmentVerifier {
public:
  AssignmentVerifier(func::FuncOp func, MeshAttr mesh)
      : func(func), mesh(mesh) {}

  LogicalResult verify() {
    bool ok = true;
    for (unsigned i = 0; i < func.getNumArguments(); ++i)
      ok &= succeeded(verifyPort("argument", i, func.getArgumentTypes()[i],
                                 func.getArgAttrDict(i),
                                 func.getArgument(i).getLoc()));
    for (Operation &op : func.getBody().front().without_terminator())
      ok &= succeeded(verifyOp(&op));
    Operation *terminator = func.getBody().front().getTerminator();
    for (unsigned i = 0; i < func.getNumResults(); ++i)
      ok &= succeeded(verifyPort("result", i, func.getResultTypes()[i],
                                 func.getResultAttrDict(i),
                                 terminator->getLoc()));
    return success(ok && succeeded(verifyParameters()));
  }

private:
  /// States and updated parameters lie as the parameter does, where tp chose
  /// for it.
  LogicalResult verifyParameters();
  LogicalResult verifyPort(StringRef what, unsigned index, Type type,
                           DictionaryAttr attributes, Location loc);
  LogicalResult verifyOp(Operation *op);
  LogicalResult verifyPins(ArrayRef<std::optional<Pin>> pins,
                           const Layout &layout,
                           function_ref<InFlightDiagnostic()> emitError);
  /// True if the parts of `entries` make up every axis.
  template <typename Entries> bool coversAxes(const Entries &entries) const {
    const Mesh &grid = mesh.getValue();
    SmallVector<int64_t> covered(grid.axes.size(), 1);
    for (const auto &entry : entries)
      covered[entry.part.axis] *= entry.part.size;
    return llvm::all_of(llvm::zip_equal(covered, grid.axes), [](auto pair) {
      return std::get<0>(pair) == std::get<1>(pair).size;
    });
  }

  func::FuncOp func;
  MeshAttr mesh;
};

/// What entries share has one layout.
LogicalResult verifyShared(ArrayRef<func::FuncOp> entries) {
  SharedArguments shared(entries);
  for (ArrayRef<EntryArgument> tensor : shared.tensors()) {
    auto layoutOf = [&](EntryArgument each) {
      func::FuncOp entry = entries[each.entry];
      return entry.getArgAttrOfType<LayoutAttr>(each.argument, attr::layout);
    };
    for (EntryArgument each : tensor.drop_front()) {
      if (layoutOf(each) == layoutOf(tensor.front()))
        continue;
      func::FuncOp entry = entries[each.entry],
                   first = entries[tensor[0].entry];
      return mlir::emitError(entry.getArgument(each.argument).getLoc())
             << "argument #" << each.argument << " of '" << entry.getName()
             << "' has layout " << layoutOf(each) << ", in '" << first.getName()
             << "' it has " << layoutOf(tensor.front())
             << ": expected one, as entries share it";
    }
  }
  return success();
}

struct VerifyAssignmentPass
    : tp::impl::VerifyAssignmentBase<VerifyAssignmentPass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    FailureOr<SmallVector<func::FuncOp>> entries = functionsOf(module);
    if (failed(entries))
      return signalPassFailure();
    auto mesh = module->getAttrOfType<MeshAttr>(attr::mesh);
    if (!mesh) {
      module.emitError("has no attribute '") << attr::mesh << "'";
      return signalPassFailure();
    }
    for (func::FuncOp entry : *entries)
      if (failed(AssignmentVerifier(entry, mesh).verify()))
        return signalPassFailure();
    if (failed(verifyShared(*entries)))
      signalPassFailure();
  }
};
} // namespace

LogicalResult
AssignmentVerifier::verifyPins(ArrayRef<std::optional<Pin>> pins,
                               const Layout &layout,
                               function_ref<InFlightDiagnostic()> emitError) {
  for (auto [axis, pin] : llvm::enumerate(pins)) {
    if (!pin || mesh.getValue().axes[axis].size == 1)
      continue;
    bool isKept = false;
    for (const AxisPlacement &entry : layout.entries) {
      if (entry.part.axis != axis)
        continue;
      // A minor sub-axis may replicate what the major one shards.
      isKept = pin->allows(entry.placement) ||
               (entry.part.major > 1 && isKept && pin->placement.isShard() &&
                entry.placement.isReplicate());
      if (!isKept)
        return emitError() << "is pinned to " << toString(pin->placement)
                           << " on axis "
                           << toString(entry.part, mesh.getValue()) << ", got "
                           << toString(entry.placement);
    }
  }
  return success();
}

LogicalResult AssignmentVerifier::verifyPort(StringRef what, unsigned index,
                                             Type type,
                                             DictionaryAttr attributes,
                                             Location loc) {
  auto emitError = [&] {
    return mlir::emitError(loc)
           << what << " #" << index << " of '" << func.getName() << "' ";
  };
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor)
    return success();
  auto layout =
      attributes ? attributes.getAs<LayoutAttr>(attr::layout) : LayoutAttr();
  if (!layout)
    return emitError() << "has no layout";
  if (layout.getMesh() != mesh || !coversAxes(layout.getValue().entries))
    return emitError() << "has a layout that is not for the program's mesh";
  if (std::string broken =
          layout.getValue().verify(mesh.getValue(), tensor.getShape());
      !broken.empty())
    return emitError() << "has a wrong layout: " << broken;
  auto pins = portPins(attributes, tensor, mesh.getValue(), emitError);
  if (failed(pins))
    return failure();
  bool isPinned = llvm::any_of(*pins, [](const std::optional<Pin> &pin) {
    return pin && pin->placement.isPartial();
  });
  // Of what updates an argument, that one's layout is looked at.
  bool isTied = llvm::is_contained(freePorts(attributes, mesh.getValue()),
                                   FreePort::AsParameter);
  if (what == "result" && layout.hasPartial() && !isPinned && !isTied)
    return emitError() << "is partial, which no pin asks for";
  return verifyPins(*pins, layout.getValue(), emitError);
}

LogicalResult AssignmentVerifier::verifyParameters() {
  PortNames arguments(func, PortSide::Argument);
  PortNames results(func, PortSide::Result);
  auto verifyOne = [&](DictionaryAttr attributes, StringRef what,
                       unsigned index, Location loc,
                       std::optional<unsigned> argument) -> LogicalResult {
    for (auto [axis, free] :
         llvm::enumerate(freePorts(attributes, mesh.getValue()))) {
      if (free != FreePort::AsParameter)
        continue;
      auto here = attributes.getAs<LayoutAttr>(attr::layout);
      auto there =
          argument ? func.getArgAttrOfType<LayoutAttr>(*argument, attr::layout)
                   : LayoutAttr();
      auto onAxis = [&, axis = axis](const AxisPlacement &entry) {
        return entry.part.axis == axis;
      };
      if (!there || llvm::to_vector(llvm::make_filter_range(
                        here.getValue().entries, onAxis)) !=
                        llvm::to_vector(llvm::make_filter_range(
                            there.getValue().entries, onAxis)))
        return mlir::emitError(loc)
               << what << " #" << index << " of '" << func.getName()
               << "' does not have its parameter's layout, got " << here;
    }
    return success();
  };
  for (unsigned i = 0; i < func.getNumArguments(); ++i)
    if (failed(verifyOne(func.getArgAttrDict(i), "argument", i,
                         func.getArgument(i).getLoc(),
                         parameterOfState(func, arguments, i))))
      return failure();
  for (unsigned i = 0; i < func.getNumResults(); ++i)
    if (failed(verifyOne(func.getResultAttrDict(i), "result", i, func.getLoc(),
                         arguments.updatedBy(results, i))))
      return failure();
  return success();
}

LogicalResult AssignmentVerifier::verifyOp(Operation *op) {
  if (!handlesTensors(op))
    return success();
  auto strategyAttr = op->getAttrOfType<StrategyAttr>(attr::strategy);
  if (!strategyAttr)
    return op->emitOpError("has no strategy");
  const Strategy &strategy = strategyAttr.getValue();
  const Mesh &grid = mesh.getValue();
  if (strategyAttr.getMesh() != mesh || !coversAxes(strategy.entries))
    return op->emitOpError("has a strategy that is not for the program's mesh");
  FailureOr<ShardingRule> rule = ruleOf(op, /*replicateUnknown=*/true);
  if (failed(rule))
    return failure();
  if (std::string why = rule->whyIllegal(strategy, grid); !why.empty())
    return op->emitOpError("has an illegal strategy ") << why;

  auto layouts = op->getAttrOfType<ArrayAttr>(attr::resultLayouts);
  unsigned result = 0;
  for (auto [i, type] : llvm::enumerate(op->getResultTypes())) {
    if (!isa<RankedTensorType>(type))
      continue;
    auto layout = layouts && i < layouts.size()
                      ? dyn_cast<LayoutAttr>(layouts[i])
                      : LayoutAttr();
    if (!layout)
      return op->emitOpError("has no layout for result #") << i;
    Layout expected = rule->resultLayout(result++, strategy);
    if (layout.getMesh() != mesh || !(layout.getValue() == expected))
      return op->emitOpError("result #")
             << i << " has layout " << layout.getValue().toString(grid)
             << ", but the strategy makes " << expected.toString(grid);
    if (auto constrain = dyn_cast<ConstrainOp>(op)) {
      auto pins = constrainPins(constrain, grid);
      if (failed(pins) || failed(verifyPins(*pins, expected,
                                            [&] { return op->emitOpError(); })))
        return failure();
    }
  }
  return success();
}
