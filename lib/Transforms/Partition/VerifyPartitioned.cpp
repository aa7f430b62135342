//===- VerifyPartitioned.cpp - plain types, right local shapes ------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "tp/IR/Collective.h"
#include "tp/IR/CustomOps.h"
#include "tp/IR/PortAttributes.h"
#include "tp/Transforms/Partition/PartitionPasses.h"

namespace tp {
#define GEN_PASS_DEF_VERIFYPARTITIONED
#include "tp/Transforms/Partition/Passes.h.inc"
} // namespace tp

using namespace mlir;
using namespace tp;

static LogicalResult verifyShape(Operation *op, Type type, LayoutAttr layout,
                                 TypeAttr global, const Twine &what) {
  auto globalType = global ? dyn_cast<RankedTensorType>(global.getValue())
                           : RankedTensorType();
  if (!layout != !globalType)
    return op->emitOpError() << what << " has "
                             << (layout ? "a layout but no global type"
                                        : "a global type but no layout");
  if (!layout)
    return success();
  if (failed(layout.verifyEncoding(globalType.getShape(),
                                   globalType.getElementType(),
                                   [&] { return op->emitOpError(); })))
    return failure();
  RankedTensorType expected = layout.localType(globalType);
  if (expected == type)
    return success();
  return op->emitOpError() << what << " is a " << type << ", its layout makes "
                           << globalType << " a " << expected;
}

static LogicalResult verifyPlain(Operation *op, TypeRange types) {
  for (Type type : types)
    if (LayoutAttr::of(type))
      return op->emitOpError() << "has a layout in type " << type
                               << ", expected plain types after tp-partition";
  return success();
}

static LogicalResult verifyOp(Operation *op) {
  // What ops take is a result or a block's argument.
  if (failed(verifyPlain(op, op->getResultTypes())))
    return failure();
  for (Region &region : op->getRegions())
    for (Block &block : region)
      if (failed(verifyPlain(op, block.getArgumentTypes())))
        return failure();
  // The last three are the back end's, which may have seen the layers kept.
  if (isa_and_nonnull<TPDialect>(op->getDialect()) && !isCollective(op) &&
      !isa<AxisIndexOp, CustomOp, KeptOp, NeededOp, AttendOp, AttendBackwardOp>(
          op))
    return op->emitOpError("is left, expected none after tp-partition");
  auto values = op->getAttrOfType<ArrayAttr>(attr::values);
  if (!values || op->getNumResults() == 0)
    return success();
  for (auto [i, entry] : llvm::enumerate(values)) {
    auto value = dyn_cast<DictionaryAttr>(entry);
    if (value && failed(verifyShape(op, op->getResult(i).getType(),
                                    value.getAs<LayoutAttr>("layout"),
                                    value.getAs<TypeAttr>("type"),
                                    "result #" + Twine(i))))
      return failure();
  }
  return success();
}

namespace {
struct VerifyPartitionedPass
    : tp::impl::VerifyPartitionedBase<VerifyPartitionedPass> {
  LogicalResult verify(func::FuncOp func) {
    if (failed(verifyPortAttributes(func)) ||
        failed(verifyPlain(func, func.getArgumentTypes())) ||
        failed(verifyPlain(func, func.getResultTypes())))
      return failure();
    auto verifyPorts = [&](ArrayRef<Type> types, auto attributeOf,
                           StringRef port) -> LogicalResult {
      for (auto [i, type] : llvm::enumerate(types))
        if (failed(verifyShape(
                func, type,
                dyn_cast_or_null<LayoutAttr>(attributeOf(i, attr::layout)),
                dyn_cast_or_null<TypeAttr>(attributeOf(i, attr::globalType)),
                port + " #" + Twine(i))))
          return failure();
      return success();
    };
    auto ofArgument = [&](unsigned i, StringRef name) {
      return func.getArgAttr(i, name);
    };
    auto ofResult = [&](unsigned i, StringRef name) {
      return func.getResultAttr(i, name);
    };
    if (failed(verifyPorts(func.getArgumentTypes(), ofArgument, "argument")) ||
        failed(verifyPorts(func.getResultTypes(), ofResult, "result")))
      return failure();
    WalkResult result = func.walk([](Operation *op) {
      return failed(verifyOp(op)) ? WalkResult::interrupt()
                                  : WalkResult::advance();
    });
    return failure(result.wasInterrupted());
  }

  void runOnOperation() override {
    markAllAnalysesPreserved();
    for (auto func : getOperation().getOps<func::FuncOp>())
      if (failed(verify(func)))
        return signalPassFailure();
  }
};
} // namespace
