//===- VerifyLegal.cpp - what no stage handles, by name -------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Legalize.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/MLProgram/IR/MLProgram.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "tp/IR/Entries.h"

using namespace mlir;
using namespace tp;

namespace {
class LegalityVerifier {
public:
  LogicalResult verify(func::FuncOp function);

private:
  LogicalResult verifyType(Location loc, Type type);
  LogicalResult verifyTypes(Operation *op);
  LogicalResult verifyTop(Operation *op);
  LogicalResult verifyInner(Operation *op);
};
} // namespace

LogicalResult LegalityVerifier::verifyType(Location loc, Type type) {
  Type element = getElementTypeOrSelf(type);
  if (isa<ComplexType>(element))
    return emitError(loc) << "complex numbers are not handled, got " << type
                          << "; expected real and imaginary parts apart";
  if (auto tensor = dyn_cast<TensorType>(type)) {
    if (!tensor.hasStaticShape())
      return emitError(loc) << "expected tensors of static shape, got " << type
                            << "; export the model with fixed sizes";
    if (!element.isIntOrIndexOrFloat())
      return emitError(loc) << "element type " << element
                            << " is not handled, expected numbers";
    return success();
  }
  if (type.isIntOrIndexOrFloat())
    return success();
  return emitError(loc) << "type " << type
                        << " is not handled, expected tensors and numbers";
}

/// What `op` makes whose size nothing tells.
static LogicalResult verifyShapes(Operation *op) {
  for (Type type : op->getResultTypes()) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (!tensor || tensor.hasStaticShape())
      continue;
    const auto *dim = llvm::find(tensor.getShape(), ShapedType::kDynamic);
    return op->emitError()
           << "'" << op->getName()
           << "': expected tensors of static shape, got " << tensor
           << ", whose dimension " << dim - tensor.getShape().begin()
           << " no constant tells; export the model with fixed sizes, or write "
              "the size as a constant";
  }
  return success();
}

LogicalResult LegalityVerifier::verifyTypes(Operation *op) {
  for (Region &region : op->getRegions())
    for (Block &block : region)
      for (BlockArgument argument : block.getArguments())
        if (failed(verifyType(argument.getLoc(), argument.getType())))
          return failure();
  if (failed(verifyShapes(op)))
    return failure();
  for (Value value : llvm::concat<Value>(llvm::to_vector(op->getOperands()),
                                         llvm::to_vector(op->getResults())))
    if (failed(verifyType(op->getLoc(), value.getType())))
      return failure();
  return success();
}

/// What to write instead of an op that is no computation on tensors.
static StringRef insteadOf(Operation *op) {
  if (isa<scf::WhileOp>(op))
    return "a loop of constant bounds; how often this one runs is known only "
           "at run time";
  if (isa<scf::SCFDialect>(op->getDialect()))
    return "linalg.generic";
  if (isa<ml_program::MLProgramDialect>(op->getDialect()))
    return "state to be an argument and a result";
  if (isa<tm_tensor::AttentionOp>(op))
    return "its products and its softmax; export with sdpa_kernel("
           "SDPBackend.MATH) around, or with attn_implementation=\"eager\"";
  if (isa<tm_tensor::ScanOp>(op))
    return "a sum over a masked dimension; export with a decomposition of "
           "aten.cumsum, such as a product with a triangular matrix";
  if (isa<tm_tensor::SortOp, tm_tensor::TopkOp>(op))
    return "linalg ops; export with a decomposition of aten.sort or aten.topk, "
           "such as one maximum after the other";
  if (isa<UnrealizedConversionCastOp>(op))
    return "a cast between integers that differ in their sign only, such as "
           "ui32 and i32; write other casts with arith and tensor ops";
  return "ops of linalg, tensor, arith and math on tensors";
}

static LogicalResult refuse(Operation *op) {
  return op->emitError() << "'" << op->getName()
                         << "' is not handled, expected " << insteadOf(op);
}

static bool isNumberOp(Operation *op) {
  return op->getNumRegions() == 0 &&
         isa_and_present<arith::ArithDialect, math::MathDialect>(
             op->getDialect());
}

LogicalResult LegalityVerifier::verifyTop(Operation *op) {
  if (isa<func::ReturnOp, tensor::EmptyOp>(op))
    return success();
  for (Type type :
       llvm::concat<const Type>(llvm::to_vector(op->getOperandTypes()),
                                llvm::to_vector(op->getResultTypes())))
    if (legalize::hasNoElements(type))
      return op->emitError() << "'" << op->getName()
                             << "' on a tensor without elements is not "
                                "handled, got "
                             << type;
  if (auto constant = dyn_cast<arith::ConstantOp>(op);
      constant && isa<TensorType>(constant.getType()) &&
      !isa<DenseIntOrFPElementsAttr>(constant.getValue()))
    return op->emitError() << "constant of " << constant.getType()
                           << " holds no numbers, expected dense elements";
  if (auto linalgOp = dyn_cast<linalg::LinalgOp>(op);
      linalgOp && linalgOp.hasPureTensorSemantics() &&
      failed(legalize::verifyIndexingMaps(linalgOp)))
    return failure();
  if (isNumberOp(op) ||
      isa_and_present<tensor::TensorDialect, linalg::LinalgDialect, TPDialect>(
          op->getDialect()) ||
      isa<cf::AssertOp>(op))
    return success();
  if (isa<UnrealizedConversionCastOp>(op) ||
      isa_and_present<tm_tensor::TMTensorDialect>(op->getDialect()))
    return refuse(op);
  // The user may want what works on tensors replicated.
  bool handlesTensors = llvm::any_of(
      op->getResultTypes(), [](Type type) { return isa<TensorType>(type); });
  if (handlesTensors && op->getNumRegions() == 0 &&
      !isa_and_present<scf::SCFDialect, ml_program::MLProgramDialect>(
          op->getDialect()))
    return success();
  return refuse(op);
}

LogicalResult LegalityVerifier::verifyInner(Operation *op) {
  for (Value operand : op->getOperands())
    if (legalize::hasNoElements(operand.getType()))
      return op->emitError()
             << "'" << op->getName() << "' reads a tensor without elements, "
             << operand.getType()
             << ", in every iteration; expected the read in the side of an "
                "scf.if that is not taken";
  if (isNumberOp(op) || isa<tensor::ExtractOp, tensor::YieldOp, linalg::IndexOp,
                            linalg::YieldOp, cf::AssertOp>(op))
    return success();
  return refuse(op);
}

LogicalResult LegalityVerifier::verify(func::FuncOp function) {
  if (failed(verifyTypes(function)))
    return failure();
  Region &body = function.getBody();
  Operation *terminator = body.front().getTerminator();
  if (!body.hasOneBlock() || !isa<func::ReturnOp>(terminator)) {
    InFlightDiagnostic error =
        terminator->emitError()
        << "'" << terminator->getName()
        << "' is not handled, expected a function of one block; write "
           "branches as scf.if";
    error.attachNote(function.getLoc())
        << "this function has " << body.getBlocks().size() << " blocks";
    return error;
  }
  for (Operation &top : body.front()) {
    if (failed(verifyTypes(&top)) || failed(verifyTop(&top)))
      return failure();
    for (Region &region : top.getRegions()) {
      WalkResult walk = region.walk([&](Operation *inner) {
        return failed(verifyTypes(inner)) || failed(verifyInner(inner))
                   ? WalkResult::interrupt()
                   : WalkResult::advance();
      });
      if (walk.wasInterrupted())
        return failure();
    }
  }
  return success();
}

LogicalResult legalize::verifyLegal(ModuleOp module) {
  FailureOr<SmallVector<func::FuncOp>> entries = findEntries(module);
  if (failed(entries))
    return failure();
  for (Operation &op : *module.getBody()) {
    if (isa<func::FuncOp>(op)) {
      if (!llvm::is_contained(*entries, cast<func::FuncOp>(op)))
        return op.emitError() << "expected calls to be inlined, got a function "
                                 "that is no entry; run tp-legalize before";
    } else if (!isa_and_present<TPDialect>(op.getDialect())) {
      return refuse(&op);
    }
  }
  for (func::FuncOp entry : *entries)
    if (failed(LegalityVerifier().verify(entry)))
      return failure();
  return verifyEntries(module);
}
