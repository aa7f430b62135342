//===- Globals.cpp - globals whose numbers are known ----------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Legalize.h"
#include "mlir/Dialect/MLProgram/IR/MLProgram.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "mlir/IR/SymbolTable.h"

using namespace mlir;
using namespace tp;

LogicalResult legalize::loadConstantGlobals(ModuleOp module) {
  SmallVector<Operation *> loads;
  module.walk([&](Operation *op) {
    if (isa<ml_program::GlobalLoadConstOp, ml_program::GlobalLoadOp,
            ml_program::GlobalStoreOp>(op))
      loads.push_back(op);
  });
  for (Operation *load : loads) {
    auto name = load->getAttrOfType<SymbolRefAttr>("global");
    auto global =
        SymbolTable::lookupNearestSymbolFrom<ml_program::GlobalOp>(load, name);
    if (!global)
      continue;
    if (global.getIsMutable())
      return load->emitError()
             << "'" << load->getName() << "' uses the mutable global " << name
             << ", expected state to be an argument and a result";
    auto value = dyn_cast_or_null<TypedAttr>(global.getValueAttr());
    if (!value || isa<ml_program::ExternAttr>(value))
      return load->emitError()
             << "loads the global " << name
             << ", whose numbers are not in the module; expected an argument";
    OpBuilder builder(load);
    Value constant = arith::ConstantOp::create(builder, load->getLoc(), value);
    if (constant.getType() != load->getResult(0).getType())
      return load->emitError() << "loads " << load->getResult(0).getType()
                               << " from a global of " << constant.getType();
    load->getResult(0).replaceAllUsesWith(constant);
    load->erase();
  }
  for (auto global :
       llvm::make_early_inc_range(module.getOps<ml_program::GlobalOp>()))
    if (SymbolTable::symbolKnownUseEmpty(global, module))
      global.erase();
  return success();
}

/// The elements of a resource, or null if its bytes are not those of `type`.
static DenseElementsAttr elementsOf(ShapedType type, ArrayRef<char> bytes) {
  if (type.getElementType().isInteger(1)) {
    if (static_cast<int64_t>(bytes.size()) != type.getNumElements())
      return {};
    SmallVector<bool> flags(bytes.begin(), bytes.end());
    return DenseElementsAttr::get(type, flags);
  }
  bool isSplat = false;
  if (!DenseElementsAttr::isValidRawBuffer(type, bytes, isSplat))
    return {};
  return DenseElementsAttr::getFromRawBuffer(type, bytes);
}

LogicalResult legalize::readResources(func::FuncOp function) {
  WalkResult walk = function.walk([](arith::ConstantOp op) {
    auto resource = dyn_cast<DenseResourceElementsAttr>(op.getValue());
    if (!resource)
      return WalkResult::advance();
    AsmResourceBlob *blob = resource.getRawHandle().getBlob();
    DenseElementsAttr elements =
        blob ? elementsOf(resource.getType(), blob->getData())
             : DenseElementsAttr();
    if (!elements) {
      op.emitError() << "resource '" << resource.getRawHandle().getKey() << "' "
                     << (blob ? "does not hold"
                              : "is not in the file, expected")
                     << " the elements of " << resource.getType();
      return WalkResult::interrupt();
    }
    op.setValueAttr(elements);
    return WalkResult::advance();
  });
  return failure(walk.wasInterrupted());
}
