//===- Collective.h - what all collectives have -----------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_IR_COLLECTIVE_H
#define TP_IR_COLLECTIVE_H

#include "tp/IR/TP.h"
#include "tp/Sharding/RingCost.h"

namespace tp {

/// What an op communicates between ranks. `kind` is the op's name too; each
/// group of `axes.groupSize()` ranks works alone.
struct Collective {
  CollectiveKind kind;
  AxesAttr axes;
};

/// What `op` is, if it is a collective, with or without layouts in its types:
/// an op by which ranks communicate. It has one operand and one result, both
/// tensors.
std::optional<Collective> asCollective(mlir::Operation *op);

/// True for the ops that `asCollective` describes.
bool isCollective(mlir::Operation *op);

} // namespace tp

#endif // TP_IR_COLLECTIVE_H
