//===- PlanSyntax.h - custom directives of the plan ops ---------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_IR_PLANSYNTAX_H
#define TP_LIB_IR_PLANSYNTAX_H

#include "tp/IR/TP.h"

namespace tp {
/// A style's name, a keyword.
mlir::ParseResult parseStyle(mlir::OpAsmParser &parser,
                             mlir::StringAttr &style);
void printStyle(mlir::OpAsmPrinter &printer, mlir::Operation *op,
                mlir::StringAttr style);
/// `{name = value, ...}`, or nothing.
mlir::ParseResult parsePlanOptions(mlir::OpAsmParser &parser,
                                   mlir::DictionaryAttr &options);
void printPlanOptions(mlir::OpAsmPrinter &printer, mlir::Operation *op,
                      mlir::DictionaryAttr options);
/// A `tp.name` in quotes, or a position.
mlir::ParseResult parsePortName(mlir::OpAsmParser &parser,
                                mlir::Attribute &port);
void printPortName(mlir::OpAsmPrinter &printer, mlir::Operation *op,
                   mlir::Attribute port);
/// A placement whose dimension may count from the back.
mlir::ParseResult parsePlanPlacement(mlir::OpAsmParser &parser,
                                     PlacementAttr &placement);
void printPlanPlacement(mlir::OpAsmPrinter &printer, mlir::Operation *op,
                        PlacementAttr placement);
} // namespace tp

#endif // TP_LIB_IR_PLANSYNTAX_H
