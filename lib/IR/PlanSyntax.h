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
/// `{name = value, ...}` of a style, or nothing.
mlir::ParseResult parsePlanOptions(mlir::OpAsmParser &parser,
                                   mlir::DictionaryAttr &options,
                                   mlir::StringAttr style);
void printPlanOptions(mlir::OpAsmPrinter &printer, mlir::Operation *op,
                      mlir::DictionaryAttr options, mlir::StringAttr style);
/// The same of an entry without a style.
mlir::ParseResult parseEntryOptions(mlir::OpAsmParser &parser,
                                    mlir::DictionaryAttr &options);
void printEntryOptions(mlir::OpAsmPrinter &printer, mlir::Operation *op,
                       mlir::DictionaryAttr options);
/// Axes of the mesh, by name or by index; a negative index counts from the
/// back.
mlir::ParseResult parsePlanAxes(mlir::OpAsmParser &parser,
                                mlir::ArrayAttr &axes, MeshAttr mesh);
void printPlanAxes(mlir::OpAsmPrinter &printer, mlir::Operation *op,
                   mlir::ArrayAttr axes, MeshAttr mesh);
/// `optional`, and attributes.
mlir::ParseResult parsePlanMarks(mlir::OpAsmParser &parser,
                                 mlir::NamedAttrList &attributes);
void printPlanMarks(mlir::OpAsmPrinter &printer, PlanOp op,
                    mlir::DictionaryAttr attributes);
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
