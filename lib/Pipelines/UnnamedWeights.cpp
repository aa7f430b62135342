//===- UnnamedWeights.cpp - weights that no plan entry names --------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "UnnamedWeights.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Diagnostics.h"
#include "tp/IR/ModuleLocation.h"
#include "tp/IR/PortAttributes.h"
#include "tp/IR/TP.h"
#include "tp/Transforms/Plan/NamePattern.h"
#include "tp/Transforms/Plan/WrittenPatterns.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringSet.h"
#include <map>

using namespace mlir;
using namespace tp;
namespace rt = tp::runtime;

/// The arguments that entries bound: by name, by kind and name, or by position.
static llvm::StringSet<> boundArguments(ArrayAttr bindings) {
  llvm::StringSet<> bound;
  for (auto row : bindings.getAsRange<DictionaryAttr>())
    for (auto value :
         row.getAs<ArrayAttr>("values").getAsRange<DictionaryAttr>()) {
      StringRef port = value.getAs<StringAttr>("port").getValue();
      if (llvm::is_contained({"weight", "bias", "parameter", "argument"}, port))
        bound.insert(value.getAs<StringAttr>("loc").getValue());
    }
  return bound;
}

/// Whether an entry bound this parameter.
static bool isBound(unsigned number, StringRef name,
                    const llvm::StringSet<> &bound) {
  return bound.contains(name) || bound.contains(("parameter:" + name).str()) ||
         bound.contains(std::to_string(number));
}

std::vector<rt::Port> tp::unnamedWeights(Attribute bindings,
                                         const rt::Manifest &manifest) {
  std::vector<rt::Port> unnamed;
  if (!bindings || manifest.mesh.numRanks() == 1)
    return unnamed;
  llvm::StringSet<> bound = boundArguments(cast<ArrayAttr>(bindings));
  // A plan names by its position the argument of an entry.
  llvm::StringSet<> seen;
  for (const rt::Entry &each : manifest.entries) {
    rt::EntryView entry(manifest, each);
    for (auto [position, port] : llvm::enumerate(entry.arguments))
      if (bound.contains(std::to_string(position)))
        seen.insert(port.name);
  }
  for (const rt::Port &port : manifest.arguments)
    if (port.role() == rt::PortRole::Parameter && !port.dead &&
        port.shape.size() >= 2 && port.localShape() == port.shape &&
        !bound.contains(port.name) &&
        !bound.contains(port.kind + ":" + port.name) &&
        !seen.contains(port.name))
      unnamed.push_back(port);
  return unnamed;
}

static void list(ArrayRef<rt::Port> weights, InFlightDiagnostic &diagnostic) {
  constexpr size_t mostListed = 8;
  llvm::interleaveComma(
      weights.take_front(mostListed), diagnostic,
      [&](const rt::Port &port) { diagnostic << "'" << port.name << "'"; });
  if (weights.size() > mostListed)
    diagnostic << " and " << weights.size() - mostListed << " more";
}

void tp::remarkUnnamedWeights(Attribute bindings, const rt::Manifest &manifest,
                              Location location) {
  std::vector<rt::Port> unnamed = unnamedWeights(bindings, manifest);
  if (unnamed.empty())
    return;
  InFlightDiagnostic remark =
      emitRemark(location) << "without implicit collectives every rank does "
                              "the work of weights that no plan entry names: ";
  list(unnamed, remark);
}

LogicalResult tp::forbidUnnamedWeights(Attribute bindings,
                                       const rt::Manifest &manifest,
                                       Location location) {
  if (!bindings && manifest.mesh.numRanks() > 1)
    return emitError(location) << "expected a plan for --no-unnamed-weights, "
                                  "got a program with pins of its own";
  std::vector<rt::Port> unnamed = unnamedWeights(bindings, manifest);
  if (unnamed.empty())
    return success();
  InFlightDiagnostic error =
      emitError(location) << "expected a plan entry for every weight, got none "
                             "for weights that are whole on every rank: ";
  list(unnamed, error);
  StringRef name = unnamed.front().name;
  if (size_t dot = name.rfind('.'); dot != StringRef::npos)
    error.attachNote() << "to keep a weight whole, write 'tp.parallelize \""
                       << name.take_front(dot)
                       << "\" with replicate'; to split it, colwise or "
                          "rowwise";
  else
    error.attachNote() << "to keep a weight whole, write 'tp.argument \""
                       << name << "\" replicate'; to split it, a shard";
  return error;
}

//===----------------------------------------------------------------------===//
// Forgotten weights
//===----------------------------------------------------------------------===//

namespace {
/// Finds products with a whole unnamed weight that sum over a dimension that
/// ranks split: of the other operand, which is collected for them, or of the
/// weight, of which each rank reads its part.
class WeightFinder {
public:
  WeightFinder(func::FuncOp function, const llvm::StringSet<> &bound)
      : function(function), bound(bound) {}

  void find();
  /// The names of the weights, in the order in which they are met.
  llvm::SetVector<StringRef> found;

private:
  /// Called with an operand of a product and the loop that it sums over.
  using OnSum = llvm::function_ref<void(OpOperand &, unsigned)>;
  void follow(Value value, int64_t dim, unsigned steps, OnSum onSum);
  void followInto(OpOperand &use, int64_t dim, unsigned steps, OnSum onSum);
  void followCollected(Operation *op, int64_t dim);
  void followParts(Value value, StringRef weight, unsigned steps);
  StringRef weightBehind(Value value);
  StringRef unnamedWeight(BlockArgument argument);

  func::FuncOp function;
  const llvm::StringSet<> &bound;
};
} // namespace

/// Ops between a collective or a weight and the product.
static constexpr unsigned mostSteps = 12;

/// Ops of one operand that keep all its elements: casts and other orders.
static bool isView(Operation *op) {
  if (isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(op))
    return true;
  auto linalgOp = dyn_cast<linalg::LinalgOp>(op);
  return linalgOp && linalgOp.getNumDpsInputs() == 1 &&
         linalgOp.getNumReductionLoops() == 0;
}

/// The name of the parameter, if ranks hold it whole and no entry names it.
StringRef WeightFinder::unnamedWeight(BlockArgument argument) {
  unsigned number = argument.getArgNumber();
  auto type = dyn_cast<RankedTensorType>(argument.getType());
  auto kind = function.getArgAttrOfType<StringAttr>(number, attr::kind);
  auto name = function.getArgAttrOfType<StringAttr>(number, attr::name);
  auto whole = function.getArgAttrOfType<TypeAttr>(number, attr::globalType);
  if (!type || type.getRank() < 2 || !kind || kind.getValue() != "parameter" ||
      !name || !whole || whole.getValue() != type ||
      isBound(number, name.getValue(), bound))
    return {};
  return name.getValue();
}

StringRef WeightFinder::weightBehind(Value value) {
  for (unsigned step = 0; step < mostSteps; ++step) {
    Operation *op = value.getDefiningOp();
    if (!op || !isView(op))
      break;
    value = op->getOperand(0);
  }
  auto argument = dyn_cast<BlockArgument>(value);
  return argument && argument.getOwner() == &function.front()
             ? unnamedWeight(argument)
             : StringRef();
}

void WeightFinder::followInto(OpOperand &use, int64_t dim, unsigned steps,
                              OnSum onSum) {
  Operation *op = use.getOwner();
  if (auto collapse = dyn_cast<tensor::CollapseShapeOp>(op)) {
    for (auto [place, group] :
         llvm::enumerate(collapse.getReassociationIndices()))
      if (llvm::is_contained(group, dim))
        follow(collapse.getResult(), place, steps, onSum);
    return;
  }
  if (auto expand = dyn_cast<tensor::ExpandShapeOp>(op)) {
    for (int64_t part : expand.getReassociationIndices()[dim])
      if (expand.getResultType().getDimSize(part) != 1)
        return follow(expand.getResult(), part, steps, onSum);
    return;
  }
  auto linalgOp = dyn_cast<linalg::LinalgOp>(op);
  if (!linalgOp || op->getNumResults() != 1 || !linalgOp.isDpsInput(&use))
    return;
  auto loop = dyn_cast<AffineDimExpr>(
      linalgOp.getMatchingIndexingMap(&use).getResult(dim));
  if (!loop)
    return;
  if (linalgOp.getIteratorTypesArray()[loop.getPosition()] ==
      utils::IteratorType::reduction)
    return onSum(use, loop.getPosition());
  AffineMap written =
      linalgOp.getMatchingIndexingMap(linalgOp.getDpsInitOperand(0));
  for (auto [place, expr] : llvm::enumerate(written.getResults()))
    if (expr == loop)
      follow(op->getResult(0), place, steps, onSum);
}

void WeightFinder::follow(Value value, int64_t dim, unsigned steps,
                          OnSum onSum) {
  if (steps < mostSteps)
    for (OpOperand &use : value.getUses())
      followInto(use, dim, steps + 1, onSum);
}

/// The other operands of a product that sums over the loop.
static SmallVector<OpOperand *> factorsBeside(OpOperand &use, unsigned loop) {
  SmallVector<OpOperand *> others;
  auto op = cast<linalg::LinalgOp>(use.getOwner());
  for (OpOperand *other : op.getDpsInputOperands())
    if (other != &use && op.getMatchingIndexingMap(other).isFunctionOfDim(loop))
      others.push_back(other);
  return others;
}

void WeightFinder::followCollected(Operation *op, int64_t dim) {
  // The products of the backward pass are those of the forward pass again.
  if (moduleOf(op->getLoc()).starts_with("bwd:"))
    return;
  follow(op->getResult(0), dim, 0, [&](OpOperand &use, unsigned loop) {
    for (OpOperand *other : factorsBeside(use, loop))
      if (StringRef weight = weightBehind(other->get()); !weight.empty())
        found.insert(weight);
  });
}

/// Parts of the weight begin where the rank decides.
void WeightFinder::followParts(Value value, StringRef weight, unsigned steps) {
  for (Operation *user : value.getUsers()) {
    if (isView(user) && steps < mostSteps)
      followParts(user->getResult(0), weight, steps + 1);
    auto slice = dyn_cast<tensor::ExtractSliceOp>(user);
    if (!slice || moduleOf(slice.getLoc()).starts_with("bwd:"))
      continue;
    for (auto [dim, offset] : llvm::enumerate(slice.getMixedOffsets()))
      if (isa<Value>(offset) &&
          slice.getSourceType().getRank() == slice.getType().getRank())
        follow(slice.getResult(), dim, 0, [&](OpOperand &use, unsigned loop) {
          if (!factorsBeside(use, loop).empty())
            found.insert(weight);
        });
  }
}

void WeightFinder::find() {
  for (Operation &op : function.front()) {
    if (auto gather = dyn_cast<AllGatherOp>(op))
      followCollected(gather, gather.getDim());
    else if (auto allToAll = dyn_cast<AllToAllOp>(op))
      followCollected(allToAll, allToAll.getConcatDim());
  }
  for (BlockArgument argument : function.getArguments())
    if (StringRef weight = unnamedWeight(argument); !weight.empty())
      followParts(argument, weight, 0);
}

/// The modules of parameters, and whether an entry binds one of their own.
static std::map<std::string, bool>
modulesWithParameters(ModuleOp module, const llvm::StringSet<> &bound) {
  std::map<std::string, bool> modules;
  for (auto function : module.getOps<func::FuncOp>())
    for (unsigned i = 0; i < function.getNumArguments(); ++i) {
      auto kind = function.getArgAttrOfType<StringAttr>(i, attr::kind);
      auto name = function.getArgAttrOfType<StringAttr>(i, attr::name);
      if (kind && kind.getValue() == "parameter" && name &&
          name.getValue().contains('.'))
        modules[name.getValue().rsplit('.').first.str()] |=
            isBound(i, name.getValue(), bound);
    }
  return modules;
}

void tp::warnOfForgottenWeights(ModuleOp module, Location location) {
  auto bindings = module->getAttrOfType<ArrayAttr>(attr::bindings);
  auto mesh = module->getAttrOfType<MeshAttr>(attr::mesh);
  // Where tp chooses the layouts nothing is forgotten.
  if (!bindings || bindings.empty() || !mesh ||
      mesh.getValue().numRanks() == 1 || module->hasAttr(attr::autoAxes))
    return;
  llvm::StringSet<> bound = boundArguments(bindings);
  std::vector<WrittenName> forgotten;
  for (auto function : module.getOps<func::FuncOp>()) {
    if (function.isExternal())
      continue;
    WeightFinder finder(function, bound);
    finder.find();
    for (StringRef name : finder.found)
      if (name.contains('.'))
        forgotten.push_back({name.rsplit('.').first.str(), "forgotten"});
  }
  // A pattern that an entry's module has too would give it a second style.
  std::map<std::string, bool> modules = modulesWithParameters(module, bound);
  auto namedLike = [&](StringRef pattern) {
    SmallVector<StringRef> named;
    for (const auto &[name, isNamed] : modules)
      if (isNamed && nameMatches(pattern, name))
        named.push_back(name);
    return named;
  };
  for (const auto &[pattern, number] : asPatterns(forgotten, namedLike)) {
    llvm::StringSet<> alike;
    for (const WrittenName &each : forgotten)
      if (nameMatches(pattern, each.name))
        alike.insert(each.name);
    size_t count = alike.size();
    InFlightDiagnostic warning = emitWarning(location)
                                 << "no plan entry names '" << pattern << "'";
    if (count > 1)
      warning << " (" << count << " modules)";
    warning << ": every rank holds "
            << (count > 1 ? "their weights" : "its weight")
            << " whole, though entries split " << (count > 1 ? "their" : "its")
            << " input";
    warning.attachNote() << "to split the product too, write 'tp.parallelize \""
                         << pattern
                         << "\" with rowwise'; to keep it whole, 'with "
                            "replicate'";
  }
}
