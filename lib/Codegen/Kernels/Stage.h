//===- Stage.h - loop nests, their reads, and groups of them ----*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A stage computes stored values in one loop nest, pulling in everything that
// is not stored. Stages that work on the same rows form a group: one kernel
// whose outer loops run over the rows.
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_CODEGEN_KERNELS_STAGE_H
#define TP_LIB_CODEGEN_KERNELS_STAGE_H

#include "Storage/Storage.h"
#include <memory>

namespace tp::target {

/// One read of a stored value inside a stage.
struct Read {
  mlir::Value root;
  /// Over the stage's loops and the symbols of its read set.
  Indices index;
  /// The index depends on data: any element may be read.
  bool dataDependent = false;
  /// Where a reduction begins, before its loops run.
  bool isInit = false;
};

/// What a stage reads, and where its loops should be cut.
struct ReadSet {
  llvm::SmallVector<Read> reads;
  /// The ranges of the scalars that indices depend on.
  llvm::SmallVector<IndexRange> symbols;
  /// Per dim: divisors at which div and mod cut it.
  llvm::SmallVector<llvm::SmallVector<int64_t>> cuts;
  /// Per dim: indices at which another piece begins.
  llvm::SmallVector<llvm::SmallVector<int64_t>> splits;
};

struct Stage {
  mlir::Operation *op = nullptr;
  /// Set for a stage with reduction loops.
  mlir::linalg::LinalgOp reduction;
  /// Elementwise: the value whose elements are computed (a GEMM's init is
  /// written to the GEMM's result).
  mlir::Value source;
  /// The values this stage computes, with their index over the loops. Those
  /// that are not stored are only accumulated.
  llvm::SmallVector<mlir::Value> targets;
  llvm::SmallVector<Indices> targetIndex;
  /// Reduction: which result every target is.
  llvm::SmallVector<unsigned> resultNumbers;

  llvm::SmallVector<int64_t> extents;
  llvm::SmallVector<bool> reduces;
  /// Elementwise: the index of the element; reduction: the op's loops.
  Indices base;
  ReadSet reads;

  /// Filled by grouping: the dim of every outer loop of the group, and the
  /// bundle (loop nest inside the rows) the stage belongs to.
  llvm::SmallVector<unsigned> slots;
  unsigned bundle = 0;
  /// Per dim that is no slot: the loop of the bundle it is.
  llvm::SmallVector<int> loopOfDim;

  bool isReduction() const { return bool(reduction); }
};

/// Stages that share a loop nest inside the rows.
struct Bundle {
  llvm::SmallVector<Stage *> stages;
  llvm::SmallVector<int64_t> extents;
  /// The first loops are parallel loops around a reduction.
  unsigned numParallel = 0;
  /// One reduction whose last parallel loop runs innermost, accumulating in
  /// memory.
  bool columnwise = false;
};

/// One kernel.
struct Group {
  llvm::SmallVector<Stage *> stages;
  llvm::SmallVector<int64_t> rowExtents;
  llvm::SmallVector<Bundle> bundles;
};

/// Finds what computing the stage reads.
ReadSet collectReads(const StoragePlan &plan, const Stage &stage);

Stage makeElementwise(const StoragePlan &plan, mlir::Value source,
                      mlir::Value target);
Stage makeReduction(const StoragePlan &plan, mlir::linalg::LinalgOp op);

/// A step of the program: a kernel, a GEMM or a collective.
struct Command {
  std::unique_ptr<Group> group;
  const Gemm *gemm = nullptr;
  mlir::Operation *collective = nullptr;

  /// The stored values it reads and writes (row scratch not included).
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
  /// The op whose product the result is.
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

/// The program as commands in order; owns the stages.
struct Schedule {
  std::vector<std::unique_ptr<Stage>> stages;
  std::vector<Command> commands;
  /// In order, without overlap.
  std::vector<Attention> attentions;
  llvm::DenseSet<mlir::Value> forwarded;
};

/// Forms groups and orders everything. Values that live only inside one group
/// move to Space::Scratch; `forwarded` holds those that never reach memory
/// because all their readers sit in the same loop nest. Emits an error if
/// groups cannot be ordered.
mlir::FailureOr<Schedule> makeSchedule(StoragePlan &plan,
                                       mlir::func::FuncOp function);

} // namespace tp::target

#endif // TP_LIB_CODEGEN_KERNELS_STAGE_H
