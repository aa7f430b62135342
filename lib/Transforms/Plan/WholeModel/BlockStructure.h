//===- BlockStructure.h - the blocks of a transformer -----------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A block adds to a value what linear layers make of it: `x + f(x)`. Such sums
// are the stream of the network. In `f` the linear layers that come last read a
// shard of their input (rows), and those just before them make one (columns).
// This tells attention, feed-forward blocks and experts without their names.
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_TRANSFORMS_PLAN_WHOLEMODEL_BLOCKSTRUCTURE_H
#define TP_LIB_TRANSFORMS_PLAN_WHOLEMODEL_BLOCKSTRUCTURE_H

#include "WholeModel/ActivationGraph.h"

namespace tp {

enum class LinearRole {
  /// No part of a block: a pooler, a projection between embedding and blocks.
  Outside,
  /// Alone in its block: nothing comes before or after it.
  Unpaired,
  /// A router, or a projection to a latent vector: whole on every rank.
  Whole,
  Columns,
  Rows,
  /// Makes the logits.
  Head,
};

class BlockStructure {
public:
  BlockStructure(mlir::func::FuncOp function,
                 llvm::ArrayRef<ParameterUse> uses);

  const ActivationGraph &graph() const { return activations; }
  bool hasBlocks() const { return !sums.empty(); }
  LinearRole role(unsigned linear) const { return roles[linear]; }
  /// Whether the result of a layer with rows is added to that of another one
  /// before the stream: one reduction serves both.
  bool isJoined(unsigned linear) const { return joined[linear]; }
  /// The dimension of the layer's weight that its role shards: with those of
  /// the layers that it is paired with, the ranks have parts of one width.
  std::optional<unsigned> shardedDim(unsigned linear) const;
  /// Whether a layer reads the stream, not what another layer made of it.
  bool readsStream(unsigned linear) const { return ofStream[linear]; }
  /// Tables of tokens (the largest that a sum of embeddings looks up in), and
  /// those of positions and the like beside them.
  llvm::ArrayRef<const ParameterUse *> tokenTables() const { return tokens; }
  llvm::ArrayRef<const ParameterUse *> otherTables() const { return others; }
  /// The shape of the stream where `node` is part of it, or comes before or
  /// behind it, and is not split; empty elsewhere.
  llvm::ArrayRef<int64_t> streamShape(unsigned node) const;
  /// Whether any stream has more rows than one, as that of a prompt has, but
  /// not that of the next token.
  bool hasSequence() const;
  /// Whether `shape` has the rows of a stream: all but its last dimension.
  bool hasStreamRows(llvm::ArrayRef<int64_t> shape) const;

private:
  /// `skip + branch`.
  struct Sum {
    unsigned node, skip, branch;
    /// It adds to the sum `joins`, of the same block.
    std::optional<unsigned> joins;
  };
  void findSums();
  std::optional<Sum> sumAt(unsigned node);
  void findRoles();
  void findBlockRoles(unsigned sum);
  void findHeads();
  void findTables(llvm::ArrayRef<ParameterUse> uses);
  void findSplitNodes();

  mlir::func::FuncOp function;
  ActivationGraph activations;
  std::vector<Sum> sums;
  llvm::DenseMap<unsigned, unsigned> sumOfNode;
  /// The nodes of sums.
  llvm::BitVector stream;
  llvm::BitVector split;
  std::vector<LinearRole> roles;
  llvm::BitVector joined, ofStream;
  /// For each layer the numbers of experts of its partners: a layer makes what
  /// all experts take of one input, or sums what all have made, in one product.
  std::vector<llvm::SmallVector<int64_t, 1>> experts;
  std::vector<const ParameterUse *> tokens, others;
};

} // namespace tp

#endif // TP_LIB_TRANSFORMS_PLAN_WHOLEMODEL_BLOCKSTRUCTURE_H
