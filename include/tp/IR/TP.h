//===- TP.h - the dialect `tp` ----------------------------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_IR_TP_H
#define TP_IR_TP_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/IR/TensorEncoding.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "tp/Sharding/Layout.h"
#include "tp/Sharding/Strategy.h"

namespace tp {
/// Names of the discardable attributes (documented in TPDialect.td).
namespace attr {
inline constexpr llvm::StringLiteral name = "tp.name";
inline constexpr llvm::StringLiteral kind = "tp.kind";
inline constexpr llvm::StringLiteral modules = "tp.modules";
inline constexpr llvm::StringLiteral mesh = "tp.mesh";
inline constexpr llvm::StringLiteral pin = "tp.pin";
inline constexpr llvm::StringLiteral bindings = "tp.bindings";
inline constexpr llvm::StringLiteral layout = "tp.layout";
inline constexpr llvm::StringLiteral globalType = "tp.global_type";
inline constexpr llvm::StringLiteral strategy = "tp.strategy";
inline constexpr llvm::StringLiteral resultLayouts = "tp.result_layouts";
inline constexpr llvm::StringLiteral values = "tp.values";
inline constexpr llvm::StringLiteral reason = "tp.reason";
inline constexpr llvm::StringLiteral payload = "tp.payload_elements";
} // namespace attr

/// Parses and prints one placement, such as `shard<1>`. With
/// `allowNegativeDim` dimensions may count from the back (plans).
mlir::ParseResult parsePlacement(mlir::AsmParser &parser, Placement &placement,
                                 bool allowNegativeDim = false);
void printPlacement(mlir::AsmPrinter &printer, const Placement &placement);
} // namespace tp

#include "tp/IR/TPDialect.h.inc"

#define GET_ATTRDEF_CLASSES
#include "tp/IR/TPAttributes.h.inc"

#define GET_OP_CLASSES
#include "tp/IR/TPOps.h.inc"

namespace tp {
/// Whether `type` has the dimensions of `of`, each of its size or of 1.
bool isShapeOrOne(mlir::RankedTensorType type, mlir::RankedTensorType of);

/// The columns of a state that `tp.attend` adds to, beside those of v: the
/// maximum and the sum.
inline constexpr int64_t numStateColumns = 2;

/// The mesh the program around `op` is split over (the nearest `tp.mesh`
/// attribute on it or on an op around it), or null.
MeshAttr meshOf(mlir::Operation *op);
} // namespace tp

#endif // TP_IR_TP_H
