//===- Globals.cpp - globals whose numbers are known ----------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Legalize.h"
#include "mlir/Dialect/MLProgram/IR/MLProgram.h"
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
