//===- Collectives.h - what the ranks exchange ------------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_SIMULATE_COLLECTIVES_H
#define TP_SIMULATE_COLLECTIVES_H

#include "tp/Interpreter/Frame.h"

namespace tp::simulator {

/// True for the ops that all ranks take part in: tp.redistribute, collectives
/// and changes of a layout.
bool isCollective(mlir::Operation *op);

/// Runs one on the buffers of all ranks (`ranks[r]` is rank r's frame), in the
/// form that its types say. Emits an error where a rank lacks what it has to
/// send.
/// Evaluates `op` on every rank, a collective on all of them at once.
mlir::LogicalResult evaluateOnRanks(mlir::Operation *op,
                                    llvm::MutableArrayRef<Frame> ranks);

/// The global value that the ranks' buffers stand for. Partial values are
/// combined in rank order. `magnitudes`, if asked for, becomes the sum of the
/// absolute values that were added up, per element.
TensorData assemble(LayoutAttr layout, mlir::RankedTensorType type,
                    llvm::ArrayRef<TensorData> buffers,
                    std::vector<double> *magnitudes = nullptr);

} // namespace tp::simulator

#endif // TP_SIMULATE_COLLECTIVES_H
