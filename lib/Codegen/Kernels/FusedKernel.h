//===- FusedKernel.h - compute loops, and kernels made of them --*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A compute loop computes stored values, and recomputes everything that it
// reads and that is not stored. Compute loops on the same rows form a fused
// kernel, whose outer loops run over the rows.
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_CODEGEN_KERNELS_FUSEDKERNEL_H
#define TP_LIB_CODEGEN_KERNELS_FUSEDKERNEL_H

#include "Storage/Storage.h"
#include <memory>

namespace tp::target {

/// One read of a stored value inside a compute loop.
struct Read {
  mlir::Value root;
  /// Over the compute loop's loops and the symbols of its read set.
  Indices index;
  /// The index depends on data: any element may be read.
  bool dataDependent = false;
  /// Where a reduction begins, before its loops run.
  bool isInit = false;
};

/// What a compute loop reads, and where its loops should be cut.
struct ReadSet {
  llvm::SmallVector<Read> reads;
  /// The ranges of the scalars that indices depend on.
  llvm::SmallVector<IndexRange> symbols;
  /// Per dim: divisors at which div and mod cut it.
  llvm::SmallVector<llvm::SmallVector<int64_t>> cuts;
  /// Per dim: indices at which another box of a piecewise source begins.
  llvm::SmallVector<llvm::SmallVector<int64_t>> splits;
};

struct ComputeLoop {
  mlir::Operation *op = nullptr;
  /// Set for a compute loop with reduction loops.
  mlir::linalg::LinalgOp reduction;
  /// Elementwise: the value whose elements are computed (a GEMM's init is
  /// written to the GEMM's result).
  mlir::Value source;
  /// The values this compute loop computes, with their index over the loops.
  /// Those that are not stored are only accumulated.
  llvm::SmallVector<mlir::Value> targets;
  llvm::SmallVector<Indices> targetIndex;
  /// Reduction: which result every target is.
  llvm::SmallVector<unsigned> resultNumbers;

  llvm::SmallVector<int64_t> extents;
  llvm::SmallVector<bool> reduces;
  /// Elementwise: the index of the element; reduction: the op's loops.
  Indices base;
  ReadSet reads;

  /// Of a state in place, the part that is computed: `size` indices of the
  /// target from a scalar on along one of its dimensions.
  struct Part {
    unsigned dim;
    mlir::Value start;
    int64_t size;
  };
  llvm::SmallVector<Part, 2> parts;

  /// Of a scatter, a parallel loop, of which one iteration changes the
  /// accumulators: number `place` at `index`, over the other loops.
  struct ScatteredLoop {
    unsigned loop;
    mlir::Value place;
    Indices index;
  };
  llvm::SmallVector<ScatteredLoop, 1> scattered;

  /// Only elements are computed where `condition` is true, at `index` over the
  /// loops.
  struct Where {
    mlir::Value condition;
    Indices index;
  };
  std::optional<Where> where;

  /// Set when kernels are formed: the dim of every outer loop of the kernel,
  /// and the loop nest inside the rows that the compute loop belongs to.
  llvm::SmallVector<unsigned> slots;
  unsigned loopNest = 0;
  /// Per dim that is not a slot: its loop in the loop nest.
  llvm::SmallVector<int> loopOfDim;

  bool isReduction() const { return bool(reduction); }
};

/// Compute loops that share a loop nest inside the rows.
struct LoopNest {
  llvm::SmallVector<ComputeLoop *> computeLoops;
  llvm::SmallVector<int64_t> extents;
  /// The first loops are parallel loops around a reduction.
  unsigned numParallel = 0;
  /// One reduction whose last parallel loop runs innermost, accumulating in
  /// memory.
  bool columnwise = false;
};

/// One kernel.
struct FusedKernel {
  llvm::SmallVector<ComputeLoop *> computeLoops;
  llvm::SmallVector<int64_t> rowExtents;
  llvm::SmallVector<LoopNest> loopNests;
  /// Values that never reach memory: all their readers sit in the loop nest
  /// that computes them.
  llvm::DenseSet<mlir::Value> held;
};

/// Finds the values that the compute loop reads.
ReadSet collectReads(const StoredValues &plan, const ComputeLoop &computeLoop);

ComputeLoop makeElementwise(const StoredValues &plan, mlir::Value source,
                            mlir::Value target);
/// Lets an elementwise compute loop compute some elements. `condition` has a
/// dimension for each of the value's, of 1 where it does not depend on it.
void setCondition(const StoredValues &plan, ComputeLoop &computeLoop,
                  mlir::Value condition);
/// `targetOf` is the value that a needed result is stored as, or the result.
ComputeLoop
makeReduction(const StoredValues &plan, mlir::linalg::LinalgOp op,
              llvm::function_ref<mlir::Value(mlir::OpResult)> targetOf);

/// A step of the program: a kernel of one compute loop, a GEMM or a collective.
struct Command {
  std::unique_ptr<FusedKernel> fusedKernel;
  const Gemm *gemm = nullptr;
  mlir::Operation *collective = nullptr;
  /// A tp.kept: what it reads is what values are computed from again.
  mlir::Operation *kept = nullptr;

  /// The stored values it reads and writes.
  llvm::SmallVector<mlir::Value> reads, writes;
};

/// An operand of an attention in memory.
struct AttentionOperand {
  mlir::Value root;
  int64_t elementOffset = 0;
  /// Of batch, head and row; of a bias also of the key.
  llvm::SmallVector<int64_t> strides;
};

/// The commands from `first` to `last` together are one attention
/// (docs/artifact.md).
struct Attention {
  size_t first = 0, last = 0;
  /// The contraction that makes the result.
  mlir::Operation *op = nullptr;
  mlir::Type elementType;
  int64_t batch = 1, heads = 1, kvHeads = 1, queries = 1, keys = 1;
  int64_t headSize = 1, valueSize = 1;
  double scale = 1.0;
  std::optional<int64_t> lower, upper;
  /// "zero", "nan" or nothing.
  llvm::StringRef emptyRows;
  AttentionOperand q, k, v, o;
  std::optional<AttentionOperand> bias;
  int64_t flops = 0, bytes = 0;
};

/// The program as commands in order; owns the compute loops.
struct Schedule {
  std::vector<std::unique_ptr<ComputeLoop>> computeLoops;
  std::vector<Command> commands;
  /// In order, without overlap.
  std::vector<Attention> attentions;
};

} // namespace tp::target

#endif // TP_LIB_CODEGEN_KERNELS_FUSEDKERNEL_H
