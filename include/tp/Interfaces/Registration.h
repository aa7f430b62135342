//===- Registration.h - all sharding rules ----------------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_INTERFACES_REGISTRATION_H
#define TP_INTERFACES_REGISTRATION_H

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace tp {
/// One function per dialect, each in a file of the same name.
void registerArithShardingRules(mlir::DialectRegistry &registry);
void registerCustomShardingRules(mlir::DialectRegistry &registry);
void registerKeptShardingRule(mlir::DialectRegistry &registry);
void registerLinalgShardingRules(mlir::DialectRegistry &registry);
void registerTensorShardingRules(mlir::DialectRegistry &registry);

void registerAllShardingRules(mlir::DialectRegistry &registry);
} // namespace tp

#endif // TP_INTERFACES_REGISTRATION_H
