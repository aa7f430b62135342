//===- LoopSolver.h - one op's loops over another's -------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_CODEGEN_ATTENTION_BACKWARD_LOOPSOLVER_H
#define TP_LIB_CODEGEN_ATTENTION_BACKWARD_LOOPSOLVER_H

#include "Elements/ElementGraph.h"
#include "Storage/Storage.h"

namespace tp::target {

/// The loops of a product as those of a graph.
struct LoopSolution {
  /// Of the op's loops.
  Refinement loops;
  /// Of each of them a loop of the graph, or 0 where it runs once.
  Indices values;

  /// The op's own loops over those of the graph.
  Indices ofOp(const IndexSpace &space) const;
  /// The loop of the graph that the refined loop `number` is, if it runs more
  /// than once.
  std::optional<unsigned> loop(unsigned number) const;
};

/// Which loops of `graph` the loops of `product` are, if tensors that it reads,
/// and its result where `result` is given, are read at `anchors`. None if these
/// do not tell, or if it is no single loop for each.
std::optional<LoopSolution> solveLoops(const Contraction &product,
                                       const ElementGraph &graph,
                                       llvm::ArrayRef<ElementPlace> anchors,
                                       const Indices *result = nullptr);

/// All tensors that hold what `element` is computed from, and itself.
llvm::SmallVector<ElementPlace> placesBehind(const ElementGraph &graph,
                                             const Element *element);

} // namespace tp::target

#endif // TP_LIB_CODEGEN_ATTENTION_BACKWARD_LOOPSOLVER_H
