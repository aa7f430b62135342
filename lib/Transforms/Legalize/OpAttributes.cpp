//===- OpAttributes.cpp - attributes that the table knows -----------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tp/Transforms/Legalize/OpAttributes.h"
#include "Legalize.h"

using namespace mlir;
using namespace tp;

const AttributeRule *OpRule::find(StringRef attribute) const {
  auto it = llvm::find_if(attributes, [&](const AttributeRule *rule) {
    return rule->name == attribute;
  });
  return it == attributes.end() ? nullptr : *it;
}

/// The op's own attributes by name, those in native properties too.
static SmallVector<NamedAttribute> inherentAttributes(Operation *op) {
  SmallVector<NamedAttribute> attributes;
  if (auto own =
          dyn_cast_or_null<DictionaryAttr>(op->getPropertiesAsAttribute()))
    llvm::append_range(attributes, own);
  return attributes;
}

LogicalResult tp::checkAttributes(Operation *op) {
  StringRef name = op->getName().getStringRef();
  if (!llvm::is_contained(dialectsOfOpTable(),
                          op->getName().getDialectNamespace()))
    return success();
  const OpRule *rule = opRule(name);
  if (rule && rule->use == OpUse::RefusedLater)
    return success();
  if (!rule || rule->use == OpUse::Refused)
    return op->emitError() << "'" << name
                           << "' is not known to this version of tp, expected "
                              "other ops of linalg, tensor, arith and math";
  for (NamedAttribute attribute : inherentAttributes(op)) {
    const AttributeRule *known = rule->find(attribute.getName());
    if (!known)
      return op->emitError()
             << "attribute '" << attribute.getName().getValue() << "' of '"
             << name
             << "' is not handled: tp's table of attributes does not know it";
    if (known->isKnown && !known->isKnown(attribute.getValue()))
      return op->emitError()
             << "attribute '" << attribute.getName().getValue() << "' of '"
             << name
             << "' is not handled with this value: " << attribute.getValue();
  }
  return success();
}

LogicalResult legalize::checkAttributes(func::FuncOp function) {
  WalkResult walk = function.walk<WalkOrder::PreOrder>([](Operation *op) {
    return failed(tp::checkAttributes(op)) ? WalkResult::interrupt()
                                           : WalkResult::advance();
  });
  return failure(walk.wasInterrupted());
}

void legalize::dropPermissions(func::FuncOp function) {
  MLIRContext *context = function.getContext();
  auto none =
      arith::FastMathFlagsAttr::get(context, arith::FastMathFlags::none);
  auto wraps = arith::IntegerOverflowFlagsAttr::get(
      context, arith::IntegerOverflowFlags::none);
  function.walk([&](Operation *op) {
    const OpRule *rule = opRule(op->getName().getStringRef());
    if (!rule)
      return;
    for (const AttributeRule *known : rule->attributes) {
      std::optional<Attribute> value = op->getInherentAttr(known->name);
      if (known->use != AttributeUse::Dropped || !value || !*value)
        continue;
      // Optional ones go, others get the value that permits nothing.
      if (isa<arith::ExtFOp, arith::TruncFOp>(op) || isa<UnitAttr>(*value))
        op->removeAttr(known->name);
      else if (isa<arith::FastMathFlagsAttr>(*value))
        op->setAttr(known->name, none);
      else if (isa<arith::IntegerOverflowFlagsAttr>(*value))
        op->setAttr(known->name, wraps);
    }
  });
}
