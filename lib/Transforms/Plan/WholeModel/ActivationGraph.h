//===- ActivationGraph.h - what of a program reaches what -------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The arguments and ops of a function as numbered nodes, in the program's
// order: what a node reads has a lower number. Contractions of an activation
// and a weight are linear layers. Most questions about the structure of a
// network are: which linear layers come just before a value?
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_TRANSFORMS_PLAN_WHOLEMODEL_ACTIVATIONGRAPH_H
#define TP_LIB_TRANSFORMS_PLAN_WHOLEMODEL_ACTIVATIONGRAPH_H

#include "ParameterUse.h"
#include "llvm/ADT/BitVector.h"

namespace tp {

/// A contraction of an activation and a weight in the forward pass.
struct LinearLayer {
  const ParameterUse *use;
  unsigned node;
  /// The node of the activation.
  unsigned input;
};

class ActivationGraph {
public:
  /// `uses`: those of `function`, through selections.
  ActivationGraph(mlir::func::FuncOp function,
                  llvm::ArrayRef<ParameterUse> uses);

  unsigned size() const { return nodes.size(); }
  /// The node that makes a value of the function's own block.
  unsigned nodeOf(mlir::Value value) const;
  /// Null for an argument.
  mlir::Operation *op(unsigned node) const { return nodes[node].op; }
  llvm::ArrayRef<unsigned> sources(unsigned node) const {
    return nodes[node].sources;
  }
  /// Whether inputs of the program reach the node.
  bool isActivation(unsigned node) const { return nodes[node].isActivation; }
  /// Whether the node is of the forward pass.
  bool isForward(unsigned node) const { return nodes[node].isForward; }
  /// The value of an op with one result, or of an argument.
  mlir::Value value(unsigned node) const;

  llvm::ArrayRef<LinearLayer> linears() const { return layers; }
  /// The number of the node's linear layer, or nothing.
  std::optional<unsigned> linearAt(unsigned node) const;

  /// What is reached backwards from `from`, with it: the walk does not go on
  /// behind linear layers and behind nodes of `stops`. In ascending order.
  std::vector<unsigned> before(unsigned from,
                               const llvm::BitVector &stops) const;
  /// The linear layers among these.
  llvm::SmallVector<unsigned> linearsBefore(unsigned from,
                                            const llvm::BitVector &stops) const;
  /// Whether `from` reaches `to`, by a linear layer on the way.
  bool reachesByLinear(unsigned from, unsigned to) const;
  /// The nodes that reach any of `to`, with them.
  llvm::BitVector reaching(const llvm::BitVector &to) const;
  /// The node behind views and elementwise ops of one activation.
  unsigned unviewed(unsigned node) const;

private:
  struct Node {
    mlir::Operation *op = nullptr;
    llvm::SmallVector<unsigned, 4> sources;
    std::optional<unsigned> linear;
    bool isActivation = false, isForward = true;
  };
  void addLinears(mlir::func::FuncOp function,
                  llvm::ArrayRef<ParameterUse> uses);

  llvm::ArrayRef<mlir::BlockArgument> arguments;
  std::vector<Node> nodes;
  llvm::DenseMap<mlir::Operation *, unsigned> numbers;
  std::vector<LinearLayer> layers;
};

} // namespace tp

#endif // TP_LIB_TRANSFORMS_PLAN_WHOLEMODEL_ACTIVATIONGRAPH_H
