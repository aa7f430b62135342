//===- CodegenAttributes.h - what code generation notes on ops --*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_IR_CODEGENATTRIBUTES_H
#define TP_IR_CODEGENATTRIBUTES_H

#include "llvm/ADT/StringRef.h"

namespace tp::attr {
/// On the ops of an attention step, a dictionary: which attention, from which
/// query and key on, what the op computes of it, and what the whole computes.
inline constexpr llvm::StringLiteral attention = "tp.attention";
/// In it: which attention.
inline constexpr llvm::StringLiteral attentionNumber = "id";
/// On the status store of a failed assertion, a unit: it may leave loops that
/// its condition does not depend on.
inline constexpr llvm::StringLiteral check = "tp.check";
/// On an argument of a rank's program that is no port: the numbers of the
/// arguments whose memory it is, one behind the other (tp-merge-gemms).
inline constexpr llvm::StringLiteral joined = "tp.joined";
/// On such a part of an argument: the order of its dimensions in memory, where
/// that is not theirs.
inline constexpr llvm::StringLiteral permutation = "tp.permutation";
/// On a weight of a rank's program: the element type that the model has it in.
/// Its numbers are rounded when they are loaded (tp-store-weights).
inline constexpr llvm::StringLiteral roundedFrom = "tp.rounded_from";
/// On a result that is copied to the argument that it updates, at the end of a
/// step: why it is not in the argument's memory (tp-update-in-place).
inline constexpr llvm::StringLiteral copied = "tp.copied";
/// On a kernel of a rank's program and on its launch, a dictionary: how its
/// loops lie on the threads of a device (tp-map-kernels).
inline constexpr llvm::StringLiteral mapping = "tp.mapping";
/// On a command of a rank's program, a string: the queue of the device that
/// runs it (tp-insert-waits).
inline constexpr llvm::StringLiteral queue = "tp.queue";
/// On a collective of a rank's program, a unit: it starts as one with the
/// collective before it.
inline constexpr llvm::StringLiteral withPrevious = "tp.with_previous";
/// On a module, a unit: the stages of the back end on tensors have run, on the
/// layers that tp-repeat-layers kept.
inline constexpr llvm::StringLiteral onTensorsDone = "tp.on_tensors_done";
} // namespace tp::attr

#endif // TP_IR_CODEGENATTRIBUTES_H
