//===- PlanPortSyntax.cpp - how a plan writes ports and their layouts -----===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PlanSyntax.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace tp;

ParseResult tp::parsePortName(OpAsmParser &parser, Attribute &port) {
  std::string name;
  if (succeeded(parser.parseOptionalString(&name))) {
    port = parser.getBuilder().getStringAttr(name);
    return success();
  }
  int64_t position;
  if (parser.parseInteger(position))
    return failure();
  port = parser.getBuilder().getI64IntegerAttr(position);
  return success();
}

void tp::printPortName(OpAsmPrinter &printer, Operation *, Attribute port) {
  if (auto position = dyn_cast<IntegerAttr>(port))
    printer << position.getInt();
  else
    printer << port;
}

ParseResult tp::parsePlanPlacement(OpAsmParser &parser, PlacementAttr &attr) {
  Placement placement;
  if (tp::parsePlacement(parser, placement, /*allowNegativeDim=*/true))
    return failure();
  attr = PlacementAttr::get(parser.getContext(), placement);
  return success();
}

void tp::printPlanPlacement(OpAsmPrinter &printer, Operation *,
                            PlacementAttr placement) {
  tp::printPlacement(printer, placement.getValue());
}
